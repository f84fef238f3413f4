//! Flows that end by silence, and a table that is full.

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};
use proptest::prelude::*;
use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::Timeouts;
use tcpwhy_core::pipeline::{Options, Pipeline, Table};
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::hash::{HashKey, shard};
use tcpwhy_core::wire::{Endpoint, FlowKey, NO_WINDOW_SCALE, Segment, flags};

use crate::support::{capture, rows};

/// A segment of the flow with this number: `S` SYN, `N` SYN of the next connection, `a` SYN/ACK,
/// `.` ACK, `d` data, `f` `F` the FIN of either side, `R` a reset.
fn segment(flow: u32, ms: i64, what: char) -> Segment {
    let client = Endpoint { addr: (1 << 64 | u128::from(flow)).to_be_bytes(), port: 40_000 };
    let server = Endpoint { addr: (2u128 << 64).to_be_bytes(), port: 80 };
    let (forward, flags) = match what {
        'S' | 'N' => (true, flags::SYN),
        'a' => (false, flags::SYN | flags::ACK),
        '.' | 'd' => (true, flags::ACK),
        'f' => (true, flags::FIN | flags::ACK),
        'F' => (false, flags::FIN | flags::ACK),
        'R' => (false, flags::RST | flags::ACK),
        _ => panic!("no segment is called {what}"),
    };
    let payload_len = if what == 'd' { 1000 } else { 0 };
    Segment {
        ts: Nanos::SECOND + Nanos::from_millis(ms),
        key: FlowKey::of(client, server, 0).0,
        forward,
        flags,
        // Time tells which byte it is, so that no data looks sent again.
        seq: Seq(if what == 'S' { 0 } else { 1 + ms as u32 * 1000 }),
        window_raw: 60_000,
        payload_len,
        ip_len: 40 + payload_len,
        wire_len: 54 + payload_len,
        window_scale: NO_WINDOW_SCALE,
        ..Segment::default()
    }
}

fn numbered(mut segments: Vec<Segment>) -> Vec<Segment> {
    segments.sort_by_key(|segment| segment.ts);
    for (at, segment) in segments.iter_mut().enumerate() {
        segment.frame = at as u64 + 1;
    }
    segments
}

fn run(segments: &[Segment], options: &Options) -> (Vec<(Table, RecordBatch)>, Pipeline) {
    let mut pipeline = Pipeline::new(options.clone());
    for batch in segments.chunks(256) {
        pipeline.push(batch);
    }
    while pipeline.finish() {}
    (pipeline.take(true), pipeline)
}

/// Segments of one flow, and into how many flows silence cuts them.
const SILENCES: &str = "
    S@0 S@1000 S@3000 S@7000 S@15000 S@31000 S@63000                 1
    S@0 a@40 S@59000                                                 1
    S@0 S@61000                                                      2
    S@0 a@40 .@80 d@61000                                            1
    S@0 a@40 .@80 d@90 d@179000                                      1
    S@0 a@40 .@80 d@90 d@181000                                      2
    S@0 a@40 .@80 d@90 f@100 F@140 .@9000                            1
    S@0 a@40 .@80 d@90 f@100 F@140 .@10200                           2
    S@0 a@40 .@80 d@90 f@100 d@61000                                 1
    S@0 R@40 S@9000                                                  1
    S@0 R@40 S@11000                                                 2
    S@0 a@40 .@80 d@90 f@100 F@140 N@5000 a@5040 .@5080 d@100000     2
";

#[test]
fn silence_ends_a_flow_by_what_was_seen_of_it() {
    for line in SILENCES.lines().filter(|line| !line.trim().is_empty()) {
        let (script, wanted) = line.rsplit_once(' ').expect("a number at the end");
        let parts = script.split_whitespace().map(|word| word.split_once('@').expect("at"));
        let segments =
            parts.map(|(what, ms)| segment(7, ms.parse().unwrap(), what.parse().unwrap()));
        let (_, pipeline) = run(&numbered(segments.collect()), &Options::default());
        assert_eq!(pipeline.counters().value(Counter::Flows).to_string(), wanted, "{script}");
    }
}

