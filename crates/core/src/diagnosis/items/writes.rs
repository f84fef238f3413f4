//! How the program writes: small segments, pushes (RFC 9293 section 3.9.1.2), pauses.

use super::{items, over};

items! {
    "pushes" Share "segments with PSH" |c| Some(c.facts.pushes);
    "smalls" Share "small segments" |c| Some(c.facts.smalls);
    "smalls_a_round" Count "small segments per round trip" |c| Some(c.facts.smalls_a_round);
    "filling" Share "mean payload / MSS" |c| c.facts.filling;
    "pushed_fully" Share "small segments / segments with PSH"
        |c| over(c.facts.smalls, c.facts.pushes);
    "packets" Count "segments" |c| Some(c.facts.packets as f64);
    "packets_so_far" Count "segments so far" |c| Some(c.so_far.packets as f64);
    "packet_gaps" Seconds "time per segment"
        |c| over(c.facts.span_s, c.facts.packets as f64);
}
