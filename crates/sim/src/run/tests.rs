//! The loop with an endpoint too simple to be wrong: a fixed window, no handshake, no repair.

use super::*;
use crate::endpoint::{Kind, Limit, Outgoing, Phase, Socket};
use crate::link::Elements;
use crate::packet::TcpHeader;
use crate::random::Random;
use crate::source::Workloads;
use crate::source::reader::Readers;
use crate::source::udp::UdpSources;
use crate::tap::Manner;
use crate::tap::frame::pcap_header;
use std::net::Ipv4Addr;
use tcpwhy_core::units::Seq;
use tcpwhy_core::wire::flags;

/// Sends segments of [`MSS`] while less than `window` is unacknowledged, and acknowledges every
/// segment that arrives with what it has in order.
struct FixedWindow {
    window: u64,
    written: u64,
    sent: u64,
    acknowledged: u64,
    received: u64,
    read: u64,
    acks_due: u32,
    closed: bool,
}

const MSS: u64 = 1000;

fn fixed_window(window: u64) -> FixedWindow {
    FixedWindow {
        window,
        written: 0,
        sent: 0,
        acknowledged: 0,
        received: 0,
        read: 0,
        acks_due: 0,
        closed: false,
    }
}

impl Socket for FixedWindow {
    fn write(&mut self, _now: Nanos, bytes: u64) -> u64 {
        self.written += bytes;
        bytes
    }
    fn writable(&self) -> u64 {
        u64::MAX - self.written
    }
    fn unacknowledged(&self) -> u64 {
        self.written - self.acknowledged
    }
    fn close(&mut self, _now: Nanos) {
        self.closed = true;
    }
    fn readable(&self) -> u64 {
        self.received - self.read
    }
    fn read(&mut self, _now: Nanos, bytes: u64) -> u64 {
        let taken = bytes.min(self.readable());
        self.read += taken;
        taken
    }
    fn is_established(&self) -> bool {
        true
    }
    fn is_peer_closed(&self) -> bool {
        false
    }
}

impl Endpoint for FixedWindow {
    fn open(&mut self, _now: Nanos) {}
    fn receive(&mut self, _now: Nanos, header: &TcpHeader, _ecn: Ecn) {
        self.acknowledged = self.acknowledged.max(u64::from(header.ack.0));
        if header.payload_bytes > 0 {
            if u64::from(header.seq.0) == self.received {
                self.received += u64::from(header.payload_bytes);
            }
            self.acks_due += 1;
        }
    }
    fn timer(&mut self, _now: Nanos) {}
    fn next_timer(&self) -> Option<Nanos> {
        None
    }
    fn transmit(&mut self, _now: Nanos) -> Option<Outgoing> {
        let mut header = TcpHeader {
            seq: Seq(self.sent as u32),
            ack: Seq(self.received as u32),
            flags: flags::ACK,
            window_raw: 65_535,
            ..TcpHeader::default()
        };
        if self.acks_due > 0 {
            self.acks_due -= 1;
            return Some(Outgoing { header, ecn: Ecn::NotEct, kind: Kind::Ack });
        }
        let room = self.window.saturating_sub(self.sent - self.acknowledged);
        let bytes = MSS.min(self.written - self.sent).min(room);
        if bytes == 0 || (bytes < MSS && room < MSS) {
            return None;
        }
        header.payload_bytes = bytes as u32;
        self.sent += bytes;
        Some(Outgoing { header, ecn: Ecn::NotEct, kind: Kind::New })
    }
    fn snapshot(&self, now: Nanos) -> Snapshot {
        let limit = if self.sent == self.written { Limit::Application } else { Limit::Cwnd };
        let data_segments = self.sent.div_ceil(MSS);
        let phase = Phase::SlowStart;
        Snapshot { limit, limit_since: now, phase, data_segments, ..Snapshot::default() }
    }
    fn delivered_bytes(&self) -> u64 {
        self.received
    }
    fn is_finished(&self) -> bool {
        self.closed
    }
}

fn address(last: u8, port: u16) -> tcpwhy_core::wire::Endpoint {
    let addr = Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped().octets();
    tcpwhy_core::wire::Endpoint { addr, port }
}

fn elements(toml: &str) -> Vec<Elements> {
    #[derive(serde::Deserialize)]
    struct List {
        list: Vec<Elements>,
    }
    toml::from_str::<List>(&format!("list = [{toml}]")).unwrap().list
}

/// One flow over one link each way.
fn world(forward: &str, window: u64, workload: &str, seed: u64) -> Simulation<FixedWindow> {
    world_with_offload(forward, window, workload, seed, false)
}

