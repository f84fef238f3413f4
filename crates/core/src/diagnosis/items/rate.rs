//! Rates: sent, delivered, and what the path can carry (PPrate: En-Najjary, Urvoy-Keller 2006).

use super::{items, over};

items! {
    "rate" Rate "goodput" |c| c.facts.rate_bps();
    "load" Share "rate sent / capacity" |c| c.facts.load;
    "utilisation" Share "rate delivered while queued / capacity" |c| c.facts.utilisation;
    "raw_load" Share "rate sent / rate of packet pairs" |c| {
        over(c.facts.rate_bps()?, c.so_far.pairs_bps?)
    };
    "reached" Share "highest rate delivered / capacity" |c| {
        over(c.so_far.delivered_bps?, c.context.capacity_bps?)
    };
    "of_most" Share "goodput / highest rate delivered" |c| {
        over(c.facts.rate_bps()?, c.so_far.delivered_bps?)
    };
    "of_mean" Times "goodput / mean goodput so far" |c| {
        over(c.facts.rate_bps()?, c.so_far.goodput_bps?)
    };
    "queued_of_most" Share "rate delivered while queued / highest rate delivered" |c| {
        over(c.facts.queued_rate_bps?, c.so_far.delivered_bps?)
    };
    "queued_variation" Times "variation of the rate delivered while queued"
        |c| c.facts.queued_rate_variation;
    "queued_rates" Count "round trips with a known rate while queued"
        |c| Some(f64::from(c.facts.queued_rates));
    "rate_variation" Times "variation of the rate from round to round" |c| c.facts.rate_variation;
    "round_rate" Times "goodput / mean rate of round trips" |c| {
        over(c.facts.rate_bps()?, c.facts.round_rate_bps?)
    };
    "own_pace" Flag "packets come at an even pace and never queue"
        |c| Some(f64::from(u8::from(c.context.own_pace)));
    "comb" Flag "packets of cross traffic between its own"
        |c| Some(f64::from(u8::from(c.context.others_between)));
    "capacity_known" Flag "the capacity is known"
        |c| Some(f64::from(u8::from(c.context.capacity_bps.is_some())));
    "pairs_near" Share "packet pairs that agree on the rate" |c| c.so_far.pairs_bps
        .map(|_| c.so_far.pairs_near);
    "pairs_sharp" Share "packet pairs that agree closely" |c| c.so_far.pairs_bps
        .map(|_| c.so_far.pairs_sharp);
    "pairs_faster" Share "packet pairs that are faster" |c| c.so_far.pairs_bps
        .map(|_| c.so_far.pairs_faster);
    "pairs_low" Share "capacity's lower bound / capacity" |c| {
        over(c.so_far.pairs_lower_bps?, c.so_far.pairs_bps?)
    };
    "trip_packets" Count "segments sent per minimum round trip" |c| {
        over(c.facts.rate_bps()? / 8.0 * c.rtt_min_s()?, c.mss())
    };
}
