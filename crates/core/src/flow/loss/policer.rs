//! Whether losses follow the rhythm of a token bucket: the test of Flach et al. (SIGCOMM 2016,
//! section 3.1), on a decimated curve of what was sent.
//!
//! A policer drops what finds no tokens. Take a bucket filled at the delivered rate between the
//! first and the last loss. Its tokens are near zero at every loss of a policed flow, and not below
//! zero at what passes.

use super::curve::{Curve, Point};
use crate::units::Nanos;

/// What a half sent and lost since its first loss.
#[derive(Debug, Default)]
pub struct Trace {
    sent: Curve,
    lost: Vec<Point>,
    /// Payload bytes sent, and lost, since the trace began.
    sent_bytes: u64,
    lost_bytes: u64,
    /// Losses, and those among them after raised round-trip times.
    events: u32,
    queued: u32,
    step: Nanos,
    /// How often the test was made on new losses, and how often it found a policer.
    tests: u32,
    found: u32,
    tested_events: u32,
    last: Option<Policer>,
}

/// A policer that fits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Policer {
    /// Rate in bit/s of payload.
    pub rate_bps: f64,
    /// Losses that the fit rests on.
    pub losses: u32,
}

impl Trace {
    /// A segment of `len` bytes passes at `ts`.
    #[inline]
    pub fn sent(&mut self, ts: Nanos, len: u32) {
        self.sent_bytes += u64::from(len);
        let due = self.sent.last().is_none_or(|last| ts.since(last.ts) >= self.step);
        if due {
            if self.sent.len() >= MAX_POINTS {
                self.sent.halve();
                self.step = Nanos((self.step.0 * 2).max(self.mean_step()));
            }
            self.sent.push(Point { ts, bytes: self.sent_bytes });
        }
    }

    /// A loss at `ts`. Of the lost segment `len` bytes had been seen: none behind the policer.
    /// `queued` tells whether round-trip times were raised then.
    pub fn lost(&mut self, ts: Nanos, len: u64, queued: bool) {
        if self.sent.first().is_none_or(|first| ts < first.ts) {
            return;
        }
        self.lost_bytes += len;
        self.events += 1;
        self.queued += u32::from(queued);
        if self.lost.len() >= MAX_POINTS {
            halve(&mut self.lost);
        }
        // A loss is known by its repair, and those come in another order than the losses.
        let at = self.lost.partition_point(|point| point.ts <= ts);
        let before = at.checked_sub(1).map_or(0, |before| self.lost[before].bytes);
        self.lost.insert(at, Point { ts, bytes: before + len });
        self.lost[at + 1..].iter_mut().for_each(|later| later.bytes += len);
    }

    fn mean_step(&self) -> i64 {
        let ends = self.sent.first().zip(self.sent.last());
        ends.map_or(0, |(first, last)| last.ts.since(first.ts).0) / (2 * MAX_POINTS as i64)
    }

    /// The policer found so far: the test is made whenever there are new losses, and what it found
    /// holds while it finds it every third time at least.
    pub fn verdict(&mut self, rtt: Nanos) -> Option<Policer> {
        if self.events > self.tested_events && self.lost.len() >= MIN_SAMPLES {
            self.tested_events = self.events;
            self.tests += 1;
            if let Some(policer) = self.policer(rtt) {
                self.found += 1;
                self.last = Some(policer);
            }
        }
        self.last.filter(|_| self.found * 3 >= self.tests)
    }

    /// The policer that explains the losses, if one does. `rtt` is the usual round-trip time.
    pub fn policer(&self, rtt: Nanos) -> Option<Policer> {
        // The first and the last losses may be of slow start, or of the end.
        if f64::from(self.queued) > QUEUED * f64::from(self.events) {
            return None;
        }
        let sent = self.sent.points();
        [0, 2].into_iter().find_map(|cut| self.fits(rtt, &sent, cut))
    }

