//! Whether the sender holds small segments back until an acknowledgement comes (RFC 9293 section
//! 3.7.4, Nagle).

use crate::flow::time::view::SenderState;

/// What was sent before, as far as it can hold a segment back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nagle {
    /// End of the last small segment, and what was acknowledged at the last one.
    small_end: u64,
    una_before: u64,
    /// The last segment left with nothing else in flight.
    alone: bool,
    /// It had waited for an acknowledgement since there was no more to send with it.
    held: bool,
}

impl Nagle {
    /// Whether a segment from `start` to `next` had waited for an acknowledgement, since it or one
    /// before it is small. There was no more than it to send. Linux waits for the small segment
    /// before (Minshall), others for all data; and a lone segment a round is no window.
    pub fn on_data(
        &mut self,
        small: bool,
        start: u64,
        next: u64,
        known: Option<SenderState>,
    ) -> bool {
        let Some(known) = known else { return false };
        let una_before = std::mem::replace(&mut self.una_before, known.una);
        let released = |end: u64| una_before < end && known.una >= end;
        let held = match small {
            true => released(self.small_end) || known.una >= start,
            false => known.una >= start && self.alone,
        };
        self.alone = known.una >= start;
        if small {
            self.small_end = next;
        }
        held
    }

    /// The same of a full segment by a sender that knew `una`; `is_idle` tells whether nothing was
    /// in flight.
    #[inline(always)]
    pub fn on_full(&mut self, is_idle: bool, una: u64) -> bool {
        self.una_before = una;
        std::mem::replace(&mut self.alone, is_idle) && is_idle
    }

    /// Notes whether the segment was held back; gives whether the one before it was.
    pub fn take_turn(&mut self, held: bool) -> bool {
        std::mem::replace(&mut self.held, held)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(una: u64) -> Option<SenderState> {
        Some(SenderState { una, edge: None })
    }

    #[test]
    fn a_small_segment_that_leaves_when_the_one_before_is_acknowledged_was_held_back() {
        let mut nagle = Nagle::default();
        assert!(!nagle.on_data(true, 1_000, 1_100, known(500)), "data is in flight");
        assert!(nagle.on_data(true, 1_100, 1_200, known(1_100)));
        assert!(!nagle.on_data(false, 1_200, 2_648, known(1_150)));
        assert!(!nagle.on_data(true, 9_000, 9_100, None), "nothing is known");
    }
}
