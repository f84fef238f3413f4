//! Inputs to record batches (placeholder until the reader is merged: it only opens its inputs).

use arrow_array::RecordBatch;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tcpwhy_core::counter::Counters;
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_core::record::{Batches, CounterRow};

/// What to read.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// Files; `-` is standard input.
    pub inputs: Vec<PathBuf>,
    /// A capture filter in BPF syntax.
    pub filter: Option<String>,
    /// Number of workers; as many as there are cores when absent.
    pub workers: Option<usize>,
    /// Replay at this multiple of the capture's own speed.
    pub pace: Option<f64>,
}

/// Why an input gave no rows, or no further ones.
#[derive(Debug)]
pub struct Error(String, u8);

impl Error {
    /// The exit code of the command line.
    pub fn exit_code(&self) -> u8 {
        self.1
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far a run is.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Bytes of the inputs read so far.
    pub bytes_read: u64,
    /// Bytes of all inputs; `None` when one is a pipe.
    pub bytes_total: Option<u64>,
    /// Frames read so far.
    pub packets: u64,
}

/// What can be asked of a running stream from another thread.
#[derive(Clone, Debug, Default)]
pub struct Control(Arc<AtomicBool>);

impl Control {
    /// How far the run is.
    pub fn progress(&self) -> Progress {
        Progress::default()
    }

    /// Ends the run early; the rows found so far still come.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The rows of a run.
#[derive(Debug)]
pub struct Stream {
    control: Control,
    rest: std::vec::IntoIter<Result<(Table, RecordBatch), Error>>,
}

impl Stream {
    /// A handle to ask for progress and to stop.
    pub fn control(&self) -> Control {
        self.control.clone()
    }
}

impl Iterator for Stream {
    type Item = Result<(Table, RecordBatch), Error>;
    fn next(&mut self) -> Option<Self::Item> {
        self.rest.next()
    }
}

/// Starts a run.
pub fn analyze(source: Source, _options: Options) -> Result<Stream, Error> {
    for path in &source.inputs {
        std::fs::File::open(path).map_err(|e| Error(format!("{}: {e}", path.display()), 3))?;
    }
    let mut counters = Batches::<CounterRow>::default();
    for (counter, value) in Counters::default().iter() {
        counters.push(CounterRow {
            name: counter.name(),
            value,
        });
    }
    let batch = counters.take().expect("there is at least one counter");
    let rest = vec![Ok((Table::Counters, batch))].into_iter();
    Ok(Stream {
        control: Control::default(),
        rest,
    })
}
