//! The study "The Effect of TCP's Adaptivity on the Throughput": TCP and a UDP source of periodic
//! rate share a link, and at some frequencies TCP gets far less than what UDP leaves.
//!
//! ```text
//! S --(rate, delay, buffer)--> R --(rate, delay, buffer)--> D
//! U --(rate, delay, buffer)--> R
//! ```

mod rows;
mod series;

pub use rows::{DepartureRow, Label, MomentRow, OutcomeRow};
pub use series::{Departure, Moment};

use crate::link::event::Backlog;
use crate::link::queue::{DropTail, Queues};
use crate::link::{Delay, Elements, FixedRate};
use crate::parameter::{Count, Milliseconds, PacketRate, Rate};
use crate::random::Random;
use crate::run::{End, Flow, Simulation, UdpSource};
use crate::source::reader::Readers;
use crate::source::udp::{Sine, UdpSources};
use crate::source::{Bulk, Workloads};
use crate::tap::frame::Addresses;
use crate::tcp::config::{RenoRules, Variant};
use crate::tcp::{Config, Connection};
use std::net::Ipv4Addr;
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::Endpoint;

/// One point of the study. The default is its reference case.
#[derive(Clone, Debug)]
pub struct Case {
    /// TCP's settings at both ends. Its `mss` is set from `tcp_packet_bytes`.
    pub tcp: Config,
    /// Rate of every link.
    pub rate_bps: u64,
    /// Propagation delay of every link.
    pub delay: Nanos,
    /// Packets that may wait in front of every link.
    pub buffer_packets: u64,
    /// Length of a data packet on the wire, 42 bytes of headers included.
    pub tcp_packet_bytes: u32,
    /// Length of a UDP packet on the wire.
    pub udp_packet_bytes: u32,
    /// Frequencies of the UDP source in 1/s.
    pub frequencies_hz: Vec<f64>,
    /// Phase of the UDP source in periods.
    pub phase: f64,
    /// Each UDP packet leaves up to so many packet times later, at random.
    pub jitter_packets: f64,
    /// For the jitter.
    pub seed: u64,
    /// When TCP opens.
    pub start: Nanos,
    /// When the measurement begins.
    pub warm: Nanos,
    /// How long it lasts.
    pub duration: Nanos,
}

impl Default for Case {
    fn default() -> Case {
        Case {
            tcp: Case::reference_tcp(Variant::Reno),
            rate_bps: 1_000_000,
            delay: Nanos::from_millis(5),
            buffer_packets: 40,
            tcp_packet_bytes: 1000,
            udp_packet_bytes: 1000,
            frequencies_hz: vec![0.4],
            phase: 0.0,
            jitter_packets: 0.0,
            seed: 1,
            start: Nanos::from_millis(100),
            warm: Nanos(60_000_000_000),
            duration: Nanos(600_000_000_000),
        }
    }
}

/// What was measured, in the names of the tables that it is compared with.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcome {
    /// Payload delivered in order, as data packets, over half of what the link carries.
    pub norm_goodput: f64,
    /// Data packets that crossed the shared link, retransmissions included, over the same.
    pub norm_tcp_link: f64,
    /// UDP packets that crossed it, over the same.
    pub norm_udp_link: f64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmissions.
    pub fast_retransmits: u64,
    /// Mean over time of the packets waiting at the shared link.
    pub mean_queue: f64,
    /// The most packets waiting there since the start.
    pub max_queue: u64,
    /// Data packets dropped.
    pub tcp_drops: u64,
    /// UDP packets dropped.
    pub udp_drops: u64,
    /// The most data packets in the network: the paper's "congestion window".
    pub max_in_network: u64,
    /// Mean over the periods of the first frequency of the most data packets in the network.
    pub mean_period_max_in_network: f64,
    /// Events that the simulator processed since the start.
    pub events: u64,
}

