//! Rows to Parquet, by the library of Arrow.

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Schema};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use std::mem;
use std::sync::Arc;

/// Turns the rows of a table into the bytes of one Parquet file.
pub struct Writer {
    schema: Arc<Schema>,
    rows: ArrowWriter<Vec<u8>>,
}

impl Writer {
    /// A file of rows with these columns.
    pub fn new(schema: &Schema) -> Result<Writer> {
        // All columns may be NULL, as in files of DuckDB's: rows of several runs go together.
        let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        let options = ArrowWriterOptions::new()
            .with_properties(properties(&schema)?)
            .with_skip_arrow_metadata(true);
        let rows = ArrowWriter::try_new_with_options(Vec::new(), schema.clone(), options)?;
        Ok(Writer { schema, rows })
    }

    /// Adds rows; gives the bytes of the file that are ready, often none.
    pub fn put(&mut self, batch: &RecordBatch) -> Result<Vec<u8>> {
        let batch = RecordBatch::try_new(self.schema.clone(), batch.columns().to_vec())?;
        self.rows.write(&batch)?;
        Ok(mem::take(self.rows.inner_mut()))
    }

    /// Gives the rest of the file.
    pub fn end(self) -> Result<Vec<u8>> {
        self.rows.into_inner()
    }
}

/// Texts repeat. Numbers seldom do, and a search for those would cost more than it saves; but near
/// numbers come one after the other, and of differences less is left to be compressed.
fn properties(schema: &Schema) -> Result<WriterProperties> {
    let mut found = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_max_row_group_row_count(Some(GROUP_ROWS))
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_offset_index_disabled(true)
        .set_created_by(concat!("tcpwhy ", env!("CARGO_PKG_VERSION")).into())
        .set_dictionary_page_size_limit(DICTIONARY_BYTES)
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_dictionary_enabled(false);
    for field in schema.fields() {
        let column = ColumnPath::from(field.name().as_str());
        found = match field.data_type() {
            DataType::Utf8 => found.set_column_dictionary_enabled(column, true),
            kind if kind.is_integer() => {
                found.set_column_encoding(column, Encoding::DELTA_BINARY_PACKED)
            }
            _ => found,
        };
    }
    Ok(found.build())
}

/// Rows of a group. They are in memory as it is written, a row of flows as 1 kB.
const GROUP_ROWS: usize = 1 << 14;
/// Rows of a page: what is not compressed yet.
const PAGE_ROWS: usize = 1 << 12;
/// Texts that repeat are few. A column whose texts take more than this has none to speak of.
const DICTIONARY_BYTES: usize = 1 << 16;
