//! What to change, where, and to which value.

use super::headroom::Headroom;
use super::words::{bytes, rate, time};
use super::{Case, Cause};
use crate::model::window::Window;
use crate::record::Text;
use std::net::IpAddr;

/// Advice for a half from `src` to `dst`.
pub fn advice(
    case: &Case,
    cause: Cause,
    headroom: Option<&Headroom>,
    src: IpAddr,
    dst: IpAddr,
) -> Text {
    let capacity = case.context.capacity_bps;
    let text = match cause {
        Cause::ApplicationIdle => {
            return Text::Borrowed(
                "nothing in the network: let the sending application send sooner (requests ahead \
                 of time, data ready when the connection is)",
            );
        }
        Cause::ApplicationPaced => format!(
            "raise the rate at which the application on {src} writes, or its pacing limit \
             (SO_MAX_PACING_RATE)"
        ),
        Cause::ApplicationSmallWrites => format!(
            "let the application on {src} write more at a time; if it waits for answers to small \
             writes, TCP_NODELAY"
        ),
        Cause::ReceiverBuffer => {
            let need = window(case, headroom, 2.0);
            format!("raise net.ipv4.tcp_rmem[2], or the SO_RCVBUF that limits it, on {dst}{need}")
        }
        Cause::ReceiverNoScaling => format!(
            "switch window scaling on (net.ipv4.tcp_window_scaling = 1) at both {src} and {dst}, \
             and look for a middlebox that strips the option"
        ),
        Cause::ReceiverSlowReader => {
            format!("the application on {dst} reads too slowly: let it read faster or in parallel")
        }
        Cause::SenderBuffer => {
            let need = window(case, headroom, 2.0);
            format!("raise net.ipv4.tcp_wmem[2], or the SO_SNDBUF that limits it, on {src}{need}")
        }
        Cause::SenderClamp | Cause::SenderUndetermined => {
            let need = window(case, headroom, 2.0);
            format!(
                "on {src}, raise the send buffer (net.ipv4.tcp_wmem[2], SO_SNDBUF) or lift the \
                 clamp on its congestion window{need}"
            )
        }
        Cause::UnsharedQueue | Cause::UnsharedLoss => unshared(case, capacity),
        Cause::SharedLoss | Cause::SharedQueue | Cause::SharedEcn => shared(capacity),
        Cause::Policer => policer(case, src),
        Cause::RandomLoss => format!(
            "repair the link that loses packets (cable, optics, duplex, radio); until then a \
             controller that ignores such losses on {src} (BBR)"
        ),
        Cause::SlowStart => format!(
            "the transfer ended or paused before slow start did: keep connections open and warm, \
             or raise the initial window on {src}"
        ),
        Cause::CongestionAvoidance => {
            format!("a controller that grows faster on {src} (CUBIC, BBR), or several connections")
        }
        Cause::Recovery => match case.facts.genuine < 0.5 {
            true => format!(
                "the path reorders: RACK and DSACK on both ends keep {src} from seeing loss in it"
            ),
            false => format!("SACK and RACK-TLP on both ends, so that {src} repairs losses sooner"),
        },
    };
    text.into()
}

/// The window that the predicted rate needs, and the buffer for it: the kernel keeps `overhead`
/// times the bytes of a window (tcp_adv_win_scale).
fn window(case: &Case, headroom: Option<&Headroom>, overhead: f64) -> String {
    let (Some(headroom), Some(rtt)) = (headroom, case.context.rtt_min) else {
        return String::new();
    };
    let need = Window::bytes_for(headroom.bps, rtt.0 as f64);
    format!(
        " to at least {}: {} × {} takes a window of {}",
        bytes(need * overhead),
        time(rtt),
        rate(headroom.bps),
        bytes(need)
    )
}

fn shared(capacity: Option<f64>) -> String {
    let link = capacity.map_or(String::new(), |bps| format!(" of {}", rate(bps)));
    format!("others use the same link{link}: more capacity, or a fair queue (fq_codel, CAKE) there")
}

fn policer(case: &Case, src: IpAddr) -> String {
    let rate = case.policer.map_or("its rate".to_owned(), |policer| rate(policer.rate_bps));
    format!(
        "ask whoever polices the path for a higher contract than {rate}, or shape to it on {src} \
         (pacing) so that nothing is dropped"
    )
}

fn unshared(case: &Case, capacity: Option<f64>) -> String {
    let link = match capacity {
        Some(capacity) => format!("the link of {} is full: more capacity", rate(capacity)),
        None => "the link is full: more capacity".to_owned(),
    };
    match case.facts.inflation {
        Some(inflation) if inflation >= 2.0 => format!(
            "{link}; against the standing queue (RTT {inflation:.1} times its minimum) an active \
             queue management there (fq_codel, CAKE), or BBR"
        ),
        _ => link,
    }
}