/// Numbers of the halves and of the shared link.
const DATA: usize = 0;
const UDP: usize = 2;
const SHARED: usize = 1;
/// Above it a period is shorter than any packet of interest, and counting its maxima is all there
/// would be to do.
const FREQUENCY_MAX_HZ: f64 = 1000.0;

impl Case {
    /// Runs it and measures.
    pub fn run(&self) -> Outcome {
        let mut world = self.build();
        world.run_until(self.warm);
        let before = Reading::take(&mut world);
        world.take_in_network_max(DATA);
        let end = self.warm + self.duration;
        let period = Nanos::from_secs_f64(1.0 / self.frequencies_hz[0]);
        let (mut maxima, mut periods, mut most) = (0, 0u64, 0);
        let mut now = self.warm;
        while now < end {
            now = (now + period).min(end);
            world.run_until(now);
            let max = world.take_in_network_max(DATA);
            most = max.max(most);
            maxima += max;
            periods += 1;
        }
        let after = Reading::take(&mut world);
        Outcome {
            max_in_network: most,
            mean_period_max_in_network: maxima as f64 / periods as f64,
            events: world.events_seen(),
            ..self.compare(&before, &after)
        }
    }

    /// The case if it makes sense, or what does not.
    pub fn checked(self) -> Result<Case, String> {
        let all_positive = |values: &[f64]| values.iter().all(|f| f.is_finite() && *f > 0.0);
        let headers = Case::HEADER_BYTES;
        let wrong = if self.frequencies_hz.is_empty() || !all_positive(&self.frequencies_hz) {
            "a frequency must be above 0"
        } else if self.frequencies_hz[0] > FREQUENCY_MAX_HZ {
            "a frequency must be at most 1000 per s"
        } else if self.rate_bps < 1000 {
            "the link rate must be at least 1000 bit/s"
        } else if self.delay.0 < 0 {
            "the delay must not be negative"
        } else if self.buffer_packets == 0 {
            "the buffer must hold at least 1 packet"
        } else if !(headers + 1..=65_535).contains(&self.tcp_packet_bytes)
            || !(headers + 1..=65_535).contains(&self.udp_packet_bytes)
        {
            "a packet must have 43 to 65535 bytes, 42 of them headers"
        } else if self.tcp.rto.min.0 < 0 || self.tcp.rto.max.0 <= 0 {
            "the bounds of the retransmission timeout must be above 0"
        } else if !self.phase.is_finite() || !self.jitter_packets.is_finite() {
            "phase and jitter must be numbers"
        } else if self.jitter_packets < 0.0 {
            "the jitter must not be negative"
        } else if self.warm.0 < 0 || self.duration.0 <= 0 {
            "the measurement must last longer than 0 s"
        } else {
            return Ok(self);
        };
        Err(format!("the study cannot run this case: {wrong}"))
    }

    /// TCP as the reference case has it, with this kind of loss recovery.
    pub fn reference_tcp(recovery: Variant) -> Config {
        Config { reno_rules: RenoRules::Ns3, ..Config::classic(recovery, 958) }
    }

    /// Bytes of headers on the wire: 20 of TCP, 20 of IP, 2 of PPP.
    pub const HEADER_BYTES: u32 = 42;

    fn compare(&self, before: &Reading, after: &Reading) -> Outcome {
        let seconds = self.duration.as_secs_f64();
        let half_bytes = self.rate_bps as f64 / 8.0 * seconds / 2.0;
        let payload = f64::from(self.tcp_packet_bytes - Case::HEADER_BYTES);
        let packet = f64::from(self.tcp_packet_bytes);
        let delivered = (after.delivered_bytes - before.delivered_bytes) as f64;
        let data = (after.data_arrived - before.data_arrived) as f64;
        let udp = (after.udp_arrived - before.udp_arrived) as f64;
        let waited = after.backlog.packet_ns - before.backlog.packet_ns;
        Outcome {
            norm_goodput: delivered / payload * packet / half_bytes,
            norm_tcp_link: data * packet / half_bytes,
            norm_udp_link: udp * f64::from(self.udp_packet_bytes) / half_bytes,
            timeouts: after.timeouts - before.timeouts,
            fast_retransmits: after.fast_retransmits - before.fast_retransmits,
            mean_queue: waited as f64 / self.duration.0 as f64,
            max_queue: after.backlog.packets_max,
            tcp_drops: after.data_dropped - before.data_dropped,
            udp_drops: after.udp_dropped - before.udp_dropped,
            ..Outcome::default()
        }
    }

