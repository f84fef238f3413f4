//! The main path: segments in, record batches out.

use crate::counter::{Counter, Counters};
use crate::flow::class::{Class, Timeouts};
use crate::flow::entry::Entry;
use crate::flow::table::{Analyse, Limits};
use crate::flow::{self, Flow, Plan};
use crate::judge::Judge;
use crate::record::{self, Batches, Ends, FlowRow, IntervalRow, PeriodRow, SegmentRow};
use crate::report;
use crate::units::{Nanos, Seq};
use crate::wire::community::community_id;
use crate::wire::hash::HashKey;
use crate::wire::{FlowKey, Segment};
use arrow_array::RecordBatch;
use arrow_schema::Schema;
use std::collections::HashMap;
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
    pub const ALL: [Table; 5] =
        [Table::Flows, Table::Intervals, Table::Periods, Table::Segments, Table::Counters];

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
    /// After how much silence flows have ended.
    pub timeouts: Timeouts,
    /// Data packets of a half below which capacity-based scores are not computed.
    pub min_packets: u64,
    /// Also compute the published prototype's formulas.
    pub compat_seed: bool,
    /// Report only this flow: its `flow_id` in decimal, or its Community ID.
    pub flow: Option<String>,
    /// Of the `segments` table, only the row of this frame, whichever flow it belongs to.
    pub frame: Option<u64>,
    /// Flows held at the same time per worker; beyond it, the least valuable one is put out.
    pub max_flows: usize,
    /// Where the flow table's hash begins; who chooses what is captured must not know it. Rows do
    /// not depend on it.
    pub hash_seed: u64,
    /// Whether the refined diagnosis is made. Without it its columns are NULL; that is for
    /// measuring what it costs.
    pub refined: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tables: vec![Table::Flows],
            interval: Nanos(3_000_000_000),
            timeouts: Timeouts::default(),
            min_packets: 300,
            compat_seed: false,
            flow: None,
            frame: None,
            max_flows: 10_000_000,
            hash_seed: 0,
            refined: true,
        }
    }
}

/// One worker's share of the analysis. All segments of a flow must go to the same pipeline.
pub struct Pipeline {
    table: flow::table::Table,
    analysis: Analysis,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new(options: Options) -> Pipeline {
        let limits = Limits { timeouts: options.timeouts, flows: options.max_flows };
        let table = flow::table::Table::new(HashKey::new(options.hash_seed), limits);
        Pipeline { table, analysis: Analysis::new(options) }
    }

    /// Analyses a batch of segments in the order of capture; 32 to 256 at a time is best.
    pub fn push(&mut self, segments: &[Segment]) {
        self.analysis.counters.add(Counter::PacketsTcp, segments.len() as u64);
        let Some(last) = segments.last() else { return };
        self.analysis.frame = last.frame;
        self.table.push(segments, &mut self.analysis);
        // One segment with a time far off must not end every flow, so the earliest of the batch
        // counts; and a flow whose next segment comes in time by a clock that was set back is not
        // ended before it, however the flows are shared out.
        let earliest = segments.iter().map(|segment| segment.ts).min().unwrap_or_default();
        self.table.sweep(segments.len(), earliest - CLOCK_SLACK, &mut self.analysis);
    }

    /// Lets time pass on a link without packets: flows idle at `now` expire.
    pub fn tick(&mut self, now: Nanos) {
        self.table.sweep(TICK_SLOTS, now, &mut self.analysis);
    }

    /// Analyses what was filed of the next `flows` flows but is not worth a burst yet, so that the
    /// rows of a slow flow are not late. Rows do not depend on it.
    pub fn settle(&mut self, flows: usize) {
        self.table.settle(flows, &mut self.analysis);
    }

    /// Flows that [`Pipeline::settle`] goes through, those that have just ended included.
    pub fn flows(&self) -> usize {
        self.table.slots()
    }

    /// Ends some of the flows that are left; false once there are none. The rows of a million flows
    /// are many, so take what is ready in between.
    pub fn finish(&mut self) -> bool {
        self.table.finish(FINISH_FLOWS, &mut self.analysis)
    }

