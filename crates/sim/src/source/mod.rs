//! Applications: what writes into and reads from TCP connections.
//!
//! A workload is one file here and one line in the registry below; so is a reader.

mod metronome;
pub mod reader;
pub mod udp;

use crate::endpoint::Socket;
use crate::random::Random;
use crate::registry::registry;
use tcpwhy_core::units::Nanos;

/// A program at one side of a connection.
pub trait Application: Send {
    /// Something may have changed, or [`Application::next`] is due: reads and writes as it wants.
    /// Called after every segment that arrives; calls without a change are harmless.
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket);

    /// When it wants to act next even if nothing happens.
    fn next(&self) -> Option<Nanos>;
}

/// The settings of a workload, as scenario files give them.
pub trait Workload: Clone + serde::de::DeserializeOwned {
    /// Settings in TOML that show what the workload can do.
    const EXAMPLES: &'static [&'static str];

    /// The programs at both sides. Times count from `start`.
    fn build(&self, start: Nanos, random: Random) -> Programs;
}

/// The programs at both sides of a connection.
pub struct Programs {
    /// At the side that sends the data.
    pub sender: Box<dyn Application>,
    /// At the other side; `None` when any reader will do.
    pub receiver: Option<Box<dyn Application>>,
}

impl Programs {
    fn sender(sender: impl Application + 'static) -> Programs {
        Programs { sender: Box::new(sender), receiver: None }
    }
}

registry! {
    /// The settings of any workload: a table with one key, its name.
    Workloads, Workload {
        "bulk", bulk::Bulk, "Always has more to write.";
        "fixed_size", fixed_size::FixedSize, "Writes so many bytes at once and closes.";
        "paced", paced::Paced, "Writes at a steady rate.";
        "chunks", chunks::Chunks, "Writes a chunk, pauses, writes the next.";
        "small_writes", small_writes::SmallWrites, "Writes a few bytes at a time.";
        "request_response", request_response::RequestResponse, "Asks, awaits the answer, thinks.";
        "flow_control", flow_control::FlowControl, "Sends what its peer's program allows.";
        "relay", relay::Relay, "Passes on what another flow brings: a proxy.";
        "phases", phases::Phases, "One workload after another.";
    }
}

impl Workloads {
    /// The settings of a proxy, if it is one.
    pub(crate) fn relay(&self) -> Option<&Relay> {
        match self {
            Workloads::Relay(relay) => Some(relay),
            _ => None,
        }
    }

    /// The programs at both sides. Times count from `start`.
    pub fn build(&self, start: Nanos, random: Random) -> Programs {
        with_settings!(self, settings => settings.build(start, random))
    }
}

pub(crate) use relay::Idle;

/// Reads whatever there is, and throws it away.
fn read_all(now: Nanos, socket: &mut dyn Socket) -> u64 {
    match socket.readable() {
        0 => 0,
        readable => socket.read(now, readable),
    }
}

/// Fewer bytes at a time would take more than a million turns a second.
pub(super) fn check_turns(bytes: u64, rate_bps: u64, key: &str) -> Result<(), String> {
    let least = rate_bps.div_ceil(8_000_000);
    if bytes < least {
        return Err(format!("{key} is {bytes}: expected at least {least} at this rate_bps"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
