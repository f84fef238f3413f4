//! A run as a Python iterator that neither holds the interpreter lock nor ignores Ctrl-C.

use crate::arrow::Batch;
use crate::{UsageError, exception, items, table};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use tcpwhy_core::flow::table::class::Timeouts;
use tcpwhy_core::pipeline::{FlowChoice, Options};
use tcpwhy_core::units::Nanos;
use tcpwhy_io::{Capture, Fanout, Handle, Source, stream};

/// A running analysis: an iterator of (table name, batch).
///
/// Damage to an input raises `InputError` at its place in the stream; iteration goes on after it.
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Stream {
    items: Mutex<Receiver<stream::Item>>,
    reader: Mutex<Option<JoinHandle<()>>>,
    handle: Handle,
}

#[pymethods]
impl Stream {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(&'static str, Batch)>> {
        match items::next(py, &self.items)? {
            Some(Ok((table, batch))) => Ok(Some((table.name(), Batch(batch)))),
            Some(Err(error)) => Err(exception(&error)),
            None => self.end(),
        }
    }

    /// How far the run is: bytes read, bytes in all (None for a pipe), packets read.
    fn progress(&self) -> (u64, Option<u64>, u64) {
        let progress = self.handle.progress();
        (progress.bytes_read, progress.bytes_total, progress.packets)
    }

    /// What a live run lost: packets that the kernel dropped, rows that nobody took in time.
    fn dropped(&self) -> (u64, u64) {
        let progress = self.handle.progress();
        (progress.kernel_drops, progress.rows_dropped)
    }

    /// How the workers of a live run stand: flows that are followed, counters.
    fn standing(&self) -> (u64, Vec<(&'static str, u64)>) {
        let standing = self.handle.standing();
        let counters = standing.counters.iter().map(|(counter, value)| (counter.name(), value));
        (standing.flows, counters.collect())
    }

    /// Ends the run early; the rows found so far still come.
    fn stop(&self) {
        self.handle.stop();
    }
}

impl Stream {
    /// A stream that a thread of its own reads.
    fn of(stream: stream::Stream) -> Stream {
        let handle = stream.handle();
        let (sender, items) = sync_channel(items::WAITING);
        let reader = thread::spawn(move || {
            // A send fails when Python has dropped its end: nobody wants the rest.
            let _ = { stream }.try_for_each(|item| sender.send(item));
        });
        Stream { items: Mutex::new(items), reader: Mutex::new(Some(reader)), handle }
    }

    /// The end of the stream: an orderly one, or a fault of ours that must not pass for one.
    fn end<T>(&self) -> PyResult<Option<T>> {
        let reader = self.reader.lock().expect("no thread panics with this lock").take();
        match reader.map(JoinHandle::join) {
            Some(Err(_)) => Err(PyRuntimeError::new_err("the analysis failed: see standard error")),
            _ => Ok(None),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.handle.stop();
    }
}

/// Starts the analysis of captures. Times are in nanoseconds.
#[pyfunction]
#[pyo3(signature = (
    inputs, *, tables, interval_ns=None, timeouts_ns=(None, None, None), min_packets=None,
    filter=None, flow=None, frame=None, workers=None, compat_seed=false, pace=None, max_flows=None,
))]
#[expect(clippy::too_many_arguments, reason = "they are the keyword arguments of Python")]
pub fn analyze(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    tables: Vec<String>,
    interval_ns: Option<i64>,
    timeouts_ns: Silences,
    min_packets: Option<u64>,
    filter: Option<String>,
    flow: Option<String>,
    frame: Option<u64>,
    workers: Option<usize>,
    compat_seed: bool,
    pace: Option<f64>,
    max_flows: Option<usize>,
) -> PyResult<Stream> {
    let options = options(&tables, interval_ns, timeouts_ns, min_packets)?;
    let max_flows = max_flows.unwrap_or(options.max_flows);
    let options =
        Options { flow: flow.map(FlowChoice::from), frame, compat_seed, max_flows, ..options };
    let source = Source { inputs, filter, workers: workers.unwrap_or(0), pace };
    let stream = py.detach(|| stream::analyze(source, options)).map_err(|e| exception(&e))?;
    Ok(Stream::of(stream))
}

/// Starts the analysis of live links. Times are in nanoseconds.
#[pyfunction]
#[pyo3(signature = (
    interfaces, *, tables, interval_ns=None, timeouts_ns=(None, None, None), min_packets=None,
    filter=None, flow=None, workers=None, compat_seed=false, fanout="hash", snaplen=None,
    promiscuous=true, ring_bytes=None, max_flows=None, hardware_times=false, drop_privileges=false,
))]
#[expect(clippy::too_many_arguments, reason = "they are the keyword arguments of Python")]
pub fn monitor(
    py: Python<'_>,
    interfaces: Vec<String>,
    tables: Vec<String>,
    interval_ns: Option<i64>,
    timeouts_ns: Silences,
    min_packets: Option<u64>,
    filter: Option<String>,
    flow: Option<String>,
    workers: Option<usize>,
    compat_seed: bool,
    fanout: &str,
    snaplen: Option<u32>,
    promiscuous: bool,
    ring_bytes: Option<usize>,
    max_flows: Option<usize>,
    hardware_times: bool,
    drop_privileges: bool,
) -> PyResult<Stream> {
    let options = options(&tables, interval_ns, timeouts_ns, min_packets)?;
    let max_flows = max_flows.unwrap_or(options.max_flows);
    let options = Options { flow: flow.map(FlowChoice::from), compat_seed, max_flows, ..options };
    let default = Capture::default();
    let fanout = Fanout::from_name(fanout);
    let capture = Capture {
        interfaces,
        filter,
        workers: workers.unwrap_or(0),
        fanout: fanout.ok_or_else(|| UsageError::new_err("fanout is hash, cbpf or qm"))?,
        snaplen: snaplen.unwrap_or(default.snaplen),
        promiscuous,
        ring_bytes: ring_bytes.unwrap_or(default.ring_bytes),
        hardware_times,
        drop_privileges,
    };
    let stream = py.detach(|| stream::monitor(&capture, &options)).map_err(|e| exception(&e))?;
    Ok(Stream::of(stream))
}

/// After how much silence flows end: any, one that is half open, one that is closed.
type Silences = (Option<i64>, Option<i64>, Option<i64>);

/// The options that both have.
fn options(
    tables: &[String],
    interval_ns: Option<i64>,
    timeouts_ns: Silences,
    min_packets: Option<u64>,
) -> PyResult<Options> {
    let default = Options::default();
    let (idle, half_open, closed) = timeouts_ns;
    let timeouts = Timeouts {
        idle: idle.map_or(default.timeouts.idle, Nanos),
        half_open: half_open.map_or(default.timeouts.half_open, Nanos),
        closed: closed.map_or(default.timeouts.closed, Nanos),
    };
    Ok(Options {
        tables: tables.iter().map(|name| table(name)).collect::<PyResult<_>>()?,
        interval: interval_ns.map_or(default.interval, Nanos),
        timeouts,
        min_packets: min_packets.unwrap_or(default.min_packets),
        ..default
    })
}
