//! What connections between the same two hosts send. They share the path and its narrow link, so
//! that each is judged beside the others: a segment is filed with what those sent before it.
//!
//! What is filed depends on the order of capture alone, not on when a log is analysed.

use crate::units::Nanos;
use crate::wire::hash::HashKey;
use crate::wire::{FlowKey, Segment};
use std::collections::HashMap;

/// All pairs of hosts with flows of some length, the members of their pair.
#[derive(Default)]
pub struct Pairs {
    pairs: Vec<Pair>,
    free_pairs: Vec<u32>,
    /// By hash of two hosts, the number of their pair.
    numbers: HashMap<u64, u32>,
    members: Vec<Member>,
    free_members: Vec<u32>,
    /// By slot, the number of its member.
    at: Vec<u32>,
}

/// Two hosts.
struct Pair {
    hash: u64,
    members: u32,
    /// Payload bytes that all of them sent, to either side.
    sent: [u64; 2],
}

/// A flow.
struct Member {
    pair: u32,
    /// How much of [`Pair::sent`] is its own, or was filed with its segments.
    seen: [u64; 2],
    /// Its last segment with payload, to either side.
    last: [Nanos; 2],
}

impl Pairs {
    /// Makes the flow of a slot a member of its pair; false for one between two sockets of a single
    /// host, which crosses no link.
    #[cold]
    pub fn join(&mut self, slot: usize, key: &FlowKey, hash_key: HashKey) -> bool {
        if key.low.addr == key.high.addr {
            return false;
        }
        let hash = hash_key.pair(key);
        let (pairs, free) = (&mut self.pairs, &mut self.free_pairs);
        let new = || put(pairs, free, Pair { hash, members: 0, sent: [0; 2] });
        let number = *self.numbers.entry(hash).or_insert_with(new);
        let pair = &mut self.pairs[number as usize];
        pair.members += 1;
        let member = Member { pair: number, seen: pair.sent, last: [Nanos(0); 2] };
        if slot >= self.at.len() {
            self.at.resize(slot + 1, 0);
        }
        self.at[slot] = put(&mut self.members, &mut self.free_members, member);
        true
    }

    /// Takes the flow of a slot, which has ended, out of its pair.
    #[cold]
    pub fn leave(&mut self, slot: usize) {
        let number = self.members[self.at[slot] as usize].pair;
        self.free_members.push(self.at[slot]);
        let pair = &mut self.pairs[number as usize];
        pair.members -= 1;
        if pair.members == 0 {
            self.numbers.remove(&pair.hash);
            self.free_pairs.push(number);
        }
    }

    /// Counts a segment of a member at `ts`, and gives what the others sent the same way since its
    /// last one with payload, in [`UNIT`]s. What they sent while it paused is not beside it.
    #[inline]
    pub fn others(&mut self, slot: usize, segment: &Segment, ts: Nanos) -> u16 {
        if segment.payload_len == 0 {
            return 0;
        }
        let side = usize::from(!segment.forward);
        let Member { pair, seen, last } = &mut self.members[self.at[slot] as usize];
        let (sent, seen) = (&mut self.pairs[*pair as usize].sent[side], &mut seen[side]);
        let pause = ts.since(std::mem::replace(&mut last[side], ts));
        let units = (*sent - *seen) / UNIT;
        // What is less than a unit is left for the next segment. More than fits is next to all
        // that the hosts sent, and stays that.
        let fits = u16::try_from(units).unwrap_or(u16::MAX);
        let others = if pause > LONG { 0 } else { fits };
        let own = u64::from(segment.payload_len);
        (*seen, *sent) = (*seen + units * UNIT + own, *sent + own);
        others
    }
}

fn put<T>(all: &mut Vec<T>, free: &mut Vec<u32>, one: T) -> u32 {
    match free.pop() {
        Some(number) => {
            all[number as usize] = one;
            number
        }
        None => {
            all.push(one);
            all.len() as u32 - 1
        }
    }
}

