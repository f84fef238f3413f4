//! What to change, where, and to which value.

use super::application::may_be_shaped;
use super::headroom::Headroom;
use super::threshold;
use super::words::{bytes, percent, rate, time};
use super::{Case, Cause, Limitation};
use crate::model::window::Window;
use crate::record::Text;
use std::fmt::Display;

/// Advice for a direction from `src` to `dst`, sized for what it would gain where that is known.
pub fn advice(
    case: &Case,
    cause: Cause,
    headroom: Option<Headroom>,
    src: &dyn Display,
    dst: &dyn Display,
) -> Text {
    let advice = match cause.limitation() {
        // Most flows of a link: no text is made for each.
        _ if cause == Cause::ApplicationIdle => return Text::Borrowed(IDLE),
        Limitation::Application => application(case, cause, src),
        Limitation::ReceiverWindow => receiver(case, cause, headroom, src, dst),
        Limitation::SenderWindow => sender(case, cause, headroom, src),
        Limitation::UnsharedBottleneck => unshared(case),
        Limitation::SharedBottleneck => shared(case),
        Limitation::Policer => policer(case, src),
        Limitation::RandomLoss => random_loss(case, src),
        Limitation::Unresponsive => unresponsive(case, cause, src, dst),
        Limitation::Transport | Limitation::Mixed => transport(case, cause, src, dst),
    };
    advice.into()
}

fn application(case: &Case, cause: Cause, src: &dyn Display) -> String {
    let facts = &case.facts;
    if cause == Cause::ApplicationSmallWrites {
        let mean = facts.unique_bytes as f64 / facts.packets.max(1) as f64;
        return format!(
            "let the application on {src} write more at a time: a segment carries {} on average \
             and has room for {}; if it waits for answers to small writes, TCP_NODELAY",
            bytes(mean),
            bytes(f64::from(case.context.mss_bytes))
        );
    }
    let shaper = match may_be_shaped(case) {
        true => format!("; or that of a shaper on {src} (tbf, htb: tc qdisc show)"),
        false => String::new(),
    };
    format!(
        "raise the rate at which the application on {src} writes{}, or its pacing limit \
         (SO_MAX_PACING_RATE, maxrate of the fq queue){shaper}",
        now(case, " (")
    )
}

fn receiver(
    case: &Case,
    cause: Cause,
    headroom: Option<Headroom>,
    src: &dyn Display,
    dst: &dyn Display,
) -> String {
    match cause {
        Cause::ReceiverNoScaling => {
            let most = case.context.rwnd_max.zip(case.context.rtt_min).map(|(window, rtt)| {
                let bps = window as f64 * 8e9 / rtt.0.max(1) as f64;
                let (window, rtt) = (bytes(window as f64), time(rtt));
                format!(": without it {window} a round trip of {rtt} are {} at most", rate(bps))
            });
            format!(
                "switch window scaling on (net.ipv4.tcp_window_scaling = 1) at both {src} and \
                 {dst}, and look for a middlebox that strips the option{}",
                most.unwrap_or_default()
            )
        }
        Cause::ReceiverSlowReader => match case.facts.rate_bps() {
            Some(bps) => format!(
                "let the application on {dst} read faster, or in parallel: it reads {} and leaves \
                 the rest in its buffer",
                rate(bps)
            ),
            None => {
                format!("let the application on {dst} read: what it leaves unread fills its buffer")
            }
        },
        _ => {
            let need = window(case, headroom, KERNEL_OVERHEAD);
            format!("raise net.ipv4.tcp_rmem[2], or the SO_RCVBUF that limits it, on {dst} {need}")
        }
    }
}

fn sender(case: &Case, cause: Cause, headroom: Option<Headroom>, src: &dyn Display) -> String {
    let need = window(case, headroom, KERNEL_OVERHEAD);
    match cause {
        Cause::SenderBuffer => {
            format!("raise net.ipv4.tcp_wmem[2], or the SO_SNDBUF that limits it, on {src} {need}")
        }
        Cause::SenderClamp => {
            format!("on {src}, lift the clamp on the congestion window (ip route show: cwnd lock)")
        }
        _ => format!(
            "on {src}, raise the send buffer (net.ipv4.tcp_wmem[2], SO_SNDBUF) {need}; or lift the \
             clamp on its congestion window (ip route … cwnd lock)"
        ),
    }
}

