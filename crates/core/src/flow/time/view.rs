//! The sender's view of acknowledgements and windows, from wherever the observer stands.
//!
//! An acknowledgement seen at `t` influences data seen no earlier than `t + tau` (algorithms 4).
//! Here `tau` is the delay from the observer to the sender and back. Each acknowledgement is held
//! back for that long: then it shows what the sender knew, whichever way is longer. A timestamp
//! echo proves it earlier. The sender knew every acknowledgement with a tsval not after the
//! segment's tsecr. So does a segment that the window of an older one did not allow.

mod plain;
mod prompt;

pub use prompt::{Prompt, Prompts, TICK_NS};

use crate::flow::entry::Entry;
use crate::flow::time::clock::{Clock, WaitReason, WaitSpan};
use crate::units::Nanos;
use std::collections::VecDeque;

/// What the sender knew when it sent a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenderState {
    /// Lowest unacknowledged byte.
    pub una: u64,
    /// After the last byte that the receiver's window allows; `None` when the scale is unknown.
    pub edge: Option<u64>,
}

impl SenderState {
    /// The receiver's window.
    #[inline(always)]
    pub fn rwnd(&self) -> Option<u64> {
        self.edge.map(|edge| edge.saturating_sub(self.una))
    }
}

/// A segment that is about to be filed. Only [`SenderView::at`] makes one: so time is charged once
/// for each segment, after all that reached the sender before.
#[derive(Debug)]
#[must_use]
pub struct Sending {
    /// What the sender knew; `None` before the first acknowledgement reached it.
    pub known: Option<SenderState>,
    ts: Nanos,
}

/// What was sent by a segment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// After the highest byte sent.
    pub next: u64,
    /// Payload of a full segment.
    pub mss: u32,
    /// It was small, and not because the window was.
    pub dry: bool,
    /// What ends the repair of a loss that is under way.
    pub recovery_point: Option<u64>,
}

/// What a segment ends: the pieces of the time since the last send, and what came in them.
pub type After<'a> = (&'a mut [WaitSpan], Option<Freed>, Option<Prompt>);

/// Acknowledgements on their way to the sender, and what has reached it.
#[derive(Debug)]
pub struct SenderView {
    pending: VecDeque<PendingAck>,
    /// As [`SenderState`] has them, or [`UNKNOWN`].
    una: u64,
    edge: u64,
    closed: bool,
    shrinks: u8,
    overflow: u64,
    /// What the sender sent last, and what a full segment takes.
    next: u64,
    mss: u32,
    /// The last segment was small, and not because the window was.
    dry: bool,
    /// Acknowledgements that came since the last segment and moved the window.
    released: u8,
    /// When the last one of them arrived.
    released_at: Nanos,
    /// Those since the last segment that came with a message of the other side, and when the last
    /// one arrived. They need not move the window.
    with_data: u8,
    data_at: Nanos,
    /// What was acknowledged when the last segment was sent.
    una_sent: u64,
    /// Largest window of the receiver.
    window_most: u64,
    /// What was in flight at the end of such waits as a send buffer makes, the most of late.
    level: u64,
    /// A loss is repaired once this is acknowledged.
    recovery_point: Option<u64>,
    clock: Clock,
}

#[derive(Clone, Copy, Debug)]
struct PendingAck {
    due: Nanos,
    una: u64,
    /// Or [`UNKNOWN_WINDOW`].
    rwnd: u32,
    tsval: u32,
    has_timestamps: bool,
    closed: bool,
    /// A message of the other side came with it, or behind it with the same acknowledgement.
    with_data: bool,
}

impl PendingAck {
    /// Where the window ends, or [`UNKNOWN`].
    #[inline(always)]
    fn edge(&self) -> u64 {
        if self.rwnd == UNKNOWN_WINDOW { UNKNOWN } else { self.una + u64::from(self.rwnd) }
    }
}

/// A wait in which several acknowledgements freed a part of the flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freed {
    /// The last of them triggered the send, as by a writer that free buffer space wakes.
    pub woken: bool,
    /// The segment before was small: the send queue was empty.
    pub ran_dry: bool,
}

