//! A tiny network for tests of the endpoint alone: two hosts per flow, one bottleneck queue in each
//! direction, a fixed delay, and random disturbance. It stands apart from the product's elements
//! and event loop on purpose.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::endpoint::{Endpoint, Outgoing, Socket};
use tcpwhy_sim::packet::Ecn;
use tcpwhy_sim::random::Random;
use tcpwhy_sim::tcp::{Config, Connection};

/// One direction of the path.
#[derive(Clone, Debug)]
pub struct Pipe {
    /// Bottleneck rate in bit/s; 0 is infinite.
    pub rate_bps: u64,
    /// From these times on it has these rates instead.
    pub rate_changes: Vec<(Nanos, u64)>,
    /// One-way delay after the bottleneck.
    pub delay: Nanos,
    /// Packets that may wait besides the one in transmission.
    pub queue: usize,
    /// Loss probability.
    pub loss: f64,
    /// Every so-manieth packet is lost; 0 for none.
    pub drop_every: u64,
    /// These packets are lost, by their number from 1.
    pub drop_at: Vec<u64>,
    /// Probability that a packet takes `detour` longer.
    pub reorder: f64,
    /// How much longer.
    pub detour: Nanos,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Queue length from which packets that can be are marked.
    pub mark_at: usize,
}

impl Pipe {
    /// A clean path.
    pub fn new(rate_bps: u64, delay: Nanos, queue: usize) -> Pipe {
        Pipe {
            rate_bps,
            rate_changes: Vec::new(),
            delay,
            queue,
            loss: 0.0,
            drop_every: 0,
            drop_at: Vec::new(),
            reorder: 0.0,
            detour: Nanos(0),
            duplicate: 0.0,
            mark_at: usize::MAX,
        }
    }
}

/// What a flow's application does.
#[derive(Clone, Debug)]
pub struct Flow {
    pub client: Config,
    pub server: Config,
    /// When it opens.
    pub start: Nanos,
    /// Bytes to send; `None` sends without end.
    pub bytes: Option<u64>,
    /// Whether the receiver reads at once.
    pub reads: bool,
}

pub struct Peer {
    pub client: Connection,
    pub server: Connection,
    left: u64,
    reads: bool,
    iss: u32,
    /// Every byte range that arrived at the server, to hold against what it claims.
    arrived: Vec<(u64, u64)>,
    check: bool,
    is_opened: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Open(usize),
    Timer(usize, bool),
    Departure(bool),
    Arrival(usize, bool, usize),
}

/// The network and its flows.
pub struct Net {
    pub flows: Vec<Peer>,
    pub now: Nanos,
    pub events: u64,
    pub drops: u64,
    pipes: [Pipe; 2],
    waiting: [VecDeque<(usize, usize)>; 2],
    carried: [u64; 2],
    busy: [bool; 2],
    heap: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    order: u64,
    packets: Vec<Outgoing>,
    free: Vec<usize>,
    timers: Vec<[Nanos; 2]>,
    random: Random,
}

impl Net {
    /// `pipes` from clients to servers and back.
    pub fn new(pipes: [Pipe; 2], flows: &[Flow], seed: u64) -> Net {
        let mut net = Net {
            flows: Vec::new(),
            now: Nanos(0),
            events: 0,
            drops: 0,
            pipes,
            waiting: Default::default(),
            carried: [0; 2],
            busy: [false; 2],
            heap: BinaryHeap::new(),
            order: 0,
            packets: Vec::new(),
            free: Vec::new(),
            timers: vec![[Nanos::MAX; 2]; flows.len()],
            random: Random::stream(seed, 77),
        };
        for (index, flow) in flows.iter().enumerate() {
            net.flows.push(Peer {
                client: Connection::new(&flow.client),
                server: Connection::new(&flow.server),
                left: flow.bytes.unwrap_or(u64::MAX),
                reads: flow.reads,
                iss: flow.client.iss.0,
                arrived: Vec::new(),
                check: false,
                is_opened: false,
            });
            net.schedule(flow.start, Event::Open(index));
        }
        net
    }

    /// Keeps book of what arrives, to check the receivers against it at the end.
    pub fn keep_book(&mut self) {
        self.flows.iter_mut().for_each(|peer| peer.check = true);
    }

