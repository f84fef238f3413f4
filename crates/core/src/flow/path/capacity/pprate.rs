//! PPrate's procedure on one window of samples.

use super::modes::{Mode, modes};
use super::{Sample, TOGETHER};
use crate::reason::CapacityUnknown;

/// A capacity estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Capacity in bit/s.
    pub bps: f64,
    /// Lower bound: the asymptotic dispersion rate of long trains, where it was found.
    pub lower_bps: Option<f64>,
    /// Upper bound: the right edge of the mode.
    pub upper_bps: Option<f64>,
    /// 1 when there was one mode, 3 when trains had to decide between several.
    pub phase: u8,
    /// How well the pairs agree on it.
    pub support: Support,
}

/// The pairs behind an estimate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Support {
    /// Share of all pairs whose rate lies within a tenth of it.
    pub near: f64,
    /// Share of those that lie within a fortieth: a link sends all alike, clocks and waits do not.
    pub sharp: f64,
    /// Share of all pairs that are faster by more than a tenth, but for those handed over together.
    pub faster: f64,
    /// Share of those among all pairs that make up for no late packet beside them.
    pub ahead: f64,
}

impl Support {
    /// Whether hardly any pairs agree on the rate. Then it is no link's: losses, pauses and the
    /// clock of acknowledgements happened to leave it most often.
    pub fn is_thin(&self) -> bool {
        self.near < THIN && self.sharp < SHARPLY
    }

    /// Whether most pairs agree on the rate, and closely: a link made it.
    pub fn is_sure(&self) -> bool {
        self.near >= MOST && self.sharp >= SHARPLY
    }

    /// Whether more pairs are faster than a link of this rate lets pass. Where the others agree
    /// sharply, a few tell. Jitter moves pairs both ways, and then it takes many.
    pub fn is_exceeded(&self) -> bool {
        let agree = self.sharp >= SHARPLY || self.near < FEW;
        self.faster >= if agree { SOME } else { FASTER }
    }

    /// Whether the rate is one of several sharp ones and many pairs are faster. Cross traffic
    /// between two packets makes their gap longer by whole packets: the link carries more than this
    /// direction.
    pub fn is_comb(&self) -> bool {
        self.sharp >= SHARPLY && self.faster >= FASTER
    }
}

/// Estimates the capacity from packet gaps, in three phases (algorithms 10). First come the modes
/// of the rates of pairs. With several of them, the asymptotic dispersion rate (ADR) from trains of
/// 3 to 39 packets. Then the strongest pair mode at or above that.
///
/// Pairs that a card hands over together look a hundred times as fast as the link and widen the
/// bins with them. A mode of less than [`MIN_BINS`] bins says nothing of its rate then, and is
/// looked at again by itself, with bins of its own.
pub fn pprate(samples: &[Sample]) -> Result<Estimate, CapacityUnknown> {
    let mut rates: Vec<f64> =
        samples.iter().map(|s| f64::from(s.bits) * 1e9 / f64::from(s.gap_ns)).collect();
    loop {
        let cleaned = clean(&mut rates).ok_or(CapacityUnknown::TooFewClean)?;
        if cleaned.rates.len() < MIN_CLEANED {
            return Err(CapacityUnknown::TooFewClean);
        }
        let (found, mode) = decide(samples, &cleaned)?;
        if mode.centre >= MIN_BINS * cleaned.width {
            return Ok(found);
        }
        let taken = cleaned.rates.len();
        rates.retain(|&rate| mode.low <= rate && rate <= mode.high);
        if rates.len() == taken {
            return Err(CapacityUnknown::NoMode);
        }
    }
}

fn decide(samples: &[Sample], cleaned: &Cleaned<'_>) -> Result<(Estimate, Mode), CapacityUnknown> {
    let pairs = modes(cleaned.rates, cleaned.width);
    let (mode, lower_bps, phase) = match pairs.as_slice() {
        [] => return Err(CapacityUnknown::NoMode),
        [only] => (*only, None, 1),
        several => {
            let adr = dispersion_rate(samples, cleaned.width);
            (*choose(several, adr.as_ref()), adr.map(|adr| adr.centre), 3)
        }
    };
    let (bps, upper_bps) = (mode.centre, Some(mode.high));
    let support = support(samples, bps);
    Ok((Estimate { bps, lower_bps, upper_bps, phase, support }, mode))
}