    fn build(&self) -> Simulation<Connection> {
        let mut world = Simulation::new(2);
        let links = ["S-R", "R-D", "D-R", "R-S", "U-R"];
        for (i, name) in links.into_iter().enumerate() {
            world.add_link(name, &self.link(), self.seed, 64 * (i as u64 + 1));
        }
        let payload = self.tcp_packet_bytes - Case::HEADER_BYTES;
        let tcp = Config { mss: payload as u16, ..self.tcp.clone() };
        let random = Random::stream(self.seed, 0);
        let sender =
            Workloads::Bulk(Bulk { write_bytes: None }).build(Nanos(0), random.clone()).sender;
        let end = |application, last, opens| End {
            endpoint: Connection::new(&tcp),
            application,
            address: address(last, 5001),
            opens,
            tso: false,
            gro: None,
        };
        let ends = [end(sender, 1, Some(self.start)), end(Readers::default().build(), 2, None)];
        world.add_flow(Flow { ends, routes: [vec![0, SHARED], vec![2, 3]] });
        let packet_time = f64::from(self.udp_packet_bytes) * 8.0 / self.rate_bps as f64;
        world.add_udp(UdpSource {
            emissions: self.source().build(random.clone()),
            from: Nanos(0),
            until: Nanos::MAX,
            jitter: Nanos::from_secs_f64(self.jitter_packets * packet_time),
            random,
            wire_bytes: self.udp_packet_bytes,
            route: vec![4, SHARED],
            addresses: Addresses { src: address(3, 9000), dst: address(2, 9000) },
        });
        world
    }

    fn link(&self) -> [Elements; 2] {
        let limit_packets = Some(Count(self.buffer_packets));
        let queue = Queues::DropTail(DropTail { limit_packets, limit_bytes: None });
        let rate = FixedRate { rate_bps: Rate(self.rate_bps), queue };
        let delay = Delay { delay_ms: Milliseconds(self.delay) };
        [Elements::FixedRate(rate), Elements::Delay(delay)]
    }

    /// The source's mean is half of what the link carries.
    fn source(&self) -> UdpSources {
        let packet_bits = f64::from(self.udp_packet_bytes) * 8.0;
        UdpSources::Sine(Sine {
            mean_pps: PacketRate(self.rate_bps as f64 / packet_bits / 2.0),
            frequencies_hz: self.frequencies_hz.clone(),
            phases: vec![self.phase; self.frequencies_hz.len()],
        })
    }
}

/// Counts at one instant.
struct Reading {
    delivered_bytes: u64,
    data_arrived: u64,
    data_dropped: u64,
    udp_arrived: u64,
    udp_dropped: u64,
    timeouts: u64,
    fast_retransmits: u64,
    backlog: Backlog,
}

impl Reading {
    fn take(world: &mut Simulation<Connection>) -> Reading {
        let (_, backlog) = world.backlogs(SHARED)[0];
        let (data, udp) = (world.counts(DATA), world.counts(UDP));
        let state = world.snapshot(DATA);
        Reading {
            delivered_bytes: world.delivered_bytes(DATA),
            data_arrived: data.delivered,
            data_dropped: data.dropped,
            udp_arrived: udp.delivered,
            udp_dropped: udp.dropped,
            timeouts: state.timeouts,
            fast_retransmits: state.fast_retransmits,
            backlog,
        }
    }
}

fn address(last: u8, port: u16) -> Endpoint {
    Endpoint { addr: Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped().octets(), port }
}
