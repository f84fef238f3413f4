//! The segments of a flow that wait to be analysed, in small chunks from one pool.
//!
//! A flow is analysed in bursts: its segments are filed here and handed on together, so that the
//! many bytes of its state are fetched once for many segments, and a flow that stays short never
//! needs that state at all.

use super::entry::Entry;

/// A queue of entries: a chain of chunks in a [`Pool`]. Empty chains own nothing.
#[derive(Clone, Copy, Debug)]
pub struct Log {
    head: u32,
    tail: u32,
    len: u16,
}

impl Default for Log {
    fn default() -> Log {
        Log { head: NONE, tail: NONE, len: 0 }
    }
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
}

/// Where the chunks of all logs live. Pages are never moved, freed chunks are used again.
#[derive(Default)]
pub struct Pool {
    pages: Vec<Box<[Chunk]>>,
    free: Option<u32>,
    used: u32,
}

#[derive(Clone, Copy)]
struct Chunk {
    entries: [Entry; CHUNK_ENTRIES],
    next: u32,
}

impl Pool {
    /// Adds an entry to the end of `log`.
    #[inline]
    pub fn push(&mut self, log: &mut Log, entry: Entry) {
        let at = log.len() % CHUNK_ENTRIES;
        if at == 0 {
            let chunk = self.allocate();
            if log.is_empty() {
                log.head = chunk;
            } else {
                self.chunk_mut(log.tail).next = chunk;
            }
            log.tail = chunk;
        }
        self.chunk_mut(log.tail).entries[at] = entry;
        log.len += 1;
    }

    /// Moves all entries of `log`, in order, to the end of `entries`, and frees its chunks.
    pub fn drain(&mut self, log: &mut Log, entries: &mut Vec<Entry>) {
        let mut left = log.len();
        let mut id = log.head;
        while left > 0 {
            let chunk = *self.chunk(id);
            entries.extend_from_slice(&chunk.entries[..left.min(CHUNK_ENTRIES)]);
            left = left.saturating_sub(CHUNK_ENTRIES);
            self.chunk_mut(id).next = self.free.unwrap_or(NONE);
            self.free = Some(id);
            id = chunk.next;
        }
        *log = Log::default();
    }

    /// A byte of the chunk that the next push to `log` will write: reading it early brings the
    /// cache line in while other work goes on.
    #[inline]
    pub fn touch(&self, log: &Log) -> u32 {
        match log.tail {
            NONE => 0,
            tail => self.chunk(tail).next,
        }
    }

    fn allocate(&mut self) -> u32 {
        if let Some(id) = self.free {
            let next = self.chunk(id).next;
            self.free = (next != NONE).then_some(next);
            return id;
        }
        let id = self.used;
        if id as usize % PAGE_CHUNKS == 0 {
            let empty = Chunk { entries: [Entry::default(); CHUNK_ENTRIES], next: NONE };
            self.pages.push(vec![empty; PAGE_CHUNKS].into_boxed_slice());
        }
        self.used += 1;
        id
    }

    #[inline]
    fn chunk(&self, id: u32) -> &Chunk {
        &self.pages[id as usize / PAGE_CHUNKS][id as usize % PAGE_CHUNKS]
    }

    #[inline]
    fn chunk_mut(&mut self, id: u32) -> &mut Chunk {
        &mut self.pages[id as usize / PAGE_CHUNKS][id as usize % PAGE_CHUNKS]
    }
}

/// Two entries a chunk: most flows of a backbone link have one to three segments.
const CHUNK_ENTRIES: usize = 2;
const PAGE_CHUNKS: usize = 4096;
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seq;

    #[test]
    fn logs_keep_order_and_reuse_chunks() {
        let mut pool = Pool::default();
        let (mut a, mut b) = (Log::default(), Log::default());
        for round in 0..3 {
            for i in 0..7 {
                pool.push(&mut a, Entry { seq: Seq(i), ..Entry::default() });
                pool.push(&mut b, Entry { seq: Seq(100 + i), ..Entry::default() });
            }
            let mut drained = Vec::new();
            pool.drain(&mut a, &mut drained);
            pool.drain(&mut b, &mut drained);
            let seqs: Vec<u32> = drained.iter().map(|entry| entry.seq.0).collect();
            let expected: Vec<u32> = (0..7).chain(100..107).collect();
            assert_eq!(seqs, expected, "round {round}");
            assert!(a.is_empty() && b.is_empty());
        }
        assert_eq!(pool.used, 8);
    }
}
