//! What would be reached with the present limit lifted: the least of the bounds that remain.

use super::{Case, Cause, Limitation};
use crate::flow::path::capacity::Support;
use crate::flow::time::period::BTP_MIN_PACKETS;
use crate::model::Predict;
use crate::model::capacity::Capacity;
use crate::model::cubic::Cubic;
use crate::model::slow_start::SlowStart;
use crate::model::window::Window;
use crate::reason::GainUnknown;

/// A prediction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Headroom {
    /// Payload in bit/s.
    pub bps: f64,
    /// The limitation that would hold then; `None` for more of what holds now.
    pub next: Option<Limitation>,
}

/// The throughput with the limit of `cause` lifted, no less than `now_bps`; or why nothing is known
/// of what comes next.
pub fn predict(case: &Case, cause: Cause, now_bps: f64) -> Result<Headroom, GainUnknown> {
    let lifted = cause.limitation();
    let path = link(case);
    // What paces acknowledgements behind a policer is the policer: of the link nothing is known.
    if cause == Cause::Policer && path.is_some_and(|link| link < BEYOND_POLICER * now_bps) {
        return Err(GainUnknown::LinkUnknown);
    }
    // A faster reader reads through the same buffer.
    let buffer_stays = lifted != Limitation::ReceiverWindow || cause == Cause::ReceiverSlowReader;
    let link = path.filter(|_| lifted != Limitation::UnsharedBottleneck);
    let window = window(case).filter(|_| buffer_stays);
    let loss = loss(case).filter(|_| !LIFTED_WITH_LOSS.contains(&lifted));
    let whole = (cause == Cause::SlowStart).then(|| at_once(case, link, window)).flatten();
    let bounds = [
        (link, Limitation::UnsharedBottleneck),
        (window, Limitation::ReceiverWindow),
        (loss, Limitation::RandomLoss),
        // Then there is no more to send.
        (whole, Limitation::Application),
    ];
    let known = bounds.into_iter().filter_map(|(bound, next)| Some((bound?, next)));
    let least = known.min_by(|a, b| a.0.total_cmp(&b.0));
    let (bps, next) = least.ok_or_else(|| unknown(case, cause))?;
    if lifted.is_of_network() && case.facts.unique_bytes == 0 {
        return Err(GainUnknown::TooLittleData);
    }
    if lifted == Limitation::Unresponsive {
        return Err(GainUnknown::NobodyAnswers);
    }
    // Nothing of what follows a policer was ever used, but for the pairs that it let pass.
    // What was silent for some of its time gains less than what sent all of it.
    let reached = case.over_all_bps.map_or(now_bps, |rate| rate.min(now_bps));
    let used = cause != Cause::Policer || is_link_sure(case);
    let shown = if used { shown_bps(case, reached) } else { reached };
    if lifted.is_of_network() && bps > FARTHEST_GAIN * shown {
        return Err(GainUnknown::BeyondEvidence);
    }
    // A link that others fill gives what it has only when they leave; it bounds all the same.
    let bps = bps.max(now_bps);
    if bps < NOT_LESS * case.facts.rate_bps().unwrap_or(0.0) {
        // It left at once, faster than any round trip lasts: no rate to compare with.
        return Err(GainUnknown::TooLittleData);
    }
    Ok(Headroom { bps, next: (next != lifted).then_some(next) })
}

/// The highest rate that the capture gives evidence of.
fn shown_bps(case: &Case, now_bps: f64) -> f64 {
    case.context.capacity_bps.map_or(now_bps, |capacity| capacity.max(now_bps))
}