    fn fits(&self, rtt: Nanos, sent: &[Point], cut: usize) -> Option<Policer> {
        let lost = self.lost.get(cut..self.lost.len().checked_sub(cut)?)?;
        let (first, last) = (lost.first()?, lost.last()?);
        let span_s = last.ts.since(first.ts).as_secs_f64();
        let rtt_s = rtt.as_secs_f64();
        if lost.len() < MIN_SAMPLES || span_s < MIN_ROUNDS * rtt_s {
            return None;
        }
        let passed = |ts: Nanos, lost: u64| self.sent_at(sent, ts) - lost as f64;
        let base = passed(first.ts, first.bytes);
        let rate = (passed(last.ts, last.bytes) - base) / span_s;
        if rate <= 0.0 {
            return None;
        }
        let tokens = |ts: Nanos, lost: u64| {
            rate * ts.since(first.ts).as_secs_f64() - (passed(ts, lost) - base)
        };
        let at_loss: Vec<f64> = lost.iter().map(|point| tokens(point.ts, point.bytes)).collect();
        let mut at_pass = Vec::new();
        let mut next = cut;
        for point in sent.iter().filter(|p| p.ts > first.ts && p.ts < last.ts) {
            while self.lost.get(next).is_some_and(|loss| loss.ts <= point.ts) {
                next += 1;
            }
            at_pass.push(tokens(point.ts, self.lost[next - 1].bytes));
        }
        if at_pass.len() < MIN_SAMPLES {
            return None;
        }
        let (loss_median, pass_median) = (median(&at_loss), median(&at_pass));
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        if loss_median >= pass_median || mean(&at_loss) >= mean(&at_pass) {
            return None;
        }
        let flight = rate * rtt_s;
        let share = |values: &[f64], bad: &dyn Fn(f64) -> bool| {
            values.iter().filter(|&&value| bad(value)).count() as f64 / values.len() as f64
        };
        let far = share(&at_loss, &|value| (value - loss_median).abs() > LOSS_TOLERANCE * flight);
        let empty = share(&at_pass, &|value| value - loss_median < -PASS_TOLERANCE * flight);
        let fits = far <= LOSSES_FAR && empty <= PASSES_EMPTY;
        fits.then_some(Policer { rate_bps: rate * 8.0, losses: lost.len() as u32 })
    }

    /// Bytes sent up to `ts`, between the points by proportion.
    fn sent_at(&self, sent: &[Point], ts: Nanos) -> f64 {
        let after = sent.partition_point(|point| point.ts <= ts);
        let before = sent[after.max(1) - 1];
        let Some(next) = sent.get(after) else { return self.sent_bytes as f64 };
        let span = next.ts.since(before.ts).0.max(1) as f64;
        let part = ts.since(before.ts).0 as f64 / span;
        before.bytes as f64 + (next.bytes - before.bytes) as f64 * part.min(1.0)
    }
}

fn halve(points: &mut Vec<Point>) {
    // The last point stays, since the curve ends there.
    let mut odd = points.len().is_multiple_of(2);
    points.retain(|_| {
        odd = !odd;
        odd
    });
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    let middle = sorted.len() / 2;
    *sorted.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Points of either curve: enough for a hundred rounds of a few points each.
const MAX_POINTS: usize = 256;
/// Losses, and passes, that a fit needs; Flach et al. take 15.
const MIN_SAMPLES: usize = 15;
/// Rounds that the losses must span; Flach et al. ask for losses in three.
const MIN_ROUNDS: f64 = 3.0;
/// Tokens at a loss lie within so many round trips' worth of their median, but for so many losses.
const LOSS_TOLERANCE: f64 = 2.0;
const LOSSES_FAR: f64 = 0.10;
/// Tokens at a pass lie at most so much below it, but for so many passes.
const PASS_TOLERANCE: f64 = 0.75;
const PASSES_EMPTY: f64 = 0.03;

/// Share of the losses that may come with a queue.
const QUEUED: f64 = 0.20;

#[cfg(test)]
mod tests {
    use super::*;

    /// A window that grows by one segment a round trip of 40 ms and halves on loss. It passes a
    /// bucket of `depth` bytes filled at 500,000 bytes/s, or a generator draws its losses.
    fn trace(depth: Option<f64>) -> Trace {
        let mut trace = Trace::default();
        let (mut tokens, mut seed, mut window) = (depth.unwrap_or(0.0), 1u64, 10i64);
        for round in 0..1_000 {
            let mut lost_any = false;
            for segment in 0..window {
                let ts = Nanos(round * 40_000_000 + segment * 40_000_000 / window);
                trace.sent(ts, 1_000);
                tokens = (tokens + 20_000.0 / window as f64).min(depth.unwrap_or(0.0));
                seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let lost = match depth {
                    Some(_) => tokens < 1_000.0,
                    None => (seed >> 33).is_multiple_of(128),
                };
                if lost {
                    trace.lost(ts, 1_000, false);
                    lost_any = true;
                } else {
                    tokens -= 1_000.0;
                }
            }
            window = if lost_any { window / 2 } else { window + 1 };
        }
        trace
    }

    #[test]
    fn a_token_bucket_is_told_from_random_loss() {
        let policer = trace(Some(20_000.0)).policer(Nanos::from_millis(40)).expect("policed");
        assert!((policer.rate_bps / 4e6 - 1.0).abs() < 0.1, "{policer:?}");
        assert_eq!(trace(None).policer(Nanos::from_millis(40)), None);
    }

    #[test]
    fn the_curves_stay_bounded() {
        let mut trace = Trace::default();
        for us in 0..100_000 {
            trace.sent(Nanos::from_micros(us), 100);
            if us % 10 == 0 {
                trace.lost(Nanos::from_micros(us), 100, false);
            }
        }
        assert!(trace.sent.len() <= MAX_POINTS && trace.lost.len() <= MAX_POINTS);
        assert_eq!(trace.lost.last().expect("lost").bytes, trace.lost_bytes);
    }
}
