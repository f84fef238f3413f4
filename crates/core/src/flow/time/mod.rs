//! Whose time passed, its division into rounds, periods and intervals, and the sums of each.

pub mod clock;
pub mod freedom;
pub mod gaps;
pub mod interval_stats;
pub mod moments;
pub mod nagle;
pub mod period;
pub mod plain_sums;
pub mod rounds;
pub mod segmenter;
pub mod service;
pub mod since;
pub mod sums;
pub mod timeline;
pub mod view;
pub mod writer;
