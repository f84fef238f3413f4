//! The flow table: finds the flow of every segment, files the segment there, and hands whole bursts
//! on to be analysed.
//!
//! What is touched per segment is one bucket of the index, one 64-byte slot and one chunk of the
//! log. A batch touches all of them first and works afterwards: the memory accesses of many
//! segments overlap. Without that a table of a million flows costs three cache misses one after
//! another.

mod bursts;
pub mod class;
mod enough;
mod evict;
mod log;
mod packed;
pub mod pairs;
mod pools;
mod short;
mod slot;
mod state;

use crate::flow::entry::Entry;
use crate::stream::is_syn;
use crate::units::{Nanos, Seq};
use crate::wire::hash::HashKey;
use crate::wire::{FlowKey, Segment};
use class::{Class, Lists, Timeouts};
use log::Log;
use pairs::Pairs;
use pools::Pools;
use slot::{FREE, Slot};
use state::State;
use std::hint::black_box;

/// Flows by key.
pub struct Table<F> {
    index: Vec<Bucket>,
    slots: Vec<Slot<F>>,
    pairs: Pairs,
    free: Vec<u32>,
    pools: Pools,
    lists: Lists,
    limits: Limits,
    /// Where the search for idle flows goes on.
    sweep: usize,
    /// Where settling goes on.
    next_settle: usize,
    /// Flows with state in so many slots have nothing waiting, once the input has ended.
    drained: usize,
    hash_key: HashKey,
}

/// What bounds a table, and what it files.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// After how much silence flows end.
    pub timeouts: Timeouts,
    /// Flows that it holds at most.
    pub flows: usize,
    /// Whether segments are filed with what others between the same hosts sent.
    pub beside: bool,
}

/// Where a slot is: the low half of the hash, whose low bits say where it belongs, and the slot's
/// number plus one; 0 is empty.
#[derive(Clone, Copy, Default)]
struct Bucket {
    tag: u32,
    slot: u32,
}

/// What analyses the bursts.
pub trait Analyse {
    /// What is known of a flow; `F` of the table.
    type Flow;
    /// Takes one segment of a flow; `flow` is made with the first one.
    fn segment(
        &mut self,
        key: &FlowKey,
        flow: &mut Option<Box<Self::Flow>>,
        entry: &Entry,
        sack: &[(Seq, Seq)],
    );
    /// Takes segments of a flow without SACK blocks, one after the other.
    fn segments(&mut self, key: &FlowKey, flow: &mut Option<Box<Self::Flow>>, entries: &[Entry]) {
        entries.iter().for_each(|entry| self.segment(key, flow, entry, &[]));
    }
    /// A segment is filed that may open a connection; `used` says whether its sender may have sent
    /// on these addresses and ports before.
    fn opening(&mut self, segment: &Segment, used: bool);
    /// The flow has ended.
    fn end(&mut self, flow: Box<Self::Flow>);
    /// The flow has closed: few segments, if any, will follow.
    fn closed(&mut self, flow: &mut Self::Flow);
    /// A flow is put out of a full table, at this time. Whether it is worth its rows: if so it is
    /// analysed and ended, else `forgotten`.
    fn evicted(&mut self, class: Class, now: Nanos) -> bool;
    /// A flow was put out with so many segments and payload bytes that nobody will see.
    fn forgotten(&mut self, segments: u64, payload_bytes: u64);
}

impl<F> Table<F> {
    /// An empty table. `hash_key` decides where flows go; an attacker must not know it, and what
    /// comes out, in which order, does not depend on it.
    pub fn new(hash_key: HashKey, limits: Limits) -> Table<F> {
        // Address space only, until it is used: flows are then never moved, which would hold up
        // whoever waits for packets to be read.
        let room = if limits.flows <= MAX_ROOM { limits.flows + BATCH } else { 0 };
        let mut lists = Lists::default();
        lists.reserve(room);
        Table {
            index: vec![Bucket::default(); 1024],
            slots: Vec::with_capacity(room),
            pairs: Pairs::default(),
            free: Vec::new(),
            pools: Pools::default(),
            lists,
            limits,
            sweep: 0,
            next_settle: 0,
            drained: 0,
            hash_key,
        }
    }