    /// The name of the tunnel with this index, for the rows of flows in it.
    pub fn define_tunnel(&mut self, index: u16, name: Arc<str>) {
        self.analysis.tunnels.insert(index, name);
    }

    /// Record batches that are ready: all waiting rows with `all`, else only full batches.
    pub fn take(&mut self, all: bool) -> Vec<(Table, RecordBatch)> {
        self.analysis.rows.take(all)
    }

    /// What was counted so far.
    pub fn counters(&self) -> &Counters {
        &self.analysis.counters
    }
}

/// What happens to the segments of a flow, and to the flow at its end.
struct Analysis {
    options: Options,
    wanted: Wanted,
    plan: Plan,
    /// Why a half has no capacity that was too short for it: said of most halves.
    too_short: String,
    counters: Counters,
    tunnels: HashMap<u16, Arc<str>>,
    rows: Rows,
    /// Frame number of the newest segment; entries keep the low half of theirs.
    frame: u64,
    /// A flow that ended, for the next one to use its memory.
    spare: Option<Box<Flow>>,
    allowance: Allowance,
}

/// How many short flows of a full table may still have their rows in this second of packet time:
/// a flood must not become a flood of rows.
#[derive(Default)]
struct Allowance {
    since: Nanos,
    taken: u32,
}

impl Allowance {
    fn take(&mut self, now: Nanos) -> bool {
        if now.since(self.since) >= Nanos::SECOND {
            *self = Allowance { since: now, taken: 0 };
        }
        self.taken += 1;
        self.taken <= EVICTED_ROWS_PER_SECOND
    }
}

/// Tables that are wanted, looked up once.
#[derive(Clone, Copy)]
struct Wanted {
    flows: bool,
    intervals: bool,
    periods: bool,
    segments: bool,
}

#[derive(Default)]
struct Rows {
    flows: Batches<FlowRow>,
    intervals: Batches<IntervalRow>,
    periods: Batches<PeriodRow>,
    segments: Batches<SegmentRow>,
}

impl Rows {
    fn take(&mut self, all: bool) -> Vec<(Table, RecordBatch)> {
        let mut ready = Vec::new();
        let mut add = |table, rows: usize, take: &mut dyn FnMut() -> Option<RecordBatch>| {
            if all || rows >= BATCH_ROWS {
                ready.extend(take().map(|batch| (table, batch)));
            }
        };
        add(Table::Flows, self.flows.len(), &mut || self.flows.take());
        add(Table::Intervals, self.intervals.len(), &mut || self.intervals.take());
        add(Table::Periods, self.periods.len(), &mut || self.periods.take());
        add(Table::Segments, self.segments.len(), &mut || self.segments.take());
        ready
    }
}

impl Analyse for Analysis {
    fn segment(
        &mut self,
        key: &FlowKey,
        slot: &mut Option<Box<Flow>>,
        entry: &Entry,
        sack: &[(Seq, Seq)],
    ) {
        let behind = (self.frame as u32).wrapping_sub(entry.frame_low);
        let frame = self.frame.saturating_sub(u64::from(behind));
        if slot.as_ref().is_some_and(|flow| flow.is_reopened_by(entry)) {
            let ended = slot.take().expect("just seen");
            self.end(ended);
        }
        let flow = match slot {
            Some(flow) => flow,
            None => slot.insert(self.begin(key, frame, entry)),
        };
        if self.wanted.segments {
            self.segment_with_row(flow, frame, entry, sack);
        } else {
            let filed = flow.segment(frame, entry, sack, self.plan);
            self.counters.add(Counter::DuplicateFrames, u64::from(filed.duplicate));
        }
        let side = flow::handshake::side(entry);
        if flow.halves[side].stretch.as_ref().is_some_and(|s| !s.intervals.is_empty()) {
            self.judge_intervals(flow, side);
        }
    }

