//! Settings of TCP endpoints, as scenario files give them.

use crate::cc::{self, Registration};
use crate::parameter::{Count, Interval, Milliseconds, Mss, Rate};
use crate::tcp::Config;
use crate::tcp::config::{self, Buffer, DelayedAck, FastOpen, Pacing, RenoRules, Variant};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use tcpwhy_core::units::{Nanos, Seq};

/// What a scenario may change of an endpoint. What is not given is as in the profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSettings {
    /// What everything else starts from.
    pub profile: Option<Profile>,
    /// Congestion controller, by its name in the registry.
    #[serde(deserialize_with = "controller")]
    pub controller: Option<&'static Registration>,
    /// How losses are found and repaired.
    pub recovery: Option<Recovery>,
    /// By which rules recovery without SACK counts.
    pub reno_rules: Option<Rules>,
    /// MSS option, and the most payload of a segment without options.
    pub mss: Option<Mss>,
    /// Initial window (RFC 6928).
    pub initial_window_segs: Option<Count>,
    /// Initial slow start threshold.
    pub initial_ssthresh_bytes: Option<Count>,
    /// Upper bound of cwnd.
    pub cwnd_clamp_bytes: Option<Count>,
    /// Selective acknowledgements (RFC 2018).
    pub sack: Option<bool>,
    /// Timestamps (RFC 7323).
    pub timestamps: Option<bool>,
    /// Window scaling (RFC 7323).
    pub window_scaling: Option<bool>,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: Option<bool>,
    /// TCP Fast Open (RFC 7413): the first connection of a host to another asks for a cookie, later
    /// ones put data into the SYN. Both sides must have it.
    pub fast_open: Option<bool>,
    /// Retransmission timeout before the first measurement (RFC 6298).
    pub rto_initial_ms: Option<Interval>,
    /// Its lower bound.
    pub rto_min_ms: Option<Milliseconds>,
    /// Its upper bound, also above the lower one.
    pub rto_max_ms: Option<Interval>,
    /// Its granularity: the G of RFC 6298.
    pub rto_granularity_ms: Option<Milliseconds>,
    /// It is rounded up to a multiple of this.
    pub rto_tick_ms: Option<Milliseconds>,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: Option<bool>,
    /// Proportional rate reduction (RFC 9937).
    pub prr: Option<bool>,
    /// F-RTO (RFC 5682).
    pub frto: Option<bool>,
    /// Tail loss probes (RFC 8985).
    pub tlp: Option<bool>,
    /// Nagle's algorithm.
    pub nagle: Option<Nagle>,
    /// The longest that an acknowledgement waits; 0 acknowledges every segment at once.
    pub delayed_ack_ms: Option<Milliseconds>,
    /// How many full segments are acknowledged together (RFC 1122: at least every second one).
    pub delayed_ack_segs: Option<Count>,
    /// Send buffer of fixed size.
    pub send_buffer_bytes: Option<Count>,
    /// How long a program that waited for room in the send buffer takes to write, on average.
    pub writer_delay_ms: Option<Milliseconds>,
    /// Receive buffer of fixed size.
    pub receive_buffer_bytes: Option<Count>,
    /// Upper bound of the advertised window.
    pub window_clamp_bytes: Option<Count>,
    /// Rate above which the socket never sends (`SO_MAX_PACING_RATE`).
    pub pacing_rate_bps: Option<Rate>,
    /// Most payload of a super-segment: as much leaves at once when paced, and its end has PSH.
    /// Less than two segments means none.
    pub tso_max_bytes: Option<Count>,
    /// Slow start after idle times (RFC 5681 section 4.1).
    pub slow_start_after_idle: Option<bool>,
}

/// What the settings start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// A current Linux host.
    Current,
    /// The TCP of the adaptivity study: Reno, initial window 2, no options, no delayed ACKs,
    /// minimum retransmission timeout 1 s.
    Classic,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// 4.3BSD-Tahoe.
    Tahoe,
    /// RFC 2581.
    Reno,
    /// RFC 6582.
    NewReno,
    /// RFC 6675.
    Sack,
    /// RFC 8985.
    Rack,
}

/// By which rules recovery without SACK counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Rules {
    /// RFC 5681.
    Rfc5681,
    /// ns-3, which the tables of the adaptivity study come from.
    Ns3,
}

/// What happens to a segment smaller than the MSS at the end of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Nagle {
    /// It leaves at once.
    Off,
    /// It waits while anything is unacknowledged.
    On,
    /// It waits while a small segment is unacknowledged.
    Minshall,
}

impl TcpSettings {
    /// The endpoint's settings.
    pub fn config(&self, iss: Seq, seed: u64) -> Config {
        let mut config = self.profile_config();
        config.iss = iss;
        config.seed = seed;
        self.apply_congestion(&mut config);
        self.apply_options(&mut config);
        self.apply_rto(&mut config);
        self.apply_buffers(&mut config);
        config
    }

    fn profile_config(&self) -> Config {
        let mss = self.mss.map_or(Config::default().mss, |mss| mss.0);
        let recovery = self.recovery.map_or(Variant::Rack, Recovery::variant);
        match self.profile {
            Some(Profile::Classic) => Config::classic(recovery, mss),
            _ => Config { mss, recovery, ..Config::default() },
        }
    }

