//! Segments to flows: both directions of a connection and what is known of each.
//!
//! [`table`] files segments by flow and hands them on in bursts. [`connection::Flow`] takes one at
//! a time and keeps the facts, each kind in its own room: [`path`] (delays, capacity, sizes),
//! [`loss`] (what happened to every byte), [`time`] (what the sender knew, whose time passed,
//! Isolate and Merge). Nothing here judges: that is done in [`crate::score`] and
//! [`crate::verdict`].

mod bins;
pub mod connection;
pub mod entry;
pub mod half;
pub mod handshake;
pub mod loss;
pub mod observer;
pub mod path;
mod rounded;
pub mod stall;
pub mod table;
pub mod time;
pub mod totals;

pub use connection::{Flow, SegmentOutcome};
