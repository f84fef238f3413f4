//! Properties of the whole path from segments to rows.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use proptest::prelude::*;
use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::{Options, Pipeline, Table};
use tcpwhy_core::wire::Segment;

use crate::support::{capture, rows};

fn run(segments: &[Segment], cuts: &[usize]) -> (Vec<(Table, RecordBatch)>, Pipeline) {
    let tables = Table::ALL.to_vec();
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
