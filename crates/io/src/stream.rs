//! The analysis of captures as a stream of record batches.

mod inline;
mod parallel;

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use tcpwhy_core::counter::Counters;
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_core::record::{Batches, CounterRow};
use tcpwhy_core::wire::Segment;

use crate::error::Error;
use crate::files::Inputs;
use crate::filter::Filter;
use crate::input::STDIN;
use crate::intake::Intake;
use crate::progress::{Progress, Shared};

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
}

/// A row group, or what went wrong with an input.
pub type Item = Result<(Table, RecordBatch), Error>;

/// Record batches as they become ready. The rows of everything that could be read come first, then
/// one error for every input that could not be read to its end, then the counters.
pub struct Stream {
    run: Run,
    shared: Arc<Shared>,
}

enum Run {
    Inline(Box<inline::Inline>),
    Parallel(parallel::Parallel),
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
    let inputs = Inputs::open(&source.inputs, shared.clone());
    let filter = source.filter.map(|expression| Filter::new(expression, inputs.linktypes()));
    let intake = Intake::new(filter.transpose()?);
    let reader = Reader::new(inputs, intake, shared.clone());
    let run = match worker_count(source.workers) {
        1 => Run::Inline(Box::new(inline::Inline::new(reader, options))),
        workers => Run::Parallel(parallel::Parallel::spawn(reader, options, workers)),
    };
    Ok(Stream { run, shared })
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

    /// Stops reading; the rows of everything read so far still come.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl Iterator for Stream {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        match &mut self.run {
            Run::Inline(inline) => inline.next(),
            Run::Parallel(parallel) => parallel.next(),
        }
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
}

impl Reader {
    fn new(inputs: Inputs, intake: Intake, shared: Arc<Shared>) -> Reader {
        let batch = vec![Segment::default(); BATCH_LEN];
        Reader { inputs, intake, shared, failed: None, batch }
    }

    /// Reads some frames and gives their segments to `each`, many at a time; it says whether it
    /// wants more. False at the end.
    fn step(&mut self, mut each: impl FnMut(&[Segment], &Intake) -> bool) -> bool {
        if self.shared.stopped() || self.failed.is_some() {
            return false;
        }
        let (intake, failed, batch) = (&mut self.intake, &mut self.failed, &mut self.batch);
        let mut filled = 0;
        let more = self.inputs.read(|record| match intake.take(record, &mut batch[filled]) {
            Ok(true) => {
                filled += 1;
                if filled == BATCH_LEN {
                    each(batch, intake);
                    filled = 0;
                }
            }
            Ok(false) => {}
            Err(error) => *failed = Some(error),
        });
        let wanted = each(&self.batch[..filled], &self.intake);
        let (frames, last_ts) = self.intake.frames();
        self.shared.set_frames(frames, last_ts);
        more && wanted
    }

    /// What comes after the rows: the errors, then the counters with those of the pipelines.
    fn closing(mut self, pipelines: &Counters) -> Vec<Item> {
        let mut counters = self.intake.counters();
        counters.merge(&self.inputs.counters);
        counters.merge(pipelines);
        let errors = std::mem::take(&mut self.inputs.errors).into_iter().chain(self.failed);
        let mut items: Vec<Item> = errors.map(Err).collect();
        let mut rows = Batches::<CounterRow>::default();
        for (counter, value) in counters.iter() {
            rows.push(CounterRow { name: counter.name(), value });
        }
        items.extend(rows.take().map(|batch| Ok((Table::Counters, batch))));
        items
    }
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
/// More threads than this are a typing error.
const MAX_WORKERS: usize = 256;
