//! The tables: a fixed contract. Columns may be added, never renamed.

use crate::columns;
use crate::score::Scores;
use crate::units::Nanos;
use crate::wire::community::CommunityId;
use std::borrow::Cow;
use std::net::IpAddr;

/// A sentence; most flows are short and share theirs.
pub type Text = Cow<'static, str>;
/// The scores of a row, and what is concluded from its facts.
pub type Judgement = (Scores, Verdict);
/// One row per direction, at its end or at expiry.
pub type FlowRow = (Ends, (FlowFacts, Judgement));
/// One row per direction and periodic calculation.
pub type IntervalRow = (Ends, (IntervalFacts, Judgement));
/// One row per direction and period.
pub type PeriodRow = (Ends, (PeriodFacts, Judgement));

columns! {
    /// Which direction: who sends data to whom. Shared by `flows`, `intervals`, `periods` and
    /// `stalls`.
    #[derive(Clone, Copy, Debug)]
    pub struct Ends / EndsBuilder {
        /// Identifier of the flow, the same for both directions and in every run over the same
        /// packets.
        flow_id: u64,
        /// `orig` when the data sender opened the connection, else `resp`.
        direction: &'static str,
        /// Address of the data sender.
        src: IpAddr,
        /// Port of the data sender.
        src_port: u16,
        /// Address of the data receiver.
        dst: IpAddr,
        /// Port of the data receiver.
        dst_port: u16,
    }
}

columns! {
    /// What was measured of a direction.
    #[derive(Clone, Debug, Default)]
    pub struct FlowFacts / FlowFactsBuilder {
        /// Community ID version 1 of the flow.
        community_id: CommunityId,
        /// The tunnel in which the flow ran; NULL outside any.
        tunnel: Option<String>,
        /// The file or the interface that showed the first frame of the flow; NULL where several
        /// interfaces are watched at once.
        source: Option<String>,
        /// Number of the connection in its capture, from 0, as in Wireshark's `tcp.stream`. With a
        /// filter it counts those of the packets that passed. NULL live and in parts of a capture.
        stream: Option<u32>,
        /// Position in the input of the first frame of the flow, from 1.
        first_frame: u64,
        /// Time of the first segment of the flow in ns since the epoch.
        start_ns: Nanos,
        /// Time of the last segment of the flow in ns since the epoch.
        end_ns: Nanos,
        /// Outcome of the connection in Zeek's terms (S0, S1, SF, REJ, RSTO, OTH, ...).
        conn_state: &'static str,
        /// Initial sequence number of this direction; NULL when its SYN was not seen.
        initial_seq: Option<u32>,
        /// Whether the whole three-way handshake was seen.
        handshake_seen: bool,
        /// Segments that this direction sent.
        packets: u64,
        /// Segments with payload, super-packets counted as the packets they stand for.
        data_packets: u64,
        /// Bytes on the wire, link layer included.
        wire_bytes: u64,
        /// Payload bytes, retransmissions included, duplicate frames not.
        payload_bytes: u64,
        /// Payload bytes counted once.
        unique_bytes: u64,
        /// Payload bytes sent again, spurious retransmissions included.
        retransmitted_bytes: u64,
        /// Payload bytes of retransmissions that proved unneeded (DSACK, Eifel, or acknowledged
        /// before).
        spurious_bytes: u64,
        /// Segments that arrived late without having been sent again.
        reordered_packets: u64,
        /// Frames seen twice through a mirror port.
        duplicate_frames: u64,
        /// Loss episodes: losses more than a round trip apart.
        loss_events: u64,
        /// Retransmission timeouts.
        rto_events: u64,
        /// Fast retransmissions.
        fast_retransmissions: u64,
        /// Tail loss probes.
        tlp_events: u64,
        /// Times the receiver closed its window.
        zero_window_events: u64,
        /// Zero-window probes.
        zero_window_probes: u64,
        /// Keep-alive segments.
        keep_alives: u64,
        /// Duplicate acknowledgements that this direction received (RFC 5681 section 2).
        duplicate_acks: u64,
        /// MSS option that limits this direction in bytes; NULL when its SYN was not seen.
        mss_option: Option<u16>,
        /// Payload bytes of a full segment.
        effective_mss: Option<u32>,
        /// Shift of the window that limits this direction; 0 when scaling is off, NULL when
        /// unknown.
        window_scale: Option<u8>,
        /// How the window scale is known: `handshake`, `inferred`, or NULL.
        window_scale_source: Option<&'static str>,
        /// Where the capture was made: 0 at the data sender, 1 at the receiver; NULL when unknown.
        position: Option<f64>,
        /// Round-trip time of the handshake in ns.
        handshake_rtt_ns: Option<Nanos>,
        /// Smallest round-trip time in ns.
        rtt_min_ns: Option<Nanos>,
        /// Mean round-trip time in ns.
        rtt_mean_ns: Option<Nanos>,
        /// Largest round-trip time in ns.
        rtt_max_ns: Option<Nanos>,
        /// Round-trip time that 10 % of the samples do not exceed, in ns, right to 1.6 %.
        rtt_p10_ns: Option<Nanos>,
        /// The median in ns, likewise.
        rtt_p50_ns: Option<Nanos>,
        /// The same for 90 %.
        rtt_p90_ns: Option<Nanos>,
        /// The same for 99 %.
        rtt_p99_ns: Option<Nanos>,
        /// Round-trip time samples.
        rtt_samples: u64,
        /// Largest flight size in bytes, as the sender saw it; NULL where more was in flight than
        /// any window allowed, so that the capture lacks acknowledgements.
        flight_size_max: Option<u64>,
        /// Largest receiver window in bytes.
        rwnd_max: Option<u64>,
        /// Payload bit/s from first to last data packet, retransmissions included.
        throughput_bps: Option<f64>,
        /// Unique payload bit/s from first to last data packet.
        goodput_bps: Option<f64>,
        /// Capacity of the path in bit/s of IP packets.
        capacity_bps: Option<f64>,
        /// How the capacity was found, as a word: `pprate_data`, `pair_dispersion`, ...; NULL when
        /// it is not known.
        capacity_method: Option<&'static str>,
        /// Why the capacity is NULL, as a word: `sender_pace`, `too_few_samples`, ...; NULL where
        /// it is known, and without data.
        capacity_unknown: Option<&'static str>,
        /// A lower bound of the capacity in bit/s.
        capacity_lower_bps: Option<f64>,
        /// An upper bound of the capacity in bit/s.
        capacity_upper_bps: Option<f64>,
        /// Whether super-packets of segmentation or receive offload were seen.
        offload_seen: bool,
        /// Bytes acknowledged that the capture never showed.
        missed_bytes: u64,
    }
}

