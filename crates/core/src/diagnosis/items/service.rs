//! How evenly the path serves: what is acknowledged in spans of four lengths. Independent arrivals
//! have an index of dispersion of one segment; a link of fixed rate has less, aggregation and cross
//! traffic have more (Gusella 1991, characterizing the variability of arrival processes).

use super::{items, over};

items! {
    "served_8ms" Times "variation of what is acknowledged in 8 ms"
        |c| c.facts.served_variation[0];
    "served_34ms" Times "variation of what is acknowledged in 34 ms"
        |c| c.facts.served_variation[1];
    "served_134ms" Times "variation of what is acknowledged in 134 ms"
        |c| c.facts.served_variation[2];
    "served_537ms" Times "variation of what is acknowledged in 537 ms"
        |c| c.facts.served_variation[3];
    "dispersion_8ms" Count "index of dispersion over 8 ms, in segments" |c| dispersion(c, 0);
    "dispersion_134ms" Count "index of dispersion over 134 ms, in segments" |c| dispersion(c, 2);
    "served_spans" Count "spans of 134 ms with data in flight and no repair"
        |c| Some(f64::from(c.facts.served_spans[2]));
    "served_empty" Share "spans of 34 ms without an acknowledgement" |c| c.facts.served_empty;
    "ack_gaps" Times "variation of the gaps between acknowledgements"
        |c| c.facts.ack_gap_variation;
    "ack_gap_most" Times "longest gap between acknowledgements in minimum round trips" |c| {
        over(c.facts.ack_gap_most_s?, c.rtt_min_s()?)
    };
    "ack_gap_of_mean" Times "longest gap between acknowledgements / mean gap" |c| {
        over(c.facts.ack_gap_most_s?, c.facts.ack_gap_s?)
    };
}

/// Variance over mean of what is acknowledged in spans of a length, in segments.
fn dispersion(case: &super::Case, length: usize) -> Option<f64> {
    let variation = case.facts.served_variation[length]?;
    over(variation * variation * case.facts.served_bytes[length]?, case.mss())
}
