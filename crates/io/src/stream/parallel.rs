//! Several workers: all share the batches of decoded segments, and each follows the flows that are
//! its own. Whoever has nothing to do reads the next batch. Everything between them is bounded, so
//! that a slow consumer slows the reading down.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use tcpwhy_core::counter::Counters;
use tcpwhy_core::pipeline::{Options, Pipeline};
use tcpwhy_core::stream::Opening;
use tcpwhy_core::wire::Segment;
use tcpwhy_core::wire::hash::HashKey;

use super::shares::Shares;
use super::{Item, Numbers, Reader, lock};
use crate::intake::TunnelNames;

/// The consumer's end.
pub(super) struct Parallel {
    items: Receiver<Item>,
    closer: Option<JoinHandle<()>>,
}

/// Segments in the order of capture, and the tunnels that appear in them for the first time.
#[derive(Default)]
struct Batch {
    segments: Vec<Segment>,
    /// For each worker the hashes of its flows' segments, and where these are.
    own: Vec<Vec<(u64, u32)>>,
    tunnels: Vec<(u16, Arc<str>)>,
}

/// What the workers share.
struct Desk {
    state: Mutex<State>,
    numbers: Option<Numbers>,
    changed: Condvar,
}

struct State {
    /// Absent while a worker reads.
    source: Option<Source>,
    /// Batches that some worker has not had yet, from number `first` on, each with the openings
    /// that workers have found in it.
    batches: VecDeque<(Arc<Batch>, Vec<Opening>)>,
    first: u64,
    /// The number of the batch that each worker has or takes next; one that is gone needs none.
    next: Vec<u64>,
    /// Batches that all have had, to be filled again.
    empty: Vec<Batch>,
    /// Nothing is left to read, or nobody wants it.
    ended: bool,
}

/// The reading side; whoever reads has it.
struct Source {
    reader: Reader,
    tunnels: TunnelNames,
    hash_key: HashKey,
    shares: Shares,
}

/// What a worker does next.
enum Turn {
    Follow(Arc<Batch>),
    Read(Box<Source>, Batch),
    End,
}

impl Parallel {
    pub fn spawn(
        reader: Reader,
        options: Options,
        workers: usize,
        numbers: Option<Numbers>,
    ) -> Parallel {
        let (send, items) = sync_channel(ITEMS);
        let closer = thread::spawn(move || run(reader, &options, workers, numbers, &send));
        Parallel { items, closer: Some(closer) }
    }

    pub fn next(&mut self) -> Option<Item> {
        if let Ok(item) = self.items.recv() {
            return Some(item);
        }
        // All senders are gone: the end, or a panic, which is the caller's now.
        if let Some(Err(panic)) = self.closer.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        None
    }
}