    /// Runs until `end`, or until `stop` says so after an event.
    pub fn run(&mut self, end: Nanos, mut stop: impl FnMut(&Net) -> bool) {
        while let Some(&Reverse((at, _, event))) = self.heap.peek() {
            if at > end {
                break;
            }
            self.heap.pop();
            self.now = at;
            self.events += 1;
            self.handle(event);
            if stop(self) {
                return;
            }
        }
        self.now = self.now.max(end);
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Open(index) => {
                self.flows[index].is_opened = true;
                self.flows[index].client.open(self.now);
                self.serve(index);
            }
            Event::Timer(index, at_server) => {
                if self.timers[index][usize::from(at_server)] != self.now {
                    return;
                }
                self.timers[index][usize::from(at_server)] = Nanos::MAX;
                let peer = &mut self.flows[index];
                let side = if at_server { &mut peer.server } else { &mut peer.client };
                side.timer(self.now);
                self.serve(index);
            }
            Event::Departure(backward) => self.depart(usize::from(backward)),
            Event::Arrival(index, at_server, packet) => {
                let outgoing = self.packets[packet].clone();
                self.free.push(packet);
                let peer = &mut self.flows[index];
                if at_server && peer.check && outgoing.header.payload_bytes > 0 {
                    // A SYN takes the position before its data.
                    let is_syn = outgoing.header.flags & tcpwhy_core::wire::flags::SYN != 0;
                    let start =
                        u64::from(outgoing.header.seq.0.wrapping_sub(peer.iss)) + u64::from(is_syn);
                    peer.arrived.push((start, start + u64::from(outgoing.header.payload_bytes)));
                }
                let side = if at_server { &mut peer.server } else { &mut peer.client };
                side.receive(self.now, &outgoing.header, outgoing.ecn);
                self.serve(index);
            }
        }
    }

    /// Lets the applications of a flow act and its segments leave.
    fn serve(&mut self, index: usize) {
        let peer = &mut self.flows[index];
        if peer.is_opened && peer.left > 0 {
            let taken = peer.client.write(self.now, peer.left.min(1 << 40));
            peer.left -= taken;
            if peer.left == 0 {
                peer.client.close(self.now);
            }
        }
        if peer.reads {
            let readable = peer.server.readable();
            peer.server.read(self.now, readable);
            if peer.server.is_peer_closed() {
                peer.server.close(self.now);
            }
        }
        for at_server in [false, true] {
            loop {
                let peer = &mut self.flows[index];
                let side = if at_server { &mut peer.server } else { &mut peer.client };
                let Some(outgoing) = side.transmit(self.now) else { break };
                self.enter(index, at_server, outgoing);
            }
            let peer = &self.flows[index];
            let side = if at_server { &peer.server } else { &peer.client };
            let timer = &mut self.timers[index][usize::from(at_server)];
            if let Some(next) = side.next_timer()
                && next < *timer
            {
                *timer = next;
                self.schedule(next, Event::Timer(index, at_server));
            }
        }
    }

    fn enter(&mut self, index: usize, backward: bool, outgoing: Outgoing) {
        let direction = usize::from(backward);
        let copies = 1 + usize::from(self.chance(self.pipes[direction].duplicate));
        for _ in 0..copies {
            let packet = self.store(outgoing.clone());
            let pipe = &self.pipes[direction];
            if pipe.rate_bps == 0 {
                self.deliver(index, backward, packet);
            } else if !self.busy[direction] {
                self.busy[direction] = true;
                self.waiting[direction].push_front((index, packet));
                let service = self.service(direction, packet);
                self.schedule(self.now + service, Event::Departure(backward));
            } else if self.waiting[direction].len() <= pipe.queue {
                if self.waiting[direction].len() > pipe.mark_at
                    && self.packets[packet].ecn != Ecn::NotEct
                {
                    self.packets[packet].ecn = Ecn::Ce;
                }
                self.waiting[direction].push_back((index, packet));
            } else {
                self.drops += 1;
                self.free.push(packet);
            }
        }
    }

    fn depart(&mut self, direction: usize) {
        let (index, packet) = self.waiting[direction].pop_front().expect("one in transmission");
        self.deliver(index, direction == 1, packet);
        match self.waiting[direction].front() {
            None => self.busy[direction] = false,
            Some(&(_, next)) => {
                let service = self.service(direction, next);
                self.schedule(self.now + service, Event::Departure(direction == 1));
            }
        }
    }

    fn deliver(&mut self, index: usize, backward: bool, packet: usize) {
        let direction = usize::from(backward);
        self.carried[direction] += 1;
        let number = self.carried[direction];
        let Pipe { loss, reorder, delay, detour, drop_every, .. } = self.pipes[direction];
        let is_listed = self.pipes[direction].drop_at.contains(&number)
            || (drop_every > 0 && number.is_multiple_of(drop_every));
        if self.chance(loss) || is_listed {
            self.drops += 1;
            self.free.push(packet);
            return;
        }
        let detour = if self.chance(reorder) { detour } else { Nanos(0) };
        self.schedule(self.now + delay + detour, Event::Arrival(index, !backward, packet));
    }

    fn service(&self, direction: usize, packet: usize) -> Nanos {
        let pipe = &self.pipes[direction];
        let changed = pipe.rate_changes.iter().rev().find(|change| change.0 <= self.now);
        let rate_bps = changed.map_or(pipe.rate_bps, |change| change.1);
        Nanos((wire_bytes(&self.packets[packet]) * 8_000_000_000 / rate_bps) as i64)
    }

    fn chance(&mut self, p: f64) -> bool {
        p > 0.0 && self.random.chance(p)
    }

    fn store(&mut self, outgoing: Outgoing) -> usize {
        match self.free.pop() {
            Some(place) => {
                self.packets[place] = outgoing;
                place
            }
            None => {
                self.packets.push(outgoing);
                self.packets.len() - 1
            }
        }
    }

    fn schedule(&mut self, at: Nanos, event: Event) {
        self.order += 1;
        self.heap.push(Reverse((at, self.order, event)));
    }
}

impl Peer {
    /// What the server claims to have in order must have arrived, whole.
    pub fn check_delivered(&mut self) {
        let mut edge = 1;
        self.arrived.sort_unstable();
        for &(start, end) in &self.arrived {
            if start > edge {
                break;
            }
            edge = edge.max(end);
        }
        assert_eq!(self.server.delivered_bytes(), edge - 1, "the receiver invented or lost data");
    }
}

/// Ethernet without preamble: 14 bytes, IPv4 20, TCP 20, options.
pub fn wire_bytes(outgoing: &Outgoing) -> u64 {
    let header = &outgoing.header;
    let mut options = 0;
    options += if header.mss.is_some() { 4 } else { 0 };
    options += if header.timestamps.is_some() { 12 } else { 0 };
    options += if header.sack.is_empty() { 0 } else { 4 + 8 * header.sack.len() as u64 };
    54 + options + u64::from(header.payload_bytes)
}
