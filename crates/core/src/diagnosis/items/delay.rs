//! Round-trip times: queues, and what only looks like them.

use super::{items, over};

items! {
    "inflation" Times "mean RTT / minimum RTT" |c| c.facts.inflation;
    "excess" Seconds "mean RTT above its minimum" |c| {
        Some((c.facts.inflation? - 1.0) * c.rtt_min_s()?)
    };
    "raised" Share "RTT samples with a queue" |c| c.facts.raised;
    "queued" Share "round trips with a queue" |c| Some(c.facts.queued);
    "rtt_variation" Times "variation of the RTT" |c| c.facts.rtt_variation;
    "rtt_low" Times "lowest RTT / minimum RTT so far" |c| {
        over(c.facts.rtt_low_s?, c.rtt_min_s()?)
    };
    "rtt_high" Times "highest RTT / lowest RTT" |c| over(c.facts.rtt_high_s?, c.facts.rtt_low_s?);
    "one_way" Seconds "mean one-way delay above its minimum" |c| c.facts.one_way_s;
    "one_way_low" Seconds "lowest one-way delay above its minimum" |c| c.facts.one_way_low_s;
    "one_way_rounds" Times "one-way delay above its minimum / minimum RTT" |c| {
        over(c.facts.one_way_s?, c.rtt_min_s()?)
    };
    "one_way_packets" Count "segments in queues before the observer, by the one-way delay" |c| {
        over(c.facts.rate_bps()? / 8.0 * c.facts.one_way_s?, c.mss())
    };
    "rtt_swing" Share "lowest queueing delay / highest" |c| {
        let least = c.rtt_min_s()?;
        over(c.facts.rtt_low_s? - least, c.facts.rtt_high_s? - least)
    };
    "queue_packets" Count "segments in the queue, by the RTT" |c| c.queued_segments();
    "queue_of_flight" Share "queue, by the RTT / mean flight" |c| {
        let excess_s = (c.facts.inflation? - 1.0) * c.rtt_min_s()?;
        over(c.facts.rate_bps()? / 8.0 * excess_s, c.facts.flight_mean_segments * c.mss())
    };
    "rtt" Seconds "minimum RTT" |c| c.rtt_min_s();
    "rtt_to_mean" Times "mean RTT / mean RTT so far" |c| {
        over(c.facts.inflation? * c.rtt_min_s()?, c.so_far.rtt_mean_s?)
    };
    "rtt_max" Times "largest RTT so far / minimum RTT"
        |c| over(c.so_far.rtt_max_s?, c.rtt_min_s()?);
    "flight_rtt" Times "correlation of flight and RTT" |c| c.facts.flight_rtt;
    "flight_rate" Times "correlation of flight and delivery rate" |c| c.facts.flight_rate;
    "rtt_elasticity" Times "relative change of the RTT / that of the flight"
        |c| c.facts.rtt_elasticity;
    "rate_elasticity" Times "relative change of the delivery rate / that of the flight"
        |c| c.facts.rate_elasticity;
    "samples" Times "RTT samples per segment" |c| {
        over(f64::from(c.facts.rtt_samples), c.facts.packets as f64)
    };
}
