//! What was lost, and what is done about it.
//!
//! [`scoreboard`] knows what became of every segment; [`rack`], [`tlp`], [`prr`] and [`undo`] are
//! the algorithms of their RFCs without any of the sender around them; [`detect`], [`fast`] and
//! [`timeout`] are the sender's steps, in the order in which an acknowledgement meets them.

mod detect;
mod fast;
pub mod prr;
pub mod rack;
pub mod scoreboard;
mod timeout;
pub mod tlp;
pub mod undo;

use super::config::Variant;
use prr::Prr;
use rack::Rack;
use tlp::Tlp;
use undo::{Frto, Undo};

/// Where the sender stands in repairing losses.
#[derive(Debug)]
pub struct Recovery {
    /// The variant in effect: the configured one, or NewReno when the peer has no SACK.
    pub variant: Variant,
    /// Between recoveries, or in which.
    pub phase: Phase,
    /// RFC 6582 "recover", RFC 6675 "RecoveryPoint": SND.NXT when the loss was found.
    pub recover: u64,
    /// Duplicate acknowledgements since the last one that advanced.
    pub dupacks: u32,
    /// Without SACK: what duplicate acknowledgements add to cwnd (RFC 5681 section 3.2), less what
    /// partial ones take (RFC 6582). May be negative.
    pub inflation: i64,
    /// Partial acknowledgements in this recovery.
    pub partial_acks: u32,
    /// The next lost segment leaves whatever cwnd says: the fast retransmit itself.
    pub force_retransmit: bool,
    /// New data sent since the first duplicate acknowledgement, by limited transmit.
    pub limited_bytes: u64,
    /// RFC 6675 "RescueRxt": whether the rescue retransmission of this recovery was used.
    pub rescued: bool,
    /// SND.UNA when the timer expired last; the same segment timing out again holds ssthresh.
    pub timed_out_una: Option<u64>,
    /// Proportional rate reduction.
    pub prr: Prr,
    /// RACK.
    pub rack: Rack,
    /// Tail loss probes.
    pub tlp: Tlp,
    /// Spurious retransmissions.
    pub undo: Undo,
    /// Spurious timeouts.
    pub frto: Frto,
}

/// Between recoveries, or in which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is known to be lost.
    Open,
    /// Fast recovery.
    Recovery,
    /// Since a retransmission timeout, until what was outstanding then is acknowledged.
    Loss,
}

impl Recovery {
    /// At the start of a connection.
    pub fn new(variant: Variant) -> Recovery {
        Recovery {
            variant,
            phase: Phase::Open,
            recover: 0,
            dupacks: 0,
            inflation: 0,
            partial_acks: 0,
            force_retransmit: false,
            limited_bytes: 0,
            rescued: false,
            timed_out_una: None,
            prr: Prr::default(),
            rack: Rack::new(),
            tlp: Tlp::default(),
            undo: Undo::default(),
            frto: Frto::default(),
        }
    }
}

/// RFC 5681 section 3.2, RFC 6675 section 2: "DupThresh".
pub const DUP_THRESH: u32 = 3;
