//! Which flows there are, in order of their first packet.

use crate::flow::{Close, Flow, Kind, State};
use crate::packet::Host;
use crate::random::Random;
use std::ops::Range;

/// The flows of one capture.
pub struct Mix {
    /// Nothing is written after this time in ns.
    pub end_ns: u64,
    seed: u64,
    next: u64,
    flows: u64,
    shape: Shape,
}

enum Shape {
    Paper,
    Paced,
    Chunks,
    Asked,
    Mawi { packets_max: u32 },
    Open,
}

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// The connections of the paper's set begin within this time of each other.
const PAPER_BEGIN_NS: u64 = 100 * MILLISECOND;
/// Segments lost of a paced connection.
const PACED_LOSS: f64 = 0.001;
/// Segments of a chunk, and of an answer.
const CHUNK_SEGMENTS: u32 = 40;
const ANSWER_SEGMENTS: u32 = 8;
/// Flows of the measured mix (400 k: 381 k TCP and 206 k UDP), per flow that is asked for.
const TCP_PER_FLOW: f64 = 0.9525;
const UDP_PER_FLOW: f64 = 0.515;

/// Packets of a flow by share of flows, between the points log-linear: 97 % have at most 166, and
/// 1.41 % more than 300. A Pareto tail with this exponent follows; it gives 40 packets per flow.
const TCP_PACKETS: [(f64, f64); 6] =
    [(0.40, 7.0), (0.60, 11.0), (0.80, 20.0), (0.90, 45.0), (0.97, 166.0), (0.9859, 300.0)];
const UDP_PACKETS: [(f64, f64); 6] =
    [(0.30, 1.0), (0.60, 2.0), (0.80, 6.0), (0.90, 30.0), (0.97, 166.0), (0.9859, 300.0)];
const TAIL_EXPONENT: f64 = 1.04;

impl Mix {
    /// `flows` connections at the same time, 1 Mbit/s of 1500-byte packets each.
    pub fn paper(seed: u64, flows: u64, seconds: u64) -> Mix {
        // Room for the close after the last data.
        let end_ns = (seconds + 1) * SECOND;
        Mix { end_ns, seed, next: 0, flows, shape: Shape::Paper }
    }

    /// The same, with shorter round trips and some loss: every pair is acknowledged before the next
    /// one leaves, as when a program or the sender paces.
    pub fn paced(seed: u64, flows: u64, seconds: u64) -> Mix {
        Mix { shape: Shape::Paced, ..Mix::paper(seed, flows, seconds) }
    }

    /// The same rate in chunks of 60 kB, and pauses between them.
    pub fn chunks(seed: u64, flows: u64, seconds: u64) -> Mix {
        Mix { shape: Shape::Chunks, ..Mix::paper(seed, flows, seconds) }
    }

    /// The same rate in answers of 12 kB, each to a request.
    pub fn asked(seed: u64, flows: u64, seconds: u64) -> Mix {
        Mix { shape: Shape::Asked, ..Mix::paper(seed, flows, seconds) }
    }

    /// A mix like a transit link's; `packets_max` bounds the largest flows.
    pub fn mawi(seed: u64, flows: u64, seconds: u64, packets_max: u32) -> Mix {
        let flows = (flows as f64 * (TCP_PER_FLOW + UDP_PER_FLOW)) as u64;
        Mix { end_ns: seconds * SECOND, seed, next: 0, flows, shape: Shape::Mawi { packets_max } }
    }

    /// `flows` connections that are all open at the end, of a handshake, a request and an answer.
    pub fn open(seed: u64, flows: u64, seconds: u64) -> Mix {
        Mix { end_ns: seconds * SECOND, seed, next: 0, flows, shape: Shape::Open }
    }

    /// The next flow, or None after the last.
    pub fn next(&mut self) -> Option<Flow> {
        if self.next >= self.flows {
            return None;
        }
        let number = self.next;
        self.next += 1;
        let random = Random::new(self.seed, number);
        let flow = match self.shape {
            Shape::Paper => self.paper_flow(number, 10..100, random),
            Shape::Paced => Flow { loss: PACED_LOSS, ..self.paper_flow(number, 2..50, random) },
            Shape::Chunks => self.paper_flow(number, 2..50, random).in_bursts(CHUNK_SEGMENTS),
            Shape::Asked => {
                let flow = self.paper_flow(number, 2..50, random).in_bursts(ANSWER_SEGMENTS);
                Flow { sender: 1, request_len: 300, asks: true, ..flow }
            }
            Shape::Mawi { packets_max } => self.mawi_flow(number, packets_max, random),
            Shape::Open => self.open_flow(number, random),
        };
        Some(flow.enter())
    }

