//! Timelines: a few lines of segments, and what became of each.

mod sent_again;

use super::*;
use crate::units::Nanos;
use crate::wire::{Endpoint, FlowKey, NO_WINDOW_SCALE, Segment, marks};

/// One segment of a script: `ms dir seq:len ack [win W] [ts V/E] [sack L-R] [id N] [flags]`.
/// `>` runs from the data sender, whose sequence numbers start at 1000, `<` back.
pub(crate) fn parse(line: &str) -> (Segment, Vec<(Seq, Seq)>) {
    let mut words = line.split_whitespace();
    let mut next = || words.next().expect("a word");
    let ts = Nanos::from_secs_f64(next().parse::<f64>().expect("ms") / 1e3);
    let forward = next() == ">";
    let (seq, len) = next().split_once(':').expect("seq:len");
    let ack = next();
    let own = if forward { 1000 } else { 5000 };
    let number = |text: &str, base: u32| Seq(base) + text.parse::<u32>().expect("a number");
    let mut segment = Segment {
        frame: 0,
        ts: ts + Nanos::SECOND,
        key: key(),
        forward,
        flags: flags::ACK,
        marks: 0,
        ecn: 0,
        ip_id: 0,
        window_raw: 60_000,
        seq: number(seq, own),
        ack: number(ack, 6000 - own),
        payload_len: len.parse().expect("length"),
        ip_len: 40 + len.parse::<u32>().expect("length"),
        wire_len: 54 + len.parse::<u32>().expect("length"),
        tsval: 0,
        tsecr: 0,
        mss_option: 0,
        window_scale: NO_WINDOW_SCALE,
        sack_count: 0,
        sack: Default::default(),
    };
    let mut sack = Vec::new();
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("a value");
        match word {
            "win" => segment.window_raw = value().parse().expect("window"),
            "id" => segment.ip_id = value().parse().expect("id"),
            "ts" => {
                let (tsval, tsecr) = value().split_once('/').expect("val/ecr");
                (segment.tsval, segment.tsecr) = (tsval.parse().unwrap(), tsecr.parse().unwrap());
                segment.marks |= marks::TIMESTAMPS;
            }
            "sack" => {
                let (left, right) = value().split_once('-').expect("left-right");
                sack.push((number(left, 6000 - own), number(right, 6000 - own)));
            }
            "syn" => {
                segment.flags |= flags::SYN;
                segment.mss_option = 1000;
                segment.flags &= if forward { !flags::ACK } else { !0 };
            }
            "fin" => segment.flags |= flags::FIN,
            "rst" => segment.flags |= flags::RST,
            _ => panic!("unknown word {word}"),
        }
    }
    (segment, sack)
}

fn key() -> FlowKey {
    let end = |last: u8, port| Endpoint { addr: [last; 16], port };
    FlowKey { low: end(1, 1000), high: end(2, 2000), tunnel: 0 }
}

fn play(script: &str) -> (Flow, Vec<String>) {
    let mut flow = None;
    let mut kinds = Vec::new();
    for (at, line) in script.lines().filter(|line| !line.trim().is_empty()).enumerate() {
        let (segment, sack) = parse(line);
        let entry = Entry::of(&segment, segment.ts);
        let flow = flow.get_or_insert_with(|| Flow::new(key(), 1, &entry));
        let filed = flow.segment(at as u64 + 1, &entry, &sack, INTERVAL);
        if filed.duplicate {
            kinds.push("duplicate_frame".to_owned());
        } else if let Some(sent) = filed.sent {
            kinds.push(sent.filed.kind.name().to_owned());
        }
    }
    let mut flow = flow.expect("a segment");
    flow.finish(Nanos(3_000_000_000));
    (flow, kinds)
}

/// A handshake of 40 ms seen at the sender, and four segments in flight.
pub(crate) const INTERVAL: Nanos = Nanos(3_000_000_000);

pub(crate) const OPENING: &str = "
      0 > 0:0 0 syn
     40 < 0:0 1 syn
     40 > 1:0 1
     41 > 1:1000 1
     41 > 1001:1000 1
     41 > 2001:1000 1
     41 > 3001:1000 1
";

fn after_opening(script: &str) -> (Flow, Vec<String>) {
    let (flow, kinds) = play(&format!("{OPENING}{script}"));
    (flow, kinds[4..].to_vec())
}

