//! Elements for what is common outside: fair queues, radio, satellites, paths that go silent.

use super::*;
use crate::packet::{Cookie, TcpHeader};

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

/// A packet between two hosts, with a TCP header.
#[derive(Clone, Default)]
struct Segment {
    hosts: [u32; 2],
    header: TcpHeader,
}

impl Body for Segment {
    fn hosts(&self) -> [u32; 2] {
        self.hosts
    }

    fn tcp_options(&mut self) -> Option<&mut dyn TcpOptions> {
        Some(&mut self.header)
    }
}

/// Shares of the link of each of nine flows, of which all always have something to send: the first
/// has hosts of its own where `hosts` says so, by its number.
fn shares(isolate: &str, hosts: impl Fn(u32) -> [u32; 2]) -> Vec<f64> {
    let toml = format!("[rate]\nrate_bps = 8_000_000\nqueue.cake.isolate = \"{isolate}\"");
    let mut element = elements(&toml).build::<Segment>(Random::stream(1, 0));
    for id in 0..54_000u64 {
        let flow = (id % 9) as u32;
        let body = Segment { hosts: hosts(flow), header: TcpHeader::default() };
        let at = Nanos(111_111 * id as i64);
        element.push(at, Packet { id, flow, wire_bytes: 1000, ecn: Ecn::NotEct, body });
    }
    let mut counts = [0.0; 9];
    while let Some((_, packet)) = element.pop(Nanos(6 * SECOND.0)) {
        counts[packet.flow as usize] += 1.0;
    }
    let all: f64 = counts.iter().sum();
    counts.iter().map(|count| count / all).collect()
}

#[test]
fn cake_gives_hosts_halves_however_many_flows_they_have() {
    let by_sender = |flow: u32| [u32::from(flow > 0), 7];
    let by_receiver = |flow: u32| [7, u32::from(flow > 0)];
    let half = |shares: &[f64]| (0.48..=0.52).contains(&shares[0]);
    let ninth = |shares: &[f64]| (0.1..=0.12).contains(&shares[0]);
    let alike = |shares: &[f64]| {
        shares[1..].iter().all(|share| (share * 8.0 / (1.0 - shares[0]) - 1.0).abs() < 0.05)
    };
    for (isolate, at_sender, at_receiver) in [
        ("flows", false, false),
        ("dual_srchost", true, false),
        ("dual_dsthost", false, true),
        // One side has one host in each case, and all nine flows: no help for the lighter host.
        ("triple_isolate", false, false),
    ] {
        for (is_half, found) in
            [(at_sender, shares(isolate, by_sender)), (at_receiver, shares(isolate, by_receiver))]
        {
            let is_as_said = if is_half { half(&found) } else { ninth(&found) };
            assert!(is_as_said && alike(&found), "{isolate}: {found:?}");
        }
    }
    // Each of the two talks to another host: the end with more flows decides.
    let found = shares("triple_isolate", |flow| [u32::from(flow > 0), u32::from(flow > 0)]);
    assert!(half(&found) && alike(&found), "{found:?}");
}

#[test]
fn a_flow_that_cake_has_served_no_longer_counts_for_its_host() {
    // Host 1 has eight flows that end after 0.5 s, then one; host 0 has one all the time.
    let mut element =
        elements("[rate]\nrate_bps = 8_000_000\nqueue.cake.isolate = \"dual_srchost\"")
            .build::<Segment>(Random::stream(1, 0));
    for id in 0..12_000u64 {
        let at = Nanos(250_000 * id as i64);
        let flow = match id % 4 {
            0 => 0,
            _ if at < Nanos(SECOND.0 / 2) => 2 + (id % 8) as u32,
            _ => 1,
        };
        let body = Segment { hosts: [u32::from(flow > 0), 7], header: TcpHeader::default() };
        element.push(at, Packet { id, flow, wire_bytes: 500, ecn: Ecn::NotEct, body });
    }
    let mut counts = [0.0; 2];
    while let Some((at, packet)) = element.pop(Nanos(3 * SECOND.0)) {
        if at > Nanos(2 * SECOND.0) {
            counts[usize::from(packet.flow > 0)] += 1.0;
        }
    }
    assert!((0.45..=0.55).contains(&(counts[0] / (counts[0] + counts[1]))), "{counts:?}");
}

/// A SYN with every option, through an element.
fn syn_through(toml: &str, payload_bytes: u32) -> Option<(u32, TcpHeader)> {
    let header = TcpHeader {
        flags: tcpwhy_core::wire::flags::SYN,
        payload_bytes,
        mss: Some(1460),
        window_scale: Some(7),
        sack_permitted: true,
        timestamps: Some((1, 0)),
        fast_open: Some(Cookie::Value(5)),
        ..TcpHeader::default()
    };
    let wire_bytes = 34 + header.header_bytes() + payload_bytes;
    let mut element = elements(toml).build::<Segment>(Random::stream(1, 0));
    let body = Segment { hosts: [0, 1], header };
    element.push(Nanos(0), Packet { id: 0, flow: 0, wire_bytes, ecn: Ecn::NotEct, body });
    let (_, packet) = element.pop(Nanos(0))?;
    Some((packet.wire_bytes, packet.body.header))
}

#[test]
fn a_middlebox_takes_out_the_options_that_it_is_told_to() {
    let (bytes, all) = syn_through("[options]\nmss_max_bytes = 1500", 0).unwrap();
    assert_eq!((bytes, all.mss), (34 + 20 + 32, Some(1460)));
    let (bytes, lowered) = syn_through("[options]\nmss_max_bytes = 1360", 0).unwrap();
    assert_eq!((bytes, lowered), (34 + 20 + 32, TcpHeader { mss: Some(1360), ..all }));
    for (name, wanted, taken) in [
        ("mss", TcpHeader { mss: None, ..all }, 4),
        ("window_scale", TcpHeader { window_scale: None, ..all }, 4),
        ("sack_permitted", TcpHeader { sack_permitted: false, ..all }, 4),
        ("timestamps", TcpHeader { timestamps: None, ..all }, 12),
        ("fast_open", TcpHeader { fast_open: None, ..all }, 12),
    ] {
        let (bytes, found) = syn_through(&format!("[options]\nstrip = [\"{name}\"]"), 0).unwrap();
        assert_eq!(found, wanted, "{name}");
        assert_eq!(bytes, 34 + found.header_bytes(), "{name}");
        assert!((0..=taken).contains(&(34 + 20 + 32 - bytes)), "{name}: {bytes}");
    }
    let drops = "[options]\ndrop_syn_data = true";
    assert_eq!(syn_through(drops, 100), None);
    assert_eq!(syn_through(drops, 0).map(|(_, header)| header), Some(all));
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
