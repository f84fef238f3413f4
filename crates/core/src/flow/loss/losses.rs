//! How losses lie among what was sent: at random, in clusters, or whenever much was in flight.

use crate::flow::time::moments::Moments;

/// Positions of losses that no queue explains, in segments of new data, and what was in flight.
#[derive(Debug, Default)]
pub struct Pattern {
    last: Option<u64>,
    gaps: Moments,
    /// The first loss of the last episode, and the gaps between those.
    episode: Option<u64>,
    episodes: Moments,
    near: u32,
    next: u32,
    high: u32,
    lost_flights: Moments,
    flights: Moments,
    /// The first byte sent after slow start: its losses follow its growth, whatever causes them.
    steady_from: Option<u64>,
}

/// What a pattern shows; compare with losses drawn independently for each segment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shape {
    /// Losses that it rests on.
    pub losses: u32,
    /// Lost over sent segments, from the first loss that no queue explains to the last one.
    pub ratio: f64,
    /// Standard deviation over mean of the segments between losses: one when independent.
    pub variation: f64,
    /// The same between the first losses of episodes: about one when independent, and far below it
    /// where a sender that grows meets the same limit again and again. `None` with too few.
    pub rhythm: Option<f64>,
    /// Gaps between episodes that it rests on.
    pub episodes: u32,
    /// Share of these that follow directly.
    pub adjacent: f64,
    /// Losses soon after another over what independence makes of the ratio: one when independent.
    pub clustering: f64,
    /// Mean flight at the send of a lost segment over the mean of all: one when independent.
    pub flight: f64,
    /// Share of the losses after round-trip times above the mean: a half when independent, nearly
    /// all where even a short queue overflows.
    pub high: f64,
}

impl Pattern {
    /// New data from byte `start` on was sent at this relative flight, in so many parts of so much
    /// flight each (a super-packet has several); `repairing` while a loss is repaired.
    #[inline]
    pub fn sent(&mut self, start: u64, flight: u16, parts: u16, each: u16, repairing: bool) {
        if self.steady_from.is_none() && !repairing {
            self.steady_from = Some(start);
        }
        if self.steady_from.is_some() {
            for part in 0..parts {
                self.flights.add(f64::from(flight) + f64::from(part) * f64::from(each));
            }
        }
    }

    /// The segment from byte `start` on was lost; it had been sent at this relative flight.
    /// `first` tells whether it begins an episode, `high` whether the round-trip time before it was
    /// above the mean. Segments have `mss` bytes.
    pub fn lost(&mut self, start: u64, flight: u16, first: bool, high: bool, mss: u32) {
        if self.steady_from.is_none_or(|from| start < from) {
            return;
        }
        if first {
            let gap = self.episode.replace(start).and_then(|last| start.checked_sub(last));
            gap.into_iter().for_each(|gap| self.episodes.add(gap as f64));
        }
        self.lost_flights.add(f64::from(flight));
        self.high += u32::from(high);
        if self.lost_flights.count >= REMEMBERED {
            let all =
                [&mut self.gaps, &mut self.lost_flights, &mut self.flights, &mut self.episodes];
            for moments in all {
                moments.halve();
            }
            self.near /= 2;
            self.next /= 2;
            self.high /= 2;
        }
        let Some(last) = self.last.replace(start) else { return };
        if start > last {
            let gap = (start - last).div_ceil(u64::from(mss.max(1)));
            self.gaps.add(gap as f64);
            self.near += u32::from(gap <= NEAR);
            self.next += u32::from(gap <= 1);
        } else {
            self.last = Some(last);
        }
    }

    /// A segment was lost that a queue explains: what lies between the losses before and after it
    /// is no gap.
    pub fn interrupt(&mut self) {
        (self.last, self.episode) = (None, None);
    }

    /// The shape; `None` with too few losses.
    pub fn shape(&self) -> Option<Shape> {
        let losses = self.gaps.count;
        if losses < MIN_LOSSES {
            return None;
        }
        let mean = self.gaps.mean().filter(|&mean| mean >= 1.0)?;
        let ratio = 1.0 / mean;
        let independent = 1.0 - (1.0 - ratio).powi(NEAR as i32);
        Some(Shape {
            losses,
            ratio,
            variation: self.gaps.variation()?,
            episodes: self.episodes.count,
            rhythm: self.episodes.variation().filter(|_| self.episodes.count >= MIN_EPISODES),
            adjacent: f64::from(self.next) / f64::from(self.near.max(1)),
            clustering: f64::from(self.near) / f64::from(losses) / independent,
            high: f64::from(self.high) / f64::from(self.lost_flights.count.max(1)),
            flight: self.lost_flights.mean()? / self.flights.mean().filter(|&mean| mean > 0.0)?,
        })
    }
}

