//! What a half waits for while it sends nothing: the passive form of the kernel's
//! clocks (`tcp_chrono`) and of web100's `SndLimTime` (algorithms 9).
//!
//! The time between two sends is cut where an acknowledgement reaches the sender and changes what
//! it may do. Each piece belongs to what held the next send back.

use crate::units::Nanos;

/// Why the sender waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// Data is in flight and the congestion window, or a buffer, allows no more.
    Network,
    /// The receiver's window has no room for a full segment.
    Receiver,
    /// Nothing is in flight and nothing forbids sending.
    Idle,
    /// The last segment was small: the send queue had run dry.
    Dry,
    /// An acknowledgement made room and the sender left it unused: paced, or out of data.
    Unused,
    /// A loss is being repaired, or a retransmission timer waited for.
    Recovery,
}

impl WaitReason {
    /// Whether nothing imposed the wait.
    #[inline]
    pub fn is_pause(self) -> bool {
        matches!(self, WaitReason::Idle | WaitReason::Dry | WaitReason::Unused)
    }
}

/// Time by reason, in ns. Two can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times([u64; WAIT_REASONS]);

impl Times {
    /// Adds `time` to that of `reason`.
    #[inline]
    pub fn add(&mut self, reason: WaitReason, time: Nanos) {
        self.0[reason as usize] += time.0.max(0) as u64;
    }

    /// That of `reason`, in ns.
    pub fn of(&self, reason: WaitReason) -> u64 {
        self.0[reason as usize]
    }

    /// All of it, in ns.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Adds the times of another span.
    pub fn merge(&mut self, other: &Times) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

/// The pieces of the time since the last send.
#[derive(Clone, Debug)]
pub struct Clock {
    /// End of the last piece; after all times before the first send.
    mark: Nanos,
    pieces: [WaitSpan; PIECES],
    len: u8,
}

/// A span of time with one reason; it begins where the one before it ends.
#[derive(Clone, Copy, Debug)]
pub struct WaitSpan {
    /// Why the sender waited.
    pub reason: WaitReason,
    /// Begin.
    pub start: Nanos,
    /// End.
    pub end: Nanos,
}

impl WaitSpan {
    /// Its length in ns if nothing imposed it, else 0.
    #[inline]
    pub fn pause_ns(&self) -> i64 {
        if self.reason.is_pause() { self.end.since(self.start).0 } else { 0 }
    }
}

impl Default for WaitSpan {
    fn default() -> WaitSpan {
        WaitSpan { reason: WaitReason::Network, start: Nanos(0), end: Nanos(0) }
    }
}

impl Default for Clock {
    fn default() -> Clock {
        Clock { mark: Nanos::MAX, pieces: Default::default(), len: 0 }
    }
}

impl Clock {
    /// The time since the last piece, up to `end`, has this reason.
    #[inline(always)]
    pub fn charge(&mut self, reason: WaitReason, end: Nanos) {
        let start = self.mark;
        if end <= start {
            return;
        }
        self.mark = end;
        let reason = used_at_once(reason, end.since(start));
        let len = usize::from(self.len);
        match self.pieces[..len].last_mut() {
            // Beyond the bound the last piece takes what comes: a gap with this many turns has
            // acknowledgements of which none let anything out.
            Some(last) if last.reason == reason || len == PIECES => last.end = end,
            _ => {
                self.pieces[len] = WaitSpan { reason, start, end };
                self.len += 1;
            }
        }
    }

    /// Whether no piece has begun since the last send.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How long the receiver's window had room since the last send, or since it last opened, in ns.
    #[inline(always)]
    pub fn waited_with_room(&self) -> i64 {
        let pieces = &self.pieces[..usize::from(self.len)];
        let closed = pieces.iter().rposition(|piece| piece.reason == WaitReason::Receiver);
        let since =
            closed.map_or(pieces.first().map(|first| first.start), |at| Some(pieces[at].end));
        since.map_or(0, |since| self.mark.since(since).0)
    }

    /// [`Clock::charge`] of all the time since the last send, and [`Clock::sent`] at its end: the
    /// reason that it counts for, and its length in ns.
    #[inline(always)]
    pub fn sent_after(&mut self, reason: WaitReason, end: Nanos) -> (WaitReason, i64) {
        let start = self.mark;
        if end <= start {
            return (reason, 0);
        }
        let wait = end.since(start);
        let reason = used_at_once(reason, wait);
        (self.mark, self.pieces[0]) = (end, WaitSpan { reason, start, end });
        (reason, wait.0)
    }

    /// What the last call of [`Clock::sent`] gave, until time is charged again. Nothing is kept for
    /// it: the pieces are where they were, and the last of them ends with that send.
    pub fn last(&self) -> &[WaitSpan] {
        let nothing_since = self.len == 0 && self.mark != Nanos::MAX;
        let last = self.pieces.iter().position(|piece| nothing_since && piece.end == self.mark);
        &self.pieces[..last.map_or(0, |last| last + 1)]
    }

    /// Something is sent at `ts`. Gives the pieces since the last send.
    #[inline(always)]
    pub fn sent(&mut self, ts: Nanos) -> &mut [WaitSpan] {
        self.mark = if self.mark == Nanos::MAX { ts } else { self.mark.max(ts) };
        let len = std::mem::take(&mut self.len);
        &mut self.pieces[..usize::from(len)]
    }
}

/// The reason of a wait, once its length is known. Room that is used at once is what an
/// acknowledgement clocks out.
#[inline(always)]
fn used_at_once(reason: WaitReason, wait: Nanos) -> WaitReason {
    let at_once = reason == WaitReason::Unused && wait < MIN_UNUSED;
    if at_once { WaitReason::Network } else { reason }
}

/// A sender that an acknowledgement lets go on needs less than this: an interrupt, a wake-up, and
/// what pacing by the millisecond is far above.
const MIN_UNUSED: Nanos = Nanos(150_000);
/// Pieces of one gap that are kept apart.
const PIECES: usize = 4;
const WAIT_REASONS: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_gap_without_overlap() {
        let ms = Nanos::from_millis;
        let mut clock = Clock::default();
        clock.charge(WaitReason::Network, ms(3));
        clock.sent(ms(5));
        clock.charge(WaitReason::Network, ms(9));
        clock.charge(WaitReason::Receiver, ms(9));
        clock.charge(WaitReason::Receiver, ms(12));
        let end = ms(12) + Nanos(1000);
        clock.charge(WaitReason::Unused, end);
        assert_eq!(clock.last().len(), 0, "nothing is sent yet");
        let seen: Vec<_> =
            clock.sent(end).iter().map(|piece| (piece.reason, piece.start, piece.end)).collect();
        assert_eq!(clock.last().len(), 3);
        assert_eq!(
            seen,
            [
                (WaitReason::Network, ms(5), ms(9)),
                (WaitReason::Receiver, ms(9), ms(12)),
                (WaitReason::Network, ms(12), end),
            ]
        );
    }
}
