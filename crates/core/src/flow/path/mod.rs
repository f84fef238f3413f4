//! The path as the packets show it: delays, capacity, segment and window sizes.

pub mod capacity;
pub mod credible;
pub mod delay;
pub mod delivery;
pub mod echoes;
pub mod mss;
pub mod one_way;
pub mod probe;
pub mod queue;
pub mod scale;
pub mod sketch;
pub mod window;
