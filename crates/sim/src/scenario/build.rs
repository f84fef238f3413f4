//! From a scenario to a simulation.

use super::*;
use crate::endpoint::Endpoint;
use crate::random::Random;
use crate::run::{End, Flow, Place, Simulation, UdpSource};
use crate::source::Idle;
use crate::tap::frame::Addresses;
use crate::tap::{Manner, Tap};
use crate::tcp::Connection;
use std::net::Ipv4Addr;
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire;

/// A simulation that is ready to run.
pub struct Built<E> {
    /// The run, at its time 0.
    pub simulation: Simulation<E>,
    /// The names of its taps.
    pub taps: Vec<String>,
    /// How long the scenario lasts.
    pub duration: Nanos,
}

/// What an endpoint is made of.
pub struct EndpointSettings {
    /// Its settings.
    pub tcp: TcpSettings,
    /// Its initial sequence number.
    pub iss: Seq,
    /// What it draws at random comes from here.
    pub seed: u64,
    /// The Fast Open cookie that its host gives to the other one.
    pub cookie: u32,
}

impl Scenario {
    /// Builds the simulation.
    pub fn build(&self) -> Built<Connection> {
        self.build_with(|settings| {
            let mut config = settings.tcp.config(settings.iss, settings.seed);
            if let Some(fast_open) = &mut config.fast_open {
                fast_open.issued = settings.cookie;
            }
            Connection::new(&config)
        })
    }

    /// Builds the simulation with endpoints that `make` makes of their settings.
    pub fn build_with<E: Endpoint>(&self, mut make: impl FnMut(EndpointSettings) -> E) -> Built<E> {
        let mut simulation = Simulation::new(self.overhead_bytes.0);
        let links = self.add_links(&mut simulation);
        let hosts = self.addresses();
        let flows = self.flows();
        let relays: BTreeMap<usize, usize> = (0..flows.len())
            .filter_map(|number| Some((flows[number].0.workload.relay()?.of, number)))
            .collect();
        // Of a flow that ends at a proxy, the program at its other side waits behind the proxy.
        let mut behind = BTreeMap::new();
        for (number, (flow, start)) in flows.iter().copied().enumerate() {
            let settings = |i: usize| {
                let half = (2 * number + i) as u64;
                let mut random = Random::stream(self.seed, STREAM_ENDPOINT + half);
                let sides = [(&flow.from, &flow.tcp), (&flow.to, &flow.peer_tcp)];
                let (name, own) = sides[i];
                let host = &self.hosts[name.get_ref()].tcp;
                let iss = Seq(random.bits() as u32);
                let cookie = self.cookie([name, sides[1 - i].0].map(|name| hosts[name.get_ref()]));
                EndpointSettings { tcp: own.over(host), iss, seed: random.bits(), cookie }
            };
            let endpoints = [make(settings(0)), make(settings(1))];
            let ports = flow.ports(number);
            let addresses = [(&flow.from, ports[0]), (&flow.to, ports[1])]
                .map(|(host, port)| wire::Endpoint { addr: hosts[host.get_ref()], port });
            let random = Random::stream(self.seed, STREAM_WORKLOAD + number as u64);
            let programs = flow.workload.build(start.0, random);
            let receiver = programs.receiver.or_else(|| behind.remove(&number).flatten());
            let reader = match relays.get(&number) {
                Some(relay) => {
                    behind.insert(*relay, receiver);
                    Box::new(Idle)
                }
                None => receiver.unwrap_or_else(|| flow.reader.build()),
            };
            let mut applications = [Some(programs.sender), Some(reader)];
            let mut endpoints = endpoints.map(Some);
            let ends = [(&flow.from, OpenedBy::From), (&flow.to, OpenedBy::To)];
            let is_relay = flow.workload.relay().is_some();
            let mut i = 0;
            let ends = ends.map(|(name, opener)| {
                let host = &self.hosts[name.get_ref()];
                let end = End {
                    endpoint: endpoints[i].take().expect("taken once"),
                    application: applications[i].take().expect("taken once"),
                    address: addresses[i],
                    opens: (flow.opened_by == opener && !is_relay).then_some(start.0),
                    tso: host.tso,
                    gro: host.gro_ms.map(|ms| ms.0),
                };
                i += 1;
                end
            });
            simulation.add_flow(Flow { ends, routes: routes(&links, &flow.path) });
            if let Some(relay) = flow.workload.relay() {
                simulation.add_relay([2 * relay.of + 1, 2 * number], relay.buffer_bytes.0);
            }
        }
        self.add_udp(&mut simulation, &links, &hosts);
        let taps = self.add_taps(&mut simulation, &links, &hosts);
        Built { simulation, taps, duration: self.duration_s.0 }
    }

    /// Adds both directions of every link; gives their numbers.
    fn add_links<E: Endpoint>(&self, to: &mut Simulation<E>) -> BTreeMap<String, [usize; 2]> {
        let mut streams = 0;
        let mut add = |name: &str, direction: &str, elements: &[Elements]| {
            streams += STREAMS_PER_LINK;
            to.add_link(&format!("{name}/{direction}"), elements, self.seed, streams)
        };
        let both = |(name, pair): (&String, &LinkPair)| {
            let forward = pair.forward.get_ref();
            let backward = pair.backward.as_ref().map_or(forward, |list| list.get_ref());
            let numbers = [add(name, "forward", forward), add(name, "backward", backward)];
            (name.clone(), numbers)
        };
        self.links.iter().map(both).collect()
    }

