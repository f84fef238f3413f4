//! Flows to rows.

use crate::flow::entry::Entry;
use crate::flow::half::Half;
use crate::flow::loss::ledger::Rule;
use crate::flow::path::capacity::Capacity;
use crate::flow::stall::Stalls;
use crate::flow::time::period::Period;
use crate::flow::time::segmenter::Interval;
use crate::flow::{Flow, SegmentOutcome, handshake};
use crate::reason::{CapacityMethod, CapacityUnknown, StallCause};
use crate::record::{
    Ends, FlowFacts, FlowRow, IntervalFacts, IntervalRow, Judgement, PeriodFacts, PeriodRow,
    SegmentRow, StallFacts, StallRow, Text,
};
use crate::units::{BitRate, Nanos, Seq};
use crate::wire::community::CommunityId;
use crate::wire::flags;

/// The ends of the half that `side` sends, as every table names them.
pub fn ends(flow: &Flow, flow_id: u64, side: usize) -> Ends {
    let ends = [flow.key.low, flow.key.high];
    let orig = flow.handshake.orig.unwrap_or(0);
    Ends {
        flow_id,
        direction: if side == orig { "orig" } else { "resp" },
        src: ends[side].ip(),
        src_port: ends[side].port,
        dst: ends[1 - side].ip(),
        dst_port: ends[1 - side].port,
    }
}

/// The row of a half at its end.
pub fn flow_row(
    flow: &Flow,
    ends: Ends,
    side: usize,
    capacity: Option<&Capacity>,
    (scores, mut verdict): Judgement,
    community_id: CommunityId,
    tunnel: Option<String>,
) -> FlowRow {
    let half = &flow.halves[side];
    let totals = &half.totals;
    let rate = |bytes| BitRate::of(bytes, totals.data_span()).map(|rate| rate.0);
    let (window_scale, window_scale_source) = match half.window.scale {
        Some(scale) => (Some(scale), Some("handshake")),
        None => (half.window.inferred_scale(), half.window.inferred_scale().map(|_| "inferred")),
    };
    let has_data = totals.payload_bytes > 0;
    let method = capacity.map_or(Err(CapacityUnknown::TooFewPackets), |capacity| capacity.method);
    if least_rtt(flow, side) == Some(Nanos(0)) {
        verdict.null_reason.get_or_insert(Text::Borrowed(UNRESOLVED));
    }
    let facts = FlowFacts {
        community_id,
        tunnel,
        first_frame: flow.first_frame,
        start_ns: flow.start,
        end_ns: flow.end,
        conn_state: flow.handshake.conn_state(),
        initial_seq: flow.handshake.offer(side).map(|offer| offer.iss.0),
        handshake_seen: flow.handshake.complete(),
        packets: totals.packets,
        data_packets: totals.data_packets,
        wire_bytes: totals.wire_bytes,
        payload_bytes: totals.payload_bytes,
        unique_bytes: totals.unique_bytes,
        retransmitted_bytes: totals.retransmitted_bytes,
        spurious_bytes: totals.spurious_bytes,
        reordered_packets: totals.reordered_packets,
        duplicate_frames: totals.duplicate_frames,
        loss_events: totals.loss_events,
        rto_events: totals.rto_events,
        fast_retransmissions: totals.fast_retransmissions,
        tlp_events: totals.tlp_events,
        zero_window_events: totals.zero_window_events,
        zero_window_probes: totals.zero_window_probes,
        keep_alives: totals.keep_alives,
        duplicate_acks: totals.duplicate_acks,
        mss_option: flow.handshake.offer(1 - side).and_then(|offer| offer.mss),
        effective_mss: half.mss.known(),
        window_scale,
        window_scale_source,
        position: flow.position(side),
        flight_size_max: half.flight_seen(totals.flight_max),
        rwnd_max: totals.rwnd_max,
        throughput_bps: rate(totals.payload_bytes),
        goodput_bps: rate(totals.unique_bytes),
        capacity_bps: capacity.and_then(|capacity| capacity.bps),
        capacity_method: method.ok().map(CapacityMethod::name),
        capacity_unknown: method.err().map(CapacityUnknown::name).filter(|_| has_data),
        capacity_lower_bps: capacity.and_then(|capacity| capacity.lower_bps),
        capacity_upper_bps: capacity.and_then(|capacity| capacity.upper_bps),
        offload_seen: half.mss.super_packets,
        missed_bytes: totals.missed_bytes,
        ..delays(flow, side)
    };
    (ends, (facts, (scores, verdict)))
}

