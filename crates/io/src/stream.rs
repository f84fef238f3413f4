//! The analysis of captures as a stream of record batches.

mod inline;
mod live;
mod ordered;
mod paced;
mod parallel;
mod shares;

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use arrow_array::RecordBatch;
use tcpwhy_core::counter::Counters;
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_core::record::{Batches, CounterRow};
use tcpwhy_core::stream::Streams;
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::Segment;
use tcpwhy_core::wire::hash::{HashKey, shard};

use crate::capture::{self, Capture, Fanout};
use crate::error::Error;
use crate::files::Inputs;
use crate::filter::Filter;
use crate::input::STDIN;
use crate::intake::Intake;
use crate::progress::{Progress, Shared, Standing};
use crate::sources::Sources;

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Capture files; `-` is standard input. They are merged in the order of time.
    pub inputs: Vec<PathBuf>,
    /// A pcap-filter(7) expression; frames that it does not match are counted and left out.
    pub filter: Option<String>,
    /// Worker threads beside the one that reads; 0 is one per core, 1 does all work in the thread
    /// that asks for batches.
    pub workers: usize,
    /// Reads at the captures' own timing, so many times as fast; then one thread does all work, and
    /// rows that are not taken in time are dropped and counted as on a live link.
    pub pace: Option<f64>,
    /// How far the clock of each input is ahead; 0 beyond the last.
    pub ahead: Vec<Nanos>,
    /// Follows only the flows of one part of several, by a hash that is the same in every process.
    pub part: Option<Part>,
}

/// One part of all flows. What is counted of packets, the first part counts, so that the counters
/// of all parts add up.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    index: usize,
    parts: usize,
}

impl Part {
    /// Of a text such as `0/4`, the first of four.
    pub fn parse(text: &str) -> Option<Part> {
        let (index, parts) = text.split_once('/')?;
        let (index, parts) = (index.parse().ok()?, parts.parse().ok()?);
        (index < parts).then_some(Part { index, parts })
    }

    fn has(self, segment: &Segment) -> bool {
        shard(HashKey::new(PART_SEED).pair(&segment.key), self.parts) == self.index
    }
}

/// The numbers of connections, which whoever analyses fills and whoever gives rows reads; absent
/// where no order of frames is known, or only a part of them is seen.
type Numbers = Arc<Mutex<Streams>>;

/// A row group, or what went wrong with an input.
pub type Item = Result<(Table, RecordBatch), Error>;

/// Record batches as they become ready. The rows of everything that could be read come first.
/// Then come one error for every input that could not be read to its end, and the counters.
pub struct Stream {
    run: Run,
    ordered: ordered::Ordered,
    shared: Arc<Shared>,
}

enum Run {
    Inline(Box<inline::Inline>),
    Parallel(parallel::Parallel),
    Live(live::Live),
}

/// Watches and stops a run from another thread.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

/// Starts to analyse captures. Fails at once only for what cannot start at all: no input, or a
/// filter that does not compile.
pub fn analyze(source: Source, options: Options) -> Result<Stream, Error> {
    if source.inputs.is_empty() {
        return Err(Error::Usage(
            "no input: name at least one capture, or - for a pipe".to_owned(),
        ));
    }
    let shared = Arc::new(Shared::new(total_bytes(&source.inputs)));
    let inputs = Inputs::open_ahead(&source.inputs, &source.ahead, shared.clone());
    let ends = inputs.are_files() && source.pace.is_none();
    let rows_held = if ends { ordered::MOST_ROWS } else { 0 };
    let live = source.pace.is_some();
    let options = Options { hash_seed: secret(), rows_held, hindsight: !live, ..options };
    let sources = inputs.sources.clone();
    let numbers = (!live && source.part.is_none()).then(Numbers::default);
    let all_give_rows = options.flow.is_none() && options.tables.contains(&Table::Flows);
    let ordered = match ends {
        true => ordered::Ordered::holding(sources, numbers.clone(), all_give_rows),
        false => ordered::Ordered::passing(sources, numbers.clone()),
    };
    let filter = source.filter.map(|expression| Filter::new(expression, inputs.linktypes()));
    let intake = Intake::new(filter.transpose()?);
    let mut reader = Reader::new(inputs, intake, shared.clone());
    reader.pace = source.pace.map(paced::Pace::new);
    reader.part = source.part;
    let run = match worker_count(source.workers) {
        _ if reader.pace.is_some() => Run::Live(paced::spawn(reader, &options, &shared)),
        1 => Run::Inline(Box::new(inline::Inline::new(reader, options, numbers))),
        workers => Run::Parallel(parallel::Parallel::spawn(reader, options, workers, numbers)),
    };
    Ok(Stream { run, ordered, shared })
}

/// Starts to analyse live links. The stream ends when it is stopped, or when no interface is left;
/// capturing never waits for who takes the batches, and rows for which there is no room are
/// counted. Fails at once for what cannot start: an interface, a privilege, a filter.
pub fn monitor(capture: &Capture, options: &Options) -> Result<Stream, Error> {
    if capture.interfaces.is_empty() {
        return Err(Error::Usage("no interface given: `ip link` lists them".to_owned()));
    }
    // All between two hosts has to be with one worker for that.
    let beside = capture.fanout == Fanout::Hosts;
    let options = &Options { hash_seed: secret(), hindsight: false, beside, ..options.clone() };
    let shared = Arc::new(Shared::new(None));
    let workers = worker_count(capture.workers);
    let (members, filter) = capture::open(capture, workers)?;
    let intakes = members.iter().map(|_| Intake::new(filter.clone())).collect();
    let run = Run::Live(live::Live::spawn(members, intakes, options, &shared));
    let sources = match capture.interfaces.as_slice() {
        [only] => Sources::only(only),
        // Workers have rings on all of them.
        _ => Sources::default(),
    };
    Ok(Stream { run, ordered: ordered::Ordered::passing(Arc::new(sources), None), shared })
}