    /// Flows held.
    pub fn len(&self) -> usize {
        self.slots.len().saturating_sub(self.free.len())
    }

    /// Files segments, each with the hash of its flow by [`Table::hash`].
    pub fn push<'a>(
        &mut self,
        segments: impl Iterator<Item = (u64, &'a Segment)>,
        analyse: &mut impl Analyse<Flow = F>,
    ) {
        let mut batch: [(u64, Option<&Segment>); BATCH] = [(0, None); BATCH];
        let mut len = 0;
        for (hash, segment) in segments {
            batch[len] = (hash, Some(segment));
            len += 1;
            if len == BATCH {
                self.push_batch(&batch, analyse);
                len = 0;
            }
        }
        self.push_batch(&batch[..len], analyse);
    }

    fn push_batch(
        &mut self,
        batch: &[(u64, Option<&Segment>)],
        analyse: &mut impl Analyse<Flow = F>,
    ) {
        self.reserve(batch.len());
        let likely = self.touch(batch);
        let mut now = Nanos(0);
        for (&(hash, segment), &likely) in batch.iter().zip(&likely) {
            let Some(segment) = segment else { break };
            let id = match self.slots.get(likely as usize) {
                Some(slot) if slot.key == segment.key => likely as usize,
                _ => self.find_or_insert(&segment.key, hash, segment.ts),
            };
            self.file(segment, id, analyse);
            now = segment.ts;
        }
        while self.len() > self.limits.flows.max(1) {
            self.evict(now, analyse);
        }
    }

    /// Reads what the batch will need, one level of it after the other: the reads of a level do not
    /// depend on each other, so they overlap. Gives the slots at which the flows are most likely;
    /// no flow is taken out of the table before they are used.
    fn touch(&self, batch: &[(u64, Option<&Segment>)]) -> [u32; BATCH] {
        let mask = self.index.len() - 1;
        let mut likely = [u32::MAX; BATCH];
        for (likely, &(hash, _)) in likely.iter_mut().zip(batch) {
            *likely = self.index[hash as usize & mask].slot.wrapping_sub(1);
        }
        let mut sum = 0;
        for &id in &likely[..batch.len()] {
            if let Some(slot) = self.slots.get(id as usize) {
                sum ^= self.pools.touch(&slot.log, slot.flow.is_some());
            }
        }
        black_box(sum);
        likely
    }

    #[inline]
    fn file(&mut self, segment: &Segment, id: usize, analyse: &mut impl Analyse<Flow = F>) {
        let slot = &mut self.slots[id];
        // A clock that was set back must not make the time of a flow run backwards.
        let ts = segment.ts.max(slot.last);
        let (before, is_over) = (slot.state, slot.is_over(ts, &self.limits.timeouts));
        if is_over {
            if slot.state.is_member() {
                self.pairs.leave(id);
            }
            slot.state = slot.state.cleared();
            slot.finish(&mut self.pools, analyse);
        }
        let before_ts = std::mem::replace(&mut slot.last, ts);
        let is_new = slot.flow.is_none() && slot.log.is_empty();
        if is_new || is_syn(segment) {
            analyse.opening(segment, is_new || slot.state.is_established());
        }
        slot.state.see(segment);
        if !slot.state.is_member()
            && self.limits.beside
            && slot.state.count()
            && self.pairs.join(id, &slot.key, self.hash_key)
        {
            slot.state.set_member();
        }
        let others = match slot.state.is_member() {
            true => self.pairs.others(id, segment, ts),
            false => 0,
        };
        if segment.sack_count == 0 {
            let has_state = slot.flow.is_some();
            self.pools.push(&mut slot.log, has_state, segment, (before_ts, ts), others);
            if slot.state.is_closed() && slot.flow.is_some() {
                slot.lay_off(&mut self.pools, analyse);
            } else if slot.log.len() >= enough::LEAST
                && slot.log.len() >= enough::segments(slot.state.bursts(), &slot.key)
            {
                slot.drain(&mut self.pools, analyse);
            }
        } else {
            slot.drain(&mut self.pools, analyse);
            let blocks = &segment.sack[..usize::from(segment.sack_count).min(4)];
            let entry = Entry { others, ..Entry::of(segment, ts) };
            analyse.segment(&slot.key, &mut slot.flow, &entry, blocks);
        }
        // A long flow stays one until something but data and acknowledgements comes.
        let stays = slot.state == before && before.listed() == Class::Long && !is_over;
        if !stays && slot.class() != slot.state.listed() {
            self.list(id);
        }
    }

