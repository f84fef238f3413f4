//! A scenario's network in real time: the simulator's own elements between TAP interfaces.
//!
//! One thread at a time carries the frames of all links ([`thread`]). It reads a frame, and gives
//! it to the network ([`network`]) at that time. It writes the frame to the interface of the other
//! host when it is due there. In between the frame moves at virtual times: what leaves one link
//! enters the next at that very time. A late wake-up delays only what is written late, and the rate
//! of a link is exact however late the thread is. How late it was is measured
//! ([`lateness`]); whoever runs it decides which runs count.

pub mod frame;
pub mod lateness;
pub mod log;
pub mod middle;
pub mod network;
pub mod offload;
mod rewrite;
mod thread;

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use std::fs::File;
use std::io::Write;
use std::os::fd::{OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use tcpwhy_core::record::schema;
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::scenario::Scenario;
use tcpwhy_sim::truth::QueueRow;

use crate::error::Error;
use crate::sys::realtime;
use lateness::Lateness;
use log::{ActionRow, Log};
use middle::Middle;
use network::{Counts, Network};
use thread::{Carrier, Threads};

/// What to emulate.
pub struct Request {
    /// The scenario file.
    pub scenario: PathBuf,
    /// Another seed than the scenario's.
    pub seed: Option<u64>,
    /// One TAP interface for each host, in the order of the hosts' names: not blocking, without a
    /// packet information header (`IFF_NO_PI`).
    pub taps: Vec<OwnedFd>,
    /// Whether they have `IFF_VNET_HDR`: super-packets come whole and are cut here.
    pub offload: bool,
    /// The file for the capture in the middle of the path; `None` makes none.
    pub middle: Option<PathBuf>,
}

/// A network that is being emulated. It ends when it is stopped or dropped.
pub struct Emulation {
    shared: Arc<Shared>,
    threads: Option<Threads>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
    middle: Option<PathBuf>,
}

/// What a run came to.
pub struct Outcome {
    /// The tables `events` and `queues`, each with its schema.
    pub tables: Vec<(&'static str, Arc<Schema>, Vec<RecordBatch>)>,
    /// What became of the frames.
    pub counts: Counts,
    /// What became of them in real time.
    pub totals: Totals,
    /// Rows of the tables that were not kept since too many waited.
    pub lost_rows: u64,
}

/// What the thread counted.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// From when a frame was due to when it was written.
    pub lateness: Lateness,
    /// Whether the thread had real-time scheduling.
    pub is_real_time: bool,
    /// Frames that an interface did not take.
    pub refused: u64,
    /// Super-packets that could not be cut.
    pub unsplit: u64,
    /// Reads that failed.
    pub read_errors: u64,
    /// Why it ended before it was told to.
    pub failure: Option<String>,
}

/// What other threads see of a run and say to it.
#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    /// When the network is to begin anew, on the monotonic clock; 0 when that is done.
    begin: AtomicI64,
    delivered: AtomicU64,
}

impl Shared {
    fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

/// Starts to carry frames.
pub fn emulate(request: Request) -> Result<Emulation, Error> {
    let scenario = read_scenario(&request.scenario)?;
    if request.taps.len() != scenario.hosts.len() {
        let (taps, hosts) = (request.taps.len(), scenario.hosts.len());
        let message = format!("{taps} interfaces for {hosts} hosts: one for each is needed");
        return Err(Error::Usage(message));
    }
    let start = realtime::monotonic();
    let epoch = realtime::wall();
    let middle = request.middle.as_ref().and_then(|_| Middle::of(&scenario, epoch));
    let file = match (&middle, &request.middle) {
        (Some(_), Some(path)) => Some(File::create(path).map_err(|e| unwritable(path, &e))?),
        _ => None,
    };
    let (sender, chunks) = channel();
    let writer = file.map(|file| std::thread::spawn(move || write_chunks(file, &chunks)));
    let seed = request.seed.unwrap_or(scenario.seed);
    let network = Network::new(&scenario, seed, Log::new(epoch), middle);
    let shared = Arc::new(Shared::default());
    let carrier = Carrier {
        taps: request.taps.into_iter().map(File::from).collect(),
        scenario,
        seed,
        network,
        start,
        offload: request.offload,
        shared: shared.clone(),
        middle: writer.is_some().then_some(sender),
        totals: Totals::default(),
    };
    let threads = Threads::start(carrier)
        .map_err(|error| Error::Usage(format!("no thread for the emulator: {error}")))?;
    Ok(Emulation { shared, threads: Some(threads), writer, middle: request.middle })
}

/// Reads a scenario file.
pub fn read_scenario(path: &Path) -> Result<Scenario, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::unreadable(path, 0, &error))?;
    Scenario::parse(&path.to_string_lossy(), &text).map_err(|error| Error::Usage(error.to_string()))
}

/// Another descriptor of the same open file.
pub fn duplicate(fd: RawFd) -> Result<OwnedFd, Error> {
    realtime::duplicate(fd).map_err(|error| Error::Usage(format!("descriptor {fd}: {error}")))
}

impl Emulation {
    /// Frames that hosts have been given.
    pub fn delivered(&self) -> u64 {
        self.shared.delivered.load(Ordering::Relaxed)
    }

    /// Makes `at`, on the monotonic clock, time 0 of the scenario. Elements are then as they are at
    /// first, whatever passed them before. What is under way at that moment is lost.
    pub fn begin(&self, at: Nanos) {
        self.shared.begin.store(at.0, Ordering::Relaxed);
    }

    /// Ends it; what it came to.
    pub fn stop(mut self) -> Result<Outcome, Error> {
        self.shared.stopped.store(true, Ordering::Relaxed);
        let threads = self.threads.take().expect("stopped once");
        let (mut network, totals) =
            threads.join().ok_or_else(|| Error::Usage("the emulator failed".to_owned()))?;
        if let (Some(writer), Some(path)) = (self.writer.take(), &self.middle) {
            let written = writer.join().expect("writing does not panic");
            written.map_err(|error| unwritable(path, &error))?;
        }
        let counts = network.counts();
        let log = network.log();
        let [events, queues] = log.take().map(|batch| batch.into_iter().collect());
        let tables = vec![
            ("events", schema::<ActionRow>(), events),
            ("queues", schema::<QueueRow>(), queues),
        ];
        Ok(Outcome { tables, counts, totals, lost_rows: log.lost_rows() })
    }
}

impl Drop for Emulation {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::Relaxed);
    }
}

fn write_chunks(mut file: File, chunks: &Receiver<Vec<u8>>) -> std::io::Result<()> {
    chunks.iter().try_for_each(|chunk| file.write_all(&chunk))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Error {
    Error::Usage(format!("{}: {error}; choose another folder", path.display()))
}