/// Whether the packet pairs leave no doubt of what the link carries.
fn is_link_sure(case: &Case) -> bool {
    let so_far = &case.so_far;
    let (near, sharp, faster) = (so_far.pairs_near, so_far.pairs_sharp, so_far.pairs_faster);
    Support { near, sharp, faster, ahead: so_far.pairs_ahead }.is_sure()
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

/// The receiver's largest window a round trip. Receivers raise their window to twice what arrives
/// in a round trip (Linux, dynamic right-sizing). A window that was never half full has grown only
/// as far as it had to: it bounds nothing.
fn window(case: &Case) -> Option<f64> {
    let (facts, context) = (&case.facts, &case.context);
    let window_bytes = context.rwnd_max? as f64;
    let flight_bytes = facts.flight_segments * f64::from(context.mss_bytes);
    let filled = facts.at_edge >= AT_EDGE_NOW_AND_THEN
        || facts.receiver >= HELD_NOW_AND_THEN
        || flight_bytes >= window_bytes / 2.0;
    if !filled {
        return None;
    }
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

/// The same data from a connection whose window is open already: a round trip, or as long as the
/// path takes to carry it.
fn at_once(case: &Case, link: Option<f64>, window: Option<f64>) -> Option<f64> {
    let (facts, context) = (&case.facts, &case.context);
    let (size_bytes, rtt_ns) = (facts.unique_bytes as f64, context.rtt_min?.0 as f64);
    let mss_bytes = f64::from(context.mss_bytes.max(1));
    let path_bytes = link.into_iter().chain(window).map(|bps| Window::bytes_for(bps, rtt_ns));
    let warm = SlowStart {
        size_bytes,
        mss_bytes,
        rtt_ns,
        initial_window_segs: (size_bytes / mss_bytes).ceil().max(1.0),
        window_bytes: path_bytes.fold(f64::INFINITY, f64::min),
        ..SlowStart::default()
    };
    warm.rate_bps().ok()
}

fn unknown(case: &Case, cause: Cause) -> GainUnknown {
    match cause.limitation() {
        Limitation::UnsharedBottleneck => GainUnknown::OnlyThisLink,
        _ if cause == Cause::ApplicationIdle && case.facts.packets < BTP_MIN_PACKETS => {
            GainUnknown::TooLittleData
        }
        _ if case.context.own_pace => GainUnknown::SenderPace,
        _ => GainUnknown::LinkUnknown,
    }
}

/// Limits whose remedy ends the losses too.
pub(super) const LIFTED_WITH_LOSS: [Limitation; 4] = [
    Limitation::RandomLoss,
    Limitation::Policer,
    Limitation::SharedBottleneck,
    Limitation::Transport,
];
/// A rate this many times what was reached, or what the link showed, is nobody's to predict.
pub(super) const FARTHEST_GAIN: f64 = 20.0;
/// Loss episodes below which their rate is not known to a factor of two.
const FEWEST_LOSSES: u64 = 3;
/// A capacity up to so many times the rate behind a policer is the policer's: its bucket lets that
/// much more through.
const BEYOND_POLICER: f64 = 1.25;
/// Bytes are counted and spans measured to about this.
const NOT_LESS: f64 = 0.999;
/// Share of the segments near the window's end from which it holds now and then,
const AT_EDGE_NOW_AND_THEN: f64 = 0.1;
/// and of the time.
const HELD_NOW_AND_THEN: f64 = 0.02;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::{Context, Facts};
    use crate::units::Nanos;

    fn case(facts: Facts, capacity_bps: Option<f64>) -> Case {
        let context = Context {
            mss_bytes: 1448,
            headers_bytes: 52,
            rtt_min: Some(Nanos::from_millis(100)),
            rwnd_max: Some(1_000_000),
            capacity_bps,
            ..Context::default()
        };
        Case { facts, context, ..Case::default() }
    }

    #[test]
    fn a_window_that_was_never_half_filled_bounds_nothing() {
        let with_flight = |flight_segments| {
            case(Facts { flight_segments, unique_bytes: 1_000_000, ..Facts::default() }, None)
        };
        assert!(predict(&with_flight(300.0), Cause::ApplicationPaced, 1e6).is_err());
        assert!(predict(&with_flight(400.0), Cause::UnsharedQueue, 1e7).is_ok());
        let filled = case(Facts { at_edge: 0.2, ..Facts::default() }, None);
        let headroom = predict(&filled, Cause::ApplicationPaced, 1e6).expect("filled");
        assert_eq!((headroom.bps.round(), headroom.next), (80e6, Some(Limitation::ReceiverWindow)));
        assert!(predict(&filled, Cause::ReceiverBuffer, 1e6).is_err(), "it is what is lifted");
    }

    #[test]
    fn the_pace_of_a_policer_is_not_the_link_behind_it() {
        let policed = case(Facts { unique_bytes: 1_000_000, ..Facts::default() }, Some(5e6));
        assert!(predict(&policed, Cause::Policer, 4.7e6).is_err());
        let filled = Case { facts: Facts { at_edge: 0.2, ..policed.facts }, ..policed };
        assert_eq!(predict(&filled, Cause::Policer, 4.7e6), Err(GainUnknown::LinkUnknown));
        assert!(predict(&filled, Cause::RandomLoss, 4.7e6).is_ok());
        let wide = case(Facts { unique_bytes: 1_000_000, ..Facts::default() }, Some(8e7));
        assert_eq!(
            predict(&wide, Cause::Policer, 4.7e6).map(|h| h.next),
            Ok(Some(Limitation::UnsharedBottleneck))
        );
    }

    #[test]
    fn no_gain_is_claimed_that_nothing_supports() {
        let facts = Facts { at_edge: 0.2, unique_bytes: 1_000_000, ..Facts::default() };
        // A window of 80 Mbit/s is no promise at a link of 1 Mbit/s, nor behind a policer.
        let narrow = case(facts, Some(1e6));
        assert!(predict(&narrow, Cause::UnsharedQueue, 9e5).is_err());
        assert!(predict(&case(facts, Some(1e7)), Cause::UnsharedQueue, 9e6).is_ok());
        assert!(predict(&case(facts, Some(1e8)), Cause::Policer, 1e5).is_err());
        let mut sure = case(facts, Some(1e8));
        (sure.so_far.pairs_near, sure.so_far.pairs_sharp) = (0.6, 1.0);
        assert!(predict(&sure, Cause::Policer, 1e5).is_ok(), "most pairs agree on the link");
        let more = predict(&case(facts, None), Cause::ReceiverSlowReader, 1e7).expect("its buffer");
        assert_eq!((more.bps.round(), more.next), (80e6, None), "the same limit is no next one");
        assert!(predict(&case(facts, Some(1e7)), Cause::UnresponsivePeer, 1e5).is_err());
    }

    #[test]
    fn what_only_repeats_has_no_gain() {
        let facts = Facts { at_edge: 0.2, ..Facts::default() };
        let gain = predict(&case(facts, Some(1e7)), Cause::Recovery, 0.0);
        assert_eq!(gain, Err(GainUnknown::TooLittleData));
    }

    #[test]
    fn what_left_at_once_is_no_rate_to_compare_with() {
        let facts = Facts { unique_bytes: 144_800, span_s: 0.05, ..Facts::default() };
        let mut at_once = case(facts, Some(1e9));
        at_once.context.rtt_least = at_once.context.rtt_min;
        let reached_bps = at_once.facts.reached_bps(&at_once.context).expect("it lasted");
        let gain = predict(&at_once, Cause::SlowStart, reached_bps);
        assert_eq!(gain, Err(GainUnknown::TooLittleData));
    }

    #[test]
    fn a_short_transfer_takes_a_round_trip_at_least() {
        let short = case(Facts { unique_bytes: 144_800, ..Facts::default() }, Some(1e9));
        let headroom = predict(&short, Cause::SlowStart, 1e6).expect("a bound");
        assert_eq!(
            (headroom.bps.round(), headroom.next),
            (11_584_000.0, Some(Limitation::Application))
        );
    }
}