#[test]
fn a_handshake_gives_round_trip_position_and_scale() {
    let (flow, kinds) = after_opening("81 < 1:0 4001");
    assert!(kinds.is_empty());
    assert_eq!(flow.handshake_rtt(), Some(Nanos::from_millis(40)));
    assert_eq!(flow.position(0), Some(0.0));
    assert_eq!(flow.halves[0].window.scale, Some(0), "nobody offered scaling");
    assert_eq!(flow.halves[0].rtt.min, Some(Nanos::from_millis(40)));
    assert_eq!(flow.halves[0].totals.flight_max, Some(4000));
    assert_eq!(flow.handshake.conn_state(), "S1");
}

#[test]
fn a_syn_sent_twice_hides_the_responder_only() {
    let (flow, _) = play(
        "
           0 > 0:0 0 syn
        1000 > 0:0 0 syn
        1040 < 0:0 1 syn
        1040 > 1:0 1
        1041 > 1:1000 1
        1041 > 1001:1000 1
        1081 < 1:0 2001",
    );
    assert_eq!(flow.handshake_rtt(), None, "which SYN was answered?");
    assert_eq!(flow.halves[0].rtt.min, Some(Nanos::from_millis(40)));
}

#[test]
fn timestamps_tell_late_from_sent_again() {
    // Seen behind the place where the order was lost: a hole is filled 3 ms later.
    let late = "
          0 > 1:1000 1 ts 100/1
          1 > 2001:1000 1 ts 101/1
          4 > 1001:1000 1 ts 100/1";
    let (flow, kinds) = play(late);
    assert_eq!(kinds, ["new", "new", "reordered"]);
    assert_eq!(flow.halves[0].totals.retransmitted_bytes, 0);
    let again = late.replace("1001:1000 1 ts 100/1", "1001:1000 1 ts 103/1");
    let (flow, kinds) = play(&again);
    assert_eq!(kinds, ["new", "new", "retransmission"]);
    assert_eq!(flow.halves[0].totals.retransmitted_bytes, 1000);
    assert_eq!(flow.halves[0].totals.unique_bytes, 3000);
}

#[test]
fn identifications_that_count_tell_the_order_of_sending() {
    let (_, kinds) = play(
        "
          0 > 1:1000 1 id 10
          1 > 2001:1000 1 id 12
         12 > 1001:1000 1 id 11",
    );
    assert_eq!(kinds, ["new", "new", "reordered"]);
    let (_, kinds) = play(
        "
          0 > 1:1000 1 id 10
          1 > 2001:1000 1 id 12
          2 > 1001:1000 1 id 13",
    );
    assert_eq!(kinds, ["new", "new", "retransmission"]);
}

#[test]
fn a_closed_window_is_probed_and_an_idle_peer_is_kept_alive() {
    let (flow, kinds) = after_opening(
        "  81 < 1:0 4001 win 0
          400 > 4000:1 1
          440 < 1:0 4001 win 0
          900 > 4001:1 1
          940 < 1:0 4001 win 60000
          941 > 4001:1000 1
          981 < 1:0 5001
        60000 > 5000:0 1
        60040 < 1:0 5001",
    );
    assert_eq!(kinds, ["zero_window_probe", "zero_window_probe", "new"]);
    let totals = &flow.halves[0].totals;
    assert_eq!((totals.zero_window_events, totals.zero_window_probes), (1, 2));
    assert_eq!((totals.keep_alives, totals.retransmitted_bytes), (1, 0));
    assert_eq!(totals.missed_bytes, 0);
}

#[test]
fn copies_from_a_mirror_port_count_once_even_when_a_queue_lies_between() {
    let (flow, kinds) = play(
        "
          0 > 1:1000 1 id 10
          0.01 > 1:1000 1 id 10
          1 > 1001:1000 1 id 11
          2 > 2001:1000 1 id 12
         90 > 1001:1000 1 id 11
         95 > 1001:1000 1 id 13",
    );
    let expected = ["new", "duplicate_frame", "new", "new", "duplicate_frame", "retransmission"];
    assert_eq!(kinds, expected);
    assert_eq!(flow.halves[0].totals.duplicate_frames, 2);
    assert_eq!(flow.halves[0].totals.payload_bytes, 4000);
}

