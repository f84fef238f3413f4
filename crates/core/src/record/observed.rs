//! The table of observations: what the items of evidence say of each interval.

use super::{Columns, Ends, finish};
use crate::diagnosis::items;
use crate::diagnosis::memory::Observed;
use crate::units::Nanos;
use arrow_array::ArrayRef;
use arrow_array::builder::{Float32Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_schema::{DataType, Field};

/// What the items say of one interval of a half.
pub struct ObservedRow {
    /// Which half.
    pub ends: Ends,
    /// Begin of the interval.
    pub start: Nanos,
    /// Its end.
    pub end: Nanos,
    /// The items.
    pub observed: Box<Observed>,
}

/// A builder for each column.
pub struct Builder {
    flow_id: UInt64Builder,
    direction: StringBuilder,
    times: [Int64Builder; 2],
    values: Vec<Float32Builder>,
}

impl Columns for ObservedRow {
    type Builder = Builder;

    fn builder(_: Option<&Builder>) -> Builder {
        Builder {
            flow_id: UInt64Builder::new(),
            direction: StringBuilder::new(),
            times: Default::default(),
            // Hardly any run wants them: no room ahead for so many columns.
            values: (0..2 * items::COUNT).map(|_| Float32Builder::with_capacity(0)).collect(),
        }
    }

    fn fields(fields: &mut Vec<Field>) {
        fields.push(Field::new("flow_id", DataType::UInt64, false));
        fields.push(Field::new("direction", DataType::Utf8, false));
        fields.push(Field::new("start_ns", DataType::Int64, false));
        fields.push(Field::new("end_ns", DataType::Int64, false));
        let item = |prefix: &str, word: &str| {
            Field::new(format!("{prefix}{word}"), DataType::Float32, true)
        };
        fields.extend(items::all().map(|found| item("", found.word)));
        fields.extend(items::all().map(|found| item("before_", found.word)));
    }

    fn append<'a>(rows: impl Iterator<Item = &'a Self> + Clone, builder: &mut Builder)
    where
        Self: 'a,
    {
        for row in rows {
            builder.flow_id.append_value(row.ends.flow_id);
            builder.direction.append_value(row.ends.direction);
            builder.times[0].append_value(row.start.0);
            builder.times[1].append_value(row.end.0);
            let Observed { values, before } = &*row.observed;
            for (column, &value) in builder.values.iter_mut().zip(values.iter().chain(before)) {
                column.append_option(Some(value).filter(|value| !value.is_nan()));
            }
        }
    }

    fn finish(builder: Builder, arrays: &mut Vec<ArrayRef>) {
        arrays.push(finish(builder.flow_id));
        arrays.push(finish(builder.direction));
        arrays.extend(builder.times.map(finish));
        arrays.extend(builder.values.into_iter().map(finish));
    }
}
