//! Signs for the diagnosis: queueing, rounds, how losses come about.

use super::Half;
use crate::flow::burst::Density;
use crate::flow::entry::Entry;
use crate::flow::ledger::{Filed, Kind};
use crate::flow::losses::Shape;
use crate::flow::policer::Policer;
use crate::flow::signs::{is_queued, is_raised};
use crate::flow::view::Known;
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
        self.trace(entry, filed, start, flight_before);
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

    /// Keeps the curves of the policer test and the pattern of the losses, from the first one on.
    pub(super) fn trace(&mut self, entry: &Entry, filed: &Filed, start: u64, flight: u16) {
        if self.history.is_none() && !filed.loss_event {
            return;
        }
        let lately = self.rtt_before(filed);
        let queued = lately.zip(self.rtt.min).is_some_and(|(rtt, floor)| is_queued(rtt, floor));
        let high = lately.zip(self.queue_mean).is_some_and(|(rtt, mean)| rtt > mean);
        let repairing = self.ledger.recovery_point().is_some();
        let history = match &mut self.history {
            Some(history) => history,
            None if filed.loss_event => self.history.insert(Box::default()),
            None => return,
        };
        history.trace.sent(entry.ts, entry.payload_len);
        let (new, mss) = (filed.kind == Kind::New, self.mss.value());
        history.bursts.sent(entry.ts, entry.payload_len, mss, new);
        if filed.loss_event {
            let excess = lately.zip(self.rtt.min).map(|(rtt, floor)| rtt - floor);
            history.bursts.lost(filed, excess);
        }
        if new {
            let part = relative(mss as f32, self.flight_mean);
            let parts = entry.payload_len.div_ceil(mss.max(1)).clamp(1, MOST_PARTS) as u16;
            history.pattern.sent(start, flight, (parts, part), repairing);
        }
        if let Some(lost) = filed.lost_at {
            history.trace.lost(lost, filed.seen_bytes, queued);
            if queued {
                history.pattern.interrupt();
            } else if let Some(flight) = filed.lost_flight {
                let before = relative(filed.lost_offset as f32, self.flight_mean);
                let flight = flight.saturating_add(before);
                history.pattern.lost(start, flight, (filed.loss_event, high), mss);
            }
        }
    }

    /// Flight size against its mean over the last few hundred segments, in 256ths: what was in
    /// flight when a segment was sent is compared with its own time, since flows change.
    pub(super) fn relative_flight(&mut self, known: Option<Known>) -> u16 {
        let Some(known) = known else { return 0 };
        let flight = self.ledger.next().saturating_sub(known.una) as f32;
        let sent = self.totals.data_packets;
        let begun = sent >= FLIGHT_MEMORY;
        let weight = if begun { 1.0 / FLIGHT_MEMORY as f32 } else { 1.0 / (sent + 1) as f32 };
        self.flight_mean += (flight - self.flight_mean) * weight;
        relative(flight, self.flight_mean)
    }

    /// How the losses lie that no queue explains.
    pub fn loss_shape(&self) -> Option<Shape> {
        self.history.as_ref()?.pattern.shape()
    }

    /// Whether the losses meet the ends of dense bursts.
    pub fn density(&self) -> Option<Density> {
        self.history.as_ref()?.bursts.density()
    }

    /// The lesser of the last two round-trip samples: one alone may be an accident.
    pub(super) fn rtt_lately(&self) -> Option<Nanos> {
        match self.rtt_newest {
            [Some(a), Some(b)] => Some(a.min(b)),
            [a, _] => a,
        }
    }

    /// Round-trip time before what `filed` repairs was lost. What never came was missed a round
    /// trip before it is sent again, and by then the sender has paused and the queue is gone.
    fn rtt_before(&self, filed: &Filed) -> Option<Nanos> {
        let unseen = filed.lost_at.is_some() && filed.seen_bytes == 0;
        let at_gap = self.echoes.as_ref().filter(|_| unseen).and_then(|echoes| echoes.at_gap);
        at_gap.or_else(|| self.rtt_lately())
    }

    /// The policer that the losses so far show.
    pub fn policer(&mut self) -> Option<Policer> {
        let rtt = self.rtt.srtt?;
        self.history.as_mut()?.trace.verdict(rtt)
    }

    /// A round-trip sample: the receiver's delay, and the sender's as known `now`. `queues` tells
    /// whether the delay that was measured holds the queue of the path, as far as that is known:
    /// whether the receiver is the farther end.
    #[inline(always)]
    pub fn round_trip(&mut self, now: Nanos, rtt: Nanos, queues: bool) {
        let rtt = self.echoes.as_ref().map_or(rtt, |echoes| echoes.raise(now, rtt));
        self.rtt.sample(rtt);
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
        let lately = self.rtt_lately();
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
        if self.history.is_none() {
            return least;
        }
        let Some(before) = before else { return if self.emptied { least } else { rtt } };
        match self.emptied {
            true => before.max(least).min(rtt),
            false => rtt.min(Nanos(before.0 + (rtt.0 - before.0) / ECHO_RISE)).max(least),
        }
    }

    pub(super) fn queueing(&mut self, rtt: Nanos) {
        self.rtt_newest = [Some(rtt), self.rtt_newest[0]];
        self.rounds.round_trip(rtt);
        let mean = self.queue_mean.get_or_insert(rtt);
        *mean = Nanos(mean.0 + (rtt.0 - mean.0) / 32);
        let floor = self.rtt.min.unwrap_or(rtt);
        self.queue_samples += 1;
        self.queue_raised += u32::from(is_raised(rtt, floor));
        let lately = self.rtt_lately().unwrap_or(rtt);
        self.history.iter_mut().for_each(|history| history.bursts.delayed(lately - floor));
        if let Some(stretch) = &mut self.stretch {
            stretch.late().sums.signs_mut().round_trip(rtt, floor);
        }
    }
}

/// Bytes in 256ths of the mean flight.
fn relative(bytes: f32, mean: f32) -> u16 {
    (bytes * 256.0 / mean.max(1.0)) as u16
}

/// Segments of the largest super-packet (64 KiB of 1,448 bytes).
const MOST_PARTS: u32 = 46;
/// Samples over which the least echo rises to the others.
const ECHO_RISE: i64 = 8;
/// Segments over which flights are compared: a few rounds of most flows.
const FLIGHT_MEMORY: u64 = 64;
/// The ECN field of a packet that a queue marked (RFC 3168 section 5).
const CONGESTION_EXPERIENCED: u8 = 3;
