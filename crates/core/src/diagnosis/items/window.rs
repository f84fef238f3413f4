//! The receiver's window (RFC 9293 section 3.8.6, RFC 7323).

use super::{items, over};

items! {
    "at_edge" Share "segments sent near the end of the receiver's window"
        |c| Some(c.facts.at_edge);
    "fullness" Share "mean flight / receiver's window" |c| c.facts.fullness;
    "filled" Share "largest flight / largest receiver's window" |c| {
        over(c.facts.flight_segments * c.mss(), c.context.rwnd_max? as f64)
    };
    "inferred_fullness" Share "flight / inferred window" |c| c.facts.inferred_fullness;
    "closures" Count "times the window closed" |c| Some(f64::from(c.facts.closures));
    "closures_so_far" Count "times the window closed so far" |c| Some(c.so_far.closures as f64);
    "openness" Share "mean window / largest window" |c| c.facts.openness;
    "window_sway" Share "smallest window / mean window" |c| c.facts.window_sway;
    "window_segments" Count "largest window in segments" |c| {
        over(c.context.rwnd_max? as f64, c.mss())
    };
}
