//! Properties of the whole path from segments to rows.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use proptest::prelude::*;
use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::{Options, Pipeline, Table};
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::{Endpoint, FlowKey, Segment, flags, marks};

/// A segment of one of three flows, with numbers that are close enough to make sense now and then,
/// and the time to the one before.
fn segment() -> impl Strategy<Value = (Segment, i64)> {
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

fn capture() -> impl Strategy<Value = Vec<Segment>> {
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

fn run(segments: &[Segment], cuts: &[usize]) -> (Vec<(Table, RecordBatch)>, Pipeline) {
    let tables = vec![Table::Flows, Table::Intervals, Table::Periods, Table::Segments];
    let mut pipeline = Pipeline::new(Options { tables, compat_seed: true, ..Options::default() });
    let mut rest = segments;
    for &cut in cuts {
        let (batch, after) = rest.split_at(cut.min(rest.len()));
        pipeline.push(batch);
        // As on a live link, where rows do not wait for a burst.
        pipeline.settle(pipeline.flows() / 2 + 1);
        rest = after;
    }
    pipeline.push(rest);
    while pipeline.finish() {}
    (pipeline.take(true), pipeline)
}

/// The rows as text in an order of their own: when a flow is found idle depends on the batches,
/// what is said about it does not.
fn rows(batches: &[(Table, RecordBatch)]) -> Vec<String> {
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

fn sum(batches: &[(Table, RecordBatch)], table: Table, column: &str) -> u64 {
    let of_table = batches.iter().filter(|(of, _)| *of == table);
    let columns = of_table.filter_map(|(_, batch)| batch.column_by_name(column));
    columns.map(|column| column.as_primitive::<UInt64Type>().values().iter().sum::<u64>()).sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_cut_of_the_input_gives_the_same_rows(
        segments in capture(),
        cuts in prop::collection::vec(0usize..50, 0..20),
    ) {
        let (whole, _) = run(&segments, &[]);
        let (cut, _) = run(&segments, &cuts);
        prop_assert_eq!(rows(&whole), rows(&cut));
    }

    #[test]
    fn intervals_and_periods_add_up_to_their_flows(segments in capture()) {
        let (batches, pipeline) = run(&segments, &[]);
        for column in ["unique_bytes", "data_packets", "retransmitted_bytes"] {
            let flows = sum(&batches, Table::Flows, column);
            prop_assert_eq!(flows, sum(&batches, Table::Intervals, column), "{}", column);
            prop_assert_eq!(flows, sum(&batches, Table::Periods, column), "{}", column);
        }
        let of_segments = batches.iter().filter(|(table, _)| *table == Table::Segments);
        let segment_rows: usize = of_segments.map(|(_, batch)| batch.num_rows()).sum();
        prop_assert_eq!(segment_rows as u64, pipeline.counters().value(Counter::PacketsTcp));
        let packets = sum(&batches, Table::Flows, "packets");
        let copies = sum(&batches, Table::Flows, "duplicate_frames");
        prop_assert_eq!(packets + copies, segment_rows as u64);
    }

    #[test]
    fn scores_stay_in_their_range(segments in capture()) {
        let (batches, _) = run(&segments, &[]);
        for (table, batch) in &batches {
            for name in ["retransmission_score", "rwnd_score", "rwnd_time_score"] {
                let Some(column) = batch.column_by_name(name) else { continue };
                for value in column.as_primitive::<Float64Type>().iter().flatten() {
                    prop_assert!((0.0..=1.0).contains(&value), "{table:?} {name} {value}");
                }
            }
        }
    }
}

/// Sequence numbers begin shortly before they wrap.
const ORIGIN: Seq = Seq(u32::MAX - 20_000);
