//! Counts by bin, of which most stay empty: those between the first and the last one are kept.

/// How often each bin was met, up to 65,535 times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bins {
    /// The bin of the first count.
    first: usize,
    counts: Vec<u16>,
}

impl Bins {
    /// Counts a bin.
    #[inline]
    pub fn add(&mut self, bin: usize) {
        match self.counts.get_mut(bin.wrapping_sub(self.first)) {
            Some(count) => *count = count.saturating_add(1),
            None => self.add_many(bin, 1),
        }
    }

    /// The same, so many times.
    #[inline(never)]
    pub fn add_many(&mut self, bin: usize, count: u16) {
        self.make_room(bin);
        let mine = &mut self.counts[bin - self.first];
        *mine = mine.saturating_add(count);
    }

    fn make_room(&mut self, bin: usize) {
        if bin < self.first || bin - self.first >= self.counts.len() {
            self.grow(bin);
        }
    }

    #[inline(never)]
    fn grow(&mut self, bin: usize) {
        let (from, to) = (bin / ROOM * ROOM, bin / ROOM * ROOM + ROOM);
        if self.counts.is_empty() {
            self.first = from;
        }
        let before = self.first.saturating_sub(from);
        let len = (before + self.counts.len()).max(to.saturating_sub(self.first - before));
        self.counts.reserve_exact(len - self.counts.len());
        if before > 0 {
            self.counts.splice(..0, std::iter::repeat_n(0, before));
            self.first -= before;
        }
        self.counts.resize(len, 0);
    }

    /// How often a bin was met.
    pub fn of(&self, bin: usize) -> u32 {
        self.counts.get(bin.wrapping_sub(self.first)).map_or(0, |&count| u32::from(count))
    }

    /// How often those below a bin were.
    pub fn below(&self, bin: usize) -> u32 {
        let until = bin.saturating_sub(self.first).min(self.counts.len());
        self.counts[..until].iter().map(|&count| u32::from(count)).sum()
    }

    /// How often all were.
    pub fn total(&self) -> u32 {
        self.counts.iter().map(|&count| u32::from(count)).sum()
    }

    /// The bins that were met, with their counts, from low to high.
    pub fn met(&self) -> impl DoubleEndedIterator<Item = (usize, u16)> {
        // Most are empty.
        let rooms = self.counts.as_chunks::<ROOM>().0.iter().enumerate();
        let rooms = rooms.filter(|(_, counts)| **counts != [0; ROOM]);
        rooms.flat_map(move |(room, counts)| {
            let bins = counts.iter().enumerate().filter(|(_, count)| **count > 0);
            bins.map(move |(at, &count)| (self.first + room * ROOM + at, count))
        })
    }

    /// How many bins were met.
    pub fn count_met(&self) -> usize {
        self.counts.iter().filter(|&&count| count > 0).count()
    }

    /// Forgets half of every count.
    pub fn halve(&mut self) {
        self.counts.iter_mut().for_each(|count| *count /= 2);
    }

    /// Adds the counts of others.
    pub fn merge(&mut self, other: &Bins) {
        if other.counts.is_empty() {
            return;
        }
        self.make_room(other.first);
        self.make_room(other.first + other.counts.len() - 1);
        let mine = &mut self.counts[other.first - self.first..];
        for (mine, theirs) in mine.iter_mut().zip(&other.counts) {
            *mine = mine.saturating_add(*theirs);
        }
    }
}

/// Bins for which room is made at a time.
const ROOM: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_are_those_of_a_whole_table(
            first in prop::collection::vec(0usize..232, 0..60),
            second in prop::collection::vec(0usize..232, 0..60),
        ) {
            let (mut bins, mut other, mut table) = (Bins::default(), Bins::default(), [0u16; 232]);
            first.iter().for_each(|&bin| bins.add(bin));
            second.iter().for_each(|&bin| other.add(bin));
            bins.merge(&other);
            first.iter().chain(&second).for_each(|&bin| table[bin] += 1);
            let expected: Vec<(usize, u16)> =
                (0..232).map(|bin| (bin, table[bin])).filter(|&(_, count)| count > 0).collect();
            prop_assert_eq!(bins.met().collect::<Vec<_>>(), expected);
            prop_assert_eq!(bins.total() as usize, first.len() + second.len());
            for bin in 0..232 {
                let below: u16 = table[..bin].iter().sum();
                prop_assert_eq!((bins.of(bin), bins.below(bin)), (table[bin].into(), below.into()));
            }
        }
    }
}
