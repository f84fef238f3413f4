//! One end of a connection in the loop: what arrives, what the program does, what leaves.

use super::*;
use crate::endpoint::{Limit, Outgoing};
use crate::source::Application;
use crate::truth::{Name, Waiting};
use tcpwhy_core::wire::flags;

/// An endpoint with its program and its network card.
pub(super) struct Side<E> {
    pub endpoint: E,
    pub application: Box<dyn Application>,
    pub actor: usize,
    pub opens: Option<Nanos>,
    pub is_opener: bool,
    /// The proxy that reads and writes here.
    pub relay: Option<usize>,
    tso: bool,
    gro: Option<Gro>,
    next_ip_id: u16,
}

/// Receive offload: gathers what arrives within a short time, as a card does that interrupts only
/// so often.
struct Gro {
    gather: Nanos,
    hand_up: Option<Nanos>,
    gathered: Vec<Record>,
}

impl<E: Endpoint> Side<E> {
    pub fn new(end: End<E>, actor: usize) -> Side<E> {
        Side {
            endpoint: end.endpoint,
            application: end.application,
            actor,
            opens: end.opens,
            is_opener: end.opens.is_some(),
            relay: None,
            tso: end.tso,
            gro: end.gro.map(|gather| Gro { gather, hand_up: None, gathered: Vec::new() }),
            next_ip_id: first_ip_id(&end.address),
        }
    }

    pub fn name(&self, half: usize, addresses: Addresses) -> Name {
        Name { half, is_opener: self.is_opener, addresses }
    }

    /// Linux counts the packets of a connection from a random number on; SYN-ACKs, which belong to
    /// no socket yet, have 0 (`ip_build_and_send_pkt`).
    fn take_ip_id(&mut self, out: &Outgoing) -> u16 {
        if out.header.flags & (flags::SYN | flags::ACK) == flags::SYN | flags::ACK {
            return 0;
        }
        let ip_id = self.next_ip_id;
        self.next_ip_id = ip_id.wrapping_add(1);
        ip_id
    }

    /// When anything here wants to happen after `now`.
    fn next(&self, now: Nanos) -> Option<Nanos> {
        let program = self.application.next().filter(|next| *next > now);
        let offload = self.gro.as_ref().and_then(|gro| gro.hand_up);
        let times = [self.opens, self.endpoint.next_timer(), program, offload];
        times.into_iter().flatten().min()
    }
}

impl<E: Endpoint> Simulation<E> {
    /// A packet reaches the host at the end of its route.
    pub(super) fn deliver(&mut self, packet: Packet<Cargo>) {
        let half = packet.flow as usize;
        self.counts[half].delivered += 1;
        let record = self.record(&packet);
        if half >= self.sides.len() {
            self.observe_arrival(half, record);
            return;
        }
        let side = half ^ 1;
        if let Some(gro) = &mut self.sides[side].gro {
            gro.gathered.push(record);
            gro.hand_up.get_or_insert(self.now + gro.gather);
            self.plan_side(side);
            return;
        }
        self.arrive(side, record);
        self.turn(side);
    }

    /// Wakes an end: it opens, a timer is due, the program wants to act, or offload hands up.
    pub(super) fn wake_side(&mut self, number: usize) {
        let now = self.now;
        let side = &mut self.sides[number];
        if side.opens.take_if(|at| *at <= now).is_some() {
            let Addresses { src, dst } = self.routes[number].addresses;
            if let Some(memory) = self.memories.get(&[src.addr, dst.addr]) {
                side.endpoint.recall(*memory);
            }
            side.endpoint.open(now);
        }
        if side.endpoint.next_timer().is_some_and(|due| due <= now) {
            side.endpoint.timer(now);
        }
        if let Some(gro) = &mut side.gro
            && gro.hand_up.take_if(|at| *at <= now).is_some()
        {
            let gathered = std::mem::take(&mut gro.gathered);
            self.hand_up(number, gathered);
        }
        self.turn(number);
    }