columns! {
    /// What was measured of a direction in one periodic calculation.
    #[derive(Clone, Debug)]
    pub struct IntervalFacts / IntervalFactsBuilder {
        /// Begin of the interval in ns since the epoch.
        start_ns: Nanos,
        /// End of the interval in ns since the epoch.
        end_ns: Nanos,
        /// `ALP`, `STP` or `BTP`: the kind of period that filled most of the interval.
        period_kind: &'static str,
        /// Segments with payload.
        data_packets: u64,
        /// Payload bytes counted once.
        unique_bytes: u64,
        /// Payload bytes sent again.
        retransmitted_bytes: u64,
        /// Payload bit/s, retransmissions included.
        throughput_bps: Option<f64>,
        /// Unique payload bit/s.
        goodput_bps: Option<f64>,
        /// Capacity of the path in bit/s of IP packets, as known at the end of the interval.
        capacity_bps: Option<f64>,
        /// Mean round-trip time in ns.
        rtt_mean_ns: Option<Nanos>,
        /// Largest flight size in bytes; NULL where more was in flight than any window
        /// allowed, so that the capture lacks acknowledgements.
        flight_size_max: Option<u64>,
        /// Smallest receiver window in bytes.
        rwnd_min: Option<u64>,
    }
}

columns! {
    /// What was measured of a direction in one period (Siekkinen et al. 2007: Isolate, then Merge).
    #[derive(Clone, Debug)]
    pub struct PeriodFacts / PeriodFactsBuilder {
        /// `ALP`, `STP` or `BTP`.
        kind: &'static str,
        /// Begin of the period in ns since the epoch.
        start_ns: Nanos,
        /// End of the period in ns since the epoch.
        end_ns: Nanos,
        /// Segments with payload.
        data_packets: u64,
        /// Payload bytes counted once.
        unique_bytes: u64,
        /// Payload bytes sent again.
        retransmitted_bytes: u64,
        /// Payload bit/s, retransmissions included.
        throughput_bps: Option<f64>,
        /// Mean round-trip time in ns.
        rtt_mean_ns: Option<Nanos>,
        /// How many periods Merge joined into this one.
        merged_periods: u32,
    }
}