fn support(samples: &[Sample], bps: f64) -> Support {
    let (mut near, mut alike, mut faster, mut ahead) = (0u32, 0u32, 0u32, 0u32);
    for (at, sample) in samples.iter().enumerate() {
        let off = f64::from(sample.bits) * 1e9 / f64::from(sample.gap_ns) / bps - 1.0;
        near += u32::from(off.abs() <= NEAR);
        alike += u32::from(off.abs() <= ALIKE);
        if off > NEAR && off < TOGETHER as f64 {
            faster += 1;
            ahead += u32::from(off > JITTER || !makes_up(samples, at, bps));
        }
    }
    let [near, alike, faster, ahead] =
        [near, alike, faster, ahead].map(|count| f64::from(count) / samples.len() as f64);
    let sharp = if near > 0.0 { alike / near } else { 0.0 };
    Support { near, sharp, faster, ahead }
}

/// Whether at least half of what a pair gains is what the pairs right before it lost, or the one
/// behind it: a packet was late, or its time. A packet of somebody else that is missing gains time
/// without that.
fn makes_up(samples: &[Sample], at: usize, bps: f64) -> bool {
    let late_ns = |sample: &Sample| f64::from(sample.gap_ns) - f64::from(sample.bits) * 1e9 / bps;
    let gained = -late_ns(&samples[at]);
    let mut before = 0.0;
    let mut lost = samples[at.saturating_sub(REACH)..at].iter().rev().map(|sample| {
        before += late_ns(sample);
        before
    });
    lost.any(|lost| lost >= gained / 2.0)
        || samples.get(at + 1).is_some_and(|next| late_ns(next) >= gained / 2.0)
}

struct Cleaned<'a> {
    rates: &'a [f64],
    width: f64,
}

/// Drops what lies more than one interquartile range outside the quartiles, and chooses the bin
/// width. It is a twentieth of that range, with 1,000 bins at most. At least a hundredth of the
/// median gives an almost noiseless link bins too.
fn clean(rates: &mut Vec<f64>) -> Option<Cleaned<'_>> {
    let at = |q: f64| (rates.len() as f64 * q) as usize;
    let (low, median, high) = (at(0.25), at(0.5), at(0.75));
    if rates.is_empty() {
        return None;
    }
    // Rates are positive: their bits have the same order, and compare in one instruction.
    let mut bits: Vec<u64> = rates.iter().map(|rate| rate.to_bits()).collect();
    let (below, &mut median_bits, above) = bits.select_nth_unstable(median);
    let nth = |part: &mut [u64], n: usize| *part.select_nth_unstable(n).1;
    let low = if low < median { nth(below, low) } else { median_bits };
    let high = if high > median { nth(above, high - median - 1) } else { median_bits };
    let [low, median_rate, high] = [low, median_bits, high].map(f64::from_bits);
    let spread = high - low;
    rates.retain(|&rate| low - spread <= rate && rate <= high + spread);
    let largest = rates.iter().copied().reduce(f64::max)?;
    let width = (BIN_OF_SPREAD * spread).max(BIN_OF_MEDIAN * median_rate).max(largest / MAX_BINS);
    Some(Cleaned { rates, width })
}

/// The mode of the rates of trains, for the shortest trains that have only one.
fn dispersion_rate(samples: &[Sample], width: f64) -> Option<Mode> {
    for length in TRAINS {
        let rates: Vec<f64> = samples
            .chunks_exact(length - 1)
            .map(|train| {
                let bits: f64 = train.iter().map(|s| f64::from(s.bits)).sum();
                let time: f64 = train.iter().map(|s| f64::from(s.gap_ns)).sum();
                bits * 1e9 / time
            })
            .collect();
        let found = modes(&rates, width);
        let tallest = found.iter().max_by_key(|mode| mode.height)?;
        if found.len() == 1 {
            return Some(*tallest);
        }
        if tallest.height < MIN_TRAINS {
            return None;
        }
    }
    None
}

