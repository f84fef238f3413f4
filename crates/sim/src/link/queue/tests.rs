//! Control laws against the pseudo-code of their sources.

use super::codel::ControlLaw;
use super::pie::Controller;
use super::*;
use crate::link::event::Event;
use crate::link::{Element, Elements};

#[test]
fn codel_control_law() {
    // RFC 8289 section 5.6: t + INTERVAL / sqrt(count), worked by hand for 100 ms.
    let law = ControlLaw { interval: Nanos::from_millis(100) };
    let table =
        [(1, 100_000_000), (2, 70_710_678), (3, 57_735_026), (4, 50_000_000), (100, 10_000_000)];
    for (count, expected) in table {
        assert_eq!(law.next(Nanos(0), count), Nanos(expected), "count {count}");
    }
}

/// Runs 1000-byte packets at a steady interval through a discipline at 1 Mbit/s, 8 ms a packet.
fn overload(queue: &str, count: u64, interval: Nanos, ecn: Ecn) -> (Vec<(Nanos, u64)>, Vec<Event>) {
    let toml = format!("[rate]\nrate_bps = 1_000_000\n[rate.queue.{queue}");
    let settings: Elements = toml::from_str(&toml).unwrap();
    let mut element: Box<dyn Element<()>> = settings.build(Random::stream(1, 0));
    for id in 0..count {
        let at = Nanos(interval.0 * id as i64);
        element.push(at, Packet { id, flow: 0, wire_bytes: 1000, ecn, body: () });
    }
    let mut departures = Vec::new();
    while let Some((left, packet)) = element.pop(Nanos::MAX) {
        departures.push((left, packet.id));
    }
    let mut events = Vec::new();
    element.drain(&mut events);
    (departures, events)
}

#[test]
fn codel_drops_first_after_an_interval_above_target_and_then_by_the_law() {
    // Twice the link's rate for 2 s. Packet k is taken up at 8 k ms and arrived at 4 k ms: it
    // waited 4 k ms. At 16 ms that is above 5 ms, but only one packet is left behind; so the time
    // above starts at 24 ms. 100 ms later the first drop is due, and happens at the next departure:
    // at 128 ms. The next ones are due 100/sqrt(1), 100/sqrt(2), 100/sqrt(3), ... ms after that.
    let (_, events) = overload("codel]", 500, Nanos::from_millis(4), Ecn::NotEct);
    let times: Vec<i64> = events.iter().take(5).map(|event| event.at.0 / 1_000_000).collect();
    assert_eq!(times, [128, 232, 304, 360, 408]);
    assert!(events.iter().all(|event| event.reason == "codel" && event.action == Action::Drop));
}

#[test]
fn codel_marks_what_can_be_marked_at_the_same_times() {
    let codel = "codel]\necn = true";
    let (departures, events) = overload(codel, 500, Nanos::from_millis(4), Ecn::Ect0);
    assert_eq!(departures.len(), 500);
    let times: Vec<i64> = events.iter().take(5).map(|event| event.at.0 / 1_000_000).collect();
    assert_eq!(times, [128, 232, 304, 360, 408]);
    assert!(events.iter().all(|event| event.action == Action::Mark));
}

#[test]
fn codel_leaves_a_queue_below_target_alone() {
    let (departures, events) = overload("codel]", 500, Nanos::from_millis(8), Ecn::NotEct);
    assert_eq!((departures.len(), events.len()), (500, 0));
}

