//! Scenarios in virtual time: captures into files, the truth and the analysis as record batches.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::{Options, Pipeline};
use tcpwhy_core::record::{self, Batches, CounterRow};
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::Segment;
use tcpwhy_sim::counter::Counter as SimCounter;
use tcpwhy_sim::run::Simulation;
use tcpwhy_sim::scenario::Scenario;
use tcpwhy_sim::tap::Record;
use tcpwhy_sim::tap::frame::pcap_header;
use tcpwhy_sim::tcp::Connection;
use tcpwhy_sim::truth::{EventRow, QueueRow, TruthRow};

use crate::error::Error;

/// What to simulate, and what to make of it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The scenario file.
    pub scenario: PathBuf,
    /// Another seed than the scenario's.
    pub seed: Option<u64>,
    /// Another duration than the scenario's.
    pub duration: Option<Nanos>,
    /// The folder for the captures, one file `SCENARIO.TAP.pcap` for each tap; `None` writes none.
    pub captures: Option<PathBuf>,
    /// Whether captures hold the payload too (zeros) instead of headers only.
    pub payload: bool,
    /// The longest span of a row of the truth, and how often queues are looked at.
    pub sample: Nanos,
    /// The tap whose packets go straight into the analysis, and what to analyse.
    pub analysis: Option<(String, Options)>,
}

impl Request {
    /// This scenario as it is: truth every 100 ms, no captures, no analysis.
    pub fn new(scenario: PathBuf) -> Request {
        Request {
            scenario,
            seed: None,
            duration: None,
            captures: None,
            payload: false,
            sample: Nanos::from_millis(100),
            analysis: None,
        }
    }
}

/// The tables that only simulations have, with the Arrow schemas of their rows.
pub fn tables() -> [(&'static str, Arc<Schema>); 3] {
    [
        ("truth", record::schema::<TruthRow>()),
        ("events", record::schema::<EventRow>()),
        ("queues", record::schema::<QueueRow>()),
    ]
}

/// The name of a table and some of its rows: `truth`, `events`, `queues`, the tables of the
/// analysis, and `counters` at the end.
pub type Item = Result<(&'static str, RecordBatch), Error>;

/// A simulation under way: record batches as they become ready.
pub struct Run {
    world: Simulation<Connection>,
    duration: Nanos,
    taps: Vec<TapOutput>,
    pipeline: Option<Pipeline>,
    ready: VecDeque<Item>,
    shared: Arc<Shared>,
    is_over: bool,
}

/// What becomes of the records of a tap.
struct TapOutput {
    name: String,
    file: Option<(PathBuf, BufWriter<File>)>,
    is_analysed: bool,
    frames: u64,
}

/// What other threads see of a run.
#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    now_ns: AtomicU64,
}

/// Watches and stops a run from another thread.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    /// The simulated time that the run has come to, in ns.
    pub fn now_ns(&self) -> u64 {
        self.0.now_ns.load(Ordering::Relaxed)
    }

    /// Ends the run early; the rows found so far still come.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }
}

/// Reads the scenario and makes everything ready to run.
pub fn simulate(request: Request) -> Result<Run, Error> {
    let path = &request.scenario;
    let text = std::fs::read_to_string(path).map_err(|error| Error::unreadable(path, 0, &error))?;
    let mut scenario = Scenario::parse(&path.to_string_lossy(), &text)
        .map_err(|error| Error::Usage(error.to_string()))?;
    scenario.seed = request.seed.unwrap_or(scenario.seed);
    let mut built = scenario.build();
    built.simulation.record_truth(request.sample.max(Nanos(1)));
    if request.payload {
        built.simulation.keep_payload();
    }
    let analysed = request.analysis.as_ref().map(|(tap, _)| tap.as_str());
    if let Some(name) = analysed.filter(|name| !built.taps.iter().any(|tap| tap == name)) {
        let known = built.taps.join(", ");
        return Err(Error::Usage(format!("no tap '{name}' in the scenario: it has {known}")));
    }
    let mut taps = Vec::new();
    for (number, name) in built.taps.iter().enumerate() {
        let header = pcap_header(built.simulation.tap(number).manner());
        let file = request.captures.as_ref().map(|folder| create(folder, path, name, &header));
        let is_analysed = analysed == Some(name);
        taps.push(TapOutput {
            name: name.clone(),
            file: file.transpose()?,
            is_analysed,
            frames: 0,
        });
    }
    Ok(Run {
        world: built.simulation,
        duration: request.duration.unwrap_or(built.duration),
        taps,
        pipeline: request.analysis.map(|(_, options)| Pipeline::new(options)),
        ready: VecDeque::new(),
        shared: Arc::default(),
        is_over: false,
    })
}

impl Run {
    /// How long it lasts in simulated time.
    pub fn duration(&self) -> Nanos {
        self.duration
    }

    /// For another thread.
    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    /// The captures that are being written, with the names of their taps.
    pub fn captures(&self) -> Vec<(String, PathBuf)> {
        let capture = |tap: &TapOutput| Some((tap.name.clone(), tap.file.as_ref()?.0.clone()));
        self.taps.iter().filter_map(capture).collect()
    }

