//! CUBIC as Linux has it: the older form of the algorithm, with HyStart instead of HyStart++.
//!
//! It differs from RFC 9438 in what shows in captures. cwnd moves in whole segments. The target
//! looks the least round-trip time ahead, not the smoothed one. Without a loss so far cwnd grows by
//! at least 5 % per round trip. A timeout forgets the last maximum.

use super::cubic::k;
use super::hystart_linux::HyStart;
use super::window::Window;
use super::{Ack, Controller, Path, Registration, Settings};
use tcpwhy_core::units::Nanos;

/// The registry's line.
pub const CUBIC: Registration = Registration {
    name: "cubic",
    summary: "Linux's CUBIC: window a cubic function of time since the last loss; HyStart",
    source: "tcp_cubic.c of Linux 6.x; Ha, Rhee and Xu 2008; Ha and Rhee 2011 (HyStart)",
    new: |settings| Box::new(Cubic::new(settings)),
};

#[derive(Debug)]
struct Cubic {
    window: Window,
    hystart: HyStart,
    /// Segments before the last reduction, `last_max_cwnd`; 0 before the first.
    last_max: u64,
    /// The stage of congestion avoidance; `None` until its first acknowledgement.
    epoch: Option<Epoch>,
    /// Delivered bytes for each of which cwnd grows by a segment, `cnt`, in segments.
    per_segment: u64,
    /// Delivered bytes not yet turned into growth, `snd_cwnd_cnt`.
    credit_bytes: u64,
    /// cwnd and time when `per_segment` was computed.
    computed: (u64, Nanos),
    /// When something was sent last: idle time does not count.
    last_sent: Nanos,
}

#[derive(Clone, Debug)]
struct Epoch {
    start: Nanos,
    k: Nanos,
    /// Bytes around which the cubic is flat, `bic_origin_point`.
    origin: u64,
    /// What Reno would have, in segments, `tcp_cwnd`, and delivered bytes on the way to its next.
    reno_segments: u64,
    reno_credit_bytes: u64,
}

impl Epoch {
    /// The cubic in segments. Its distance from the origin is rounded down on both sides, as in
    /// `bictcp_update`: close to the origin the target is the origin itself.
    fn target(&self, t: Nanos, mss: u64) -> u64 {
        let seconds = (t - self.k).as_secs_f64();
        let distance = (C * seconds.powi(3)).abs() as u64;
        let origin = self.origin / mss;
        if seconds < 0.0 { origin.saturating_sub(distance) } else { origin + distance }
    }
}

impl Cubic {
    fn new(settings: &Settings) -> Cubic {
        Cubic {
            window: Window::new(settings),
            hystart: HyStart::new(settings.is_paced),
            last_max: 0,
            epoch: None,
            per_segment: 0,
            credit_bytes: 0,
            computed: (0, Nanos(0)),
            last_sent: Nanos(0),
        }
    }

    /// `bictcp_update`: how many segments must be delivered for cwnd to grow by one.
    fn update(&mut self, now: Nanos, mss: u64, delivered: u64) {
        let (cwnd, last_max) = (self.window.cwnd, self.last_max * mss);
        if let Some(epoch) = &mut self.epoch {
            epoch.reno_credit_bytes += delivered;
            if self.computed.0 == cwnd && now.since(self.computed.1) <= RECOMPUTED_EVERY {
                return;
            }
        }
        let is_first = self.epoch.is_none();
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start: now,
            k: if last_max <= cwnd { Nanos(0) } else { k(last_max, cwnd, mss) },
            origin: last_max.max(cwnd),
            reno_segments: cwnd / mss,
            reno_credit_bytes: delivered,
        });
        let segments = cwnd / mss;
        if is_first || now.since(self.computed.1) >= Nanos::MILLISECOND {
            let t = now.since(epoch.start) + self.hystart.delay_min().unwrap_or(Nanos(0));
            let target = epoch.target(t, mss);
            self.per_segment = match target.checked_sub(segments) {
                Some(gap @ 1..) => segments / gap,
                _ => 100 * segments,
            };
            if self.last_max == 0 {
                self.per_segment = self.per_segment.min(SLOWEST_WITHOUT_LOSS);
            }
        }
        self.computed = (cwnd, now);
        let step = (segments * RENO_EIGHTHS / 8).max(1) * mss;
        epoch.reno_segments += epoch.reno_credit_bytes / step;
        epoch.reno_credit_bytes %= step;
        if let Some(gap @ 1..) = epoch.reno_segments.checked_sub(segments) {
            self.per_segment = self.per_segment.min(segments / gap);
        }
        self.per_segment = self.per_segment.max(FASTEST);
    }

    /// `tcp_cong_avoid_ai`.
    fn grow(&mut self, mss: u64, delivered: u64) {
        let needed = self.per_segment.max(1) * mss;
        if self.credit_bytes >= needed {
            self.credit_bytes = 0;
            self.window.cwnd += mss;
        }
        self.credit_bytes += delivered;
        self.window.cwnd += self.credit_bytes / needed * mss;
        self.credit_bytes %= needed;
    }

    /// `cubictcp_recalc_ssthresh` without its result: fast convergence.
    fn note_congestion(&mut self, mss: u64) {
        let segments = self.window.cwnd / mss;
        self.epoch = None;
        self.last_max = match segments < self.last_max {
            true => segments * (BETA_DENOMINATOR + BETA) / (2 * BETA_DENOMINATOR),
            false => segments,
        };
    }
}

