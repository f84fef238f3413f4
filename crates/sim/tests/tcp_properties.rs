//! Whatever the path and the settings, the stream arrives whole, in order and once, and both sides
//! come to an end; whatever segments arrive, nothing panics.

use crate::support::net::{Flow, Net, Pipe};
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::flags;
use tcpwhy_sim::cc::{CONTROLLERS, Registration};
use tcpwhy_sim::endpoint::{Endpoint, PeerMemory, Socket};
use tcpwhy_sim::packet::{Cookie, Ecn, TcpHeader};
use tcpwhy_sim::random::Random;
use tcpwhy_sim::tcp::config::{Buffer, DelayedAck, FastOpen, Nagle, Pacing, Variant};
use tcpwhy_sim::tcp::{Config, Connection};

#[test]
fn every_byte_arrives_once_in_order() {
    for controller in CONTROLLERS {
        for recovery in Variant::ALL {
            for seed in 0..20 {
                transfer(controller, recovery, seed);
            }
        }
    }
}

/// Random settings: everything that can be switched is switched.
fn config(controller: &'static Registration, recovery: Variant, random: &mut Random) -> Config {
    let mut pick = |count: u64| random.bits() % count;
    let delayed = DelayedAck { timeout: Nanos::from_millis(40), segments: 2, quick: 0 };
    let mut config = Config {
        controller,
        recovery,
        mss: [536, 1_000, 1_460, 8_960][pick(4) as usize],
        initial_window_segs: 1 + pick(12) as u32,
        sack: pick(4) > 0,
        timestamps: pick(2) == 0,
        window_scale: (pick(3) > 0).then_some(None),
        ecn: pick(2) == 0,
        limited_transmit: pick(2) == 0,
        prr: pick(2) == 0,
        frto: pick(2) == 0,
        tlp: pick(2) == 0,
        nagle: [Nagle::Off, Nagle::On, Nagle::Minshall][pick(3) as usize],
        delayed_ack: (pick(3) > 0).then_some(delayed),
        send_buffer: Buffer::fixed([2_000, 30_000, 1_000_000][pick(3) as usize]),
        writer_delay: [Nanos(0), Nanos::from_millis(3)][pick(2) as usize],
        receive_buffer: [
            Buffer::fixed(3_000),
            Buffer::fixed(20_000),
            Config::default().receive_buffer,
        ][pick(3) as usize],
        cwnd_clamp_bytes: (pick(4) == 0).then_some(20_000),
        pacing: [Pacing::Off, Pacing::Window, Pacing::Rate(5_000_000)][pick(3) as usize],
        tso_max_bytes: [0, 65_536][pick(2) as usize],
        max_retries: None,
        iss: Seq(random.bits() as u32),
        seed: random.bits(),
        ..Config::default()
    };
    config.fast_open = match random.bits() % 4 {
        0 | 1 => None,
        asks => {
            let memory = PeerMemory { cookie: COOKIES[(random.bits() % 3) as usize], mss: 1460 };
            Some(FastOpen { issued: COOKIES[0], memory: (asks == 2).then_some(memory) })
        }
    };
    config
}

/// The right one twice, and a wrong one.
const COOKIES: [u32; 3] = [7, 7, 8];

fn path(random: &mut Random) -> Pipe {
    let mut below = |bound: f64| random.unit() * bound;
    let rate = [0, 1_000_000, 20_000_000][below(3.0) as usize];
    let delay = Nanos::from_micros(below(50_000.0) as i64);
    let mut pipe = Pipe::new(rate, delay, 2 + below(60.0) as usize);
    pipe.loss = below(0.08);
    pipe.reorder = below(0.1);
    pipe.detour = Nanos::from_micros(below(60_000.0) as i64);
    pipe.duplicate = below(0.05);
    pipe.mark_at = below(30.0) as usize;
    pipe
}

fn transfer(controller: &'static Registration, recovery: Variant, seed: u64) {
    let mut random = Random::stream(seed, 1);
    let client = config(controller, recovery, &mut random);
    let server = config(controller, recovery, &mut random);
    let pipes = [path(&mut random), path(&mut random)];
    let bytes = 1 + random.bits() % 200_000;
    let flow = Flow { client, server, start: Nanos(0), bytes: Some(bytes), reads: true };
    let mut net = Net::new(pipes, std::slice::from_ref(&flow), seed);
    net.keep_book();
    net.run(Nanos(20_000 * Nanos::SECOND.0), |net| {
        let peer = &net.flows[0];
        peer.client.is_finished() && peer.server.is_finished()
    });
    let peer = &mut net.flows[0];
    let name = format!("{} {} seed {seed}", controller.name, recovery.name());
    let snapshot = peer.client.snapshot(net.now);
    assert_eq!(peer.server.delivered_bytes(), bytes, "{name}: {snapshot:?} {flow:?}");
    assert!(peer.client.is_finished(), "{name}: {:?} {snapshot:?}", peer.client.state());
    assert!(peer.server.is_finished(), "{name}: {:?} {snapshot:?}", peer.server.state());
    peer.check_delivered();
}

