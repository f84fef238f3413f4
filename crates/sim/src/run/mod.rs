//! The event loop: hosts, links and sources act in the order of time.
//!
//! [`Simulation`] is one closed world: nothing is static, so that a thousand of them run side by
//! side. Its main path is [`Simulation::run_until`] → `wake` → `forward` → `turn`.

mod relay;
mod setup;
mod side;

pub use setup::{End, Flow, Place, UdpSource};

use crate::agenda::Agenda;
use crate::endpoint::{Endpoint, PeerMemory, Snapshot};
use crate::link::event::{Action, Backlog, Event};
use crate::link::path::Path;
use crate::link::{Body, Element, TcpOptions};
use crate::packet::{Ecn, Packet};
use crate::source::udp::Emissions;
use crate::tap::frame::Addresses;
use crate::tap::{Content, Joiner, Record, Tap};
use crate::truth::Truth;
use crate::truth::answer::Answer;
use crate::truth::history::{self, History};
use side::Side;
use std::collections::BTreeMap;
use tcpwhy_core::units::Nanos;

/// A network with its hosts, and what has happened in it so far.
pub struct Simulation<E> {
    now: Nanos,
    agenda: Agenda,
    actors: Vec<Actor>,
    links: Vec<Link>,
    sides: Vec<Side<E>>,
    relays: Vec<relay::Relay>,
    udp: Vec<Udp>,
    /// Per half: the flows' two each, then the UDP sources.
    routes: Vec<Route>,
    counts: Vec<Counts>,
    taps: Vec<Tap>,
    truth: Option<Truth>,
    overhead_bytes: u32,
    packets: u64,
    events_seen: u64,
    scratch: Vec<Event>,
    /// The address of each host, by its number.
    hosts: Vec<[u8; 16]>,
    /// What a host keeps of another one from connection to connection, by both addresses.
    memories: BTreeMap<[[u8; 16]; 2], PeerMemory>,
}

/// Who an entry of the agenda is.
#[derive(Clone, Copy, Debug)]
enum Actor {
    Link(usize),
    Side(usize),
    Udp(usize),
    Sampler,
}

struct Link {
    name: String,
    path: Path<Cargo>,
    actor: usize,
}

/// What a packet carries through the network.
#[derive(Clone, Debug)]
pub struct Cargo {
    /// Position on the route of the half.
    hop: u8,
    ip_id: u16,
    /// Numbers of the hosts that send and receive it.
    hosts: [u16; 2],
    content: Content,
}

impl Body for Cargo {
    fn hosts(&self) -> [u32; 2] {
        self.hosts.map(u32::from)
    }

    fn tcp_options(&mut self) -> Option<&mut dyn TcpOptions> {
        match &mut self.content {
            Content::Tcp(header, _) => Some(header),
            Content::Udp(_) => None,
        }
    }
}

/// The links of a half in order, and the taps before each link and at the end, as bits.
struct Route {
    links: Vec<usize>,
    taps: Vec<u32>,
    addresses: Addresses,
    /// Numbers of both hosts, in the order in which they came.
    hosts: [u16; 2],
    /// Bytes of the IP header and of the link layer.
    headers_bytes: u32,
}

struct Udp {
    half: usize,
    actor: usize,
    payload_bytes: u32,
    emissions: Emissions,
    start: Nanos,
    stop: Nanos,
    jitter: Nanos,
    random: crate::random::Random,
    next: Nanos,
}

/// What became of the packets of a half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets sent.
    pub sent: u64,
    /// Packets that reached the other side.
    pub delivered: u64,
    /// Packets that an element dropped.
    pub dropped: u64,
    /// Copies that an element made.
    pub duplicated: u64,
    /// The most packets in the network since [`Simulation::take_in_network_max`].
    pub in_network_max: u64,
}

impl Counts {
    /// Packets in the network now.
    pub fn in_network(&self) -> u64 {
        self.sent + self.duplicated - self.delivered - self.dropped
    }
}

impl<E: Endpoint> Simulation<E> {
    /// An empty network whose links count `overhead_bytes` for the link layer of each packet.
    pub fn new(overhead_bytes: u32) -> Simulation<E> {
        Simulation {
            now: Nanos(0),
            agenda: Agenda::default(),
            actors: Vec::new(),
            links: Vec::new(),
            sides: Vec::new(),
            relays: Vec::new(),
            udp: Vec::new(),
            routes: Vec::new(),
            counts: Vec::new(),
            taps: Vec::new(),
            truth: None,
            overhead_bytes,
            packets: 0,
            events_seen: 0,
            scratch: Vec::new(),
            hosts: Vec::new(),
            memories: BTreeMap::new(),
        }
    }

    /// Records the truth from now on; spans last up to `sample`, queues are sampled that often.
    pub fn record_truth(&mut self, sample: Nanos) {
        self.truth = Some(Truth::new(sample));
        let actor = self.add_actor(Actor::Sampler);
        self.agenda.set(actor, Some(self.now));
    }

