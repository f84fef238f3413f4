//! What made the program that writes wait: Nagle's algorithm, room in the send buffer, or itself.

use super::clock::{WaitReason, WaitSpan};
use super::nagle::Nagle;
use super::view::{Freed, Prompt};
use crate::flow::observer::{Ack, Data, Observer};
use crate::units::Nanos;

/// The writer of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Writer {
    nagle: Nagle,
    /// The other side sent data since this one last paused.
    asked: bool,
}

/// What a wait between two sends shows of the writer.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// Time that nothing imposed, in ns.
    pub pause_ns: i64,
    /// The other side sent data before the pause ended.
    pub answers: bool,
    /// A long wait behind an emptied queue in ns, and whether an acknowledgement ended it.
    pub behind_empty_queue: Option<(bool, u64)>,
    /// A long wait in ns for the last of several acknowledgements, after a full segment.
    pub behind_full_segment: Option<u64>,
    /// What ended a wait that nothing but acknowledgements or the writer could end.
    pub prompt: Option<Prompt>,
}

impl Writer {
    /// What held `data` back, as far as its own coming shows it.
    #[inline(always)]
    pub fn hold(&mut self, data: &Data<'_>) -> Option<WaitReason> {
        let small = data.small && data.full == 0;
        let held =
            data.is_new() && self.nagle.on_data(small, data.start, data.flight.next, data.known);
        match held {
            _ if data.filed.rto_event => Some(WaitReason::Recovery),
            true => Some(WaitReason::Dry),
            false => None,
        }
    }

    /// [`Writer::hold`] of plain data by a sender that knew `una`; `is_idle` tells whether nothing
    /// was in flight.
    #[inline(always)]
    pub fn hold_full(&mut self, is_idle: bool, una: u64) -> bool {
        self.nagle.on_full(is_idle, una)
    }

    /// [`Writer::attribute`] where nothing was held back and nothing freed.
    #[inline(always)]
    pub fn note_not_held(&mut self) {
        self.nagle.take_turn(false);
    }

    /// Whether the other side sent data since this one last paused, asked as a pause ends.
    #[inline(always)]
    pub fn takes_answer(&mut self) -> bool {
        std::mem::take(&mut self.asked)
    }

    /// [`Writer::attribute`] of plain data.
    #[inline(never)]
    pub fn attribute_plain<'a>(
        &mut self,
        pieces: &'a mut [WaitSpan],
        held: bool,
        freed: Option<Freed>,
        prompt: Option<Prompt>,
        srtt: Option<Nanos>,
    ) -> (&'a [WaitSpan], Wait) {
        let wait = self.attribute(pieces, held.then_some(WaitReason::Dry), freed, prompt, srtt);
        (pieces, wait)
    }

    /// The other side sent data.
    #[inline(always)]
    pub fn note_data_of_peer(&mut self) {
        self.asked = true;
    }

    /// Attributes the pieces of the time since the last send. `hold` is what held the segment back,
    /// `freed` what acknowledgements freed before it, `prompt` what it came after.
    #[inline(always)]
    pub fn attribute(
        &mut self,
        pieces: &mut [WaitSpan],
        hold: Option<WaitReason>,
        freed: Option<Freed>,
        prompt: Option<Prompt>,
        srtt: Option<Nanos>,
    ) -> Wait {
        match hold {
            Some(WaitReason::Dry) => {
                let held = pieces.iter_mut().filter(|piece| piece.reason == WaitReason::Network);
                held.for_each(|piece| piece.reason = WaitReason::Dry);
            }
            Some(reason) => pieces.iter_mut().for_each(|piece| piece.reason = reason),
            None => {}
        }
        // An acknowledgement lets out what Nagle's algorithm held back as well. Behind that there
        // was nothing to write, or it would have been filled up. A writer that waits for room in
        // its buffer adds to a last segment without asking for any (`tcp_sendmsg_locked`).
        let nagled = self.nagle.take_turn(hold == Some(WaitReason::Dry));
        let freed = freed.filter(|_| hold.is_none());
        let woken = freed.map(|freed| freed.woken && !nagled);
        let long = woken.zip(srtt).and_then(|(woken, srtt)| long_wait(pieces, woken, srtt));
        let ran_dry = freed.is_some_and(|freed| freed.ran_dry);
        let pause_ns: i64 = pieces.iter().map(WaitSpan::pause_ns).sum();
        let answers = pause_ns > 0 && self.takes_answer();
        Wait {
            pause_ns,
            answers,
            behind_empty_queue: long.filter(|_| ran_dry),
            behind_full_segment: long.filter(|(woken, _)| !ran_dry && *woken).map(|(_, ns)| ns),
            prompt: prompt.filter(|_| hold.is_none()),
        }
    }
}

impl Observer for Writer {
    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.asked |= ack.entry.payload_len > 0;
    }
}

/// The length of a wait behind an emptied queue, unless it is only one between super-segments that
/// pacing spreads. One that an acknowledgement ended is no pause of the program, although its last
/// write may have ended small.
fn long_wait(gap: &mut [WaitSpan], woken: bool, srtt: Nanos) -> Option<(bool, u64)> {
    let gap_ns: i64 = gap.iter().map(|piece| piece.end.since(piece.start).0).sum();
    if gap_ns < srtt.0 / ROUND_PARTS {
        return None;
    }
    if woken {
        let dry = gap.iter_mut().filter(|piece| piece.reason == WaitReason::Dry);
        dry.for_each(|piece| piece.reason = WaitReason::Network);
    }
    Some((woken, gap_ns as u64))
}

/// A shorter part of a round trip is spread by pacing: super-segments are a millisecond apart, or
/// half of one (`tcp_tso_autosize`).
const ROUND_PARTS: i64 = 16;