/// The same seed gives the same run, to the last event.
#[test]
fn runs_repeat() {
    let run = |controller| {
        let mut random = Random::stream(5, 1);
        let client = config(controller, Variant::Rack, &mut random);
        let pipes = [path(&mut random), path(&mut random)];
        let server = client.clone();
        let flow = Flow { client, server, start: Nanos(0), bytes: Some(400_000), reads: true };
        let mut net = Net::new(pipes, &[flow], 3);
        net.run(Nanos(30 * Nanos::SECOND.0), |_| false);
        (net.events, net.flows[0].client.snapshot(net.now))
    };
    for controller in CONTROLLERS {
        assert_eq!(run(controller), run(controller), "{}", controller.name);
    }
}

/// Segments with random numbers, flags and options, in every state that they lead to.
#[test]
fn no_segment_panics() {
    let mut established = 0;
    for seed in 0..300 {
        let mut random = Random::stream(seed, 2);
        let controller = &CONTROLLERS[(random.bits() % CONTROLLERS.len() as u64) as usize];
        let recovery = Variant::ALL[(random.bits() % 5) as usize];
        let config = config(controller, recovery, &mut random);
        let mut end = Connection::new(&config);
        let mut now = Nanos(0);
        if seed.is_multiple_of(2) {
            end.open(now);
        }
        let irs = Seq(random.bits() as u32);
        let mut delivered = 0;
        for _ in 0..400 {
            now += Nanos::from_micros((random.bits() % 200_000) as i64);
            let header = any_header(&mut random, config.iss, irs);
            end.timer(now);
            end.write(now, random.bits() % 5_000);
            end.read(now, random.bits() % 5_000);
            end.receive(now, &header, [Ecn::NotEct, Ecn::Ce][(random.bits() % 2) as usize]);
            let sent = std::iter::from_fn(|| end.transmit(now)).take(2_000).count();
            assert!(sent < 2_000, "seed {seed}: it sends without end");
            let snapshot = end.snapshot(now);
            assert!(snapshot.pipe_bytes <= 2 * snapshot.flight_size_bytes, "seed {seed}");
            delivered = end.delivered_bytes();
        }
        established += u64::from(delivered > 0);
    }
    assert!(established > 100, "only {established} connections took data");
}

fn any_header(random: &mut Random, iss: Seq, irs: Seq) -> TcpHeader {
    let mut pick = |count: u64| (random.bits() % count) as u32;
    let some_flags = [
        flags::ACK,
        flags::ACK,
        flags::ACK,
        flags::ACK | flags::PSH,
        flags::ACK | flags::FIN,
        flags::SYN,
        flags::SYN | flags::ACK,
        flags::ACK | flags::ECE,
        flags::ACK | flags::CWR,
        flags::RST,
    ];
    // Resets are rare, or nothing would follow.
    let kinds = if pick(20) == 0 { 10 } else { 9 };
    let mut header = TcpHeader {
        seq: irs + pick(4) * pick(3_000),
        ack: iss + if pick(4) == 0 { 1 } else { pick(4) * pick(5_000) },
        flags: some_flags[pick(kinds) as usize],
        window_raw: pick(65_536) as u16,
        payload_bytes: if pick(2) == 0 { 0 } else { pick(3_000) },
        mss: (pick(2) == 0).then_some(pick(3_000) as u16),
        window_scale: (pick(2) == 0).then_some(pick(256) as u8),
        sack_permitted: pick(2) == 0,
        timestamps: (pick(2) == 0).then_some((pick(1_000), pick(1_000))),
        ..TcpHeader::default()
    };
    for _ in 0..pick(5) {
        let left = iss + pick(20_000);
        header.sack.push(left, left + pick(4_000));
    }
    header.fast_open = match pick(4) {
        0 => Some(Cookie::Request),
        1 => Some(Cookie::Value(COOKIES[pick(3) as usize])),
        _ => None,
    };
    header
}
