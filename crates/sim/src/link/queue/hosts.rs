//! Hosts that share a link, and how many flows of each have more to send than their share.

use serde::Deserialize;
use std::collections::BTreeMap;

/// Between whom the link is shared; the words are those of tc-cake(8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Flows, whoever sends them.
    Flows,
    /// Hosts that send, then the flows of each.
    DualSrchost,
    /// Hosts that receive, then the flows of each.
    DualDsthost,
    /// Hosts at the end that has more flows, then the flows of each.
    #[default]
    TripleIsolate,
}

/// How many flows of each host have more to send than their share: as senders, as receivers.
pub(super) struct Loads {
    isolate: Isolation,
    bulk: [BTreeMap<u32, i64>; 2],
}

impl Loads {
    /// No flow has more to send.
    pub fn new(isolate: Isolation) -> Loads {
        Loads { isolate, bulk: Default::default() }
    }

    /// By how much the quantum of a flow between these hosts is divided (`cake_get_flow_quantum`).
    pub fn of(&self, hosts: [u32; 2]) -> i64 {
        let count = |end: usize| self.bulk[end].get(&hosts[end]).copied().unwrap_or(0);
        let ends = self.ends();
        ends.iter().map(|end| count(*end)).max().unwrap_or(0).max(1)
    }

    /// A flow between these hosts has more to send.
    pub fn add(&mut self, hosts: [u32; 2]) {
        for end in self.ends() {
            *self.bulk[*end].entry(hosts[*end]).or_default() += 1;
        }
    }

    /// It has no more.
    pub fn remove(&mut self, hosts: [u32; 2]) {
        for end in self.ends() {
            if let Some(count) = self.bulk[*end].get_mut(&hosts[*end]) {
                *count -= 1;
            }
        }
    }

    /// The ends at which hosts count.
    fn ends(&self) -> &'static [usize] {
        match self.isolate {
            Isolation::Flows => &[],
            Isolation::DualSrchost => &[0],
            Isolation::DualDsthost => &[1],
            Isolation::TripleIsolate => &[0, 1],
        }
    }
}
