//! Path elements: what a packet meets between two hosts.

use crate::packet::Packet;
use tcpwhy_core::units::Nanos;

/// One stage of a path. Packets go in with `push` and come out of `pop`, in virtual time.
///
/// The contract that makes the simulator and the real-time emulator agree: what comes out, and when
/// it is due, depends only on the pushes and their times, never on how often `pop` was called. An
/// element therefore lets everything leave that is due by `now` at the start of `push`, and keeps
/// it for `pop` with the time at which it left.
pub trait Element<B> {
    /// A packet arrives. `now` never runs backwards.
    fn push(&mut self, now: Nanos, packet: Packet<B>);

    /// The next packet that left by `now`, with the time at which it left.
    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)>;

    /// When `pop` will next have a packet; `None` while nothing is under way.
    fn next(&self) -> Option<Nanos>;
}
