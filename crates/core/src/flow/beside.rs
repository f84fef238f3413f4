//! What connections between the same two hosts send, so that each can be judged beside the others:
//! they share the path, and its narrow link.
//!
//! Only flows of some length count, and nothing is counted as long as one is alone.

use crate::units::Nanos;
use crate::wire::FlowKey;
use crate::wire::hash::HashKey;
use std::collections::HashMap;

/// All pairs of hosts with such flows between them.
pub struct Beside {
    hash_key: HashKey,
    pairs: Vec<Pair>,
    free: Vec<u32>,
    /// The number of a pair, by the hash of its hosts.
    numbers: HashMap<u64, u32>,
}

/// Two hosts.
struct Pair {
    hash: u64,
    /// Flows that have not ended.
    open: u32,
    /// What all flows sent since there were two.
    sent: Option<Box<Sent>>,
}

impl Beside {
    /// Without flows.
    pub fn new(hash_key: HashKey) -> Beside {
        Beside { hash_key, pairs: Vec::new(), free: Vec::new(), numbers: HashMap::new() }
    }

    /// Adds a flow to the pair of its hosts, and gives the number of that; none for one between two
    /// sockets of a single host, which crosses no link.
    pub fn open(&mut self, key: &FlowKey) -> Option<u32> {
        if key.low.addr == key.high.addr {
            return None;
        }
        let hash = self.hash_key.pair(key);
        let Beside { pairs, free, .. } = self;
        let number = *self.numbers.entry(hash).or_insert_with(|| {
            let pair = Pair { hash, open: 0, sent: None };
            let Some(number) = free.pop() else {
                pairs.push(pair);
                return pairs.len() as u32 - 1;
            };
            pairs[number as usize] = pair;
            number
        });
        self.pairs[number as usize].open += 1;
        Some(number)
    }

    /// Takes a flow that has ended out of its pair.
    pub fn close(&mut self, number: u32) {
        let pair = &mut self.pairs[number as usize];
        pair.open -= 1;
        if pair.open == 0 {
            pair.sent = None;
            self.numbers.remove(&pair.hash);
            self.free.push(number);
        }
    }

    /// Whether several flows are open in a pair, so that what they send is to be counted. From then
    /// on there is the room for it.
    pub fn has_several(&mut self, number: u32) -> bool {
        let pair = &mut self.pairs[number as usize];
        let has_several = pair.open > 1;
        if has_several {
            pair.sent.get_or_insert_default();
        }
        has_several
    }

    /// Counts payload that a flow of the pair sent at `ts`, to this side.
    #[inline]
    pub fn count(&mut self, number: u32, side: usize, ts: Nanos, bytes: u32) {
        if let Some(sent) = &mut self.pairs[number as usize].sent {
            sent.add(side, ts, bytes);
        }
    }

    /// Payload bytes that the others of a flow with this number sent in a span of time, where the
    /// flow sent `own`. As far as was counted; nothing where that is too long ago.
    pub fn others(&self, number: u32, own: &Sent, side: usize, span: (Nanos, Nanos)) -> f64 {
        let all = self.pairs[number as usize].sent.as_ref();
        let all = all.and_then(|sent| sent.between(side, span));
        let own = own.between(side, span);
        all.zip(own).map_or(0.0, |(all, own)| (all - own).max(0.0))
    }
}

/// Payload bytes by side and slice of time, of the last seventeen seconds.
pub struct Sent {
    newest: i64,
    bytes: [[u32; SLICES]; 2],
}

impl Default for Sent {
    fn default() -> Sent {
        Sent { newest: i64::MIN, bytes: [[0; SLICES]; 2] }
    }
}

impl Sent {
    /// Adds what was sent at `ts`, to this side.
    #[inline]
    pub fn add(&mut self, side: usize, ts: Nanos, bytes: u32) {
        let slice = ts.0 >> SLICE_BITS;
        if slice > self.newest || self.is_gone(slice) {
            self.turn_to(slice);
        }
        let sum = &mut self.bytes[side][at(slice)];
        *sum = sum.saturating_add(bytes);
    }

    fn is_gone(&self, slice: i64) -> bool {
        slice <= self.newest.saturating_sub(SLICES as i64)
    }

    /// Goes on to a slice; or back to it, where a clock was set back or one time was wrong.
    #[cold]
    fn turn_to(&mut self, slice: i64) {
        let first = slice - (SLICES as i64 - 1);
        let first = if self.is_gone(slice) { first } else { first.max(self.newest + 1) };
        for passed in first..=slice {
            self.bytes.iter_mut().for_each(|bytes| bytes[at(passed)] = 0);
        }
        self.newest = slice;
    }

