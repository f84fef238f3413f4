//! What an acknowledgement says: what arrived, how long it took, how much room there is.

use super::config::{PartialAcks, RenoRules, Variant};
use super::recovery::Phase;
use super::recovery::scoreboard::Sent;
use super::recovery::tlp::Verdict;
use super::sender::Sender;
use super::timestamps::is_before;
use crate::cc::Ack;
use crate::packet::SackBlocks;
use tcpwhy_core::units::{Nanos, Seq};

/// An acknowledgement, with positions widened to offsets from the initial sequence number.
#[derive(Clone, Copy, Debug)]
pub struct Acknowledgement {
    /// SEG.ACK.
    pub ack: u64,
    /// SEG.WND, scaled.
    pub window: u64,
    /// SEG.SEQ, as an offset from the peer's initial sequence number.
    pub seq: u64,
    /// The segment occupies sequence space: it is no duplicate acknowledgement.
    pub has_data: bool,
    /// The peer echoes a congestion mark.
    pub ece: bool,
    /// Time since the echoed timestamp was sent, in the resolution of the timestamps clock.
    pub timestamp_rtt: Option<Nanos>,
    /// When the echoed timestamp was sent: the start of its tick.
    pub echoed_at: Option<Nanos>,
}

/// What one acknowledgement delivered.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    /// Newly cumulatively acknowledged bytes.
    pub acked: u64,
    /// Newly acknowledged bytes of either kind.
    pub delivered: u64,
    /// Newly selectively acknowledged bytes.
    pub newly_sacked: u64,
    /// SND.UNA moved.
    pub advanced: bool,
    /// It is a duplicate acknowledgement: RFC 5681 section 2, with SACK RFC 6675 section 2.
    pub is_duplicate: bool,
    /// Data was delivered that was sent before the last timeout, and only then.
    pub original: bool,
    /// Something cumulatively acknowledged had been sent more than once: no measurement (Karn).
    ambiguous: bool,
    /// When the earliest unambiguous segment was sent.
    earliest: Option<Nanos>,
    /// When the latest unambiguous segment was sent.
    latest: Option<Nanos>,
    /// The first block of the option reported a duplicate, and its left edge (RFC 2883).
    dsack: Option<u64>,
}

impl Sender {
    /// Processes an acknowledgement of something that was sent (`ack <= SND.NXT`); `blocks` with
    /// `iss` as their origin.
    pub fn on_ack(&mut self, now: Nanos, ack: &Acknowledgement, blocks: &SackBlocks, iss: Seq) {
        if ack.ack < self.board.una {
            return;
        }
        self.check_app_limited();
        let prior_pipe = self.board.pipe();
        let mut delivery = self.deliver(now, ack, blocks, iss);
        let is_window_same = self.update_window(ack);
        delivery.is_duplicate = match self.recovery.variant.is_selective() {
            true => delivery.newly_sacked > 0,
            false => {
                !delivery.advanced
                    && !ack.has_data
                    && is_window_same
                    && self.board.flight_size() > 0
            }
        };
        self.measure(now, ack, &delivery);
        self.process_dsack(now, ack, &delivery);
        self.detect_late_segment(now, ack, &delivery);
        let phase = self.recovery.phase;
        let lost = self.detect_losses(now, &delivery);
        self.advance_recovery(now, &delivery, lost);
        let is_held = self.ends_recovery(phase) || self.react_to_ece(now, ack);
        self.tell_controller(now, &delivery, lost.bytes, prior_pipe, is_held);
        self.restart_timers(now, &delivery);
    }

    /// Updates the scoreboard and gathers what the acknowledgement delivered.
    fn deliver(
        &mut self,
        now: Nanos,
        ack: &Acknowledgement,
        blocks: &SackBlocks,
        iss: Seq,
    ) -> Delivery {
        let mut delivery = Delivery { advanced: ack.ack > self.board.una, ..Delivery::default() };
        let (una, min_rtt) = (self.board.una, self.rto.min_rtt());
        let in_loss = self.recovery.phase == Phase::Loss;
        let before_timeout = if in_loss { self.recovery.recover } else { 0 };
        let (rate, rack) = (&mut self.rate, &mut self.recovery.rack);
        let mut arrive = |sent: &Sent, delivery: &mut Delivery, echoed_at: Option<Nanos>| {
            let len = u64::from(sent.len);
            delivery.delivered += len;
            rate.on_delivered(&sent.state, sent.sent_at, sent.end(), len);
            rack.on_delivered(sent, now, min_rtt, is_before(echoed_at, sent.sent_at));
            if sent.retransmissions == 0 {
                delivery.original |= sent.end() <= before_timeout;
                delivery.earliest = Some(delivery.earliest.unwrap_or(sent.sent_at));
                delivery.latest = delivery.latest.max(Some(sent.sent_at));
            }
        };
        if delivery.advanced {
            self.board.ack(ack.ack, |sent| {
                delivery.acked += u64::from(sent.len);
                delivery.ambiguous |= sent.retransmissions > 0;
                if !sent.is_sacked() {
                    arrive(sent, &mut delivery, ack.echoed_at);
                }
            });
        }
        if self.recovery.variant.is_selective() {
            delivery.dsack =
                dsack(iss + ack.ack as u32, blocks).then(|| widen(una, blocks[0].0, iss));
            for &(left, right) in &blocks[usize::from(delivery.dsack.is_some()).min(blocks.len())..]
            {
                let (start, end) = (widen(una, left, iss), widen(una, right, iss));
                if ack.ack <= start && start < end && end <= self.board.nxt {
                    self.board.sack(start, end, |sent| {
                        delivery.newly_sacked += u64::from(sent.len);
                        // The echo is of the last segment in order (RFC 7323 section 4.3).
                        arrive(sent, &mut delivery, None);
                    });
                }
            }
        } else {
            // RFC 5682 without SACK: an acknowledgement that covers a retransmission proves nothing
            // about what it covers besides.
            delivery.original &= !delivery.ambiguous;
        }
        delivery
    }