/// A pause in which nobody is beside a flow: most round trips are shorter.
const LONG: Nanos = Nanos(1_000_000_000);
/// Bytes in which it is filed what others sent: 16 MB go with a segment at most.
pub const UNIT: u64 = 256;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Endpoint;

    fn key(client: u8, port: u16, server: u8) -> FlowKey {
        let end = |host, port| Endpoint { addr: [host; 16], port };
        FlowKey::of(end(client, port), end(server, 443), 0).0
    }

    fn join(pairs: &mut Pairs, slot: usize, key: FlowKey) {
        assert!(pairs.join(slot, &key, HashKey::default()));
    }

    fn send(pairs: &mut Pairs, slot: usize, payload_len: u32, forward: bool) -> u16 {
        send_at(pairs, slot, payload_len, forward, Nanos(0))
    }

    fn send_at(pairs: &mut Pairs, slot: usize, payload_len: u32, forward: bool, ts: Nanos) -> u16 {
        pairs.others(slot, &Segment { payload_len, forward, ..Segment::default() }, ts)
    }

    #[test]
    fn others_are_those_between_the_same_hosts() {
        let mut pairs = Pairs::default();
        let sockets = [(1, 1000, 2), (1, 1001, 2), (1, 1002, 3)];
        for (slot, (client, port, server)) in sockets.into_iter().enumerate() {
            join(&mut pairs, slot, key(client, port, server));
        }
        assert_eq!(send(&mut pairs, 0, 1000, true), 0);
        assert_eq!(send(&mut pairs, 1, 5000, true), 1000 / 256, "the others' before it");
        assert_eq!(send(&mut pairs, 2, 5000, true), 0, "to another host");
        assert_eq!(send(&mut pairs, 0, 0, true), 0, "without payload");
        assert_eq!(send(&mut pairs, 0, 100, false), 0, "the other way");
        assert_eq!(send(&mut pairs, 0, 1000, true), 5000 / 256);
        assert_eq!(send(&mut pairs, 1, 200, true), (1000 - 3 * 256 + 1000) / 256, "and the rest");
        assert_eq!(send(&mut pairs, 1, 200, true), 0, "its own");
    }

    #[test]
    fn who_paused_was_beside_nobody_meanwhile() {
        let mut pairs = Pairs::default();
        join(&mut pairs, 0, key(1, 1000, 2));
        join(&mut pairs, 1, key(1, 1001, 2));
        let mut now = Nanos(0);
        for (pause, others) in [(LONG, 40), (LONG + Nanos(1), 0), (LONG, 40)] {
            send_at(&mut pairs, 1, 10_240, true, now);
            now += pause;
            // A request does not end the pause of the answers.
            send_at(&mut pairs, 0, 100, false, now - Nanos(1));
            assert_eq!(send_at(&mut pairs, 0, 1000, true, now), others);
        }
    }

    #[test]
    fn what_does_not_fit_is_the_most() {
        let mut pairs = Pairs::default();
        join(&mut pairs, 0, key(1, 1000, 2));
        join(&mut pairs, 1, key(1, 1001, 2));
        (0..1000).for_each(|_| assert_eq!(send(&mut pairs, 0, 64_000, true), 0));
        assert_eq!(send(&mut pairs, 1, 1000, true), u16::MAX);
        assert_eq!(send(&mut pairs, 1, 1000, true), 0);
    }

    #[test]
    fn hosts_that_are_gone_leave_nothing() {
        let mut pairs = Pairs::default();
        for port in 0..1000 {
            join(&mut pairs, 3, key(1, port, 2));
            assert_eq!(send(&mut pairs, 3, 1000, true), 0, "before it nobody was there");
            join(&mut pairs, 7, key(1, port + 1, 2));
            assert_eq!(send(&mut pairs, 7, 1000, true), 0, "nor since it came");
            [3, 7].into_iter().for_each(|slot| pairs.leave(slot));
        }
        assert_eq!((pairs.pairs.len(), pairs.members.len(), pairs.numbers.len()), (1, 2, 0));
    }

    #[test]
    fn sockets_of_one_host_share_no_link() {
        assert!(!Pairs::default().join(0, &key(1, 1000, 1), HashKey::default()));
    }
}
