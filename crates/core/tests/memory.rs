//! What a flow costs in memory, by class: with nothing but a SYN, short, in bulk, and in bursts
//! with pauses. The last two must cost the same however long they last.
#![cfg(target_os = "linux")]

use tcpwhy_core::pipeline::{Options, Pipeline};
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::{Endpoint, FlowKey, NO_WINDOW_SCALE, Segment, flags};

/// Bytes per flow that no class may pass. The page on performance says what they are made of. All
/// flows grow at the same time here, so that nothing that one leaves behind is of use to another.
const HALF_OPEN: u64 = 192;
const SHORT: u64 = 256;
const LONG: u64 = 19_456;

#[test]
fn a_flow_costs_what_its_class_may_and_no_more_the_longer_it_lasts() {
    // All are kept to the end, so that none lives in memory that another gave back.
    let mut kept = Vec::new();
    let mut bytes = |flows: u32, rounds: u32, pause_ms: i64| {
        let (pipeline, bytes) = followed(flows, rounds, pause_ms);
        kept.push(pipeline);
        bytes / u64::from(flows)
    };
    // What is read once, such as the weights of the model, is no flow's.
    bytes(1, 1000, 0);
    let (half_open, short) = (bytes(100_000, 0, 0), bytes(60_000, 2, 0));
    assert!((64..=HALF_OPEN).contains(&half_open), "{half_open} bytes of a SYN");
    assert!((half_open..=SHORT).contains(&short), "{short} bytes of a short flow");
    // By then the samples of the capacity were complete once, and have left what they took.
    for (name, pause_ms) in [("bulk", 0), ("paced", 300)] {
        // The first ones live in what the growth of the tables gave back.
        bytes(400, 2700, pause_ms);
        let (long, longer) = (bytes(400, 2700, pause_ms), bytes(400, 5400, pause_ms));
        assert!((short..=LONG).contains(&long), "{long} bytes of a {name} flow");
        assert!(longer <= long + long / 10, "{long}, then {longer} bytes of a {name} flow");
    }
}

/// Follows flows that open and then send so many segments each, all of them at the same time, with
/// a pause after every fourth; what that took.
fn followed(flows: u32, rounds: u32, pause_ms: i64) -> (Pipeline, u64) {
    let before = anonymous_bytes();
    let mut pipeline = Pipeline::new(Options::default());
    let (mut batch, mut frame, mut ms) = (Vec::new(), 0, 0);
    let mut push = |segment: Segment| {
        frame += 1;
        batch.push(Segment { frame, ..segment });
        if batch.len() == 256 {
            pipeline.push(&batch);
            batch.clear();
        }
    };
    (0..flows).for_each(|flow| push(opening(flow)));
    for round in 0..rounds {
        ms += 10 + if round % 4 == 0 { pause_ms } else { 0 };
        (0..flows).for_each(|flow| push(data(flow, round, ms)));
        (0..flows).for_each(|flow| push(answer(data(flow, round, ms + 5))));
    }
    pipeline.push(&batch);
    (pipeline, anonymous_bytes().saturating_sub(before))
}

fn opening(flow: u32) -> Segment {
    let (flags, payload_len, ack) = (flags::SYN, 0, Seq(0));
    let (ip_len, wire_len) = (40, 54);
    Segment { flags, payload_len, ack, seq: Seq(0), ip_len, wire_len, ..data(flow, 0, 0) }
}

fn data(flow: u32, round: u32, ms: i64) -> Segment {
    let client = Endpoint { addr: (1 << 64 | u128::from(flow)).to_be_bytes(), port: 40_000 };
    let server = Endpoint { addr: (2u128 << 64).to_be_bytes(), port: 80 };
    let (key, forward) = FlowKey::of(client, server, 0);
    Segment {
        // Gaps that differ, as gaps do.
        ts: Nanos::SECOND + Nanos::from_millis(ms) + Nanos(i64::from(flow * 7 + round * 13 % 97)),
        key,
        forward,
        flags: flags::ACK,
        seq: Seq(1 + round * 1460),
        ack: Seq(1),
        window_raw: 60_000,
        payload_len: 1460,
        ip_len: 1500,
        wire_len: 1514,
        window_scale: NO_WINDOW_SCALE,
        ..Segment::default()
    }
}

fn answer(data: Segment) -> Segment {
    Segment {
        forward: !data.forward,
        seq: Seq(1),
        ack: data.seq + data.payload_len,
        payload_len: 0,
        ip_len: 40,
        wire_len: 54,
        ..data
    }
}

/// Memory of this process that no file lies behind.
fn anonymous_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("as on every Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("since 4.5");
    let kibibytes: u64 = line.trim().trim_end_matches(" kB").parse().expect("a number");
    kibibytes * 1024
}
