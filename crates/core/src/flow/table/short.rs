//! The logs of flows without state, most of which stay short: there are many, and they wait long.
//!
//! A log is a stream of words, [`packed`]. It begins in a small block, and goes on in others, each
//! of which names the one before: nothing is copied, and nothing is left behind that only other
//! flows could use.

use super::log::Log;
use super::packed::{self, MOST, PLAIN};
use crate::flow::entry::Entry;
use crate::units::Nanos;
use crate::wire::Segment;

/// Where the blocks of these logs live. Pages are never moved, freed blocks are used again, and
/// pages that nothing is left of are given back: most flows of a link may be long ones.
#[derive(Default)]
pub struct Pool {
    pages: Vec<Page>,
    /// Numbers of pages that were given back.
    gone: Vec<u32>,
    classes: [Class; LENGTHS.len()],
    /// What is read of a log that lies in several blocks.
    joined: Vec<u32>,
}

/// Blocks of one class.
struct Page {
    class: u8,
    /// Blocks that logs have.
    used: u16,
    /// A free block, whose first word names the next one, or [`NONE`].
    free: u32,
    /// A little longer than its blocks, so that a segment can be read with what is behind it. None
    /// of a page that was given back.
    words: Box<[u32]>,
}

/// Blocks of one size.
#[derive(Default)]
struct Class {
    /// Pages with free blocks.
    open: Vec<u32>,
    /// The part of the newest page that was never used.
    fresh: std::ops::Range<u32>,
}

impl Pool {
    /// Adds what a flow keeps of `segment`, at time `ts`, to the end of `log`, which must be
    /// shorter than [`LONGEST`]. The newest of the log, if any, was at `before`.
    #[inline]
    pub fn push(&mut self, log: &mut Log, segment: &Segment, ts: Nanos, before: Nanos) {
        let entry = Entry::of(segment, ts);
        if log.len > 0 && room(log) >= PLAIN {
            let (page, at) = place(log.block + u32::from(log.used));
            // In place: what is made elsewhere and copied would be read in wider pieces than it
            // was written, for which the processor waits.
            if let Some(words) = self.pages[page].words[at..].first_chunk_mut() {
                let taken = packed::pack_plain(&entry, before, words);
                log.used += taken as u16;
                log.len += u8::from(taken > 0);
                if taken > 0 {
                    return;
                }
            }
        }
        self.push_slowly(log, &entry, before);
    }

    /// The same for a segment that is the first, unusual, or does not fit into the block.
    #[inline(never)]
    fn push_slowly(&mut self, log: &mut Log, entry: &Entry, mut before: Nanos) {
        if log.is_empty() {
            let since = i64::from(entry.ts.0 as u32);
            before = Nanos(entry.ts.0 - since);
            self.write(log, &[(before.0 >> 32) as u32]);
        }
        let mut words = [0; MOST];
        let taken = packed::pack(entry, before, &mut words);
        self.write(log, &words[..taken]);
        log.len += 1;
    }

    fn write(&mut self, log: &mut Log, mut words: &[u32]) {
        while !words.is_empty() {
            if room(log) == 0 {
                self.grow(log);
            }
            let (now, later) = words.split_at(words.len().min(room(log)));
            let (page, at) = place(log.block + u32::from(log.used));
            self.pages[page].words[at..][..now.len()].copy_from_slice(now);
            log.used += now.len() as u16;
            words = later;
        }
    }

