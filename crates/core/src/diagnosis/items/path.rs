//! Where the observer stands, and what the ends agreed upon.

use super::items;

items! {
    "position" Share "observer's place on the way from the sender" |c| c.context.position;
    "missed" Share "bytes that the capture missed" |c| Some(c.context.missed);
    "offload" Flag "segments are joined by offload"
        |c| Some(f64::from(u8::from(c.so_far.super_packets)));
    "sack" Flag "SACK is permitted"
        |c| c.context.sack_agreed.map(|agreed| f64::from(u8::from(agreed)));
    "mss" Bytes "MSS" |c| Some(c.mss());
}