/// The same; with `offload` at both hosts, GRO gathering for 50 µs.
fn world_with_offload(
    forward: &str,
    window: u64,
    workload: &str,
    seed: u64,
    offload: bool,
) -> Simulation<FixedWindow> {
    let mut world = Simulation::new(14);
    let there = world.add_link("path forward", &elements(forward), seed, 0);
    let back = world.add_link("path backward", &elements("{ delay.delay_ms = 20 }"), seed, 100);
    let workload: Workloads = toml::from_str(workload).unwrap();
    let programs = workload.build(Nanos(0), Random::stream(seed, 200));
    let end = |application, last, opens| End {
        endpoint: fixed_window(window),
        application,
        address: address(last, 5000),
        opens,
        tso: offload,
        gro: offload.then_some(Nanos::from_micros(50)),
    };
    let ends = [end(programs.sender, 1, Some(Nanos(0))), end(Readers::default().build(), 2, None)];
    world.add_flow(Flow { ends, routes: [vec![there], vec![back]] });
    world
}

#[test]
fn a_window_moves_one_window_per_round_trip() {
    let mut world = world("{ delay.delay_ms = 20 }", 10_000, "[bulk]", 1);
    world.run_until(Nanos::from_millis(1000));
    // Windows leave at 0, 40, 80, ... and arrive 20 ms later: 25 have arrived at 980 ms.
    assert_eq!(world.delivered_bytes(0), 25 * 10_000);
    assert_eq!(world.counts(0).in_network(), 10);
    assert_eq!(world.counts(0).in_network_max, 10);
}

#[test]
fn a_link_delivers_at_its_rate() {
    // 1000 bytes of payload and 54 of headers at 1 Mbit/s.
    let link = "{ rate.rate_bps = 1_000_000 }, { delay.delay_ms = 20 }";
    let mut world = world(link, 100_000, "[bulk]", 1);
    world.run_until(Nanos::from_millis(10_020));
    let packets = 10_000_000_000 / (1054 * 8 * 1000);
    assert_eq!(world.delivered_bytes(0), packets * 1000);
}

#[test]
fn every_packet_is_delivered_dropped_or_in_flight() {
    let link = "{ bernoulli.loss = 0.05 }, { duplicate.probability = 0.05 }, \
                { rate = { rate_bps = 2_000_000, queue.drop_tail.limit_packets = 3 } }, \
                { delay.delay_ms = 20 }";
    let mut world = world(link, 20_000, "[paced]\nrate_bps = 3_000_000\nwrite_bytes = 5000", 4);
    world.record_truth(Nanos::from_millis(10));
    let mut seen = Counts::default();
    for step in 1..100 {
        world.run_until(Nanos::from_millis(step * 7));
        let counts = world.counts(0);
        assert!(counts.delivered + counts.dropped <= counts.sent + counts.duplicated);
        seen = counts;
    }
    assert!(seen.dropped > 0 && seen.duplicated > 0, "{seen:?}");
    // With nothing lost on the way back and the sender stuck, the network runs empty.
    world.run_until(Nanos::from_millis(1_000_000));
    let counts = world.counts(0);
    assert_eq!(counts.in_network(), 0);
    let truth = world.truth().unwrap();
    let rows = truth.events.take().unwrap();
    assert_eq!(rows.num_rows() as u64, counts.dropped + counts.duplicated);
}

/// The capture of a world as a file.
fn pcap(world: &mut Simulation<FixedWindow>, tap: usize) -> Vec<u8> {
    let manner = world.tap(tap).manner().clone();
    let mut file = pcap_header(&manner);
    for record in world.take_records(tap) {
        record.write_pcap(&world.addresses(record.half), &manner, &mut file);
    }
    file
}

fn lossy_world_with_taps(seed: u64) -> Simulation<FixedWindow> {
    let link = "{ rate.rate_bps = 5_000_000 }, { jitter.jitter_ms = 1 }, { bernoulli.loss = 0.01 }";
    let mut world = world(link, 20_000, "[chunks]\nchunk_bytes = 9000\ninterval_ms = 30", seed);
    let source: UdpSources = toml::from_str("[poisson]\nrate_pps = 100").unwrap();
    world.add_udp(UdpSource {
        emissions: source.build(Random::stream(seed, 300)),
        from: Nanos(0),
        until: Nanos::MAX,
        jitter: Nanos::from_millis(1),
        random: Random::stream(seed, 301),
        wire_bytes: 1000,
        route: vec![0],
        addresses: Addresses { src: address(3, 9), dst: address(2, 9) },
    });
    for host in [1, 2] {
        let tap = Tap::new(Manner::default(), Random::stream(seed, 400));
        world.add_tap(Place::Host(address(host, 0).addr), tap);
    }
    world
}

#[test]
fn same_seed_same_bytes() {
    let file = |seed| {
        let mut world = lossy_world_with_taps(seed);
        world.run_until(Nanos::from_millis(3000));
        [pcap(&mut world, 0), pcap(&mut world, 1)]
    };
    assert_eq!(file(1), file(1));
    assert_ne!(file(1), file(2));
}

