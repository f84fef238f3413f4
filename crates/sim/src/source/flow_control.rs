//! A program whose protocol limits what may be on its way.

use super::{Application, Programs, Workload, read_all};
use crate::endpoint::Socket;
use crate::parameter::{Count, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Sends what the program at the other side allows, and always has more. So do the window of an SSH
/// channel (RFC 4254 section 5.2), HTTP/2 (RFC 9113 section 5.2), requests of SFTP and credits of
/// SMB.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FlowControl {
    /// Bytes allowed at first: the window.
    pub window_bytes: Count,
    /// The other side allows so many more whenever it has read as many.
    pub update_bytes: Count,
    /// Bytes of the message that says so.
    #[serde(default = "message_bytes")]
    pub message_bytes: Count,
}

checked!(FlowControl);

impl FlowControl {
    fn check(&self) -> Result<(), String> {
        let (window, update) = (self.window_bytes.0, self.update_bytes.0);
        if self.message_bytes.0 == 0 {
            return Err("message_bytes is 0: expected at least 1".to_owned());
        }
        if update == 0 || update > window {
            return Err(format!("update_bytes is {update}: expected 1 to {window}, the window"));
        }
        Ok(())
    }
}

/// As OpenSSH has them, encrypted.
fn message_bytes() -> Count {
    Count(36)
}

impl Workload for FlowControl {
    const EXAMPLES: &'static [&'static str] = &[
        "window_bytes = 2_097_152\nupdate_bytes = 98_304",
        "window_bytes = 65_535\nupdate_bytes = 32_768\nmessage_bytes = 13",
    ];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        let (update, message) = (self.update_bytes.0, self.message_bytes.0);
        let allowed = self.window_bytes.0;
        let sender = Sender { start, allowed, update, message, received: 0, has_begun: false };
        let reader = Reader { update, message, read: 0, unwritten: 0 };
        Programs { sender: Box::new(sender), receiver: Some(Box::new(reader)) }
    }
}

struct Sender {
    start: Nanos,
    /// Bytes that it may still write.
    allowed: u64,
    update: u64,
    message: u64,
    /// Bytes of a message that has not come whole.
    received: u64,
    has_begun: bool,
}

impl Application for Sender {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        self.received += read_all(now, socket);
        self.allowed += self.received / self.message * self.update;
        self.received %= self.message;
        self.has_begun |= now >= self.start;
        if self.allowed > 0 && self.has_begun {
            self.allowed -= socket.write(now, self.allowed);
        }
    }

    fn next(&self) -> Option<Nanos> {
        (!self.has_begun).then_some(self.start)
    }
}

struct Reader {
    update: u64,
    message: u64,
    /// Bytes read since the last message.
    read: u64,
    unwritten: u64,
}

impl Application for Reader {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        self.read += read_all(now, socket);
        self.unwritten += self.read / self.update * self.message;
        self.read %= self.update;
        if self.unwritten > 0 {
            self.unwritten -= socket.write(now, self.unwritten);
        }
    }

    fn next(&self) -> Option<Nanos> {
        None
    }
}