#[test]
fn copies_without_identification_come_sooner_than_any_loss_could_show() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 4001
         82 > 4001:1000 1
         82.1 > 5001:1000 1
         82.5 > 4001:1000 1
         82.6 > 5001:1000 1
        130 > 5001:1000 1",
    );
    let expected = ["new", "new", "duplicate_frame", "duplicate_frame"];
    assert_eq!(kinds[..4], expected);
    assert_ne!(kinds[4], "duplicate_frame", "a round trip later it was sent again");
    assert_eq!(flow.halves[0].totals.retransmitted_bytes, 1000);
}

#[test]
fn only_what_had_been_sent_before_can_have_been_sent_in_vain() {
    // The second half of what is sent again is new: of 2,000 bytes 1,000 may prove needless.
    let (flow, _) = after_opening(
        "81 < 1:0 3001
        400 > 3001:2000 1
        401 < 1:0 5001 sack 3001-4001",
    );
    let totals = &flow.halves[0].totals;
    assert_eq!((totals.retransmitted_bytes, totals.spurious_bytes), (1000, 1000));
    assert_eq!(totals.unique_bytes, 5000);
}

#[test]
fn no_flight_is_claimed_that_no_window_allowed() {
    let (flow, _) = after_opening("81 < 1:0 4001 win 2000");
    assert_eq!(flow.halves[0].flight_seen(Some(4000)), Some(4000), "the largest is 60,000");
    assert_eq!(flow.halves[0].flight_seen(Some(70_000)), None);
}

#[test]
fn data_that_only_the_receiver_saw_is_counted_as_missed() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 4001
         82 > 6001:1000 1
        122 < 1:0 7001",
    );
    assert_eq!(kinds, ["new"]);
    assert_eq!(flow.halves[0].totals.missed_bytes, 2000);
}

#[test]
fn a_fin_is_no_missed_byte_and_both_make_a_normal_end() {
    let (flow, _) = after_opening(
        "81 < 1:0 4001
         82 > 4001:0 1 fin
        122 < 1:0 4002 fin
        122 > 4002:0 2",
    );
    assert_eq!(flow.halves[0].totals.missed_bytes, 0);
    assert_eq!(flow.handshake.conn_state(), "SF");
}

#[test]
fn the_next_connection_on_the_same_ports_is_another_flow() {
    let (flow, _) = after_opening("81 < 1:0 4001");
    let syn = |script: &str| {
        let (segment, _) = parse(script);
        Entry::of(&segment, segment.ts)
    };
    assert!(!flow.is_reopened_by(&syn("100 > 0:0 0 syn")), "the same SYN again");
    assert!(flow.is_reopened_by(&syn("100 > 777:0 0 syn")));
    assert!(!flow.is_reopened_by(&syn("100 < 777:0 0 syn")), "a SYN/ACK opens nothing");
}

#[test]
fn a_syn_copied_on_its_way_does_not_hide_the_handshake() {
    let (flow, kinds) = play(
        "      0 > 0:0 0 id 7 ts 900/0 syn
          50 > 0:0 0 id 7 ts 900/0 syn
          51 < 0:0 1 id 3 ts 50/900 syn
         101 > 1:0 1 id 8 ts 950/50",
    );
    assert_eq!(kinds, ["duplicate_frame"]);
    assert_eq!(flow.handshake_rtt(), Some(Nanos::from_millis(101)));
    let (flow, _) = play(
        "      0 > 0:0 0 id 7 ts 900/0 syn
        1000 > 0:0 0 id 7 ts 900/0 syn
        1050 < 0:0 1 id 3 ts 50/900 syn
        1100 > 1:0 1 id 8 ts 950/50",
    );
    assert_eq!(flow.handshake_rtt(), None, "sent again: which of them was answered?");
}

#[test]
fn data_before_a_fin_that_was_acknowledged_unseen_is_found_when_it_comes() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 4001
         90 > 4501:0 1 fin
        130 < 1:0 4502
        140 > 4001:500 1",
    );
    assert_eq!(kinds, ["reordered"]);
    let totals = &flow.halves[0].totals;
    assert_eq!((totals.unique_bytes, totals.retransmitted_bytes), (4500, 0));
    assert_eq!(totals.missed_bytes, 0, "it came after all");
    let (flow, _) = after_opening("81 < 1:0 4001\n 90 > 4001:0 1 fin\n 130 < 1:0 4002");
    assert_eq!(flow.halves[0].totals.missed_bytes, 0, "the FIN is no data");
}

