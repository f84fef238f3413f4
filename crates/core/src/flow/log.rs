//! The segments of a flow that wait to be analysed, in blocks from one pool.
//!
//! A flow is analysed in bursts: its segments are filed here and handed on together, so that the
//! many bytes of its state are fetched once for many segments, and a flow that stays short never
//! needs that state at all. A block is contiguous, since a chain of small ones would cost a cache
//! miss each; it starts with room for one segment and doubles.

use super::entry::Entry;

/// A queue of entries in a block of a [`Pool`]. A log that was never pushed to owns no block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    block: u32,
    len: u8,
    /// Size class plus one; 0 without a block.
    class: u8,
}

impl Log {
    /// How many entries wait.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Entries that a log holds at most: it must be drained then.
    pub const LONGEST: usize = 1 << (CLASSES - 1);

    fn capacity(&self) -> usize {
        1 << self.class >> 1
    }
}

/// Where the blocks of all logs live. Pages are never moved, freed blocks are used again.
#[derive(Default)]
pub struct Pool {
    classes: [Class; CLASSES],
}

/// Blocks of one size.
#[derive(Default)]
struct Class {
    pages: Vec<Box<[Entry]>>,
    free: Vec<u32>,
    used: u32,
}

impl Pool {
    /// Adds an entry to the end of `log`, which must be shorter than [`Log::LONGEST`].
    #[inline]
    pub fn push(&mut self, log: &mut Log, entry: Entry) {
        if log.len() == log.capacity() {
            self.grow(log);
        }
        let at = log.len();
        self.block_mut(log)[at] = entry;
        log.len += 1;
    }

    /// The entries of `log`, in order.
    #[inline]
    pub fn entries(&self, log: &Log) -> &[Entry] {
        match log.class {
            0 => &[],
            _ => &self.block(log)[..log.len()],
        }
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
        if log.class == 0 {
            return 0;
        }
        let block = self.block(log);
        let next = &block[log.len().min(block.len() - 1)];
        next.seq.0 ^ u32::from(next.window_raw)
    }

    fn grow(&mut self, log: &mut Log) {
        let mut grown = Log { len: log.len, class: log.class + 1, ..Log::default() };
        let class = usize::from(log.class);
        grown.block = self.classes[class].allocate(1 << class);
        if let Some(old) = class.checked_sub(1) {
            let (small, large) = self.classes.split_at_mut(class);
            let from = small[old].block(log.block, 1 << old);
            large[0].block_mut(grown.block, 1 << class)[..1 << old].copy_from_slice(from);
            small[old].free.push(log.block);
        }
        *log = grown;
    }

    #[inline]
    fn block(&self, log: &Log) -> &[Entry] {
        self.classes[usize::from(log.class) - 1].block(log.block, log.capacity())
    }

    #[inline]
    fn block_mut(&mut self, log: &Log) -> &mut [Entry] {
        self.classes[usize::from(log.class) - 1].block_mut(log.block, log.capacity())
    }
}

impl Class {
    fn allocate(&mut self, size: usize) -> u32 {
        if let Some(block) = self.free.pop() {
            return block;
        }
        let block = self.used;
        if (block as usize * size).is_multiple_of(PAGE_ENTRIES) {
            self.pages.push(vec![Entry::default(); PAGE_ENTRIES].into_boxed_slice());
        }
        self.used += 1;
        block
    }

    #[inline]
    fn block(&self, block: u32, size: usize) -> &[Entry] {
        let at = block as usize * size;
        &self.pages[at / PAGE_ENTRIES][at % PAGE_ENTRIES..][..size]
    }

    #[inline]
    fn block_mut(&mut self, block: u32, size: usize) -> &mut [Entry] {
        let at = block as usize * size;
        &mut self.pages[at / PAGE_ENTRIES][at % PAGE_ENTRIES..][..size]
    }
}

/// Blocks of 1, 2, 4, 8, 16 and 32 entries: most flows of a backbone link have one to three
/// segments.
const CLASSES: usize = 6;
/// A page holds whole blocks of every class.
const PAGE_ENTRIES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seq;

    fn entry(number: u32) -> Entry {
        Entry { seq: Seq(number), ..Entry::default() }
    }

    fn numbers(pool: &Pool, log: &Log) -> Vec<u32> {
        pool.entries(log).iter().map(|entry| entry.seq.0).collect()
    }

    #[test]
    fn logs_keep_order_while_they_grow_and_reuse_blocks() {
        let mut pool = Pool::default();
        for round in 0..3 {
            let (mut a, mut b) = (Log::default(), Log::default());
            for i in 0..Log::LONGEST as u32 {
                pool.push(&mut a, entry(i));
                pool.push(&mut b, entry(100 + i));
            }
            let expected: Vec<u32> = (0..Log::LONGEST as u32).collect();
            assert_eq!(numbers(&pool, &a), expected, "round {round}");
            assert_eq!(numbers(&pool, &b)[0], 100);
            pool.clear(&mut a);
            pool.push(&mut a, entry(7));
            assert_eq!(numbers(&pool, &a), [7]);
            pool.free(&mut a);
            pool.free(&mut b);
            assert!(numbers(&pool, &a).is_empty());
        }
        assert!(pool.classes.iter().all(|class| class.used == 2));
    }
}
