//! The vocabulary of scripts: settings that can be made and values that can be observed.

use super::script::{number, seconds};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::cc;
use tcpwhy_sim::endpoint::{Endpoint, PeerMemory, Socket};
use tcpwhy_sim::tcp::config::{
    Buffer, DelayedAck, FastOpen, KeepAlive, Nagle, Pacing, PartialAcks, Variant,
};
use tcpwhy_sim::tcp::rto::BackoffReset;
use tcpwhy_sim::tcp::{Config, Connection};

/// Applies `key=value` settings. `classic=reno` starts from the study's TCP.
pub fn apply(config: &mut Config, text: &str) -> Result<(), String> {
    text.split_whitespace().try_for_each(|item| {
        let (key, value) = item.split_once('=').ok_or("a setting is key=value")?;
        apply_one(config, key, value)
    })
}

fn apply_one(config: &mut Config, key: &str, value: &str) -> Result<(), String> {
    let bool_of = |value: &str| match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("{value:?} is neither on nor off")),
    };
    match key {
        "classic" => {
            let iss = config.iss;
            *config = Config { iss, ..Config::classic(variant(value)?, config.mss) };
        }
        "recovery" => config.recovery = variant(value)?,
        "controller" => config.controller = cc::find(value).ok_or("unknown controller")?,
        "mss" => config.mss = number(value)? as u16,
        "iw" => config.initial_window_segs = number(value)? as u32,
        "ssthresh" => config.initial_ssthresh_bytes = Some(number(value)?),
        "clamp" => config.cwnd_clamp_bytes = Some(number(value)?),
        "sack" => config.sack = bool_of(value)?,
        "ts" => config.timestamps = bool_of(value)?,
        "ecn" => config.ecn = bool_of(value)?,
        "fast_open" => config.fast_open = Some(parse_fast_open(value)?),
        "frto" => config.frto = bool_of(value)?,
        "tlp" => config.tlp = bool_of(value)?,
        "prr" => config.prr = bool_of(value)?,
        "limited" => config.limited_transmit = bool_of(value)?,
        "wscale" => config.window_scale = parse_scale(value)?,
        "nagle" => config.nagle = nagle(value)?,
        "delack" if value == "off" => config.delayed_ack = None,
        "delack" => {
            let timeout = seconds(value)?;
            config.delayed_ack = Some(DelayedAck { timeout, segments: 2, quick: 0 });
        }
        "quick" => {
            config.delayed_ack.as_mut().ok_or("delayed ACKs are off")?.quick = number(value)? as u32
        }
        "sndbuf" => config.send_buffer = Buffer::fixed(number(value)?),
        "writer_delay" => config.writer_delay = seconds(value)?,
        "rcvbuf" => config.receive_buffer = parse_buffer(value)?,
        "window_clamp" => config.window_clamp_bytes = Some(number(value)?),
        "partial" => config.partial_acks = partial(value)?,
        "first_window" => config.first_window_bytes = Some(number(value)?),
        "pacing" if value == "window" => config.pacing = Pacing::Window,
        "pacing" => config.pacing = Pacing::Rate(number(value)?),
        "unpaced" => config.unpaced_segs = number(value)? as u32,
        "tso" => config.tso_max_bytes = number(value)? as u32,
        "restart" => config.slow_start_after_idle = bool_of(value)?,
        "retries" => config.max_retries = Some(number(value)? as u32),
        "rto_initial" => config.rto.initial = seconds(value)?,
        "rto_min" => config.rto.min = seconds(value)?,
        "rto_max" => config.rto.max = seconds(value)?,
        "granularity" => config.rto.granularity = seconds(value)?,
        "backoff" if value == "any_ack" => config.rto.backoff_reset = BackoffReset::AnyAck,
        "keepalive" => {
            let parts: Vec<_> = value.split(':').collect();
            let [idle, interval, count] = parts[..] else { return Err("idle:interval:n".into()) };
            config.keep_alive = Some(KeepAlive {
                idle: seconds(idle)?,
                interval: seconds(interval)?,
                count: number(count)? as u32,
            });
        }
        _ => return Err(format!("unknown setting {key:?}")),
    }
    Ok(())
}