#[test]
fn pie_controller() {
    // RFC 8033 appendix A by hand: p = (0.125 (q - ref) + 1.25 (q - old)) / damping.
    let mut controller = Controller::new(&toml::from_str::<Pie>("").unwrap());
    let near = |x: f64, y: f64| (x - y).abs() < 1e-12;
    controller.update(Nanos::from_millis(35));
    let first = (0.125 * 0.020 + 1.25 * 0.035) / 2048.0;
    assert!(near(controller.drop_prob, first), "{}", controller.drop_prob);
    assert_eq!(controller.burst_allowance, Nanos::from_millis(135));
    // first = 2.26e-5: the damping is now 128.
    controller.update(Nanos::from_millis(35));
    assert!(near(controller.drop_prob, first + 0.125 * 0.020 / 128.0));
    // From 10 % on, at most 2 % at once.
    controller.drop_prob = 0.1;
    controller.update(Nanos::from_millis(1035));
    assert!(near(controller.drop_prob, 0.12));
    // No delay twice: decay to 98 %, after the fall by the deviation.
    controller.qdelay_old = Nanos(0);
    controller.update(Nanos(0));
    assert!(near(controller.drop_prob, (0.12 - 0.125 * 0.015) * 0.98));
    // Never below 0.
    controller.drop_prob = 1e-9;
    controller.update(Nanos(0));
    assert_eq!(controller.drop_prob, 0.0);
}

#[test]
fn pie_holds_the_reference_delay_under_steady_overload() {
    // 25 % more than the link takes: in the long run a fifth is dropped, and the delay of what
    // arrives settles near the 15 ms reference (here 100 ms: some packets must fit into it).
    let pie = "pie]\ntarget_ms = 100";
    let (departures, events) = overload(pie, 20_000, Nanos::from_micros(6400), Ecn::NotEct);
    let late: Vec<_> = departures.iter().filter(|(left, _)| left.0 > 60_000_000_000).collect();
    let waits = late.iter().map(|(left, id)| left.0 as f64 / 1e6 - *id as f64 * 6.4 - 8.0);
    let mean_ms = waits.sum::<f64>() / late.len() as f64;
    assert!((85.0..115.0).contains(&mean_ms), "mean delay {mean_ms} ms");
    let late_drops = events.iter().filter(|event| event.at.0 > 60_000_000_000).count() as f64;
    let share = late_drops / (late_drops + late.len() as f64);
    assert!((0.19..0.21).contains(&share), "{share} dropped");
}

#[test]
fn red_drops_by_the_mean_queue_length() {
    // Below min_th nothing is dropped.
    let red = "red]\nmin_packets = 5\nmax_packets = 15\nweight = 0.02";
    let (_, events) = overload(red, 2000, Nanos::from_millis(8), Ecn::NotEct);
    assert_eq!(events.len(), 0);
    // With 5 % too much, the mean settles where the probability is 5 %: p_a = p_b / (1 - count p_b)
    // makes the gaps uniform on 1 to 1/p_b, so that the mean probability is about 2 p_b:
    // p_b = 0.025 lies a quarter of the way from 5 to 15.
    let interval = Nanos(8_000_000 * 100 / 105);
    let (departures, events) = overload(red, 40_000, interval, Ecn::NotEct);
    let late: Vec<_> = departures.iter().filter(|(left, _)| left.0 > 60_000_000_000).collect();
    let wait = |(left, id): &&(Nanos, u64)| (left.0 - interval.0 * *id as i64) as f64 / 8e6 - 1.0;
    let mean = late.iter().map(wait).sum::<f64>() / late.len() as f64;
    assert!((6.0..9.0).contains(&mean), "mean queue {mean}");
    assert!(events.iter().all(|event| event.reason == "red"));
    // ECN: marked instead, so that nothing is dropped until the mean passes max_th.
    let red = "red]\nmin_packets = 5\nmax_packets = 15\nweight = 0.02\necn = true";
    let (_, events) = overload(red, 200, interval, Ecn::Ect0);
    assert!(events.iter().all(|event| event.action == Action::Mark));
}

#[test]
fn a_threshold_marks_exactly_from_its_length_on() {
    let queue = "ecn_threshold]\nmark_packets = 2\nlimit_packets = 4";
    // One in transmission, two wait unmarked, two wait marked, the rest is dropped.
    let (departures, events) = overload(queue, 7, Nanos(1), Ecn::Ect0);
    assert_eq!(departures.len(), 5);
    let log: Vec<_> = events.iter().map(|event| (event.packet, event.action)).collect();
    let (mark, drop) = (Action::Mark, Action::Drop);
    assert_eq!(log, [(3, mark), (4, mark), (5, drop), (6, drop)]);
}
