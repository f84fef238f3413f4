//! Counters of one run: every bound that bites and every frame that is not analysed is counted here
//! and shown with the results.

use crate::diagnosis::limit::Confidence;

/// Declares counters once: the enum, the names of the `counters` table, and their meaning.
#[macro_export]
macro_rules! counters {
    ($(#[$meta:meta])* pub enum $counter:ident {
        $($(#[doc = $doc:literal])+ $variant:ident = $name:literal,)+
    }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(usize)]
        pub enum $counter { $($(#[doc = $doc])+ $variant,)+ }

        impl $counter {
            /// Every counter, in the order in which they are shown.
            pub const ALL: &'static [$counter] = &[$($counter::$variant,)+];

            /// The name in the `counters` table.
            pub fn name(self) -> &'static str {
                match self { $($counter::$variant => $name,)+ }
            }

            /// What it counts, in one sentence.
            pub fn doc(self) -> &'static str {
                match self { $($counter::$variant => concat!($($doc),+),)+ }
            }
        }
    };
}

counters! {
    /// What is counted. The names are those of the `counters` table.
    pub enum Counter {
        /// Frames read from the input.
        PacketsRead = "packets_read",
        /// Frames that carried a TCP segment that was analysed.
        PacketsTcp = "packets_tcp",
        /// Frames that a capture filter left out.
        PacketsFiltered = "packets_filtered",
        /// Frames with a network or transport protocol other than TCP over IP.
        PacketsNotTcp = "packets_not_tcp",
        /// Fragments of IP packets: flagged, counted, never guessed at.
        PacketsFragment = "packets_fragment",
        /// Frames whose link type is not known.
        UndecodableLinktype = "undecodable_linktype",
        /// Frames cut off before the end of the TCP header.
        UndecodableTruncated = "undecodable_truncated",
        /// Frames whose headers contradict themselves.
        UndecodableMalformed = "undecodable_malformed",
        /// IEEE 802.11 frames that aggregate several packets (A-MSDU), which are not taken apart.
        UndecodableAggregate = "undecodable_aggregate",
        /// Frames nested in more tunnels than are peeled.
        UndecodableNesting = "undecodable_nesting",
        /// Frames seen twice: from a mirror port, or from captures of several places read as one.
        DuplicateFrames = "duplicate_frames",
        /// Rows beyond those that are put in order of time: they come as connections end.
        RowsUnordered = "rows_unordered",
        /// Frames whose time was before that of the frame before them.
        TimeRegressions = "time_regressions",
        /// Flows seen.
        Flows = "flows",
        /// Directions that moved data.
        DirectionsWithData = "directions_with_data",
        /// Directions with a verdict.
        DirectionsWithVerdict = "directions_with_verdict",
        /// Flows of which at least one direction has a verdict.
        FlowsWithVerdict = "flows_with_verdict",
        /// Payload bytes of all directions.
        PayloadBytes = "payload_bytes",
        /// Payload bytes of the directions with a verdict.
        BytesWithVerdict = "bytes_with_verdict",
        /// Directions whose verdict has high confidence.
        DirectionsHigh = "directions_high_confidence",
        /// Directions whose verdict has medium confidence.
        DirectionsMedium = "directions_medium_confidence",
        /// Directions whose verdict has low confidence.
        DirectionsLow = "directions_low_confidence",
        /// Payload bytes of the directions whose verdict has high confidence.
        BytesHigh = "bytes_high_confidence",
        /// Payload bytes of the directions whose verdict has medium confidence.
        BytesMedium = "bytes_medium_confidence",
        /// Payload bytes of the directions whose verdict has low confidence.
        BytesLow = "bytes_low_confidence",
        /// Flows put out of a full flow table before their end.
        TableEvictions = "table_evictions",
        /// Of these, flows that had been closed.
        EvictedClosed = "evicted_closed",
        /// Of these, flows of which only SYNs were seen: they have no row.
        EvictedHalfOpen = "evicted_half_open",
        /// Of these, flows of few packets.
        EvictedShort = "evicted_short",
        /// Of these, all others.
        EvictedLong = "evicted_long",
        /// Flows without a row: half-open, or short beyond 2,048 a second, when the table was full.
        FlowsForgotten = "flows_forgotten",
        /// Connections whose numbers are not remembered: what continues one of them after it ended
        /// counts as another connection.
        StreamsForgotten = "streams_forgotten",
        /// Packets of the forgotten flows.
        PacketsForgotten = "packets_forgotten",
        /// Their payload bytes.
        BytesForgotten = "bytes_forgotten",
        /// Segments, or acknowledgements on their way, given up since a direction had too many
        /// outstanding: what becomes of them, such as a loss, is not counted.
        OutstandingOverflow = "outstanding_overflow",
        /// Segments of connections seen in one direction only, beyond the last 256 of each: nothing
        /// will acknowledge them, so that nothing is lost with their record.
        UnansweredOverflow = "unanswered_overflow",
        /// Periods that left as rows before their flow ended, since 10 of a direction
        /// waited for Merge: their verdict rests on what was known by then.
        PeriodsSettled = "periods_settled",
        /// Stalls beyond the 10 longest of their direction: their number and length is in the rows
        /// of those.
        StallsLeftOut = "stalls_left_out",
        /// Frames without a time of their own, which are given that of the frame before them.
        PacketsWithoutTime = "packets_without_time",
        /// Frames in tunnels beyond the number that is told apart.
        TunnelOverflow = "tunnel_overflow",
        /// Segments whose numbers lie further away than any window.
        SegmentsOutOfWindow = "segments_out_of_window",
        /// Directions with acknowledgements of data that the capture never showed.
        CaptureGaps = "capture_gaps",
        /// Packets that the kernel dropped before the capture saw them.
        KernelDrops = "kernel_drops",
        /// Packets that this host sent with a tag in the frame, behind which the kernel's hash does
        /// not look: workers see their connections in parts, which --fanout hosts and cbpf prevent.
        PacketsTagHidden = "packets_tag_hidden",
        /// Packets of a live run whose time the card took.
        PacketsHardwareTime = "packets_hardware_time",
        /// Packets of a live run whose time the kernel took.
        PacketsKernelTime = "packets_kernel_time",
        /// Rows of a live run that were dropped since what takes them was too slow.
        RowsDropped = "rows_dropped",
    }
}

impl Counter {
    /// Counts the directions with a verdict of this confidence.
    pub(crate) fn halves_of(confidence: Confidence) -> Counter {
        match confidence {
            Confidence::High => Counter::DirectionsHigh,
            Confidence::Medium => Counter::DirectionsMedium,
            Confidence::Low => Counter::DirectionsLow,
        }
    }

    /// Counts the payload bytes of such directions.
    pub(crate) fn bytes_of(confidence: Confidence) -> Counter {
        match confidence {
            Confidence::High => Counter::BytesHigh,
            Confidence::Medium => Counter::BytesMedium,
            Confidence::Low => Counter::BytesLow,
        }
    }
}

/// One value per [`Counter`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters([u64; Counter::ALL.len()]);

impl Default for Counters {
    fn default() -> Counters {
        Counters([0; Counter::ALL.len()])
    }
}

impl Counters {
    /// Adds one.
    #[inline]
    pub fn count(&mut self, counter: Counter) {
        self.add(counter, 1);
    }

    /// Adds `n`.
    #[inline]
    pub fn add(&mut self, counter: Counter, n: u64) {
        self.0[counter as usize] += n;
    }

    /// The present value.
    pub fn value(&self, counter: Counter) -> u64 {
        self.0[counter as usize]
    }

    /// Adds the values of another run or worker.
    pub fn merge(&mut self, other: &Counters) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// Every counter with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Counter, u64)> + '_ {
        Counter::ALL.iter().map(|&counter| (counter, self.value(counter)))
    }
}
