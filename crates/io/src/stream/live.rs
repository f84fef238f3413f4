//! Live links: each worker reads its rings and follows its flows; nothing is shared on the way of a
//! packet. The capture never waits for whoever takes the rows: what does not fit is counted.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use arrow_array::RecordBatch;
use tcpwhy_core::counter::{Counter, Counters};
use tcpwhy_core::pipeline::{Options, Pipeline, Table};
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::Segment;

use super::{BATCH_LEN, Item, counter_batch};
use crate::capture::Member;
use crate::error::Error;
use crate::intake::{Intake, TunnelNames};
use crate::progress::{Shared, Standing};

/// The consumer's end.
pub(super) struct Live {
    items: Receiver<Item>,
    workers: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// One worker.
struct Worker {
    member: Member,
    intake: Intake,
    pipeline: Pipeline,
    tunnels: TunnelNames,
    batch: Vec<Segment>,
    out: Out,
    /// When flows were last looked through, and how much of a flow that left to look at.
    settled: (Instant, f64),
    interval: Duration,
    /// Its number; the first speaks for all workers about what they all see.
    number: usize,
    /// How far the clock of the packets' times is ahead of the system's: not at all unless a card
    /// takes them.
    ahead: Nanos,
}

/// Where a worker's rows go.
pub(super) struct Out {
    items: SyncSender<Item>,
    shared: Arc<Shared>,
    counters: Counters,
    /// Nobody takes rows any more.
    pub deaf: bool,
}

impl Live {
    /// What `workers` send, until it ends.
    pub fn new(items: Receiver<Item>, workers: JoinHandle<()>, shared: &Arc<Shared>) -> Live {
        Live { items, workers: Some(workers), shared: shared.clone() }
    }

    pub fn spawn(
        members: Vec<Member>,
        intakes: Vec<Intake>,
        options: &Options,
        shared: &Arc<Shared>,
    ) -> Live {
        let (send, items) = sync_channel(ITEMS);
        let worker = |(number, (member, intake))| {
            let out = Out::new(send.clone(), shared.clone());
            let worker = Worker { number, ..Worker::new(member, intake, options, out) };
            thread::spawn(move || worker.run())
        };
        let threads: Vec<_> = members.into_iter().zip(intakes).enumerate().map(worker).collect();
        Live::new(items, thread::spawn(move || close(threads, &send)), shared)
    }

