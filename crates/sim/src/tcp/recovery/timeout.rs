//! The retransmission timer, the tail loss probe timer and the reordering timer expire.

use super::super::config::{RenoRules, Variant};
use super::super::sender::Sender;
use super::tlp::probe_timeout;
use super::{DUP_THRESH, Phase};
use tcpwhy_core::units::Nanos;

impl Sender {
    /// RFC 6298 section 5.4 to 5.6 and RFC 5681 section 3.1: everything outstanding is deemed lost
    /// (with RACK what is old enough, RFC 8985 section 6.3), cwnd is one segment, the timer backs
    /// off. Returns false when the connection is to be given up.
    pub(in crate::tcp) fn on_retransmission_timeout(&mut self, now: Nanos) -> bool {
        self.counts.timeouts += 1;
        self.retries += 1;
        if self.config.max_retries.is_some_and(|max| self.retries > max) {
            return false;
        }
        let is_ns3 = self.config.reno_rules == RenoRules::Ns3;
        let is_first = is_ns3 || self.recovery.timed_out_una != Some(self.board.una);
        let was_open = self.recovery.phase == Phase::Open;
        // `tcp_enter_loss`: what takes the recovery back also takes back the timeout in it.
        let continues =
            self.recovery.phase == Phase::Recovery && self.recovery.variant == Variant::Rack;
        let mut path = self.path(now);
        // What duplicate acknowledgements say has arrived is not in flight any more: ssthresh falls
        // with what is, as in ns-3, or a timeout in fast recovery would raise it.
        let arrived = self.recovery.inflation.max(0) as u64 + self.recovery.limited_bytes;
        path.flight_size = path.flight_size.saturating_sub(arrived);
        if is_ns3 && self.recovery.phase == Phase::Loss {
            path.flight_size = self.board.pipe();
        } else if self.recovery.variant.is_selective() {
            // Nor is what was selectively acknowledged: with a hole at the head it may be more than
            // cwnd, and half of it would raise ssthresh.
            path.flight_size -= self.board.sacked_bytes().min(path.flight_size);
        }
        self.mark_lost_at_timeout(now);
        path.pipe = self.board.pipe();
        path.lost = self.rate.lost;
        let recovery = &mut self.recovery;
        recovery.timed_out_una = Some(self.board.una);
        recovery.phase = Phase::Loss;
        recovery.recover = self.board.nxt;
        recovery.dupacks = 0;
        recovery.inflation = 0;
        recovery.limited_bytes = 0;
        recovery.force_retransmit = true;
        recovery.tlp.reset();
        if self.config.frto {
            recovery.frto.begin(was_open);
        }
        if !continues {
            recovery.undo.begin(self.board.una, true);
        }
        self.note_reduction();
        path.in_loss = true;
        self.cc.on_rto(&path, is_first);
        self.rto.back_off();
        self.timers.retransmission = now + self.rto.timeout();
        self.timers.probe = Nanos::MAX;
        self.timers.reorder = Nanos::MAX;
        self.note_stall(now);
        true
    }

    fn mark_lost_at_timeout(&mut self, now: Nanos) {
        let (rack, lost) = (&self.recovery.rack, &mut self.newly_lost);
        let is_rack = self.recovery.variant == Variant::Rack;
        let is_urgent = self.board.sacked_segments() >= DUP_THRESH;
        let reo_wnd = rack.reo_wnd(is_urgent, self.rto.min_rtt(), self.rto.srtt());
        let una = self.board.una;
        self.board.mark_all_lost(
            |sent| !is_rack || sent.start == una || rack.is_lost_at_timeout(sent, reo_wnd, now),
            |sent| lost.push(*sent),
        );
        self.report_losses(now);
    }

    /// RFC 8985 section 7.2: the probe timer runs after new data was sent or acknowledged, unless
    /// something is sacked, recovery is under way, or a probe is outstanding. It never runs longer
    /// than the retransmission timer.
    pub(in crate::tcp) fn schedule_probe(&mut self, now: Nanos) {
        let is_applicable = self.config.tlp
            && self.recovery.variant == Variant::Rack
            && self.recovery.phase == Phase::Open
            && self.board.flight_size() > 0
            && self.board.sacked_bytes() == 0
            && !self.recovery.tlp.is_outstanding();
        self.timers.probe = if is_applicable {
            let one_outstanding = self.board.flight_size() <= self.mss;
            (now + probe_timeout(self.rto.srtt(), one_outstanding)).min(self.timers.retransmission)
        } else {
            Nanos::MAX
        };
    }

    /// RFC 8985 section 7.3: the probe timer expired. What leaves is decided when sending; the
    /// retransmission timer starts anew.
    pub(in crate::tcp) fn on_probe_timeout(&mut self, now: Nanos) {
        self.timers.probe = Nanos::MAX;
        self.probe_pending = true;
        self.timers.retransmission = now + self.rto.timeout();
    }

    /// RFC 8985 section 6.2 step 5: the reordering window of some segment is over.
    pub(in crate::tcp) fn on_reordering_timeout(&mut self, now: Nanos) {
        self.timers.reorder = Nanos::MAX;
        if self.detect_by_time(now).bytes > 0 {
            self.enter_recovery_by_timer(now);
        }
    }
}