#[test]
fn a_thousand_worlds_side_by_side_are_as_if_each_were_alone() {
    let counts = |world: &Simulation<FixedWindow>| [0, 1, 2].map(|half| world.counts(half));
    let mut worlds: Vec<_> = (0..1000).map(lossy_world_with_taps).collect();
    for step in 1..=4 {
        for world in &mut worlds {
            world.run_until(Nanos::from_millis(step * 25));
        }
    }
    for (seed, world) in worlds.iter().enumerate().step_by(97) {
        let mut alone = lossy_world_with_taps(seed as u64);
        alone.run_until(Nanos::from_millis(100));
        assert_eq!(counts(world), counts(&alone), "seed {seed}");
    }
}

#[test]
fn looking_changes_nothing() {
    let mut plain = lossy_world_with_taps(5);
    let mut watched = lossy_world_with_taps(5);
    watched.record_truth(Nanos::from_micros(100));
    for step in 1..=2000 {
        watched.run_until(Nanos::from_millis(step));
        watched.backlogs(0);
    }
    plain.run_until(Nanos::from_millis(2000));
    for half in 0..3 {
        assert_eq!(plain.counts(half), watched.counts(half));
    }
    assert_eq!(pcap(&mut plain, 1), pcap(&mut watched, 1));
}

#[test]
fn taps_see_the_same_packets_at_their_places_and_times() {
    let mut world = world("{ delay.delay_ms = 20 }", 3000, "[fixed_size]\nbytes = 3000", 1);
    for host in [1, 2] {
        let tap = Tap::new(Manner::default(), Random::stream(1, 400));
        world.add_tap(Place::Host(address(host, 0).addr), tap);
    }
    world.run_until(Nanos::SECOND);
    let seen = |records: Vec<Record>| -> Vec<(i64, usize, u32)> {
        let line = |record: Record| match record.content {
            Content::Tcp(header, _) => (record.ts.0 / 1_000_000, record.half, header.payload_bytes),
            Content::Udp(bytes) => (record.ts.0 / 1_000_000, record.half, bytes),
        };
        records.into_iter().map(line).collect()
    };
    let (data, ack) = ((0, 0, 1000), (40, 1, 0));
    assert_eq!(seen(world.take_records(0)), [data, data, data, ack, ack, ack]);
    let (data, ack) = ((20, 0, 1000), (20, 1, 0));
    assert_eq!(seen(world.take_records(1)), [data, ack, data, ack, data, ack]);
}

#[test]
fn offload_shows_super_segments_at_the_hosts() {
    let workload = "[fixed_size]\nbytes = 8000";
    let mut simulation = world_with_offload("{ delay.delay_ms = 20 }", 8000, workload, 1, true);
    for host in [1, 2] {
        let tap = Tap::new(Manner::default(), Random::stream(1, 400));
        simulation.add_tap(Place::Host(address(host, 0).addr), tap);
    }
    simulation.run_until(Nanos::SECOND);
    let sizes = |records: Vec<Record>| -> Vec<(i64, u32)> {
        let line = |record: Record| match record.content {
            Content::Tcp(header, _) => (record.ts.0 / 1000, header.payload_bytes),
            Content::Udp(bytes) => (record.ts.0 / 1000, bytes),
        };
        records.into_iter().map(line).collect()
    };
    assert_eq!(sizes(simulation.take_records(0)), [(0, 8000), (40_100, 0)]);
    assert_eq!(sizes(simulation.take_records(1)), [(20_050, 8000), (20_050, 0)]);
}

#[test]
fn truth_spans_cover_the_time_without_gaps() {
    let mut world = world(
        "{ delay.delay_ms = 20 }",
        3000,
        "[chunks]\nchunk_bytes = 9000\ninterval_ms = 200",
        1,
    );
    world.record_truth(Nanos::from_millis(100));
    world.run_until(Nanos::SECOND);
    let rows = world.truth().unwrap().spans.take().unwrap();
    let column = |name: &str| rows.column_by_name(name).unwrap().clone();
    let times = |name: &str| -> Vec<i64> {
        let column = column(name);
        let column = column.as_any().downcast_ref::<arrow_array::Int64Array>().unwrap();
        column.values().to_vec()
    };
    let (starts, ends) = (times("start_ns"), times("end_ns"));
    assert_eq!((starts[0], *ends.last().unwrap()), (0, 1_000_000_000));
    assert!(starts[1..].iter().zip(&ends).all(|(start, end)| start == end));
    // 9000 bytes by 3000 in 40 ms each: the window holds it for 80 ms, the program for 120.
    let limits = column("limit");
    let limits = limits.as_any().downcast_ref::<arrow_array::StringArray>().unwrap();
    let mut held_ns = [0; 2];
    for (i, (start, end)) in starts.iter().zip(&ends).enumerate() {
        held_ns[usize::from(limits.value(i) == "application")] += end - start;
    }
    assert_eq!(held_ns, [400_000_000, 600_000_000]);
}
