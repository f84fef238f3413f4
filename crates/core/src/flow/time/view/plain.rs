//! The view of a sender whose data is plain: nothing is being repaired, and windows are known.

use super::{After, Prompt, SenderView, Sent, UNKNOWN};
use crate::flow::entry::Entry;
use crate::flow::time::clock::WaitReason;
use crate::units::Nanos;

impl SenderView {
    /// Whether an acknowledgement and its window reached the sender, and no loss is being repaired.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.una != UNKNOWN && self.edge != UNKNOWN && self.recovery_point.is_none()
    }

    /// [`SenderView::at`] of a view that is plain: what is acknowledged, and where the window ends.
    #[inline(always)]
    pub fn at_plain(&mut self, entry: &Entry, end: u64) -> (u64, u64) {
        self.release_known(entry, end);
        (self.una, self.edge)
    }

    /// Whether the time since the last send has one reason, and no several acknowledgements came.
    #[inline(always)]
    pub fn has_one_wait(&self) -> bool {
        self.clock.is_empty() && self.released <= 1
    }

    /// [`SenderView::send_plain`] then: the reason of that wait, its length in ns, and what the
    /// segment came after.
    #[inline(always)]
    pub fn send_after_one_wait(
        &mut self,
        ts: Nanos,
        next: u64,
        mss: u32,
    ) -> (WaitReason, i64, Option<Prompt>) {
        let reason = self.reason_outside_repair();
        let (waited_for, ns) = self.clock.sent_after(reason, ts);
        let prompt = self.prompt(ts, reason, ns);
        self.sent_plain(next, mss);
        (waited_for, ns, prompt)
    }

    /// [`SenderView::send`] of plain data up to `next`, which is never small and repairs nothing.
    #[inline(always)]
    pub fn send_plain(&mut self, ts: Nanos, next: u64, mss: u32) -> After<'_> {
        let reason = self.reason_outside_repair();
        self.clock.charge(reason, ts);
        if self.released > 1 {
            return self
                .send_after_several(ts, Sent { next, mss, dry: false, recovery_point: None });
        }
        let prompt = self.prompt(ts, reason, self.clock.waited_with_room());
        self.sent_plain(next, mss);
        (self.clock.sent(ts), None, prompt)
    }

    #[inline(always)]
    fn sent_plain(&mut self, next: u64, mss: u32) {
        (self.next, self.mss, self.dry) = (next, mss, false);
        (self.released, self.with_data, self.una_sent) = (0, 0, self.una);
    }

    #[inline(never)]
    fn send_after_several(&mut self, ts: Nanos, sent: Sent) -> After<'_> {
        self.send_charged(ts, sent)
    }
}