    fn end(&mut self, mut flow: Box<Flow>) {
        flow.finish(self.plan.interval);
        self.counters.count(Counter::Flows);
        let flow_id = self.flow_id(&flow);
        let chosen = self.is_chosen(&flow, flow_id);
        let mut judged = false;
        // Two rows and one hash, which is the largest part of a short flow's end.
        let community_id = if chosen { community_id(&flow.key) } else { String::new() };
        for side in 0..2 {
            judged |= self.end_half(&mut flow, flow_id, side, chosen.then_some(&community_id));
        }
        self.counters.add(Counter::FlowsWithVerdict, u64::from(judged));
        self.spare = Some(flow);
    }

    fn evicted(&mut self, class: Class, now: Nanos) -> bool {
        self.counters.count(Counter::TableEvictions);
        self.counters.count(match class {
            Class::Closed => Counter::EvictedClosed,
            Class::HalfOpen => Counter::EvictedHalfOpen,
            Class::Short => Counter::EvictedShort,
            Class::Long => Counter::EvictedLong,
        });
        match class {
            Class::HalfOpen => false,
            Class::Closed | Class::Short => self.allowance.take(now),
            Class::Long => true,
        }
    }

    fn forgotten(&mut self, segments: u64, payload_bytes: u64) {
        self.counters.count(Counter::Flows);
        self.counters.count(Counter::FlowsForgotten);
        self.counters.add(Counter::PacketsForgotten, segments);
        self.counters.add(Counter::PayloadBytes, payload_bytes);
        self.counters.add(Counter::BytesForgotten, payload_bytes);
    }
}

impl Analysis {
    fn new(options: Options) -> Analysis {
        let wants = |table| options.tables.contains(&table);
        Analysis {
            wanted: Wanted {
                flows: wants(Table::Flows),
                intervals: wants(Table::Intervals),
                periods: wants(Table::Periods),
                segments: wants(Table::Segments),
            },
            plan: Plan { interval: options.interval, refined: options.refined },
            too_short: format!("no capacity, {} data packets or fewer", options.min_packets),
            options,
            counters: Counters::default(),
            tunnels: HashMap::new(),
            rows: Rows::default(),
            frame: 0,
            spare: None,
            allowance: Allowance::default(),
        }
    }

    /// The state of a flow that begins with `entry`.
    #[cold]
    fn begin(&mut self, key: &FlowKey, frame: u64, entry: &Entry) -> Box<Flow> {
        let flow = Flow::new(*key, frame, entry);
        match self.spare.take() {
            Some(mut spare) => {
                *spare = flow;
                spare
            }
            None => Box::new(flow),
        }
    }

    fn flow_id(&self, flow: &Flow) -> u64 {
        flow.id(self.tunnels.get(&flow.key.tunnel).map(|name| &**name))
    }

    fn is_chosen(&self, flow: &Flow, flow_id: u64) -> bool {
        self.options.flow.as_ref().is_none_or(|wanted| {
            *wanted == flow_id.to_string() || *wanted == community_id(&flow.key)
        })
    }

    /// Judges a half and puts its rows out, if it is `chosen`, with that Community ID; whether it
    /// has a verdict.
    fn end_half(
        &mut self,
        flow: &mut Flow,
        flow_id: u64,
        side: usize,
        chosen: Option<&String>,
    ) -> bool {
        if flow.halves[side].totals.packets == 0 {
            return false;
        }
        self.judge_intervals(flow, side);
        let ends = report::ends(flow, flow_id, side);
        let mut judge = judge_of(flow, side, ends, (&self.options, &self.too_short));
        let rows = chosen.is_some() && self.wanted.flows;
        let verdicts = judge.whole(rows, chosen.is_some() && self.wanted.periods);
        let capacity = judge.capacity;
        let half = &flow.halves[side];
        let judged = verdicts.finding.is_some();
        let bytes = half.totals.payload_bytes;
        let count = |counters: &mut Counters, counter, yes, n| {
            counters.add(counter, if yes { n } else { 0 });
        };
        count(&mut self.counters, Counter::HalvesWithData, bytes > 0, 1);
        count(&mut self.counters, Counter::HalvesWithVerdict, judged, 1);
        count(&mut self.counters, Counter::BytesWithVerdict, judged, bytes);
        self.counters.add(Counter::PayloadBytes, bytes);
        self.counters.add(Counter::OutstandingOverflow, half.overflow());
        self.counters.add(Counter::UnansweredOverflow, half.unanswered());
        let joined = half.stretch.as_ref().map_or(0, |stretch| stretch.joined_periods);
        self.counters.add(Counter::PeriodOverflow, joined);
        self.counters.add(Counter::SegmentsOutOfWindow, half.totals.out_of_window);
        self.counters.add(Counter::CaptureGaps, u64::from(half.totals.missed_bytes > 0));
        if let Some(finding) = verdicts.finding {
            self.counters.add(Counter::halves_of(finding.confidence), 1);
            self.counters.add(Counter::bytes_of(finding.confidence), bytes);
        }
        for (period, verdict) in verdicts.periods {
            self.rows.periods.push(report::period_row(ends, &period, verdict));
        }
        if let Some(whole) = verdicts.whole {
            let tunnel = self.tunnels.get(&flow.key.tunnel).map(|name| name.to_string());
            let (capacity, name) = (capacity.as_ref(), chosen.cloned().unwrap_or_default());
            let row = report::flow_row(flow, ends, side, capacity, whole, name, tunnel);
            self.rows.flows.push(row);
        }
        judged
    }

