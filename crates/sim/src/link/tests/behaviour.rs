//! What each element does to packets, against the formula or pseudo-code of its source.

use super::*;

fn build(toml: &str) -> Box<dyn Element<()>> {
    elements(toml).build(Random::stream(1, 0))
}

/// `count` packets of `bytes` at a steady interval.
fn steady(count: usize, interval: Nanos, bytes: u32) -> Arrivals {
    (0..count).map(|i| (Nanos(interval.0 * i as i64), bytes, Ecn::NotEct)).collect()
}

fn losses(toml: &str, count: usize) -> Vec<bool> {
    let arrivals = steady(count, Nanos::MILLISECOND, 1000);
    let outcome = run(&mut *build(toml), &arrivals, &mut Never);
    let mut lost = vec![true; count];
    outcome.departures.iter().for_each(|(_, id, _)| lost[*id as usize] = false);
    lost
}

#[test]
fn a_rate_is_exact_on_average() {
    // 40 bytes at 7 Mbit/s take 45,714 and 2/7 ns: 7 packets take 320,000 ns exactly.
    let mut element =
        build("[rate]\nrate_bps = 7_000_000\nqueue.drop_tail.limit_packets = 100_000");
    let outcome = run(&mut *element, &steady(70_000, Nanos(1), 40), &mut Never);
    let (last, ..) = outcome.departures[69_999];
    assert_eq!(last, Nanos(10_000 * 320_000));
    let gaps = outcome.departures.windows(2).map(|pair| pair[1].0 - pair[0].0);
    assert!(gaps.into_iter().all(|gap| gap == Nanos(45_714) || gap == Nanos(45_715)));
}

#[test]
fn drop_tail_counts_waiting_packets_only_and_frees_room_at_the_departure() {
    // 1000 bytes at 1 Mbit/s take 8 ms. One is in transmission, two wait, the fourth is dropped.
    let toml = "[rate]\nrate_bps = 1_000_000\nqueue.drop_tail.limit_packets = 2";
    let ms = |x| Nanos::from_millis(x);
    let at = [ms(0), ms(0), ms(0), ms(0), ms(7), ms(8), ms(8)];
    let arrivals: Arrivals = at.iter().map(|at| (*at, 1000, Ecn::NotEct)).collect();
    let outcome = run(&mut *build(toml), &arrivals, &mut Never);
    let ids: Vec<u64> = outcome.departures.iter().map(|(_, id, _)| *id).collect();
    assert_eq!(ids, [0, 1, 2, 5]);
    let times: Vec<i64> = outcome.departures.iter().map(|(t, ..)| t.0 / 1_000_000).collect();
    assert_eq!(times, [8, 16, 24, 32]);
    let dropped: Vec<u64> = outcome.events.iter().map(|event| event.packet).collect();
    assert_eq!(dropped, [3, 4, 6]);
}

#[test]
fn backlog_is_the_exact_integral_of_waiting_packets() {
    let mut element = build("[rate]\nrate_bps = 1_000_000\nqueue.drop_tail.limit_packets = 9");
    for id in 0..3 {
        element.push(Nanos(0), packet(id, 1000, Ecn::NotEct));
    }
    // Two wait for 8 ms, one for the next 8 ms: 24 packet-ms.
    let backlog = element.backlog(Nanos::from_millis(100)).unwrap();
    assert_eq!(backlog.packet_ns, 24_000_000);
    assert_eq!((backlog.packets, backlog.packets_max), (0, 2));
    assert_eq!(backlog.busy_ns, Nanos::from_millis(24));
    assert_eq!((backlog.sent_packets, backlog.sent_bytes), (3, 3000));
}

#[test]
fn drop_head_drops_the_one_that_waited_longest() {
    let toml = "[rate]\nrate_bps = 1_000_000\nqueue.drop_head.limit_packets = 2";
    let outcome = run(&mut *build(toml), &steady(5, Nanos(1), 1000), &mut Never);
    let ids: Vec<u64> = outcome.departures.iter().map(|(_, id, _)| *id).collect();
    assert_eq!(ids, [0, 3, 4]);
}

