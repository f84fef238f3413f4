//! Captures that mean little, and rows to compare.

use arrow_array::RecordBatch;
use proptest::prelude::*;
use tcpwhy_core::pipeline::Table;
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::{Endpoint, FlowKey, Segment, flags, marks};

/// A segment of one of three flows, and the time to the one before. Numbers are close enough to
/// make sense now and then.
pub fn segment() -> impl Strategy<Value = (Segment, i64)> {
    let place = (0u16..3, any::<bool>(), 0i64..40_000_000, any::<u16>());
    let numbers = (0u32..60, 0u32..60, prop_oneof![Just(0u32), Just(1000), 1u32..5000]);
    let rest = (any::<u8>(), any::<u16>(), 0u32..50, 0u8..5, any::<u8>());
    (place, numbers, rest).prop_map(|((flow, forward, gap, noise), (seq, ack, len), rest)| {
        let (bits, window_raw, tsval, sack_count, marks) = rest;
        let end = |last: u8, port| Endpoint { addr: [last; 16], port };
        let mut segment = Segment {
            key: FlowKey { low: end(1, 1000 + flow), high: end(2, 80), tunnel: 0 },
            forward,
            // Mostly ACK, seldom anything else.
            flags: if bits < 40 { u16::from(bits) } else { flags::ACK },
            marks: marks & marks::TIMESTAMPS,
            ip_id: noise & 15,
            window_raw,
            seq: ORIGIN + seq * 1000,
            ack: ORIGIN + ack * 1000,
            payload_len: len,
            ip_len: len + 40,
            wire_len: len + 54,
            tsval,
            tsecr: tsval.wrapping_sub(3),
            mss_option: 1000,
            window_scale: bits & 15,
            sack_count,
            ..Segment::default()
        };
        for (at, block) in segment.sack.iter_mut().enumerate() {
            let left = ORIGIN + (ack + at as u32) * 1000;
            *block = (left, left + 1000);
        }
        (segment, gap)
    })
}

/// Segments in the order of capture.
pub fn capture() -> impl Strategy<Value = Vec<Segment>> {
    prop::collection::vec(segment(), 0..400).prop_map(|segments| {
        let mut ts = Nanos(1_000_000_000_000);
        let mut frame = 0;
        let each = |(mut segment, gap): (Segment, i64)| {
            // One gap in a thousand may be long enough to end a flow, some run backwards.
            ts += Nanos(if gap < 40_000 { gap * 10_000_000 } else { gap - 4_000_000 });
            frame += 1;
            (segment.ts, segment.frame) = (ts, frame);
            segment
        };
        segments.into_iter().map(each).collect()
    })
}

/// The rows as text in an order of their own: when a flow is found idle depends on the batches,
/// what is said about it does not.
pub fn rows(batches: &[(Table, RecordBatch)]) -> Vec<String> {
    let mut rows = Vec::new();
    for (table, batch) in batches {
        for row in 0..batch.num_rows() {
            let cells = batch.columns().iter().map(|column| format!("{:?}", column.slice(row, 1)));
            rows.push(format!("{table:?} {}", cells.collect::<Vec<_>>().join(" ")));
        }
    }
    rows.sort();
    rows
}

/// Sequence numbers begin shortly before they wrap.
const ORIGIN: Seq = Seq(u32::MAX - 20_000);