/// Segments within which two losses are near.
const NEAR: u64 = 8;
/// Losses below which there is no pattern: the variation of independent gaps is then known to a
/// third or so.
const MIN_LOSSES: u32 = 10;
/// Episodes below which they have no rhythm.
const MIN_EPISODES: u32 = 6;
/// Losses after which older ones count half, so that the pattern follows a flow that changes.
const REMEMBERED: u32 = 128;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn independent_losses_have_the_shape_of_independence_and_clusters_have_not() {
        let mut seed = 7u64;
        let mut draw = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as f64 / f64::from(1u32 << 31)
        };
        let (mut random, mut clustered) = (Pattern::default(), Pattern::default());
        for segment in 0..40_000u64 {
            let flight = 10 + (segment % 200) as u16 / 10;
            random.sent(segment * 1_000, flight, 1, 1, false);
            clustered.sent(segment * 1_000, flight, 1, 1, false);
            if draw() < 0.02 {
                random.lost(segment * 1_000, flight, true, segment % 2 == 0, 1_000);
            }
            if segment % 200 > 195 {
                clustered.lost(
                    segment * 1_000,
                    flight,
                    segment % 200 == 196,
                    segment % 2 == 0,
                    1_000,
                );
            }
        }
        let shape = random.shape().expect("many");
        assert!((shape.ratio - 0.02).abs() < 0.004, "{shape:?}");
        assert!((shape.variation - 1.0).abs() < 0.2, "{shape:?}");
        assert!((shape.clustering - 1.0).abs() < 0.4, "{shape:?}");
        assert!((shape.flight - 1.0).abs() < 0.08, "{shape:?}");
        assert!(shape.rhythm.expect("episodes") > 0.8, "{shape:?}");
        let shape = clustered.shape().expect("many");
        assert!(shape.rhythm.expect("episodes") < 0.1, "{shape:?}");
        assert!(shape.variation > 1.5 && shape.clustering > 3.0 && shape.flight > 1.3, "{shape:?}");
    }

    #[test]
    fn losses_of_slow_start_do_not_count() {
        let mut pattern = Pattern::default();
        (0..100u64).for_each(|segment| pattern.sent(segment * 1_000, 10, 1, 1, segment < 50));
        (0..50u64).for_each(|segment| pattern.lost(segment * 1_000, 20, true, true, 1_000));
        assert_eq!(pattern.shape(), None);
        (0..11u64).for_each(|n| pattern.lost(50_000 + n * 4_000, 10, true, true, 1_000));
        assert_eq!(pattern.shape().map(|shape| shape.losses), Some(10));
    }

    #[test]
    fn what_lies_between_losses_around_one_of_a_queue_is_no_gap() {
        let mut pattern = Pattern::default();
        for n in 0..200u64 {
            pattern.sent(n * 1_000, 10, 1, 1, false);
            match n {
                100..150 if n % 10 == 0 => pattern.interrupt(),
                _ if n % 4 == 0 => pattern.lost(n * 1_000, 10, true, false, 1_000),
                _ => {}
            }
        }
        let shape = pattern.shape().expect("many");
        assert!(shape.variation < 0.5 && (shape.ratio - 0.25).abs() < 0.03, "{shape:?}");
    }

    #[test]
    fn a_super_packet_counts_as_its_parts() {
        let (mut whole, mut cut) = (Pattern::default(), Pattern::default());
        for n in 0..200u64 {
            whole.sent(n * 4_000, 100, 4, 25, false);
            (0..4).for_each(|part| cut.sent(n * 4_000, 100 + part * 25, 1, 25, false));
            for pattern in [&mut whole, &mut cut] {
                pattern.lost(n * 4_000, 150, true, false, 1_000);
            }
        }
        let flight = whole.shape().expect("many").flight;
        assert_eq!(Some(flight), cut.shape().map(|shape| shape.flight));
        assert!((flight - 150.0 / 137.5).abs() < 1e-9, "{flight}");
    }
}
