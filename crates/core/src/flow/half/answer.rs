//! What the other side answers: acknowledgements of this half's data, and its window.

use super::{Around, FARTHEST, Half, raise};
use crate::flow::entry::Entry;
use crate::flow::loss::ledger::Acked;
use crate::flow::path::capacity::Stream;
use crate::flow::time::signs::Signs;
use crate::units::{Nanos, Seq};
use crate::wire::flags;

impl Half {
    /// SACK blocks of the other side in wide numbers. Blocks that point nowhere are left out.
    pub fn widen<'a>(
        &self,
        sack: &[(Seq, Seq)],
        wide: &'a mut [(u64, u64); 4],
    ) -> &'a [(u64, u64)] {
        let Some(unwrap) = &self.unwrap else { return &[] };
        let mut count = 0;
        for &(left, right) in sack.iter().take(4) {
            let block = (unwrap.peek(left), unwrap.peek(right));
            if block.0 < block.1 && block.1.abs_diff(self.ledger.una()) < FARTHEST {
                wide[count] = block;
                count += 1;
            }
        }
        &wide[..count]
    }

    /// Files an acknowledgement of this half's data.
    #[inline(always)]
    pub fn ack(&mut self, entry: &Entry, sack: &[(u64, u64)], around: &Around) -> Acked {
        let Some(unwrap) = &self.unwrap else { return Acked::default() };
        let ack = unwrap.peek(entry.ack);
        if ack.abs_diff(self.ledger.una()) > FARTHEST {
            self.totals.out_of_window += 1;
            return Acked::default();
        }
        let acked = self.ledger.ack(ack, entry, sack, around.receiver.least());
        self.totals.duplicate_acks += u64::from(acked.duplicate);
        self.totals.missed_bytes += acked.missed_bytes;
        if acked.spurious_bytes > 0 {
            self.totals.spurious_bytes += acked.spurious_bytes;
            if let Some(stretch) = &mut self.stretch {
                stretch.late().sums.spurious_bytes += acked.spurious_bytes;
            }
        }
        if acked.bytes > 0 {
            self.delivery.acked(entry.ts, acked.bytes, self.rtt.srtt);
            if let Some(signs) = self.stretch.as_mut().and_then(|s| s.late().sums.signs.as_mut()) {
                signs.advances += 1;
            }
        }
        self.window(entry, ack, around);
        self.capacity_from_ack(entry, &acked, sack);
        self.asked |= entry.payload_len > 0;
        acked
    }

    /// The window that comes with an acknowledgement.
    #[inline(always)]
    pub(super) fn window(&mut self, entry: &Entry, ack: u64, around: &Around) {
        let syn = entry.has(flags::SYN);
        let scale = if syn { Some(0) } else { self.window_scale };
        let rwnd = scale.map(|scale| u64::from(entry.window_raw) << scale);
        let closed = entry.window_raw == 0 && !syn;
        if closed && !self.freedom.is_closed() && ack >= self.ledger.una() {
            self.totals.zero_window_events += 1;
            self.sign(around, |signs| signs.closures += 1);
        }
        if entry.has(flags::ECE) && !syn {
            self.sign(around, |signs| signs.ecn_echoes += 1);
        }
        if ack >= self.ledger.una() {
            self.freedom.set_closed(closed);
        }
        match rwnd {
            Some(rwnd) => raise(&mut self.totals.rwnd_max, rwnd),
            None => {
                let flight = self.ledger.next().saturating_sub(ack);
                self.scale_evidence.get_or_insert_default().add(flight, entry.window_raw);
            }
        }
        let known = around.sender.recent();
        let tau = known.unwrap_or_default();
        // While the way is unknown only an echo proves that the sender had it.
        let due = if entry.has_timestamps() { known.unwrap_or(UNKNOWN_WAY) } else { tau };
        self.view.acknowledgement(entry, ack, rwnd, due);
        if ack >= self.ledger.una() {
            self.freedom.on_window(rwnd.map(|rwnd| ack + rwnd));
            self.freedom.note(entry.ts + tau, self.flight());
        }
    }

    /// Notes a sign of an acknowledgement.
    #[cold]
    fn sign(&mut self, around: &Around, note: impl FnOnce(&mut Signs)) {
        if let Some(stretch) = self.stretch.as_mut().filter(|_| around.plan.refined) {
            note(stretch.late().sums.signs_mut());
        }
    }

    #[inline(always)]
    pub(super) fn capacity_from_ack(&mut self, entry: &Entry, acked: &Acked, sack: &[(u64, u64)]) {
        let Some(collector) = &mut self.capacity else { return };
        if collector.stream() != Some(Stream::Acks) {
            return;
        }
        if acked.bytes == 0 {
            // A window update or a duplicate: not clocked by data that left the link.
            if acked.duplicate || !sack.is_empty() {
                collector.interrupt();
            }
            return;
        }
        let mss = u64::from(self.mss.value());
        let bytes = acked.bytes + acked.bytes.div_ceil(mss) * u64::from(self.headers_len);
        let repairing = self.ledger.recovery().is_some() || !sack.is_empty();
        let bytes = bytes.min(u64::from(u32::MAX)) as u32;
        collector.packet(entry.ts, bytes, acked.bytes >= mss && !repairing);
        if let Some(rtt) = acked.sample.filter(|_| !repairing) {
            collector.echo(entry.ts, entry.ts - rtt, bytes, acked.bytes > mss);
        }
    }
}

/// Longer than most ways: the first retransmission timeout of a sender that knows none either (RFC
/// 6298 section 2.1).
const UNKNOWN_WAY: Nanos = Nanos::SECOND;
