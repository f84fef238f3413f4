//! Signs for the diagnosis: queueing, rounds, how losses come about.

use super::Half;
use crate::flow::entry::Entry;
use crate::flow::loss::burst::Density;
use crate::flow::loss::history::Met;
use crate::flow::loss::ledger::{Filed, Kind};
use crate::flow::loss::losses::Shape;
use crate::flow::loss::policer::Policer;
use crate::flow::time::signs::{is_queued, is_raised};
use crate::flow::time::view::Known;
use crate::units::Nanos;
use crate::wire::flags;

impl Half {
    /// Signs that a data segment shows.
    pub(super) fn gather_signs(
        &mut self,
        entry: &Entry,
        filed: &Filed,
        small: bool,
        known: Option<Known>,
        (start, flight_before): (u64, u16),
    ) {
        let next = self.ledger.next();
        let repairing = self.ledger.recovery_point().is_some();
        let ended = known.and_then(|known| self.rounds.sent(entry.ts, known.una, next, repairing));
        let (floor, mss) = (self.rtt.min, self.mss.value());
        let newest = self.rtt_before(filed);
        if filed.loss_event || !self.losses.is_empty() {
            let met = self.met(filed, start, flight_before);
            self.losses.on_data(entry, filed, &met);
        }
        self.emptied = small || entry.has(flags::PSH);
        let signs = self.stretch_mut().late().sums.signs_mut();
        signs.ce_marks += u32::from(entry.ecn() == CONGESTION_EXPERIENCED);
        signs.timeouts += u32::from(filed.rto_event);
        if filed.kind == Kind::New {
            signs.segments += 1;
            signs.smalls += u32::from(small);
            signs.pushes += u32::from(entry.has(flags::PSH));
        }
        if let Some(round) = ended {
            signs.round(&round, floor, mss);
        }
        if let Some(floor) = floor.filter(|_| filed.loss_event) {
            signs.loss(newest, floor);
        }
    }

    /// What a segment from `start` on met, for the history of losses.
    fn met(&self, filed: &Filed, start: u64, flight: u16) -> Met {
        let lately = self.rtt_before(filed);
        let excess = lately.zip(self.rtt.min).map(|(rtt, floor)| rtt - floor);
        Met {
            start,
            flight,
            mss: self.mss.value(),
            repairing: self.ledger.recovery_point().is_some(),
            excess,
            queued: lately.zip(self.rtt.min).is_some_and(|(rtt, floor)| is_queued(rtt, floor)),
            high: lately.is_some_and(|rtt| self.queue.is_high(rtt)),
        }
    }

    /// Flight size against its mean; 0 while it is unknown.
    pub(super) fn relative_flight(&mut self, known: Option<Known>) -> u16 {
        let Some(known) = known else { return 0 };
        let flight = self.ledger.next().saturating_sub(known.una);
        self.losses.relative_flight(flight, self.totals.data_packets)
    }

    /// How the losses lie that no queue explains.
    pub fn loss_shape(&self) -> Option<Shape> {
        self.losses.shape()
    }

    /// Whether the losses meet the ends of dense bursts.
    pub fn density(&self) -> Option<Density> {
        self.losses.density()
    }

    /// Round-trip time before what `filed` repairs was lost. What never came was missed a round
    /// trip before it is sent again, and by then the sender has paused and the queue is gone.
    fn rtt_before(&self, filed: &Filed) -> Option<Nanos> {
        let unseen = filed.lost_at.is_some() && filed.seen_bytes == 0;
        let at_gap = self.echoes.as_ref().filter(|_| unseen).and_then(|echoes| echoes.at_gap);
        at_gap.or_else(|| self.queue.lately())
    }

    /// The policer that the losses so far show.
    pub fn policer(&mut self) -> Option<Policer> {
        let rtt = self.rtt.srtt?;
        self.losses.policer(rtt)
    }

