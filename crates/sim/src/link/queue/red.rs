//! Random early detection.

use super::{Discipline, Fifo, Limit, Queue, Waiting, mark_or_drop};
use crate::link::Body;
use crate::link::event::{Action, Events};
use crate::packet::Packet;
use crate::parameter::{Count, Positive, Probability, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drops arriving packets with a probability that grows with the mean queue length (Floyd and
/// Jacobson, "Random early detection gateways for congestion avoidance", IEEE/ACM ToN 1(4), 1993;
/// `gentle` after Floyd's note of 2000). Lengths are in packets.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Red {
    /// `min_th`: below this mean nothing is dropped.
    pub min_packets: Positive,
    /// `max_th`: from this mean on everything is dropped, or with `gentle` ever more.
    pub max_packets: Positive,
    /// `max_p`: the probability at `max_packets`.
    #[serde(default = "tenth")]
    pub probability_max: Probability,
    /// `w_q`: the weight of a new length in the mean; 0.002 as in section 6 of the paper.
    #[serde(default = "weight")]
    pub weight: Probability,
    /// Whether the probability rises from `max_p` to 1 between `max_th` and twice `max_th`.
    #[serde(default)]
    pub gentle: bool,
    /// Marks ECN-capable packets instead of dropping them.
    #[serde(default)]
    pub ecn: bool,
    /// Mean packet size, for the decay of the mean while the link is idle.
    #[serde(default = "thousand")]
    pub mean_packet_bytes: Count,
    /// Packets that may wait; 1000 when neither limit is given.
    #[serde(default)]
    pub limit_packets: Option<Count>,
    /// Bytes that may wait.
    #[serde(default)]
    pub limit_bytes: Option<Count>,
}

checked!(Red);

impl Red {
    fn check(&self) -> Result<(), String> {
        let (min, max) = (self.min_packets.0, self.max_packets.0);
        if min >= max {
            return Err(format!("min_packets is {min}: expected less than max_packets, {max}"));
        }
        Ok(())
    }
}

impl Discipline for Red {
    const EXAMPLES: &'static [&'static str] = &[
        "min_packets = 2\nmax_packets = 6\nweight = 0.1\nlimit_packets = 20",
        "min_packets = 1\nmax_packets = 4\nweight = 0.2\ngentle = true\necn = true",
    ];

    fn build<B: Body>(&self, rate_bps: Option<u64>, random: Random) -> Box<dyn Queue<B>> {
        let bits = self.mean_packet_bytes.0 as f64 * 8.0;
        Box::new(State {
            settings: self.clone(),
            limit: Limit::of(self.limit_packets, self.limit_bytes),
            transmission_ns: rate_bps.map_or(f64::INFINITY, |rate| bits * 1e9 / rate as f64),
            average: 0.0,
            count: -1,
            idle_since: Some(Nanos(0)),
            random,
            fifo: Fifo::new(),
        })
    }
}

/// The state of the paper's figure 2.
struct State<B> {
    settings: Red,
    limit: Limit,
    /// `s`: a typical transmission time.
    transmission_ns: f64,
    /// `avg`.
    average: f64,
    /// `count`: packets since the last one marked; -1 below `min_th`.
    count: i64,
    /// `q_time`.
    idle_since: Option<Nanos>,
    random: Random,
    fifo: Fifo<B>,
}

/// What RED wants to do with an arriving packet.
enum Wish {
    Admit,
    Signal,
    Drop,
}

impl<B> State<B> {
    fn update_average(&mut self, now: Nanos) {
        let weight = self.settings.weight.0;
        match self.idle_since.take_if(|_| self.fifo.packets() == 0) {
            Some(since) => {
                let missed = ((now - since).0 as f64 / self.transmission_ns) as u64;
                self.average *= power(1.0 - weight, missed);
                self.idle_since = Some(since.max(now));
            }
            None => self.average += weight * (self.fifo.packets() as f64 - self.average),
        }
    }

    fn wish(&mut self) -> Wish {
        let Red { min_packets, max_packets, probability_max, gentle, .. } = self.settings;
        let (min, max_p) = (min_packets.0, probability_max.0);
        let max = max_packets.0.max(min);
        let u = self.random.unit();
        if self.average < min {
            self.count = -1;
            return Wish::Admit;
        }
        let p_b = if self.average < max {
            max_p * (self.average - min) / (max - min)
        } else if gentle && self.average < 2.0 * max {
            max_p + (1.0 - max_p) * (self.average - max) / max
        } else {
            self.count = 0;
            return Wish::Drop;
        };
        self.count += 1;
        let left = 1.0 - self.count as f64 * p_b;
        if left <= 0.0 || u < p_b / left {
            self.count = 0;
            return Wish::Signal;
        }
        Wish::Admit
    }
}

impl<B: Body> Queue<B> for State<B> {
    fn enqueue(&mut self, now: Nanos, packet: Packet<B>, events: &mut Events) {
        self.update_average(now);
        let admitted = match self.wish() {
            Wish::Admit => Some(packet),
            Wish::Signal => mark_or_drop(now, packet, self.settings.ecn, "red", events),
            Wish::Drop => mark_or_drop(now, packet, false, "red", events),
        };
        let Some(packet) = admitted else { return };
        if self.limit.admits(&self.fifo, packet.wire_bytes) {
            self.fifo.push(now, packet);
        } else {
            self.count = 0;
            events.note(now, &packet, Action::Drop, "queue_full");
        }
    }

    fn dequeue(&mut self, now: Nanos, _events: &mut Events) -> Option<Packet<B>> {
        let packet = self.fifo.pop().map(|(_, packet)| packet);
        if self.fifo.packets() == 0 {
            self.idle_since = Some(now);
        }
        packet
    }

    fn waiting(&self) -> Waiting {
        self.fifo.waiting()
    }

    fn packets_of(&self, flow: u32) -> usize {
        self.fifo.packets_of(flow)
    }
}

/// `base` to the power `n` by squaring: the same bits on every machine.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    while n > 0 && result > 0.0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    result
}

fn tenth() -> Probability {
    Probability(0.1)
}

fn weight() -> Probability {
    Probability(0.002)
}

fn thousand() -> Count {
    Count(1000)
}
