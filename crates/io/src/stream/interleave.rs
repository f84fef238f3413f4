//! Rows of several batches as one batch, in a given order. It knows the types of the
//! tables' columns. Arrow's kernels know all types, and take longer to compile than the rest of it.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int32Type, Int64Type, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, RecordBatch};
use arrow_schema::DataType;

/// A batch and a row of it.
pub(super) type Place = (usize, usize);

/// The rows at these places, of batches of one table.
pub(super) fn interleave(batches: &[&RecordBatch], rows: &[Place]) -> RecordBatch {
    let schema = batches[0].schema();
    let columns = schema.fields().iter().enumerate().map(|(at, field)| {
        let of_batches: Vec<&dyn Array> =
            batches.iter().map(|batch| batch.column(at).as_ref()).collect();
        column(field.data_type(), &of_batches, rows)
    });
    let columns = columns.collect();
    RecordBatch::try_new(schema, columns).expect("the batches of a table have one schema")
}

fn column(of_type: &DataType, columns: &[&dyn Array], rows: &[Place]) -> ArrayRef {
    match of_type {
        DataType::Boolean => booleans(columns, rows),
        DataType::Utf8 => texts(columns, rows),
        DataType::UInt8 => numbers::<UInt8Type>(columns, rows),
        DataType::UInt16 => numbers::<UInt16Type>(columns, rows),
        DataType::UInt32 => numbers::<UInt32Type>(columns, rows),
        DataType::UInt64 => numbers::<UInt64Type>(columns, rows),
        DataType::Int32 => numbers::<Int32Type>(columns, rows),
        DataType::Int64 => numbers::<Int64Type>(columns, rows),
        DataType::Float32 => numbers::<Float32Type>(columns, rows),
        DataType::Float64 => numbers::<Float64Type>(columns, rows),
        other => unreachable!("no table has a column of {other}"),
    }
}

fn numbers<T: ArrowPrimitiveType>(columns: &[&dyn Array], rows: &[Place]) -> ArrayRef {
    let has_nulls = columns.iter().any(|column| column.null_count() > 0);
    let columns: Vec<_> = columns.iter().map(|column| column.as_primitive::<T>()).collect();
    let values: Vec<T::Native> =
        rows.iter().map(|&(batch, row)| columns[batch].values()[row]).collect();
    let known = || {
        let known: Vec<bool> =
            rows.iter().map(|&(batch, row)| columns[batch].is_valid(row)).collect();
        known.into()
    };
    Arc::new(PrimitiveArray::<T>::new(values.into(), has_nulls.then(known)))
}

fn booleans(columns: &[&dyn Array], rows: &[Place]) -> ArrayRef {
    let columns: Vec<_> = columns.iter().map(|column| column.as_boolean()).collect();
    let cell = |&(batch, row): &Place| {
        let column = columns[batch];
        column.is_valid(row).then(|| column.value(row))
    };
    Arc::new(rows.iter().map(cell).collect::<BooleanArray>())
}

fn texts(columns: &[&dyn Array], rows: &[Place]) -> ArrayRef {
    let columns: Vec<_> = columns.iter().map(|column| column.as_string::<i32>()).collect();
    let bytes = rows.iter().map(|&(batch, row)| columns[batch].value_length(row) as usize).sum();
    let mut texts = StringBuilder::with_capacity(rows.len(), bytes);
    for &(batch, row) in rows {
        let column = columns[batch];
        texts.append_option(column.is_valid(row).then(|| column.value(row)));
    }
    Arc::new(texts.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Float32Array, Float64Array, StringArray, UInt8Array};

    fn batch(of: [Option<u8>; 2]) -> RecordBatch {
        let text = |value: Option<u8>| value.map(|value| format!("number {value}"));
        let columns: [(&str, ArrayRef, bool); 5] = [
            ("byte", Arc::new(of.into_iter().collect::<UInt8Array>()), true),
            (
                "known",
                Arc::new(of.map(|v| Some(v.is_some())).into_iter().collect::<BooleanArray>()),
                false,
            ),
            ("text", Arc::new(of.map(text).into_iter().collect::<StringArray>()), true),
            (
                "double",
                Arc::new(of.map(|v| v.map(f64::from)).into_iter().collect::<Float64Array>()),
                true,
            ),
            (
                "single",
                Arc::new(of.map(|v| v.map(f32::from)).into_iter().collect::<Float32Array>()),
                true,
            ),
        ];
        RecordBatch::try_from_iter_with_nullable(columns).expect("columns of one length")
    }

    #[test]
    fn rows_come_in_the_order_given_with_what_is_unknown() {
        let (first, second) = (batch([Some(1), None]), batch([Some(3), Some(4)]));
        let mixed = interleave(&[&first, &second], &[(1, 1), (0, 1), (0, 0), (1, 1)]);
        assert_eq!(mixed.schema(), first.schema());
        let halves = [mixed.slice(0, 2), mixed.slice(2, 2)];
        assert_eq!(halves, [batch([Some(4), None]), batch([Some(1), Some(4)])]);
        assert_eq!(interleave(&[&second], &[(0, 0), (0, 1)]), second);
    }

    #[test]
    fn every_type_of_a_table_is_known() {
        for table in tcpwhy_core::pipeline::Table::ALL {
            let empty = RecordBatch::new_empty(table.schema());
            assert_eq!(interleave(&[&empty], &[]), empty);
        }
    }
}
