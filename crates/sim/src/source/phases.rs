//! One workload after another on the same connection.

use super::{Application, Programs, Workload, Workloads};
use crate::endpoint::Socket;
use crate::parameter::{Seconds, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// Runs each workload for its time. What one left in the send buffer, the next one waits for, so
/// the sender wants a finite send buffer. Workloads with two programs are not for this.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Phases {
    /// The workloads in order.
    pub list: Vec<Phase>,
}

/// A workload and how long it runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// For how long.
    pub for_s: Seconds,
    /// What.
    pub workload: Workloads,
}

checked!(Phases);

impl Phases {
    fn check(&self) -> Result<(), String> {
        if self.list.is_empty() {
            return Err("list: expected at least one workload".to_owned());
        }
        let two = |phase: &Phase| matches!(phase.workload, Workloads::RequestResponse(_));
        if self.list.iter().any(two) {
            let message = "list: request_response has a program at both sides; expected another";
            return Err(message.to_owned());
        }
        if self.list.iter().any(|phase| phase.workload.relay().is_some()) {
            return Err("list: relay lasts as long as its flow; expected another".to_owned());
        }
        Ok(())
    }
}

impl Workload for Phases {
    const EXAMPLES: &'static [&'static str] = &[
        "[[list]]\nfor_s = 1\nworkload.bulk = {}\n\n\
         [[list]]\nfor_s = 2\nworkload.paced.rate_bps = 100_000",
    ];

    fn build(&self, start: Nanos, random: Random) -> Programs {
        let mut begin = start;
        let mut build = |phase: &Phase| {
            let program = phase.workload.build(begin, random.clone()).sender;
            begin += phase.for_s.0;
            (begin, program)
        };
        Programs::sender(Sequence { parts: self.list.iter().map(&mut build).collect(), at: 0 })
    }
}

/// Programs with their ends.
struct Sequence {
    parts: Vec<(Nanos, Box<dyn Application>)>,
    at: usize,
}

impl Application for Sequence {
    fn act(&mut self, now: Nanos, socket: &mut dyn Socket) {
        while self.parts.get(self.at).is_some_and(|(end, _)| *end <= now) {
            self.at += 1;
        }
        if let Some((_, program)) = self.parts.get_mut(self.at) {
            program.act(now, socket);
        }
    }

    fn next(&self) -> Option<Nanos> {
        let (end, program) = self.parts.get(self.at)?;
        Some(program.next().map_or(*end, |next| next.min(*end)))
    }
}
