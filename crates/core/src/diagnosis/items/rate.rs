//! Rates: sent, delivered, and what the path can carry (PPrate: En-Najjary, Urvoy-Keller 2006).

use super::{items, over};

items! {
    "rate" Rate "goodput" |c| c.facts.rate_bps();
    "load" Share "sent of the capacity" |c| c.facts.load;
    "utilisation" Share "delivered of the capacity while it queued" |c| c.facts.utilisation;
    "raw_load" Share "sent of the rate of packet pairs" |c| {
        over(c.facts.rate_bps()?, c.so_far.pairs_bps?)
    };
    "reached" Share "most ever delivered of the capacity" |c| {
        over(c.so_far.delivered_bps?, c.context.capacity_bps?)
    };
    "of_most" Share "goodput of the most ever delivered" |c| {
        over(c.facts.rate_bps()?, c.so_far.delivered_bps?)
    };
    "of_mean" Times "goodput over its mean so far" |c| {
        over(c.facts.rate_bps()?, c.so_far.goodput_bps?)
    };
    "queued_of_most" Share "delivered while it queued of the most ever delivered" |c| {
        over(c.facts.queued_rate_bps?, c.so_far.delivered_bps?)
    };
    "queued_variation" Times "variation of the rate delivered while it queued"
        |c| c.facts.queued_rate_variation;
    "queued_rates" Count "rounds of which that rate is known"
        |c| Some(f64::from(c.facts.queued_rates));
    "rate_variation" Times "variation of the rate from round to round" |c| c.facts.rate_variation;
    "round_rate" Times "goodput over the mean rate of rounds" |c| {
        over(c.facts.rate_bps()?, c.facts.round_rate_bps?)
    };
    "own_pace" Flag "packets come at an even pace and never queue"
        |c| Some(f64::from(u8::from(c.context.own_pace)));
    "comb" Flag "packets of others lie between its own"
        |c| Some(f64::from(u8::from(c.context.others_between)));
    "capacity_known" Flag "the capacity is known"
        |c| Some(f64::from(u8::from(c.context.capacity_bps.is_some())));
    "pairs_near" Share "packet pairs that agree on the rate" |c| c.so_far.pairs_bps
        .map(|_| c.so_far.pairs_near);
    "pairs_sharp" Share "of those, pairs that agree closely" |c| c.so_far.pairs_bps
        .map(|_| c.so_far.pairs_sharp);
    "pairs_faster" Share "packet pairs that are faster" |c| c.so_far.pairs_bps
        .map(|_| c.so_far.pairs_faster);
    "pairs_low" Share "lower bound of the capacity over it" |c| {
        over(c.so_far.pairs_lower_bps?, c.so_far.pairs_bps?)
    };
    "trip_packets" Count "segments sent in a minimum round trip" |c| {
        over(c.facts.rate_bps()? / 8.0 * c.rtt_min_s()?, c.mss())
    };
}
