//! Several workers: one thread reads and decodes, the others each follow their share of the flows.
//! Everything between them is bounded, so that a slow consumer slows the reader down.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{self, JoinHandle};

use tcpwhy_core::counter::Counters;
use tcpwhy_core::pipeline::{Options, Pipeline};
use tcpwhy_core::wire::Segment;
use tcpwhy_core::wire::hash::{HashKey, shard};

use super::{Item, Reader};
use crate::intake::{Intake, TunnelNames};

/// The consumer's end.
pub(super) struct Parallel {
    items: Receiver<Item>,
    reader: Option<JoinHandle<()>>,
}

/// Segments of one worker, with the names of tunnels that appear in them for the first time.
#[derive(Default)]
struct Batch {
    segments: Vec<Segment>,
    tunnels: Vec<(u16, Arc<str>)>,
}

/// A worker as the reader sees it.
struct Worker {
    batch: Batch,
    full: SyncSender<Batch>,
    empty: Receiver<Batch>,
    tunnels: TunnelNames,
    thread: JoinHandle<Counters>,
}

impl Parallel {
    pub fn spawn(reader: Reader, options: Options, workers: usize) -> Parallel {
        let (send, items) = sync_channel(ITEMS);
        let thread = thread::spawn(move || run(reader, &options, workers, &send));
        Parallel { items, reader: Some(thread) }
    }

    pub fn next(&mut self) -> Option<Item> {
        if let Ok(item) = self.items.recv() {
            return Some(item);
        }
        // All senders are gone: the end, or a panic, which is the caller's now.
        if let Some(Err(panic)) = self.reader.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        None
    }
}

fn run(mut reader: Reader, options: &Options, workers: usize, items: &SyncSender<Item>) {
    // Fixed, so that a run is the same every time; rows do not depend on it.
    let hash = HashKey::default();
    let spawn = |_| Worker::spawn(options.clone(), items.clone());
    let mut workers: Vec<Worker> = (0..workers).map(spawn).collect();
    let mut deaf = false;
    let mut share = |segments: &[Segment], intake: &Intake, _| {
        for segment in segments {
            let index = shard(hash.hash(&segment.key), workers.len());
            deaf |= !workers[index].push(segment, intake);
        }
        !deaf
    };
    while reader.step(&mut share) {}
    let mut counters = Counters::default();
    for worker in workers.iter_mut() {
        worker.flush(&reader.intake);
    }
    // Closing all channels first lets the workers finish side by side.
    let threads: Vec<_> = workers.into_iter().map(|worker| worker.thread).collect();
    for thread in threads {
        match thread.join() {
            Ok(counted) => counters.merge(&counted),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    for item in reader.closing(&counters) {
        if items.send(item).is_err() {
            return;
        }
    }
}

impl Worker {
    fn spawn(options: Options, items: SyncSender<Item>) -> Worker {
        let (full, full_end) = sync_channel(BATCHES);
        let (empty_end, empty) = channel();
        let thread = thread::spawn(move || work(options, &full_end, &empty_end, &items));
        let batch = Batch { segments: Vec::with_capacity(BATCH_LEN), tunnels: Vec::new() };
        Worker { batch, full, empty, tunnels: TunnelNames::default(), thread }
    }

    /// Adds a segment; false when the worker is gone.
    #[inline]
    fn push(&mut self, segment: &Segment, intake: &Intake) -> bool {
        self.batch.segments.push(*segment);
        self.batch.segments.len() < BATCH_LEN || self.flush(intake)
    }

    fn flush(&mut self, intake: &Intake) -> bool {
        let mut next = self.empty.try_recv().unwrap_or_default();
        next.segments.clear();
        next.segments.reserve(BATCH_LEN);
        let mut batch = std::mem::replace(&mut self.batch, next);
        batch.tunnels = self.tunnels.news(intake.tunnels());
        self.full.send(batch).is_ok()
    }
}

/// Follows the flows of one worker until the reader has no more.
fn work(
    options: Options,
    full: &Receiver<Batch>,
    empty: &Sender<Batch>,
    items: &SyncSender<Item>,
) -> Counters {
    let mut pipeline = Pipeline::new(options);
    let send = |pipeline: &mut Pipeline, all| {
        pipeline.take(all).into_iter().all(|batch| items.send(Ok(batch)).is_ok())
    };
    for mut batch in full {
        for (index, name) in batch.tunnels.drain(..) {
            pipeline.define_tunnel(index, name);
        }
        pipeline.push(&batch.segments);
        // The reader has ended when it does not want it back.
        let _ = empty.send(batch);
        if !send(&mut pipeline, false) {
            return Counters::default();
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

/// Segments in a batch: large enough that waking a worker costs little per segment (batches of 256
/// cost some 60 ns a segment more on two busy cores), small enough that all that wait fit into a
/// second-level cache.
const BATCH_LEN: usize = 2048;
/// Batches that may wait for a worker.
const BATCHES: usize = 4;
/// Record batches that may wait for the consumer.
const ITEMS: usize = 16;
