//! Settings of TCP endpoints, as scenario files give them.

use crate::parameter::{Count, Milliseconds, Rate};
use serde::Deserialize;

/// What a scenario may change of an endpoint. What is not given is as in the profile.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TcpSettings {
    /// What everything else starts from.
    pub profile: Option<Profile>,
    /// Congestion controller, by its name in the registry.
    pub controller: Option<String>,
    /// How losses are found and repaired.
    pub recovery: Option<Recovery>,
    /// MSS option, and the most payload of a segment without options.
    pub mss: Option<u16>,
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
    /// Retransmission timeout before the first measurement (RFC 6298).
    pub rto_initial_ms: Option<Milliseconds>,
    /// Its lower bound.
    pub rto_min_ms: Option<Milliseconds>,
    /// Its upper bound, also above the lower one.
    pub rto_max_ms: Option<Milliseconds>,
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
    /// Send buffer of fixed size.
    pub send_buffer_bytes: Option<Count>,
    /// Receive buffer of fixed size.
    pub receive_buffer_bytes: Option<Count>,
    /// Upper bound of the advertised window.
    pub window_clamp_bytes: Option<Count>,
    /// Rate above which the socket never sends (`SO_MAX_PACING_RATE`).
    pub pacing_rate_bps: Option<Rate>,
    /// Most payload that leaves at once when paced.
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

/// Declares which fields there are, to lay one set of settings over another.
macro_rules! overlay {
    ($($field:ident)+) => {
        impl TcpSettings {
            /// These settings, and where they say nothing, those of `base`.
            pub fn over(&self, base: &TcpSettings) -> TcpSettings {
                TcpSettings {
                    $($field: self.$field.clone().or_else(|| base.$field.clone()),)+
                }
            }
        }
    };
}

overlay! {
    profile controller recovery mss initial_window_segs initial_ssthresh_bytes cwnd_clamp_bytes sack
    timestamps window_scaling ecn rto_initial_ms rto_min_ms rto_max_ms rto_granularity_ms rto_tick_ms
    limited_transmit prr frto tlp nagle delayed_ack_ms send_buffer_bytes receive_buffer_bytes
    window_clamp_bytes pacing_rate_bps tso_max_bytes slow_start_after_idle
}