impl Controller for Cubic {
    /// `CA_EVENT_TX_START`: the cubic does not run on while nothing is in flight.
    fn on_send(&mut self, path: &Path) {
        if path.flight_size == 0
            && let Some(epoch) = &mut self.epoch
        {
            epoch.start += path.now.since(self.last_sent);
        }
        self.last_sent = path.now;
    }

    fn on_ack(&mut self, ack: &Ack) {
        let path = &ack.path;
        let is_after_recovery =
            self.epoch.as_ref().is_some_and(|epoch| path.now.since(epoch.start) < Nanos::SECOND);
        if let Some(rtt) = ack.rtt.filter(|_| !is_after_recovery) {
            let in_slow_start = self.window.in_slow_start();
            if self.hystart.on_sample(path, self.window.cwnd, rtt, in_slow_start) {
                self.window.ssthresh = self.window.cwnd;
            }
        }
        if ack.acked == 0 || path.in_recovery || !path.is_cwnd_limited {
            return;
        }
        let mut delivered = ack.delivered;
        if self.window.in_slow_start() {
            delivered = self.window.grow_to_ssthresh(delivered);
        }
        if delivered > 0 {
            self.update(path.now, path.mss, delivered);
            self.grow(path.mss, delivered);
        }
    }

    fn enter_recovery(&mut self, path: &Path) {
        self.note_congestion(path.mss);
        self.window.reduce_cwnd(path, BETA, BETA_DENOMINATOR);
    }

    fn on_rto(&mut self, path: &Path, is_first: bool) {
        self.window.time_out_cwnd(path, is_first, BETA, BETA_DENOMINATOR);
        // `bictcp_reset`, after ssthresh was set.
        self.epoch = None;
        self.last_max = 0;
        self.computed = (0, path.now);
        self.hystart.reset(path);
    }

    fn on_ecn(&mut self, path: &Path) {
        self.note_congestion(path.mss);
        self.window.reduce_cwnd(path, BETA, BETA_DENOMINATOR);
    }

    fn on_spurious(&mut self, _path: &Path) {
        self.window.undo();
    }

    fn on_idle(&mut self, path: &Path) {
        self.window.decay(path);
    }

    fn cwnd(&self) -> u64 {
        self.window.cwnd
    }

    fn counts_deliveries(&self) -> bool {
        true
    }

    fn ssthresh(&self) -> Option<u64> {
        self.window.finite_ssthresh()
    }

    fn in_slow_start(&self) -> bool {
        self.window.in_slow_start()
    }
}

/// Segments per cubic second: 0.4 as Linux has it, `bic_scale` of 41 in 1024ths of ten.
const C: f64 = 410.0 / 1024.0;
/// Beta is 717/1024.
const BETA: u64 = 717;
/// See [`BETA`].
const BETA_DENOMINATOR: u64 = 1024;
/// Delivered windows per segment of growth in the Reno-friendly region, in eighths: 8 (1 + beta) /
/// (3 (1 - beta)) rounded down, `beta_scale`.
const RENO_EIGHTHS: u64 = 15;
/// "increase cwnd 5% per RTT" while no loss has shown what the path carries.
const SLOWEST_WITHOUT_LOSS: u64 = 20;
/// At most 1.5 times per round trip.
const FASTEST: u64 = 2;
/// `HZ / 32`.
const RECOMPUTED_EVERY: Nanos = Nanos::from_micros(31_250);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Ack;

    fn settings() -> Settings {
        Settings {
            mss: 1_000,
            initial_window: 100_000,
            initial_ssthresh: Some(100_000),
            has_selective_acks: true,
            is_paced: false,
            seed: 0,
        }
    }

    /// A round trip of single acknowledgements from `now` on.
    fn round(cubic: &mut Cubic, now: Nanos) {
        for i in 0..cubic.window.cwnd / 1_000 {
            let path = Path {
                now: now + Nanos::from_micros(1_000 * i as i64),
                mss: 1_000,
                is_cwnd_limited: true,
                flight_size: 100_000,
                ..Path::default()
            };
            cubic.on_ack(&Ack { path, acked: 1_000, delivered: 1_000, ..Ack::default() });
        }
    }

    #[test]
    fn without_a_loss_cwnd_grows_by_five_percent_a_round_trip() {
        let mut cubic = Cubic::new(&settings());
        round(&mut cubic, Nanos::from_millis(100));
        assert_eq!(cubic.window.cwnd, 105_000);
    }

    #[test]
    fn a_timeout_forgets_the_last_maximum() {
        let mut cubic = Cubic::new(&settings());
        let path = Path { mss: 1_000, flight_size: 100_000, ..Path::default() };
        cubic.enter_recovery(&path);
        assert_eq!((cubic.window.cwnd, cubic.last_max), (70_000, 100));
        cubic.on_rto(&path, true);
        assert_eq!((cubic.window.cwnd, cubic.window.ssthresh), (1_000, 49_000));
        assert_eq!(cubic.last_max, 0);
    }

    #[test]
    fn fast_convergence_gives_way_to_new_flows() {
        let mut cubic = Cubic::new(&settings());
        let path = Path { mss: 1_000, flight_size: 100_000, ..Path::default() };
        cubic.enter_recovery(&path);
        cubic.enter_recovery(&path);
        // 70 segments, less than 100: 70 * (1 + beta) / 2.
        assert_eq!(cubic.last_max, 59);
    }
}