    /// Keeps the history that answers are made of, instead of the rows of the truth.
    pub fn record_history(&mut self) {
        self.record_truth(history::SAMPLE);
        if let Some(truth) = &mut self.truth {
            truth.history = Some(History::default());
        }
    }

    /// What truly limited a half between two times, as the history has it. `paced_bps` is the rate
    /// at which its socket is paced.
    pub fn answer(
        &mut self,
        half: usize,
        (start, end): (Nanos, Nanos),
        paced_bps: Option<u64>,
    ) -> Option<Answer> {
        let routes = [half, half ^ 1].map(|half| &self.routes[half].links[..]);
        let history = self.truth.as_ref()?.history.as_ref()?;
        Some(history.observe(half, (start, end), routes, paced_bps).answer())
    }

    /// Lets time pass until `end`, that instant included.
    pub fn run_until(&mut self, end: Nanos) {
        while !self.run_some(end, u64::MAX) {}
    }

    /// The same, but for at most so many events: whoever runs it can stop in between. Gives whether
    /// `end` is reached.
    pub fn run_some(&mut self, end: Nanos, events: u64) -> bool {
        let last = self.events_seen.saturating_add(events);
        while let Some((at, actor)) = self.agenda.first()
            && at <= end
        {
            if self.events_seen >= last {
                return false;
            }
            debug_assert!(at >= self.now, "time runs backwards");
            self.now = at;
            self.events_seen += 1;
            self.wake(actor);
        }
        self.now = self.now.max(end);
        true
    }

    /// What the simulation has come to.
    pub fn now(&self) -> Nanos {
        self.now
    }

    /// How many events were processed so far: wake-ups of links, hosts and sources.
    pub fn events_seen(&self) -> u64 {
        self.events_seen
    }

    /// Packets sent so far, and the next packet's number.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// What became of the packets of a half.
    pub fn counts(&self, half: usize) -> Counts {
        self.counts[half]
    }

    /// How many halves there are, UDP sources included.
    pub fn halves(&self) -> usize {
        self.counts.len()
    }

    /// The most packets of a half in the network since the last call.
    pub fn take_in_network_max(&mut self, half: usize) -> u64 {
        let counts = &mut self.counts[half];
        let now = counts.in_network();
        std::mem::replace(&mut counts.in_network_max, now)
    }

    /// The state of the sender of a half.
    pub fn snapshot(&self, half: usize) -> Snapshot {
        self.sides[half].endpoint.snapshot(self.now)
    }

    /// The endpoint that sends a half.
    pub fn endpoint(&self, half: usize) -> &E {
        &self.sides[half].endpoint
    }

    /// Addresses of a half.
    pub fn addresses(&self, half: usize) -> Addresses {
        self.routes[half].addresses
    }

    /// In-order payload bytes of a half that reached the other side.
    pub fn delivered_bytes(&self, half: usize) -> u64 {
        self.sides[half ^ 1].endpoint.delivered_bytes()
    }

    /// What waits on a link now, and the position of each element with a queue.
    pub fn backlogs(&mut self, link: usize) -> Vec<(usize, Backlog)> {
        let now = self.now;
        self.links[link].path.backlogs(now).collect()
    }

    /// How many packets of a half wait on a link now.
    pub fn waiting_of(&mut self, link: usize, half: usize) -> usize {
        let now = self.now;
        self.links[link].path.waiting_of(now, half as u32)
    }

    /// What a tap has recorded since the last call.
    pub fn take_records(&mut self, tap: usize) -> Vec<Record> {
        self.taps[tap].take(self.now)
    }

    /// The tap itself.
    pub fn tap(&self, tap: usize) -> &Tap {
        &self.taps[tap]
    }

    /// Packets that the taps have missed.
    pub fn tap_missed(&self) -> u64 {
        self.taps.iter().map(Tap::missed).sum()
    }

    /// Events of elements that were not kept.
    pub fn element_events_lost(&self) -> u64 {
        self.links.iter().map(|link| link.path.events_lost()).sum()
    }

    /// The truth recorded so far; open spans are ended at the present time.
    pub fn truth(&mut self) -> Option<&mut Truth> {
        let truth = self.truth.as_mut()?;
        for (half, side) in self.sides.iter().enumerate() {
            truth.end_span(self.now, side.name(half, self.routes[half].addresses));
        }
        Some(truth)
    }

    /// The truth recorded so far, without the spans that are still open.
    pub fn truth_so_far(&mut self) -> Option<&mut Truth> {
        self.truth.as_mut()
    }

    /// Captures keep the payload of every frame from now on.
    pub fn keep_payload(&mut self) {
        self.taps.iter_mut().for_each(Tap::keep_payload);
    }

