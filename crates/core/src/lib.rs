//! The pure part of tcpwhy: bytes become segments, segments become flows, flows become scores,
//! verdicts and Arrow record batches.
//!
//! Nothing here reads a clock, opens a file or a socket, or starts a thread. Time comes in with the
//! packets. Start reading at [`pipeline`], which is the main path.

mod analysis;
pub mod counter;
mod diagnosis;
pub use diagnosis::{adviser, limit};
mod flow;
mod judge;
mod maybe;
pub mod model;
pub mod options;
pub mod pipeline;
pub mod reason;
pub mod record;
mod report;
mod score;
pub mod stream;
pub mod units;
pub mod verdict;
pub mod wire;
