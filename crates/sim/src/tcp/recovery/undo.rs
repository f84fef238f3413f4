//! Was the reduction needed? Retransmissions that arrive in duplicate say no (RFC 2883, RFC 3708).
//! So do acknowledgements after a timeout for what was not sent again (F-RTO, RFC 5682). With
//! timestamps the first acknowledgement says it (RFC 3522).

use super::super::timestamps::is_before;
use tcpwhy_core::units::Nanos;

/// Counts the retransmissions of one episode against their duplicates.
#[derive(Debug, Default)]
pub struct Undo {
    /// First position outstanding when the episode began; `None` when there is nothing to undo.
    marker: Option<u64>,
    /// The episode began with a timeout.
    is_of_timeout: bool,
    /// When the first retransmission of the episode left.
    first_at: Option<Nanos>,
    /// Retransmissions not yet reported as duplicates: their positions, in the order of sending.
    unreported: Vec<u64>,
    /// Whether anything was sent again.
    has_retransmitted: bool,
}

impl Undo {
    /// A reduction was made with `una` as the first outstanding position. Retransmissions of an
    /// episode that it follows without a break may still arrive.
    pub fn begin(&mut self, una: u64, is_of_timeout: bool) {
        let first_at = self.first_at;
        *self = Undo { marker: Some(una), is_of_timeout, first_at, ..Undo::default() };
    }

    /// Everything is repaired: only duplicates can still show that it was not needed.
    pub fn on_repaired(&mut self) {
        self.first_at = None;
    }

    /// Whether the episode began with a timeout.
    pub fn is_of_timeout(&self) -> bool {
        self.is_of_timeout
    }

    /// Whether what was sent at `echoed_at`, the start of a tick of the timestamps clock, left
    /// before the first retransmission (RFC 3522 section 3.2 step 5).
    pub fn is_late(&self, echoed_at: Option<Nanos>) -> bool {
        self.first_at.is_some_and(|first| is_before(echoed_at, first))
    }

    /// Nothing can be undone any more.
    pub fn end(&mut self) {
        *self = Undo::default();
    }

    /// The segment at `start` was sent again.
    pub fn on_retransmission(&mut self, now: Nanos, start: u64) {
        if self.marker.is_some() {
            self.first_at.get_or_insert(now);
            self.has_retransmitted = true;
            self.unreported.push(start);
        }
    }

    /// The peer reports `start` as received twice. Returns whether by now every retransmission of
    /// the episode was a duplicate: RFC 3708 section 3. A duplicate of something that was sent once
    /// is the network's, and says nothing about retransmissions.
    pub fn on_dsack(&mut self, start: u64) -> bool {
        let Some(index) = self.unreported.iter().position(|sent| *sent == start) else {
            return false;
        };
        self.unreported.remove(index);
        self.marker.is_some() && self.has_retransmitted && self.unreported.is_empty()
    }
}

/// F-RTO (RFC 5682), in the form for SACK that section 3 gives; without SACK section 2.
#[derive(Debug, Default)]
pub struct Frto {
    step: Step,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum Step {
    /// Not in use.
    #[default]
    Off,
    /// Step 1: the first segment outstanding was sent again.
    Retransmitted,
    /// Step 2b: up to two new segments may leave in place of retransmissions.
    Probing {
        /// How many are left.
        new_segments: u32,
    },
}

/// What F-RTO makes of an acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoVerdict {
    /// Go on as without it.
    Conventional,
    /// Send new data next, if there is some and the receiver's window allows it.
    SendNew,
    /// The timeout was spurious.
    Spurious,
}

impl Frto {
    /// Step 1: the timer expired. Section 2: not while recovering from an earlier loss, unless that
    /// is nothing but the same timer having expired before.
    pub fn begin(&mut self, was_open: bool) {
        let is_applicable = was_open || self.step == Step::Retransmitted;
        self.step = if is_applicable { Step::Retransmitted } else { Step::Off };
    }

    /// Conventional recovery takes over.
    pub fn end(&mut self) {
        self.step = Step::Off;
    }

    /// Whether new data is to leave in place of retransmissions.
    pub fn sends_new(&self) -> bool {
        matches!(self.step, Step::Probing { new_segments: 1.. })
    }

    /// A new segment left.
    pub fn on_new_segment(&mut self) {
        if let Step::Probing { new_segments } = &mut self.step {
            *new_segments = new_segments.saturating_sub(1);
        }
    }

    /// Steps 2 and 3. `original` says that data was acknowledged that was sent before the timeout
    /// and never again; `advanced` that SND.UNA moved; `covers_all` that it passed everything that
    /// was outstanding at the timeout.
    pub fn on_ack(&mut self, original: bool, advanced: bool, covers_all: bool) -> FrtoVerdict {
        let verdict = match self.step {
            Step::Off => return FrtoVerdict::Conventional,
            _ if original => FrtoVerdict::Spurious,
            Step::Retransmitted if advanced && !covers_all => FrtoVerdict::SendNew,
            _ => FrtoVerdict::Conventional,
        };
        self.step = match verdict {
            FrtoVerdict::SendNew => Step::Probing { new_segments: 2 },
            _ => Step::Off,
        };
        verdict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_duplicates_of_what_was_sent_again_take_a_reduction_back() {
        let mut undo = Undo::default();
        assert!(!undo.on_dsack(5_000), "nothing was sent again yet");
        undo.begin(10_000, false);
        undo.on_retransmission(Nanos(0), 10_000);
        undo.on_retransmission(Nanos(0), 12_000);
        // The network duplicated a segment that was sent once.
        assert!(!undo.on_dsack(11_000));
        assert!(!undo.on_dsack(12_000));
        assert!(!undo.on_dsack(12_000), "counted once");
        assert!(undo.on_dsack(10_000));
        undo.end();
        assert!(!undo.on_dsack(10_000));
    }
}