#[test]
fn independent_loss_has_its_probability() {
    let n = 100_000;
    let lost = losses("[bernoulli]\nloss = 0.02", n);
    let count = lost.iter().filter(|lost| **lost).count() as f64;
    // Four standard deviations of a binomial.
    let deviation = (n as f64 * 0.02 * 0.98).sqrt();
    assert!((count - n as f64 * 0.02).abs() < 4.0 * deviation, "{count} lost");
    // Independence: a loss follows a loss as often as any packet.
    let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
    let expected = n as f64 * 0.02 * 0.02;
    assert!((pairs - expected).abs() < 4.0 * expected.sqrt(), "{pairs} pairs");
}

#[test]
fn gilbert_elliott_has_the_mean_and_the_bursts_of_its_parameters() {
    let n = 400_000;
    let (p, r) = (0.01, 0.25);
    let lost = losses("[gilbert_elliott]\np = 0.01\nr = 0.25", n);
    let mean = lost.iter().filter(|lost| **lost).count() as f64 / n as f64;
    let expected = p / (p + r);
    assert!((mean - expected).abs() < 0.05 * expected, "mean loss {mean}, expected {expected}");
    let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
    let burst = mean * n as f64 / bursts;
    assert!((burst - 1.0 / r).abs() < 0.05 / r, "mean burst {burst}, expected {}", 1.0 / r);
    // All four letters: (r (1-k) + p (1-h)) / (p + r).
    let lost = losses("[gilbert_elliott]\np = 0.02\nr = 0.1\nk = 0.99\nh = 0.4", n);
    let mean = lost.iter().filter(|lost| **lost).count() as f64 / n as f64;
    let expected = (0.1 * 0.01 + 0.02 * 0.6) / 0.12;
    assert!((mean - expected).abs() < 0.05 * expected, "mean loss {mean}, expected {expected}");
}

#[test]
fn listed_packets_are_dropped_and_no_others() {
    let lost = losses("[drop_list]\npackets = [1, 4]", 6);
    assert_eq!(lost, [true, false, false, true, false, false]);
    let lost = losses("[drop_list]\npackets = [2]\nflow = 1", 6);
    assert_eq!(lost, [false, false, false, true, false, false]);
    let lost = losses("[drop_list]\npackets = [2]\nwire_bytes_min = 1001", 6);
    assert_eq!(lost, [false; 6]);
}

#[test]
fn a_policer_passes_the_burst_and_then_its_rate() {
    // 1 Mbit/s offered 4 Mbit/s of 1000 bytes for 10 s: 10 packets of burst and 1250 by rate.
    let toml = "[policer]\nrate_bps = 1_000_000\nburst_bytes = 10_000";
    let outcome = run(&mut *build(toml), &steady(5000, Nanos::from_millis(2), 1000), &mut Never);
    let passed = outcome.departures.len() as i64;
    assert!((passed - 1260).abs() <= 1, "{passed} passed");
    assert_eq!(outcome.departures[9].0, Nanos::from_millis(18));
}

#[test]
fn a_shaper_passes_the_burst_at_once_and_then_its_rate() {
    let toml = "[shaper]\nrate_bps = 1_000_000\nburst_bytes = 10_000";
    let outcome = run(&mut *build(toml), &steady(30, Nanos(0), 1000), &mut Never);
    let times: Vec<i64> = outcome.departures.iter().map(|(t, ..)| t.0 / 1_000_000).collect();
    assert!(times[..10].iter().all(|t| *t == 0));
    let later: Vec<i64> = (1..=20).map(|i| i * 8).collect();
    assert_eq!(times[10..], later);
}

#[test]
fn a_trace_delivers_at_its_opportunities_and_repeats() {
    let toml = "[trace]\nopportunities_ms = [2, 2, 5]";
    let outcome = run(&mut *build(toml), &steady(6, Nanos(0), 1504), &mut Never);
    let times: Vec<i64> = outcome.departures.iter().map(|(t, ..)| t.0 / 1_000_000).collect();
    assert_eq!(times, [2, 2, 5, 7, 7, 10]);
    // Two small packets share an opportunity; a large one ends in the next; an idle one is wasted.
    let ms = |x| Nanos::from_millis(x);
    let arrivals = [(ms(0), 700), (ms(0), 700), (ms(0), 1700), (ms(8), 100)];
    let arrivals = arrivals.map(|(at, bytes)| (at, bytes, Ecn::NotEct)).to_vec();
    let outcome = run(&mut *build(toml), &arrivals, &mut Never);
    let times: Vec<i64> = outcome.departures.iter().map(|(t, ..)| t.0 / 1_000_000).collect();
    assert_eq!(times, [2, 2, 2 + 3, 10]);
}