    /// The segments of `log`, in order.
    #[inline]
    pub fn entries(&mut self, log: &Log) -> Entries<'_> {
        if log.is_empty() {
            return Entries { words: &[], before: Nanos(0), left: 0 };
        }
        let (page, at) = place(log.block);
        let words = match self.pages[page].words[at] {
            NONE => &self.pages[page].words[at + 1..],
            _ => self.join(log),
        };
        Entries {
            words: &words[1..],
            before: Nanos(i64::from(words[0] as i32) << 32),
            left: log.len,
        }
    }

    /// The words of a log that lies in several blocks, one after the other.
    #[inline(never)]
    fn join(&mut self, log: &Log) -> &[u32] {
        let (mut end, mut block, mut used) = (JOINED, log.block, usize::from(log.used));
        self.joined.resize(JOINED + MOST, 0);
        loop {
            let (page, at) = place(block);
            let begin = end + 1 - used;
            self.joined[begin..end].copy_from_slice(&self.pages[page].words[at + 1..at + used]);
            end = begin;
            block = self.pages[page].words[at];
            if block == NONE {
                return &self.joined[begin..];
            }
            used = self.length(block);
        }
    }

    /// Gives the blocks of `log` back.
    #[inline]
    pub fn free(&mut self, log: &mut Log) {
        let mut block = newest(log);
        while block != NONE {
            let (page, at) = place(block);
            let before = self.pages[page].words[at];
            self.free_block(block);
            block = before;
        }
        *log = Log::default();
    }

    fn free_block(&mut self, block: u32) {
        let (page, at) = place(block);
        let Page { class, used, free, words } = &mut self.pages[page];
        let blocks = &mut self.classes[usize::from(*class)];
        if *free == NONE {
            blocks.open.push(page as u32);
        }
        words[at] = std::mem::replace(free, block);
        *used -= 1;
        if *used == 0 && !blocks.is_fresh(page) {
            (*free, *words) = (NONE, Box::default());
            blocks.open.retain(|&open| open as usize != page);
            self.gone.push(page as u32);
        }
    }

    /// Something of what the next push to `log` will write: reading it early brings the cache lines
    /// in while other work goes on.
    #[inline]
    pub fn touch(&self, log: &Log) -> u32 {
        let (page, at) = place(log.block + u32::from(log.used));
        self.pages.get(page).and_then(|page| page.words.get(at)).map_or(0, |&word| word)
    }

    /// Something of every block of some logs, for the same reason. A block names the one before it,
    /// so one of each log is read, and then the next of each: these reads overlap.
    pub fn touch_all<'a>(&self, logs: impl Iterator<Item = &'a Log>) -> u32 {
        let (mut blocks, mut sum) = ([NONE; TOUCHED], 0);
        blocks.iter_mut().zip(logs).for_each(|(block, log)| *block = newest(log));
        while blocks.iter().any(|&block| block != NONE) {
            for block in blocks.iter_mut().filter(|block| **block != NONE) {
                let (page, at) = place(*block);
                *block = self.pages[page].words[at];
                sum ^= *block;
            }
        }
        sum
    }

    #[cold]
    fn grow(&mut self, log: &mut Log) {
        let class = usize::from(log.class).min(LENGTHS.len() - 1);
        let block = self.allocate(class);
        let (page, at) = place(block);
        self.pages[page].words[at] = newest(log);
        *log = Log { block, used: 1, len: log.len, class: class as u8 + 1 };
    }

    /// A block of `LENGTHS[class]` words.
    fn allocate(&mut self, class: usize) -> u32 {
        let blocks = &mut self.classes[class];
        if let Some(&page) = blocks.open.last() {
            let page = &mut self.pages[page as usize];
            let block = page.free;
            page.free = page.words[place(block).1];
            page.used += 1;
            if page.free == NONE {
                blocks.open.pop();
            }
            return block;
        }
        let length = LENGTHS[class];
        if blocks.fresh.is_empty() {
            let words = vec![0; PAGE_WORDS + MOST].into_boxed_slice();
            let page = Page { class: class as u8, used: 0, free: NONE, words };
            let number = match self.gone.pop() {
                Some(number) => {
                    self.pages[number as usize] = page;
                    number
                }
                None => {
                    self.pages.push(page);
                    self.pages.len() as u32 - 1
                }
            };
            let first = number * PAGE_WORDS as u32;
            blocks.fresh = first..first + (PAGE_WORDS / length * length) as u32;
        }
        let block = blocks.fresh.start;
        blocks.fresh.start += length as u32;
        self.pages[place(block).0].used += 1;
        block
    }

    fn length(&self, block: u32) -> usize {
        LENGTHS[usize::from(self.pages[place(block).0].class)]
    }
}

impl Class {
    /// Whether a part of a page was never used.
    fn is_fresh(&self, page: usize) -> bool {
        !self.fresh.is_empty() && place(self.fresh.start).0 == page
    }
}

/// The segments of a log.
pub struct Entries<'a> {
    words: &'a [u32],
    before: Nanos,
    left: u8,
}

impl Iterator for Entries<'_> {
    type Item = Entry;

    #[inline(always)]
    fn next(&mut self) -> Option<Entry> {
        self.left = self.left.checked_sub(1)?;
        let (entry, taken) = packed::unpack(self.words.first_chunk()?, self.before);
        self.before = entry.ts;
        self.words = &self.words[taken..];
        Some(entry)
    }
}

/// Words left of the newest block.
#[inline]
fn room(log: &Log) -> usize {
    match log.class {
        0 => 0,
        class => LENGTHS[usize::from(class) - 1] - usize::from(log.used),
    }
}

fn newest(log: &Log) -> u32 {
    if log.class > 0 { log.block } else { NONE }
}

/// The page of a word, and where it is there.
#[inline]
fn place(word: u32) -> (usize, usize) {
    (word as usize / PAGE_WORDS, word as usize % PAGE_WORDS)
}

/// Segments of a log at most.
pub const LONGEST: usize = 32;
/// Words of a block by class, the first of which names the block before: a SYN with all its
/// options, a short exchange, one with timestamps, and what becomes a long flow.
const LENGTHS: [usize; 8] = [12, 20, 16, 16, 32, 64, 128, 256];
/// Words of a page, which holds whole blocks of one class: 128 KiB.
const PAGE_WORDS: usize = 1 << 15;
/// Words of the longest log.
const JOINED: usize = 1 + LONGEST * MOST;
/// Logs that are touched together.
pub const TOUCHED: usize = 8;
/// No block.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seq;
    use crate::wire::flags;

    fn push(pool: &mut Pool, log: &mut Log, number: u32) {
        let seconds = |number: u32| Nanos::SECOND + Nanos(i64::from(number) * 1_000_000_000);
        let segment = Segment { seq: Seq(number), flags: flags::ACK, ..Segment::default() };
        // Every tenth is of an unusual size.
        let payload_len = if number % 10 == 3 { 100_000 } else { 0 };
        let segment = Segment { payload_len, ..segment };
        pool.push(log, &segment, seconds(number), seconds(number.saturating_sub(1)));
    }

    fn numbers(pool: &mut Pool, log: &Log) -> Vec<u32> {
        let at = |entry: &Entry| Nanos::SECOND + Nanos(i64::from(entry.seq.0) * 1_000_000_000);
        pool.entries(log)
            .inspect(|entry| assert_eq!(entry.ts, at(entry)))
            .map(|e| e.seq.0)
            .collect()
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
        for (length, blocks) in LENGTHS.into_iter().zip(&pool.classes).take(7) {
            let whole = PAGE_WORDS / length * length;
            assert_eq!(blocks.fresh.len() + 2 * length, whole, "two blocks of it");
        }
    }
}
