//! The logs of flows with state: what came since their last burst, as it will be analysed.
//!
//! A log lies in small blocks, each of which names the one before. All go back when it is analysed:
//! the flows share what half of them need, and the block that is given out next was used last.

use super::log::Log;
use crate::flow::entry::Entry;
use crate::units::Nanos;
use crate::wire::Segment;

/// Where the blocks of all logs live. Pages are never moved, freed blocks are used again.
#[derive(Default)]
pub struct Pool {
    pages: Vec<Box<[Entry; PAGE_ENTRIES]>>,
    /// By block: the one before it in its log, or the next one that is free.
    links: Vec<u32>,
    free: Option<u32>,
    /// Blocks that were never used.
    fresh: std::ops::Range<u32>,
    /// What is read of a log that lies in several blocks.
    joined: Vec<Entry>,
}

impl Pool {
    /// Whether no log ever was here.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    /// Adds what a flow keeps of `segment`, at time `ts` and after what others sent, to the end of
    /// `log`, which must be shorter than [`LONGEST`].
    #[inline]
    pub fn push(&mut self, log: &mut Log, segment: &Segment, ts: Nanos, others: u16) {
        let within = log.len() % BLOCK;
        if within == 0 {
            self.grow(log);
        }
        let (page, at) = place(log.block);
        log.len += 1;
        // In place: an entry made elsewhere and copied would be read in wider pieces than it was
        // written, for which the processor waits.
        let entry = &mut self.pages[page][at + within];
        *entry = Entry::of(segment, ts);
        entry.others = others;
    }

    /// The entries of `log`, in order.
    #[inline]
    pub fn entries(&mut self, log: &Log) -> &[Entry] {
        match log.len() {
            0 => &[],
            1..=BLOCK => {
                let (page, at) = place(log.block);
                &self.pages[page][at..][..log.len()]
            }
            _ => self.join(log),
        }
    }

    fn join(&mut self, log: &Log) -> &[Entry] {
        self.joined.resize(LONGEST, Entry::default());
        let (mut block, mut end) = (log.block, log.len());
        while end > 0 {
            let begin = (end - 1) / BLOCK * BLOCK;
            let (page, at) = place(block);
            let entries = &self.pages[page][at..][..end - begin];
            self.joined[begin..end].copy_from_slice(entries);
            (block, end) = (self.links[block as usize], begin);
        }
        &self.joined[..log.len()]
    }

    /// Gives the blocks of `log` back.
    pub fn free(&mut self, log: &mut Log) {
        let mut block = log.block;
        for _ in 0..log.len().div_ceil(BLOCK) {
            let link = &mut self.links[block as usize];
            let before = std::mem::replace(link, self.free.unwrap_or(NONE));
            self.free = Some(block);
            block = before;
        }
        *log = Log::default();
    }

    /// Something of what the next push to `log` will write: reading it early brings the cache lines
    /// in while other work goes on.
    #[inline]
    pub fn touch(&self, log: &Log) -> u32 {
        let (page, at) = place(log.block);
        self.pages.get(page).map_or(0, |page| {
            let next = &page[at + log.len() % BLOCK];
            next.seq.0 ^ u32::from(next.window_raw)
        })
    }

    fn grow(&mut self, log: &mut Log) {
        let block = self.allocate();
        self.links[block as usize] = if log.is_empty() { NONE } else { log.block };
        log.block = block;
    }

    fn allocate(&mut self) -> u32 {
        if let Some(block) = self.free {
            let next = self.links[block as usize];
            self.free = (next != NONE).then_some(next);
            return block;
        }
        if self.fresh.is_empty() {
            let first = self.links.len();
            self.links.resize(first + PAGE_ENTRIES / BLOCK, NONE);
            self.fresh = first as u32..self.links.len() as u32;
            let page = vec![Entry::default(); PAGE_ENTRIES].into_boxed_slice();
            self.pages.push(page.try_into().expect("a page has that many entries"));
        }
        self.fresh.next().expect("there is a page")
    }
}

/// The page of a block, and where it begins there.
#[inline]
fn place(block: u32) -> (usize, usize) {
    (block as usize / (PAGE_ENTRIES / BLOCK), block as usize % (PAGE_ENTRIES / BLOCK) * BLOCK)
}

/// Entries that a log holds at most: it must be drained then.
pub const LONGEST: usize = 48;
/// Entries of a block.
const BLOCK: usize = 8;
/// Entries of a page, which holds whole blocks.
const PAGE_ENTRIES: usize = 4096;
/// No block.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seq;

    fn push(pool: &mut Pool, log: &mut Log, number: u32) {
        let segment = Segment { seq: Seq(number), ..Segment::default() };
        pool.push(log, &segment, Nanos(0), 0);
    }

    fn numbers(pool: &mut Pool, log: &Log) -> Vec<u32> {
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
            assert_eq!(numbers(&mut pool, &a), expected, "round {round}");
            assert_eq!(numbers(&mut pool, &b)[0], 100);
            pool.free(&mut a);
            push(&mut pool, &mut a, 7);
            assert_eq!(numbers(&mut pool, &a), [7]);
            pool.free(&mut a);
            pool.free(&mut b);
            assert!(numbers(&mut pool, &a).is_empty());
        }
        assert_eq!(pool.pages.len(), 1);
        assert_eq!(pool.fresh.start as usize, 2 * LONGEST / BLOCK, "two logs of it");
    }
}
