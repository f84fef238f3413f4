//! Fair queueing with controlled delay (RFC 8290).

use super::codel::{self, Codel};
use super::hosts::Loads;
use super::{Discipline, Limit, Queue, Waiting};
use crate::link::Body;
use crate::link::event::{Action, Events};
use crate::packet::Packet;
use crate::parameter::{Count, Interval, Milliseconds};
use crate::random::Random;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use tcpwhy_core::units::Nanos;

/// A queue for each flow, each with CoDel, served by deficit round robin; flows that have just
/// begun to send go first (RFC 8290). Every flow has a queue of its own: no two share one by a
/// hash. Hosts do not count: whoever has more flows gets more. `cake` is fair to hosts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodel {
    /// RFC 8290 section 5.2.1: 5 ms.
    #[serde(default = "target")]
    pub target_ms: Milliseconds,
    /// RFC 8290 section 5.2.1: 100 ms.
    #[serde(default = "interval")]
    pub interval_ms: Interval,
    /// Bytes that a flow may send in its turn: section 5.2.4, the length of a full frame.
    #[serde(default = "quantum")]
    pub quantum_bytes: Count,
    /// Marks ECN-capable packets instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
    /// Packets that may wait in all; 1000 when neither limit is given.
    #[serde(default)]
    pub limit_packets: Option<Count>,
    /// Bytes that may wait in all.
    #[serde(default)]
    pub limit_bytes: Option<Count>,
}

impl Discipline for FqCodel {
    const EXAMPLES: &'static [&'static str] =
        &["", "target_ms = 2\ninterval_ms = 20\necn = true\nlimit_packets = 30"];

    fn build<B: Body>(&self, _rate_bps: Option<u64>, _random: Random) -> Box<dyn Queue<B>> {
        let codel = Codel {
            target_ms: self.target_ms,
            interval_ms: self.interval_ms,
            ecn: self.ecn,
            limit_packets: Some(UNLIMITED),
            limit_bytes: Some(UNLIMITED),
        };
        let limit = Limit::of(self.limit_packets, self.limit_bytes);
        Box::new(State::new(codel, self.quantum_bytes.0, limit, None))
    }
}

pub(super) struct State<B> {
    codel: Codel,
    /// What a flow may send in its turn, in units of [`BYTE`].
    quantum: i64,
    limit: Limit,
    /// How many flows of each host send much, where hosts count.
    loads: Option<Loads>,
    flows: BTreeMap<u32, Flow<B>>,
    /// RFC 8290 section 4.2: the lists of new and of old queues.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    waiting: Waiting,
}

/// The queue of a flow.
struct Flow<B> {
    codel: codel::State<B>,
    /// What it may still send, in units of [`BYTE`].
    credits: i64,
    is_listed: bool,
    /// Its hosts, where hosts count.
    hosts: [u32; 2],
    /// It has used up its credits with packets waiting: it counts for its hosts.
    is_bulk: bool,
}

impl<B: Body> State<B> {
    /// Empty queues, of which each is as `codel` says.
    pub fn new(codel: Codel, quantum_bytes: u64, limit: Limit, loads: Option<Loads>) -> State<B> {
        State {
            codel,
            quantum: quantum_bytes as i64 * BYTE,
            limit,
            loads,
            flows: BTreeMap::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            waiting: Waiting::default(),
        }
    }

    /// Section 4.1: "drop from the head of the queue with the largest current byte count".
    fn drop_from_longest(&mut self, now: Nanos, events: &mut Events) {
        let longest = self.flows.values_mut().max_by_key(|flow| flow.codel.fifo.bytes());
        if let Some((_, packet)) = longest.and_then(|flow| flow.codel.fifo.pop()) {
            events.note(now, &packet, Action::Drop, "queue_full");
            self.waiting.packets -= 1;
            self.waiting.bytes -= u64::from(packet.wire_bytes);
        }
    }

    /// The queue whose turn it is, and whether it is a new one: one without credits gets a quantum
    /// and goes to the end of the old ones (section 4.2).
    fn turn(&mut self) -> Option<(u32, bool)> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let name = *list.front()?;
            let flow = self.flows.get_mut(&name).expect("a listed flow has a queue");
            if flow.credits > 0 {
                return Some((name, is_new));
            }
            if let Some(loads) = &mut self.loads {
                if !flow.is_bulk && flow.codel.fifo.packets() > 0 {
                    flow.is_bulk = true;
                    loads.add(flow.hosts);
                }
                flow.credits += (self.quantum / loads.of(flow.hosts)).max(1);
            } else {
                // As many quanta as a long packet cost, so that a small quantum costs no turns.
                flow.credits += self.quantum * (1 + -flow.credits / self.quantum);
            }
            list.pop_front();
            self.old.push_back(name);
        }
    }
}

impl<B: Body> Queue<B> for State<B> {
    fn enqueue(&mut self, now: Nanos, packet: Packet<B>, events: &mut Events) {
        let (name, bytes) = (packet.flow, u64::from(packet.wire_bytes));
        let hosts = if self.loads.is_some() { packet.body.hosts() } else { [0, 0] };
        let codel = &self.codel;
        let flow = self.flows.entry(name).or_insert_with(|| Flow {
            codel: codel.state(),
            credits: 0,
            is_listed: false,
            hosts,
            is_bulk: false,
        });
        flow.codel.enqueue(now, packet, events);
        self.waiting.packets += 1;
        self.waiting.bytes += bytes;
        if !flow.is_listed {
            flow.is_listed = true;
            let load = self.loads.as_ref().map_or(1, |loads| loads.of(hosts));
            flow.credits = (self.quantum / load).max(1);
            self.new.push_back(name);
        }
        while self.waiting.packets as u64 > self.limit.packets
            || self.waiting.bytes > self.limit.bytes
        {
            self.drop_from_longest(now, events);
        }
    }

    fn dequeue(&mut self, now: Nanos, events: &mut Events) -> Option<Packet<B>> {
        loop {
            let (name, is_new) = self.turn()?;
            let flow = self.flows.get_mut(&name).expect("a listed flow has a queue");
            let before = flow.codel.fifo.waiting();
            let packet = flow.codel.dequeue(now, events);
            let after = flow.codel.fifo.waiting();
            self.waiting.packets -= before.packets - after.packets;
            self.waiting.bytes -= before.bytes - after.bytes;
            if let Some(packet) = packet {
                flow.credits -= i64::from(packet.wire_bytes) * BYTE;
                return Some(packet);
            }
            if std::mem::take(&mut flow.is_bulk)
                && let Some(loads) = &mut self.loads
            {
                loads.remove(flow.hosts);
            }
            // An empty new queue becomes an old one, so that it does not starve the others; an
            // empty old one is done (section 4.2).
            if is_new {
                self.new.pop_front();
                self.old.push_back(name);
            } else {
                self.old.pop_front();
                self.flows.remove(&name);
            }
        }
    }

    fn waiting(&self) -> Waiting {
        self.waiting
    }

    fn packets_of(&self, flow: u32) -> usize {
        self.flows.get(&flow).map_or(0, |flow| flow.codel.fifo.packets())
    }
}

/// Credits count parts of bytes, so that a quantum can be divided among flows.
const BYTE: i64 = 1 << 16;
/// The limit of one queue is that of all of them.
pub(super) const UNLIMITED: Count = Count(u64::MAX);

fn target() -> Milliseconds {
    Milliseconds(Nanos::from_millis(5))
}

fn interval() -> Interval {
    Interval(Nanos::from_millis(100))
}

fn quantum() -> Count {
    Count(1514)
}
