//! Whose time passed, by the clocks ([`crate::flow::time::clock`]; algorithms 9).

use super::{items, over};

items! {
    "idle" Share "time with nothing in flight and nothing to send" |c| Some(c.facts.idle);
    "dry" Share "time with an empty send queue and data in flight" |c| Some(c.facts.dry);
    "unused" Share "time in which it could send and did not" |c| Some(c.facts.unused);
    "receiver" Share "time in which the receiver's window was full" |c| Some(c.facts.receiver);
    "network" Share "time waiting for acknowledgements" |c| Some(c.facts.network);
    "recovery" Share "time in loss recovery" |c| Some(c.facts.recovery);
    "program" Share "time that the application left unused" |c| {
        Some(c.facts.idle + c.facts.dry + c.facts.unused)
    };
    "woken" Share "time in which writes waited for room in the send buffer" |c| Some(c.facts.woken);
    "unwoken" Share "time with an empty send queue, refilled at its own times"
        |c| Some(c.facts.unwoken);
    "woken_most" Share "waits of writes that an acknowledgement ended"
        |c| over(c.facts.woken, c.facts.woken + c.facts.unwoken);
    "clocked" Share "time of waits that ended right after an acknowledgement"
        |c| Some(c.facts.clocked);
    "at_once" Share "waits clocked by an acknowledgement that ended within 50 µs of it"
        |c| over(c.facts.at_once, c.facts.clocked);
    "unprompted" Share "time of waits with room that no acknowledgement ended"
        |c| Some(c.facts.unprompted);
    "acknowledged" Share "time of waits with room in which acknowledgements came"
        |c| Some(c.facts.acknowledged);
    "early" Share "waits with room that ended soon after an acknowledgement"
        |c| over(c.facts.early, c.facts.acknowledged);
    "span" Seconds "time accounted for" |c| Some(c.facts.span_s);
    "pause" Seconds "typical pause" |c| c.facts.pause_s;
    "pause_rounds" Times "typical pause in round trips" |c| {
        over(c.facts.pause_s?, c.rtt_min_s()?)
    };
    "silence" Seconds "idle time per pause" |c| Some(c.facts.silence_s);
    "answers" Share "pauses that a request of the other side ended" |c| Some(c.facts.answers);
    "pauses" Times "pauses per second" |c| over(c.facts.pauses, c.facts.span_s);
    "trips" Count "length in minimum round trips" |c| over(c.facts.span_s, c.rtt_min_s()?);
    "age" Seconds "age of the direction" |c| Some(c.so_far.age_s);
}
