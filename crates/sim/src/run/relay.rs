//! Proxies: what arrives at one connection of a host is written into another one.

use super::Simulation;
use crate::endpoint::Endpoint;
use tcpwhy_core::units::Nanos;

/// A program between two connections, with a bounded buffer for each direction.
pub(super) struct Relay {
    /// The end that takes what comes along the path, and the one that passes it on.
    ends: [usize; 2],
    buffer_bytes: u64,
    /// What is held of each direction: read at the one end, not yet written at the other.
    held: [u64; 2],
    /// Whether each direction was closed.
    is_closed: [bool; 2],
    is_open: bool,
}

impl<E: Endpoint> Simulation<E> {
    /// Joins two ends at one host: the second is opened when the first is established, and each
    /// gets what the other one brings. At most `buffer_bytes` of each direction are held.
    pub fn add_relay(&mut self, ends: [usize; 2], buffer_bytes: u64) {
        for end in ends {
            assert!(self.sides[end].relay.is_none(), "an end belongs to one relay");
            self.sides[end].relay = Some(self.relays.len());
        }
        self.sides[ends[1]].is_opener = true;
        let (held, is_closed) = ([0; 2], [false; 2]);
        self.relays.push(Relay { ends, buffer_bytes, held, is_closed, is_open: false });
    }

    /// Moves what can be moved. Gives the other end if it may act now.
    pub(super) fn pump(&mut self, number: usize) -> Option<usize> {
        let relay = &mut self.relays[self.sides[number].relay?];
        let now = self.now;
        let [taking, passing] = relay.ends;
        let other = if number == taking { passing } else { taking };
        if !relay.is_open && self.sides[taking].endpoint.is_established() {
            relay.is_open = true;
            self.sides[passing].opens = Some(now);
            self.plan_side(passing);
            return None;
        }
        let sides = self.sides.get_disjoint_mut([taking, passing]);
        let [taking, passing] = sides.expect("a relay has two ends").map(|side| &mut side.endpoint);
        let along = relay.pass(0, now, taking, passing);
        let back = relay.pass(1, now, passing, taking);
        (along || back).then_some(other)
    }
}

impl Relay {
    /// Reads at one end and writes at the other, in one direction. Gives whether anything moved.
    fn pass<E: Endpoint>(&mut self, way: usize, now: Nanos, from: &mut E, to: &mut E) -> bool {
        let mut has_moved = false;
        loop {
            let room = self.buffer_bytes - self.held[way];
            let read = match from.readable().min(room) {
                0 => 0,
                bytes => from.read(now, bytes),
            };
            self.held[way] += read;
            let written = if self.held[way] > 0 { to.write(now, self.held[way]) } else { 0 };
            self.held[way] -= written;
            has_moved |= read + written > 0;
            if written == 0 {
                break;
            }
        }
        let is_over = from.is_peer_closed() && from.readable() == 0 && self.held[way] == 0;
        if is_over && !self.is_closed[way] {
            self.is_closed[way] = true;
            to.close(now);
            has_moved = true;
        }
        has_moved
    }
}
