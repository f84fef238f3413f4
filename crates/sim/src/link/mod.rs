//! Path elements: what a packet meets between two hosts.
//!
//! A path is a list of elements ([`path::Path`]). An element is one file here and one line in the
//! registry below; scenario files, the reference documentation and the tests follow from that line.

mod bucket;
pub mod event;
mod gate;
pub mod path;
pub mod queue;
mod server;

use crate::packet::Packet;
use crate::random::Random;
use crate::registry::registry;
use event::{Backlog, Event};
pub use options::{Stripped, TcpOptions};
use tcpwhy_core::units::Nanos;

/// One stage of a path. Packets go in with `push` and come out of `pop`, in virtual time.
///
/// The contract that makes the simulator and the real-time emulator agree: what comes out, and when
/// it is due, depends only on the pushes and their times, never on how often `pop` was called.
/// At the start of `push` an element therefore lets everything leave that is due by `now`. It keeps
/// that for `pop` with the time at which it left.
pub trait Element<B>: Send {
    /// A packet arrives. `now` never runs backwards.
    fn push(&mut self, now: Nanos, packet: Packet<B>);

    /// The next packet that left by `now`, with the time at which it left. `now` may lie before the
    /// last push: whoever needs a packet only later asks for it later.
    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)>;

    /// When `pop` may next have a packet, never later than it will; `None` while nothing is under
    /// way.
    fn next(&self) -> Option<Nanos>;

    /// A lower bound of the time from `push` to `pop`, the same for every packet.
    fn latency_min(&self) -> Nanos {
        Nanos(0)
    }

    /// The time after which every packet leaves, for an element that does nothing else.
    fn constant_delay(&self) -> Option<Nanos> {
        None
    }

    /// Whether it ever has something to [`Element::drain`].
    fn is_logging(&self) -> bool {
        true
    }

    /// Moves what happened since the last call to the end of `into`, in the order of time.
    fn drain(&mut self, into: &mut Vec<Event>) {
        let _ = into;
    }

    /// How many events were not kept since nobody drained them for too long.
    fn events_lost(&self) -> u64 {
        0
    }

    /// What waits at `now`, for elements with a queue.
    fn backlog(&mut self, now: Nanos) -> Option<Backlog> {
        let _ = now;
        None
    }

    /// How many packets of a flow wait at `now`, for elements with a queue.
    fn waiting_of(&mut self, now: Nanos, flow: u32) -> usize {
        let _ = (now, flow);
        0
    }
}

/// What a path carries besides the fields of [`Packet`]: TCP headers in the simulator, frames in
/// the emulator.
pub trait Body: Clone + Send + 'static {
    /// What tells the host that sent the packet from others, and the one that it goes to.
    fn hosts(&self) -> [u32; 2] {
        [0, 0]
    }

    /// The TCP options, for elements that change them; `None` for what is not TCP.
    fn tcp_options(&mut self) -> Option<&mut dyn TcpOptions> {
        None
    }
}

impl Body for () {}

/// The settings of an element, as scenario files give them.
pub trait Settings: Clone + serde::de::DeserializeOwned {
    /// Settings in TOML that show what the element can do. The documentation prints them, and the
    /// tests hold each of them to the contract of [`Element`].
    const EXAMPLES: &'static [&'static str];

    /// Whether packets take time to pass it, all of them or in the long run.
    fn takes_time(&self) -> bool {
        false
    }

    /// An element with these settings. All its randomness comes from `random`.
    fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>>;
}

registry! {
    /// The settings of any element: a table with one key, its name.
    Elements, Settings {
        "delay", delay::Delay, "Propagation delay: holds every packet for the same time.";
        "jitter", jitter::Jitter, "Delay variation that keeps the order of packets or breaks it.";
        "rate", rate::FixedRate, "A link of fixed rate behind a queue.";
        "trace", trace::Trace, "A link whose delivery opportunities are listed, behind a queue.";
        "shaper", shaper::Shaper, "A token bucket that delays what exceeds it.";
        "walk", walk::Walk, "A cellular link whose rate walks at random, behind a queue.";
        "wifi", wifi::Wifi, "A Wi-Fi link that sends in bursts with random gaps, behind a queue.";
        "delay_steps", delay_steps::DelaySteps, "A delay that changes at listed times.";
        "policer", policer::Policer, "A token bucket that drops what exceeds it.";
        "bernoulli", bernoulli::Bernoulli, "Drops each packet with the same probability.";
        "gilbert_elliott", gilbert_elliott::GilbertElliott, "Drops packets in bursts: two states.";
        "drop_list", drop_list::DropList, "Drops the packets that are listed.";
        "outage", outage::Outage, "Drops everything for listed spans of time.";
        "mtu", mtu::Mtu, "Drops packets that are too long, and does not say so.";
        "options", options::Options, "Takes TCP options out of what passes, or lowers the MSS.";
        "forget", forget::Forget, "Drops packets of flows that were silent for too long.";
        "thin_acks", thin_acks::ThinAcks, "Lets only some of the short packets pass.";
        "duplicate", duplicate::Duplicate, "Sends some packets twice.";
        "reorder", reorder::Reorder, "Holds some packets back so that later ones overtake them.";
    }
}

impl Elements {
    /// Whether packets take time to pass it, all of them or in the long run.
    pub fn takes_time(&self) -> bool {
        with_settings!(self, settings => settings.takes_time())
    }

    /// An element with these settings. All its randomness comes from `random`.
    pub fn build<B: Body>(&self, random: Random) -> Box<dyn Element<B>> {
        with_settings!(self, settings => settings.build(random))
    }
}

#[cfg(test)]
mod tests;
