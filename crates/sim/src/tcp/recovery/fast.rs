//! Fast retransmit and fast recovery: how they begin, go on, and end.

use super::super::ack::Delivery;
use super::super::config::{RenoRules, Variant};
use super::super::sender::Sender;
use super::detect::NewLosses;
use super::undo::FrtoVerdict;
use super::{DUP_THRESH, Phase};
use tcpwhy_core::units::Nanos;

impl Sender {
    /// Moves the recovery on by one acknowledgement, with what it shows to be lost.
    pub(in crate::tcp) fn advance_recovery(
        &mut self,
        now: Nanos,
        delivery: &Delivery,
        lost: NewLosses,
    ) {
        match self.recovery.phase {
            Phase::Open if lost.bytes > 0 => self.enter_recovery(now, delivery),
            Phase::Open => {}
            Phase::Recovery => self.continue_recovery(now, delivery),
            Phase::Loss => self.continue_loss(now, delivery),
        }
        if self.recovery.phase == Phase::Loss && self.recovery.variant == Variant::Rack {
            // Slow start after a timeout has filled a queue again: a retransmission that is lost is
            // a congestion event (`tcp_fastretrans_alert`, FLAG_LOST_RETRANS).
            if lost.is_again {
                self.recovery.frto.end();
                self.enter_recovery(now, delivery);
            }
        }
        if self.recovery.phase == Phase::Recovery && self.uses_prr() {
            let ssthresh = self.cc.ssthresh().unwrap_or(self.cc.cwnd());
            let safe_ack = delivery.advanced && lost.bytes == 0;
            let (delivered, pipe) = (delivery.delivered, self.board.pipe());
            self.recovery.prr.on_ack(delivered, pipe, ssthresh, self.mss, safe_ack);
        }
    }

    /// The reordering timer found losses without an acknowledgement.
    pub(in crate::tcp) fn enter_recovery_by_timer(&mut self, now: Nanos) {
        if self.recovery.phase != Phase::Recovery {
            self.recovery.frto.end();
            self.enter_recovery(now, &Delivery::default());
            if self.uses_prr() {
                let ssthresh = self.cc.ssthresh().unwrap_or(self.cc.cwnd());
                self.recovery.prr.on_ack(0, self.board.pipe(), ssthresh, self.mss, false);
            }
        }
    }

    /// Whether PRR says what cwnd is during fast recovery.
    pub(in crate::tcp) fn uses_prr(&self) -> bool {
        self.config.prr && self.recovery.variant.is_selective() && !self.cc.governs_recovery()
    }

    fn enter_recovery(&mut self, now: Nanos, delivery: &Delivery) {
        self.counts.fast_retransmits += 1;
        self.recovery.force_retransmit = true;
        self.recovery.tlp.reset();
        self.recovery.undo.begin(self.board.una, false);
        self.note_reduction();
        let mut path = self.path(now);
        // RFC 5681 section 3.2 step 2: what limited transmit sent "MUST NOT be included in this
        // calculation" of ssthresh.
        path.flight_size -= self.recovery.limited_bytes.min(path.flight_size);
        self.recovery.limited_bytes = 0;
        let is_selective = self.recovery.variant.is_selective();
        if is_selective {
            // FlightSize includes what was sacked. Where one recovery follows another it can exceed
            // cwnd, and half of it would let the window grow with every loss. Equation 4 of
            // RFC 5681 section 3.1 is an upper bound.
            path.flight_size = path.flight_size.min(self.cc.cwnd());
        }
        if self.recovery.variant == Variant::Tahoe {
            // Slow start anew, without a recovery: RFC 2001 section 3 without step 3.
            self.cc.on_rto(&path, true);
            self.recovery.recover = self.board.nxt;
            return;
        }
        let mut inflation = u64::from(DUP_THRESH) * self.mss;
        if !is_selective && self.config.reno_rules == RenoRules::Ns3 {
            path.flight_size -= self.mss.min(path.flight_size);
            inflation = self.mss;
        }
        self.cc.enter_recovery(&path);
        let recovery = &mut self.recovery;
        recovery.phase = Phase::Recovery;
        recovery.recover = self.board.nxt;
        recovery.partial_acks = 0;
        recovery.rescued = false;
        recovery.inflation = if is_selective { 0 } else { inflation as i64 };
        // RFC 9937 section 6: FlightSize, without what was sacked before this acknowledgement.
        let flight = self.board.flight_size() + delivery.acked;
        let sacked_before = self.board.sacked_bytes() - delivery.newly_sacked;
        recovery.prr.enter(flight.saturating_sub(sacked_before));
    }