/// Waits of the first half that an acknowledgement ended, and others, in ms.
fn waits(flow: &Flow) -> (f64, f64) {
    let segmenter = flow.halves[0].segmenter().expect("data");
    let stats = segmenter.intervals.iter().filter_map(|interval| interval.sums().stats.as_ref());
    let ms = |ns: u64| ns as f64 / 1e6;
    stats
        .map(|s| (ms(s.woken_ns), ms(s.unwoken_ns)))
        .fold((0.0, 0.0), |a, b| (a.0 + b.0, a.1 + b.1))
}

#[test]
fn a_writer_is_woken_by_room_unless_it_had_left_nothing_to_send() {
    let burst = |from: u32| -> String {
        (0..8).map(|i| format!("90 > {}:1000 1\n", from + i * 1000)).collect()
    };
    // The write's small end leaves with it; a third of what is in flight is acknowledged, and the
    // next one comes.
    let (woken, _) = after_opening(&format!(
        "81 < 1:0 4001
        {}
        90 > 12001:500 1
        130 < 1:0 6001
        131 < 1:0 8001
        131.1 > 12501:1000 1",
        burst(4001)
    ));
    assert_eq!(waits(&woken), (41.1, 0.0));
    // The same, but Nagle's algorithm held the small end back until the one before was
    // acknowledged: a program with more to write had filled it up.
    let (dry, _) = after_opening(&format!(
        "81 < 1:0 4001
        90 > 4001:500 1
        {}
        129 < 1:0 4501
        129.1 > 12501:500 1
        133 < 1:0 6501
        134 < 1:0 8501
        134.1 > 13001:1000 1",
        burst(4501)
    ));
    assert_eq!(waits(&dry), (0.0, 5.0));
}

proptest::proptest! {
    /// Whoever is asked anew at each segment whether an acknowledgement says something files every
    /// one; both know the same in the end.
    #[test]
    fn an_acknowledgement_said_again_says_nothing_new(
        steps in proptest::collection::vec((0u8..12, 1u32..4, 0u32..3, 0i64..40), 1..120),
        syn in proptest::bool::ANY,
    ) {
        let mut flows: [Option<Flow>; 2] = [None, None];
        let (mut at_ms, mut sent, mut received) = (0, [0u32; 2], [0u32; 2]);
        let opening = ["0 > 0:0 0 syn", "1 < 0:0 1 syn", "2 > 1:0 1"];
        let opening = opening.iter().take(if syn { 3 } else { 0 });
        let mut lines: Vec<String> = opening.map(|&line| line.to_owned()).collect();
        for (what, segments, acks, wait_ms) in steps {
            at_ms += wait_ms;
            let side = usize::from(what % 4 == 3);
            let way = [">", "<"][side];
            // Mostly data of one side; now and then nothing new is acknowledged, or less.
            received[side] = match what {
                0..4 => received[side],
                4 => received[side].saturating_sub(1),
                _ => sent[1 - side].min(received[side] + acks),
            };
            let ack = 1 + 1000 * received[side];
            let window = [60_000, 60_000, 0, 30_000][usize::from(what % 5 % 4)];
            for _ in 0..segments {
                let from = if what == 7 { sent[side].saturating_sub(2) } else { sent[side] };
                let len = if what == 6 { 0 } else { 1000 };
                lines.push(format!(
                    "{} {way} {}:{len} {ack} win {window} ts {at_ms}/{}",
                    at_ms + 10, 1 + 1000 * from, at_ms - wait_ms,
                ));
                sent[side] = sent[side].max(from + len / 1000);
            }
        }
        for (frame, line) in lines.iter().enumerate() {
            let (segment, sack) = parse(line);
            let entry = Entry::of(&segment, segment.ts);
            for (at, flow) in flows.iter_mut().enumerate() {
                let flow = flow.get_or_insert_with(|| Flow::new(segment.key, 1, &entry));
                if at == 1 {
                    flow.halves.iter_mut().for_each(Half::reopen);
                }
                flow.segment(frame as u64, &entry, &sack, Nanos::SECOND);
            }
        }
        let [mut one, mut other] = flows.map(|flow| flow.expect("some segments"));
        for half in one.halves.iter_mut().chain(&mut other.halves) {
            half.reopen();
        }
        proptest::prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
}