    /// A connection of 1 Mbit/s with a round-trip time in these milliseconds.
    fn paper_flow(&self, number: u64, rtt_ms: Range<u64>, mut random: Random) -> Flow {
        let begin = number * PAPER_BEGIN_NS / self.flows;
        let burst = 2;
        let period = burst * 1500 * 8 * SECOND / 1_000_000;
        let seconds = (self.end_ns - SECOND) / SECOND;
        let client = Host { addr: v4([10, 0, 0, 0], number / 32_768), port: 0, ttl: 63 };
        let server = Host { addr: v4([198, 18, 0, 0], number % 1024), port: 5201, ttl: 60 };
        let port = 16_384 + (number % 32_768) as u16;
        let spread = rtt_ms.end - rtt_ms.start;
        let rtt = rtt_ms.start * MILLISECOND + random.below(spread * MILLISECOND);
        let near = rtt / 4 + random.below(rtt / 2);
        Flow {
            tau: [near, rtt - near],
            hosts: [Host { port, ..client }, server],
            sender: 0,
            segments: (seconds * 1_000_000 / (1500 * 8)) as u32,
            segment_len: 1448,
            burst: burst as u32,
            period,
            ..self.blank(begin, Kind::Transfer, random)
        }
    }

    fn open_flow(&self, number: u64, mut random: Random) -> Flow {
        let begin = number * (self.end_ns - SECOND) / self.flows;
        let addr = v4([10, 0, 0, 0], random.below(1 << 24));
        let client = Host { addr, port: 1024 + random.below(64_511) as u16, ttl: 60 };
        let server = Host { addr: v4([198, 18, 0, 0], number % 1024), port: 443, ttl: 60 };
        Flow {
            hosts: [client, server],
            tau: [5 * MILLISECOND, 5 * MILLISECOND],
            sender: 1,
            segments: 2,
            request_len: 300,
            close: Close::Never,
            ..self.blank(begin, Kind::Transfer, random)
        }
    }

    fn mawi_flow(&self, number: u64, packets_max: u32, mut random: Random) -> Flow {
        let spacing = self.end_ns / self.flows;
        let begin = number * spacing + random.below(spacing.max(1));
        let tcp = random.chance(TCP_PER_FLOW / (TCP_PER_FLOW + UDP_PER_FLOW));
        let v6 = random.chance(0.1);
        let network =
            |base: [u8; 4], host: u64| if v6 { v6_address(base, host) } else { v4(base, host) };
        let client = Host {
            addr: network([10, 0, 0, 0], random.below(1 << 22)),
            port: 1024 + random.below(64_511) as u16,
            ttl: 40 + random.below(24) as u8,
        };
        let server = Host {
            addr: network([198, 18, 0, 0], random.below(1 << 16)),
            port: [443, 443, 443, 80, 53, 22, 8080, 25][random.below(8) as usize],
            ttl: 40 + random.below(24) as u8,
        };
        let rtt = random.log_uniform(2e6, 300e6) as u64;
        let near = rtt / 10 + random.below(rtt * 8 / 10);
        let flow = Flow {
            v6,
            hosts: [client, server],
            tau: [near, rtt - near],
            // Routing is often not the same both ways on a transit link.
            only: random.chance(0.1).then(|| random.below(2) as usize),
            ..self.blank(begin, Kind::Transfer, random)
        };
        if tcp { self.mawi_tcp(flow, packets_max) } else { self.mawi_udp(flow, packets_max) }
    }