    /// The address of every host, as IPv6 knows it (RFC 4291 section 2.5.5.2).
    pub fn addresses(&self) -> BTreeMap<String, [u8; 16]> {
        let address = |(i, (name, host)): (usize, (&String, &Host))| {
            let default = Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 1)) + i as u32);
            let octets = match host.address.as_ref().map_or(IpAddr::V4(default), |ip| *ip.get_ref())
            {
                IpAddr::V4(ip) => ip.to_ipv6_mapped().octets(),
                IpAddr::V6(ip) => ip.octets(),
            };
            (name.clone(), octets)
        };
        self.hosts.iter().enumerate().map(address).collect()
    }

    /// The Fast Open cookie that the first of two hosts gives to the second: the same in every
    /// connection, and known to nobody else.
    fn cookie(&self, addresses: [[u8; 16]; 2]) -> u32 {
        let bytes = addresses.iter().flatten();
        let mixed = bytes.fold(self.seed, |mixed, byte| {
            (mixed ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
        Random::stream(mixed, STREAM_COOKIE).bits() as u32
    }

    fn add_udp<E: Endpoint>(
        &self,
        to: &mut Simulation<E>,
        links: &BTreeMap<String, [usize; 2]>,
        hosts: &BTreeMap<String, [u8; 16]>,
    ) {
        for (i, udp) in self.udp.iter().enumerate() {
            let port = UDP_PORT + i as u16;
            let stream = |n: u64| Random::stream(self.seed, STREAM_UDP + 2 * i as u64 + n);
            let [route, _] = routes(links, &udp.path);
            to.add_udp(UdpSource {
                emissions: udp.source.build(stream(0)),
                from: udp.start_s.0,
                until: udp.stop_s.map_or(Nanos::MAX, |stop| stop.0),
                jitter: udp.jitter_ms.0,
                random: stream(1),
                wire_bytes: udp.wire_bytes.get_ref().0 as u32,
                route,
                addresses: Addresses {
                    src: wire::Endpoint { addr: hosts[udp.from.get_ref()], port },
                    dst: wire::Endpoint { addr: hosts[udp.to.get_ref()], port },
                },
            });
        }
    }

    fn add_taps<E: Endpoint>(
        &self,
        to: &mut Simulation<E>,
        links: &BTreeMap<String, [usize; 2]>,
        hosts: &BTreeMap<String, [u8; 16]>,
    ) -> Vec<String> {
        let mut names = Vec::new();
        let mut add = |name: &str, place, manner| {
            let random = Random::stream(self.seed, STREAM_TAP + names.len() as u64);
            to.add_tap(place, Tap::new(manner, random));
            names.push(name.to_owned());
        };
        let behind = |link: &str| {
            let [leaves, enters] = links[link];
            Place::Behind { leaves, enters }
        };
        for tap in self.taps.iter().map(Spanned::get_ref) {
            let place = match (&tap.host, &tap.behind) {
                (Some(host), _) => Place::Host(hosts[host.get_ref()]),
                (_, Some(link)) => behind(link.get_ref()),
                _ => continue,
            };
            add(&tap.name, place, tap.manner());
        }
        if let ([], Some(flow)) = (&self.taps[..], self.flows.first()) {
            add("sender", Place::Host(hosts[flow.from.get_ref()]), Manner::default());
            add("receiver", Place::Host(hosts[flow.to.get_ref()]), Manner::default());
            if flow.path.len() > 1 {
                let before_last = flow.path[flow.path.len() - 2].get_ref();
                add("middle", behind(before_last), Manner::default());
            }
        }
        names
    }
}

impl FlowSettings {
    /// The ports at both sides of this flow, which is number `number` of the scenario.
    pub fn ports(&self, number: usize) -> [u16; 2] {
        let port = FIRST_PORT + (number % 20_000) as u16;
        match self.opened_by {
            OpenedBy::From => [port, SERVICE_PORT],
            OpenedBy::To => [SERVICE_PORT, port],
        }
    }
}

impl TapSettings {
    fn manner(&self) -> Manner {
        Manner {
            snaplen: self.snaplen.map_or(0, |count| count.0 as u32),
            duplicate_after: self.duplicate_after_ms.map(|ms| ms.0),
            without_handshake: self.without_handshake,
            from: self.from_s.0,
            missed: self.missed.0,
            only: self.only.map(|direction| match direction {
                Direction::Forward => 0,
                Direction::Backward => 1,
            }),
        }
    }
}

/// The numbers of the links along a path, and of those back.
fn routes(links: &BTreeMap<String, [usize; 2]>, path: &[Spanned<String>]) -> [Vec<usize>; 2] {
    let forward = path.iter().map(|name| links[name.get_ref()][0]).collect();
    let backward = path.iter().rev().map(|name| links[name.get_ref()][1]).collect();
    [forward, backward]
}

/// Which random stream belongs to whom. Links have 64 each from 64 on.
pub const STREAMS_PER_LINK: u64 = 64;
const STREAM_ENDPOINT: u64 = 1 << 32;
const STREAM_WORKLOAD: u64 = 2 << 32;
const STREAM_UDP: u64 = 3 << 32;
const STREAM_TAP: u64 = 4 << 32;
const STREAM_COOKIE: u64 = 5 << 32;

/// Ports: that of iperf for the service, the dynamic ones (RFC 6335) for who opens.
const SERVICE_PORT: u16 = 5001;
const FIRST_PORT: u16 = 40_000;
/// The port of the first UDP source, at both of its sides.
pub const UDP_PORT: u16 = 9000;