/// Ten flows that send all the time beside a flood of SYNs, each of a flow of its own.
fn flood(syns: u32) -> (Vec<Segment>, Vec<Segment>) {
    let mut long = Vec::new();
    for flow in 0..10 {
        long.extend([segment(flow, 0, 'S'), segment(flow, 5, 'a'), segment(flow, 9, '.')]);
        long.extend((0..500).map(|n| segment(flow, 10 + n * 20, 'd')));
    }
    let syns = (0..syns).map(|n| segment(1000 + n, i64::from(n) * 10_000 / i64::from(syns), 'S'));
    (numbered(long.clone()), numbered(long.into_iter().chain(syns).collect()))
}

#[test]
fn a_flood_costs_neither_the_rows_of_others_nor_rows_of_its_own() {
    let tables = vec![Table::Flows, Table::Intervals, Table::Periods];
    let options = Options { tables, max_flows: 64, ..Options::default() };
    let (alone, flooded) = flood(20_000);
    let (quiet, _) = run(&alone, &options);
    let (batches, pipeline) = run(&flooded, &options);
    let (wanted, found) = (rows(&quiet), rows(&batches));
    assert!(wanted.len() >= 10 + 10 * 3);
    let missing = wanted.iter().filter(|row| !found.contains(row)).count();
    assert_eq!(missing, 0, "of {} rows", wanted.len());
    // Those that the table still held at the end have theirs.
    assert!(flow_rows(&batches) <= 2 * 10 + 64, "{} rows", flow_rows(&batches));
    let count = |counter| pipeline.counters().value(counter);
    assert_eq!(count(Counter::Flows), 20_010);
    assert_eq!(count(Counter::EvictedHalfOpen), count(Counter::TableEvictions));
    assert_eq!(count(Counter::FlowsForgotten), count(Counter::TableEvictions));
    let of_the_flood = flow_rows(&batches) as u64 - flow_rows(&quiet) as u64;
    assert_eq!(count(Counter::PacketsForgotten), 20_000 - of_the_flood);
}

#[test]
fn rows_of_short_flows_are_bounded_too() {
    // Answers that nobody asked for: a packet each, and no SYN.
    let options = Options { max_flows: 64, ..Options::default() };
    let segments: Vec<Segment> = (0..30_000).map(|n| segment(n, i64::from(n) / 10, 'd')).collect();
    let (batches, pipeline) = run(&numbered(segments), &options);
    let rows = flow_rows(&batches) as u64;
    assert!((3 * 2048..=3 * 2048 + 64).contains(&rows), "{rows} rows in three seconds");
    assert_eq!(rows + pipeline.counters().value(Counter::FlowsForgotten), 30_000);
    assert_eq!(pipeline.counters().value(Counter::BytesForgotten), (30_000 - rows) * 1000);
}

#[test]
fn a_long_flow_goes_for_a_new_one_only_when_it_is_dormant() {
    let options = Options { max_flows: 32, ..Options::default() };
    let long = |flow, from: i64| (0..40).map(move |n| segment(flow, from + n * 10, 'd'));
    let mut segments: Vec<Segment> = (0..32).flat_map(|flow| long(flow, 0)).collect();
    // All are active: the new ones go, whatever they are.
    segments.extend((100..200).map(|flow| segment(flow, 1000, 'S')));
    let (_, pipeline) = run(&numbered(segments.clone()), &options);
    assert_eq!(pipeline.counters().value(Counter::EvictedLong), 0);
    // Half are silent for a minute. A new flow of many packets gets the place of one of these.
    segments.extend((0..16).flat_map(|flow| long(flow, 60_000)));
    segments.extend(long(300, 60_005));
    let (batches, pipeline) = run(&numbered(segments), &options);
    let count = |counter| pipeline.counters().value(counter);
    assert!((1..=4).contains(&count(Counter::EvictedLong)), "{}", count(Counter::EvictedLong));
    // Each of the 33 has one row, so that none was cut in two.
    assert_eq!(packets(&batches).iter().filter(|&&packets| packets >= 40).count(), 33);
}

#[test]
fn of_one_direction_the_last_segments_are_kept_and_the_others_are_counted_as_such() {
    let data: Vec<Segment> = (0..1000).map(|n| segment(0, n, 'd')).collect();
    let cut = |segments: Vec<Segment>| {
        let (_, pipeline) = run(&numbered(segments), &Options::default());
        let count = |counter| pipeline.counters().value(counter);
        (count(Counter::UnansweredOverflow), count(Counter::OutstandingOverflow))
    };
    assert_eq!(cut(data.clone()), (1000 - 256, 0));
    // A capture that begins amidst a transfer with a window of 500 segments: its first
    // acknowledgements are of data before it, and no segment is given up.
    let acks = data.iter().enumerate().map(|(n, data)| Segment {
        forward: false,
        payload_len: 0,
        seq: Seq(1),
        ack: Seq(data.seq.0.wrapping_sub(500_000)),
        ts: Nanos(data.ts.0 + 1 + n as i64 % 2),
        ..*data
    });
    assert_eq!(cut(data.iter().copied().chain(acks).collect()), (0, 0));
}