    /// Bytes between two times, with the slices at both ends in part.
    fn between(&self, side: usize, (start, end): (Nanos, Nanos)) -> Option<f64> {
        let (first, last) = (start.0 >> SLICE_BITS, end.0 >> SLICE_BITS);
        if self.is_gone(first) {
            return None;
        }
        let part = |slice: i64| {
            let from = slice << SLICE_BITS;
            let until = from.saturating_add(1 << SLICE_BITS);
            until.min(end.0).saturating_sub(from.max(start.0)) as f64 / (1i64 << SLICE_BITS) as f64
        };
        let slices = first..=last.min(self.newest);
        Some(slices.map(|slice| f64::from(self.bytes[side][at(slice)]) * part(slice)).sum())
    }
}

fn at(slice: i64) -> usize {
    slice.rem_euclid(SLICES as i64) as usize
}

/// Length of a slice, 0.27 s, as a power of two of nanoseconds.
const SLICE_BITS: u32 = 28;
/// Slices that are kept: an interval of 3 s is judged when a log is full, some seconds later.
const SLICES: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Endpoint;

    fn key(client: u8, port: u16, server: u8) -> FlowKey {
        let end = |host, port| Endpoint { addr: [host; 16], port };
        FlowKey::of(end(client, port), end(server, 443), 0).0
    }

    fn at_ms(ms: i64) -> Nanos {
        Nanos::from_millis(ms)
    }

    fn opened(beside: &mut Beside, key: &FlowKey) -> u32 {
        beside.open(key).expect("between two hosts")
    }

    #[test]
    fn others_are_those_between_the_same_hosts() {
        let mut beside = Beside::new(HashKey::default());
        let pair = opened(&mut beside, &key(1, 1000, 2));
        assert!(!beside.has_several(pair));
        assert_eq!(opened(&mut beside, &key(1, 1001, 2)), pair);
        let alone = opened(&mut beside, &key(1, 1002, 3));
        assert!(beside.has_several(pair) && !beside.has_several(alone));
        let [mut one, mut other] = [Sent::default(), Sent::default()];
        for ms in 0..4000 {
            for (sent, bytes) in [(&mut one, 10), (&mut other, 30)] {
                beside.count(pair, 0, at_ms(ms), bytes);
                sent.add(0, at_ms(ms), bytes);
            }
        }
        let span = (at_ms(500), at_ms(3500));
        assert!((beside.others(pair, &one, 0, span) / 90_000.0 - 1.0).abs() < 0.01);
        assert!((beside.others(pair, &other, 0, span) / 30_000.0 - 1.0).abs() < 0.01);
        assert_eq!(beside.others(pair, &one, 1, span), 0.0, "nothing came back");
        assert_eq!(beside.others(alone, &one, 0, span), 0.0);
        beside.close(pair);
        assert!(beside.others(pair, &one, 0, span) > 0.0, "what it sent is not forgotten");
        assert!(!beside.has_several(pair));
    }

    #[test]
    fn hosts_that_are_gone_leave_nothing() {
        let mut beside = Beside::new(HashKey::default());
        for round in 0..1000 {
            let flows = [0, 1].map(|port| opened(&mut beside, &key(1, round + port, 2)));
            assert!(beside.has_several(flows[0]));
            flows.iter().for_each(|&flow| beside.count(flow, 0, at_ms(5), 100));
            flows.iter().for_each(|&flow| beside.close(flow));
        }
        assert_eq!((beside.pairs.len(), beside.numbers.len()), (1, 0));
        assert!(beside.pairs[0].sent.is_none());
    }

    #[test]
    fn sockets_of_one_host_share_no_link() {
        let mut beside = Beside::new(HashKey::default());
        assert_eq!(beside.open(&key(1, 1000, 1)), None);
    }

    #[test]
    fn what_is_long_ago_is_unknown() {
        let mut sent = Sent::default();
        sent.add(0, at_ms(1000), 500);
        assert_eq!(sent.between(0, (at_ms(0), at_ms(3000))), Some(500.0));
        sent.add(0, at_ms(19_000), 7);
        assert_eq!(sent.between(0, (at_ms(0), at_ms(3000))), None);
        assert_eq!(sent.between(0, (at_ms(5000), at_ms(8000))), Some(0.0));
        assert_eq!(sent.between(0, (at_ms(18_000), at_ms(21_000))), Some(7.0));
    }

    #[test]
    fn a_wrong_time_is_not_the_end_of_it() {
        let mut sent = Sent::default();
        sent.add(0, at_ms(100_000_000), 9);
        for ms in 0..3000 {
            sent.add(0, at_ms(ms), 1);
        }
        let counted = sent.between(0, (at_ms(0), at_ms(3000))).expect("it is not long ago");
        assert!((counted - 3000.0).abs() < 50.0, "{counted}");
    }

    #[test]
    fn any_times_are_taken() {
        let mut sent = Sent::default();
        for ts in [i64::MAX, i64::MIN, 0, i64::MAX - 1, i64::MIN + 1] {
            sent.add(1, Nanos(ts), u32::MAX);
            sent.between(1, (Nanos(i64::MIN), Nanos(i64::MAX)));
            sent.between(1, (Nanos(ts), Nanos(ts)));
        }
    }
}