/// The columns of round-trip times. `source` and `stream` stay NULL: they are known where rows are
/// put in order.
fn delays(flow: &Flow, side: usize) -> FlowFacts {
    let rtt = &flow.halves[side].rtt;
    let [p10, p50, p90, p99] = match rtt.min.zip(rtt.max) {
        Some((min, max)) => {
            let found = flow.halves[side].totals.rtts.quantiles([0.1, 0.5, 0.9, 0.99]);
            // A step of the sketch may reach beyond the samples in it.
            found.map(|found| found?.clamp(min, max).resolved())
        }
        None => [None; 4],
    };
    FlowFacts {
        handshake_rtt_ns: flow.handshake_rtt().and_then(Nanos::resolved),
        // In a short exchange every other sample holds the time in which a side thought.
        rtt_min_ns: least_rtt(flow, side).and_then(Nanos::resolved),
        rtt_mean_ns: rtt.mean().or(flow.handshake_rtt()).and_then(Nanos::resolved),
        rtt_max_ns: rtt.max.and_then(Nanos::resolved),
        rtt_p10_ns: p10,
        rtt_p50_ns: p50,
        rtt_p90_ns: p90,
        rtt_p99_ns: p99,
        rtt_samples: rtt.samples,
        ..FlowFacts::default()
    }
}

/// The smallest round-trip time of a half, that of the handshake included.
fn least_rtt(flow: &Flow, side: usize) -> Option<Nanos> {
    [flow.halves[side].rtt.min, flow.handshake_rtt()].into_iter().flatten().min()
}

/// What is said of a flow with a round trip shorter than a tick.
const UNRESOLVED: &str = "no smallest RTT: it is shorter than a tick of the capture's clock";

/// The row of a periodic calculation.
pub fn interval_row(
    ends: Ends,
    interval: &Interval,
    half: &Half,
    capacity: Option<&Capacity>,
    judgement: Judgement,
) -> IntervalRow {
    let length = interval.end.since(interval.start);
    let sums = interval.sums();
    let rate = |bytes| BitRate::of(bytes, length).map(|rate| rate.0);
    let facts = IntervalFacts {
        start_ns: interval.start,
        end_ns: interval.end,
        period_kind: interval.kind.name(),
        data_packets: sums.data_packets,
        unique_bytes: sums.unique_bytes,
        retransmitted_bytes: sums.retransmitted_bytes,
        throughput_bps: rate(sums.payload_bytes),
        goodput_bps: rate(sums.unique_bytes),
        capacity_bps: capacity.and_then(|capacity| capacity.bps),
        rtt_mean_ns: sums.rtt_mean(),
        flight_size_max: half.flight_seen(sums.flight_max.get()),
        rwnd_min: sums.rwnd_min.get(),
    };
    (ends, (facts, judgement))
}

/// The row of a period.
pub fn period_row(ends: Ends, period: &Period, judgement: Judgement) -> PeriodRow {
    let length = period.end.since(period.start);
    let facts = PeriodFacts {
        kind: period.kind.name(),
        start_ns: period.start,
        end_ns: period.end,
        data_packets: period.sums.data_packets,
        unique_bytes: period.sums.unique_bytes,
        retransmitted_bytes: period.sums.retransmitted_bytes,
        throughput_bps: BitRate::of(period.sums.payload_bytes, length).map(|rate| rate.0),
        rtt_mean_ns: period.sums.rtt_mean(),
        merged_periods: period.merged,
    };
    (ends, (facts, judgement))
}

/// The rows of the longest stalls of a half.
pub fn stall_rows(ends: Ends, stalls: &Stalls) -> impl Iterator<Item = StallRow> {
    (1..).zip(stalls.worst()).map(move |(rank, stall)| {
        let facts = StallFacts {
            rank,
            start_ns: stall.start,
            end_ns: stall.end,
            frame_before: stall.frame_before,
            frame_after: stall.frame_after,
            flight_size: stall.flight_size,
            ended_by: stall.ended.name(),
            owner: stall.cause.map(|cause| cause.owner().name()),
            stall_cause: stall.cause.map(StallCause::name),
            stall_events: stalls.count,
            stall_total_ns: stalls.total,
        };
        (ends, facts)
    })
}

