//! The words of the ledger: what it takes, and what it answers.

use super::rule::Rule;
use crate::flow::path::delay::Rtt;
use crate::units::Nanos;

/// What a data segment was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Bytes never seen before, above all others.
    New,
    /// Range again after duplicate or selective acknowledgements (RFC 5681, 6675).
    Fast,
    /// Range again after a retransmission timeout (RFC 6298).
    Rto,
    /// The highest segment sent again to provoke an acknowledgement (RFC 8985 section 7).
    Tlp,
    /// Range again although it had been acknowledged.
    Spurious,
    /// Range again; nothing tells why.
    Retransmission,
    /// Range later than bytes above it, once.
    Reordered,
    /// A byte sent into a closed window to see whether it opened (RFC 9293 section 3.8.6.1).
    ZeroWindowProbe,
    /// An old byte sent to see whether the peer is alive (RFC 9293 section 3.8.4).
    KeepAlive,
}

impl Kind {
    /// The word in the `segments` table.
    pub fn name(self) -> &'static str {
        match self {
            Kind::New => "new",
            Kind::Fast => "fast_retransmission",
            Kind::Rto => "rto_retransmission",
            Kind::Tlp => "tlp_retransmission",
            Kind::Spurious => "spurious_retransmission",
            Kind::Retransmission => "retransmission",
            Kind::Reordered => "reordered",
            Kind::ZeroWindowProbe => "zero_window_probe",
            Kind::KeepAlive => "keep_alive",
        }
    }
}

/// What the ledger says of one data segment.
#[derive(Clone, Copy, Debug)]
pub struct Filed {
    /// What it was.
    pub kind: Kind,
    /// What decided that.
    pub rule: Rule,
    /// Bytes seen for the first time.
    pub unique_bytes: u64,
    /// Bytes sent again, those of which the capture missed the first copy included.
    pub retransmitted_bytes: u64,
    /// Of the unique bytes, those that were counted as missed before.
    pub found_bytes: u64,
    /// Whether a loss episode begins here: more than a round trip after the last one.
    pub loss_event: bool,
    /// Whether a retransmission timer expired for it.
    pub rto_event: bool,
    /// When the lost copy passed, or when its absence showed; `None` for what was not lost.
    pub lost_at: Option<Nanos>,
    /// Of the retransmitted bytes, those of which an earlier copy was seen.
    pub seen_bytes: u64,
    /// Relative flight when the lost copy was sent; `None` where that was not seen, or where it
    /// was a retransmission itself.
    pub lost_flight: Option<u16>,
    /// What had been sent just before it, as one of [`Codes`]; 0 where unknown.
    pub lost_burst: Option<u8>,
    /// How many bytes of its super-packet lay before what was lost of it.
    pub lost_offset: u32,
    /// The frame that proves the kind: the earlier copy, or the segment that overtook this one.
    pub witness: Option<u64>,
}

/// What one acknowledgement did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    /// Bytes newly acknowledged.
    pub bytes: u64,
    /// Time from the segment that it acknowledges, if that was sent once.
    pub sample: Option<Nanos>,
    /// When the next segment, which it does not acknowledge, was sent; `None` without one.
    pub next_sent: Option<Nanos>,
    /// It is a duplicate acknowledgement (RFC 5681 section 2).
    pub duplicate: bool,
    /// Bytes that it covers and the capture never showed.
    pub missed_bytes: u64,
    /// Retransmitted bytes that it proves to have been unneeded.
    pub spurious_bytes: u64,
    /// What proves that.
    pub proof: Option<Rule>,
}

/// What is in flight.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    /// Lowest byte not acknowledged, as the observer saw it.
    pub una: u64,
    /// After the highest byte sent.
    pub next: u64,
    /// A loss is being repaired.
    pub repairing: bool,
}

/// How densely was sent before a segment, as codes; 0 where unknown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Codes {
    /// What had been sent just before it.
    pub before: u8,
    /// The same right behind the segment before it, wherever a gap in the capture follows.
    pub behind: u8,
}

/// What the ledger has to know of the rest of the half.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    /// Round-trip times so far.
    pub rtt: &'a Rtt,
    /// Whether the receiver's last window was zero.
    pub window_closed: bool,
    /// Flight size before this segment against its mean, in 256ths.
    pub relative_flight: u16,
    /// What had been sent just before this segment.
    pub bursts: Codes,
}

impl Filed {
    /// Whether it repairs what the capture never showed.
    #[inline]
    pub fn is_unseen(&self) -> bool {
        self.lost_at.is_some() && self.seen_bytes == 0
    }

    /// What most segments are: of these the compiler knows all that is said here.
    pub const NEW: &'static Filed = &Filed::new(0);

    /// New data of so many bytes.
    #[inline]
    pub const fn new(unique_bytes: u64) -> Filed {
        Filed {
            kind: Kind::New,
            rule: Rule::Above,
            unique_bytes,
            retransmitted_bytes: 0,
            found_bytes: 0,
            loss_event: false,
            rto_event: false,
            lost_at: None,
            seen_bytes: 0,
            lost_flight: None,
            lost_burst: None,
            lost_offset: 0,
            witness: None,
        }
    }
}
