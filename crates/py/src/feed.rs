//! Rows of one table on their way to a consumer of Arrow that reads while they come.

use crate::arrow::{Batch, schema_capsule};
use crate::{UsageError, all_schemas};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// A line of batches with a bounded length. Several streams of it, as DuckDB asks for, share it.
#[pyclass(frozen, module = "tcpwhy._core")]
pub struct Feed {
    schema: Arc<Schema>,
    sender: Mutex<Option<SyncSender<RecordBatch>>>,
    batches: Line,
}

type Line = Arc<Mutex<Option<Receiver<RecordBatch>>>>;

/// The consumer's end.
struct Reader {
    schema: Arc<Schema>,
    batches: Line,
}

#[pymethods]
impl Feed {
    #[new]
    fn new(table_name: &str) -> PyResult<Feed> {
        let schema = all_schemas().into_iter().find(|(name, _)| *name == table_name);
        let (_, schema) =
            schema.ok_or_else(|| UsageError::new_err(format!("no table '{table_name}'")))?;
        let (sender, batches) = sync_channel(WAITING);
        let batches = Arc::new(Mutex::new(Some(batches)));
        Ok(Feed { schema, sender: Mutex::new(Some(sender)), batches })
    }

    /// Adds a batch and waits for room; False if nobody reads any more.
    fn put(&self, py: Python<'_>, batch: &Batch) -> bool {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let batch = batch.0.clone();
        py.detach(|| sender.is_some_and(|sender| sender.send(batch).is_ok()))
    }

    /// No batch follows.
    fn end(&self) {
        self.sender.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Nobody reads any more.
    fn abandon(&self, py: Python<'_>) {
        py.detach(|| self.batches.lock().unwrap_or_else(PoisonError::into_inner).take());
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
        let reader = Reader { schema: self.schema.clone(), batches: self.batches.clone() };
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

impl Iterator for Reader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
        batches.as_ref()?.recv().ok().map(Ok)
    }
}

impl RecordBatchReader for Reader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// Batches that may wait for the consumer.
const WAITING: usize = 4;