columns! {
    /// What limited it, and how that is known. Shared by `flows`, `intervals` and `periods`.
    #[derive(Clone, Debug, Default)]
    pub struct Verdict / VerdictBuilder {
        /// The answer of the paper's decision tree; NULL for a short transfer period.
        limitation_siekkinen: Option<&'static str>,
        /// What limited it.
        limitation: Option<&'static str>,
        /// The limitation refined.
        cause: Option<&'static str>,
        /// `high`, `medium` or `low`.
        confidence: Option<&'static str>,
        /// The chance that `limitation` is right, calibrated on worlds that were not fitted.
        probability: Option<f64>,
        /// The limitation that is the likeliest after it.
        alternative: Option<&'static str>,
        /// The chance that it is that one.
        alternative_probability: Option<f64>,
        /// Why there is no limitation, or which score or round-trip time is missing.
        null_reason: Option<Text>,
        /// Whether a standing queue was seen.
        bufferbloat: Option<bool>,
        /// Share of the time in which the application had nothing to send.
        share_application: Option<f64>,
        /// Share of the time in which the receiver window held the sender back.
        share_receiver_window: Option<f64>,
        /// Share of the time in which the network or congestion control held the sender back.
        share_network: Option<f64>,
        /// Share of the time spent in loss recovery.
        share_recovery: Option<f64>,
        /// Predicted throughput in bit/s with this limitation removed.
        headroom_bps: Option<f64>,
        /// Why `headroom_bps` is NULL, as a word: `sender_pace`, `beyond_evidence`, ...; NULL where
        /// it is known, and without a limitation.
        gain_unknown: Option<&'static str>,
        /// What would limit next.
        next_limitation: Option<&'static str>,
        /// The numbers that decided, as a sentence.
        evidence: Option<Text>,
        /// What to change, where, to which value.
        remedy: Option<Text>,
        /// The items of evidence that weighed most for the limitation, with their weights in
        /// log-odds.
        speaks_for: Option<Text>,
        /// Those that weighed most against it.
        speaks_against: Option<Text>,
    }
}

columns! {
    /// A segment of a chosen flow.
    #[derive(Clone, Debug)]
    pub struct SegmentRow / SegmentRowBuilder {
        /// Identifier of the flow.
        flow_id: u64,
        /// `orig` or `resp`.
        direction: &'static str,
        /// Position of the frame in the input, from 1.
        frame: u64,
        /// Time in ns since the epoch.
        ts_ns: Nanos,
        /// Relative sequence number of the first byte.
        seq_start: i64,
        /// Relative sequence number after the last byte.
        seq_end: i64,
        /// Relative acknowledgement number.
        ack: Option<i64>,
        /// Window that this segment advertises in bytes, scaled.
        rwnd: Option<u64>,
        /// The window field as sent, unscaled.
        window_raw: u16,
        /// Flight size in bytes after this segment.
        flight_size: Option<u64>,
        /// What it was: new, a kind of retransmission, reordered, probe, ack, ...
        kind: &'static str,
        /// What proves the kind: the rule, and the frame.
        proof: Option<String>,
        /// The rule by which a data segment is not new, or by which an acknowledgement proves a
        /// retransmission unneeded, as a word.
        rule: Option<&'static str>,
        /// The frame that proves the kind: the earlier copy, or the segment that overtook this one.
        proof_frame: Option<u64>,
        /// Bytes of earlier retransmissions that this acknowledgement proves to have been unneeded.
        spurious_bytes: u64,
        /// What the sender's retransmission timeout would be in ns.
        rto_ns: Nanos,
        /// Smoothed round-trip time in ns.
        srtt_ns: Option<Nanos>,
        /// Round-trip time in ns that this acknowledgement gives for the data it answers; NULL when
        /// it gives none.
        rtt_ns: Option<Nanos>,
        /// Timestamp of the sender.
        tsval: Option<u32>,
        /// Timestamp of the other side that it echoes.
        tsecr: Option<u32>,
        /// IPv4 identification, 0 for IPv6.
        ip_id: u16,
        /// SACK blocks as `left-right` in relative numbers, separated by spaces.
        sack: Option<String>,
        /// TCP flags as letters.
        flags: String,
        /// ECN field of the IP header.
        ecn: u8,
    }
}

columns! {
    /// One counter of one run.
    #[derive(Clone, Debug)]
    pub struct CounterRow / CounterRowBuilder {
        /// Name of the counter.
        name: &'static str,
        /// Its value.
        value: u64,
    }
}
