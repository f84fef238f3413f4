//! Controlled delay (RFC 8289).

use super::{Discipline, Fifo, Limit, Queue, Waiting, mark_or_drop};
use crate::link::Body;
use crate::link::event::{Action, Events};
use crate::packet::Packet;
use crate::parameter::{Count, Interval, Milliseconds};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drops at the head when packets have waited longer than `target_ms` for a whole `interval_ms`.
/// It drops ever more often until the delay falls below the target (RFC 8289).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Codel {
    /// RFC 8289 section 4.3: "the ideal range for the permitted standing queue, or the target
    /// setpoint, is between 5% and 10% of the TCP connection's RTT"; 5 ms by default.
    #[serde(default = "target")]
    pub target_ms: Milliseconds,
    /// RFC 8289 section 4.3: "the estimator interval of 100 ms" by default, a worst-case RTT.
    #[serde(default = "interval")]
    pub interval_ms: Interval,
    /// Marks ECN-capable packets instead of dropping them (section 5.4).
    #[serde(default)]
    pub ecn: bool,
    /// Packets that may wait; 1000 when neither limit is given.
    #[serde(default)]
    pub limit_packets: Option<Count>,
    /// Bytes that may wait.
    #[serde(default)]
    pub limit_bytes: Option<Count>,
}

impl Discipline for Codel {
    const EXAMPLES: &'static [&'static str] =
        &["", "target_ms = 2\ninterval_ms = 20\necn = true\nlimit_packets = 50"];

    fn build<B: Body>(&self, _rate_bps: Option<u64>, _random: Random) -> Box<dyn Queue<B>> {
        Box::new(self.state())
    }
}

impl Codel {
    /// A queue that is empty.
    pub(super) fn state<B: Body>(&self) -> State<B> {
        State {
            target: self.target_ms.0,
            law: ControlLaw { interval: self.interval_ms.0 },
            ecn: self.ecn,
            limit: Limit::of(self.limit_packets, self.limit_bytes),
            fifo: Fifo::new(),
            first_above_time: None,
            dropping: false,
            drop_next: Nanos(0),
            count: 0,
            last_count: 0,
            packet_bytes_max: 0,
        }
    }
}

/// RFC 8289 section 5.6: "the drop rate is in proportion to the square root of the number of drops
/// since the dropping state was entered".
#[derive(Clone, Copy, Debug)]
pub(super) struct ControlLaw {
    pub interval: Nanos,
}

impl ControlLaw {
    /// The time of the drop after the one at `t`, the `count`th.
    pub fn next(self, t: Nanos, count: u64) -> Nanos {
        t + Nanos((self.interval.0 as f64 / (count as f64).sqrt()) as i64)
    }
}

/// The state variables of RFC 8289 section 5.3, under their names there.
pub(super) struct State<B> {
    target: Nanos,
    law: ControlLaw,
    ecn: bool,
    limit: Limit,
    pub(super) fifo: Fifo<B>,
    /// "Time when we'll declare we're above target (`None` if below)."
    first_above_time: Option<Nanos>,
    /// "Time to drop next packet."
    drop_next: Nanos,
    /// "Packets dropped in drop state."
    count: u64,
    /// "Count from previous iteration."
    last_count: u64,
    /// "Set to true if in drop state."
    dropping: bool,
    /// The largest packet seen: the `maxpacket_` of section 5.5.
    packet_bytes_max: u64,
}

impl<B: Body> State<B> {
    /// `dodequeue` of section 5.5: the next packet, and whether it may be dropped.
    fn do_dequeue(&mut self, now: Nanos) -> Option<(Packet<B>, bool)> {
        let Some((arrived, packet)) = self.fifo.pop() else {
            self.first_above_time = None;
            return None;
        };
        let sojourn_time = now - arrived;
        // "To span a large range of bandwidths, CoDel keeps one MTU-sized packet in the queue."
        if sojourn_time < self.target || self.fifo.bytes <= self.packet_bytes_max {
            self.first_above_time = None;
            return Some((packet, false));
        }
        match self.first_above_time {
            None => {
                self.first_above_time = Some(now + self.law.interval);
                Some((packet, false))
            }
            Some(at) => Some((packet, now >= at)),
        }
    }

    /// Drops until the packet at hand is one to send, or marks one and sends that.
    fn drop_while_due(
        &mut self,
        now: Nanos,
        mut at_hand: (Packet<B>, bool),
        events: &mut Events,
    ) -> Option<Packet<B>> {
        while now >= self.drop_next && self.dropping {
            self.count += 1;
            let marked = mark_or_drop(now, at_hand.0, self.ecn, "codel", events);
            if marked.is_some() {
                self.drop_next = self.law.next(self.drop_next, self.count);
                return marked;
            }
            let Some(next) = self.do_dequeue(now) else {
                self.dropping = false;
                return None;
            };
            at_hand = next;
            if at_hand.1 {
                self.drop_next = self.law.next(self.drop_next, self.count);
            } else {
                self.dropping = false;
            }
        }
        Some(at_hand.0)
    }

    /// Drops or marks one packet and enters the dropping state (section 5.5, second half).
    fn start_dropping(
        &mut self,
        now: Nanos,
        packet: Packet<B>,
        events: &mut Events,
    ) -> Option<Packet<B>> {
        let sent = mark_or_drop(now, packet, self.ecn, "codel", events)
            .or_else(|| self.do_dequeue(now).map(|(packet, _)| packet));
        self.dropping = true;
        // "If we dropped recently, start at the rate that controlled the queue last time."
        let delta = self.count.saturating_sub(self.last_count);
        let recent = now - self.drop_next < Nanos(self.law.interval.0 * 16);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.drop_next = self.law.next(now, self.count);
        self.last_count = self.count;
        sent
    }
}

impl<B: Body> Queue<B> for State<B> {
    fn enqueue(&mut self, now: Nanos, packet: Packet<B>, events: &mut Events) {
        self.packet_bytes_max = self.packet_bytes_max.max(u64::from(packet.wire_bytes));
        if self.limit.admits(&self.fifo, packet.wire_bytes) {
            self.fifo.push(now, packet);
        } else {
            events.note(now, &packet, Action::Drop, "queue_full");
        }
    }

    fn dequeue(&mut self, now: Nanos, events: &mut Events) -> Option<Packet<B>> {
        let Some((packet, ok_to_drop)) = self.do_dequeue(now) else {
            self.dropping = false;
            return None;
        };
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
                return Some(packet);
            }
            return self.drop_while_due(now, (packet, ok_to_drop), events);
        }
        if ok_to_drop { self.start_dropping(now, packet, events) } else { Some(packet) }
    }

    fn waiting(&self) -> Waiting {
        self.fifo.waiting()
    }

    fn packets_of(&self, flow: u32) -> usize {
        self.fifo.packets_of(flow)
    }
}

fn target() -> Milliseconds {
    Milliseconds(Nanos::from_millis(5))
}

fn interval() -> Interval {
    Interval(Nanos::from_millis(100))
}
