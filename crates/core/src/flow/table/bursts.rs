//! The logs of flows with state: what came since their last burst, as it will be analysed.
//!
//! A block is contiguous, since a chain of small ones would cost a cache miss each. A flow keeps it
//! for its next burst.

use super::log::Log;
use crate::flow::entry::Entry;
use crate::units::Nanos;
use crate::wire::Segment;

/// Where the blocks of all logs live. Pages are never moved, freed blocks are used again.
#[derive(Default)]
pub struct Pool {
    pages: Vec<Box<[Entry; PAGE_ENTRIES]>>,
    classes: [Class; LENGTHS.len()],
}

/// Blocks of one size. A page has blocks of one class.
#[derive(Default)]
struct Class {
    free: Vec<u32>,
    /// The part of the newest page that was never used.
    fresh: std::ops::Range<u32>,
}

impl Pool {
    /// Adds what a flow keeps of `segment`, at time `ts`, to the end of `log`, which must be
    /// shorter than [`LONGEST`].
    #[inline]
    pub fn push(&mut self, log: &mut Log, segment: &Segment, ts: Nanos) {
        if log.len() == capacity(log) {
            self.grow(log);
        }
        let at = log.block as usize + log.len();
        log.len += 1;
        // In place: an entry made elsewhere and copied would be read in wider pieces than it was
        // written, for which the processor waits.
        self.pages[at / PAGE_ENTRIES][at % PAGE_ENTRIES] = Entry::of(segment, ts);
    }

    /// The entries of `log`, in order.
    #[inline]
    pub fn entries(&self, log: &Log) -> &[Entry] {
        if log.len == 0 {
            return &[];
        }
        let at = log.block as usize;
        &self.pages[at / PAGE_ENTRIES][at % PAGE_ENTRIES..][..log.len()]
    }

    /// Empties `log`; it keeps its block for what comes next.
    #[inline]
    pub fn clear(&mut self, log: &mut Log) {
        log.len = 0;
    }

    /// Gives the block of `log` back.
    pub fn free(&mut self, log: &mut Log) {
        if let Some(class) = usize::from(log.class).checked_sub(1) {
            self.classes[class].free.push(log.block);
        }
        *log = Log::default();
    }

    /// Something of what the next push to `log` will write: reading it early brings the cache lines
    /// in while other work goes on.
    #[inline]
    pub fn touch(&self, log: &Log) -> u32 {
        let at = log.block as usize + log.len();
        self.pages.get(at / PAGE_ENTRIES).map_or(0, |page| {
            let next = &page[at % PAGE_ENTRIES];
            next.seq.0 ^ u32::from(next.window_raw)
        })
    }

    #[cold]
    fn grow(&mut self, log: &mut Log) {
        let class = usize::from(log.class);
        let block = self.allocate(class);
        let grown = Log { block, used: 0, len: log.len, class: log.class + 1 };
        if !log.is_empty() {
            let (from, to) = (log.block as usize, grown.block as usize);
            let pages = [from / PAGE_ENTRIES, to / PAGE_ENTRIES];
            let pages = self.pages.get_disjoint_mut(pages);
            let [old, new] = pages.expect("a page has blocks of one class");
            let (from, to) = (from % PAGE_ENTRIES, to % PAGE_ENTRIES);
            new[to..][..log.len()].copy_from_slice(&old[from..][..log.len()]);
        }
        self.free(log);
        *log = grown;
    }

    /// A block of `LENGTHS[class]` entries.
    fn allocate(&mut self, class: usize) -> u32 {
        let length = LENGTHS[class];
        let blocks = &mut self.classes[class];
        if let Some(block) = blocks.free.pop() {
            return block;
        }
        if blocks.fresh.is_empty() {
            let first = (self.pages.len() * PAGE_ENTRIES) as u32;
            blocks.fresh = first..first + (PAGE_ENTRIES / length * length) as u32;
            let page = vec![Entry::default(); PAGE_ENTRIES].into_boxed_slice();
            self.pages.push(page.try_into().expect("a page has that many entries"));
        }
        let block = blocks.fresh.start;
        blocks.fresh.start += length as u32;
        block
    }
}

fn capacity(log: &Log) -> usize {
    match log.class {
        0 => 0,
        class => LENGTHS[usize::from(class) - 1],
    }
}

/// Entries that a log holds at most: it must be drained then.
pub const LONGEST: usize = LENGTHS[LENGTHS.len() - 1];
/// Entries of a block by class. Few classes, since the blocks that many long flows outgrow at the
/// same time are of no use to anyone.
const LENGTHS: [usize; 2] = [16, 64];
/// A page holds whole blocks of one class.
const PAGE_ENTRIES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seq;

    fn push(pool: &mut Pool, log: &mut Log, number: u32) {
        let segment = Segment { seq: Seq(number), ..Segment::default() };
        pool.push(log, &segment, Nanos(0));
    }

    fn numbers(pool: &Pool, log: &Log) -> Vec<u32> {
        pool.entries(log).iter().map(|entry| entry.seq.0).collect()
    }

    #[test]
    fn logs_keep_order_while_they_grow_and_reuse_blocks() {
        let mut pool = Pool::default();
        for round in 0..3 {
            let (mut a, mut b) = (Log::default(), Log::default());
            for i in 0..LONGEST as u32 {
                push(&mut pool, &mut a, i);
                push(&mut pool, &mut b, 100 + i);
            }
            let expected: Vec<u32> = (0..LONGEST as u32).collect();
            assert_eq!(numbers(&pool, &a), expected, "round {round}");
            assert_eq!(numbers(&pool, &b)[0], 100);
            pool.clear(&mut a);
            push(&mut pool, &mut a, 7);
            assert_eq!(numbers(&pool, &a), [7]);
            pool.free(&mut a);
            pool.free(&mut b);
            assert!(numbers(&pool, &a).is_empty());
        }
        assert_eq!(pool.pages.len(), LENGTHS.len());
        for (length, blocks) in LENGTHS.into_iter().zip(&pool.classes) {
            let whole = PAGE_ENTRIES / length * length;
            assert_eq!(blocks.fresh.len() + 2 * length, whole, "two blocks of it");
        }
    }
}