    /// Judges the intervals that have ended, and reports them where they are wanted.
    fn judge_intervals(&mut self, flow: &mut Flow, side: usize) {
        let Some(stretch) = &mut flow.halves[side].stretch else { return };
        let intervals = std::mem::take(&mut stretch.intervals);
        if intervals.is_empty() {
            return;
        }
        let flow_id = self.flow_id(flow);
        let rows = self.wanted.intervals && self.is_chosen(flow, flow_id);
        let ends = report::ends(flow, flow_id, side);
        let mut judge = judge_of(flow, side, ends, (&self.options, &self.too_short));
        for interval in intervals {
            if let Some(verdict) = judge.interval(&interval, rows) {
                let capacity = judge.capacity.as_ref();
                self.rows.intervals.push(report::interval_row(ends, &interval, capacity, verdict));
            }
        }
    }

    /// Files a segment, and reports it. Apart from the path without rows, which needs little of
    /// what filing tells.
    #[inline(never)]
    fn segment_with_row(
        &mut self,
        flow: &mut Flow,
        frame: u64,
        entry: &Entry,
        sack: &[(Seq, Seq)],
    ) {
        let filed = flow.segment(frame, entry, sack, self.plan);
        self.counters.add(Counter::DuplicateFrames, u64::from(filed.duplicate));
        if self.options.frame.is_some_and(|wanted| wanted != frame) {
            return;
        }
        let flow_id = self.flow_id(flow);
        if self.is_chosen(flow, flow_id) {
            let ends = report::ends(flow, flow_id, flow::handshake::side(entry));
            let row = report::segment_row(flow, ends, frame, entry, sack, &filed);
            self.rows.segments.push(row);
        }
    }
}

/// What is to judge the half of `side`, by the options and what is said of a half too short for a
/// capacity.
fn judge_of<'a>(
    flow: &'a mut Flow,
    side: usize,
    ends: Ends,
    (options, too_short): (&'a Options, &'a str),
) -> Judge<'a> {
    let position = flow.position(side);
    let sack_agreed = flow.handshake.sack_agreed();
    let half = &mut flow.halves[side];
    let pprate = half.capacity(options.min_packets);
    let capacity = pprate.map(|capacity| half.credible(capacity));
    Judge { half, ends, position, sack_agreed, pprate, capacity, options, too_short }
}

/// How far timestamps of a capture run backwards in practice (several queues, a clock corrected by
/// NTP), generously.
const CLOCK_SLACK: Nanos = Nanos(1_000_000_000);

/// Short flows of a full table that have their rows, per second: some ten milliseconds of work.
const EVICTED_ROWS_PER_SECOND: u32 = 2048;
/// Rows per record batch: large enough for columnar work, small enough to stay in cache.
const BATCH_ROWS: usize = 8192;
/// Flows ended at a time when the input has ended.
const FINISH_FLOWS: usize = 4096;
/// Slots searched for idle flows when nothing arrives.
const TICK_SLOTS: usize = 4096;
