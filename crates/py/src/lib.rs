//! Python bindings: options in, record batches out, one tree of errors, one stop flag.

mod adviser;
mod annotate;
mod arrow;
mod emulate;
mod items;
mod limits;
mod model;
mod option;
mod parquet;
mod simulate;
mod stream;
mod worlds;

use arrow_schema::Schema;
use pyo3::prelude::*;
use pyo3::{create_exception, exceptions::PyException};
use std::sync::Arc;
use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::Table;
use tcpwhy_core::verdict;
use tcpwhy_io::Error;
use tcpwhy_io::simulate::tables as simulate_tables;
use tcpwhy_io::study::tables as study_tables;
use tcpwhy_sim::counter::Counter as Simulated;

create_exception!(tcpwhy, TcpwhyError, PyException, "Anything that tcpwhy cannot do.");
create_exception!(tcpwhy, UsageError, TcpwhyError, "An option that makes no sense.");
create_exception!(tcpwhy, InputError, TcpwhyError, "An input that is unreadable or damaged.");
create_exception!(tcpwhy, PrivilegeError, TcpwhyError, "A capability that the process lacks.");

/// The exception of the tree that carries the error's exit code.
fn exception(error: &Error) -> PyErr {
    let message = error.to_string();
    match error.exit_code() {
        2 => UsageError::new_err(message),
        3 => InputError::new_err(message),
        4 => PrivilegeError::new_err(message),
        _ => TcpwhyError::new_err(message),
    }
}

/// The table of this name.
fn table(name: &str) -> PyResult<Table> {
    Table::from_name(name).ok_or_else(|| {
        let known: Vec<_> = Table::ALL.into_iter().map(Table::name).collect();
        UsageError::new_err(format!("no table '{name}': there are {}", known.join(", ")))
    })
}

/// A column: name, Arrow type, whether it may be NULL, meaning.
type Column = (String, String, bool, String);

/// The schemas of all tables: of the analysis, of simulations, of the study.
fn all_schemas() -> Vec<(&'static str, Arc<Schema>)> {
    let analysed = Table::ALL.into_iter().map(|table| (table.name(), table.schema()));
    analysed.chain(simulate_tables()).chain(study_tables()).collect()
}

/// Every table with its columns.
#[pyfunction]
fn schemas() -> Vec<(&'static str, Vec<Column>)> {
    let columns = |schema: Arc<Schema>| {
        let column = |field: &arrow_schema::Field| {
            let doc = field.metadata().get("doc").cloned().unwrap_or_default();
            (field.name().clone(), field.data_type().to_string(), field.is_nullable(), doc)
        };
        schema.fields().iter().map(|field| column(field)).collect()
    };
    all_schemas().into_iter().map(|(name, schema)| (name, columns(schema))).collect()
}

/// The names of the tables by what makes them: `analyze`, `simulate`, `study`.
#[pyfunction]
fn tables_by_maker() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        ("analyze", Table::ALL.into_iter().map(Table::name).collect()),
        ("simulate", simulate_tables().map(|(name, _)| name).to_vec()),
        ("study", study_tables().map(|(name, _)| name).to_vec()),
    ]
}

/// Every counter with its meaning, in the order in which they are shown.
#[pyfunction]
fn counters() -> Vec<(&'static str, &'static str)> {
    let analysed = Counter::ALL.iter().map(|counter| (counter.name(), counter.doc().trim()));
    let simulated = Simulated::ALL.iter().map(|counter| (counter.name(), counter.doc().trim()));
    analysed.chain(simulated).collect()
}

/// The thresholds of the paper's decision tree, by the score that each is for.
#[pyfunction]
fn thresholds() -> [(&'static str, f64); 4] {
    [
        ("dispersion", verdict::DISPERSION_THRESHOLD),
        ("retransmission", verdict::RETRANSMISSION_THRESHOLD),
        ("rwnd", verdict::RWND_THRESHOLD),
        ("burstiness", verdict::BURSTINESS_THRESHOLD),
    ]
}

/// Has blocks of so many bytes and more go back to the system when they are freed, in the whole
/// process: for commands.
#[pyfunction]
fn give_back_when_freed(bytes: u32) {
    tcpwhy_io::give_back_when_freed(bytes);
}

/// The extension module `tcpwhy._core`.
#[pymodule(gil_used = false)]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::{
        InputError, PrivilegeError, TcpwhyError, UsageError, counters, give_back_when_freed,
        schemas, tables_by_maker, thresholds,
    };
    #[pymodule_export]
    use crate::adviser::advise;
    #[pymodule_export]
    use crate::annotate::Annotations;
    #[pymodule_export]
    use crate::arrow::{Batch, Rows};
    #[pymodule_export]
    use crate::emulate::{Emulation, emulate, scenario_names};
    #[pymodule_export]
    use crate::limits::limits;
    #[pymodule_export]
    use crate::model::{Column, models, predict, predict_one, solve};
    #[pymodule_export]
    use crate::option::options;
    #[pymodule_export]
    use crate::parquet::Parquet;
    #[pymodule_export]
    use crate::simulate::{Simulation, simulate, sweep};
    #[pymodule_export]
    use crate::stream::{Stream, analyze, monitor};
    #[pymodule_export]
    use crate::worlds::{answer, judge, observations, world_scenario, world_version};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let py = module.py();
        for (exception, exit_code) in [
            (py.get_type::<TcpwhyError>(), 1),
            (py.get_type::<UsageError>(), 2),
            (py.get_type::<InputError>(), 3),
            (py.get_type::<PrivilegeError>(), 4),
        ] {
            exception.setattr("exit_code", exit_code)?;
        }
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