fn shared(case: &Case) -> String {
    let link = case.context.capacity_bps.map_or(String::new(), |bps| format!(" of {}", rate(bps)));
    // What it got while it pressed: pauses of its own do not count against the link.
    let got = case.facts.queued_rate_bps.or(case.facts.rate_bps());
    let share = got.map_or(String::new(), |bps| format!(", this connection gets {}", rate(bps)));
    format!(
        "cross traffic uses the same link{link}{share}: more capacity, or a fair queue (fq_codel, \
         CAKE) there"
    )
}

fn policer(case: &Case, src: &dyn Display) -> String {
    let found =
        case.policer.map(|policer| format!("its bucket fills at {}, ", rate(policer.rate_bps)));
    let through = case.facts.rate_bps().filter(|_| case.facts.packets >= FEWEST_PACKETS);
    let Some(through) = through else {
        return format!(
            "ask the provider for a higher committed rate, or shape on {src} (pacing) so that \
             nothing is dropped; a longer capture shows to which rate"
        );
    };
    format!(
        "ask the provider for a higher committed rate ({}{} get through), or shape to that rate \
         on {src} (pacing) so that nothing is dropped",
        found.unwrap_or_default(),
        rate(through)
    )
}

fn random_loss(case: &Case, src: &dyn Display) -> String {
    let ratio = case.losses.map_or(case.facts.loss_ratio, |shape| shape.ratio);
    format!(
        "repair the link that loses {} of the packets (cable, optics, duplex, radio); until then a \
         controller that ignores such losses on {src} (net.ipv4.tcp_congestion_control = bbr)",
        percent(ratio)
    )
}

fn transport(case: &Case, cause: Cause, src: &dyn Display, dst: &dyn Display) -> String {
    let facts = &case.facts;
    match cause {
        Cause::SlowStart => {
            let segments = facts.unique_bytes.div_ceil(u64::from(case.context.mss_bytes.max(1)));
            format!(
                "the transfer ended or paused before slow start did: keep connections open and \
                 warm, or raise the initial window on {src} (ip route … initcwnd {})",
                segments.clamp(INITIAL_WINDOW, LARGEST_INITIAL_WINDOW)
            )
        }
        Cause::Recovery if facts.genuine < threshold::GENUINE => format!(
            "the path reorders: RACK and DSACK (net.ipv4.tcp_recovery = 1, net.ipv4.tcp_dsack = 1) \
             on {src} and {dst} keep the sender from seeing loss in it"
        ),
        Cause::Recovery => {
            // The receiver has no more to do once it reports what came.
            let (how, on) = match case.context.sack_agreed {
                Some(true) => ("RACK-TLP (net.ipv4.tcp_recovery = 1)", format!("{src}")),
                _ => (
                    "SACK and RACK-TLP (net.ipv4.tcp_sack = 1, net.ipv4.tcp_recovery = 1)",
                    format!("{src} and {dst}"),
                ),
            };
            match facts.loss_ratio > 0.0 {
                true => format!(
                    "find what loses {} of the bytes; until then {how} on {on}, so that losses \
                     are repaired sooner",
                    percent(facts.loss_ratio)
                ),
                false => format!("{how} on {on}, so that less is sent again"),
            }
        }
        _ => format!(
            "a controller that grows faster on {src} (net.ipv4.tcp_congestion_control = cubic or \
             bbr), or several connections"
        ),
    }
}

fn unshared(case: &Case) -> String {
    let link = match case.context.capacity_bps {
        Some(capacity) => format!("the link of {} is full: more capacity", rate(capacity)),
        None => "the link is full: more capacity".to_owned(),
    };
    match case.facts.inflation {
        Some(inflation) if inflation >= STANDING_QUEUE => format!(
            "{link}; against the standing queue (RTT {inflation:.1} times its minimum) an AQM \
             there (fq_codel, CAKE), or BBR"
        ),
        _ => link,
    }
}

fn unresponsive(case: &Case, cause: Cause, src: &dyn Display, dst: &dyn Display) -> String {
    match cause {
        Cause::UnresponsivePathMtu => format!(
            "let ICMP (type 3 code 4, ICMPv6 type 2) through to {src}, or clamp the MSS on the \
             path below {}; meanwhile net.ipv4.tcp_mtu_probing=1 on {src}",
            bytes(f64::from(case.context.mss_bytes))
        ),
        _ => format!(
            "see whether {dst} is up, and whether the path or a firewall's table of connections \
             still leads to it; TCP_USER_TIMEOUT on {src} ends such a wait sooner"
        ),
    }
}

