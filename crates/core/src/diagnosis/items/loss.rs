//! Losses: how many, when, and in what company (Mathis et al. 1997; Flach et al. 2016).

use super::{items, over};

items! {
    "losses" Count "loss episodes" |c| Some(c.facts.losses as f64);
    "loss_ratio" Share "bytes lost" |c| Some(c.facts.loss_ratio);
    "genuine" Share "retransmissions of bytes that were lost" |c| Some(c.facts.genuine);
    "losses_queued" Share "loss episodes with a queue" |c| c.facts.losses_queued;
    "losses_timed" Count "loss episodes after a known RTT"
        |c| Some(f64::from(c.facts.losses_timed));
    "lost_at_once" Count "segments lost per episode" |c| {
        over(c.facts.loss_ratio * c.facts.packets as f64, c.facts.losses as f64)
    };
    "losses_a_trip" Times "loss episodes per minimum round trip" |c| {
        over(c.facts.losses as f64 * c.rtt_min_s()?, c.facts.span_s)
    };
    "marks" Count "ECN marks and echoes" |c| Some(f64::from(c.facts.marks));
    "timeouts" Count "retransmission timeouts" |c| Some(f64::from(c.facts.timeouts));
    "lost_so_far" Count "segments lost so far"
        |c| Some(c.so_far.loss_ratio * c.so_far.packets as f64);
    "ratio_so_far" Share "bytes lost so far" |c| Some(c.so_far.loss_ratio);
    "losses_so_far" Count "loss episodes so far" |c| Some(c.so_far.losses as f64);
    "timeouts_so_far" Share "timeouts / loss episodes so far" |c| {
        over(c.so_far.timeouts as f64, c.so_far.losses as f64)
    };
    "reordered_so_far" Share "segments that came late so far" |c| {
        over(c.so_far.reordered as f64, c.so_far.packets as f64)
    };
    "bucket" Count "losses that fit a token bucket" |c| c.policer.map(|fit| f64::from(fit.losses));
    "bucket_rate" Times "rate of the token bucket / goodput" |c| {
        over(c.policer?.rate_bps, c.facts.rate_bps()?)
    };
    "bucket_of_capacity" Share "rate of the token bucket / capacity" |c| {
        over(c.policer?.rate_bps, c.context.capacity_bps?)
    };
    "bucket_rank" Share "rank of a token bucket's level at losses (random = 50 %)"
        |c| c.levels.map(|levels| f64::from(levels.rank));
    "bucket_spread" Times "spread of a token bucket's level at losses / at what passed"
        |c| c.levels.map(|levels| f64::from(levels.spread));
    "bucket_trips" Times "spread of a token bucket's level at losses in round trips"
        |c| c.levels.map(|levels| f64::from(levels.trips));
    "episode_flight" Times "variation of the flight when loss episodes begin"
        |c| c.evenness?.flight_variation;
    "episode_gaps" Times "variation of the time between loss episodes"
        |c| c.evenness?.gap_variation;
    "shape_losses" Count "losses without a queue so far"
        |c| c.losses.map(|shape| f64::from(shape.losses));
    "shape_ratio" Share "losses per segment from the first to the last"
        |c| c.losses.map(|shape| shape.ratio);
    "shape_variation" Times "variation of the inter-loss gaps (random = 1)"
        |c| c.losses.map(|shape| shape.variation);
    "shape_rhythm" Times "variation of the gaps between loss episodes (random = 1)"
        |c| c.losses.and_then(|shape| shape.rhythm);
    "shape_adjacent" Share "close losses that follow directly"
        |c| c.losses.map(|shape| shape.adjacent);
    "shape_clustering" Times "close losses against chance"
        |c| c.losses.map(|shape| shape.clustering);
    "shape_flight" Times "flight at losses / mean flight" |c| c.losses.map(|shape| shape.flight);
    "shape_high" Share "losses after an RTT above the mean" |c| c.losses.map(|shape| shape.high);
    "met_losses" Count "loss episodes that were ranked"
        |c| c.density.map(|density| f64::from(density.losses));
    "met_rank" Share "rank of losses by the bytes sent just before (random = 50 %)"
        |c| c.density.map(|density| density.rank);
    "met_deviations" Times "deviation of that rank from chance"
        |c| c.density.map(|density| density.deviations());
    "met_delay_rank" Share "rank of the losses by the RTT just before"
        |c| c.density.and_then(|density| density.delay_rank);
    "met_delay" Seconds "RTT above its minimum before losses"
        |c| c.density.and_then(|density| density.delay).map(|delay| delay.as_secs_f64());
    "met_delay_variation" Times "variation of the queueing delay before losses"
        |c| c.density.and_then(|density| density.delay_variation);
    "met_delay_trips" Times "queueing delay before losses in minimum round trips" |c| {
        over(c.density?.delay?.as_secs_f64(), c.rtt_min_s()?)
    };
    "met_delay_of_most" Share "queueing delay before losses / largest so far" |c| {
        over(c.density?.delay?.as_secs_f64(), c.so_far.rtt_max_s? - c.rtt_min_s()?)
    };
    "mathis" Times "mean flight × √(share lost)" |c| {
        (c.facts.loss_ratio > 0.0)
            .then(|| c.facts.flight_mean_segments * c.facts.loss_ratio.sqrt())
    };
    "duplicate_acks" Times "duplicate acknowledgements per segment so far" |c| {
        over(c.so_far.duplicate_acks as f64, c.so_far.packets as f64)
    };
}
