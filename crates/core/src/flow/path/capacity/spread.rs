//! Pairs that the path spread apart. They arrive with more time between them than they were sent
//! with: the second waited behind the first at the narrowest link.
//!
//! A gap that is as long as the one it was sent with says only how the sender was clocked. One that
//! grew is that of a link (Jacobson 1988 section 1, Dovrolis, Ramanathan, Moore 2004 section III):
//! of the narrowest one, or longer where others' packets lay in between.

/// Rates of spread pairs, counted in bins of a fiftieth.
#[derive(Clone, Debug, Default)]
pub struct Spread {
    /// Bins that are not empty, with their counts, from low to high rates.
    bins: Vec<(u16, u32)>,
    total: u32,
}

impl Spread {
    /// A pair of `bits` that left the link `gap_ns` apart.
    pub fn add(&mut self, bits: f64, gap_ns: f64) {
        let bin = (((bits * 1e9 / gap_ns).ln() / WIDTH).round().max(0.0)) as u16;
        match self.bins.binary_search_by_key(&bin, |&(bin, _)| bin) {
            Ok(at) => self.bins[at].1 += 1,
            Err(at) => self.bins.insert(at, (bin, 1)),
        }
        self.total += 1;
    }

    /// The rate of the link in bit/s: the one that most pairs show, or a sharp mode above it. Cross
    /// traffic between the two makes pairs slower and hardly ever faster.
    pub fn rate_bps(&self) -> Option<f64> {
        let tallest = (0..self.bins.len()).max_by_key(|&at| self.mass(at, 1))?;
        let least = f64::from(MIN_ABOVE).max(MIN_SHARE_ABOVE * f64::from(self.total));
        let above = (tallest + 1..self.bins.len()).rev().find(|&at| {
            let (mass, around) = (f64::from(self.mass(at, 1)), f64::from(self.mass(at, AROUND)));
            mass >= least && mass >= SHARP * around && self.is_peak(at)
        });
        let most = self.mass(tallest, 1);
        let agree = most >= MIN_PAIRS && f64::from(most) >= AGREE * f64::from(self.total);
        above.or(agree.then_some(tallest)).map(|at| self.centre(at))
    }

    /// Pairs within so many bins of one.
    fn mass(&self, at: usize, within: u16) -> u32 {
        let centre = self.bins[at].0;
        let near = |bin: u16| bin.abs_diff(centre) <= within;
        self.bins.iter().filter(|&&(bin, _)| near(bin)).map(|&(_, count)| count).sum()
    }

    fn is_peak(&self, at: usize) -> bool {
        let mine = self.mass(at, 1);
        let beside =
            (0..self.bins.len()).filter(|&other| self.bins[other].0.abs_diff(self.bins[at].0) == 1);
        beside.into_iter().all(|other| self.mass(other, 1) <= mine)
    }

    fn centre(&self, at: usize) -> f64 {
        let centre = self.bins[at].0;
        let near = self.bins.iter().filter(|(bin, _)| bin.abs_diff(centre) <= 1);
        let (sum, count) = near.fold((0.0, 0.0), |(sum, count), &(bin, pairs)| {
            (sum + f64::from(bin) * f64::from(pairs), count + f64::from(pairs))
        });
        (sum / count * WIDTH).exp()
    }
}

/// Width of a bin in the logarithm of the rate.
const WIDTH: f64 = 0.02;
/// Pairs of one rate below which it may be chance,
const MIN_PAIRS: u32 = 8;
/// and their share of all: where hosts or links wake up late, no two pairs are alike.
const AGREE: f64 = 0.4;
/// Pairs that make a mode above the tallest (pathrate's `BIN_NOISE`),
const MIN_ABOVE: u32 = 15;
/// the share of all pairs that it must have,
const MIN_SHARE_ABOVE: f64 = 0.03;
/// and its share of what lies within so many bins of it: jitter makes no sharp modes.
const SHARP: f64 = 0.75;
/// See [`SHARP`].
const AROUND: u16 = 5;

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(pairs: &[(f64, u32)]) -> Spread {
        let mut spread = Spread::default();
        for &(mbps, count) in pairs {
            (0..count).for_each(|_| spread.add(24_000.0, 24_000.0 * 1e3 / mbps));
        }
        spread
    }

    fn is_near(spread: &Spread, mbps: f64) -> bool {
        spread.rate_bps().is_some_and(|bps| (bps / mbps / 1e6 - 1.0).abs() < 0.02)
    }

    #[test]
    fn a_few_pairs_of_one_rate_tell_the_link_and_fewer_do_not() {
        assert!(is_near(&spread(&[(99.1, 8)]), 99.1));
        assert_eq!(spread(&[(99.1, 7)]).rate_bps(), None);
        assert_eq!(Spread::default().rate_bps(), None);
    }

    #[test]
    fn pairs_that_do_not_agree_tell_nothing() {
        let scattered: Vec<_> = (0..40).map(|step| (5.0 * 1.07f64.powi(step), 1)).collect();
        assert_eq!(spread(&[&scattered[..], &[(17.0, 9)]].concat()).rate_bps(), None);
    }

    #[test]
    fn packets_of_others_make_a_comb_below_the_rate_of_the_link() {
        let comb = [(10.0, 60), (7.5, 150), (6.0, 300), (5.0, 400), (4.29, 500), (3.75, 450)];
        assert!(is_near(&spread(&comb), 10.0));
    }

    #[test]
    fn jitter_above_the_rate_is_no_mode() {
        let mut pairs = vec![(10.0, 400)];
        pairs.extend((1..60).map(|step| (10.0 * 1.02f64.powi(step), 300 / (step as u32 + 3))));
        assert!(is_near(&spread(&pairs), 10.0));
        assert!(is_near(&spread(&[(10.0, 140), (990.0, 9)]), 10.0), "a bucket's burst");
    }
}