    fn wake(&mut self, actor: usize) {
        match self.actors[actor] {
            Actor::Link(link) => self.drain_link(link),
            Actor::Side(side) => self.wake_side(side),
            Actor::Udp(source) => self.emit(source),
            Actor::Sampler => self.sample(actor),
        }
    }

    /// Lets everything out of a link that has left it.
    fn drain_link(&mut self, link: usize) {
        let now = self.now;
        while let Some((_, packet)) = self.links[link].path.pop(now) {
            if let Some(history) = self.truth.as_mut().and_then(|truth| truth.history.as_mut()) {
                history.note_passage(link, packet.flow as usize, now, packet.wire_bytes);
            }
            self.forward(packet);
        }
        self.settle_link(link);
    }

    /// A packet has left a link: on to the next one, or to the host.
    fn forward(&mut self, mut packet: Packet<Cargo>) {
        packet.body.hop += 1;
        let hop = usize::from(packet.body.hop);
        let route = &self.routes[packet.flow as usize];
        match route.links.get(hop) {
            Some(&link) => {
                if route.taps[hop] != 0 {
                    self.observe(route.taps[hop], self.record(&packet));
                }
                self.enter(link, packet);
            }
            None => self.deliver(packet),
        }
    }

    /// A packet enters a link.
    fn enter(&mut self, link: usize, packet: Packet<Cargo>) {
        self.links[link].path.push(self.now, packet);
        self.settle_link(link);
    }

    /// Takes over what a link logged, and when it wants to be woken.
    fn settle_link(&mut self, link: usize) {
        let Link { path, actor, name } = &mut self.links[link];
        path.drain(&mut self.scratch);
        self.agenda.set(*actor, path.next());
        if self.scratch.is_empty() {
            return;
        }
        let flows = self.sides.len() as u32 / 2;
        for event in self.scratch.drain(..) {
            let counts = &mut self.counts[event.flow as usize];
            match event.action {
                Action::Drop => counts.dropped += 1,
                Action::Duplicate => counts.duplicated += 1,
                Action::Mark | Action::Hold => {}
            }
            if let Some(truth) = &mut self.truth {
                truth.note_event(link, name, &event, flows);
            }
        }
    }

    fn observe(&mut self, taps: u32, record: Record) {
        for (number, tap) in self.taps.iter_mut().enumerate() {
            if taps >> number & 1 == 1 {
                tap.observe(record.clone());
            }
        }
    }

    fn record(&self, packet: &Packet<Cargo>) -> Record {
        Record {
            ts: self.now,
            half: packet.flow as usize,
            content: packet.body.content,
            ip_id: packet.body.ip_id,
            ecn: packet.ecn,
        }
    }

    /// A packet of a half leaves its host.
    fn send(&mut self, half: usize, content: Content, ecn: Ecn, ip_id: u16, wire_bytes: u32) {
        let counts = &mut self.counts[half];
        counts.sent += 1;
        counts.in_network_max = counts.in_network_max.max(counts.in_network());
        let body = Cargo { hop: 0, ip_id, hosts: self.routes[half].hosts, content };
        let packet = Packet { id: self.packets, flow: half as u32, wire_bytes, ecn, body };
        self.packets += 1;
        self.enter(self.routes[half].links[0], packet);
    }

    fn emit(&mut self, source: usize) {
        let Udp { half, payload_bytes, .. } = self.udp[source];
        let route = &self.routes[half];
        let wire = route.headers_bytes + 8 + payload_bytes;
        let ip_id = self.counts[half].sent as u16;
        let content = Content::Udp(payload_bytes);
        if route.taps[0] != 0 {
            let record = Record { ts: self.now, half, content, ip_id, ecn: Ecn::NotEct };
            self.observe(route.taps[0], record);
        }
        self.send(half, content, Ecn::NotEct, ip_id, wire);
        self.plan_udp(source);
    }

    /// Sets the time of the next packet of a UDP source.
    fn plan_udp(&mut self, source: usize) {
        let udp = &mut self.udp[source];
        let due = udp.emissions.next().map(|after| udp.start + after);
        let due = due.filter(|due| *due < udp.stop);
        if let Some(due) = due {
            let late = if udp.jitter.0 > 0 { udp.random.within(udp.jitter) } else { Nanos(0) };
            udp.next = udp.next.max(due + late);
        }
        self.agenda.set(udp.actor, due.map(|_| udp.next));
    }

    /// Notes what waits in all queues.
    fn sample(&mut self, actor: usize) {
        let Some(truth) = &mut self.truth else { return };
        for (number, link) in self.links.iter_mut().enumerate() {
            for (element, backlog) in link.path.backlogs(self.now) {
                truth.note_queue(self.now, (number, &link.name), element, backlog);
            }
        }
        let next = self.now + truth.sample;
        self.agenda.set(actor, Some(next));
    }
}

#[cfg(test)]
mod tests;
