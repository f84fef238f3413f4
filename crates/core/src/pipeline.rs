//! The main path: segments in, record batches out.

use crate::analysis::{Analysis, Followed};
use crate::counter::{Counter, Counters};
use crate::flow;
use crate::flow::table::Limits;
pub use crate::flow::table::class::Timeouts;
pub use crate::options::{FlowChoice, Options};
pub use crate::record::Table;
use crate::stream::Opening;
use crate::units::Nanos;
use crate::wire::Segment;
use crate::wire::hash::HashKey;
use arrow_array::RecordBatch;
use std::sync::Arc;

/// One worker's share of the analysis. All segments of a flow must go to the same pipeline.
pub struct Pipeline {
    hash_key: HashKey,
    table: flow::table::Table<Followed>,
    analysis: Analysis,
}

impl Pipeline {
    /// An empty pipeline.
    pub fn new(options: Options) -> Pipeline {
        let Options { timeouts, max_flows: flows, beside, .. } = options;
        let limits = Limits { timeouts, flows, beside };
        let hash_key = HashKey::new(options.hash_seed);
        let table = flow::table::Table::new(hash_key, limits);
        Pipeline { hash_key, table, analysis: Analysis::new(options) }
    }

    /// Keeps the segments that may open a connection, for [`Pipeline::openings`].
    pub fn numbering(mut self) -> Pipeline {
        self.analysis.openings = Some(Vec::new());
        self
    }

    /// The segments pushed so far that may open a connection; whoever takes them empties it.
    pub fn openings(&mut self) -> Option<&mut Vec<Opening>> {
        self.analysis.openings.as_mut()
    }

    /// Analyses a batch of segments in the order of capture; 32 to 256 at a time is best.
    pub fn push(&mut self, segments: &[Segment]) {
        let key = self.hash_key;
        self.push_own(segments, segments.iter().map(|segment| (key.hash(&segment.key), segment)));
    }

    /// Analyses those segments of a batch that are this pipeline's own, each with the hash of its
    /// flow by [`Pipeline::hash_key`].
    pub fn push_own<'a>(
        &mut self,
        batch: &[Segment],
        own: impl Iterator<Item = (u64, &'a Segment)>,
    ) {
        let Some(last) = batch.last() else { return };
        self.analysis.frame = last.frame;
        let mut count = 0;
        // The earliest time of the batch counts: one bad timestamp must not end every flow. The
        // result does not depend on how flows are shared out, even where a clock was set back.
        let mut earliest = Nanos::MAX;
        let own = own.inspect(|(_, segment)| {
            count += 1;
            earliest = earliest.min(segment.ts);
        });
        self.table.push(own, &mut self.analysis);
        if count > 0 {
            self.analysis.counters.add(Counter::PacketsTcp, count as u64);
            self.table.sweep(count, earliest - CLOCK_SLACK, &mut self.analysis);
        }
    }

    /// The key of the hash that [`Pipeline::push_own`] takes.
    pub fn hash_key(&self) -> HashKey {
        self.hash_key
    }

    /// Lets time pass on a link without packets: flows idle at `now` expire.
    pub fn tick(&mut self, now: Nanos) {
        self.table.sweep(TICK_SLOTS, now, &mut self.analysis);
    }

    /// Analyses what was filed of the next `flows` flows but is not worth a burst yet. The rows of
    /// a slow flow are then not late; their contents do not depend on it.
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

/// How far timestamps of a capture run backwards in practice (several queues, a clock corrected by
/// NTP), generously.
const CLOCK_SLACK: Nanos = Nanos(1_000_000_000);

/// Flows ended at a time when the input has ended: their rows are a small batch.
const FINISH_FLOWS: usize = 256;
/// Slots searched for idle flows when nothing arrives.
const TICK_SLOTS: usize = 4096;