impl Default for SenderView {
    fn default() -> SenderView {
        SenderView {
            pending: VecDeque::new(),
            una: UNKNOWN,
            edge: UNKNOWN,
            closed: false,
            shrinks: 0,
            overflow: 0,
            next: 0,
            mss: 0,
            dry: false,
            released: 0,
            released_at: Nanos(0),
            with_data: 0,
            data_at: Nanos(0),
            una_sent: UNKNOWN,
            window_most: 0,
            level: 0,
            recovery_point: None,
            clock: Clock::default(),
        }
    }
}

impl SenderView {
    /// An acknowledgement passes the observer; it takes effect after `tau`.
    #[inline(always)]
    pub fn acknowledgement(&mut self, entry: &Entry, una: u64, rwnd: Option<u64>, tau: Nanos) {
        let edge = rwnd.map_or(UNKNOWN, |rwnd| una + rwnd);
        let newest = self.pending.back().map_or((self.una, self.edge), |ack| (ack.una, ack.edge()));
        if newest == (una, edge) && entry.window_raw != 0 {
            // Nothing new: the other side's data repeats the same acknowledgement.
            return;
        }
        self.newer_acknowledgement(
            entry,
            una,
            rwnd.map_or(UNKNOWN_WINDOW, |rwnd| rwnd as u32),
            tau,
        );
    }

    /// Data of the other side came with the newest acknowledgement, or behind it.
    pub fn note_data(&mut self, ts: Nanos) {
        match self.pending.back_mut() {
            Some(newest) => newest.with_data = true,
            None => self.take_data(ts),
        }
    }

    fn take_data(&mut self, due: Nanos) {
        (self.with_data, self.data_at) = (self.with_data.saturating_add(1), due);
    }

    /// The same for one that says something new; its window is given in bytes, or
    /// [`UNKNOWN_WINDOW`].
    #[inline(always)]
    pub fn newer_acknowledgement(&mut self, entry: &Entry, una: u64, rwnd: u32, tau: Nanos) {
        while self.pending.front().is_some_and(|front| front.due <= entry.ts) {
            self.release_front(entry.ts);
        }
        if self.pending.len() >= MAX_PENDING {
            self.overflow += 1;
            self.release_front(entry.ts);
        }
        if self.pending.capacity() == 0 {
            // All that a direction without data ever has.
            self.pending.reserve_exact(1);
        }
        self.pending.push_back(PendingAck {
            due: entry.ts + tau,
            una,
            rwnd,
            tsval: entry.tsval,
            has_timestamps: entry.has_timestamps(),
            closed: entry.window_raw == 0,
            with_data: false,
        });
    }