    fn mawi_tcp(&self, mut flow: Flow, packets_max: u32) -> Flow {
        let random = &mut flow.random;
        let quantile = random.share();
        if quantile < TCP_PACKETS[0].0 {
            // Scans and backscatter: most of the flows of a transit link.
            let syns = if random.chance(0.8) { 1 } else { 3 };
            flow.kind = Kind::Scan { syns, refused: random.chance(0.3) };
            flow.timestamps = false;
            flow.only = None;
            return flow;
        }
        let packets = packets_at(quantile, &TCP_PACKETS, packets_max, random);
        // Without handshake, request and close; an ACK for each second segment.
        flow.segments = (((packets - 7.0).max(1.0)) / 1.5).ceil() as u32;
        flow.sender = usize::from(random.chance(0.85));
        flow.request_len = if flow.sender == 1 { 120 + random.below(700) as u16 } else { 0 };
        let small = packets < 100.0 && random.chance(0.5);
        flow.segment_len = match (small, flow.v6) {
            (true, _) => 40 + random.below(900) as u16,
            (false, true) => 1428,
            (false, false) => 1448,
        };
        flow.loss = if random.chance(0.4) { random.log_uniform(1e-3, 3e-2) } else { 0.0 };
        flow.timestamps = random.chance(0.85);
        flow.close = match random.share() {
            share if share < 0.75 => Close::Fin,
            share if share < 0.9 => Close::Reset,
            _ => Close::Never,
        };
        let rtt = (flow.tau[0] + flow.tau[1]) as f64;
        if random.chance(0.5) {
            // A window each round trip.
            flow.burst = (random.log_uniform(2.0, 64.0) as u32).max(2);
            flow.period = rtt as u64;
        } else {
            flow.burst = 2;
            flow.period = random.log_uniform(1e5, 1e8) as u64;
        }
        self.fit(flow)
    }

    fn mawi_udp(&self, mut flow: Flow, packets_max: u32) -> Flow {
        flow.kind = Kind::Udp;
        let random = &mut flow.random;
        let quantile = random.share();
        flow.segments = packets_at(quantile, &UDP_PACKETS, packets_max, random) as u32;
        flow.request_len = 30 + random.below(60) as u16;
        flow.segment_len = if random.chance(0.6) {
            1200 + random.below(150) as u16
        } else {
            60 + random.below(400) as u16
        };
        flow.period = random.log_uniform(2e5, 1e8) as u64;
        self.fit(flow)
    }

    /// Makes a flow fast enough to end before the capture does, as far as its line allows.
    fn fit(&self, mut flow: Flow) -> Flow {
        let left = (self.end_ns - flow.begin) * 9 / 10;
        let bursts = u64::from(flow.segments.div_ceil(flow.burst));
        let line = u64::from(flow.burst + 1) * crate::flow::LINE_GAP_NS;
        flow.period = flow.period.min(left / bursts.max(1)).max(line);
        flow
    }

    fn blank(&self, begin: u64, kind: Kind, mut random: Random) -> Flow {
        let state = State::new(&mut random);
        let host = Host { addr: [0; 16], port: 0, ttl: 64 };
        Flow {
            kind,
            begin,
            end: self.end_ns,
            v6: false,
            hosts: [host, host],
            tau: [MILLISECOND, MILLISECOND],
            sender: 0,
            segments: 1,
            segment_len: 1448,
            request_len: 0,
            burst: 1,
            period: MILLISECOND,
            loss: 0.0,
            timestamps: true,
            asks: false,
            close: Close::Fin,
            only: None,
            random,
            state,
            packets: 0,
            retransmissions: 0,
        }
    }
}

/// Packets of the flow at this share of all flows.
fn packets_at(share: f64, points: &[(f64, f64)], packets_max: u32, random: &mut Random) -> f64 {
    if share < points[0].0 {
        return points[0].1;
    }
    for pair in points.windows(2) {
        let [(low, from), (high, to)] = [pair[0], pair[1]];
        if share < high {
            return from * (to / from).powf((share - low) / (high - low));
        }
    }
    let tail = points[points.len() - 1].1;
    (tail * (1.0 - random.share()).powf(-1.0 / TAIL_EXPONENT)).min(f64::from(packets_max))
}

/// The address of a host in an IPv4 network, as [`Host`] holds it.
fn v4(base: [u8; 4], host: u64) -> [u8; 16] {
    let mut addr = [0; 16];
    addr[12..].copy_from_slice(&(u32::from_be_bytes(base) + host as u32).to_be_bytes());
    addr
}

/// The address of a host in an IPv6 network for documentation (RFC 3849).
fn v6_address(base: [u8; 4], host: u64) -> [u8; 16] {
    let mut addr = v4(base, host);
    addr[..4].copy_from_slice(&[0x20, 0x01, 0x0d, 0xb8]);
    addr
}
