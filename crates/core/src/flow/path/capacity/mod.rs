//! Capacity of the path, from the gaps between packets (PPrate: En-Najjary, Urvoy-Keller 2006).
//!
//! Downstream of the narrow link the data segments themselves carry its spacing; upstream of it
//! only the acknowledgements do. [`Collector`] keeps the samples of the stream that fits where the
//! observer stands, [`pprate`] turns them into an estimate.

mod modes;
mod pprate;
mod samples;
mod spread;

pub use pprate::{Estimate, Support, pprate};

use crate::reason::{CapacityMethod, CapacityUnknown};
use crate::units::Nanos;
use samples::Samples;
use spread::Spread;

/// One packet of a stream and the gap before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Size of the packet in bits of IP; for an acknowledgement of the packets it acknowledges.
    pub bits: f32,
    /// Gap to the packet before it in ns.
    pub gap_ns: f32,
}

/// Which packets the samples come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Data segments, seen behind the narrow link.
    Data,
    /// Acknowledgements, seen before it.
    Acks,
}

/// What is known of the capacity of a half.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Capacity {
    /// The estimate in bit/s of IP packets; `None` when it was refused.
    pub bps: Option<f64>,
    /// How it was found, or why it was refused.
    pub method: Result<CapacityMethod, CapacityUnknown>,
    /// Lower bound.
    pub lower_bps: Option<f64>,
    /// Upper bound.
    pub upper_bps: Option<f64>,
    /// How well the pairs agree on the estimate.
    pub support: Support,
}

impl Capacity {
    /// No estimate, for this reason.
    fn unknown(reason: CapacityUnknown) -> Capacity {
        let (bps, support) = (None, Support::default());
        Capacity { bps, method: Err(reason), lower_bps: None, upper_bps: None, support }
    }

    /// Whether the gaps between packets differ by whole packets of others: the link is not the
    /// half's alone.
    pub fn is_shared(&self) -> bool {
        self.support.is_comb()
    }

    /// Whether the packets come evenly, at the rate at which they are delivered, and no queue shows
    /// that a link makes them.
    pub fn is_pace(&self) -> bool {
        self.method == Err(CapacityUnknown::SenderPace)
    }
}

/// Samples of one half, and the estimates made of them.
#[derive(Debug, Default)]
pub struct Collector {
    stream: Option<Stream>,
    samples: Samples,
    last: Option<(Nanos, u32)>,
    /// Candidates, and those of them that were too close together for the timestamps.
    candidates: u64,
    unresolved: u64,
    /// Whether any timestamp was finer than a microsecond.
    nanoseconds: bool,
    estimates: Vec<Result<Estimate, CapacityUnknown>>,
    taken: u64,
    next_estimate: u64,
    /// When the last acknowledgement came and what it acknowledges was sent.
    last_echo: Option<(Nanos, Nanos)>,
    /// Pairs that the path behind the observer spread apart.
    spread: Spread,
}

impl Collector {
    /// Chooses the stream; another one than before starts anew.
    pub fn choose(&mut self, stream: Stream) {
        if self.stream != Some(stream) {
            let nanoseconds = self.nanoseconds;
            *self = Collector { stream: Some(stream), nanoseconds, ..Collector::default() };
        }
    }

    /// The stream chosen.
    pub fn stream(&self) -> Option<Stream> {
        self.stream
    }

    /// A packet of the stream: `bytes` of IP at `ts`. `pairs` tells whether its size allows a
    /// sample together with the one before it.
    #[inline(always)]
    pub fn packet(&mut self, ts: Nanos, bytes: u32, pairs: bool) {
        self.nanoseconds = self.nanoseconds || ts.0 % 1000 != 0;
        let last = self.last.replace((ts, bytes));
        let Some((before, bytes_before)) = last else { return };
        // Equal sizes: a small packet ahead lets the large one catch up (PPrate step 1).
        if !pairs || bytes.abs_diff(bytes_before) * 10 > bytes {
            return;
        }
        self.candidates += 1;
        let gap = ts.since(before);
        let resolution = if self.nanoseconds { 1 } else { 1000 };
        if gap.0 < RESOLVABLE * resolution {
            self.unresolved += 1;
            return;
        }
        if self.samples.len() >= WINDOW {
            self.begin_window();
        }
        self.samples.push(bytes, gap.0 as f32);
        self.taken += 1;
    }

    #[cold]
    #[inline(never)]
    fn begin_window(&mut self) {
        self.estimate();
        self.samples.clear();
        self.pass_over();
    }

    /// Keeps no samples while the next estimate is due in a later window than this one.
    fn pass_over(&mut self) {
        let until_next = (WINDOW - self.samples.len()) as u64;
        if self.taken + until_next < self.next_estimate {
            self.samples.pass_over();
        }
    }

    /// Whether an acknowledgement at `ts`, of what was `sent` then, waited behind the one before it
    /// on the way back: no link brings data that much closer together. Their gap is then one of the
    /// way back (ACK compression: Mogul 1992).
    #[inline]
    pub fn queued_behind(&self, ts: Nanos, sent: Nanos) -> bool {
        self.last_echo.is_some_and(|(before, sent_before)| {
            ts.since(before).0.saturating_mul(TOGETHER) < sent.since(sent_before).0
        })
    }

    /// An acknowledgement of `bytes` of IP at `ts`, the newest of which were `sent` then. `counted`
    /// tells that it came for the number of segments and not for a timer (RFC 5681 section 4.2).
    #[inline]
    pub fn echo(&mut self, ts: Nanos, sent: Nanos, bytes: u32, counted: bool) {
        let Some((before, sent_before)) = self.last_echo.replace((ts, sent)) else { return };
        let gap = ts.since(before);
        let resolution = if self.nanoseconds { 1 } else { 1000 };
        if counted
            && gap.0 >= RESOLVABLE * resolution
            && gap.0 * 10 > sent.since(sent_before).0 * SPREAD_TENTHS
        {
            self.spread.add(f64::from(bytes) * 8.0, gap.0 as f64);
        }
    }

