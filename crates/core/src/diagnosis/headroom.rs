//! What would be reached with the present limit lifted: the least of the bounds that remain.

use super::{Case, Cause};
use crate::model::Predict;
use crate::model::capacity::Capacity;
use crate::model::cubic::Cubic;
use crate::model::window::Window;

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom {
    /// Payload in bit/s.
    pub bps: f64,
    /// The limitation that would hold then.
    pub next: &'static str,
}

/// The throughput with the limit of `cause` lifted, no less than `now_bps`. `None` when nothing is
/// known of what comes next.
pub fn predict(case: &Case, cause: Cause, now_bps: f64) -> Option<Headroom> {
    let lifted = cause.limitation();
    // A faster reader reads through the same buffer.
    let buffer_stays = lifted != "receiver_window" || cause == Cause::ReceiverSlowReader;
    let link = link(case).filter(|_| lifted != "unshared_bottleneck");
    let window = window(case).filter(|_| buffer_stays && (link.is_none() || was_filled(case)));
    let loss = loss(case).filter(|_| !LIFTED_WITH_LOSS.contains(&lifted));
    let bounds =
        [(link, "unshared_bottleneck"), (window, "receiver_window"), (loss, "random_loss")];
    let known = bounds.into_iter().filter_map(|(bound, next)| Some((bound?, next)));
    let (bps, next) = known.min_by(|a, b| a.0.total_cmp(&b.0))?;
    // A link that others fill gives what it has only when they leave; it bounds all the same.
    Some(Headroom { bps: bps.max(now_bps), next })
}

/// What the link carries of payload.
fn link(case: &Case) -> Option<f64> {
    let context = &case.context;
    let capacity = Capacity {
        capacity_bps: context.capacity_bps?,
        mss_bytes: f64::from(context.mss_bytes),
        headers_bytes: f64::from(context.headers_bytes),
        ..Capacity::default()
    };
    capacity.rate_bps().ok()
}

/// Whether the sender ever came near the end of the window. One that it never filled has grown only
/// as far as it had to (receivers raise theirs with what arrives), so that it bounds nothing.
fn was_filled(case: &Case) -> bool {
    case.facts.at_edge >= 0.1 || case.facts.receiver >= 0.02
}

/// The receiver's largest window a round trip.
fn window(case: &Case) -> Option<f64> {
    let context = &case.context;
    let window_bytes = context.rwnd_max? as f64;
    Window { window_bytes, rtt_ns: context.rtt_min?.0 as f64 }.rate_bps().ok()
}

/// What CUBIC, the default of most senders, keeps up under the losses that were seen.
fn loss(case: &Case) -> Option<f64> {
    let (facts, context) = (&case.facts, &case.context);
    if facts.losses < FEWEST_LOSSES || facts.losses_queued.unwrap_or(0.0) >= 0.5 {
        return None;
    }
    let cubic = Cubic {
        mss_bytes: f64::from(context.mss_bytes),
        rtt_ns: context.rtt_min?.0 as f64,
        loss: facts.losses as f64 / facts.packets.max(1) as f64,
        ..Cubic::default()
    };
    cubic.rate_bps().ok()
}

/// Limits whose remedy ends the losses too.
const LIFTED_WITH_LOSS: [&str; 4] = ["random_loss", "policer", "shared_bottleneck", "transport"];
/// Loss episodes below which their rate is not known to a factor of two.
const FEWEST_LOSSES: u64 = 3;
