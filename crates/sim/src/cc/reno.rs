//! Reno: slow start and congestion avoidance as in RFC 5681, which replaced Jacobson's of 1988.
//!
//! Three registrations differ in how they count: `reno` as Linux does, `reno_per_ack` adds a part
//! of a segment on every acknowledgement, `newreno` counts bytes within the bounds of RFC 3465.
//! Which losses are found, and how the window moves during recovery, is the business of the
//! recovery variant.

use super::window::Window;
use super::{Ack, Controller, Path, Registration, Settings};

/// Linux's Reno: what was delivered counts, however many acknowledgements said so.
pub const RENO: Registration = Registration {
    name: "reno",
    summary: "Linux's Reno: slow start and congestion avoidance by what was delivered",
    source: "tcp_reno_cong_avoid() of Linux 6.x, RFC 5681 section 3.1",
    new: |settings| Box::new(Reno::new(settings, Growth::Delivered)),
};

/// RFC 5681 with equation 3: the growth that ns-2, ns-3 and most textbooks have.
pub const RENO_PER_ACK: Registration = Registration {
    name: "reno_per_ack",
    summary: "slow start and congestion avoidance, a part of a segment per ACK",
    source: "RFC 5681 section 3.1, equations 2 and 3",
    new: |settings| Box::new(Reno::new(settings, Growth::PerAck)),
};

/// RFC 5681 with the byte counting that it recommends.
pub const NEWRENO: Registration = Registration {
    name: "newreno",
    summary: "slow start and congestion avoidance by appropriate byte counting",
    source: "RFC 5681 section 3.1, RFC 3465",
    new: |settings| Box::new(Reno::new(settings, Growth::ByteCounting)),
};

#[derive(Debug)]
struct Reno {
    window: Window,
    growth: Growth,
    /// RFC 3465 section 2.1: `bytes_acked`, counted towards the next increase of one segment.
    bytes_acked: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    Delivered,
    PerAck,
    ByteCounting,
}

impl Reno {
    fn new(settings: &Settings, growth: Growth) -> Reno {
        Reno { window: Window::new(settings), growth, bytes_acked: 0 }
    }

    fn slow_start(&mut self, ack: &Ack) {
        let limit = match self.growth {
            Growth::Delivered => {
                let left = self.window.grow_to_ssthresh(ack.delivered);
                return self.add_delivered(ack, left);
            }
            // RFC 5681 section 3.1, equation 2: "cwnd += min (N, SMSS)".
            Growth::PerAck => ack.path.mss,
            // RFC 3465 section 2.3: L = 2*SMSS, but "L=1*SMSS" after a timeout.
            Growth::ByteCounting if ack.path.in_loss => ack.path.mss,
            Growth::ByteCounting => 2 * ack.path.mss,
        };
        self.window.cwnd += ack.acked.min(limit);
    }

    fn congestion_avoidance(&mut self, ack: &Ack) {
        let (mss, cwnd) = (ack.path.mss, self.window.cwnd);
        match self.growth {
            Growth::Delivered => self.add_delivered(ack, ack.delivered),
            // RFC 5681 section 3.1, equation 3: "cwnd += SMSS*SMSS/cwnd", rounded up to 1 byte.
            Growth::PerAck => self.window.cwnd += (mss * mss / cwnd).max(1),
            // RFC 3465 section 2.1: "when bytes_acked becomes greater than or equal to the value of
            // the congestion window, bytes_acked is reduced by the value of cwnd. Next, cwnd is
            // incremented by a full-sized segment (SMSS)."
            Growth::ByteCounting => {
                self.bytes_acked += ack.acked;
                if self.bytes_acked >= cwnd {
                    self.bytes_acked -= cwnd;
                    self.window.cwnd += mss;
                }
            }
        }
    }
}

impl Reno {
    /// `tcp_cong_avoid_ai`: one segment for every window delivered, also where one acknowledgement
    /// covers several; credit from a larger window counts once.
    fn add_delivered(&mut self, ack: &Ack, delivered: u64) {
        let cwnd = self.window.cwnd;
        if self.bytes_acked >= cwnd {
            self.bytes_acked = 0;
            self.window.cwnd += ack.path.mss;
        }
        self.bytes_acked += delivered;
        self.window.cwnd += self.bytes_acked / cwnd * ack.path.mss;
        self.bytes_acked %= cwnd;
    }

    fn is_linux(&self) -> bool {
        self.growth == Growth::Delivered
    }
}

impl Controller for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        if ack.acked == 0 || ack.path.in_recovery || !ack.path.is_cwnd_limited {
            return;
        }
        if self.window.in_slow_start() {
            self.slow_start(ack);
        } else {
            self.congestion_avoidance(ack);
        }
    }

    fn enter_recovery(&mut self, path: &Path) {
        self.bytes_acked = 0;
        match self.is_linux() {
            true => self.window.reduce_cwnd(path, 1, 2),
            false => self.window.reduce(path, 1, 2),
        }
    }

    fn on_rto(&mut self, path: &Path, is_first: bool) {
        self.bytes_acked = 0;
        match self.is_linux() {
            true => self.window.time_out_cwnd(path, is_first, 1, 2),
            false => self.window.time_out(path, is_first, 1, 2),
        }
    }

    /// RFC 3168 section 6.1.2: "the TCP source halves the congestion window "cwnd" and reduces the
    /// slow start threshold "ssthresh"."
    fn on_ecn(&mut self, path: &Path) {
        self.bytes_acked = 0;
        match self.is_linux() {
            true => self.window.reduce_cwnd(path, 1, 2),
            false => self.window.reduce_for_mark(path, 1, 2),
        }
    }

    fn on_spurious(&mut self, _path: &Path) {
        self.window.undo();
    }

    fn on_idle(&mut self, path: &Path) {
        match self.is_linux() {
            true => self.window.decay(path),
            false => self.window.restart(),
        }
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn counts_deliveries(&self) -> bool {
        self.is_linux()
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.finite_ssthresh()
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }
}
