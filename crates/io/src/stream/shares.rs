//! Deals flows out to workers.

use tcpwhy_core::wire::hash::shard;

/// Who follows which flows. All between two hosts go to the same worker, since each is judged
/// beside the others. The hashes of the hosts fall into classes, and a class that appears first
/// goes to the worker with the fewest. So of sixteen hosts each of two workers has eight, where
/// chance gives one of them eleven or more in a fifth of all captures.
pub(super) struct Shares {
    /// The worker of each class, or `NOBODY`.
    owner: Vec<u16>,
    /// Classes by worker.
    given: Vec<u32>,
}

impl Shares {
    pub fn of(workers: usize) -> Shares {
        Shares { owner: vec![NOBODY; CLASSES], given: vec![0; workers] }
    }

    pub fn workers(&self) -> usize {
        self.given.len()
    }

    /// Gives the worker that follows the flows between the two hosts with this hash.
    #[inline]
    pub fn owner(&mut self, hash: u64) -> usize {
        let class = shard(hash, CLASSES);
        match self.owner[class] {
            NOBODY => self.give(class),
            owner => usize::from(owner),
        }
    }

    #[cold]
    fn give(&mut self, class: usize) -> usize {
        let fewest = (0..self.given.len()).min_by_key(|&worker| self.given[worker]).unwrap_or(0);
        self.given[fewest] += 1;
        self.owner[class] = u16::try_from(fewest).unwrap_or(0);
        fewest
    }
}

/// No worker yet.
const NOBODY: u16 = u16::MAX;
/// Classes of hashes: few enough for a first-level cache, so many that two of sixteen pairs of
/// hosts are in the same one in 3 % of captures.
const CLASSES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixteen_flows_are_shared_evenly() {
        let mut shares = Shares::of(2);
        let hash = |flow: u64| flow << 59 | flow;
        let owners: Vec<_> = (0..16).map(|flow| shares.owner(hash(flow))).collect();
        assert_eq!(owners.iter().sum::<usize>(), 8);
        let again: Vec<_> = (0..16).rev().map(|flow| shares.owner(hash(flow))).collect();
        assert!(owners.iter().eq(again.iter().rev()), "a flow stays where it is");
    }

    #[test]
    fn more_workers_than_flows_are_possible() {
        let mut shares = Shares::of(8);
        assert_eq!([7, 5 << 61].map(|hash| shares.owner(hash)), [0, 1]);
        assert_eq!(shares.workers(), 8);
    }
}
