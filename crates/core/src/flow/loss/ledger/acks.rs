//! Acknowledgements: what they cover, what they measure, and what they prove.

use super::{Acked, KEPT_RANGES, Ledger, MAX_HOLE, Rule};
use crate::flow::entry::Entry;
use crate::units::Nanos;

impl Ledger {
    /// Files an acknowledgement of `ack`, with SACK blocks in wide numbers. `tau` is the least
    /// delay from the observer to the receiver and back.
    #[inline(always)]
    pub fn ack(
        &mut self,
        ack: u64,
        entry: &Entry,
        sack: &[(u64, u64)],
        tau: Option<Nanos>,
    ) -> Acked {
        let mut acked = Acked::default();
        self.answered = true;
        if !sack.is_empty() {
            acked.spurious_bytes += self.selective(ack, sack);
            acked.proof = (acked.spurious_bytes > 0).then_some(Rule::Dsack);
        }
        if ack > self.una {
            self.advance(ack, entry, tau, &mut acked);
        } else if ack == self.una && self.next > ack && entry.seq_len() == 0 {
            // RFC 5681 section 2: outstanding data, no data, no SYN or FIN, the greatest
            // acknowledgement, and the same window.
            if self.last_ack_window == Some(entry.window_raw) {
                self.duplicate_acks += 1;
                acked.duplicate = true;
            }
        }
        if ack >= self.una {
            self.last_ack_window = Some(entry.window_raw);
        }
        acked
    }

    /// The same for one that acknowledges some of what is in flight, and nothing else.
    #[inline(always)]
    pub fn next_ack(&mut self, entry: &Entry, tau: Option<Nanos>) -> Acked {
        let mut acked = Acked::default();
        let ack = self.una + u64::from(entry.ack.0.wrapping_sub(self.una as u32));
        self.advance(ack, entry, tau, &mut acked);
        self.last_ack_window = Some(entry.window_raw);
        acked
    }

    #[inline(always)]
    fn advance(&mut self, ack: u64, entry: &Entry, tau: Option<Nanos>, acked: &mut Acked) {
        if ack > self.next {
            if ack - self.next > MAX_HOLE {
                return;
            }
            let data_end = ack - u64::from(ack == self.fin_end);
            if data_end > self.probe_end.max(self.next) {
                acked.missed_bytes = data_end - self.next;
                self.missed.add(self.next, data_end);
            }
            self.next = ack;
        }
        acked.bytes = ack - self.una;
        self.una = ack;
        self.duplicate_acks = 0;
        self.last_progress = entry.ts;
        let (mut clean, mut last) = (true, None);
        while let Some(front) = self.sent.front_mut() {
            if front.end() > ack {
                if front.start < ack {
                    front.len = (front.end() - ack) as u32;
                    front.start = ack;
                }
                break;
            }
            if front.hole {
                acked.missed_bytes += u64::from(front.len);
                let (start, end) = (front.start, front.end());
                self.missed.add(start, end);
            } else {
                clean &= front.sends == 1 && !front.sacked;
                last = Some(front.first);
            }
            self.sent.pop_front();
        }
        if self.sent.is_empty() && self.sent.capacity() > KEPT_RANGES {
            self.sent.shrink_to(KEPT_RANGES);
        }
        if clean {
            // Karn: an acknowledgement of something sent twice tells nothing of the delay.
            acked.sample = last.map(|first| entry.ts.since(first));
            acked.next_sent = self.sent.front().map(|next| next.first);
        }
        if self.unproven > 0 {
            let spurious = self.eifel(ack, entry, tau);
            acked.spurious_bytes += spurious;
            acked.proof = acked.proof.or((spurious > 0).then_some(Rule::Eifel));
        }
        if self.recovery.is_some_and(|recovery| ack >= recovery.point) {
            self.recovery = None;
        }
    }

    /// The Eifel test (RFC 3522): the first acknowledgement of a retransmission echoes a timestamp
    /// from before it, so that the first copy had arrived. The same follows if it comes sooner than
    /// an acknowledgement of the second copy could: `tau` is the least delay to the receiver and
    /// back.
    #[cold]
    fn eifel(&mut self, ack: u64, entry: &Entry, tau: Option<Nanos>) -> u64 {
        let mut spurious = 0;
        for resent in self.recent.iter_mut().filter(|resent| !resent.acked && resent.end <= ack) {
            resent.acked = true;
            self.unproven -= 1;
            let older = entry.has_timestamps()
                && resent.has_timestamps
                && (entry.tsecr.wrapping_sub(resent.tsval) as i32) < 0;
            let sooner = tau.is_some_and(|tau| entry.ts.since(resent.ts).0 * 5 < tau.0 * 4);
            if (older || sooner) && !resent.spurious {
                resent.spurious = true;
                spurious += resent.end - resent.start;
            }
        }
        spurious
    }

    /// SACK blocks: marks what arrived. A first block below the acknowledgement, or within the
    /// second block, reports a duplicate (RFC 2883 section 4).
    #[cold]
    fn selective(&mut self, ack: u64, sack: &[(u64, u64)]) -> u64 {
        let (left, right) = sack[0];
        let duplicate =
            right <= ack || sack.get(1).is_some_and(|second| second.0 <= left && right <= second.1);
        let mut spurious = 0;
        if duplicate {
            let covered = self
                .recent
                .iter_mut()
                .filter(|resent| !resent.spurious && resent.start < right && left < resent.end);
            for resent in covered {
                resent.spurious = true;
                spurious += resent.end - resent.start;
            }
        }
        for &(left, right) in &sack[usize::from(duplicate)..] {
            if right > self.next || right <= left {
                continue;
            }
            self.sack_high = self.sack_high.max(right);
            // Blocks grow at their right end, so what lies below a marked range is marked already.
            let after = self.sent.partition_point(|sent| sent.end() <= right);
            for sent in self.sent.range_mut(..after).rev() {
                if sent.start < left || sent.sacked {
                    break;
                }
                sent.sacked = true;
            }
        }
        spurious
    }
}
