//! The links of a scenario with frames on them, in virtual time: no clock, no system call.

use std::collections::{HashMap, VecDeque};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::link::Element;
use tcpwhy_sim::link::event::{Action, Event};
use tcpwhy_sim::link::path::Path;
use tcpwhy_sim::packet::{Ecn, Packet};
use tcpwhy_sim::scenario::{STREAMS_PER_LINK, Scenario, UDP_PORT};

use super::frame::{ETHERNET_BYTES, Frame, Headers, Tuple, mark_ce};
use super::log::{Log, UNLISTED};
use super::middle::Middle;
use super::offload::Checksum;

/// Hosts joined by the links of a scenario. Frames enter at a host and leave at another one.
///
/// It follows every frame at the virtual times at which it moves, however late it is called: a
/// frame that leaves one link enters the next one at that very time.
pub struct Network {
    links: Vec<Link>,
    routes: Routes,
    overhead_bytes: u32,
    packets: u64,
    /// What the log needs of every packet in the network.
    under_way: HashMap<u64, Headers>,
    departures: VecDeque<Departure>,
    log: Log,
    middle: Option<Middle>,
    next_sample: Nanos,
    counts: Counts,
    scratch: Vec<Event>,
}

struct Link {
    name: String,
    path: Path<Frame>,
    next: Option<Nanos>,
}

/// A frame that has come to the end of its route.
#[derive(Debug, PartialEq, Eq)]
pub struct Departure {
    /// When it is due at the host.
    pub due: Nanos,
    /// Number of the host, in the order of the names.
    pub host: usize,
    /// The frame.
    pub bytes: Box<[u8]>,
    /// Whether its checksum is still to be completed, and where.
    pub checksum: Checksum,
}

/// What became of all frames.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that hosts sent.
    pub sent: u64,
    /// Frames that came to the end of their route.
    pub delivered: u64,
    /// Frames that elements dropped.
    pub dropped: u64,
    /// Frames that elements marked.
    pub marked: u64,
    /// Frames that belong to no route: not IP, or between hosts that the scenario does not join.
    pub unroutable: u64,
    /// Frames that were dropped since too many were under way.
    pub overflow: u64,
}

/// A way from one host to another.
#[derive(Clone, Debug)]
struct Route {
    links: Vec<usize>,
    /// Twice the number of the flow, one more against its path; UDP sources follow. `None` for
    /// traffic that the scenario does not list.
    half: Option<u32>,
    host: usize,
}

/// Finds the route of a frame: that of its flow, else that of any flow between the two hosts.
#[derive(Default)]
struct Routes {
    list: Vec<Route>,
    by_tuple: HashMap<Tuple, u32>,
    by_hosts: HashMap<([u8; 16], [u8; 16]), u32>,
}

impl Network {
    /// The network of a scenario, at time 0.
    pub fn new(scenario: &Scenario, seed: u64, log: Log, middle: Option<Middle>) -> Network {
        let mut links = Vec::new();
        let mut numbers = HashMap::new();
        for (name, pair) in &scenario.links {
            let forward = pair.forward.get_ref();
            let backward = pair.backward.as_ref().map_or(forward, |list| list.get_ref());
            numbers.insert(name.as_str(), [links.len(), links.len() + 1]);
            for (direction, elements) in [("forward", forward), ("backward", backward)] {
                let streams = STREAMS_PER_LINK * (links.len() as u64 + 1);
                let path = Path::new(elements, seed, streams);
                let name = format!("{name}/{direction}");
                links.push(Link { name, path, next: None });
            }
        }
        Network {
            links,
            routes: Routes::of(scenario, &numbers),
            overhead_bytes: scenario.overhead_bytes.0,
            packets: 0,
            under_way: HashMap::new(),
            departures: VecDeque::new(),
            log,
            middle,
            next_sample: Nanos(0),
            counts: Counts::default(),
            scratch: Vec::new(),
        }
    }

    /// A host sends a frame at `now`, which never runs backwards.
    pub fn push(&mut self, now: Nanos, bytes: Box<[u8]>, checksum: Checksum) {
        self.advance(now);
        self.counts.sent += 1;
        let headers = Headers::read(&bytes);
        let found = headers.and_then(|headers| Some((headers, self.routes.find(&headers.tuple)?)));
        let Some((headers, route)) = found else {
            self.counts.unroutable += 1;
            return;
        };
        if self.under_way.len() >= UNDER_WAY_MAX {
            self.counts.overflow += 1;
            return;
        }
        let wire_bytes = (bytes.len() - ETHERNET_BYTES) as u32 + self.overhead_bytes;
        let id = self.packets;
        self.packets += 1;
        self.under_way.insert(id, headers);
        let half = self.routes.list[route as usize].half;
        let flow = half.unwrap_or(UNLISTED);
        let body = Frame { bytes, route, hop: 0, checksum };
        self.enter(now, Packet { id, flow, wire_bytes, ecn: headers.ecn, body });
    }

    /// Lets time pass until `now`.
    pub fn advance(&mut self, now: Nanos) {
        loop {
            let next = self.next_link();
            let until = next.map_or(now, |(at, _)| at.min(now));
            self.sample(until);
            match next {
                Some((at, link)) if at <= now => self.leave(at, link),
                _ => return,
            }
        }
    }

    /// When a frame may next move; `None` while none is under way.
    pub fn next(&self) -> Option<Nanos> {
        self.next_link().map(|(at, _)| at)
    }

    /// The next frame that came to the end of its route.
    pub fn take_departure(&mut self) -> Option<Departure> {
        self.departures.pop_front()
    }

    /// What became of all frames.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The log, complete up to the last call of [`Network::advance`].
    pub fn log(&mut self) -> &mut Log {
        &mut self.log
    }

