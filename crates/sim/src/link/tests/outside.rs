//! Elements for what is common outside: fair queues, radio, satellites, paths that go silent.

use super::*;

fn build(toml: &str) -> Box<dyn Element<()>> {
    elements(toml).build(Random::stream(1, 0))
}

/// `count` packets of `bytes` at a steady interval, of the flows in `flows` in turn.
fn push(element: &mut dyn Element<()>, count: usize, interval: Nanos, bytes: u32, flows: &[u32]) {
    for id in 0..count {
        let flow = flows[id % flows.len()];
        let at = Nanos(interval.0 * id as i64);
        element.push(at, Packet { flow, ..packet(id, bytes, Ecn::NotEct) });
    }
}

/// What left by `until`: when, number, flow.
fn left(element: &mut dyn Element<()>, until: Nanos) -> Vec<(Nanos, u64, u32)> {
    std::iter::from_fn(|| element.pop(until).map(|(at, packet)| (at, packet.id, packet.flow)))
        .collect()
}

const SECOND: Nanos = Nanos::SECOND;

#[test]
fn fq_codel_serves_flows_alike_however_much_they_send() {
    let mut element = build("[rate]\nrate_bps = 8_000_000\n[rate.queue.fq_codel]");
    // Three packets of flow 1 for each of flow 2; together three times what the link carries.
    push(&mut *element, 6_000, Nanos(333_333), 1000, &[1, 1, 1, 2]);
    let gone = left(&mut *element, Nanos(2 * SECOND.0));
    let share = gone.iter().filter(|(.., flow)| *flow == 2).count() as f64 / gone.len() as f64;
    assert!((0.4..=0.52).contains(&share), "the lighter flow has {share}");
}

#[test]
fn fq_codel_lets_a_sparse_flow_pass_at_once() {
    let mut element = build("[rate]\nrate_bps = 8_000_000\n[rate.queue.fq_codel]");
    push(&mut *element, 200, Nanos(0), 1000, &[1]);
    element.push(Nanos(0), Packet { flow: 2, ..packet(999, 1000, Ecn::NotEct) });
    let place = left(&mut *element, SECOND).iter().position(|(_, id, _)| *id == 999);
    assert!(place.is_some_and(|place| place <= 3), "{place:?}");
}

#[test]
fn wifi_sends_in_bursts_with_the_mean_rate() {
    let toml = "[wifi]\nrate_bps = 80_000_000\nburst_bytes = 20_000\ngap_ms = 6\n\
                queue.drop_tail.limit_packets = 100_000";
    let mut element = build(toml);
    push(&mut *element, 20_000, Nanos(0), 1000, &[1]);
    let gone = left(&mut *element, Nanos(100 * SECOND.0));
    // 20 packets take 2 ms, and 6 ms pass before them: 1,000 bursts in 8 s.
    let end = gone.last().unwrap().0.as_secs_f64();
    assert!((7.4..8.6).contains(&end), "{end} s");
    let gaps = gone.windows(2).filter(|pair| pair[1].0 - pair[0].0 > Nanos(100_001)).count();
    assert!((950..=999).contains(&gaps), "{gaps} gaps");
}

#[test]
fn a_walking_rate_stays_between_its_ends_and_moves() {
    let toml = "[walk]\nmin_bps = 1_000_000\nmax_bps = 10_000_000\nstep = 0.2\n\
                queue.drop_tail.limit_packets = 100_000";
    let mut element = build(toml);
    push(&mut *element, 20_000, Nanos(0), 1000, &[1]);
    let gone = left(&mut *element, Nanos(200 * SECOND.0));
    let rates: Vec<f64> =
        gone.windows(2).map(|pair| 8_000.0 / (pair[1].0 - pair[0].0).as_secs_f64()).collect();
    let (least, most) = rates.iter().fold((f64::MAX, 0.0f64), |(a, b), r| (a.min(*r), b.max(*r)));
    assert!(least > 0.99e6 && most < 10.1e6, "from {least} to {most}");
    assert!(least < 1.5e6 && most > 7e6, "from {least} to {most}");
}

#[test]
fn delays_step_at_their_times_and_keep_the_order_when_told_to() {
    let steps = "[delay_steps]\nsteps = [[0, 40], [1, 10]]\nkeep_order = ";
    let at = |ms| Nanos::from_millis(ms);
    for (keep, expected) in [(true, [at(1039), at(1039)]), (false, [at(1011), at(1039)])] {
        let mut element = build(&format!("{steps}{keep}"));
        element.push(at(999), packet(0, 100, Ecn::NotEct));
        element.push(at(1001), packet(1, 100, Ecn::NotEct));
        let times: Vec<Nanos> = left(&mut *element, SECOND + SECOND).iter().map(|l| l.0).collect();
        assert_eq!(times, expected, "keep_order = {keep}");
    }
}

/// The numbers of the packets that pass, of ten of 500 bytes and then ten of 1400, each 100 ms
/// after the one before.
fn passing(toml: &str) -> Vec<u64> {
    let mut element = build(toml);
    for id in 0..20 {
        let bytes = if id < 10 { 500 } else { 1400 };
        element.push(Nanos::from_millis(100 * id as i64), packet(id, bytes, Ecn::NotEct));
    }
    left(&mut *element, Nanos(10 * SECOND.0)).iter().map(|(_, id, _)| *id).collect()
}

#[test]
fn what_does_not_pass_is_what_the_settings_say() {
    let all: Vec<u64> = (0..20).collect();
    let without = |range: std::ops::Range<u64>| -> Vec<u64> {
        all.iter().copied().filter(|id| !range.contains(id)).collect()
    };
    assert_eq!(passing("[outage]\nspans_s = [[0.3, 0.5], [0.5, 0.7]]"), without(3..7));
    assert_eq!(passing("[mtu]\nwire_bytes_max = 1399\nfrom_s = 1.5"), without(15..20));
    assert_eq!(passing("[forget]\nidle_ms = 250"), all);
    assert_eq!(passing("[forget]\nidle_ms = 150"), [0, 1]);
}

#[test]
fn one_of_so_many_short_packets_passes_after_the_first_ten() {
    let mut element = build("[thin_acks]\none_of = 3");
    push(&mut *element, 40, Nanos(1), 66, &[1]);
    assert_eq!(left(&mut *element, SECOND).len(), 10 + 10);
    push(&mut *element, 5, Nanos(1), 1000, &[1]);
    assert_eq!(left(&mut *element, SECOND).len(), 5);
}
