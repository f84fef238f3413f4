//! Whose time passes, and which periods that makes: what Isolate and the clocks are told.

use super::Half;
use crate::flow::half::Around;
use crate::flow::time::clock::{Holder, Piece};
use crate::flow::time::period::Step;
use crate::flow::time::stretch::Now;
use crate::flow::time::view::Known;
use crate::units::Nanos;

impl Half {
    /// Takes the time since the last send, and what Isolate made of it.
    /// `waited` is who held back a segment that waited for what it shows by its coming.
    pub(super) fn pass(&mut self, step: Step, ts: Nanos, waited: Option<Holder>, around: &Around) {
        let (pieces, woken) = self.view.take_times(ts);
        match waited {
            Some(Holder::Dry) => {
                let held = pieces.iter_mut().filter(|piece| piece.holder == Holder::Network);
                held.for_each(|piece| piece.holder = Holder::Dry);
            }
            Some(holder) => pieces.iter_mut().for_each(|piece| piece.holder = holder),
            None => {}
        }
        // What Nagle's algorithm held back an acknowledgement lets out as well; and behind it there
        // was nothing to write, or it would have been filled up: a writer that waits for room in
        // its buffer adds to a last segment without asking for any (`tcp_sendmsg_locked`).
        let woken = woken.filter(|_| waited.is_none() && around.plan.refined);
        let nagled = self.nagle.take_turn(waited == Some(Holder::Dry));
        let woken = woken.map(|woken| woken && !nagled);
        let wait = woken.and_then(|woken| long_wait(pieces, woken, self.rtt.srtt?));
        let data_packets = self.totals.data_packets;
        let now = Now { ts, interval: around.plan.interval, data_packets };
        let stretch = self.stretch.as_mut().expect("made with the first payload");
        stretch.pass(step, &now, pieces);
        let pause: i64 = pieces.iter().map(Piece::pause_ns).sum();
        if let Some((woken, gap_ns)) = wait {
            let signs = stretch.late().sums.signs_mut();
            *(if woken { &mut signs.woken_ns } else { &mut signs.unwoken_ns }) += gap_ns;
        }
        if pause > 0 && around.plan.refined {
            let answers = std::mem::take(&mut self.asked);
            stretch.late().sums.signs_mut().pause(pause as u64, answers);
        }
        if !matches!(step, Step::Stay | Step::Transfer { .. }) {
            self.last_new = None;
            self.capacity.iter_mut().for_each(|capacity| capacity.interrupt());
        }
    }

    /// How many full packets a segment stands for, and whether a small one is among them. What the
    /// end of the receiver's window cut short is no sign of the application.
    #[inline(always)]
    pub(super) fn packets(&self, len: u32, start: u64, known: Option<Known>) -> (u32, bool) {
        let (full, small) = self.mss.split(len);
        let mss = u64::from(self.mss.value());
        let left = known.and_then(|known| known.edge).map(|edge| edge.saturating_sub(start));
        let cut = small && left.is_some_and(|left| left < u64::from(full + 1) * mss);
        if cut { (full + 1, false) } else { (full, small) }
    }
}

/// The length of a wait behind an emptied queue, unless it is only one between super-segments that
/// pacing spreads. One that an acknowledgement ended is no pause of the program, although its last
/// write may have ended small.
fn long_wait(gap: &mut [Piece], woken: bool, srtt: Nanos) -> Option<(bool, u64)> {
    let gap_ns: i64 = gap.iter().map(|piece| piece.end.since(piece.start).0).sum();
    if gap_ns < srtt.0 / ROUND_PARTS {
        return None;
    }
    if woken {
        let dry = gap.iter_mut().filter(|piece| piece.holder == Holder::Dry);
        dry.for_each(|piece| piece.holder = Holder::Network);
    }
    Some((woken, gap_ns as u64))
}

/// A shorter part of a round trip is spread by pacing: super-segments are a millisecond apart, or
/// half of one (`tcp_tso_autosize`).
const ROUND_PARTS: i64 = 16;