    /// The rate of the link by the pairs that it spread apart, in bit/s.
    pub fn spread_bps(&self) -> Option<f64> {
        self.spread.rate_bps()
    }

    /// The stream was interrupted: the next packet has no gap before it.
    #[inline]
    pub fn interrupt(&mut self) {
        self.last = None;
        self.last_echo = None;
    }

    /// The acknowledgements were interrupted.
    #[inline]
    pub fn interrupt_acks(&mut self) {
        match self.stream {
            Some(Stream::Data) => self.last_echo = None,
            _ => self.interrupt(),
        }
    }

    /// Estimates if the samples have doubled since the last time; what comes in between changes
    /// little, and PPrate is the most expensive part of the analysis.
    fn estimate(&mut self) {
        if self.taken < self.next_estimate || self.samples.len() < MIN_SAMPLES {
            return;
        }
        self.next_estimate = (self.taken * 2).max(MIN_SAMPLES as u64);
        // There are as many as their number doubles.
        self.estimates.reserve_exact(1);
        self.estimates.push(pprate(&self.samples.unpack()));
        if self.samples.len() >= WINDOW {
            self.samples.clear();
        }
        self.pass_over();
    }

    /// What is known now, with an estimate of the newest samples. The rate `delivered_bps` that was
    /// reached over a long time bounds the capacity from below.
    pub fn capacity(&mut self, delivered_bps: Option<f64>) -> Capacity {
        self.estimate();
        self.known(delivered_bps)
    }

    /// The same without a new estimate.
    pub fn known(&self, delivered_bps: Option<f64>) -> Capacity {
        let resolvable =
            (!self.nanoseconds).then(|| 1500.0 * 8.0 * 1e9 / (RESOLVABLE * 1000) as f64);
        let refused = |reason| Capacity { lower_bps: delivered_bps, ..Capacity::unknown(reason) };
        if self.candidates > 0 && self.unresolved * 2 > self.candidates {
            let coarse = CapacityUnknown::TimestampResolution;
            return Capacity { lower_bps: resolvable, ..Capacity::unknown(coarse) };
        }
        let mut found: Vec<&Estimate> = self.estimates.iter().flatten().collect();
        let Some(&last) = found.last() else {
            return match self.estimates.last() {
                Some(&Err(reason)) => refused(reason),
                _ => refused(CapacityUnknown::TooFewSamples),
            };
        };
        found.sort_by(|a, b| a.bps.total_cmp(&b.bps));
        let Estimate { bps: median, upper_bps, support, .. } = *found[found.len() / 2];
        Capacity {
            bps: Some(median),
            method: Ok(match (self.stream, last.phase) {
                (Some(Stream::Acks), 1) => CapacityMethod::PprateAcks,
                (Some(Stream::Acks), _) => CapacityMethod::PprateAcksModes,
                (_, 1) => CapacityMethod::PprateData,
                _ => CapacityMethod::PprateDataModes,
            }),
            lower_bps: [last.lower_bps, delivered_bps]
                .into_iter()
                .flatten()
                .reduce(f64::max)
                .map(|lower| lower.min(median)),
            upper_bps,
            support,
        }
    }
}

/// Samples of one estimate, as many as the prototype's window.
const WINDOW: usize = 1000;
/// Below this an estimate is too inaccurate (IM 2021 section IV.C.1).
const MIN_SAMPLES: usize = 300;
/// Tenths of its gap at the sender from which a pair was spread apart: less may be jitter.
const SPREAD_TENTHS: i64 = 20;
/// Packets so many times closer together than a link leaves them waited for each other elsewhere.
const TOGETHER: i64 = 10;
/// A gap must be this many ticks of the timestamps for its rate to be within a tenth.
const RESOLVABLE: i64 = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::rounded::Rounded;

    #[test]
    fn acknowledgements_that_come_together_waited_for_each_other() {
        let mut collector = Collector::default();
        let (millisecond, sent) = (Nanos(1_000_000), Nanos(50_000_000));
        let at = Nanos(100_000_000);
        assert!(!collector.queued_behind(at, sent), "none before it");
        collector.echo(at, sent, 3_000, true);
        let next = |gap_ns| collector.queued_behind(at + Nanos(gap_ns), sent + millisecond);
        assert!(next(99_999), "a tenth of the gap between the data");
        assert!(!next(100_000));
        assert!(!collector.queued_behind(at, sent), "data that left at once");
    }

    #[test]
    fn an_estimate_has_all_samples_of_its_window_and_no_others_are_kept() {
        let (mut collector, mut ts, mut all) = (Collector::default(), Nanos(1), Vec::new());
        collector.packet(ts, 1500, true);
        for number in 0..9_000i64 {
            let gap = Nanos(1_200_000 + number * number % 4_001);
            ts += gap;
            collector.packet(ts, 1500, true);
            all.push(Sample { bits: 12_000.0, gap_ns: Rounded::of(gap.0 as f32).number() });
            let taken = all.len();
            let window = &all[(taken - 1) / WINDOW * WINDOW..];
            let kept = [1, 2, 4, 8, 16].contains(&taken.div_ceil(WINDOW));
            assert_eq!(collector.samples.len(), window.len());
            assert_eq!(collector.samples.unpack(), if kept { window } else { &[] }, "{taken}");
        }
        let ends = [1, 2, 4, 8].map(|windows| windows * WINDOW);
        assert_eq!(collector.estimates, ends.map(|end| pprate(&all[end - WINDOW..end])));
    }
}