    /// Moves a slot to the list of its class.
    #[inline(never)]
    fn list(&mut self, id: usize) {
        let slot = &mut self.slots[id];
        let (from, to) = (slot.state.listed(), slot.class());
        slot.state.set_listed(to);
        self.lists.remove(id, from);
        self.lists.push(id, to);
    }

    #[inline(never)]
    fn find_or_insert(&mut self, key: &FlowKey, hash: u64, ts: Nanos) -> usize {
        let mask = self.index.len() - 1;
        let tag = hash as u32;
        let mut at = hash as usize & mask;
        loop {
            let bucket = self.index[at];
            if bucket.slot == 0 {
                break;
            }
            let id = bucket.slot as usize - 1;
            if bucket.tag == tag && self.slots[id].key == *key {
                return id;
            }
            at = (at + 1) & mask;
        }
        let slot =
            Slot { flow: None, last: ts, log: Log::default(), key: *key, state: State::default() };
        let id = match self.free.pop() {
            Some(id) => {
                self.slots[id as usize] = slot;
                id as usize
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        self.slots[id].state.set_listed(Class::HalfOpen);
        self.lists.push(id, Class::HalfOpen);
        self.index[at] = Bucket { tag, slot: id as u32 + 1 };
        id
    }

    /// Keeps the index at most half full with `more` flows. Buckets know where they belong: a burst
    /// of new flows waits for one pass over them, near in order.
    fn reserve(&mut self, more: usize) {
        if (self.len() + more) * 2 <= self.index.len() {
            return;
        }
        let size = (self.index.len() * 2).max((more * 2).next_power_of_two());
        let old = std::mem::replace(&mut self.index, vec![Bucket::default(); size]);
        for bucket in old.into_iter().filter(|bucket| bucket.slot != 0) {
            let mut at = bucket.tag as usize & (size - 1);
            while self.index[at].slot != 0 {
                at = (at + 1) & (size - 1);
            }
            self.index[at] = bucket;
        }
    }

    /// Looks at `count` slots for flows that have been silent for too long at `now` and ends them.
    /// Called with a slot for a segment, so that no pause is ever long.
    pub fn sweep(&mut self, count: usize, now: Nanos, analyse: &mut impl Analyse<Flow = F>) {
        // Who sent something since then has not ended, whatever its class.
        let recently = now - self.limits.timeouts.least();
        let mut left = count.min(self.slots.len());
        while left > 0 {
            let from = if self.sweep + 1 < self.slots.len() { self.sweep + 1 } else { 0 };
            let run = &self.slots[from..self.slots.len().min(from + left)];
            let silent = run.iter().position(|slot| slot.last < recently && slot.held());
            let passed = silent.map_or(run.len(), |at| at + 1);
            (self.sweep, left) = (from + passed - 1, left - passed);
            if silent.is_some() && self.slots[self.sweep].is_over(now, &self.limits.timeouts) {
                self.end(self.sweep, analyse);
            }
        }
    }

    /// Analyses what waits in the logs of the next `count` slots. Flows that are short so far are
    /// left out: they may never need state.
    pub fn settle(&mut self, count: usize, analyse: &mut impl Analyse<Flow = F>) {
        for _ in 0..count.min(self.slots.len()) {
            self.next_settle = (self.next_settle + 1) % self.slots.len();
            let slot = &mut self.slots[self.next_settle];
            let long = slot.flow.is_some() || slot.log.len() >= LONG_LOG;
            if long && slot.held() && !slot.log.is_empty() {
                slot.drain(&mut self.pools, analyse);
            }
        }
    }

    /// Slots, whether they hold a flow or not.
    pub fn slots(&self) -> usize {
        self.slots.len()
    }

    /// Ends up to `count` flows; whether some are left. Nothing can be filed until none is.
    pub fn finish(&mut self, count: usize, analyse: &mut impl Analyse<Flow = F>) -> bool {
        // Nothing is looked up any more, and taking out each flow would cost a cache miss.
        self.index = Vec::new();
        if !self.pools.bursts.is_empty() {
            self.drain_some(count, analyse);
            return true;
        }
        let mut ended = 0;
        while ended < count
            && let Some(mut slot) = self.slots.pop()
        {
            if self.slots.len().is_multiple_of(short::TOUCHED) {
                self.touch_last();
            }
            if slot.held() {
                slot.finish(&mut self.pools, analyse);
                ended += 1;
            }
        }
        if self.slots.is_empty() {
            *self = Table::new(self.hash_key, self.limits);
        }
        !self.slots.is_empty()
    }

    /// Analyses what waits of the next `count` flows with state. When nothing is left, the room for
    /// it goes to the rows of the flows, which have not ended yet.
    fn drain_some(&mut self, count: usize, analyse: &mut impl Analyse<Flow = F>) {
        let until = self.slots.len().min(self.drained + count);
        for slot in &mut self.slots[self.drained..until] {
            if slot.flow.is_some() && !slot.log.is_empty() {
                slot.drain(&mut self.pools, analyse);
            }
        }
        self.drained = until;
        if until == self.slots.len() {
            self.pools.bursts = bursts::Pool::default();
        }
    }

    /// Reads what the last slots will need when their flows end, as [`Table::touch`] does.
    fn touch_last(&self) {
        let last = &self.slots[self.slots.len().saturating_sub(short::TOUCHED)..];
        let logs = |has_state: bool| {
            let of_kind = last.iter().filter(move |slot| slot.flow.is_some() == has_state);
            of_kind.map(|slot| &slot.log)
        };
        let long = logs(true).fold(0, |sum, log| sum ^ self.pools.bursts.touch(log));
        black_box(long ^ self.pools.short.touch_all(logs(false)));
    }

    fn end(&mut self, id: usize, analyse: &mut impl Analyse<Flow = F>) {
        let slot = &mut self.slots[id];
        let flow = slot.close(&mut self.pools, analyse);
        slot.last = FREE;
        let (key, class) = (slot.key, slot.state.listed());
        if slot.state.is_member() {
            self.pairs.leave(id);
        }
        self.lists.remove(id, class);
        self.remove(&key, id);
        self.free.push(id as u32);
        if let Some(flow) = flow {
            analyse.end(flow);
        }
    }

    /// Takes a slot out of the index and closes the gap (backward shift deletion).
    fn remove(&mut self, key: &FlowKey, id: usize) {
        let mask = self.index.len() - 1;
        let mut at = self.hash(key) as usize & mask;
        while self.index[at].slot as usize != id + 1 {
            at = (at + 1) & mask;
        }
        let mut next = (at + 1) & mask;
        while self.index[next].slot != 0 {
            let home = self.index[next].tag as usize & mask;
            // Whether `home` lies cyclically outside (at, next]: then the bucket may move to `at`.
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(at) & mask) {
                self.index[at] = self.index[next];
                at = next;
            }
            next = (next + 1) & mask;
        }
        self.index[at] = Bucket::default();
    }

    /// The hash of a flow, of which the table uses the low bits.
    #[inline]
    pub fn hash(&self, key: &FlowKey) -> u64 {
        self.hash_key.hash(key)
    }
}

/// Segments of which the memory accesses overlap.
const BATCH: usize = 32;
/// Entries from which a flow without state is given it while the link is live: a handshake, a
/// request, an answer and the end are fewer.
const LONG_LOG: usize = 12;
/// Flows for which a table has room from its beginning.
const MAX_ROOM: usize = 1 << 22;
