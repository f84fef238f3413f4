//! How much the peer may send: the advertised window, and the buffer behind it.

use super::receiver::Receiver;
use tcpwhy_core::units::Nanos;

/// Dynamic right-sizing (Fisk and Feng, "Dynamic Right-Sizing: TCP Flow-Control Adaptation", 2001,
/// as Linux has it in `tcp_rcv_space_adjust`): the buffer holds twice what was read in the last
/// round trip.
#[derive(Debug, Default)]
pub struct AutoTune {
    /// The round-trip time as a receiver can see it.
    rtt: Option<Nanos>,
    /// The timestamp that was echoed last: a flight that one of them released gives one sample.
    echoed: u32,
    /// When the current measurement of what is read began, and how much had been read.
    began: Nanos,
    read_before: u64,
    /// The most that was read in a round trip.
    space: u64,
    /// When RCV.NXT passes this position, a window has taken a round trip.
    round_edge: u64,
    round_began: Nanos,
}

impl AutoTune {
    /// The connection is established.
    pub fn start(&mut self, now: Nanos) {
        self.began = now;
        self.round_began = now;
    }

    /// A round trip was measured by timestamps or in the handshake: a shorter one counts at once, a
    /// longer one slowly (`tcp_rcv_rtt_update`).
    pub fn on_rtt(&mut self, rtt: Nanos) {
        if rtt.0 > 0 {
            let longer = |old: Nanos| Nanos(old.0 + (rtt - old).0 / 8);
            self.rtt = Some(self.rtt.map_or(rtt, |old| rtt.min(longer(old))));
        }
    }

    /// A segment echoes `timestamp`, which was sent `rtt` ago (`tcp_rcv_rtt_measure_ts`).
    pub fn on_echo(&mut self, timestamp: u32, rtt: Nanos) {
        if timestamp != self.echoed {
            self.echoed = timestamp;
            self.on_rtt(rtt);
        }
    }

    /// Data arrived in order up to `nxt`, the window reaching to `edge`: what the window allowed
    /// has arrived, so at most a round trip has passed.
    pub fn on_data(&mut self, now: Nanos, nxt: u64, edge: u64) {
        if nxt < self.round_edge {
            return;
        }
        if self.round_edge > 0 {
            let round = now.since(self.round_began);
            self.rtt = Some(self.rtt.map_or(round, |rtt| rtt.min(round)));
        }
        self.round_edge = edge;
        self.round_began = now;
    }
}

impl Receiver {
    /// The window field for a segment that leaves now; moves the advertised edge. `is_syn`: RFC
    /// 7323 section 2.2, "The window field in a segment where the SYN bit is set MUST NOT be
    /// scaled."
    pub fn advertise(&mut self, is_syn: bool) -> u16 {
        let shift = if is_syn { 0 } else { self.shift };
        let candidate = self.candidate_edge().min(self.nxt + (u64::from(u16::MAX) << shift));
        if candidate >= self.edge + self.least_step() || self.edge < self.nxt {
            self.edge = candidate;
        }
        // Rounded up, so that the edge does not move back by less than the scale.
        let window = (self.edge - self.nxt).div_ceil(1 << shift).min(u64::from(u16::MAX));
        self.edge = self.edge.max(self.nxt + (window << shift));
        window as u16
    }

    /// Whether the application has made enough room to tell the peer: the window can at least
    /// double, as Linux has it in `tcp_cleanup_rbuf`, and by a step worth taking.
    pub(super) fn is_update_worthwhile(&self) -> bool {
        let candidate = self.candidate_edge();
        let now_open = self.edge - self.nxt;
        candidate >= self.edge + self.least_step() && candidate - self.nxt >= 2 * now_open
    }

    fn candidate_edge(&self) -> u64 {
        self.nxt + self.room().min(self.threshold)
    }

    /// What the buffer and the clamp leave.
    fn room(&self) -> u64 {
        let free = self.capacity.saturating_sub(self.unread);
        self.clamp.map_or(free, |clamp| free.min(clamp))
    }

    /// A segment in order with `payload` bytes opens the window by two segments, until the buffer
    /// is the limit. Returns whether it did (`tcp_grow_window`; small segments do not count).
    pub(super) fn open_window(&mut self, payload: u64) -> bool {
        let left = self.room().saturating_sub(self.threshold);
        if left == 0 || payload < LEAST_THAT_OPENS_BYTES {
            return false;
        }
        self.threshold += left.min(2 * self.mss.max(payload));
        true
    }

    /// RFC 9293 section 3.8.6.2.2, silly window avoidance: "until ... RCV.BUFF - RCV.USER - RCV.WND
    /// >= min (Fr * RCV.BUFF, Eff.snd.MSS)", with Fr = 1/2.
    fn least_step(&self) -> u64 {
        (self.capacity / 2).min(self.mss).max(1)
    }

    /// Once a round trip: twice what was read in it, and more while that still grows.
    pub(super) fn tune_buffer(&mut self, now: Nanos) {
        let Some(rtt) = self.tune.rtt.filter(|_| self.capacity < self.limits.max_bytes) else {
            return;
        };
        if now.since(self.tune.began) < rtt {
            return;
        }
        let copied = self.read - self.tune.read_before;
        if copied > self.tune.space {
            let mut window = 2 * copied + 16 * self.mss;
            if let Some(growth) = (window * (copied - self.tune.space)).checked_div(self.tune.space)
            {
                window += 2 * growth;
            }
            self.capacity = self.capacity.max(window.min(self.limits.max_bytes));
            self.tune.space = copied;
        }
        self.tune.began = now;
        self.tune.read_before = self.read;
    }
}

/// Shorter segments take more memory than they bring (`tcp_event_data_recv`).
const LEAST_THAT_OPENS_BYTES: u64 = 128;
