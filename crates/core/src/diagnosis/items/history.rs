//! How evenly a direction goes on from interval to interval, and how long nothing has answered it.

use super::items;

items! {
    "intervals" Count "intervals before" |c| Some(f64::from(c.history.intervals()));
    "of_best" Share "goodput / highest goodput of an interval before" |c| c.history.of_best(c);
    "of_last" Times "goodput / goodput of the interval before" |c| c.history.of_last(c);
    "evenness" Share "lowest goodput of an interval so far / highest" |c| c.history.evenness(c);
    "goodput_variation" Times "variation of the goodput from interval to interval"
        |c| c.history.variation(c);
    "silent" Seconds "time since anything was acknowledged" |c| Some(c.history.silent_s(c));
}
