//! Proportional integral controller enhanced (RFC 8033).

use super::{Discipline, Fifo, Limit, Queue, Waiting};
use crate::link::Body;
use crate::link::event::{Action, Events};
use crate::packet::{Ecn, Packet};
use crate::parameter::{Count, Interval, Milliseconds};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Drops arriving packets at random, with a probability that a controller adjusts so that the delay
/// stays near a reference (RFC 8033). The delay is that of the packet that left last: time stamps,
/// which section 4.3 allows, instead of an estimate of the departure rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pie {
    /// `QDELAY_REF`, RFC 8033 section 4.2; 15 ms by default (section 4.6).
    #[serde(default = "fifteen_ms")]
    pub target_ms: Milliseconds,
    /// `T_UPDATE`, the time between two updates, section 4.2; 15 ms by default.
    #[serde(default = "update")]
    pub update_ms: Interval,
    /// `MAX_BURST`, section 4.4: how long a burst may last before anything is dropped; 150 ms.
    #[serde(default = "burst")]
    pub burst_ms: Milliseconds,
    /// Marks ECN-capable packets instead of dropping them while the probability is at most 10 %
    /// (section 5.1).
    #[serde(default)]
    pub ecn: bool,
    /// Packets that may wait; 1000 when neither limit is given.
    #[serde(default)]
    pub limit_packets: Option<Count>,
    /// Bytes that may wait.
    #[serde(default)]
    pub limit_bytes: Option<Count>,
}

impl Discipline for Pie {
    const EXAMPLES: &'static [&'static str] =
        &["", "target_ms = 5\nburst_ms = 0\necn = true\nlimit_packets = 60"];

    fn build<B: Body>(&self, _rate_bps: Option<u64>, random: Random) -> Box<dyn Queue<B>> {
        Box::new(State {
            ecn: self.ecn,
            limit: Limit::of(self.limit_packets, self.limit_bytes),
            controller: Controller::new(self),
            current_qdelay: Nanos(0),
            accu_prob: 0.0,
            next_update: Nanos(0),
            random,
            fifo: Fifo::new(),
        })
    }
}

/// The controller of RFC 8033 section 4.2 to 4.5 and appendix A, with the names used there.
#[derive(Clone, Debug)]
pub(super) struct Controller {
    pub qdelay_ref: Nanos,
    t_update: Nanos,
    max_burst: Nanos,
    pub drop_prob: f64,
    pub qdelay_old: Nanos,
    pub burst_allowance: Nanos,
}

impl Controller {
    pub fn new(settings: &Pie) -> Controller {
        Controller {
            qdelay_ref: settings.target_ms.0,
            t_update: settings.update_ms.0,
            max_burst: settings.burst_ms.0,
            drop_prob: 0.0,
            qdelay_old: Nanos(0),
            burst_allowance: settings.burst_ms.0,
        }
    }

    /// `calculate_drop_prob` of appendix A, called every `T_UPDATE`.
    pub fn update(&mut self, qdelay: Nanos) {
        let error = (qdelay - self.qdelay_ref).as_secs_f64();
        let growth = (qdelay - self.qdelay_old).as_secs_f64();
        let mut p = (ALPHA * error + BETA * growth) / self.damping();
        // Section 5.5: "cap drop adjustment increments to 2%" once the probability is 10 %.
        if self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        // Section 4.2: "exponentially decay drop prob when congestion goes away".
        if qdelay == Nanos(0) && self.qdelay_old == Nanos(0) {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        self.qdelay_old = qdelay;
        self.burst_allowance = self.burst_allowance.since(self.t_update);
    }

    /// Section 4.2, auto-tuning: by how much alpha and beta shrink while the probability is small.
    fn damping(&self) -> f64 {
        const STEPS: [(f64, f64); 6] = [
            (0.000_001, 2048.0),
            (0.000_01, 512.0),
            (0.000_1, 128.0),
            (0.001, 32.0),
            (0.01, 8.0),
            (0.1, 2.0),
        ];
        STEPS.iter().find(|(below, _)| self.drop_prob < *below).map_or(1.0, |(_, by)| *by)
    }

    /// Section 4.4: the allowance returns when the congestion is over.
    fn renew_burst(&mut self, qdelay: Nanos) {
        let half = Nanos(self.qdelay_ref.0 / 2);
        if self.drop_prob == 0.0 && qdelay < half && self.qdelay_old < half {
            self.burst_allowance = self.max_burst;
        }
    }
}

struct State<B> {
    ecn: bool,
    limit: Limit,
    controller: Controller,
    current_qdelay: Nanos,
    /// Section 5.4: accumulated probability since the last drop, to spread drops.
    accu_prob: f64,
    next_update: Nanos,
    random: Random,
    fifo: Fifo<B>,
}

impl<B> State<B> {
    /// Runs the updates that are due by `now`, each at its own time.
    fn update_until(&mut self, now: Nanos) {
        // After so many updates of an empty queue nothing is left to decay.
        let span = Nanos(self.controller.t_update.0.saturating_mul(SETTLED));
        if self.fifo.packets() == 0 && now - span > self.next_update {
            self.next_update = now - span;
        }
        while self.next_update <= now {
            if self.fifo.packets() == 0 {
                self.current_qdelay = Nanos(0);
            }
            self.controller.update(self.current_qdelay);
            self.next_update += self.controller.t_update;
            let rests = self.controller.drop_prob == 0.0
                && self.controller.qdelay_old == Nanos(0)
                && self.fifo.packets() == 0
                && self.controller.burst_allowance == Nanos(0);
            if rests && self.next_update <= now {
                // Nothing changes until a packet comes: skip whole periods.
                let behind = (now - self.next_update).0 / self.controller.t_update.0;
                self.next_update += Nanos(behind * self.controller.t_update.0);
            }
        }
    }

