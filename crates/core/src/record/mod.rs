//! Rows to Arrow. A table is a tuple of column groups; a column is declared once, with its type and
//! its meaning, and the schema, the builders and the reference documentation follow from that.

pub(crate) mod address;
mod column;
mod observed;
mod rows;
mod stall;
mod table;
mod tables;

pub use column::{Cell, Columns, field, finish};
pub(crate) use observed::ObservedRow;
pub use rows::{BATCH_ROWS, Rows};
pub(crate) use stall::{StallFacts, StallRow};
pub use table::Table;
pub use tables::*;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};
use std::sync::Arc;

/// Rows of one table on their way into record batches.
pub struct Batches<R: Columns> {
    schema: Arc<Schema>,
    builder: R::Builder,
    /// Rows in the builder, and those that wait for it.
    built: usize,
    waiting: Vec<R>,
}

impl<R: Columns> Default for Batches<R> {
    fn default() -> Self {
        Batches { schema: schema::<R>(), builder: R::builder(None), built: 0, waiting: Vec::new() }
    }
}

impl<R: Columns> Batches<R> {
    /// Adds a row.
    pub fn push(&mut self, row: R) {
        self.waiting.push(row);
        if self.waiting.len() >= TOGETHER {
            self.build();
        }
    }

    fn build(&mut self) {
        R::append(self.waiting.iter(), &mut self.builder);
        self.built += self.waiting.len();
        self.waiting.clear();
    }

    /// How many rows wait.
    pub fn len(&self) -> usize {
        self.built + self.waiting.len()
    }

    /// Whether no row waits.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The waiting rows as one batch; `None` when there are none.
    pub fn take(&mut self) -> Option<RecordBatch> {
        if self.is_empty() {
            return None;
        }
        self.build();
        // After a full batch comes another one; to grow column by column would copy each twice.
        let full = self.built >= rows::SMALL_BATCH_ROWS;
        let next = R::builder(Some(&self.builder).filter(|_| full));
        self.built = 0;
        let mut arrays: Vec<ArrayRef> = Vec::new();
        R::finish(std::mem::replace(&mut self.builder, next), &mut arrays);
        let batch = RecordBatch::try_new(self.schema.clone(), arrays);
        Some(batch.expect("builders and schema come from one declaration"))
    }
}

/// Rows that are added to the builders together.
const TOGETHER: usize = 32;

/// The Arrow schema of a row type.
pub fn schema<R: Columns>() -> Arc<Schema> {
    let mut fields: Vec<Field> = Vec::new();
    R::fields(&mut fields);
    Arc::new(Schema::new(fields))
}
