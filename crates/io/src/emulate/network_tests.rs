//! The network in virtual time, against the scenario's numbers.

use super::*;
use crate::emulate::log::Log;

const SCENARIO: &str = r#"
title = "two hosts"
duration_s = 1
overhead_bytes = 14

[hosts.S]
[hosts.D]

[links.access]
forward = [{ rate.rate_bps = 1_000_000_000 }, { delay.delay_ms = 1 }]

[links.wan]
forward = [
    { rate = { rate_bps = 10_000_000, queue.drop_tail.limit_packets = 35 } },
    { delay.delay_ms = 19 },
]
backward = [{ delay.delay_ms = 19 }]

[[flows]]
from = "S"
to = "D"
path = ["access", "wan"]
workload.bulk = {}
"#;

fn network() -> Network {
    let scenario = Scenario::parse("test.toml", SCENARIO).unwrap();
    let middle = Middle::of(&scenario, Nanos(0));
    Network::new(&scenario, 1, Log::new(Nanos(0)), middle)
}

/// A frame of `length` bytes between the two hosts; forward unless `back`.
fn frame(length: usize, ports: [u16; 2], back: bool) -> Box<[u8]> {
    let mut bytes = vec![0; length];
    bytes[12..14].copy_from_slice(&[8, 0]);
    bytes[14] = 0x45;
    bytes[23] = 6;
    // Hosts are numbered by their names: D is 10.0.0.1, S is 10.0.0.2.
    bytes[26..34].copy_from_slice(&[10, 0, 0, 2, 10, 0, 0, 1]);
    if back {
        bytes[26..34].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
    }
    bytes[34..36].copy_from_slice(&ports[0].to_be_bytes());
    bytes[36..38].copy_from_slice(&ports[1].to_be_bytes());
    bytes.into()
}

fn departures(network: &mut Network) -> Vec<Departure> {
    std::iter::from_fn(|| network.take_departure()).collect()
}

#[test]
fn a_frame_takes_the_time_of_its_links() {
    let mut network = network();
    network.push(Nanos(0), frame(1250, [40_000, 5001], false), None);
    network.advance(Nanos::from_millis(100));
    let all = departures(&mut network);
    // 10 µs and 1 ms on the first link, 1 ms and 19 ms on the second one.
    assert_eq!(all.iter().map(|d| (d.due, d.host)).collect::<Vec<_>>(), [(Nanos(21_010_000), 0)]);
    network.push(Nanos::from_millis(200), frame(66, [5001, 40_000], true), None);
    network.advance(Nanos::from_millis(300));
    let all = departures(&mut network);
    assert_eq!(all.iter().map(|d| (d.due, d.host)).collect::<Vec<_>>(), [(Nanos(220_000_528), 1)]);
    assert_eq!(network.middle().unwrap().frames(), 2);
}

#[test]
fn frames_without_a_route_are_counted() {
    let mut network = network();
    network.push(Nanos(0), vec![0; 60].into(), None);
    network.push(Nanos(0), vec![0; 3].into(), None);
    let mut stranger = frame(100, [1, 2], false);
    stranger[33] = 77;
    network.push(Nanos(0), stranger, None);
    network.push(Nanos(0), frame(100, [1, 2], false), None);
    network.advance(Nanos::SECOND);
    assert_eq!(departures(&mut network).len(), 1);
    assert_eq!(
        network.counts(),
        Counts { sent: 4, delivered: 1, unroutable: 3, ..Counts::default() }
    );
}

/// 60 frames at once meet a queue of 35: what is dropped and when the others leave does not depend
/// on how often the network is looked at.
#[test]
fn departures_do_not_depend_on_polling() {
    let run = |polls: i64| {
        let mut network = network();
        for i in 0..60 {
            network.push(Nanos::from_micros(20 * i), frame(1514, [40_000, 5001], false), None);
        }
        for i in 1..=polls {
            network.advance(Nanos(200_000_000 * i / polls));
        }
        let left: Vec<Nanos> = departures(&mut network).iter().map(|d| d.due).collect();
        (left, network.counts(), network.log().take())
    };
    let (left, counts, log) = run(1);
    assert_eq!(left.len(), 36);
    assert_eq!(counts.dropped, 24);
    // 1514 bytes at 10 Mbit/s.
    assert!(left.windows(2).all(|pair| pair[1] - pair[0] == Nanos(1_211_200)));
    assert_eq!(log[0].as_ref().unwrap().num_rows(), 24);
    for polls in [2, 17, 1000] {
        assert_eq!(run(polls), (left.clone(), counts, log.clone()), "{polls} polls");
    }
}

#[test]
fn rows_say_which_packet() {
    let mut network = network();
    for _ in 0..40 {
        network.push(Nanos(0), frame(1514, [40_000, 5001], false), None);
    }
    network.advance(Nanos::SECOND);
    let [actions, _] = network.log().take();
    let actions = actions.unwrap();
    let column = |name: &str| {
        let text =
            arrow_array::cast::AsArray::as_string::<i32>(actions.column_by_name(name).unwrap());
        text.value(0).to_owned()
    };
    assert_eq!(column("link"), "wan/forward");
    assert_eq!((column("action"), column("reason")), ("drop".to_owned(), "queue_full".to_owned()));
    assert_eq!((column("src"), column("dst")), ("10.0.0.2".to_owned(), "10.0.0.1".to_owned()));
}
