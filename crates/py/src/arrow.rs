//! Record batches over the Arrow PyCapsule interface, without a copy of the data.
//!
//! Every export can be repeated (the buffers are shared), since DuckDB asks twice.

use crate::{UsageError, all_schemas};
use arrow_array::ffi::FFI_ArrowArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array, RecordBatch, RecordBatchIterator, StructArray};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::Arc;

/// Rows of one table that came together.
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Batch(pub RecordBatch);

#[pymethods]
impl Batch {
    fn __len__(&self) -> usize {
        self.0.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.0.schema_ref().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.0.schema_ref().as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        // A consumer that wants other types casts by itself, as the interface allows.
        let _ = requested_schema;
        let array = FFI_ArrowArray::new(&StructArray::from(self.0.clone()).into_data());
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((schema_capsule(py, self.0.schema_ref().as_ref())?, array))
    }

    fn __repr__(&self) -> String {
        format!("<Batch of {} rows and {} columns>", self.0.num_rows(), self.0.num_columns())
    }
}

/// All batches of one table; it has a schema even when there are none.
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Rows {
    schema: Arc<Schema>,
    batches: Vec<RecordBatch>,
}

#[pymethods]
impl Rows {
    #[new]
    fn new(table_name: &str, batches: Vec<PyRef<'_, Batch>>) -> PyResult<Rows> {
        let batches = batches.iter().map(|batch| batch.0.clone()).collect();
        let schema = all_schemas().into_iter().find(|(name, _)| *name == table_name);
        match schema {
            Some((_, schema)) => Ok(Rows { schema, batches }),
            None => Err(UsageError::new_err(format!("no table '{table_name}'"))),
        }
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, self.schema.as_ref())
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches = self.batches.clone().into_iter().map(Ok);
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// The type of rows or of a column as a capsule.
pub fn schema_capsule<'py, T>(py: Python<'py>, schema: T) -> PyResult<Bound<'py, PyCapsule>>
where
    FFI_ArrowSchema: TryFrom<T, Error = ArrowError>,
{
    let schema = FFI_ArrowSchema::try_from(schema)
        .map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}