    /// Begins anew, in the same memory if that is little.
    pub(crate) fn renew(&mut self) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.clear();
        pending.shrink_to(KEPT_WHEN_RENEWED);
        *self = SenderView { pending, ..SenderView::default() };
    }

    /// Part of [`crate::flow::Flow::shrink`].
    pub(crate) fn shrink(&mut self) {
        self.pending.shrink_to_fit();
    }

    /// What the sender knew when it sent `entry`, whose data ends at `end`. It is handed to
    /// [`SenderView::send`] once it is clear what the segment was.
    #[inline(always)]
    pub fn at(&mut self, entry: &Entry, end: u64) -> Sending {
        self.release_known(entry, end);
        let edge = (self.edge != UNKNOWN).then_some(self.edge);
        let known = (self.una != UNKNOWN).then_some(SenderState { una: self.una, edge });
        Sending { known, ts: entry.ts }
    }

    /// Lets the acknowledgements take effect that the sender knew when it sent `entry`.
    #[inline(always)]
    fn release_known(&mut self, entry: &Entry, end: u64) {
        while let Some(front) = self.pending.front() {
            let timed = front.has_timestamps && entry.has_timestamps();
            let echoed = timed && entry.tsecr.wrapping_sub(front.tsval) as i32 >= 0;
            let due = if timed { front.due + STALE_ECHO } else { front.due };
            if due > entry.ts && !echoed && !self.is_beyond(end) {
                break;
            }
            self.release_front(entry.ts);
        }
    }

    /// Whether data that ends at `end` is more than the window known allows. A sender may probe it
    /// with a byte (RFC 9293 section 3.8.6.1).
    #[inline(always)]
    fn is_beyond(&self, end: u64) -> bool {
        self.edge != UNKNOWN && end > self.edge + 1
    }

    /// Files the segment that `sending` is about. Gives whose time it was since the last send.
    /// Second: what ended a wait in which several acknowledgements freed between 1/8 and 4/5 of the
    /// flight. Third: what the segment came after.
    #[inline(always)]
    pub fn send(&mut self, sending: Sending, sent: Sent) -> After<'_> {
        let ts = sending.ts;
        self.clock.charge(self.reason(), ts);
        self.send_charged(ts, sent)
    }

    #[inline(always)]
    fn send_charged(&mut self, ts: Nanos, sent: Sent) -> After<'_> {
        let prompt = self.prompt(ts, self.reason(), self.clock.waited_with_room());
        let (soon_after, ran_dry) = (ts.since(self.released_at), self.dry);
        let part = self.released > 1 && self.has_freed_a_part();
        let level = part && ran_dry && self.is_level();
        let released = std::mem::take(&mut self.released);
        self.with_data = 0;
        let Sent { next, mss, dry, recovery_point } = sent;
        (self.next, self.mss, self.dry) = (next, mss, dry);
        // What repairs it passed here; that it did, the sender knows later.
        let point = recovery_point.filter(|&point| self.una != UNKNOWN && self.una < point);
        self.recovery_point = point.or(self.recovery_point);
        self.una_sent = self.una;
        let gap = self.clock.sent(ts);
        let mut freed = None;
        if released > 1 {
            let soon = is_woken(gap, i64::from(released), soon_after);
            blame_pause(gap, soon);
            let soon = soon || level && soon_after < CLOCKED;
            freed = part.then_some(Freed { woken: soon, ran_dry });
        }
        (gap, freed, prompt)
    }

    /// Whose time it was before the last send.
    pub fn last_wait(&self) -> &[WaitSpan] {
        self.clock.last()
    }

    fn has_freed_a_part(&self) -> bool {
        let before = self.next.saturating_sub(self.una_sent);
        let left = self.next.saturating_sub(self.una).min(before);
        (before - left) * FREED_PARTS >= before && left * LEFT_PARTS >= before
    }

    /// Whether as much is in flight as at the end of other waits. A buffer wakes its writer when a
    /// certain part of it is free, however long that takes. Some wakes come late and none comes
    /// early: the recent maximum is the level.
    fn is_level(&mut self) -> bool {
        let before = self.next.saturating_sub(self.una_sent);
        let left = self.next.saturating_sub(self.una);
        let level = left.abs_diff(self.level) * LEVEL_PARTS <= before;
        self.level = left.max(self.level - self.level.saturating_sub(left) / LEVEL_MEMORY);
        level
    }

    #[inline(always)]
    fn reason(&self) -> WaitReason {
        if self.una == UNKNOWN {
            // Without acknowledgements nothing tells one wait from another.
            WaitReason::Network
        } else if self.recovery_point.is_some() {
            WaitReason::Recovery
        } else {
            self.reason_outside_repair()
        }
    }

    /// The reason where an acknowledgement is known and nothing is being repaired.
    #[inline(always)]
    fn reason_outside_repair(&self) -> WaitReason {
        if self.is_full() {
            WaitReason::Receiver
        } else if self.una >= self.next {
            WaitReason::Idle
        } else if self.dry {
            WaitReason::Dry
        } else if self.released > 0 {
            WaitReason::Unused
        } else {
            WaitReason::Network
        }
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        // A sender waits for room for a full segment, or for half of the largest window ever (RFC
        // 9293 section 3.8.6.2.1). On loopback a segment is as large as the window. An unknown edge
        // is above all others.
        let need = u64::from(self.mss).min((self.window_most / 2).max(1));
        self.closed || self.edge < self.next + need
    }

    #[inline(always)]
    fn release_front(&mut self, now: Nanos) {
        let Some(ack) = self.pending.pop_front() else { return };
        let (due, edge) = (ack.due.min(now), ack.edge());
        self.clock.charge(self.reason(), due);
        let moves = self.una == UNKNOWN || ack.una > self.una;
        if moves {
            self.released = self.released.saturating_add(1);
            (self.released_at, self.una) = (due, ack.una);
        }
        if self.recovery_point.is_some_and(|point| ack.una >= point) {
            self.recovery_point = None;
        }
        self.closed = ack.closed;
        if ack.with_data {
            self.take_data(due);
        }
        if ack.rwnd == UNKNOWN_WINDOW {
            return;
        }
        self.window_most = self.window_most.max(u64::from(ack.rwnd));
        if edge < self.edge && self.edge != UNKNOWN {
            // The right edge does not retreat (RFC 9293 section 3.8.6) unless the receiver says so
            // twice: once may be an acknowledgement that was overtaken.
            self.shrinks += 1;
            if self.shrinks < 2 {
                return;
            }
        }
        (self.edge, self.shrinks) = (edge, 0);
    }

    /// Acknowledgements that took effect early since too many were under way.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

