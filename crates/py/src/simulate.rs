//! Simulations and sweeps of the study as Python iterators.

use crate::arrow::Batch;
use crate::option::settings;
use crate::{exception, items, table};
use arrow_array::RecordBatch;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};
use tcpwhy_core::pipeline::Options;
use tcpwhy_core::units::Nanos;
use tcpwhy_io::Error;
use tcpwhy_io::option::Command;
use tcpwhy_io::simulate::{self as simulator, Request};
use tcpwhy_io::study::{self, Job};
use tcpwhy_sim::adaptivity::{Case, Label};
use tcpwhy_sim::tcp::config::{RenoRules, Variant};

/// A running simulation or sweep: an iterator of (table name, batch).
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Simulation {
    items: Mutex<Receiver<Item>>,
    runner: Mutex<Option<JoinHandle<()>>>,
    watch: Watch,
    captures: Vec<(String, PathBuf)>,
}

type Item = Result<(&'static str, RecordBatch), Error>;

enum Watch {
    Run(simulator::Handle, u64),
    Sweep(study::Handle, u64),
}

#[pymethods]
impl Simulation {
    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<(&'static str, Batch)>> {
        match items::next(py, &self.items)? {
            Some(Ok((table, batch))) => Ok(Some((table, Batch(batch)))),
            Some(Err(error)) => Err(exception(&error)),
            None => self.end(),
        }
    }

    /// How far it is: simulated ns of a simulation or cases of a sweep, done and in all.
    fn progress(&self) -> (u64, u64) {
        match &self.watch {
            Watch::Run(handle, all) => (handle.now_ns(), *all),
            Watch::Sweep(handle, all) => (handle.done() as u64, *all),
        }
    }

    /// Ends it early; the rows found so far still come.
    fn stop(&self) {
        match &self.watch {
            Watch::Run(handle, _) => handle.stop(),
            Watch::Sweep(handle, _) => handle.stop(),
        }
    }

    /// The captures that it writes: name of the tap, path.
    fn captures(&self) -> Vec<(String, PathBuf)> {
        self.captures.clone()
    }
}

impl Simulation {
    fn start(
        items: impl Iterator<Item = Item> + Send + 'static,
        watch: Watch,
        captures: Vec<(String, PathBuf)>,
    ) -> Simulation {
        let (sender, receiver) = sync_channel(items::WAITING);
        let runner = thread::spawn(move || {
            // A send fails when Python has dropped its end: nobody wants the rest.
            let _ = { items }.try_for_each(|item| sender.send(item));
        });
        let (items, runner) = (Mutex::new(receiver), Mutex::new(Some(runner)));
        Simulation { items, runner, watch, captures }
    }

    /// The end: an orderly one, or a fault of ours that must not pass for one.
    fn end<T>(&self) -> PyResult<Option<T>> {
        let runner = self.runner.lock().expect("no thread panics with this lock").take();
        match runner.map(JoinHandle::join) {
            Some(Err(_)) => {
                Err(PyRuntimeError::new_err("the simulation failed: see standard error"))
            }
            _ => Ok(None),
        }
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Starts the simulation of a scenario; `options` are those of the registry, in base units. With a
/// tap, its packets go straight into the analysis, for these tables.
#[pyfunction]
#[pyo3(signature = (scenario, *, tables, options))]
pub fn simulate(
    py: Python<'_>,
    scenario: PathBuf,
    tables: Vec<String>,
    options: &Bound<'_, PyDict>,
) -> PyResult<Simulation> {
    let tables = tables.iter().map(|name| table(name)).collect::<PyResult<Vec<_>>>()?;
    let settings = settings(Command::Simulate, options)?;
    let analysis = settings.tap.map(|tap| (tap, Options { tables, ..settings.analysis }));
    let request = Request { scenario, analysis, ..settings.simulation };
    let run = py.detach(|| simulator::simulate(request)).map_err(|error| exception(&error))?;
    let watch = Watch::Run(run.handle(), run.duration().0.max(0) as u64);
    let captures = run.captures();
    Ok(Simulation::start(run, watch, captures))
}

/// A case of the study as Python gives it: what is not there is as in the reference case.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct CaseSettings {
    figure: u32,
    series: String,
    frequencies_hz: Vec<f64>,
    recovery: String,
    reno_rules: String,
    rate_bps: u64,
    delay_ns: i64,
    buffer_packets: u64,
    tcp_packet_bytes: u32,
    udp_packet_bytes: u32,
    rto_min_ns: i64,
    rto_max_ns: i64,
    phase: f64,
    jitter_packets: f64,
    seed: u64,
    warm_ns: i64,
    duration_ns: i64,
    step_ns: Option<i64>,
}

impl CaseSettings {
    fn job(self) -> PyResult<Job> {
        let known = Variant::ALL.into_iter().find(|variant| variant.name() == self.recovery);
        let recovery = known.ok_or_else(|| {
            let names = Variant::ALL.map(Variant::name).join(", ");
            let name = &self.recovery;
            exception(&Error::Usage(format!("no recovery '{name}': there are {names}")))
        })?;
        let known = RenoRules::ALL.into_iter().find(|rules| rules.name() == self.reno_rules);
        let reno_rules = known.ok_or_else(|| {
            let names = RenoRules::ALL.map(RenoRules::name).join(", ");
            exception(&Error::Usage(format!("no rules '{}': there are {names}", self.reno_rules)))
        })?;
        let mut tcp = Case::reference_tcp(recovery);
        tcp.reno_rules = reno_rules;
        tcp.rto.min = Nanos(self.rto_min_ns);
        tcp.rto.max = Nanos(self.rto_max_ns);
        let case = Case {
            tcp,
            rate_bps: self.rate_bps,
            delay: Nanos(self.delay_ns),
            buffer_packets: self.buffer_packets,
            tcp_packet_bytes: self.tcp_packet_bytes,
            udp_packet_bytes: self.udp_packet_bytes,
            frequencies_hz: self.frequencies_hz,
            phase: self.phase,
            jitter_packets: self.jitter_packets,
            seed: self.seed,
            warm: Nanos(self.warm_ns),
            duration: Nanos(self.duration_ns),
            ..Case::default()
        };
        let case = case.checked().map_err(|message| exception(&Error::Usage(message)))?;
        let label = Label { figure: self.figure, series: self.series };
        Ok(Job { label, case, step: self.step_ns.map(Nanos) })
    }
}

/// Runs cases of the study on so many threads, or on all cores.
#[pyfunction]
#[pyo3(signature = (cases, *, workers=None))]
pub fn sweep(cases: Vec<Bound<'_, PyAny>>, workers: Option<usize>) -> PyResult<Simulation> {
    let job = |case: Bound<'_, PyAny>| case.extract::<CaseSettings>()?.job();
    let jobs = cases.into_iter().map(job).collect::<PyResult<Vec<_>>>()?;
    let sweep = study::sweep(jobs, workers);
    let watch = Watch::Sweep(sweep.handle(), sweep.jobs() as u64);
    Ok(Simulation::start(sweep.map(Ok), watch, Vec::new()))
}