    pub fn next(&mut self) -> Option<Item> {
        if let Ok(item) = self.items.recv() {
            if let Ok((table, batch)) = &item
                && *table != Table::Counters
            {
                self.shared.take_rows_waiting(batch.num_rows() as u64);
            }
            return Some(item);
        }
        if let Some(Err(panic)) = self.workers.take().map(JoinHandle::join) {
            std::panic::resume_unwind(panic);
        }
        None
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.shared.abandon();
    }
}

/// Waits for the workers and sends what they counted.
fn close(threads: Vec<JoinHandle<Counters>>, items: &SyncSender<Item>) {
    let mut counters = Counters::default();
    for thread in threads {
        match thread.join() {
            Ok(counted) => counters.merge(&counted),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
    if let Some(batch) = counter_batch(&counters) {
        // Nobody may be left who wants it.
        let _ = items.send(Ok((Table::Counters, batch)));
    }
}

impl Worker {
    fn new(member: Member, intake: Intake, options: &Options, out: Out) -> Worker {
        Worker {
            member,
            intake,
            pipeline: Pipeline::new(options.clone()),
            tunnels: TunnelNames::default(),
            batch: vec![Segment::default(); BATCH_LEN],
            out,
            settled: (Instant::now(), 0.0),
            interval: Duration::from_nanos(options.interval.0.max(1) as u64),
            number: 0,
            ahead: Nanos(0),
        }
    }

    /// Captures until the run is to stop, then ends every flow.
    fn run(mut self) -> Counters {
        let period = self.interval.min(LONGEST_SILENCE);
        let mut due = Instant::now() + period;
        while !self.out.shared.stopped() && !self.out.deaf {
            if !self.read() {
                self.pipeline.tick(now() + self.ahead - LATENESS);
                self.member.wait();
            }
            self.settle();
            for batch in self.pipeline.take(false) {
                self.out.offer(batch);
            }
            let now = Instant::now();
            if now >= due {
                due = now + period;
                if !self.report() {
                    break;
                }
            }
        }
        self.member.shut();
        // The block under way is handed over, and then there are no more.
        self.member.wait();
        thread::sleep(LAST_BLOCK);
        while self.read() {}
        self.count();
        self.stand();
        self.finish()
    }

    /// Takes the frames that are ready; false when none were.
    fn read(&mut self) -> bool {
        let Worker { member, intake, pipeline, tunnels, batch, .. } = self;
        let mut filled = 0;
        let (before, _) = intake.frames();
        let mut push = |intake: &Intake, segments: &[Segment]| {
            for (index, name) in tunnels.news(intake.tunnels()) {
                pipeline.define_tunnel(index, name);
            }
            pipeline.push(segments);
        };
        let read = member.read(|record| {
            // Only a filter that does not compile for a link type fails, and these were compiled.
            if intake.take(record, &mut batch[filled]) == Ok(true) {
                filled += 1;
                if filled == BATCH_LEN {
                    push(intake, batch);
                    filled = 0;
                }
            }
        });
        push(intake, &batch[..filled]);
        let (frames, last_ts) = intake.frames();
        self.out.shared.add_frames(frames - before, last_ts);
        if read && member.stamped_by_card() {
            self.ahead = last_ts - now();
        }
        read
    }

    /// Looks through as many flows as keeps each of them looked at once an interval.
    fn settle(&mut self) {
        let (then, left) = self.settled;
        let share = then.elapsed().as_secs_f64() / self.interval.as_secs_f64();
        let flows = share.min(1.0) * self.pipeline.flows() as f64 + left;
        self.pipeline.settle(flows as usize);
        self.settled = (Instant::now(), flows.fract());
    }

    /// Gives all rows that are there; false when no interface is left.
    fn report(&mut self) -> bool {
        for batch in self.pipeline.take(true) {
            self.out.offer(batch);
        }
        self.count();
        self.stand();
        let (missing, some) = self.member.missing();
        for name in missing.into_iter().filter(|_| self.number == 0) {
            let message = "the interface is no longer there; what came before was analysed";
            self.out.send(Err(Error::Interface { name, message: message.to_owned() }));
        }
        some
    }

    /// Says how it stands, for whoever watches the run.
    fn stand(&self) {
        let mut counters = self.out.counters.clone();
        counters.merge(&self.intake.counters());
        counters.merge(self.pipeline.counters());
        let flows = self.pipeline.flows() as u64;
        self.out.shared.stand(self.number, Standing { flows, counters });
    }

    fn count(&mut self) {
        let (by_card, by_kernel) = self.member.stamped();
        self.out.counters.add(Counter::PacketsHardwareTime, by_card);
        self.out.counters.add(Counter::PacketsKernelTime, by_kernel);
        self.out.counters.add(Counter::PacketsTagHidden, self.member.hidden());
        let drops = self.member.drops();
        self.out.counters.add(Counter::KernelDrops, drops);
        self.out.shared.add_kernel_drops(drops);
    }

    fn finish(mut self) -> Counters {
        let mut counters = self.out.finish(&mut self.pipeline);
        counters.merge(&self.intake.counters());
        counters.merge(self.pipeline.counters());
        let standing = Standing { flows: 0, counters: counters.clone() };
        self.out.shared.stand(self.number, standing);
        counters
    }
}

impl Out {
    pub fn new(items: SyncSender<Item>, shared: Arc<Shared>) -> Out {
        Out { items, shared, counters: Counters::default(), deaf: false }
    }

    /// Gives a batch away if there is room for it.
    pub fn offer(&mut self, (table, batch): (Table, RecordBatch)) {
        let rows = batch.num_rows() as u64;
        if !self.shared.add_rows_waiting(rows, ROWS) {
            return self.drop_rows(rows);
        }
        match self.items.try_send(Ok((table, batch))) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => {
                self.shared.take_rows_waiting(rows);
                self.drop_rows(rows);
            }
            Err(TrySendError::Disconnected(_)) => self.deaf = true,
        }
    }

    fn drop_rows(&mut self, rows: u64) {
        self.counters.add(Counter::RowsDropped, rows);
        self.shared.add_rows_dropped(rows);
    }

    /// Ends every flow. Now there is time: these rows wait for whoever takes them. Gives what was
    /// counted here.
    pub fn finish(&mut self, pipeline: &mut Pipeline) -> Counters {
        loop {
            let more = pipeline.finish();
            for batch in pipeline.take(!more) {
                let rows = batch.1.num_rows() as u64;
                while !self.shared.add_rows_waiting(rows, ROWS) && !self.shared.abandoned() {
                    thread::sleep(Duration::from_millis(1));
                }
                self.send(Ok(batch));
            }
            if !more || self.deaf {
                return std::mem::take(&mut self.counters);
            }
        }
    }

    fn send(&mut self, item: Item) {
        self.deaf |= self.items.send(item).is_err();
    }
}

/// The wall clock, which packets are stamped with.
fn now() -> Nanos {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Nanos(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

/// Record batches that may wait for the consumer: with 16 workers, those of three tables and more.
pub(super) const ITEMS: usize = 64;
/// Rows that may wait for the consumer, of some 700 bytes each: all that a worker finds in a second
/// where every flow lasts a few packets.
const ROWS: u64 = 131_072;
/// Rows come at least this often, however long the interval is.
pub(super) const LONGEST_SILENCE: Duration = Duration::from_secs(3);
/// How far the wall clock runs ahead of the packets that were read: a block that is under way, and
/// a clock that is being corrected.
pub(super) const LATENESS: Nanos = Nanos(2_000_000_000);
/// Until when the kernel has handed over a block that is not full.
const LAST_BLOCK: Duration = Duration::from_millis(150);