#[test]
fn reordering_has_the_extent_that_was_asked_for() {
    let toml = "[reorder]\nprobability = 0.1\novertaken_by = 3\nhold_ms = 100";
    let outcome = run(&mut *build(toml), &steady(3000, Nanos::MILLISECOND, 1000), &mut Never);
    let held: Vec<u64> = outcome.events.iter().map(|event| event.packet).collect();
    assert!(held.len() > 200, "{} held", held.len());
    let order: Vec<u64> = outcome.departures.iter().map(|(_, id, _)| *id).collect();
    let position = |id| order.iter().position(|x| *x == id).unwrap();
    let overtaken = |id: u64| order[..position(id)].iter().filter(|x| **x > id).count();
    assert!(held[..held.len() - 5].iter().all(|id| overtaken(*id) == 3));
    // One that nobody overtakes leaves at its deadline.
    let outcome =
        run(&mut *build("[reorder]\nprobability = 1"), &steady(1, Nanos(0), 9), &mut Never);
    assert_eq!(outcome.departures[0].0, Nanos::from_millis(10));
}

#[test]
fn jitter_has_its_distribution_and_keeps_or_breaks_order() {
    let delays = |toml: &str| {
        let arrivals = steady(20_000, Nanos::from_micros(100), 100);
        let outcome = run(&mut *build(toml), &arrivals, &mut Never);
        let ids: Vec<u64> = outcome.departures.iter().map(|(_, id, _)| *id).collect();
        let wait = |(left, id, _): &(Nanos, u64, Ecn)| (*left - arrivals[*id as usize].0).0 as f64;
        let mean = outcome.departures.iter().map(wait).sum::<f64>() / 20_000.0 / 1e6;
        (mean, ids.is_sorted())
    };
    let (mean, in_order) = delays("[jitter]\njitter_ms = 2\nkeep_order = false");
    assert!((mean - 1.0).abs() < 0.02 && !in_order, "uniform: mean {mean} ms");
    let settings = "[jitter]\njitter_ms = 2\nkeep_order = false\ndistribution = ";
    let (mean, _) = delays(&format!("{settings}\"exponential\""));
    assert!((mean - 2.0).abs() < 0.06, "exponential: mean {mean} ms");
    // The mean of a half-normal is sigma times the root of 2/pi.
    let (mean, _) = delays(&format!("{settings}\"normal\""));
    assert!((mean - 1.596).abs() < 0.04, "normal: mean {mean} ms");
    let (_, in_order) = delays("[jitter]\njitter_ms = 2");
    assert!(in_order);
}

#[test]
fn a_path_wakes_only_when_something_comes_out() {
    let elements = ["[rate]\nrate_bps = 1_000_000", "[delay]\ndelay_ms = 5"].map(super::elements);
    let mut path = Path::<()>::new(&elements, 1, 0);
    path.push(Nanos(0), packet(0, 1000, Ecn::NotEct));
    assert_eq!(path.next(), Some(Nanos::from_millis(13)));
    assert_eq!(path.latency_min(), Nanos::from_millis(5));
    let (left, _) = path.pop(Nanos::from_millis(13)).unwrap();
    assert_eq!(left, Nanos::from_millis(13));
    assert_eq!(path.next(), None);
}

#[test]
fn a_log_that_nobody_drains_is_bounded_and_counts_what_it_lost() {
    let mut element = build("[bernoulli]\nloss = 1");
    for id in 0..70_000 {
        element.push(Nanos(0), packet(id, 100, Ecn::NotEct));
    }
    let mut events = Vec::new();
    element.drain(&mut events);
    assert_eq!(
        (events.len() as u64 + element.events_lost(), element.events_lost()),
        (70_000, 4464)
    );
}
