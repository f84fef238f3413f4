//! What happened to the bytes on their way, and how losses came about.

pub mod bucket;
pub mod burst;
mod curve;
pub mod duplicate;
pub mod episodes;
pub mod history;
pub mod ledger;
pub mod losses;
pub mod policer;
pub mod seed;