    /// `drop_early` of section 4.1 and 5.4.
    fn drop_early(&mut self) -> bool {
        let Controller { drop_prob, qdelay_old, qdelay_ref, .. } = self.controller;
        if (qdelay_old < Nanos(qdelay_ref.0 / 2) && drop_prob < 0.2)
            || self.fifo.bytes <= 2 * MEAN_PACKET_BYTES
        {
            return false;
        }
        if drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += drop_prob;
        let u = self.random.unit();
        let drop = self.accu_prob >= ACCU_PROB_LOW
            && (self.accu_prob >= ACCU_PROB_HIGH || u < drop_prob);
        if drop {
            self.accu_prob = 0.0;
        }
        drop
    }
}

impl<B: Body> Queue<B> for State<B> {
    fn enqueue(&mut self, now: Nanos, mut packet: Packet<B>, events: &mut Events) {
        self.update_until(now);
        if !self.limit.admits(&self.fifo, packet.wire_bytes) {
            events.note(now, &packet, Action::Drop, "queue_full");
            self.accu_prob = 0.0;
            return;
        }
        if self.controller.burst_allowance == Nanos(0) && self.drop_early() {
            let may_mark = self.ecn && self.controller.drop_prob <= MARK_ECN_THRESHOLD;
            if !may_mark || packet.ecn == Ecn::NotEct {
                events.note(now, &packet, Action::Drop, "pie");
                return;
            }
            events.note(now, &packet, Action::Mark, "pie");
            packet.ecn = Ecn::Ce;
        }
        self.controller.renew_burst(self.current_qdelay);
        self.fifo.push(now, packet);
    }

    fn dequeue(&mut self, now: Nanos, _events: &mut Events) -> Option<Packet<B>> {
        self.update_until(now);
        let (arrived, packet) = self.fifo.pop()?;
        self.current_qdelay = now - arrived;
        Some(packet)
    }

    fn waiting(&self) -> Waiting {
        self.fifo.waiting()
    }

    fn packets_of(&self, flow: u32) -> usize {
        self.fifo.packets_of(flow)
    }
}

fn update() -> Interval {
    Interval(Nanos::from_millis(15))
}

fn fifteen_ms() -> Milliseconds {
    Milliseconds(Nanos::from_millis(15))
}

fn burst() -> Milliseconds {
    Milliseconds(Nanos::from_millis(150))
}

/// RFC 8033 section 4.2: weight of the deviation from the reference, in 1/s.
const ALPHA: f64 = 0.125;
/// RFC 8033 section 4.2: weight of the change, in 1/s.
const BETA: f64 = 1.25;
/// RFC 8033 section 4.1 works with the mean packet size; 1024 as in appendix A's `MEAN_PKTSIZE`.
const MEAN_PACKET_BYTES: u64 = 1024;
/// RFC 8033 section 5.1: `MARK_ECNTH`.
const MARK_ECN_THRESHOLD: f64 = 0.1;
/// RFC 8033 section 5.4: no drop before this much has accumulated.
const ACCU_PROB_LOW: f64 = 0.85;
/// RFC 8033 section 5.4: certain drop from here on.
const ACCU_PROB_HIGH: f64 = 8.5;

/// 0.98 to this power is below the smallest number.
const SETTLED: i64 = 40_000;
