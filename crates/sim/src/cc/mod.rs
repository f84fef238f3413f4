//! Congestion controllers: how much may be in the network, and how fast it may go there.
//!
//! A controller sees events named as the standards name them and answers three questions: cwnd,
//! ssthresh and pacing rate. It knows nothing of segments, timers or options. All volumes are
//! bytes, all rates bits per second, all arithmetic is on integers.

mod bbr1;
mod bbr3;
mod cubic;
mod cubic_linux;
pub mod delivery_rate;
mod fixed;
mod hystart;
mod hystart_linux;
mod long_term;
mod max_filter;
mod reno;
mod round;
mod window;

use delivery_rate::{RateSample, SendState};
use std::fmt::Debug;
use tcpwhy_core::units::Nanos;

/// A congestion controller. Every hook may be left out.
pub trait Controller: Debug + Send {
    /// The handshake is complete; `path.srtt` is its round-trip time, if it was measured.
    fn on_established(&mut self, _path: &Path) {}

    /// A segment with payload is about to leave.
    fn on_send(&mut self, _path: &Path) {}

    /// An acknowledgement arrived: cumulative, selective or duplicate. Recovery has been updated
    /// and losses have been reported before.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// A segment is deemed lost.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// Fast recovery begins: the window is to be reduced once for all losses until it ends.
    fn enter_recovery(&mut self, _path: &Path) {}

    /// Fast recovery, or recovery from a timeout, is over.
    fn exit_recovery(&mut self, _path: &Path) {}

    /// The retransmission timer expired. `is_first` is false while the same segment times out
    /// again: ssthresh is then held (RFC 5681 section 3.1).
    fn on_rto(&mut self, _path: &Path, _is_first: bool) {}

    /// The peer echoes a congestion mark, for the first time in a window of data.
    fn on_ecn(&mut self, _path: &Path) {}

    /// The last reduction was found to be unneeded.
    fn on_spurious(&mut self, _path: &Path) {}

    /// Sending starts again after nothing was in flight for longer than the retransmission timeout.
    fn on_idle(&mut self, _path: &Path) {}

    /// Congestion window in bytes.
    fn cwnd(&self) -> u64;

    /// Slow start threshold in bytes; `None` while infinite or when there is none.
    fn ssthresh(&self) -> Option<u64> {
        None
    }

    /// The rate at which to pace in bit/s; `None` leaves pacing to the socket.
    fn pacing_rate_bps(&self) -> Option<u64> {
        None
    }

    /// Whether the window grows exponentially: slow start, or BBR's Startup.
    fn in_slow_start(&self) -> bool {
        self.ssthresh().is_none_or(|ssthresh| self.cwnd() < ssthresh)
    }

    /// Whether it grows by what each acknowledgement delivered, as Linux's do. What others count
    /// would let the last acknowledgement of a recovery count a window twice.
    fn counts_deliveries(&self) -> bool {
        false
    }

    /// Whether `cwnd` already is what holds in fast recovery, so that neither PRR nor window
    /// inflation may stand in for it.
    fn governs_recovery(&self) -> bool {
        false
    }

    /// Whether what is sent now cannot measure the path's rate, as in BBR's ProbeRTT.
    fn limits_samples(&self) -> bool {
        false
    }

    /// Whether nothing changes cwnd.
    fn is_fixed(&self) -> bool {
        false
    }

    /// The name of its state, for timelines.
    fn state_name(&self) -> &'static str {
        if self.in_slow_start() { "slow_start" } else { "congestion_avoidance" }
    }
}

/// The connection as a controller sees it at an event.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// The time of the event.
    pub now: Nanos,
    /// Sender maximum segment size.
    pub mss: u64,
    /// Sent and not cumulatively acknowledged (RFC 5681 FlightSize), without what limited transmit
    /// sent, when an acknowledgement announces a loss.
    pub flight_size: u64,
    /// Estimate of what is in the network (RFC 6675 pipe; `C.inflight` of the BBR draft).
    pub pipe: u64,
    /// Delivered since the start of the connection.
    pub delivered: u64,
    /// Deemed lost since the start of the connection.
    pub lost: u64,
    /// First byte not cumulatively acknowledged, as an offset from the initial sequence number.
    pub snd_una: u64,
    /// Next byte to send for the first time, as an offset from the initial sequence number.
    pub snd_nxt: u64,
    /// Smoothed round-trip time.
    pub srtt: Option<Nanos>,
    /// Least round-trip time of the connection.
    pub min_rtt: Option<Nanos>,
    /// Whether cwnd was the limit recently: only then may it grow (RFC 9438 section 5.8).
    pub is_cwnd_limited: bool,
    /// Whether delivery rate samples taken now are limited by the application.
    pub is_app_limited: bool,
    /// When sending starts again after an idle time: how many retransmission timeouts it lasted.
    pub idle_timeouts: i64,
    /// In fast recovery.
    pub in_recovery: bool,
    /// In recovery from a retransmission timeout.
    pub in_loss: bool,
}

/// An acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// The connection after processing it.
    pub path: Path,
    /// Newly cumulatively acknowledged.
    pub acked: u64,
    /// Newly delivered: cumulatively or selectively acknowledged for the first time.
    pub delivered: u64,
    /// Newly deemed lost.
    pub lost: u64,
    /// `pipe` before the acknowledgement was processed.
    pub prior_pipe: u64,
    /// Round-trip time of the segment sent last among those acknowledged, if unambiguous.
    pub rtt: Option<Nanos>,
    /// Delivery rate sample, when the acknowledgement delivered something.
    pub sample: Option<RateSample>,
}

/// A segment that was deemed lost.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// The connection after marking it.
    pub path: Path,
    /// Its first byte, as an offset from the initial sequence number.
    pub start: u64,
    /// Its length.
    pub bytes: u64,
    /// What was noted when it was sent.
    pub sent: SendState,
}

/// What a controller is made from.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Sender maximum segment size.
    pub mss: u64,
    /// Initial window (RFC 6928).
    pub initial_window: u64,
    /// Initial slow start threshold; `None` is infinite.
    pub initial_ssthresh: Option<u64>,
    /// Whether SACK was negotiated: the BBR draft reacts to single losses without it.
    pub has_selective_acks: bool,
    /// Whether the socket paces, which lets HyStart++ grow without a bound per acknowledgement.
    pub is_paced: bool,
    /// Fixes what the controller draws at random.
    pub seed: u64,
}

/// An entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Registration {
    /// The name in scenarios and options.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Where it is specified.
    pub source: &'static str,
    /// Makes one.
    pub new: fn(&Settings) -> Box<dyn Controller>,
}

/// Every controller there is.
pub const CONTROLLERS: &[Registration] = &[
    reno::RENO,
    reno::RENO_PER_ACK,
    reno::NEWRENO,
    cubic_linux::CUBIC,
    cubic::CUBIC_RFC9438,
    bbr1::BBR1,
    bbr3::BBR3,
    fixed::FIXED,
];

/// The controller of this name.
pub fn find(name: &str) -> Option<&'static Registration> {
    CONTROLLERS.iter().find(|entry| entry.name == name)
}
