//! The longest stalls of a direction, and how many there were.
//!
//! A stall is a span between two packets in which the sender sent nothing and nothing new was
//! acknowledged, longer than min(2 SRTT, RTO) (Zhou et al., "TCP stalls at the server side:
//! measurement and mitigation", CoNEXT 2015). Three things differ from there (algorithms 15).
//! Packets that change nothing do not end one: duplicate acknowledgements, probes of a closed
//! window, keep-alives. While nothing is outstanding the other side's data ends one: it parts the
//! wait for a request from the time in which a server works on it. And nothing below a millisecond
//! counts, for hosts wake up no sooner.

mod watch;

pub use watch::{Eve, Watch};

use crate::flow::loss::ledger::Kind;
use crate::reason::StallCause;
use crate::units::Nanos;

/// What ended a stall.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The sender sent data.
    Data(Kind),
    /// The sender opened the connection, or tried again.
    Syn,
    /// The sender closed its direction.
    Fin,
    /// The sender gave up.
    Rst,
    /// Data was acknowledged.
    Ack,
    /// The receiver's window has room again.
    WindowUpdate,
    /// The other side sent data, while nothing was outstanding.
    PeerData,
    /// The other side opened the connection, or tried again.
    PeerSyn,
    /// The other side closed its direction, while nothing was outstanding.
    PeerFin,
    /// The other side gave up.
    PeerRst,
}

impl Ended {
    /// The word in the `stalls` table; of the sender's segments that of the `segments` table.
    pub fn name(self) -> &'static str {
        match self {
            Ended::Data(kind) => kind.name(),
            Ended::Syn => "syn",
            Ended::Fin => "fin",
            Ended::Rst => "rst",
            Ended::Ack => "ack",
            Ended::WindowUpdate => "window_update",
            Ended::PeerData => "peer_data",
            Ended::PeerSyn => "peer_syn",
            Ended::PeerFin => "peer_fin",
            Ended::PeerRst => "peer_rst",
        }
    }
}

/// A span in which a direction did not get on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Time of the packet before it.
    pub start: Nanos,
    /// Time of the packet that ended it.
    pub end: Nanos,
    /// Frame number of the packet before it.
    pub frame_before: u64,
    /// Frame number of the packet that ended it.
    pub frame_after: u64,
    /// Bytes outstanding at its beginning; `None` where the capture lacks acknowledgements.
    pub flight_size: Option<u64>,
    /// What ended it.
    pub ended: Ended,
    /// Why it was; `None` where nothing tells.
    pub cause: Option<StallCause>,
}

impl Stall {
    fn length(&self) -> Nanos {
        self.end.since(self.start)
    }
}

/// The stalls of one direction.
#[derive(Debug, Default)]
pub struct Stalls {
    /// The longest first, of equal ones the earlier first; no more than [`MOST`].
    worst: Vec<Stall>,
    /// How many there were.
    pub count: u64,
    /// How long all of them were together.
    pub total: Nanos,
}

impl Stalls {
    /// The longest, the longest first.
    pub fn worst(&self) -> &[Stall] {
        &self.worst
    }

    /// How many are not among them.
    pub fn left_out(&self) -> u64 {
        self.count - self.worst.len() as u64
    }

    fn add(&mut self, stall: Stall) {
        self.count += 1;
        self.total += stall.length();
        let at = self.worst.partition_point(|known| known.length() >= stall.length());
        if at < MOST {
            self.worst.truncate(MOST - 1);
            self.worst.insert(at, stall);
        }
    }
}

/// Stalls that are kept of a direction: a person looks at a few, and the rest is counted.
const MOST: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stall(start: i64, length: i64) -> Stall {
        Stall {
            start: Nanos(start),
            end: Nanos(start + length),
            frame_before: 1,
            frame_after: 2,
            flight_size: Some(0),
            ended: Ended::Ack,
            cause: None,
        }
    }

    proptest! {
        /// Against all of them, sorted.
        #[test]
        fn the_longest_are_kept_and_all_are_counted(
            lengths in prop::collection::vec(1i64..6, 0..40),
        ) {
            let mut stalls = Stalls::default();
            let all = lengths.iter().zip(0..).map(|(&length, at)| stall(at * 10, length));
            let mut all: Vec<Stall> = all.collect();
            all.iter().for_each(|&stall| stalls.add(stall));
            prop_assert_eq!(stalls.count, lengths.len() as u64);
            prop_assert_eq!(stalls.total.0, lengths.iter().sum::<i64>());
            all.sort_by_key(|stall| (-stall.length().0, stall.start));
            all.truncate(MOST);
            prop_assert_eq!(stalls.worst(), &all[..]);
        }
    }
}