#[test]
fn a_direction_of_many_periods_has_the_verdict_of_few() {
    let options = Options { tables: vec![Table::Flows], ..Options::default() };
    let judged = |bursts: i64| {
        let (batches, pipeline) = run(&bursts_of_an_application(bursts), &options);
        let flow = &batches.iter().find(|(table, _)| *table == Table::Flows).expect("it ends").1;
        let column = |name| flow.column_by_name(name).expect("in every row");
        let share = column("share_application").as_primitive::<Float64Type>().value(0);
        let word = |name| column(name).as_string::<i32>().value(0).to_owned();
        let settled = pipeline.counters().value(Counter::PeriodsSettled);
        ((word("cause"), word("limitation_siekkinen")), share, settled)
    };
    let few = judged(5);
    let many = judged(20_000);
    assert_eq!(few.0, ("application/idle".to_owned(), "application".to_owned()));
    assert_eq!(few.0, many.0);
    assert!((few.1 - many.1).abs() < 0.2, "{} and {}", few.1, many.1);
    assert_eq!(few.2, 0);
    assert!(many.2 > 39_900, "{} periods settled", many.2);
}

/// Directions of bursts: their number, the segments of each and the ms between these, the pause
/// after it in ms; then the periods that end, and the rows that they have. Two periods a burst, a
/// transfer and a pause, but for the pause after the last.
const PERIODS: &str = "
    3 bursts of  6 segments every  1 ms, pause 994 ms        5 periods     5 rows
 8193 bursts of  6 segments every  1 ms, pause 994 ms    16385 periods 16385 rows
 8193 bursts of 14 segments every 90 ms, pause  40 ms    16385 periods     1 row
";

#[test]
fn every_period_is_in_one_row_however_many_there_are() {
    let options = Options { tables: vec![Table::Periods], ..Options::default() };
    for line in PERIODS.lines().filter(|line| !line.trim().is_empty()) {
        let words = line.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        let numbers: Vec<i64> = words.map(|word| word.parse().expect("a number")).collect();
        let &[bursts, length, gap_ms, pause_ms, ended, expected] = &numbers[..] else {
            panic!("six numbers: {line}")
        };
        let (batches, _) = run(&bursts_of(bursts, length, gap_ms, pause_ms), &options);
        let merged = |(_, batch): &(Table, RecordBatch)| -> i64 {
            let column = batch.column_by_name("merged_periods").expect("in every row");
            column.as_primitive::<UInt32Type>().values().iter().map(|&n| i64::from(n)).sum()
        };
        let periods = || batches.iter().filter(|(table, _)| *table == Table::Periods);
        assert_eq!(periods().map(merged).sum::<i64>(), ended, "{line}");
        let rows: usize = periods().map(|(_, batch)| batch.num_rows()).sum();
        assert_eq!(rows as i64, expected, "{line}");
    }
}

/// Six segments a second, after a handshake of 20 ms.
fn bursts_of_an_application(bursts: i64) -> Vec<Segment> {
    let syn = Segment { seq: Seq(u32::MAX), mss_option: 1460, ..segment(0, -20, 'S') };
    let answer = Segment { ack: Seq(0), mss_option: 1460, ..segment(0, 0, 'a') };
    let answer = Segment { seq: Seq(0), ..answer };
    let mut segments = vec![syn, answer];
    segments.extend(bursts_of(bursts, 6, 1, 994));
    numbered(segments)
}

