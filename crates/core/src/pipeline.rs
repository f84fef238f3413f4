//! The main path: segments in, record batches out.

use crate::counter::{Counter, Counters};
use crate::record::{self, Batches, FlowRow, IntervalRow, PeriodRow, SegmentRow};
use crate::units::Nanos;
use crate::wire::Segment;
use arrow_array::RecordBatch;
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
    /// One row per segment of a chosen flow.
    Segments,
    /// One row per counter.
    Counters,
}

impl Table {
    /// Every table.
    pub const ALL: [Table; 5] = [
        Table::Flows,
        Table::Intervals,
        Table::Periods,
        Table::Segments,
        Table::Counters,
    ];

    /// The name in commands, files and stores.
    pub fn name(self) -> &'static str {
        match self {
            Table::Flows => "flows",
            Table::Intervals => "intervals",
            Table::Periods => "periods",
            Table::Segments => "segments",
            Table::Counters => "counters",
        }
    }

    /// The table with this name.
    pub fn from_name(name: &str) -> Option<Table> {
        Table::ALL.into_iter().find(|table| table.name() == name)
    }

    /// The Arrow schema of its rows.
    pub fn schema(self) -> Arc<Schema> {
        match self {
            Table::Flows => record::schema::<FlowRow>(),
            Table::Intervals => record::schema::<IntervalRow>(),
            Table::Periods => record::schema::<PeriodRow>(),
            Table::Segments => record::schema::<SegmentRow>(),
            Table::Counters => record::schema::<record::CounterRow>(),
        }
    }
}

/// What one run is to compute.
#[derive(Clone, Debug)]
pub struct Options {
    /// Tables to produce; `Counters` always comes out at the end.
    pub tables: Vec<Table>,
    /// Length of a periodic calculation.
    pub interval: Nanos,
    /// A flow without a packet for this long has ended.
    pub idle_timeout: Nanos,
    /// Data packets of a half below which capacity-based scores are not computed.
    pub min_packets: u64,
    /// Also compute the published prototype's formulas.
    pub compat_seed: bool,
    /// Report only this flow: its `flow_id` in decimal, or its Community ID.
    pub flow: Option<String>,
    /// Flows held at the same time per worker; beyond it, the least valuable one is put out.
    pub max_flows: usize,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tables: vec![Table::Flows],
            interval: Nanos(3_000_000_000),
            idle_timeout: Nanos(180_000_000_000),
            min_packets: 300,
            compat_seed: false,
            flow: None,
            max_flows: 10_000_000,
        }
    }
}

/// One worker's share of the analysis. All segments of a flow must go to the same pipeline.
pub struct Pipeline {
    options: Options,
    counters: Counters,
    flows: Batches<FlowRow>,
    intervals: Batches<IntervalRow>,
    periods: Batches<PeriodRow>,
    segments: Batches<SegmentRow>,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new(options: Options) -> Pipeline {
        Pipeline {
            options,
            counters: Counters::default(),
            flows: Batches::default(),
            intervals: Batches::default(),
            periods: Batches::default(),
            segments: Batches::default(),
        }
    }

    /// Analyses a batch of segments in the order of capture; 32 to 256 at a time is best.
    pub fn push(&mut self, segments: &[Segment]) {
        self.counters
            .add(Counter::PacketsTcp, segments.len() as u64);
        let _ = (&self.options, segments);
    }

    /// Lets time pass on a link without packets: flows idle at `now` expire.
    pub fn tick(&mut self, _now: Nanos) {}

    /// Ends every flow. The pipeline is empty afterwards.
    pub fn finish(&mut self) {}

    /// Record batches that are ready: all waiting rows with `all`, else only full batches.
    pub fn take(&mut self, all: bool) -> Vec<(Table, RecordBatch)> {
        let mut ready = Vec::new();
        let mut add = |table, rows: usize, take: &mut dyn FnMut() -> Option<RecordBatch>| {
            if all || rows >= BATCH_ROWS {
                ready.extend(take().map(|batch| (table, batch)));
            }
        };
        add(Table::Flows, self.flows.len(), &mut || self.flows.take());
        add(Table::Intervals, self.intervals.len(), &mut || {
            self.intervals.take()
        });
        add(Table::Periods, self.periods.len(), &mut || {
            self.periods.take()
        });
        add(Table::Segments, self.segments.len(), &mut || {
            self.segments.take()
        });
        ready
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }
}

/// Rows per record batch: large enough for columnar work, small enough to stay in cache.
const BATCH_ROWS: usize = 8192;
