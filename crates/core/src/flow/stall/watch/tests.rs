//! Timelines of a few segments, and the stalls in them.

use super::*;
use crate::flow::connection::tests::{INTERVAL, OPENING, parse};

/// What the stalls of both sides say: frames, ms, bytes in flight, what ended each, and why.
fn stalls(script: &str) -> [Vec<String>; 2] {
    let mut flow = None;
    let mut watch = Watch::default();
    for (frame, line) in (1..).zip(script.lines().filter(|line| !line.trim().is_empty())) {
        let (segment, sack) = parse(line);
        let entry = Entry::of(&segment, segment.ts);
        let flow = flow.get_or_insert_with(|| Flow::new(segment.key, 1, &entry));
        let eve = Eve::of(flow);
        let filed = flow.segment(frame, &entry, &sack, INTERVAL);
        watch.segment(flow, &eve, frame, &entry, &filed);
    }
    let tell = |stall: &Stall| {
        let ms = stall.end.since(stall.start).0 / 1_000_000;
        let flight = stall.flight_size.map_or("?".to_owned(), |bytes| bytes.to_string());
        let cause = stall.cause.map_or("?", StallCause::name);
        let (from, to, ended) = (stall.frame_before, stall.frame_after, stall.ended.name());
        format!("{from}-{to} {ms} ms {flight} {ended} {cause}")
    };
    watch.stalls.map(|stalls| stalls.worst().iter().map(tell).collect())
}

/// Of the data of the side that opened the connection, after the opening: frame 8 comes next.
fn after_opening(script: &str) -> Vec<String> {
    let [mut found, _] = stalls(&format!("{OPENING}{script}"));
    found.sort();
    found
}

#[test]
fn less_than_two_round_trips_is_no_stall() {
    assert_eq!(after_opening("81 < 1:0 4001\n 160 > 4001:1000 1\n 200 < 1:0 5001"), [""; 0]);
}

#[test]
fn an_application_with_nothing_to_send_stalls_with_nothing_in_flight() {
    let found = after_opening("81 < 1:0 4001\n 581 > 4001:1000 1\n 621 < 1:0 5001");
    assert_eq!(found, ["8-9 500 ms 0 new nothing_to_send"]);
}

#[test]
fn a_sender_that_hears_no_acknowledgement_waits_for_its_timer() {
    let found = after_opening("81 < 1:0 4001\n 581 > 3001:1000 1\n 581 < 1:0 4001");
    assert_eq!(found, ["8-9 500 ms 0 spurious_retransmission retransmission_timeout"]);
}

#[test]
fn a_server_waits_for_the_request_and_then_for_its_own_application() {
    let [client, server] = stalls(
        "  0 > 0:0 0 syn
          40 < 0:0 1 syn
          40 > 1:0 1
         940 > 1:100 1
         980 < 1:0 101
        1480 < 1:700 101
        1481 > 101:0 701
        3480 > 101:100 701
        3520 < 701:0 201",
    );
    assert_eq!(
        client,
        [
            "6-8 2000 ms 0 new nothing_to_send",
            "2-4 900 ms 0 new nothing_to_send",
            "5-6 500 ms 0 peer_data peer_awaited",
        ]
    );
    assert_eq!(
        server,
        [
            "7-8 1999 ms 0 peer_data peer_awaited",
            "2-4 900 ms 0 peer_data peer_awaited",
            "4-6 540 ms 0 new nothing_to_send",
        ]
    );
}

#[test]
fn a_timeout_ends_a_stall_and_its_loss_makes_the_next_one() {
    let found = after_opening(
        "81 < 1:0 1001
        400 > 1001:1000 1
       1040 > 1001:1000 1
       1080 < 1:0 4001",
    );
    assert_eq!(
        found,
        [
            "8-9 319 ms 3000 rto_retransmission retransmission_timeout",
            "9-10 640 ms 3000 rto_retransmission lost_retransmission",
        ]
    );
}

#[test]
fn duplicate_acknowledgements_do_not_end_a_stall() {
    let found = after_opening(
        "81 < 1:0 1001
        121 < 1:0 1001
        161 < 1:0 1001
        201 < 1:0 1001
        201 > 1001:1000 1
        241 < 1:0 4001",
    );
    assert_eq!(found, ["8-12 120 ms 3000 fast_retransmission loss_recovery"]);
}

#[test]
fn a_closed_window_is_one_stall_whatever_probes_it() {
    let found = after_opening(
        "81 < 1:0 4001 win 0
        300 > 4000:1 1
        340 < 1:0 4001 win 0
        800 > 4000:1 1
        840 < 1:0 4001 win 0
       1281 < 1:0 4001 win 60000
       1281 > 4001:1000 1",
    );
    assert_eq!(found, ["8-13 1200 ms 0 window_update zero_window"]);
}

#[test]
fn an_acknowledgement_may_come_late() {
    let found = after_opening("81 < 1:0 3001\n 281 < 1:0 4001");
    assert_eq!(found, ["8-9 200 ms 1000 ack late_answer"]);
}

#[test]
fn keep_alives_do_not_end_a_stall_and_a_reset_does() {
    let found = after_opening(
        "81 < 1:0 4001
       1081 > 4000:0 1
       1121 < 1:0 4001
       2081 > 4001:0 1 rst",
    );
    assert_eq!(found, ["8-11 2000 ms 0 rst nothing_to_send"]);
}

#[test]
fn after_its_end_a_direction_waits_for_nothing() {
    let found = after_opening(
        "81 < 1:0 4001
         82 > 4001:0 1 fin
        122 < 1:0 4002
       2122 < 1:1000 4002",
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn without_acknowledgements_nothing_tells_why() {
    let script: String = (0..20)
        .map(|i| format!("{} > {}:1000 1\n", if i < 10 { i } else { 5_000 + i }, 1 + i * 1000))
        .collect();
    assert_eq!(stalls(&script)[0], ["10-11 5001 ms ? new ?"]);
}

#[test]
fn a_probe_of_the_tail_ends_a_stall_whether_it_is_old_or_new() {
    let again = after_opening("81 < 1:0 3001\n 191 > 3001:1000 1\n 231 < 1:0 4001");
    assert_eq!(again, ["8-9 110 ms 1000 tlp_retransmission tail_loss_probe"]);
    let new = after_opening("191 > 4001:1000 1\n 231 < 1:0 5001");
    assert_eq!(new, ["7-8 150 ms 4000 new unanswered"]);
}
