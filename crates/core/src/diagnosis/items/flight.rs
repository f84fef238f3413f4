//! The flight from round to round: what grows, stands or falls (RFC 5681, RFC 9438).

use super::{items, over};

items! {
    "rounds" Count "round trips" |c| Some(f64::from(c.facts.rounds));
    "flight" Count "largest flight in segments" |c| Some(c.facts.flight_segments);
    "flight_mean" Count "mean flight in segments" |c| Some(c.facts.flight_mean_segments);
    "flatness" Times "variation of the flight" |c| c.facts.flight_variation;
    "plateau" Times "largest flight / mean flight"
        |c| over(c.facts.flight_segments, c.facts.flight_mean_segments);
    "growing" Share "round trips in which the flight grew" |c| Some(c.facts.growing);
    "shrinking" Share "round trips in which the flight shrank" |c| Some(c.facts.shrinking);
    "growth" Share "growing minus shrinking round trips"
        |c| Some(c.facts.growing - c.facts.shrinking);
    "leaping" Share "round trips in which the flight grew by a quarter"
        |c| Some(c.facts.leaping);
    "flight_of_most" Share "largest flight / largest so far" |c| {
        over(c.facts.flight_segments * c.mss(), c.so_far.flight_max? as f64)
    };
    "flight_of_trip" Times "mean flight / delivered in a minimum round trip" |c| {
        let trip = c.facts.rate_bps()? / 8.0 * c.rtt_min_s()?;
        over(c.facts.flight_mean_segments * c.mss(), trip)
    };
    "flight_of_pipe" Times "mean flight / bandwidth-delay product" |c| {
        let pipe = c.context.capacity_bps? / 8.0 * c.rtt_min_s()?;
        over(c.facts.flight_mean_segments * c.mss(), pipe)
    };
    "little" Times "mean flight / (rate × mean RTT)" |c| {
        let trip = c.facts.rate_bps()? / 8.0 * c.rtt_min_s()? * c.facts.inflation?;
        over(c.facts.flight_mean_segments * c.mss(), trip)
    };
    "acks" Times "acknowledgements per segment" |c| {
        over(f64::from(c.facts.advances), c.facts.packets as f64)
    };
}