    /// Simulates a little more and gathers what came of it.
    fn step(&mut self) -> Result<(), Error> {
        let next = (self.world.now() + STEP).min(self.duration);
        let mut stopped = false;
        while !stopped && !self.world.run_some(next, EVENTS_AT_ONCE) {
            stopped = self.shared.stopped.load(Ordering::Relaxed);
        }
        stopped |= self.shared.stopped.load(Ordering::Relaxed);
        self.shared.now_ns.store(self.world.now().0 as u64, Ordering::Relaxed);
        self.gather_records()?;
        if next >= self.duration || stopped {
            self.is_over = true;
            self.gather_truth(true);
            return self.close();
        }
        self.gather_truth(false);
        Ok(())
    }

    fn gather_records(&mut self) -> Result<(), Error> {
        for number in 0..self.taps.len() {
            let records = self.world.take_records(number);
            let tap = &mut self.taps[number];
            if let Some((path, file)) = &mut tap.file {
                let bytes = pcap_bytes(&self.world, number, &records);
                file.write_all(&bytes).map_err(|error| unwritable(path, &error))?;
            }
            if let (true, Some(pipeline)) = (tap.is_analysed, &mut self.pipeline) {
                let segments = segments(&self.world, &records, &mut tap.frames);
                for batch in segments.chunks(SEGMENTS_AT_ONCE) {
                    pipeline.push(batch);
                }
                let tables = pipeline.take(false).into_iter();
                self.ready.extend(tables.map(|(table, batch)| Ok((table.name(), batch))));
            }
        }
        Ok(())
    }

    /// Takes the rows of the truth: all of them at the end, else when there are many.
    fn gather_truth(&mut self, all: bool) {
        let Some(truth) = self.world.truth_so_far() else { return };
        let mut add = |name, rows: usize, take: &mut dyn FnMut() -> Option<RecordBatch>| {
            if all || rows >= ROWS_AT_ONCE {
                self.ready.extend(take().map(|batch| Ok((name, batch))));
            }
        };
        add("truth", truth.spans.len(), &mut || truth.spans.take());
        add("events", truth.events.len(), &mut || truth.events.take());
        add("queues", truth.queues.len(), &mut || truth.queues.take());
    }

    /// Ends the analysis and the files, and adds the counters.
    fn close(&mut self) -> Result<(), Error> {
        // Ending the open spans may add rows.
        let spans = self.world.truth().and_then(|truth| truth.spans.take());
        self.ready.extend(spans.map(|batch| Ok(("truth", batch))));
        let mut counters: Batches<CounterRow> = Batches::default();
        if let Some(pipeline) = &mut self.pipeline {
            while pipeline.finish() {}
            let tables = pipeline.take(true).into_iter();
            self.ready.extend(tables.map(|(table, batch)| Ok((table.name(), batch))));
            let mut counted = pipeline.counters().clone();
            for tap in self.taps.iter().filter(|tap| tap.is_analysed) {
                let not_tcp = tap.frames - counted.value(Counter::PacketsTcp);
                counted.add(Counter::PacketsRead, tap.frames);
                counted.add(Counter::PacketsNotTcp, not_tcp);
            }
            for (counter, value) in counted.iter() {
                counters.push(CounterRow { name: counter.name(), value });
            }
        }
        for counter in SimCounter::ALL {
            let value = self.world.counter(*counter);
            counters.push(CounterRow { name: counter.name(), value });
        }
        self.ready.extend(counters.take().map(|batch| Ok(("counters", batch))));
        for (path, file) in self.taps.iter_mut().filter_map(|tap| tap.file.as_mut()) {
            file.flush().map_err(|error| unwritable(path, &error))?;
        }
        Ok(())
    }
}

impl Iterator for Run {
    type Item = Item;

    fn next(&mut self) -> Option<Item> {
        while self.ready.is_empty() && !self.is_over {
            if let Err(error) = self.step() {
                self.is_over = true;
                self.ready.push_back(Err(error));
            }
        }
        self.ready.pop_front()
    }
}

fn create(
    folder: &Path,
    scenario: &Path,
    tap: &str,
    header: &[u8],
) -> Result<(PathBuf, BufWriter<File>), Error> {
    let stem = scenario.file_stem().unwrap_or_default().to_string_lossy();
    let path = folder.join(format!("{stem}.{tap}.pcap"));
    let file = std::fs::create_dir_all(folder).and_then(|()| File::create(&path));
    let mut file = BufWriter::new(file.map_err(|error| unwritable(&path, &error))?);
    file.write_all(header).map_err(|error| unwritable(&path, &error))?;
    Ok((path, file))
}

fn pcap_bytes(world: &Simulation<Connection>, tap: usize, records: &[Record]) -> Vec<u8> {
    let manner = world.tap(tap).manner();
    let mut bytes = Vec::new();
    for record in records {
        record.write_pcap(&world.addresses(record.half), manner, &mut bytes);
    }
    bytes
}

/// The TCP segments among the records, numbered like the frames of the capture.
pub(crate) fn segments(
    world: &Simulation<Connection>,
    records: &[Record],
    frames: &mut u64,
) -> Vec<Segment> {
    let mut segment = |record: &Record| {
        *frames += 1;
        record.segment(&world.addresses(record.half), *frames)
    };
    records.iter().filter_map(&mut segment).collect()
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::Usage(format!("{}: cannot be written: {error}", path.display()))
}

/// Events between two looks at whether to stop: some milliseconds.
pub(crate) const EVENTS_AT_ONCE: u64 = 10_000;
/// Simulated time between two looks at the outputs.
const STEP: Nanos = Nanos::from_millis(250);
/// Rows of a batch.
const ROWS_AT_ONCE: usize = 65_536;
/// Segments that go into the analysis at once.
const SEGMENTS_AT_ONCE: usize = 256;
