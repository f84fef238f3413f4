//! The tables by name.

use super::{
    CounterRow, FlowRow, IntervalRow, ObservedRow, PeriodRow, SegmentRow, StallRow, schema,
};
use arrow_schema::Schema;
use std::sync::Arc;

/// Which table a batch belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// One row per half.
    Flows,
    /// One row per half and periodic calculation.
    Intervals,
    /// One row per half and period.
    Periods,
    /// One row per half and stall, of the longest.
    Stalls,
    /// One row per segment of a chosen flow.
    Segments,
    /// One row per counter.
    Counters,
    /// One row per interval: what the items of evidence say of it. For fitting the model; not
    /// among [`Table::ALL`].
    Observations,
}

impl Table {
    /// Every table.
    pub const ALL: [Table; 6] = [
        Table::Flows,
        Table::Intervals,
        Table::Periods,
        Table::Stalls,
        Table::Segments,
        Table::Counters,
    ];

    /// The name in commands, files and stores.
    pub fn name(self) -> &'static str {
        match self {
            Table::Flows => "flows",
            Table::Intervals => "intervals",
            Table::Periods => "periods",
            Table::Stalls => "stalls",
            Table::Segments => "segments",
            Table::Counters => "counters",
            Table::Observations => "observations",
        }
    }

    /// The table with this name.
    pub fn from_name(name: &str) -> Option<Table> {
        let hidden = [Table::Observations];
        Table::ALL.into_iter().chain(hidden).find(|table| table.name() == name)
    }

    /// The Arrow schema of its rows.
    pub fn schema(self) -> Arc<Schema> {
        match self {
            Table::Flows => schema::<FlowRow>(),
            Table::Intervals => schema::<IntervalRow>(),
            Table::Periods => schema::<PeriodRow>(),
            Table::Stalls => schema::<StallRow>(),
            Table::Segments => schema::<SegmentRow>(),
            Table::Counters => schema::<CounterRow>(),
            Table::Observations => schema::<ObservedRow>(),
        }
    }
}
