//! What a direction answers when it is judged and reported.

use super::Half;
use crate::flow::loss::bucket::{Levels, Policer};
use crate::flow::loss::burst::Density;
use crate::flow::loss::episodes::Evenness;
use crate::flow::loss::ledger::Flight;
use crate::flow::loss::losses::Shape;
use crate::flow::path::capacity::Capacity;
use crate::flow::path::credible::TimeBy;
use crate::flow::time::clock::WaitSpan;
use crate::flow::time::segmenter::Segmenter;
use crate::units::Seq;

impl Half {
    /// Intervals and periods; `None` without payload.
    #[inline]
    pub fn segmenter(&self) -> Option<&Segmenter> {
        self.timeline.segmenter.as_deref()
    }

    /// The same, to take what has ended.
    #[inline]
    pub fn segmenter_mut(&mut self) -> Option<&mut Segmenter> {
        self.timeline.segmenter.as_deref_mut()
    }

    /// What is in flight.
    pub fn flight(&self) -> Flight {
        self.ledger.flight()
    }

    /// Bytes in flight, as far as the capture shows them.
    pub fn outstanding(&self) -> Option<u64> {
        let Flight { una, next, .. } = self.ledger.flight();
        match next.saturating_sub(una) {
            0 => self.ledger.is_started().then_some(0),
            flight => self.flight_seen(Some(flight)),
        }
    }

    /// Whether the receiver's window has room for a full segment.
    pub fn has_room(&self) -> bool {
        self.window.has_room(self.ledger.next(), self.mss.value())
    }

    /// Whose time it was before the last data segment.
    pub fn last_wait(&self) -> &[WaitSpan] {
        self.view.last_wait()
    }

    /// `seq` relative to the first sequence number known.
    pub fn relative(&self, seq: Seq) -> Option<i64> {
        self.ledger.relative(seq)
    }

    /// Whether smaller segments were acknowledged and full ones, sent as well, never were.
    pub fn only_small_answered(&self) -> bool {
        self.ledger.only_small_answered()
    }

    /// Whether nothing was acknowledged, of no more than an initial window.
    pub fn is_unanswered(&self) -> bool {
        let window_bytes = INITIAL_WINDOW * u64::from(self.mss.value());
        self.ledger.never_acked() && self.ledger.sent_bytes() <= window_bytes
    }

    /// Whether the capture lacks the acknowledgements of a span: none was seen, or `flight_max`
    /// bytes were in flight, many times what any window allowed.
    pub fn acks_unseen(&self, flight_max: Option<u64>) -> bool {
        let rwnd_max = self.totals.rwnd_max.filter(|&most| most > 0);
        let overrun = rwnd_max.zip(flight_max);
        overrun.is_some_and(|(window, flight)| flight > OVERRUN * window)
            || self.ledger.never_acked() && (rwnd_max.is_none() || !self.is_unanswered())
    }

    /// A largest flight size as far as the capture shows it. What no window allowed was
    /// acknowledged in between, by what the capture lacks.
    pub fn flight_seen(&self, flight_max: Option<u64>) -> Option<u64> {
        let most = self.totals.rwnd_max.filter(|&most| most > 0 && self.window.scale.is_some());
        let most = most.map(|most| most + 2 * u64::from(self.mss.value()));
        flight_max.filter(|&flight| {
            !self.acks_unseen(flight_max) && most.is_none_or(|most| flight <= most)
        })
    }

    /// Capacity as known now; `None` before `min_packets` data packets.
    pub fn capacity(&mut self, min_packets: u64) -> Option<Capacity> {
        (self.totals.data_packets > min_packets).then(|| self.capacity.estimate())
    }

    /// The same as [`Half::capacity`] from the estimates made so far.
    pub fn capacity_so_far(&self, min_packets: u64) -> Option<Capacity> {
        self.capacity.so_far().filter(|_| self.totals.data_packets > min_packets)
    }

    /// The highest rate at which data was acknowledged, in bit/s of payload.
    pub fn delivered_most_bps(&self) -> Option<f64> {
        self.capacity.delivered_most_bps()
    }

    /// The capacity as far as it is credible.
    pub fn credible(&self, capacity: Capacity) -> Capacity {
        self.capacity.credible(capacity, &self.totals, &self.queue)
    }

    /// The same in view of what the verdicts say.
    pub fn in_view_of(&self, found: Capacity, credible: Capacity, time: TimeBy) -> Capacity {
        self.capacity.in_view_of(found, credible, &self.totals, time)
    }

    /// How the losses lie that no queue explains.
    pub fn loss_shape(&self) -> Option<Shape> {
        self.losses.shape()
    }

    /// Whether the losses meet the ends of dense bursts.
    pub fn density(&self) -> Option<Density> {
        self.losses.density()
    }

    /// How even the loss episodes are.
    pub fn evenness(&self) -> Option<Evenness> {
        self.losses.evenness()
    }

    /// What a token bucket would have held at the losses, as of the last test for a policer.
    pub fn levels(&self) -> Option<Levels> {
        self.losses.levels()
    }

    /// The policer that the losses so far show.
    pub fn policer(&mut self) -> Option<Policer> {
        let rtt = self.rtt.srtt?;
        self.losses.policer(rtt)
    }

    /// IP and TCP header bytes of the last data segment.
    pub fn headers_len(&self) -> u32 {
        self.mss.headers_len()
    }

    /// The window in bytes that the flight sizes imply, when the handshake was not seen.
    pub fn inferred_rwnd(&self) -> Option<u64> {
        self.window.inferred_rwnd()
    }

    /// Ranges and acknowledgements that a bound cut.
    pub fn overflow(&self) -> u64 {
        self.ledger.overflow() + self.view.overflow()
    }

    /// Ranges that a bound cut since the other direction was never seen.
    pub fn unanswered(&self) -> u64 {
        self.ledger.unanswered()
    }
}

/// Segments that a sender may send before any answer (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// Flight over the largest window that no sender reaches, even one that ignores the window for a
/// while.
const OVERRUN: u64 = 8;
