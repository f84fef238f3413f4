//! Rows of one table on their way into a Parquet file.

use crate::arrow::Batch;
use crate::{UsageError, all_schemas};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::{Mutex, PoisonError};
use tcpwhy_io::parquet::Writer;

/// Turns rows into the bytes of a Parquet file, in the thread that gives them.
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Parquet {
    writer: Mutex<Option<Writer>>,
}

#[pymethods]
impl Parquet {
    /// A file of a table.
    #[new]
    fn new(table_name: &str) -> PyResult<Parquet> {
        let schema = all_schemas().into_iter().find(|(name, _)| *name == table_name);
        let (_, schema) =
            schema.ok_or_else(|| UsageError::new_err(format!("no table '{table_name}'")))?;
        Ok(Parquet { writer: Mutex::new(Some(Writer::new(&schema).map_err(failed)?)) })
    }

    /// Adds rows; gives the bytes that are ready.
    fn put<'py>(&self, py: Python<'py>, batch: &Batch) -> PyResult<Bound<'py, PyBytes>> {
        let ready = py.detach(|| {
            let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
            writer.as_mut().map_or(Ok(Vec::new()), |writer| writer.put(&batch.0))
        });
        Ok(PyBytes::new(py, &ready.map_err(failed)?))
    }

    /// Gives the rest; no rows follow.
    fn end<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take();
        let rest = py.detach(|| writer.map_or(Ok(Vec::new()), Writer::end));
        Ok(PyBytes::new(py, &rest.map_err(failed)?))
    }
}

/// It writes to memory: only rows of another table can fail.
fn failed(error: impl std::fmt::Display) -> PyErr {
    UsageError::new_err(error.to_string())
}
