//! Modes of a histogram of rates.

/// A mode: a peak with what belongs to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mode {
    /// Centre of the highest bin in bit/s.
    pub centre: f64,
    /// Left edge of the mode in bit/s.
    pub low: f64,
    /// Right edge of the mode in bit/s.
    pub high: f64,
    /// Samples in the highest bin.
    pub height: u32,
    /// Samples of the mode.
    pub mass: u32,
}

/// The modes of `rates` in a histogram with bins of `width`, from low to high rates. Peaks below
/// 0.15 of the highest are dropped; neighbours are one mode unless the valley between them is
/// deeper than 0.2 of the smaller peak (0.15 left of the highest): PPrate step 5.
pub fn modes(rates: &[f64], width: f64) -> Vec<Mode> {
    let Some(largest) = rates.iter().copied().reduce(f64::max) else { return Vec::new() };
    let bins = ((largest / width) as usize + 1).min(MAX_BINS);
    let mut histogram = vec![0u32; bins];
    for rate in rates {
        histogram[((rate / width) as usize).min(bins - 1)] += 1;
    }
    let tallest = (0..bins).max_by_key(|&bin| histogram[bin]).unwrap_or(0);
    let lowest = (f64::from(histogram[tallest]) * MIN_HEIGHT).ceil() as u32;
    let mut peaks: Vec<usize> = (0..bins)
        .filter(|&bin| {
            let height = histogram[bin];
            // Most bins are empty.
            if height < lowest {
                return false;
            }
            let left = bin.checked_sub(1).map_or(0, |left| histogram[left]);
            let right = histogram.get(bin + 1).copied().unwrap_or(0);
            height > left && height >= right
        })
        .collect();
    join_shallow(&histogram, &mut peaks, tallest);
    let bounds = boundaries(&histogram, &peaks);
    peaks
        .iter()
        .zip(bounds.windows(2))
        .map(|(&peak, bounds)| mode(&histogram, peak, bounds[0], bounds[1], width))
        .collect()
}

/// Removes the smaller of two neighbouring peaks while the valley between them is shallow.
fn join_shallow(histogram: &[u32], peaks: &mut Vec<usize>, tallest: usize) {
    let mut pair = 0;
    while pair + 1 < peaks.len() {
        let (a, b) = (peaks[pair], peaks[pair + 1]);
        let valley = histogram[a..=b].iter().copied().min().unwrap_or(0);
        let smaller = histogram[a].min(histogram[b]);
        let depth = if a >= tallest { VALLEY_RIGHT } else { VALLEY_LEFT };
        if f64::from(smaller - valley) < depth * f64::from(smaller) {
            peaks.remove(if histogram[a] < histogram[b] { pair } else { pair + 1 });
            pair = pair.saturating_sub(1);
        } else {
            pair += 1;
        }
    }
}

/// The lowest bin between neighbouring peaks, and both ends.
fn boundaries(histogram: &[u32], peaks: &[usize]) -> Vec<usize> {
    let valley = |a: usize, b: usize| (a..=b).min_by_key(|&bin| histogram[bin]).unwrap_or(a);
    let inner = peaks.windows(2).map(|pair| valley(pair[0], pair[1]));
    std::iter::once(0).chain(inner).chain([histogram.len()]).collect()
}

fn mode(histogram: &[u32], peak: usize, from: usize, to: usize, width: f64) -> Mode {
    let height = histogram[peak];
    // The tails of a mode are cut at a hundredth of its height.
    let tail = (f64::from(height) * 0.01).max(1.0);
    let inside = |bin: &usize| f64::from(histogram[*bin]) >= tail;
    let low = (from..=peak).rev().take_while(inside).last().unwrap_or(peak);
    let high = (peak..to).take_while(inside).last().unwrap_or(peak);
    Mode {
        centre: (peak as f64 + 0.5) * width,
        low: low as f64 * width,
        high: (high + 1) as f64 * width,
        height,
        mass: histogram[low..=high].iter().sum(),
    }
}

const MAX_BINS: usize = 4096;
const MIN_HEIGHT: f64 = 0.15;
const VALLEY_RIGHT: f64 = 0.2;
const VALLEY_LEFT: f64 = 0.15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_bells_are_two_modes_and_noise_is_none() {
        let mut rates: Vec<f64> = Vec::new();
        for (centre, height) in [(20.0f64, 100), (50.0, 60), (80.0, 5)] {
            for offset in -2..=2i32 {
                let count = height - 15 * offset.abs();
                rates.extend((0..count.max(0)).map(|_| centre + f64::from(offset) + 0.5));
            }
        }
        let found = modes(&rates, 1.0);
        let centres: Vec<f64> = found.iter().map(|mode| mode.centre).collect();
        assert_eq!(centres, [20.5, 50.5]);
        assert!(found[0].low <= 18.0 && found[0].high >= 23.0);
        assert_eq!(modes(&[], 1.0), []);
    }

    #[test]
    fn a_shallow_valley_does_not_split_a_mode() {
        let heights = [1, 50, 45, 52, 48, 3];
        let rates: Vec<f64> = heights
            .iter()
            .enumerate()
            .flat_map(|(bin, &height)| vec![bin as f64 + 0.5; height])
            .collect();
        assert_eq!(modes(&rates, 1.0).len(), 1);
    }
}