    fn apply_congestion(&self, config: &mut Config) {
        set(&mut config.controller, self.controller);
        set(&mut config.reno_rules, self.reno_rules.map(Rules::setting));
        set(&mut config.initial_window_segs, self.initial_window_segs.map(|n| n.0 as u32));
        config.initial_ssthresh_bytes = count(self.initial_ssthresh_bytes);
        config.cwnd_clamp_bytes = count(self.cwnd_clamp_bytes);
        set(&mut config.limited_transmit, self.limited_transmit);
        set(&mut config.prr, self.prr);
        set(&mut config.frto, self.frto);
        set(&mut config.tlp, self.tlp);
        set(&mut config.slow_start_after_idle, self.slow_start_after_idle);
        set(&mut config.pacing, self.pacing_rate_bps.map(|rate| Pacing::Rate(rate.0)));
        set(&mut config.tso_max_bytes, self.tso_max_bytes.map(|n| n.0 as u32));
    }

    fn apply_options(&self, config: &mut Config) {
        set(&mut config.sack, self.sack);
        set(&mut config.timestamps, self.timestamps);
        set(&mut config.window_scale, self.window_scaling.map(|on| on.then_some(None)));
        set(&mut config.ecn, self.ecn);
        config.fast_open = (self.fast_open == Some(true)).then(FastOpen::default);
        set(&mut config.nagle, self.nagle.map(Nagle::setting));
        if let Some(wait) = self.delayed_ack_ms {
            let base = DelayedAck { timeout: wait.0, segments: 2, quick: 0 };
            config.delayed_ack = (wait.0 > Nanos(0)).then_some(base);
        }
        if let Some((delayed, segments)) = config.delayed_ack.as_mut().zip(self.delayed_ack_segs) {
            delayed.segments = segments.0.clamp(1, MOST_DELAYED_SEGMENTS) as u32;
        }
    }

    fn apply_rto(&self, config: &mut Config) {
        set(&mut config.rto.initial, self.rto_initial_ms.map(|ms| ms.0));
        set(&mut config.rto.min, self.rto_min_ms.map(|ms| ms.0));
        set(&mut config.rto.max, self.rto_max_ms.map(|ms| ms.0));
        set(&mut config.rto.granularity, self.rto_granularity_ms.map(|ms| ms.0));
        config.rto.tick = self.rto_tick_ms.map(|ms| ms.0).filter(|tick| *tick > Nanos(0));
    }

    fn apply_buffers(&self, config: &mut Config) {
        set(&mut config.send_buffer, self.send_buffer_bytes.map(|n| Buffer::fixed(n.0)));
        set(&mut config.writer_delay, self.writer_delay_ms.map(|ms| ms.0));
        set(&mut config.receive_buffer, self.receive_buffer_bytes.map(|n| Buffer::fixed(n.0)));
        config.window_clamp_bytes = count(self.window_clamp_bytes);
    }
}

impl Recovery {
    fn variant(self) -> Variant {
        match self {
            Recovery::Tahoe => Variant::Tahoe,
            Recovery::Reno => Variant::Reno,
            Recovery::NewReno => Variant::NewReno,
            Recovery::Sack => Variant::Sack,
            Recovery::Rack => Variant::Rack,
        }
    }
}

impl Rules {
    fn setting(self) -> RenoRules {
        match self {
            Rules::Rfc5681 => RenoRules::Rfc5681,
            Rules::Ns3 => RenoRules::Ns3,
        }
    }
}

impl Nagle {
    fn setting(self) -> config::Nagle {
        match self {
            Nagle::Off => config::Nagle::Off,
            Nagle::On => config::Nagle::On,
            Nagle::Minshall => config::Nagle::Minshall,
        }
    }
}

/// More than any window holds.
const MOST_DELAYED_SEGMENTS: u64 = 1_000_000;

fn set<T>(field: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *field = value;
    }
}

fn count(count: Option<Count>) -> Option<u64> {
    count.map(|count| count.0)
}

fn controller<'de, D>(deserializer: D) -> Result<Option<&'static Registration>, D::Error>
where
    D: Deserializer<'de>,
{
    let name = String::deserialize(deserializer)?;
    if let Some(found) = cc::find(&name) {
        return Ok(Some(found));
    }
    let names: Vec<_> = cc::CONTROLLERS.iter().map(|c| format!("`{}`", c.name)).collect();
    let message = format!("unknown controller `{name}`, expected one of {}", names.join(", "));
    Err(D::Error::custom(message))
}

/// Declares which fields there are, to lay one set of settings over another.
macro_rules! overlay {
    ($($field:ident)+) => {
        impl TcpSettings {
            /// These settings, and where they say nothing, those of `base`.
            pub fn over(&self, base: &TcpSettings) -> TcpSettings {
                TcpSettings {
                    $($field: self.$field.or(base.$field),)+
                }
            }
        }
    };
}

overlay! {
    profile controller recovery reno_rules mss initial_window_segs initial_ssthresh_bytes
    cwnd_clamp_bytes sack timestamps window_scaling ecn fast_open
    rto_initial_ms rto_min_ms rto_max_ms
    rto_granularity_ms rto_tick_ms limited_transmit prr frto tlp nagle delayed_ack_ms
    delayed_ack_segs
    send_buffer_bytes writer_delay_ms receive_buffer_bytes window_clamp_bytes pacing_rate_bps
    tso_max_bytes slow_start_after_idle
}