    /// RFC 9293 section 3.10.7.4: the send window, from segments not older than the last update.
    /// Returns whether the window is the same as before.
    fn update_window(&mut self, ack: &Acknowledgement) -> bool {
        let window = &mut self.peer_window;
        let before = window.bytes;
        if (ack.seq, ack.ack) >= (window.updated_seq, window.updated_ack) {
            window.updated_seq = ack.seq;
            window.updated_ack = ack.ack;
            window.bytes = ack.window;
            window.largest = window.largest.max(ack.window);
        }
        if window.bytes > 0 {
            self.window_probes = 0;
        }
        window.bytes == before
    }

    /// Karn's algorithm: measure what was sent once; with timestamps also what was sent again.
    fn measure(&mut self, now: Nanos, ack: &Acknowledgement, delivery: &Delivery) {
        let unambiguous = delivery.earliest.filter(|_| !delivery.ambiguous);
        let by_timestamp = ack.timestamp_rtt.filter(|_| delivery.advanced);
        let rtt = unambiguous.map(|sent| now.since(sent)).or(by_timestamp);
        if let Some(rtt) = rtt {
            self.rto.on_measurement(rtt);
        }
        if delivery.advanced {
            self.retries = 0;
            self.rto.on_ack();
            self.recovery.timed_out_una = None;
        }
        if delivery.delivered > 0 {
            self.last_progress = now;
        }
    }

    /// A duplicate arrived at the peer: reordering or a needless retransmission.
    fn process_dsack(&mut self, now: Nanos, ack: &Acknowledgement, delivery: &Delivery) {
        let start = delivery.dsack;
        let is_of_probe = start.is_some() && self.recovery.tlp.is_outstanding();
        let verdict = self.recovery.tlp.on_ack(
            ack.ack,
            is_of_probe,
            delivery.newly_sacked > 0 || start.is_some(),
            !delivery.advanced,
        );
        if verdict == Verdict::RepairedLoss && self.recovery.phase == Phase::Open {
            // RFC 8985 section 7.4.2: "Invoke congestion control to react to the loss event the
            // probe has repaired".
            self.note_reduction();
            let path = self.path(now);
            self.cc.enter_recovery(&path);
            self.cc.exit_recovery(&path);
        }
        if let Some(start) = start {
            // Duplicates beyond what was sent again are the network's: no sign of reordering, as
            // Linux's tcp_dsack_seen() has it.
            self.counts.duplicates_reported += 1;
            if self.counts.duplicates_reported <= self.counts.retransmitted_segments {
                self.recovery.rack.on_dsack(self.board.una, self.board.nxt);
            }
            if self.recovery.undo.on_dsack(start) {
                // Nothing that was sent again had been lost.
                self.recovery.rack.reordering_seen |= !self.recovery.undo.is_of_timeout();
                self.undo_reduction(now);
            }
        }
    }

    /// Eifel detection (RFC 3522; Linux's `tcp_packet_delayed`): what moved SND.UNA was sent before
    /// anything was sent again, so that it was late, not lost. Reordering is known from then on,
    /// and the reduction is taken back once no retransmission is under way.
    fn detect_late_segment(&mut self, now: Nanos, ack: &Acknowledgement, delivery: &Delivery) {
        let phase = self.recovery.phase;
        if !delivery.advanced || phase == Phase::Open || !self.recovery.undo.is_late(ack.echoed_at)
        {
            return;
        }
        self.recovery.rack.reordering_seen |= phase == Phase::Recovery;
        let is_complete = self.board.una >= self.recovery.recover;
        if phase == Phase::Loss || is_complete || self.board.again_bytes() == 0 {
            self.undo_reduction(now);
        }
    }

