//! A deterministic packet-level simulator of TCP over paths.
//!
//! Nothing here reads a clock, starts a thread or draws a random number that the seed did not fix.
//! The elements of [`link`] also run in real time, driven by the emulator in `tcpwhy-io`.

pub mod adaptivity;
pub mod agenda;
pub mod cc;
pub mod counter;
pub mod endpoint;
pub mod link;
pub mod packet;
pub mod parameter;
pub mod random;
mod registry;
pub mod run;
pub mod scenario;
pub mod source;
pub mod tap;
pub mod tcp;
pub mod truth;
pub mod world;
