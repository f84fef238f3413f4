//! Where a segment lies: 32-bit sequence numbers become 64 bits wide here.

use super::Ledger;
use crate::flow::entry::Entry;
use crate::flow::path::delay::Rtt;
use crate::units::{Nanos, Seq, Unwrap};
use crate::wire::flags;

impl Ledger {
    /// Sequence numbers count from `origin` on, the first byte that can be sent. Later calls do
    /// nothing.
    #[inline(always)]
    pub fn start(&mut self, origin: Seq) {
        if self.numbers.is_none() {
            let mut numbers = Unwrap::new(origin);
            let origin = numbers.widen(origin);
            self.numbers = Some(numbers);
            self.origin = origin;
            self.lowest = origin;
            self.una = origin;
            self.next = origin;
        }
    }

    /// Whether a sequence number of the direction is known.
    pub fn is_started(&self) -> bool {
        self.numbers.is_some()
    }

    /// The range of a data segment; `None` where no window reaches.
    #[inline(always)]
    pub fn range(&mut self, entry: &Entry) -> Option<(u64, u64)> {
        let first = entry.seq + u32::from(entry.has(flags::SYN));
        self.start(first);
        let numbers = self.numbers.as_mut().expect("started above");
        let start = numbers.peek(first);
        let reached = start.abs_diff(self.next) <= FARTHEST;
        reached.then(|| (start, numbers.widen(first + entry.payload_len)))
    }

    /// The number that `entry` acknowledges; `None` where no window reaches.
    #[inline(always)]
    pub fn acknowledged(&self, entry: &Entry) -> Option<u64> {
        let ack = self.numbers.as_ref()?.peek(entry.ack);
        (ack.abs_diff(self.una) <= FARTHEST).then_some(ack)
    }

    /// SACK blocks of the other side in wide numbers. Blocks that point nowhere are left out.
    pub fn widen<'a>(
        &self,
        sack: &[(Seq, Seq)],
        wide: &'a mut [(u64, u64); 4],
    ) -> &'a [(u64, u64)] {
        let Some(numbers) = &self.numbers else { return &[] };
        let mut count = 0;
        for &(left, right) in sack.iter().take(4) {
            let block = (numbers.peek(left), numbers.peek(right));
            if block.0 < block.1 && block.1.abs_diff(self.una) < FARTHEST {
                wide[count] = block;
                count += 1;
            }
        }
        &wide[..count]
    }

    /// `seq` relative to the first sequence number known.
    pub fn relative(&self, seq: Seq) -> Option<i64> {
        Some(self.numbers.as_ref()?.peek(seq) as i64 - self.origin as i64)
    }

    /// A FIN takes a sequence number that no payload fills.
    pub fn fin(&mut self, entry: &Entry) {
        if let Some(numbers) = &self.numbers {
            let end = numbers.peek(entry.seq + entry.payload_len);
            self.fin_end = self.fin_end.max(end + 1);
        }
    }

    /// Whether nothing is being repaired or proven, and both sides were seen.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        let next = Seq(self.next as u32);
        let in_reach = self.numbers.as_ref().is_some_and(|numbers| numbers.peek(next) == self.next);
        let begun = in_reach && self.answered;
        begun && self.recovery.is_none() && self.unproven == 0 && self.next - self.una < FARTHEST
    }

    /// Takes note of how far plain data went.
    pub fn end_plain_run(&mut self) {
        let next = self.next;
        self.numbers.iter_mut().for_each(|numbers| numbers.reach(next));
    }

    /// Whether `ack` acknowledges some of what is in flight, which is less than any window holds.
    #[inline(always)]
    pub fn is_next_ack(&self, ack: Seq) -> bool {
        let more = ack.0.wrapping_sub(self.una as u32);
        u64::from(more.wrapping_sub(1)) < self.next - self.una
    }

    /// Whether a segment without payload lies one below the next byte, as a keep-alive does.
    #[inline(always)]
    pub fn is_below_next(&self, entry: &Entry) -> bool {
        self.numbers.as_ref().is_some_and(|numbers| numbers.peek(entry.seq) + 1 == self.next)
    }

    /// Whether the data segment `entry` is a copy of one in flight, captured elsewhere on its way.
    /// It has the same range and identification, from a sender that counts these. Without one it
    /// comes sooner than any sender could know of a loss: `rtt` tells that, as far as it is known.
    #[inline(always)]
    pub fn is_copy(&self, entry: &Entry, rtt: &Rtt) -> bool {
        let Some(numbers) = &self.numbers else { return false };
        let start = numbers.peek(entry.seq + u32::from(entry.has(flags::SYN)));
        start < self.next && self.repeats(start, entry, rtt)
    }

    /// Whether `entry`, from `start` on, is a copy of a segment in flight. A host that sends
    /// something again gives it another IPv4 identification, if its segments have different ones at
    /// all. And it does not wait longer than a timeout.
    #[cold]
    fn repeats(&self, start: u64, entry: &Entry, rtt: &Rtt) -> bool {
        let Ok(at) = self.sent.binary_search_by_key(&start, |sent| sent.start) else {
            return false;
        };
        let sent = &self.sent[at];
        let neighbours = [at.checked_sub(1), at.checked_add(1)];
        let mut others = neighbours.iter().flatten().filter_map(|&at| self.sent.get(at));
        let (within, identified) = match entry.ip_id {
            // A loss shows after a round trip, or a timeout. Behind a queue that held the first one
            // up the second may follow at once, but with a timestamp of its own.
            0 => {
                let most = if entry.has_timestamps() { MIN_RTO } else { AT_ONCE };
                (rtt.min.map_or(AT_ONCE, |least| Nanos(least.0 / 2).min(most)), true)
            }
            _ => (
                rtt.srtt.map_or(MIN_RTO, |_| rtt.rto()),
                others.all(|other| other.ip_id != entry.ip_id),
            ),
        };
        !sent.hole
            && entry.ts.since(sent.last()) < within
            && sent.ip_id == entry.ip_id
            && sent.tsval == entry.tsval
            && sent.len == entry.payload_len
            && identified
    }
}

/// No window reaches further (RFC 7323 section 2.3): such a number is not of this connection.
const FARTHEST: u64 = 1 << 30;
/// Nobody sends again sooner while the round-trip time is unknown: the least timeout of Linux.
const MIN_RTO: Nanos = Nanos(200_000_000);
/// A card hands over the copies of one interface within this.
const AT_ONCE: Nanos = Nanos(1_000_000);
