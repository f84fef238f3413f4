//! The emulator and what scenarios say, for the lab.

use crate::arrow::Rows;
use crate::exception;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::net::IpAddr;
use std::os::fd::{OwnedFd, RawFd};
use std::path::PathBuf;
use std::sync::Mutex;
use tcpwhy_core::units::Nanos;
use tcpwhy_io::Error;
use tcpwhy_io::emulate::{self as network, Outcome, Request};

/// A network that is being emulated.
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Emulation {
    running: Mutex<Option<network::Emulation>>,
}

#[pymethods]
impl Emulation {
    /// Frames that hosts have been given.
    fn delivered(&self) -> u64 {
        let running = self.running.lock().expect("no thread panics with this lock");
        running.as_ref().map_or(0, network::Emulation::delivered)
    }

    /// Makes a time of the monotonic clock time 0 of the scenario, with all elements as at first.
    fn begin(&self, at_ns: i64) {
        let running = self.running.lock().expect("no thread panics with this lock");
        if let Some(running) = running.as_ref() {
            running.begin(Nanos(at_ns));
        }
    }

    /// Ends it. Gives its facts and the tables `events` and `queues`; None when it has ended.
    fn stop<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        let running = self.running.lock().expect("no thread panics with this lock").take();
        let Some(running) = running else { return Ok(None) };
        let outcome = py.detach(|| running.stop()).map_err(|error| exception(&error))?;
        facts(py, outcome).map(Some)
    }
}

fn facts(py: Python<'_>, outcome: Outcome) -> PyResult<Bound<'_, PyDict>> {
    let facts = PyDict::new(py);
    let Outcome { tables, counts, totals, lost_rows } = outcome;
    for (name, number) in [
        ("sent", counts.sent),
        ("delivered", counts.delivered),
        ("dropped", counts.dropped),
        ("marked", counts.marked),
        ("unroutable", counts.unroutable),
        ("overflow", counts.overflow),
        ("refused", totals.refused),
        ("unsplit", totals.unsplit),
        ("read_errors", totals.read_errors),
        ("lost_rows", lost_rows),
    ] {
        facts.set_item(name, number)?;
    }
    let late = PyDict::new(py);
    for (name, share) in [("p50_ns", 0.5), ("p99_ns", 0.99), ("p999_ns", 0.999)] {
        late.set_item(name, totals.lateness.quantile(share).map(|ns| ns.0))?;
    }
    late.set_item("mean_ns", totals.lateness.mean().map(|ns| ns.0))?;
    late.set_item("max_ns", totals.lateness.max().0)?;
    let buckets: Vec<_> = totals.lateness.buckets().map(|(end, n)| (end.0, n)).collect();
    late.set_item("histogram", buckets)?;
    facts.set_item("lateness", late)?;
    facts.set_item("is_real_time", totals.is_real_time)?;
    facts.set_item("failure", totals.failure)?;
    for (name, schema, batches) in tables {
        facts.set_item(name, Rows::of(schema, batches))?;
    }
    Ok(facts)
}

/// Starts to carry frames between TAP interfaces, one for each host in the order of the names.
#[pyfunction]
#[pyo3(signature = (scenario, *, taps, offload=false, seed=None, middle=None))]
pub fn emulate(
    scenario: PathBuf,
    taps: Vec<RawFd>,
    offload: bool,
    seed: Option<u64>,
    middle: Option<PathBuf>,
) -> PyResult<Emulation> {
    let owned = |fd: &RawFd| tcpwhy_io::duplicate(*fd);
    let taps = taps.iter().map(owned).collect::<Result<Vec<OwnedFd>, Error>>();
    let taps = taps.map_err(|error| exception(&error))?;
    let request = Request { scenario, seed, taps, offload, middle };
    let running = network::emulate(request).map_err(|error| exception(&error))?;
    Ok(Emulation { running: Mutex::new(Some(running)) })
}

/// Who is who in a scenario: the address of every host, and hosts and ports of every flow.
#[pyfunction]
pub fn scenario_names<'py>(py: Python<'py>, scenario: PathBuf) -> PyResult<Bound<'py, PyDict>> {
    let scenario = network::read_scenario(&scenario).map_err(|error| exception(&error))?;
    let names = PyDict::new(py);
    let hosts = PyDict::new(py);
    for (name, address) in scenario.addresses() {
        hosts.set_item(name, IpAddr::from(address).to_canonical().to_string())?;
    }
    names.set_item("hosts", hosts)?;
    let mut flows = Vec::new();
    for (number, (flow, start)) in scenario.flows().into_iter().enumerate() {
        let [near, far] = flow.ports(number);
        let entry = scenario.flows.iter().position(|other| std::ptr::eq(other, flow));
        flows.push((entry, start.0.as_secs_f64(), near, far));
    }
    names.set_item("flows", flows)?;
    Ok(names)
}
