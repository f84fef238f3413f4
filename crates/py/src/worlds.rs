//! Random worlds: their scenarios, and what the analysis says of them beside what is true.

use crate::arrow::Batch;
use crate::exception;
use pyo3::prelude::*;
use tcpwhy_io::Error;
use tcpwhy_io::worlds;
use tcpwhy_sim::scenario::Scenario;
use tcpwhy_sim::world::World;

/// The number of the generator of worlds.
#[pyfunction]
pub fn world_version() -> u32 {
    tcpwhy_sim::world::VERSION
}

/// The world of a seed as the text of a scenario file.
#[pyfunction]
pub fn world_scenario(seed: u64) -> String {
    World::new(seed).toml()
}

/// Runs a scenario; gives tap, table and rows: `flows`, `intervals`, and `answers` row by row
/// beside the latter; `observations` too if wanted. `file` is the name of the scenario for errors.
#[pyfunction]
#[pyo3(signature = (file, scenario, *, taps=None, observations=false))]
pub fn judge(
    py: Python<'_>,
    file: String,
    scenario: String,
    taps: Option<Vec<String>>,
    observations: bool,
) -> PyResult<Vec<(String, &'static str, Batch)>> {
    let judged = py.detach(|| {
        let read = Scenario::parse(&file, &scenario);
        let read = read.map_err(|error| Error::Usage(error.to_string()))?;
        let mut signal = Ok(());
        let found = worlds::judge(&read, taps.as_deref(), observations, || {
            signal = Python::attach(|py| py.check_signals());
            signal.is_ok()
        });
        Ok((found, signal))
    });
    let (found, signal) = judged.map_err(|error: Error| exception(&error))?;
    signal?;
    Ok(found.into_iter().map(|found| (found.tap, found.table, Batch(found.batch))).collect())
}

/// The columns of the table `observations`: keys, the items of evidence, and the same before.
#[pyfunction]
pub fn observations() -> Vec<String> {
    let schema = tcpwhy_core::record::Table::Observations.schema();
    schema.fields().iter().map(|field| field.name().clone()).collect()
}