/// Segments `gap_ms` apart with a longer gap after each `length` of them, the last acknowledged
/// before it is over: within 20 ms where that is possible.
fn bursts_of(bursts: i64, length: i64, gap_ms: i64, pause_ms: i64) -> Vec<Segment> {
    let mut segments = Vec::new();
    let rtt_ms = if pause_ms > 40 { 20 } else { 1 };
    for n in 0..bursts * length {
        let seq = Seq((n as u32).wrapping_mul(1460));
        let burst_ms = length * gap_ms + pause_ms;
        let ts = Nanos::from_millis(n / length * burst_ms + n % length * gap_ms);
        let full = segment(0, 0, 'd');
        // The end of what a program wrote at once has PSH (RFC 9293 section 3.9.1.2).
        let push = if n % length == length - 1 { flags::PSH } else { 0 };
        let flags = full.flags | push;
        let data = Segment { seq, ts, flags, payload_len: 1460, ip_len: 1500, ack: Seq(1), ..full };
        let data = Segment { wire_len: 1514, ..data };
        segments.push(data);
        segments.push(Segment {
            forward: false,
            flags: flags::ACK,
            payload_len: 0,
            ip_len: 40,
            wire_len: 54,
            seq: Seq(1),
            ack: seq + 1460,
            ts: data.ts + Nanos::from_millis(rtt_ms),
            ..data
        });
    }
    numbered(segments)
}

fn flow_rows(batches: &[(Table, RecordBatch)]) -> usize {
    packets(batches).len()
}

fn packets(batches: &[(Table, RecordBatch)]) -> Vec<u64> {
    let flows = batches.iter().filter(|(table, _)| *table == Table::Flows);
    let column = |(_, batch): &(_, RecordBatch)| {
        let column = batch.column_by_name("packets").expect("in every row");
        column.as_primitive::<UInt64Type>().values().to_vec()
    };
    flows.flat_map(column).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// As long as no bound bites.
    #[test]
    fn any_number_of_workers_gives_the_same_rows(segments in capture(), workers in 1usize..5) {
        let tables = vec![Table::Flows, Table::Intervals, Table::Periods];
        let options = Options { tables, ..Options::default() };
        let (whole, _) = run(&segments, &options);
        let mut shared = Vec::new();
        for worker in 0..workers {
            let key = HashKey::new(5);
            let own = |s: &&Segment| shard(key.pair(&s.key), workers) == worker;
            let own: Vec<Segment> = segments.iter().filter(own).copied().collect();
            shared.extend(run(&own, &options).0);
        }
        prop_assert_eq!(rows(&whole), rows(&shared));
    }

    /// In the same order, too, and whatever the bound.
    #[test]
    fn rows_do_not_depend_on_the_secret_of_the_table(
        segments in capture(), max_flows in 1usize..4, hash_seed: u64,
    ) {
        let options = Options { max_flows, ..Options::default() };
        let (one, _) = run(&segments, &options);
        let (other, _) = run(&segments, &Options { hash_seed, ..options });
        prop_assert_eq!(format!("{:?}", one), format!("{:?}", other));
    }

    #[test]
    fn what_a_full_table_loses_is_counted(
        segments in capture(), max_flows in 1usize..4, idle in 1i64..100,
    ) {
        let timeouts = Timeouts { idle: Nanos(idle * 1_000_000_000), ..Timeouts::default() };
        let options = Options { max_flows, timeouts, ..Options::default() };
        let (batches, pipeline) = run(&segments, &options);
        let count = |counter| pipeline.counters().value(counter);
        let by_class = [Counter::EvictedClosed, Counter::EvictedHalfOpen, Counter::EvictedShort];
        let by_class: u64 = by_class.into_iter().map(count).sum();
        let long = count(Counter::EvictedLong);
        prop_assert_eq!(by_class + long, count(Counter::TableEvictions));
        prop_assert!(count(Counter::FlowsForgotten) <= by_class);
        let seen: u64 = packets(&batches).iter().sum();
        let rest = count(Counter::PacketsForgotten) + count(Counter::DuplicateFrames);
        prop_assert_eq!(seen + rest, count(Counter::PacketsTcp));
    }
}

#[test]
fn rows_that_are_held_leave_in_small_batches_and_later_ones_in_large_ones() {
    let segments = numbered((0..20_000).map(|flow| segment(flow, 0, 'S')).collect());
    let sizes = |rows_held| {
        let mut pipeline = Pipeline::new(Options { rows_held, ..Options::default() });
        segments.chunks(256).for_each(|batch| pipeline.push(batch));
        let mut sizes = String::new();
        while pipeline.finish() {
            sizes.extend(pipeline.take(false).iter().map(|(_, batch)| match batch.num_rows() {
                512..1024 => 's',
                4096..4352 => 'L',
                _ => '?',
            }));
        }
        sizes
    };
    assert_eq!(sizes(0), "LLLL");
    assert_eq!(sizes(2048), "ssssLLLL");
}
