//! The table of stalls.

use super::tables::Ends;
use crate::columns;
use crate::units::Nanos;

/// One row per direction and stall, of the longest.
pub type StallRow = (Ends, StallFacts);

columns! {
    /// A stall of a direction: a span between two packets in which its sender sent nothing and
    /// nothing new was acknowledged, longer than min(2 SRTT, RTO) (Zhou et al. 2015) and than a
    /// millisecond. The 10 longest of a direction with data have rows.
    #[derive(Clone, Debug)]
    pub struct StallFacts / StallFactsBuilder {
        /// Place among the stalls of the direction, from 1: the longest first, of equal ones the
        /// earlier.
        rank: u32,
        /// Time of the packet before the stall in ns since the epoch.
        start_ns: Nanos,
        /// Time of the packet that ended it in ns since the epoch.
        end_ns: Nanos,
        /// Position in the input of the packet before the stall, from 1.
        frame_before: u64,
        /// Position in the input of the packet that ended it.
        frame_after: u64,
        /// Flight size in bytes at its beginning; NULL where the capture lacks acknowledgements.
        flight_size: Option<u64>,
        /// What ended it: the `kind` of a segment of the sender as in `segments`, or `ack`,
        /// `window_update`, `peer_data`, `peer_syn`, `peer_fin`, `peer_rst` of the other side.
        ended_by: &'static str,
        /// Whose time it was: `application`, `receiver_window`, `network` or `recovery`, as in the
        /// columns `share_…`; NULL where nothing tells.
        owner: Option<&'static str>,
        /// Why the direction stalled, as a word: `nothing_to_send`, `retransmission_timeout`, ...;
        /// NULL where nothing tells.
        stall_cause: Option<&'static str>,
        /// Stalls of the direction, those without a row included.
        stall_events: u64,
        /// Their time together in ns.
        stall_total_ns: Nanos,
    }
}
