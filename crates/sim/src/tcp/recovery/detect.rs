//! Finding losses: by duplicate acknowledgements, by the SACK scoreboard, by time.

use super::super::ack::Delivery;
use super::super::config::Variant;
use super::super::sender::Sender;
use super::{DUP_THRESH, Phase};
use crate::cc::Lost;
use tcpwhy_core::units::Nanos;

/// What one event shows to be lost.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewLosses {
    /// Bytes that were in flight until then.
    pub bytes: u64,
    /// A retransmission was lost as well.
    pub is_again: bool,
}

impl Sender {
    /// Marks what this acknowledgement shows to be lost.
    pub(in crate::tcp) fn detect_losses(&mut self, now: Nanos, delivery: &Delivery) -> NewLosses {
        if delivery.advanced {
            self.recovery.dupacks = 0;
        } else if delivery.is_duplicate && self.recovery.phase == Phase::Open {
            self.recovery.dupacks += 1;
        }
        match self.recovery.variant {
            Variant::Tahoe | Variant::Reno | Variant::NewReno => self.detect_by_duplicates(now),
            Variant::Sack => self.detect_by_scoreboard(now),
            Variant::Rack => self.detect_by_time(now),
        }
    }

    /// RFC 5681 section 3.2: the third duplicate acknowledgement. NewReno waits until what was
    /// outstanding at the last loss is acknowledged (RFC 6582 section 3.2 step 2: "covers more than
    /// recover"); classic Reno does not.
    fn detect_by_duplicates(&mut self, now: Nanos) -> NewLosses {
        let is_ready = self.recovery.phase == Phase::Open
            && self.recovery.dupacks == DUP_THRESH
            && (self.recovery.variant != Variant::NewReno
                || self.board.una > self.recovery.recover);
        if !is_ready {
            return NewLosses::default();
        }
        self.mark_head_lost(now)
    }

    /// RFC 6675 section 5: "If DupAcks >= DupThresh" or "IsLost (HighACK + 1) returns true", and
    /// while recovering whatever IsLost() says.
    fn detect_by_scoreboard(&mut self, now: Nanos) -> NewLosses {
        let lost = &mut self.newly_lost;
        self.board.mark_lost_by_sack(DUP_THRESH, self.mss, |sent| lost.push(*sent));
        let found = self.report_losses(now);
        let is_third = self.recovery.dupacks >= DUP_THRESH && self.recovery.phase == Phase::Open;
        if found.bytes == 0 && is_third { self.mark_head_lost(now) } else { found }
    }

    /// RFC 8985 section 6.2 step 5: RACK_detect_loss(). Also called when the reordering timer
    /// fires.
    pub(in crate::tcp) fn detect_by_time(&mut self, now: Nanos) -> NewLosses {
        let is_urgent =
            self.recovery.phase != Phase::Open || self.board.sacked_segments() >= DUP_THRESH;
        let (rack, lost) = (&self.recovery.rack, &mut self.newly_lost);
        let reo_wnd = rack.reo_wnd(is_urgent, self.rto.min_rtt(), self.rto.srtt());
        let next = self.board.mark_lost_by_time(
            |sent| rack.loss_time(sent, reo_wnd).is_some_and(|time| time <= now),
            |sent| lost.push(*sent),
        );
        // The RFC arms the timer for the last of the segments in doubt; ours is for the first, as
        // virtual timers cost nothing.
        self.timers.reorder =
            next.and_then(|sent| rack.loss_time(&sent, reo_wnd)).unwrap_or(Nanos::MAX);
        self.report_losses(now)
    }

    /// What was outstanding was dropped without congestion: it leaves again at once, and no window
    /// falls.
    pub(in crate::tcp) fn lose_all(&mut self, now: Nanos) {
        let lost = &mut self.newly_lost;
        self.board.mark_all_lost(|_| true, |sent| lost.push(*sent));
        self.report_losses(now);
    }

    pub(super) fn mark_head_lost(&mut self, now: Nanos) -> NewLosses {
        let lost = &mut self.newly_lost;
        self.board.mark_head_lost(|sent| lost.push(*sent));
        self.report_losses(now)
    }

    /// Tells the estimator and the controller of each segment in `newly_lost`.
    pub(super) fn report_losses(&mut self, now: Nanos) -> NewLosses {
        let mut found = NewLosses::default();
        if self.newly_lost.is_empty() {
            return found;
        }
        let lost = std::mem::take(&mut self.newly_lost);
        for sent in &lost {
            let len = u64::from(sent.len);
            found.bytes += len;
            found.is_again |= sent.retransmissions > 0;
            self.rate.lost += len;
            let path = self.path(now);
            self.cc.on_lost(&Lost { path, start: sent.start, bytes: len, sent: sent.state });
        }
        self.newly_lost = lost;
        self.newly_lost.clear();
        found
    }
}