    /// Whether cwnd does not grow with an acknowledgement that found the sender in `before`: RFC
    /// 5681 section 3.2 step 6 sets it to ssthresh when fast recovery ends, and no more. In Linux
    /// what ends a recovery counts as any other (`tcp_cong_control` looks at the state after it).
    fn ends_recovery(&self, before: Phase) -> bool {
        match before {
            Phase::Recovery => {
                self.recovery.variant != Variant::Rack || !self.cc.counts_deliveries()
            }
            Phase::Loss => {
                let beyond = self.board.una.saturating_sub(self.recovery.recover);
                self.config.reno_rules == RenoRules::Ns3
                    && self.recovery.phase == Phase::Open
                    && beyond < self.mss
            }
            Phase::Open => false,
        }
    }

    /// RFC 3168 section 6.1.2: reduce once per window of data, and do not grow on an ACK with ECE.
    fn react_to_ece(&mut self, now: Nanos, ack: &Acknowledgement) -> bool {
        if !ack.ece || !self.ecn.is_enabled {
            return false;
        }
        if self.board.una >= self.ecn.reduced_at && self.recovery.phase == Phase::Open {
            self.note_reduction();
            let path = self.path(now);
            self.cc.on_ecn(&path);
        }
        true
    }

    fn tell_controller(
        &mut self,
        now: Nanos,
        delivery: &Delivery,
        lost: u64,
        prior_pipe: u64,
        is_held: bool,
    ) {
        let sample = self.rate.sample(now, self.rto.min_rtt());
        let mut path = self.path(now);
        path.in_recovery |= is_held;
        self.cc.on_ack(&Ack {
            path,
            acked: delivery.acked,
            delivered: delivery.delivered,
            lost,
            prior_pipe,
            rtt: delivery.latest.map(|sent| now.since(sent)),
            sample,
        });
        if self.cc.limits_samples() {
            self.rate.mark_app_limited(self.board.pipe());
        }
        self.buffer.release(self.board.una, self.cc.cwnd(), self.mss);
        self.wake_writer(now);
        if self.board.sacked_bytes() == 0 && self.recovery.dupacks == 0 {
            self.recovery.limited_bytes = 0;
        }
    }

    /// A program that waits for room is told of it, and runs when the scheduler has it.
    fn wake_writer(&mut self, now: Nanos) {
        let delay = self.config.writer_delay.0 as f64;
        if delay > 0.0 && self.buffer.wakes_writer() {
            self.buffer.set_late(true);
            self.timers.writer = now + Nanos((delay * self.random.exponential()) as i64);
        }
    }

    /// RFC 6298 section 5.2 and 5.3.
    fn restart_timers(&mut self, now: Nanos, delivery: &Delivery) {
        if self.board.flight_size() == 0 {
            self.timers.retransmission = Nanos::MAX;
            self.timers.reorder = Nanos::MAX;
            self.timers.probe = Nanos::MAX;
        } else if delivery.advanced {
            let is_first = self.recovery.partial_acks <= 1;
            let is_patient = self.config.partial_acks == PartialAcks::SlowButSteady;
            if is_patient || is_first || self.recovery.phase != Phase::Recovery {
                self.timers.retransmission = now + self.rto.timeout();
            }
            self.schedule_probe(now);
        } else if delivery.newly_sacked > 0 {
            if self.tells_of_time_before_head(delivery) {
                self.timers.retransmission = now + self.rto.timeout();
            }
            self.schedule_probe(now);
        }
    }

    /// Linux's `tcp_clean_rtx_queue`: a selective acknowledgement of what was sent before the
    /// oldest segment was sent last starts the timer anew. The queue that it waited in is the one
    /// that a retransmission waits in. What was sent later puts off no timeout.
    fn tells_of_time_before_head(&self, delivery: &Delivery) -> bool {
        self.recovery.variant == Variant::Rack
            && delivery
                .earliest
                .zip(self.board.first())
                .is_some_and(|(earliest, head)| earliest < head.sent_at)
    }

    /// CheckIfApplicationLimited() of draft-ietf-ccwg-bbr-06 section 4.1.2.4.
    pub(super) fn check_app_limited(&mut self) {
        let has_nothing = self.board.nxt >= self.buffer.end() && self.board.awaiting_bytes() == 0;
        if has_nothing && self.board.pipe() < self.cwnd() {
            self.rate.mark_app_limited(self.board.pipe());
        }
    }
}

/// RFC 2883 section 4: the first block reports a duplicate when it lies below the cumulative
/// acknowledgement or within the second block.
fn dsack(ack: Seq, blocks: &SackBlocks) -> bool {
    let Some(&(left, right)) = blocks.first() else { return false };
    let below = right.distance(ack) <= 0;
    let within = blocks
        .get(1)
        .is_some_and(|second| second.0.distance(left) <= 0 && right.distance(second.1) <= 0);
    below || within
}

/// The offset from `iss` nearest to `near` that is `seq` on the wire.
pub fn widen(near: u64, seq: Seq, iss: Seq) -> u64 {
    let delta = seq.distance(iss + near as u32);
    near.saturating_add_signed(i64::from(delta))
}
