//! Rows of all tables, until they are enough for a batch.

use super::{Batches, FlowRow, IntervalRow, ObservedRow, PeriodRow, SegmentRow, StallRow, Table};
use arrow_array::RecordBatch;

/// Rows that wait, by table.
#[derive(Default)]
pub struct Rows {
    /// One per direction.
    pub flows: Batches<FlowRow>,
    /// One per direction and interval.
    pub intervals: Batches<IntervalRow>,
    /// One per direction and period.
    pub periods: Batches<PeriodRow>,
    /// One per direction and stall, of the longest.
    pub stalls: Batches<StallRow>,
    /// One per segment of a chosen flow.
    pub segments: Batches<SegmentRow>,
    /// One per direction and interval, for fitting.
    pub observations: Batches<ObservedRow>,
    /// Rows still to come that leave in small batches.
    held: usize,
}

impl Rows {
    /// No rows; the first `held` leave in small batches.
    pub fn holding(held: usize) -> Rows {
        Rows { held, ..Rows::default() }
    }

    /// The batches that are ready: every row that waits with `all`.
    pub fn take(&mut self, all: bool) -> Vec<(Table, RecordBatch)> {
        let enough = if self.held > 0 { SMALL_BATCH_ROWS } else { BATCH_ROWS };
        let mut ready = Vec::new();
        let mut add = |table, rows: usize, take: &mut dyn FnMut() -> Option<RecordBatch>| {
            if all || rows >= enough {
                ready.extend(take().map(|batch| (table, batch)));
            }
        };
        add(Table::Flows, self.flows.len(), &mut || self.flows.take());
        add(Table::Intervals, self.intervals.len(), &mut || self.intervals.take());
        add(Table::Periods, self.periods.len(), &mut || self.periods.take());
        add(Table::Stalls, self.stalls.len(), &mut || self.stalls.take());
        let observed = &mut self.observations;
        add(Table::Observations, observed.len(), &mut || observed.take());
        add(Table::Segments, self.segments.len(), &mut || self.segments.take());
        let given: usize = ready.iter().map(|(_, batch)| batch.num_rows()).sum();
        self.held = self.held.saturating_sub(given);
        ready
    }
}

/// Rows per record batch: large enough for columnar work, small enough to stay in cache.
pub const BATCH_ROWS: usize = 4096;
/// Rows of a small batch: numbers of one column are 4 kB, less than a flow was. Of batches half as
/// long the building shows: 4 % of the instructions for 20,000 short flows.
pub(super) const SMALL_BATCH_ROWS: usize = 512;
