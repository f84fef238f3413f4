//! What holds for a run of plain segments ([`Flow::take_plain`](crate::flow::Flow::take_plain)).

use crate::flow::path::probe::Chosen;
use crate::flow::time::plain_sums::PlainSums;
use crate::flow::time::timeline::Timeline;
use crate::flow::totals::Totals;
use crate::units::{Nanos, Seq};

/// What holds for all segments of a run, and what its data adds up to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Run {
    /// Payload of a full segment.
    pub mss: u32,
    /// The data of a run ends before this time, where an interval ends.
    pub until: Nanos,
    /// What the data acknowledges, and the window that comes with it.
    pub ack: Seq,
    /// See `ack`.
    pub window_raw: u16,
    /// Sequence number of bare acknowledgements.
    pub receiver_seq: Seq,
    /// Sums of data that are not added yet.
    pub sums: PlainSums,
    /// Whether a transfer goes on in which full segments are only counted, and how many are not
    /// added yet.
    pub steady: (bool, u32),
    /// The stream that shows the capacity.
    pub chosen: Option<Chosen>,
}

impl Run {
    /// Adds the sums to where they belong; data was sent up to `next`.
    #[inline(never)]
    pub fn flush(&mut self, next: u64, timeline: &mut Timeline, totals: &mut Totals) {
        if self.sums.segments > 0 {
            self.sums.close(next);
            timeline.take_plain(&self.sums, totals.last_data);
            totals.take_plain(&self.sums);
            self.sums.clear();
        }
    }
}