/// The row of a segment: with its SACK blocks, what was made of it, and the RTT that it gave.
pub fn segment_row(
    flow: &Flow,
    ends: Ends,
    frame: u64,
    entry: &Entry,
    sack: &[(Seq, Seq)],
    filed: &SegmentOutcome,
    rtt_ns: Option<Nanos>,
) -> SegmentRow {
    let side = handshake::side(entry);
    let (own, peer) = (&flow.halves[side], &flow.halves[1 - side]);
    let seq_start = own.relative(entry.seq).unwrap_or(0);
    let is_ack = entry.has(flags::ACK);
    let scale = if entry.has(flags::SYN) { Some(0) } else { peer.window.scale };
    let blocks = sack.iter().filter_map(|&(left, right)| {
        Some(format!("{}-{}", peer.relative(left)?, peer.relative(right)?))
    });
    let (rule, witness) = (rule(filed), filed.sent.and_then(|sent| sent.filed.witness));
    SegmentRow {
        flow_id: ends.flow_id,
        direction: ends.direction,
        frame,
        ts_ns: entry.ts,
        seq_start,
        seq_end: seq_start + i64::from(entry.seq_len()),
        ack: peer.relative(entry.ack).filter(|_| is_ack),
        rwnd: scale.map(|scale| u64::from(entry.window_raw) << scale),
        window_raw: entry.window_raw,
        flight_size: filed.sent.and_then(|sent| sent.flight_size),
        kind: segment_kind(entry, filed),
        proof: rule.map(|rule| proof(rule, witness)),
        rule: rule.map(Rule::name),
        proof_frame: witness,
        spurious_bytes: filed.acked.spurious_bytes,
        rto_ns: own.rtt.rto(),
        srtt_ns: own.rtt.srtt,
        rtt_ns,
        tsval: entry.has_timestamps().then_some(entry.tsval),
        tsecr: (entry.has_timestamps() && is_ack).then_some(entry.tsecr),
        ip_id: entry.ip_id,
        sack: (!sack.is_empty()).then(|| blocks.collect::<Vec<String>>().join(" ")),
        flags: flag_letters(entry.flags()),
        ecn: entry.ecn(),
    }
}

/// What decided the kind of a segment that is not new, or what its acknowledgement proves.
fn rule(filed: &SegmentOutcome) -> Option<Rule> {
    let kind = filed.sent.map(|sent| sent.filed.rule).filter(|&rule| rule != Rule::Above);
    kind.or(filed.acked.proof)
}

/// The rule in words, with the frame of the earlier copy or of what overtook the segment.
fn proof(rule: Rule, witness: Option<u64>) -> String {
    let meaning = rule.meaning();
    witness.map_or_else(|| meaning.to_owned(), |frame| format!("{meaning}; frame {frame}"))
}

fn segment_kind(entry: &Entry, filed: &SegmentOutcome) -> &'static str {
    match (filed.sent, entry.flags()) {
        _ if filed.duplicate => "duplicate_frame",
        (Some(sent), _) => sent.filed.kind.name(),
        _ if filed.keep_alive => "keep_alive",
        (None, bits) if bits & flags::RST != 0 => "rst",
        (None, bits) if bits & flags::SYN != 0 => "syn",
        (None, bits) if bits & flags::FIN != 0 => "fin",
        _ if filed.acked.duplicate => "duplicate_ack",
        _ => "ack",
    }
}

/// Flags as tcpdump and Wireshark abbreviate them.
fn flag_letters(bits: u16) -> String {
    let letters = [
        (flags::FIN, 'F'),
        (flags::SYN, 'S'),
        (flags::RST, 'R'),
        (flags::PSH, 'P'),
        (flags::ACK, 'A'),
        (flags::URG, 'U'),
        (flags::ECE, 'E'),
        (flags::CWR, 'C'),
        (flags::AE, 'a'),
    ];
    letters.iter().filter(|(flag, _)| bits & flag != 0).map(|&(_, letter)| letter).collect()
}