    /// Joins what was gathered and lets it arrive.
    fn hand_up(&mut self, side: usize, gathered: Vec<Record>) {
        let mut joiner = Joiner::default();
        for record in gathered {
            if let Some(joined) = joiner.add(Record { ts: self.now, ..record }) {
                self.arrive(side, joined);
            }
        }
        if let Some(joined) = joiner.finish() {
            self.arrive(side, joined);
        }
    }

    fn arrive(&mut self, side: usize, record: Record) {
        if let Content::Tcp(header, _) = &record.content {
            let endpoint = &mut self.sides[side].endpoint;
            endpoint.receive(self.now, header, record.ecn);
            if header.flags & flags::SYN != 0
                && let Some(memory) = endpoint.memory()
            {
                let Addresses { src, dst } = self.routes[side].addresses;
                self.memories.insert([src.addr, dst.addr], memory);
            }
        }
        self.observe_arrival(side ^ 1, record);
    }

    fn observe_arrival(&mut self, half: usize, record: Record) {
        let taps = self.routes[half].taps.last().copied().unwrap_or(0);
        if taps != 0 {
            self.observe(taps, record);
        }
    }

    /// The program acts, and what may leave leaves.
    fn turn(&mut self, number: usize) {
        let now = self.now;
        let side = &mut self.sides[number];
        side.application.act(now, &mut side.endpoint);
        let other = self.pump(number);
        let route = &self.routes[number];
        let taps = route.taps[0];
        let headers = route.headers_bytes;
        let mut burst = Joiner::default();
        while let Some(out) = self.sides[number].endpoint.transmit(now) {
            let side = &mut self.sides[number];
            let ip_id = side.take_ip_id(&out);
            let tso = side.tso;
            let content = Content::Tcp(out.header, out.kind);
            if taps != 0 {
                let record = Record { ts: now, half: number, content, ip_id, ecn: out.ecn };
                let ready = if tso { burst.add(record) } else { Some(record) };
                ready.into_iter().for_each(|record| self.observe(taps, record));
            }
            let wire_bytes = headers + out.header.header_bytes() + out.header.payload_bytes;
            self.send(number, content, out.ecn, ip_id, wire_bytes);
        }
        burst.finish().into_iter().for_each(|record| self.observe(taps, record));
        self.plan_side(number);
        if self.truth.is_some() {
            self.note_truth(number);
        }
        if let Some(other) = other {
            self.turn(other);
        }
    }

    pub(super) fn plan_side(&mut self, number: usize) {
        let side = &self.sides[number];
        self.agenda.set(side.actor, side.next(self.now));
    }

    fn note_truth(&mut self, half: usize) {
        let (now, side) = (self.now, &self.sides[half]);
        let state = side.endpoint.snapshot(now);
        let Some(truth) = &mut self.truth else { return };
        let name = side.name(half, self.routes[half].addresses);
        // A side that only acknowledges is not limited by anything.
        if state.data_segments == 0 && state.limit != Limit::Handshake {
            truth.end_span(now, name);
            return;
        }
        if !truth.is_new_span(now, half, &state) {
            return;
        }
        let mut waits =
            Waiting { in_network: self.counts[half].in_network(), ..Waiting::default() };
        for link in &self.routes[half].links {
            for (_, backlog) in self.links[*link].path.backlogs(now) {
                waits.packets += backlog.packets;
                waits.bytes += backlog.bytes;
            }
        }
        truth.begin_span(now, name, state, waits);
    }
}

/// A number that differs from connection to connection, and is the same in every run.
fn first_ip_id(address: &tcpwhy_core::wire::Endpoint) -> u16 {
    let mixed = address.addr.iter().fold(u32::from(address.port), |mixed, byte| {
        (mixed ^ u32::from(*byte)).wrapping_mul(0x9e37_79b1)
    });
    (mixed >> 16) as u16
}