    fn continue_recovery(&mut self, now: Nanos, delivery: &Delivery) {
        let is_complete = self.board.una >= self.recovery.recover;
        match self.recovery.variant {
            // The first acknowledgement that advances ends it.
            Variant::Reno if delivery.advanced => {
                self.recovery.undo.on_repaired();
                self.exit_recovery(now);
            }
            _ if is_complete => self.complete_recovery(now, delivery),
            Variant::NewReno if delivery.advanced => self.partial_ack(now, delivery),
            Variant::Reno | Variant::NewReno if delivery.is_duplicate => {
                // RFC 5681 section 3.2 step 4: "cwnd MUST be incremented by SMSS."
                self.recovery.inflation += self.mss as i64;
            }
            _ => {}
        }
    }

    /// RFC 6582 section 3.2 step 3, partial acknowledgement: retransmit, "deflate the congestion
    /// window by the amount of new data acknowledged", and add back one SMSS.
    fn partial_ack(&mut self, now: Nanos, delivery: &Delivery) {
        self.recovery.partial_acks += 1;
        self.recovery.inflation -= delivery.acked as i64;
        if delivery.acked >= self.mss {
            self.recovery.inflation += self.mss as i64;
        }
        self.mark_head_lost(now);
        self.recovery.force_retransmit = true;
    }

    /// What was outstanding at the loss is acknowledged. Where later losses are known the next
    /// recovery begins at once (`tcp_fastretrans_alert`): a loss beyond the recovery point is a
    /// congestion event of its own (RFC 6675 section 5.1). A controller that governs recovery does
    /// not see it end.
    fn complete_recovery(&mut self, now: Nanos, delivery: &Delivery) {
        if !self.recovery.variant.is_selective() || !self.board.has_lost() {
            self.recovery.undo.on_repaired();
            return self.exit_recovery(now);
        }
        if self.recovery.phase == Phase::Recovery && self.cc.governs_recovery() {
            self.recovery.recover = self.board.nxt;
            return;
        }
        self.exit_recovery(now);
        self.enter_recovery(now, delivery);
    }

    fn exit_recovery(&mut self, now: Nanos) {
        self.recovery.phase = Phase::Open;
        self.recovery.inflation = 0;
        self.recovery.dupacks = 0;
        self.recovery.force_retransmit = false;
        self.recovery.rack.on_recovery_exit();
        let path = self.path(now);
        self.cc.exit_recovery(&path);
    }

    /// An acknowledgement after a timeout: was it spurious, is everything repaired?
    fn continue_loss(&mut self, now: Nanos, delivery: &Delivery) {
        let is_complete = self.board.una >= self.recovery.recover;
        let (original, advanced) = (delivery.original, delivery.advanced);
        match self.recovery.frto.on_ack(original, advanced, is_complete) {
            FrtoVerdict::Spurious => return self.undo_reduction(now),
            // Step 2b: without new data to send, or room for it, the conventional way.
            FrtoVerdict::SendNew if !self.can_send_new() => self.recovery.frto.end(),
            FrtoVerdict::SendNew | FrtoVerdict::Conventional => {}
        }
        if is_complete {
            self.complete_recovery(now, delivery);
        }
    }

    /// The last reduction was not needed: everything as before, and nothing is lost.
    pub(in crate::tcp) fn undo_reduction(&mut self, now: Nanos) {
        self.counts.spurious_recoveries += 1;
        self.recovery.undo.end();
        self.recovery.frto.end();
        self.board.unmark_lost();
        self.recovery.phase = Phase::Open;
        self.recovery.inflation = 0;
        self.recovery.dupacks = 0;
        self.recovery.force_retransmit = false;
        let path = self.path(now);
        self.cc.on_spurious(&path);
    }
}
