//! Whether the path queues: round-trip samples, echoes near the receiver, and rounds.

use super::echoes::Echoes;
use crate::flow::entry::Entry;
use crate::flow::loss::ledger::Flight;
use crate::flow::observer::{Data, Observer, RoundTrip, RttBefore};
use crate::flow::time::interval_stats::is_raised;
use crate::flow::time::rounds::{Round, Rounds};
use crate::flow::time::view::SenderState;
use crate::units::Nanos;
use crate::wire::flags;

/// The newest samples that hold the queue of the path, and how many were raised.
#[derive(Debug, Default)]
pub struct QueueSense {
    newest: [Option<Nanos>; 2],
    mean: Option<Nanos>,
    samples: u32,
    raised: u32,
    rounds: Rounds,
    /// Made with the first echo that shows the observer near the receiver.
    echoes: Option<Box<Echoes>>,
    /// The last segment was small or pushed: there may have been no more to send.
    emptied: bool,
}

impl QueueSense {
    /// Takes a sample of a direction whose least one is `floor`.
    #[inline]
    pub fn sample(&mut self, rtt: Nanos, floor: Nanos) -> RoundTrip {
        self.rounds.round_trip(rtt);
        self.newest = [Some(rtt), self.newest[0]];
        let mean = self.mean.get_or_insert(rtt);
        *mean = Nanos(mean.0 + (rtt.0 - mean.0) / MEMORY);
        self.samples += 1;
        let raised = is_raised(rtt, floor);
        self.raised += u32::from(raised);
        RoundTrip { rtt, floor, raised, recent: self.recent().unwrap_or(rtt) }
    }

    /// The round that new data ends, sent by a sender that knew `known`.
    #[inline(always)]
    pub fn turn(
        &mut self,
        ts: Nanos,
        known: Option<SenderState>,
        flight: &Flight,
    ) -> Option<Round> {
        known.and_then(|known| self.rounds.sent(ts, known.una, flight.next, flight.repairing))
    }

    /// The same of plain data.
    #[inline(always)]
    pub fn turn_plain(&mut self, ts: Nanos, una: u64, flight: &Flight) -> Option<Round> {
        self.rounds.sent(ts, una, flight.next, false)
    }

    /// Takes plain data.
    #[inline(always)]
    pub fn plain_data(&mut self, entry: &Entry) {
        self.emptied = entry.has(flags::PSH);
    }

    /// The lesser of the last two samples: one alone may be an accident.
    #[inline]
    pub fn recent(&self) -> Option<Nanos> {
        match self.newest {
            [Some(a), Some(b)] => Some(a.min(b)),
            [a, _] => a,
        }
    }

    /// Whether at least the share `least` of the samples was raised. So it is taken to be with too
    /// few of them, since a queue may have been missed.
    pub fn stands_now_and_then(&self, least: f64) -> bool {
        self.samples < MIN_SAMPLES || f64::from(self.raised) >= least * f64::from(self.samples)
    }

    /// Round-trip time before a segment, or before what it repairs was lost. What never came,
    /// `unseen`, was missed a round trip before it is sent again. By then the sender has paused and
    /// the queue is gone.
    pub fn before(&self, unseen: bool) -> RttBefore {
        let at_gap = self.echoes.as_ref().filter(|_| unseen).and_then(|echoes| echoes.at_gap);
        let rtt = at_gap.or_else(|| self.recent());
        let is_high = rtt.zip(self.mean).is_some_and(|(rtt, mean)| rtt > mean);
        RttBefore { rtt, is_high }
    }

    /// A segment came that leaves a gap behind it.
    #[cold]
    pub fn note_gap(&mut self) {
        let recent = self.recent();
        if let Some(echoes) = &mut self.echoes {
            echoes.at_gap = recent;
        }
    }

    /// Round-trip time now of a sample `rtt` made of the least delays.
    #[inline(always)]
    pub fn raise(&self, now: Nanos, rtt: Nanos) -> Nanos {
        self.echoes.as_ref().map_or(rtt, |echoes| echoes.raise(now, rtt))
    }

    /// Whether no echo showed the observer near the receiver.
    #[inline(always)]
    pub fn is_far(&self) -> bool {
        self.echoes.is_none()
    }

    /// A segment of the other side, with timestamps, passed towards the sender.
    #[inline(always)]
    pub fn answered(&mut self, entry: &Entry, srtt: Option<Nanos>) {
        if let Some(echoes) = &mut self.echoes {
            echoes.passed(entry.ts, entry.tsval, srtt.unwrap_or_default());
        }
    }

    /// The delay of the sender that a data segment shows by its echo: of those that are awaited
    /// near the receiver, or else `tau`.
    #[inline(always)]
    pub fn echoed(&mut self, entry: &Entry, tau: Option<Nanos>) -> Option<Nanos> {
        match &mut self.echoes {
            Some(echoes) => echoes.came_back(entry.ts, entry.tsecr),
            None => tau,
        }
    }

    /// The round-trip time by an echo that took `tau` on the sender's side, of `rtt` in all. Near
    /// the receiver this shows the queue. The sender may have `waited` for data, but no longer than
    /// since it last sent some. `is_lossless` tells that it never lost anything.
    pub fn echo(
        &mut self,
        ts: Nanos,
        tau: Nanos,
        rtt: Nanos,
        waited: Nanos,
        is_lossless: bool,
    ) -> Option<Nanos> {
        if tau.0 * 2 <= rtt.0 {
            return None;
        }
        let emptied = self.emptied;
        let echoes = self.echoes.get_or_insert_default();
        (waited.0 * 4 < tau.0).then(|| {
            let before = echoes.newest_rtt.map(|(_, rtt)| rtt);
            let rtt = match is_lossless {
                true => rtt - waited,
                false => without_waiting(rtt, before, waited, emptied),
            };
            echoes.newest_rtt = Some((ts, rtt));
            rtt
        })
    }
}

impl Observer for QueueSense {
    #[inline(always)]
    fn on_data(&mut self, data: &Data<'_>) {
        self.emptied = data.small || data.entry.has(flags::PSH);
    }
}

/// The round-trip time in `rtt`, in which the sender waited for data up to `waited`. Behind a
/// segment that emptied its queue it may have, so that the time is only known to lie between.
/// Elsewhere pacing alone may hold it back, and the least of a few samples holds hardly any of
/// that. So the estimate falls at once and rises slowly, as a queue does. It never falls below what
/// waiting leaves: within a burst that is all.
fn without_waiting(rtt: Nanos, before: Option<Nanos>, waited: Nanos, emptied: bool) -> Nanos {
    let least = rtt - waited;
    let Some(before) = before else { return if emptied { least } else { rtt } };
    match emptied {
        true => before.max(least).min(rtt),
        false => rtt.min(Nanos(before.0 + (rtt.0 - before.0) / ECHO_RISE)).max(least),
    }
}

/// Samples over which the least echo rises to the others.
const ECHO_RISE: i64 = 8;
/// Samples over which they are smoothed.
const MEMORY: i64 = 32;
/// Round-trip samples below which a queue may have been missed.
const MIN_SAMPLES: u32 = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_is_missed_only_after_enough_samples() {
        let mut sense = QueueSense::default();
        for n in 0..40 {
            assert_eq!(sense.stands_now_and_then(0.1), n < 20, "{n} samples");
            sense.sample(Nanos(1_000_000 + n), Nanos(1_000_000));
        }
        assert_eq!(sense.recent(), Some(Nanos(1_000_038)));
        let before = sense.before(false);
        assert!(before.is_high && before.rtt == sense.recent());
    }
}
