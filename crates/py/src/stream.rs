//! A run as a Python iterator that neither holds the interpreter lock nor ignores Ctrl-C.

use crate::arrow::Batch;
use crate::option::settings;
use crate::{exception, items, table};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use tcpwhy_core::pipeline::Table;
use tcpwhy_io::option::Command;
use tcpwhy_io::{Capture, Handle, Source, stream};

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

/// Starts the analysis of captures; `options` are those of the registry, in base units.
#[pyfunction]
#[pyo3(signature = (inputs, *, tables, options))]
pub fn analyze(
    py: Python<'_>,
    inputs: Vec<PathBuf>,
    tables: Vec<String>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Stream> {
    let mut settings = settings(Command::Analyze, options)?;
    settings.analysis.tables = tables_of(&tables)?;
    let source = Source { inputs, ..settings.source };
    let stream =
        py.detach(|| stream::analyze(source, settings.analysis)).map_err(|e| exception(&e))?;
    Ok(Stream::of(stream))
}

/// Starts the analysis of live links; `options` are those of the registry, in base units.
#[pyfunction]
#[pyo3(signature = (interfaces, *, tables, options))]
pub fn monitor(
    py: Python<'_>,
    interfaces: Vec<String>,
    tables: Vec<String>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Stream> {
    let mut settings = settings(Command::Monitor, options)?;
    settings.analysis.tables = tables_of(&tables)?;
    let capture = Capture { interfaces, ..settings.capture };
    let stream =
        py.detach(|| stream::monitor(&capture, &settings.analysis)).map_err(|e| exception(&e))?;
    Ok(Stream::of(stream))
}

fn tables_of(names: &[String]) -> PyResult<Vec<Table>> {
    names.iter().map(|name| table(name)).collect()
}
