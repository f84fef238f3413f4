//! Events of a direction, and the trait of those who observe them.
//!
//! A direction first says what a segment was: its place in the sequence space, what the sender
//! knew, its class, whose time passed before it ([`Half`](crate::flow::half::Half)). Then every
//! observer takes it, in any order: none reads the state of another.
//! Plain segments, which most are, take a short way past this trait: what an observer needs of them
//! is said where a direction takes them ([`Half`](crate::flow::half::Half), `plain_data`).

use crate::flow::entry::Entry;
use crate::flow::loss::ledger::{Acked, Filed, Flight, Kind};
use crate::flow::path::delay::{Rtt, Tau};
use crate::flow::path::mss::Mss;
use crate::flow::path::window::Advertised;
use crate::flow::time::rounds::Round;
use crate::flow::time::view::{SenderState, Sent};
use crate::units::Nanos;

/// Keeps statistics of a direction. Each event is a no-op unless an observer needs it.
pub trait Observer {
    /// A segment with payload was filed.
    #[inline(always)]
    fn on_data(&mut self, _data: &Data<'_>) {}

    /// An acknowledgement of the direction's data was filed.
    #[inline(always)]
    fn on_ack(&mut self, _ack: &Ack<'_>) {}

    /// A round-trip sample that holds the queue of the path.
    #[inline(always)]
    fn on_round_trip(&mut self, _sample: &RoundTrip) {}

    /// A round ended with the data segment `data`.
    #[inline(always)]
    fn on_round(&mut self, _round: &Round, _data: &Data<'_>) {}

    /// A loss episode began with the data segment `data`.
    #[inline(always)]
    fn on_loss(&mut self, _data: &Data<'_>) {}
}

/// What a direction has to know of the flow around it.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Delay from the observer to the data sender and back.
    pub sender: &'a Tau,
    /// The same for the receiver.
    pub receiver: &'a Tau,
    /// Begin of the flow.
    pub flow_start: Nanos,
    /// Length of an interval.
    pub interval: Nanos,
}

/// Round-trip time before a segment, or before what it repairs was lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct RttBefore {
    /// The time.
    pub rtt: Option<Nanos>,
    /// Whether it is above the mean.
    pub is_high: bool,
}

/// What a data segment was. What is not inlined takes a copy, so that what a plain segment needs of
/// it stays in registers.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    /// The segment.
    pub entry: &'a Entry,
    /// What became of it, but for `unique_bytes`.
    pub filed: &'a Filed,
    /// Bytes seen for the first time.
    pub unique_bytes: u64,
    /// First byte in the wide sequence space.
    pub start: u64,
    /// Full packets that it stands for.
    pub full: u32,
    /// Whether a small one is among them.
    pub small: bool,
    /// Data packets of the direction, those of this segment included.
    pub data_packets: u64,
    /// What the sender knew; `None` before the first acknowledgement reached it.
    pub known: Option<SenderState>,
    /// What is in flight after it.
    pub flight: Flight,
    /// Whether the receiver's window has room for a full segment after it.
    pub room: bool,
    /// A loss was being repaired before it.
    pub was_repairing: bool,
    /// Flight size before it against its mean, in 256ths.
    pub relative_flight: u16,
    /// Its one-way delay above the least so far, if it is new.
    pub excess: Option<Nanos>,
    /// Round-trip time before it. SenderState from the first loss on: nobody asks before.
    pub rtt_before: RttBefore,
    /// Round-trip times.
    pub rtt: &'a Rtt,
    /// Sizes of segments.
    pub mss: &'a Mss,
    /// The flow.
    pub around: Around<'a>,
}

impl Data<'_> {
    /// Bytes never seen before, above all others.
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.filed.kind == Kind::New
    }

    /// Packets that it stands for.
    #[inline(always)]
    pub fn packets(&self) -> u32 {
        self.full + u32::from(self.small)
    }

    /// New data that fills no packet: the send queue may have been empty behind it.
    #[inline(always)]
    pub fn ran_dry(&self) -> bool {
        self.small && self.full == 0 && self.is_new()
    }

    /// What the sender's view has to know of it; `recovery_point` while a loss is being repaired.
    #[inline(always)]
    pub fn sent(&self, recovery_point: Option<u64>) -> Sent {
        let (next, mss) = (self.flight.next, self.mss.value());
        Sent { next, mss, dry: self.ran_dry(), recovery_point }
    }

    /// Flight size in bytes, by what the sender knew.
    #[inline(always)]
    pub fn flight_size(&self) -> Option<u64> {
        self.known.map(|known| self.flight.next.saturating_sub(known.una))
    }
}

/// What an acknowledgement was.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// The segment that carries it.
    pub entry: &'a Entry,
    /// What it did.
    pub acked: &'a Acked,
    /// Whether it carries SACK blocks.
    pub selective: bool,
    /// Whether none before it acknowledged more.
    pub is_newest: bool,
    /// The window that it brings.
    pub window: Advertised,
    /// What is in flight after it.
    pub flight: Flight,
    /// Whether the receiver's window has room for a full segment.
    pub room: bool,
    /// When it reaches the sender, as far as that is known.
    pub arrival: Nanos,
    /// Round-trip times.
    pub rtt: &'a Rtt,
    /// Sizes of segments.
    pub mss: &'a Mss,
}

/// A round-trip sample that holds the queue of the path.
#[derive(Clone, Copy, Debug)]
pub struct RoundTrip {
    /// The sample.
    pub rtt: Nanos,
    /// The least one of the direction.
    pub floor: Nanos,
    /// Whether it shows a queue.
    pub raised: bool,
    /// The lesser of this one and the one before.
    pub recent: Nanos,
}