/// The window that the predicted rate needs, and the buffer for it: the kernel counts `overhead`
/// times the bytes of a window. Without a prediction the arithmetic for a rate to be chosen.
fn window(case: &Case, headroom: Option<Headroom>, overhead: f64) -> String {
    let Some(rtt) = case.context.rtt_min else { return "to twice rate × RTT".to_owned() };
    let bps = headroom.map_or(EXAMPLE_BPS, |headroom| headroom.bps);
    let need = Window::bytes_for(bps, rtt.0 as f64);
    let (buffer, rtt, bps, need) = (bytes(need * overhead), time(rtt), rate(bps), bytes(need));
    match headroom {
        Some(_) => format!(
            "to at least {buffer}: {rtt} × {bps} takes a window of {need}, and the kernel keeps \
             twice as much for it"
        ),
        None => format!("to twice the rate that it is to reach × {rtt}: {buffer} for {bps}"),
    }
}

/// The rate of now after some words, in brackets if they open one.
fn now(case: &Case, words: &str) -> String {
    let Some(bps) = case.facts.rate_bps() else { return String::new() };
    match words.strip_suffix('(') {
        Some(words) => format!("{words}({} now)", rate(bps)),
        None => format!("{} {}", words.trim_end(), rate(bps)),
    }
}

const IDLE: &str = "nothing in the network: let the sending application send sooner (requests \
                    ahead of time, data ready when the connection is)";
/// What a buffer holds beside payload (`tcp_adv_win_scale` = 1, Linux before 6.6; it measures it
/// since, with the same result for full segments).
const KERNEL_OVERHEAD: f64 = 2.0;
/// A rate to show the arithmetic with.
const EXAMPLE_BPS: f64 = 1e9;
/// Mean over least round-trip time from which the queue is worth a word.
const STANDING_QUEUE: f64 = 2.0;
/// Data packets of a short transfer (IM 2021). Below it neither the rate that got through nor the
/// spacing of packets says much of the path.
const FEWEST_PACKETS: u64 = 130;
/// Segments (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// More at once is a burst that queues drop.
const LARGEST_INITIAL_WINDOW: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts};
    use std::net::IpAddr;

    fn advised(cause: Cause, facts: Facts, sack_agreed: Option<bool>) -> String {
        let context = Context { mss_bytes: 1448, sack_agreed, ..Context::default() };
        let case = Case { facts, context, ..Case::default() };
        let (src, dst) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        advice(&case, cause, None, &src, &dst).to_string()
    }

    #[test]
    fn four_packets_do_not_tell_what_a_policer_lets_through() {
        let few = Facts { packets: 4, unique_bytes: 5_470, span_s: 337e-6, ..Facts::default() };
        let text = advised(Cause::Policer, few, None);
        assert!(!text.contains("bit/s"), "{text}");
        let many = Facts { packets: 2_000, unique_bytes: 2_896_000, span_s: 9.0, ..few };
        let text = advised(Cause::Policer, many, None);
        assert!(text.contains("(2.57 Mbit/s get through)"), "{text}");
    }

    #[test]
    fn sack_is_not_advised_to_those_who_agreed_on_it() {
        let facts = Facts { genuine: 1.0, loss_ratio: 0.18, ..Facts::default() };
        let text = advised(Cause::Recovery, facts, Some(true));
        assert!(text.starts_with("find what loses 18 % of the bytes"), "{text}");
        assert!(!text.contains("SACK"), "{text}");
        let late = advised(Cause::Recovery, Facts { loss_ratio: 0.0, ..facts }, Some(true));
        assert!(late.starts_with("RACK-TLP"), "nothing was lost: {late}");
        assert!(advised(Cause::Recovery, facts, Some(false)).contains("tcp_sack = 1"));
        assert!(advised(Cause::Recovery, facts, None).contains("tcp_sack = 1"));
    }

    #[test]
    fn a_reader_without_a_rate_and_a_short_pause_have_whole_sentences() {
        let text = advised(Cause::ReceiverSlowReader, Facts::default(), None);
        assert!(
            text.starts_with("let the application on 192.0.2.2 read: what it leaves"),
            "{text}"
        );
        let idle = advised(Cause::ApplicationIdle, Facts::default(), None);
        assert!(idle.starts_with("nothing in the network") && idle.ends_with(')'), "{idle}");
    }
}
