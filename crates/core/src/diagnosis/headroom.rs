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
    let bounds = [
        (link(case), "unshared_bottleneck", &LIFTED_BY_LINK[..]),
        (window(case), "receiver_window", &LIFTED_BY_RECEIVER[..]),
        (loss(case), "random_loss", &LIFTED_BY_LOSS[..]),
    ];
    let lifted = cause.limitation();
    let left = bounds.into_iter().filter(|(_, _, by)| !by.contains(&lifted));
    let known = left.filter_map(|(bound, next, _)| Some((bound?, next)));
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

const LIFTED_BY_LINK: [&str; 1] = ["unshared_bottleneck"];
const LIFTED_BY_RECEIVER: [&str; 1] = ["receiver_window"];
const LIFTED_BY_LOSS: [&str; 4] = ["random_loss", "policer", "shared_bottleneck", "transport"];
/// Loss episodes below which their rate is not known to a factor of two.
const FEWEST_LOSSES: u64 = 3;