/// Whether a segment comes so soon after an acknowledgement that one in four would at random.
fn is_woken(gap: &[WaitSpan], released: i64, after: Nanos) -> bool {
    let whole: i64 = gap.iter().map(|piece| piece.end.since(piece.start).0).sum();
    after.0 < CLOCKED.0.min(whole / released / 4)
}

/// Several acknowledgements opened the window and nothing was sent: the application was idle since
/// the last segment. Require a long gap, since the delay to the sender is only approximate. Where
/// the last of them triggered the send, the buffer had to empty first. Linux wakes a writer when a
/// third is free (`sk_stream_is_writable`).
fn blame_pause(gap: &mut [WaitSpan], woken: bool) {
    let pause: i64 = gap.iter().map(WaitSpan::pause_ns).sum();
    let whole: i64 = gap.iter().map(|piece| piece.end.since(piece.start).0).sum();
    if woken {
        let freed = gap.iter_mut().filter(|piece| piece.reason == WaitReason::Unused);
        freed.for_each(|piece| piece.reason = WaitReason::Network);
    } else if pause * 4 > whole {
        let waits = gap.iter_mut().filter(|piece| piece.reason == WaitReason::Network);
        waits.for_each(|piece| piece.reason = WaitReason::Unused);
    }
}

/// An acknowledgement may have triggered a segment this soon after it. Programs that the kernel
/// woke for room in the send buffer wrote 0.08 to 0.2 ms later.
const CLOCKED: Nanos = Nanos(300_000);
/// Ack-clocked segments free less than this part of the flight, even where a few acknowledgements
/// seem to come together. A full send buffer waits for a third of itself.
const FREED_PARTS: u64 = 8;
/// A buffer wakes its writer with two thirds left. A last write as large as the buffer leaves two
/// fifths, one of twice its size a fourth. A program with a period near the round-trip time may
/// come just before the end.
const LEFT_PARTS: u64 = 5;
/// The flight is level within this part of it: acknowledgements that free a few segments arrive
/// while a writer wakes up. One wait in ten would be level at random.
const LEVEL_PARTS: u64 = 32;
/// Waits over which the level decays.
const LEVEL_MEMORY: u64 = 16;
/// A sender that knows an acknowledgement echoes it, if not at once (RFC 7323 section 4.3).
const STALE_ECHO: Nanos = Nanos(200_000_000);
/// In place of a number in the wide sequence space, which never gets there.
const UNKNOWN: u64 = u64::MAX;
/// In place of a window, which is 1 GiB at most.
const UNKNOWN_WINDOW: u32 = u32::MAX;
/// Room that the view of the next flow takes over.
const KEPT_WHEN_RENEWED: usize = 16;
/// A round trip of acknowledgements at 100,000 a second and 100 ms is 10,000.
const MAX_PENDING: usize = 16_384;

#[cfg(test)]
mod tests;