    /// A round-trip sample: the receiver's delay, and the sender's as known `now`. `queues` tells
    /// whether the delay that was measured holds the queue of the path, as far as that is known:
    /// whether the receiver is the farther end.
    #[inline(always)]
    pub fn round_trip(&mut self, now: Nanos, rtt: Nanos, queues: bool) {
        let rtt = self.echoes.as_ref().map_or(rtt, |echoes| echoes.raise(now, rtt));
        self.rtt.sample(rtt);
        self.rtts.add(rtt);
        if let Some(stretch) = &mut self.stretch {
            let sums = &mut stretch.late().sums;
            sums.rtt_samples += 1;
            sums.rtt_sum_ns += rtt.0 as u64;
        }
        if queues {
            self.queueing(rtt);
        }
    }

    /// A segment of the other side, with timestamps, passed towards the sender.
    #[inline]
    pub fn answered(&mut self, entry: &Entry) {
        if let Some(echoes) = &mut self.echoes {
            echoes.passed(entry.ts, entry.tsval, self.rtt.srtt.unwrap_or_default());
        }
    }

    /// The delay of the sender that a data segment shows by its echo: of those that are awaited
    /// near the receiver, or else `tau`.
    #[inline]
    pub fn echoed(&mut self, entry: &Entry, tau: Option<Nanos>) -> Option<Nanos> {
        match &mut self.echoes {
            Some(echoes) => echoes.came_back(entry.ts, entry.tsecr),
            None => tau,
        }
    }

    /// A segment came that leaves a gap behind it.
    #[cold]
    pub(super) fn note_gap(&mut self) {
        let lately = self.queue.lately();
        if let Some(echoes) = &mut self.echoes {
            echoes.at_gap = lately;
        }
    }

    /// A data segment echoes an acknowledgement that passed `tau` ago, which makes a round-trip
    /// time of `rtt`: near the receiver it is this that shows the queue. The sender may have waited
    /// for data, but no longer than since it last sent some.
    pub fn echo(&mut self, ts: Nanos, tau: Nanos, rtt: Nanos) {
        let Some(last) = self.totals.last_data else { return };
        let waited = ts.since(last);
        if tau.0 * 2 <= rtt.0 {
            return;
        }
        let before = self.echoes.get_or_insert_default().lately.map(|(_, lately)| lately);
        if waited.0 * 4 < tau.0 {
            let rtt = self.without_waiting(rtt, before, waited);
            if let Some(echoes) = &mut self.echoes {
                echoes.lately = Some((ts, rtt));
            }
            self.queueing(rtt);
        }
    }

    /// The round-trip time in `rtt`, in which the sender waited for data up to `waited`. Behind a
    /// segment that emptied its queue it may have, and all along if it never lost anything, so that
    /// the time is only known to lie between. Elsewhere pacing alone may hold it back, and the
    /// least of a few samples holds hardly any of that: the estimate falls at once and rises
    /// slowly, as a queue does, but never below what waiting leaves: within a burst that is all.
    fn without_waiting(&self, rtt: Nanos, before: Option<Nanos>, waited: Nanos) -> Nanos {
        let least = rtt - waited;
        if self.losses.is_empty() {
            return least;
        }
        let Some(before) = before else { return if self.emptied { least } else { rtt } };
        match self.emptied {
            true => before.max(least).min(rtt),
            false => rtt.min(Nanos(before.0 + (rtt.0 - before.0) / ECHO_RISE)).max(least),
        }
    }

    pub(super) fn queueing(&mut self, rtt: Nanos) {
        self.rounds.round_trip(rtt);
        let floor = self.rtt.min.unwrap_or(rtt);
        self.queue.on_round_trip(rtt, is_raised(rtt, floor));
        self.losses.on_round_trip(self.queue.lately().unwrap_or(rtt) - floor);
        if let Some(stretch) = &mut self.stretch {
            stretch.late().sums.signs_mut().round_trip(rtt, floor);
        }
    }
}

/// Samples over which the least echo rises to the others.
const ECHO_RISE: i64 = 8;
/// The ECN field of a packet that a queue marked (RFC 3168 section 5).
const CONGESTION_EXPERIENCED: u8 = 3;
