//! Classes of flows: how long each may be silent, and in which order they are put out of a full
//! table.
//!
//! A flood is cheap to send only as long as its packets open flows that go no further, and those
//! are the first to go. Every class is a list in the order in which flows came into it, so that
//! nothing is ever searched for.

use crate::units::Nanos;

/// What a flow is worth to the table, the least first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Class {
    /// Both sides have closed it, or one has reset it: only stragglers may come.
    Closed,
    /// Nothing but SYNs so far.
    #[default]
    HalfOpen,
    /// So few segments that it has no state of its own.
    Short,
    /// All others.
    Long,
}

impl Class {
    /// Every class, in the order in which they are put out.
    pub const ALL: [Class; 4] = [Class::Closed, Class::HalfOpen, Class::Short, Class::Long];
}

/// After how much silence a flow has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Of any flow.
    pub idle: Nanos,
    /// Of one with nothing but SYNs. The longest pause between two SYNs of one attempt is 32 s
    /// (Linux, `tcp_syn_retries` 6). Linux's own connection tracking waits 60 s for the end of a
    /// handshake (`nf_conntrack_tcp_timeout_syn_recv`).
    pub half_open: Nanos,
    /// Of one that was closed: as long as Linux's connection tracking remembers one that was reset
    /// (`nf_conntrack_tcp_timeout_close`); a FIN that is lost at first comes six times before there
    /// is so long a pause.
    pub closed: Nanos,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            idle: Nanos(180_000_000_000),
            half_open: Nanos(60_000_000_000),
            closed: Nanos(10_000_000_000),
        }
    }
}

impl Timeouts {
    /// No flow has ended after less silence.
    #[inline]
    pub fn least(&self) -> Nanos {
        self.closed.min(self.half_open)
    }

    /// That of a class.
    #[inline]
    pub fn of(&self, class: Class) -> Nanos {
        match class {
            Class::Closed => self.closed.min(self.idle),
            Class::HalfOpen => self.half_open.min(self.idle),
            Class::Short | Class::Long => self.idle,
        }
    }
}

/// The slots of each class, in the order in which they came into it.
#[derive(Default)]
pub(super) struct Lists {
    links: Vec<Link>,
    ends: [Ends; Class::ALL.len()],
}

#[derive(Clone, Copy)]
struct Link {
    before: u32,
    after: u32,
}

#[derive(Clone, Copy)]
struct Ends {
    first: u32,
    last: u32,
    len: usize,
}

impl Default for Ends {
    fn default() -> Ends {
        Ends { first: NONE, last: NONE, len: 0 }
    }
}

impl Lists {
    /// Room for `slots` slots, so that none of them is moved later.
    pub fn reserve(&mut self, slots: usize) {
        self.links.reserve_exact(slots);
    }

    /// How many slots are in a class.
    pub fn len(&self, class: Class) -> usize {
        self.ends[class as usize].len
    }

    /// The slot that has been in a class longest.
    pub fn first(&self, class: Class) -> Option<usize> {
        let first = self.ends[class as usize].first;
        (first != NONE).then_some(first as usize)
    }

    /// Adds a slot, which must be in no list, to the end of that of `class`.
    pub fn push(&mut self, id: usize, class: Class) {
        if id >= self.links.len() {
            self.links.resize(id + 1, Link { before: NONE, after: NONE });
        }
        let ends = &mut self.ends[class as usize];
        self.links[id] = Link { before: ends.last, after: NONE };
        match ends.last {
            NONE => ends.first = id as u32,
            last => self.links[last as usize].after = id as u32,
        }
        ends.last = id as u32;
        ends.len += 1;
    }

    /// Takes a slot out of the list of `class`, in which it must be.
    pub fn remove(&mut self, id: usize, class: Class) {
        let ends = &mut self.ends[class as usize];
        let Link { before, after } = self.links[id];
        match before {
            NONE => ends.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => ends.last = before,
            after => self.links[after as usize].before = before,
        }
        ends.len -= 1;
    }
}

/// No slot.
const NONE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    fn members(lists: &Lists, class: Class) -> Vec<usize> {
        let mut found = Vec::new();
        let mut at = lists.ends[class as usize].first;
        while at != NONE {
            found.push(at as usize);
            at = lists.links[at as usize].after;
        }
        found
    }

    proptest! {
        /// Against four queues that are searched.
        #[test]
        fn lists_keep_the_order_of_coming(
            steps in prop::collection::vec((0usize..20, 0usize..4), 0..200),
        ) {
            let mut lists = Lists::default();
            let mut model: [VecDeque<usize>; 4] = Default::default();
            let mut class_of = [None; 20];
            for (id, to) in steps {
                if let Some(class) = class_of[id].take() {
                    lists.remove(id, class);
                    model[class as usize].retain(|&other| other != id);
                }
                // One step in four leaves the slot free.
                if to > 0 || id % 2 == 0 {
                    let class = Class::ALL[to];
                    lists.push(id, class);
                    model[to].push_back(id);
                    class_of[id] = Some(class);
                }
                for (class, model) in Class::ALL.into_iter().zip(&model) {
                    prop_assert_eq!(members(&lists, class), Vec::from(model.clone()));
                    prop_assert_eq!(lists.len(class), model.len());
                    prop_assert_eq!(lists.first(class), model.front().copied());
                }
            }
        }
    }
}