    /// What passed the middle.
    pub fn middle(&mut self) -> Option<&mut Middle> {
        self.middle.as_mut()
    }

    fn next_link(&self) -> Option<(Nanos, usize)> {
        let nexts = self.links.iter().enumerate().filter_map(|(i, link)| Some((link.next?, i)));
        nexts.min()
    }

    /// Takes what leaves a link at `at`. The time may be a lower bound: then nothing does.
    fn leave(&mut self, at: Nanos, link: usize) {
        let popped = self.links[link].path.pop(at);
        self.settle(link);
        if popped.is_none() && self.links[link].next.is_some_and(|next| next <= at) {
            debug_assert!(false, "an element asks to be woken and has nothing");
            // A thread with real-time scheduling must not wait for it in a loop.
            self.links[link].next = Some(at + Nanos(1));
        }
        let Some((left, mut packet)) = popped else { return };
        packet.body.hop += 1;
        let hop = usize::from(packet.body.hop);
        let route = &self.routes.list[packet.body.route as usize];
        let Some(&behind) = route.links.get(hop) else {
            return self.deliver(left, packet);
        };
        if let Some(middle) = &mut self.middle {
            middle.pass(left, [link, behind], &packet.body.bytes);
        }
        self.enter(left, packet);
    }

    fn enter(&mut self, now: Nanos, packet: Packet<Frame>) {
        let Frame { route, hop, .. } = packet.body;
        let link = self.routes.list[route as usize].links[usize::from(hop)];
        self.links[link].path.push(now, packet);
        self.settle(link);
    }

    fn deliver(&mut self, due: Nanos, packet: Packet<Frame>) {
        self.counts.delivered += 1;
        self.under_way.remove(&packet.id);
        let Frame { mut bytes, route, checksum, .. } = packet.body;
        if packet.ecn == Ecn::Ce {
            mark_ce(&mut bytes);
        }
        let host = self.routes.list[route as usize].host;
        self.departures.push_back(Departure { due, host, bytes, checksum });
    }

    /// Takes over what a link logged, and when it wants to be woken.
    fn settle(&mut self, link: usize) {
        let Link { name, path, next } = &mut self.links[link];
        *next = path.next();
        path.drain(&mut self.scratch);
        for event in self.scratch.drain(..) {
            let headers = self.under_way.get(&event.packet);
            self.log.note_event(name, &event, headers);
            match event.action {
                Action::Drop => {
                    self.counts.dropped += 1;
                    self.under_way.remove(&event.packet);
                }
                Action::Mark => self.counts.marked += 1,
                Action::Hold | Action::Duplicate => {}
            }
        }
    }

    /// Notes what waits in all queues at every sampling time up to `until`.
    fn sample(&mut self, until: Nanos) {
        while self.next_sample <= until {
            for link in &mut self.links {
                for (element, backlog) in link.path.backlogs(self.next_sample) {
                    self.log.note_queue(self.next_sample, &link.name, element, backlog);
                }
                link.next = link.path.next();
            }
            self.next_sample += SAMPLE;
        }
    }
}

impl Routes {
    fn of(scenario: &Scenario, numbers: &HashMap<&str, [usize; 2]>) -> Routes {
        let addresses = scenario.addresses();
        let position = |name: &str| scenario.hosts.keys().position(|host| host == name);
        let mut routes = Routes::default();
        let mut add = |ends: [&str; 2], ports: [u16; 2], links: Vec<usize>, half: u32| {
            let Some(host) = position(ends[1]) else { return };
            let [src, dst] = ends.map(|name| addresses[name]);
            let tuple = Tuple { src, dst, src_port: ports[0], dst_port: ports[1] };
            routes.add(tuple, Route { links, half: Some(half), host });
        };
        let along = |direction: usize, path: &mut dyn Iterator<Item = &String>| -> Vec<usize> {
            path.map(|name| numbers[name.as_str()][direction]).collect()
        };
        let flows = scenario.flows();
        for (number, (flow, _)) in flows.iter().enumerate() {
            let [near, far] = flow.ports(number);
            let [from, to] = [flow.from.get_ref(), flow.to.get_ref()];
            let half = 2 * number as u32;
            add(
                [from, to],
                [near, far],
                along(0, &mut flow.path.iter().map(|n| n.get_ref())),
                half,
            );
            let back = along(1, &mut flow.path.iter().rev().map(|n| n.get_ref()));
            add([to, from], [far, near], back, half + 1);
        }
        for (number, udp) in scenario.udp.iter().enumerate() {
            let port = UDP_PORT + number as u16;
            let half = (2 * flows.len() + number) as u32;
            let ends = [udp.from.get_ref().as_str(), udp.to.get_ref()];
            add(ends, [port, port], along(0, &mut udp.path.iter().map(|n| n.get_ref())), half);
        }
        routes
    }

    /// Adds a route for one flow; the first one between two hosts is for everything else as well.
    fn add(&mut self, tuple: Tuple, route: Route) {
        self.by_hosts.entry((tuple.src, tuple.dst)).or_insert_with(|| {
            self.list.push(Route { half: None, ..route.clone() });
            self.list.len() as u32 - 1
        });
        self.by_tuple.insert(tuple, self.list.len() as u32);
        self.list.push(route);
    }

    fn find(&self, tuple: &Tuple) -> Option<u32> {
        let of_hosts = || self.by_hosts.get(&(tuple.src, tuple.dst));
        self.by_tuple.get(tuple).or_else(of_hosts).copied()
    }
}

/// How often queues are looked at.
const SAMPLE: Nanos = Nanos::from_millis(10);
/// Frames in the network: 10 Gbit/s for 0.5 s, 750 MB.
const UNDER_WAY_MAX: usize = 500_000;

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