/// The strongest pair mode that does not lie below the dispersion rate, or a multiple of it. Cross
/// traffic and an acknowledgement per packet put the strength into a fraction of the rate. The
/// multiple counts if it is a mode of its own (algorithms 10, harmonic rule).
fn choose<'a>(pairs: &'a [Mode], adr: Option<&Mode>) -> &'a Mode {
    let tallest = |modes: &mut dyn Iterator<Item = &'a Mode>| modes.max_by_key(|mode| mode.height);
    let above = adr.and_then(|adr| {
        tallest(&mut pairs.iter().filter(|mode| mode.low >= adr.high || mode.high > adr.centre))
    });
    let chosen = above.or_else(|| tallest(&mut pairs.iter())).expect("there are several modes");
    let harmonic = pairs.iter().rev().find(|mode| {
        mode.height >= MIN_TRAINS
            && (2..=6).any(|k| (mode.centre / f64::from(k) / chosen.centre - 1.0).abs() < 0.05)
    });
    harmonic.unwrap_or(chosen)
}

/// Rates this far apart are near each other, and these alike.
const NEAR: f64 = 0.1;
/// By how much a pair may be faster by jitter. A packet of somebody else that is missing between
/// two makes them twice as fast, or nearly, whatever came before.
const JITTER: f64 = 0.5;
/// Pairs before one in which a late packet is looked for: the ones behind it come as densely.
const REACH: usize = 4;
/// See [`NEAR`].
const ALIKE: f64 = 0.025;
/// Share of the pairs near a rate below which it is thin. In runs of the kernel right estimates had
/// 0.14 and more; modes of the acknowledgements' clock under loss had 0.10 and less.
const THIN: f64 = 0.12;
/// Sharpness of a link's rate: combs of cross traffic had 0.83 and more, the clock's modes 0.4 and
/// less.
const SHARPLY: f64 = 0.75;
/// Share of the pairs near a link's rate where a direction shows it all the time. Of hosts that
/// hand over packets in bunches, behind policers of the policing study, it was 0.4 and less.
const MOST: f64 = 0.5;
/// Share of faster pairs from which a rate is not the link's: jitter alone lets fewer catch up.
const FASTER: f64 = 0.25;
/// The same where no jitter explains them. In captures of others it makes up to a fifth faster, of
/// pairs that agree within a tenth and not within a fortieth.
const SOME: f64 = 0.05;
/// Share of the pairs near a rate below which others decide what it is.
const FEW: f64 = 0.2;
const MIN_CLEANED: usize = 150;
const BIN_OF_SPREAD: f64 = 0.05;
const BIN_OF_MEDIAN: f64 = 0.01;
const MAX_BINS: f64 = 1000.0;
/// Half a bin is a tenth of the rate.
const MIN_BINS: f64 = 5.0;
const TRAINS: std::ops::Range<usize> = 3..40;
/// A bin with fewer samples is noise (pathrate's BIN_NOISE).
const MIN_TRAINS: u32 = 15;

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator of its own, so that the samples are the same everywhere.
    fn noise(state: &mut u64) -> f32 {
        *state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 40) as f32 / (1u64 << 24) as f32
    }

    fn samples(mut gaps_us: impl FnMut(&mut u64) -> f32) -> Vec<Sample> {
        let mut state = 7;
        (0..1000).map(|_| Sample { bits: 12_000.0, gap_ns: gaps_us(&mut state) * 1e3 }).collect()
    }

    #[test]
    fn a_rate_is_exceeded_by_a_few_sharp_pairs_or_many_that_jitter() {
        let support = |near, sharp, faster| {
            Support { near, sharp, faster, ..Support::default() }.is_exceeded()
        };
        assert!(support(0.9, 0.8, 0.05) && !support(0.9, 0.8, 0.04));
        assert!(support(0.6, 0.4, 0.25) && !support(0.6, 0.4, 0.20));
        assert!(support(0.15, 0.4, 0.05), "nearly all are elsewhere");
    }

    #[test]
    fn who_makes_up_for_a_late_packet_is_not_ahead_of_the_link() {
        // 1 ms a packet. One in twenty is 0.3 ms late, and the next two come as much sooner.
        let mut number = 0;
        let late = samples(|_| {
            number += 1;
            [1_000.0, 1_300.0, 850.0, 850.0][(number % 20_usize).min(4) % 4]
        });
        let found = support(&late, 12e6);
        assert!(found.faster > 0.09 && found.ahead == 0.0, "{found:?}");
        // Behind a fair queue the other has nothing to send now and then.
        let mut number = 0;
        let alone = samples(|_| {
            number += 1;
            if number % 20 == 0 { 500.0 } else { 1_000.0 }
        });
        let found = support(&alone, 12e6);
        assert!((found.faster, found.ahead) == (0.05, 0.05), "{found:?}");
        // Or it had two packets there, and then none.
        let mut number = 0;
        let uneven = samples(|_| {
            number += 1;
            [1_000.0, 1_500.0, 500.0][(number % 20_usize).min(3) % 3]
        });
        let found = support(&uneven, 12e6);
        assert!((found.faster, found.ahead) == (0.05, 0.05), "{found:?}");
    }

    #[test]
    fn a_saturated_link_has_one_mode_at_its_rate() {
        let found = pprate(&samples(|state| 119.0 + 2.0 * noise(state))).unwrap();
        assert!((found.bps / 1e8 - 1.0).abs() < 0.02, "{found:?}");
        assert_eq!(found.phase, 1);
    }

    #[test]
    fn cross_traffic_between_packets_does_not_hide_the_capacity() {
        // One in two gaps holds a packet of somebody else.
        let found = pprate(&samples(|state| {
            let cross = if noise(state) < 0.5 { 120.0 } else { 0.0 };
            119.0 + 2.0 * noise(state) + cross
        }))
        .unwrap();
        assert!((found.bps / 1e8 - 1.0).abs() < 0.03, "{found:?}");
        assert_eq!(found.phase, 3);
    }

    #[test]
    fn a_rate_that_hardly_any_pairs_have_is_thin() {
        // Gaps as the acknowledgements' clock leaves them under loss: anything within a round trip.
        let clock = pprate(&samples(|state| 100.0 * 100f32.powf(noise(state)))).unwrap();
        assert!(clock.support.is_thin() && !clock.support.is_comb(), "{clock:?}");
        let link = pprate(&samples(|state| 119.0 + 2.0 * noise(state))).unwrap();
        assert!(!link.support.is_thin() && !link.support.is_comb(), "{link:?}");
    }

    #[test]
    fn packets_of_others_make_a_comb_of_gaps() {
        // Pairs of 2.4 ms with none to six packets of 0.8 ms in between, three most often.
        let gap = |state: &mut u64| {
            let others = (0..6).filter(|_| noise(state) < 0.5).count() as f32;
            2_400.0 + 800.0 * others + 5.0 * noise(state)
        };
        let found = pprate(&samples(gap)).unwrap();
        assert!(found.support.is_comb(), "{found:?}");
    }

    #[test]
    fn pairs_handed_over_together_do_not_blur_the_rate() {
        // Three packets come with the link's spacing, the fourth with the interrupt of the third.
        let mut at = 0;
        let found = pprate(&samples(|state| {
            at += 1;
            match at % 4 {
                0 => 10.0 + 2.0 * noise(state),
                1 => 2.0 * 1200.0 + 20.0 * noise(state),
                _ => 1200.0 + 20.0 * noise(state),
            }
        }))
        .unwrap();
        assert!((found.bps / 1e7 - 1.0).abs() < 0.05, "{found:?}");
        assert!(!found.support.is_comb(), "{found:?}");
    }

    #[test]
    fn few_samples_are_refused() {
        let few = samples(|_| 120.0)[..100].to_vec();
        assert_eq!(pprate(&few), Err(CapacityUnknown::TooFewClean));
        assert_eq!(pprate(&[]), Err(CapacityUnknown::TooFewClean));
    }
}
