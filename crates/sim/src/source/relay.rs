//! A proxy: a program at the end of one connection and the start of another.

use super::{Application, Programs, Workload};
use crate::endpoint::Socket;
use crate::parameter::Count;
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Passes on what an earlier flow brings to the host that this one starts at, and the other way
/// back what this one brings: a proxy that terminates connections (RFC 3135 section 2.4, split
/// connection). Each has its own TCP. This one is opened once the other is established.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Relay {
    /// Number of the flow, from 0, in the order of the file with repeated flows counted out.
    pub of: usize,
    /// Most that the program holds of each direction, besides both connections' own buffers.
    pub buffer_bytes: Count,
}

impl Workload for Relay {
    const EXAMPLES: &'static [&'static str] = &["of = 0\nbuffer_bytes = 65_536"];

    fn build(&self, _start: Nanos, _random: Random) -> Programs {
        Programs::sender(Idle)
    }
}

/// Does nothing: the simulation moves the bytes between the two connections.
pub(crate) struct Idle;

impl Application for Idle {
    fn act(&mut self, _now: Nanos, _socket: &mut dyn Socket) {}

    fn next(&self) -> Option<Nanos> {
        None
    }
}