fn nagle(value: &str) -> Result<Nagle, String> {
    match value {
        "off" => Ok(Nagle::Off),
        "on" => Ok(Nagle::On),
        "minshall" => Ok(Nagle::Minshall),
        _ => Err("nagle is off, on or minshall".into()),
    }
}

fn partial(value: &str) -> Result<PartialAcks, String> {
    match value {
        "steady" => Ok(PartialAcks::SlowButSteady),
        "impatient" => Ok(PartialAcks::Impatient),
        _ => Err("partial is steady or impatient".into()),
    }
}

fn variant(name: &str) -> Result<Variant, String> {
    let found = Variant::ALL.into_iter().find(|variant| variant.name() == name);
    found.ok_or(format!("unknown variant {name:?}"))
}

fn parse_scale(value: &str) -> Result<Option<Option<u8>>, String> {
    match value {
        "off" => Ok(None),
        "auto" => Ok(Some(None)),
        _ => Ok(Some(Some(number(value)? as u8))),
    }
}

/// `gives:COOKIE` at a server, `asks` or `knows:COOKIE` at a client.
fn parse_fast_open(value: &str) -> Result<FastOpen, String> {
    let (word, cookie) = value.split_once(':').unwrap_or((value, "0"));
    let cookie = number(cookie)? as u32;
    let memory = Some(PeerMemory { cookie, mss: 1460 });
    match word {
        "gives" => Ok(FastOpen { issued: cookie, memory: None }),
        "asks" => Ok(FastOpen::default()),
        "knows" => Ok(FastOpen { issued: 0, memory }),
        _ => Err("fast_open is gives:COOKIE, asks or knows:COOKIE".into()),
    }
}

/// `BYTES` or `INITIAL:MAX`.
fn parse_buffer(value: &str) -> Result<Buffer, String> {
    let (initial, max) = value.split_once(':').unwrap_or((value, value));
    Ok(Buffer { initial_bytes: number(initial)?, max_bytes: number(max)? })
}

/// What a script can ask for. Windows named without unit are in segments.
pub fn observe(end: &Connection, now: Nanos, key: &str) -> Result<String, String> {
    let snapshot = end.snapshot(now);
    let segments = |bytes: u64| trimmed(bytes as f64 / end.effective_mss() as f64, 3);
    Ok(match key {
        "cwnd" => segments(snapshot.cwnd_bytes),
        "cwnd_bytes" => snapshot.cwnd_bytes.to_string(),
        "ssthresh" => snapshot.ssthresh_bytes.map_or("inf".into(), segments),
        "pipe" => snapshot.pipe_bytes.to_string(),
        "flight" => snapshot.flight_size_bytes.to_string(),
        "rwnd" => snapshot.rwnd_bytes.to_string(),
        "unsent" => snapshot.unsent_bytes.to_string(),
        "limit" => snapshot.limit.name().into(),
        "since" => trimmed(snapshot.limit_since.as_secs_f64(), 6),
        "phase" => snapshot.phase.name().into(),
        "cc" => end.controller_state().into(),
        "state" => format!("{:?}", end.state()),
        "mss" => end.effective_mss().to_string(),
        "rto" => trimmed(snapshot.rto_ns.as_secs_f64(), 6),
        "srtt" => snapshot.srtt_ns.map_or("none".into(), |rtt| trimmed(rtt.as_secs_f64(), 6)),
        "pacing" => snapshot.pacing_rate_bps.map_or("none".into(), |rate| rate.to_string()),
        "timeouts" => snapshot.timeouts.to_string(),
        "fast" => snapshot.fast_retransmits.to_string(),
        "tlp" => snapshot.tail_loss_probes.to_string(),
        "spurious" => snapshot.spurious_recoveries.to_string(),
        "retrans" => snapshot.retransmitted_segments.to_string(),
        "delivered" => end.delivered_bytes().to_string(),
        "readable" => end.readable().to_string(),
        "writable" => end.writable().to_string(),
        "rcvbuf" => end.receive_buffer_bytes().to_string(),
        "peer_closed" => end.is_peer_closed().to_string(),
        "cookie" => end.memory().map_or("none".into(), |memory| memory.cookie.to_string()),
        "finished" => end.is_finished().to_string(),
        _ => return Err(format!("unknown value {key:?}")),
    })
}

/// With up to `digits` decimals, without trailing zeros.
fn trimmed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').into()
}