fn run(
    reader: Reader,
    options: &Options,
    workers: usize,
    numbers: Option<Numbers>,
    items: &SyncSender<Item>,
) {
    let hash_key = HashKey::new(options.hash_seed);
    let desk = Arc::new(Desk {
        state: Mutex::new(State {
            source: Some(Source {
                reader,
                tunnels: TunnelNames::default(),
                hash_key,
                shares: Shares::of(workers),
            }),
            batches: VecDeque::new(),
            first: 0,
            next: vec![0; workers],
            empty: Vec::new(),
            ended: false,
        }),
        changed: Condvar::new(),
        numbers,
    });
    let spawn = |number| {
        let (desk, options, items) = (desk.clone(), options.clone(), items.clone());
        thread::spawn(move || work(&desk, number, options, &items))
    };
    let threads: Vec<_> = (0..workers).map(spawn).collect();
    let mut counters = Counters::default();
    for thread in threads {
        match thread.join() {
            Ok(counted) => counters.merge(&counted),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    let Some(source) = desk.lock().source.take() else { return };
    for item in source.reader.closing(&counters) {
        if items.send(item).is_err() {
            return;
        }
    }
}

/// Follows the flows of one worker until nothing is left to read.
fn work(desk: &Desk, number: usize, options: Options, items: &SyncSender<Item>) -> Counters {
    let _leaving = Leaving { desk, number };
    let pipeline = Pipeline::new(options);
    let mut pipeline = if desk.numbers.is_some() { pipeline.numbering() } else { pipeline };
    let send = |pipeline: &mut Pipeline, all| {
        pipeline.take(all).into_iter().all(|batch| items.send(Ok(batch)).is_ok())
    };
    loop {
        match desk.turn(number) {
            Turn::Read(mut source, mut batch) => {
                let more = source.fill(&mut batch);
                desk.deliver(*source, batch, more);
            }
            Turn::Follow(batch) => {
                for (index, name) in &batch.tunnels {
                    pipeline.define_tunnel(*index, name.clone());
                }
                let own = batch.own[number].iter();
                let own = own.map(|&(hash, at)| (hash, &batch.segments[at as usize]));
                pipeline.push_own(&batch.segments, own);
                desk.give_back(number, batch, pipeline.openings());
                if !send(&mut pipeline, false) {
                    return Counters::default();
                }
            }
            Turn::End => break,
        }
    }
    while pipeline.finish() {
        if !send(&mut pipeline, false) {
            return Counters::default();
        }
    }
    send(&mut pipeline, true);
    pipeline.counters().clone()
}

impl Source {
    /// Reads some frames into `batch`; false at the end.
    fn fill(&mut self, batch: &mut Batch) -> bool {
        batch.segments.clear();
        batch.tunnels.clear();
        let mut more = true;
        while more && batch.segments.len() < BATCH_LEN {
            more = self.reader.step(|segments, intake, _| {
                batch.segments.extend_from_slice(segments);
                batch.tunnels.extend(self.tunnels.news(intake.tunnels()));
                true
            });
        }
        batch.own.resize_with(self.shares.workers(), Vec::new);
        batch.own.iter_mut().for_each(Vec::clear);
        for (segment, at) in batch.segments.iter().zip(0..) {
            let hash = self.hash_key.hash(&segment.key);
            batch.own[self.shares.owner(self.hash_key.pair(&segment.key))].push((hash, at));
        }
        more
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        // A worker that panics holds no lock while it does anything that may.
        lock(&self.state)
    }

    /// What this worker does next: it reads if the others have enough and it has not, else it
    /// follows its flows through the next batch; it waits if there is neither.
    fn turn(&self, number: usize) -> Turn {
        let mut state = self.lock();
        loop {
            let next = state.next[number];
            let waiting = state.first + state.batches.len() as u64 - next;
            let room = state.batches.len() < BATCHES;
            if waiting <= FEW
                && room
                && !state.ended
                && let Some(source) = state.source.take()
            {
                let batch = state.empty.pop().unwrap_or_default();
                return Turn::Read(Box::new(source), batch);
            }
            if waiting > 0 {
                let batch = state.batches[(next - state.first) as usize].0.clone();
                return Turn::Follow(batch);
            }
            if state.ended {
                return Turn::End;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Takes a batch that was read, and the reading side back.
    fn deliver(&self, source: Source, batch: Batch, more: bool) {
        let mut state = self.lock();
        state.source = Some(source);
        state.batches.push_back((Arc::new(batch), Vec::new()));
        state.ended |= !more;
        self.changed.notify_all();
    }

    /// Takes a batch back that a worker has had, with the openings found in it; the last one to
    /// have it numbers its connections, and empties it for the reader.
    fn give_back(&self, number: usize, batch: Arc<Batch>, openings: Option<&mut Vec<Opening>>) {
        drop(batch);
        let mut state = self.lock();
        if let Some(openings) = openings {
            let at = (state.next[number] - state.first) as usize;
            state.batches[at].1.append(openings);
        }
        state.next[number] += 1;
        let done = state.next.iter().copied().min().unwrap_or(u64::MAX);
        let full = state.batches.len() == BATCHES;
        while state.first < done
            && let Some((batch, mut openings)) = state.batches.pop_front()
        {
            state.first += 1;
            if let (Some(numbers), Some(last)) = (&self.numbers, batch.segments.last()) {
                lock(numbers).take(&mut openings, last.frame);
            }
            state.empty.extend(Arc::into_inner(batch));
        }
        if state.ended
            && state.batches.is_empty()
            && let Some(numbers) = &self.numbers
        {
            lock(numbers).end();
        }
        if full {
            self.changed.notify_all();
        }
    }
}

/// Tells the others that a worker is gone, whatever the reason.
struct Leaving<'a> {
    desk: &'a Desk,
    number: usize,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        let mut state = self.desk.lock();
        state.next[self.number] = u64::MAX;
        // Whoever goes before the end has nobody to give rows to, or has panicked.
        state.ended = true;
        self.desk.changed.notify_all();
    }
}

/// Segments from which a batch is full: enough that taking turns costs little for each, few enough
/// that those under way stay in a second-level cache.
const BATCH_LEN: usize = 2048;
/// Batches that may wait for the slowest worker: for a while one may have the flows with the work.
const BATCHES: usize = 32;
/// Batches that a worker has left when it looks for more.
const FEW: u64 = 2;
/// Record batches that may wait for the consumer: some 3 MB each, where flows are short.
const ITEMS: usize = 4;