impl Stream {
    /// How far the run is.
    pub fn progress(&self) -> Progress {
        self.shared.progress()
    }

    /// Stops reading; the rows of everything read so far still come.
    pub fn stop(&self) {
        self.shared.stop();
    }

    /// For another thread.
    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }
}

impl Handle {
    /// How far the run is.
    pub fn progress(&self) -> Progress {
        self.0.progress()
    }

    /// What the workers of a live run last said about themselves, every few seconds.
    pub fn standing(&self) -> Standing {
        self.0.standing()
    }

    /// Stops reading; the rows of everything read so far still come.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl Iterator for Stream {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        let run = &mut self.run;
        self.ordered.next(|| match run {
            Run::Inline(inline) => inline.next(),
            Run::Parallel(parallel) => parallel.next(),
            Run::Live(live) => live.next(),
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.shared.stop();
    }
}

/// The reading side, whoever drives it.
struct Reader {
    inputs: Inputs,
    intake: Intake,
    shared: Arc<Shared>,
    failed: Option<Error>,
    batch: Vec<Segment>,
    pace: Option<paced::Pace>,
    part: Option<Part>,
}

impl Reader {
    fn new(inputs: Inputs, intake: Intake, shared: Arc<Shared>) -> Reader {
        let batch = vec![Segment::default(); BATCH_LEN];
        Reader { inputs, intake, shared, failed: None, batch, pace: None, part: None }
    }

    /// Reads some frames and gives their segments to `each`, many at a time, and the time that it
    /// is now for a paced run; it says whether it wants more. False at the end.
    fn step(&mut self, mut each: impl FnMut(&[Segment], &Intake, Option<Nanos>) -> bool) -> bool {
        if self.shared.stopped() || self.failed.is_some() {
            return false;
        }
        let Reader { inputs, intake, shared, failed, batch, pace, part } = self;
        let mut filled = 0;
        inputs.next_frame = intake.frames().0 + 1;
        let more = inputs.read(|record| {
            if let Some(pace) = pace {
                while !shared.stopped() && pace.ahead(record.ts) > SLACK {
                    each(&batch[..filled], intake, pace.now());
                    filled = 0;
                    std::thread::sleep(pace.ahead(record.ts).min(NAP));
                }
                if shared.stopped() {
                    return;
                }
            }
            match intake.take(record, &mut batch[filled]) {
                Ok(true) if part.is_some_and(|part| !part.has(&batch[filled])) => {}
                Ok(true) => {
                    filled += 1;
                    if filled == BATCH_LEN {
                        each(batch, intake, None);
                        filled = 0;
                    }
                }
                Ok(false) => {}
                Err(error) => *failed = Some(error),
            }
        });
        let wanted = each(&self.batch[..filled], &self.intake, None);
        let (frames, last_ts) = self.intake.frames();
        self.shared.set_frames(frames, last_ts);
        more && wanted
    }

    /// What comes after the rows: the errors, then the counters with those of the pipelines.
    fn closing(mut self, pipelines: &Counters) -> Vec<Item> {
        let mut counters = pipelines.clone();
        if self.part.is_none_or(|part| part.index == 0) {
            counters.merge(&self.intake.counters());
            counters.merge(&self.inputs.counters);
        }
        let errors = std::mem::take(&mut self.inputs.errors).into_iter().chain(self.failed);
        let mut items: Vec<Item> = errors.map(Err).collect();
        items.extend(counter_batch(&counters).map(|batch| Ok((Table::Counters, batch))));
        items
    }
}

/// What the lock holds, whatever became of a thread that held it: it holds no half-made state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counters as rows of their table.
fn counter_batch(counters: &Counters) -> Option<RecordBatch> {
    let mut rows = Batches::<CounterRow>::default();
    for (counter, value) in counters.iter() {
        rows.push(CounterRow { name: counter.name(), value });
    }
    rows.take()
}

/// A number that nobody outside can know: the standard library asks the operating system for it.
fn secret() -> u64 {
    RandomState::new().build_hasher().finish()
}

fn worker_count(wanted: usize) -> usize {
    match wanted {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        wanted => wanted.min(MAX_WORKERS),
    }
}

/// Bytes of all inputs as they are stored; `None` with a pipe among them.
fn total_bytes(inputs: &[PathBuf]) -> Option<u64> {
    let lengths = inputs.iter().map(|path| {
        let metadata = std::fs::metadata(path).ok();
        match metadata {
            _ if path.as_os_str() == STDIN => None,
            Some(metadata) if metadata.is_file() => Some(metadata.len()),
            Some(metadata) if metadata.is_dir() => Some(0),
            Some(_) => None,
            // It cannot be opened either, and is said to be missing later.
            None => Some(0),
        }
    });
    lengths.sum()
}

/// Few enough segments that they stay in a near cache, enough for the flow table to prefetch.
const BATCH_LEN: usize = 256;
/// How early a packet of a paced run may come: waking up for each would cost more than it is worth.
const SLACK: Duration = Duration::from_millis(5);
/// How long a paced run sleeps before it looks whether it is to stop, or rows are due.
const NAP: Duration = Duration::from_millis(50);
/// Of the hash that parts flows; that of the workers is secret, and differs between processes.
const PART_SEED: u64 = 0x7c9_077;
/// More threads than this are a typing error.
const MAX_WORKERS: usize = 256;
