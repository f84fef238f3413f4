//! Question and answer.

use super::{Application, Programs, Workload, read_all};
use crate::endpoint::Socket;
use crate::parameter::{Count, Milliseconds};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// The side named first sends a request, the other answers after `serve_ms`; `think_ms` after the
/// whole answer arrived, the next request follows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RequestResponse {
    /// Bytes of a request.
    pub request_bytes: Count,
    /// Bytes of an answer.
    pub response_bytes: Count,
    /// Time that the answering side takes.
    #[serde(default)]
    pub serve_ms: Milliseconds,
    /// Time from an answer to the next request.
    #[serde(default)]
    pub think_ms: Milliseconds,
    /// How many requests before the asking side closes; without it there is no end.
    #[serde(default)]
    pub count: Option<Count>,
}

impl Workload for RequestResponse {
    const EXAMPLES: &'static [&'static str] = &[
        "request_bytes = 300\nresponse_bytes = 20_000\nthink_ms = 100",
        "request_bytes = 100\nresponse_bytes = 1000\nserve_ms = 5\ncount = 4",
    ];

    fn build(&self, start: Nanos, _random: Random) -> Programs {
        let asking = Turn {
            awaits: self.response_bytes.0,
            says: self.request_bytes.0,
            pause: self.think_ms.0,
            turns_left: self.count.map_or(u64::MAX, |count| count.0),
            due: Some(start),
            received: 0,
            unwritten: 0,
            closed: false,
        };
        let answering = Turn {
            awaits: self.request_bytes.0,
            says: self.response_bytes.0,
            pause: self.serve_ms.0,
            turns_left: u64::MAX,
            due: None,
            received: 0,
            unwritten: 0,
            closed: false,
        };
        Programs { sender: Box::new(asking), receiver: Some(Box::new(answering)) }
    }
}

/// Either side: waits for so many bytes, pauses, says so many.
struct Turn {
    awaits: u64,
    says: u64,
    pause: Nanos,
    turns_left: u64,
    /// When it speaks next; `None` while it listens.
    due: Option<Nanos>,
    received: u64,
    unwritten: u64,
    closed: bool,
}

impl Application for Turn {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        self.received += read_all(now, socket);
        if self.due.is_none() && self.received >= self.awaits {
            self.received -= self.awaits;
            self.due = Some(now + self.pause);
        }
        if self.due.is_some_and(|due| due <= now) && self.turns_left > 0 {
            self.due = None;
            self.turns_left -= 1;
            self.unwritten += self.says;
        }
        if self.unwritten > 0 {
            self.unwritten -= socket.write(now, self.unwritten);
        }
        let over = (self.turns_left == 0 && self.due.is_some()) || socket.is_peer_closed();
        if over && self.unwritten == 0 && !self.closed {
            self.closed = true;
            socket.close(now);
        }
    }

    fn next(&self) -> Option<Nanos> {
        self.due.filter(|_| !self.closed)
    }
}
