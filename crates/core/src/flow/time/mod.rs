//! Whose time passed, its division into rounds, periods and intervals, and the sums of each.

pub mod clock;
pub mod freedom;
pub mod gaps;
pub mod moments;
pub mod nagle;
pub mod period;
pub mod rounds;
pub mod service;
pub mod signs;
pub mod since;
pub mod stretch;
pub mod sums;
pub mod timeline;
pub mod view;
pub mod writer;
