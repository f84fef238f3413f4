//! RACK: a segment is lost when one sent sufficiently later has been delivered (RFC 8985 section
//! 6).

use super::scoreboard::Sent;
use tcpwhy_core::units::Nanos;

/// The per-connection variables of RFC 8985 section 5.3 that concern RACK.
#[derive(Debug, Default)]
pub struct Rack {
    /// "RACK.xmit_ts": when the most recently sent of the delivered segments was sent.
    xmit_ts: Nanos,
    /// "RACK.end_seq": its end.
    end_seq: u64,
    /// "RACK.rtt": its round-trip time; `None` before the first delivery.
    rtt: Option<Nanos>,
    /// "RACK.fack": the highest position delivered.
    fack: u64,
    /// "RACK.reordering_seen".
    pub reordering_seen: bool,
    /// "RACK.reo_wnd_mult".
    reo_wnd_mult: i64,
    /// "RACK.reo_wnd_persist": recoveries until the window shrinks back.
    reo_wnd_persist: u32,
    /// "RACK.dsack_round": end of the round in which a DSACK was seen.
    dsack_round: Option<u64>,
}

impl Rack {
    /// At the start of a connection: section 6.2, "RACK.reo_wnd_mult = 1".
    pub fn new() -> Rack {
        Rack { reo_wnd_mult: 1, ..Rack::default() }
    }

    /// Sections 6.2 steps 2 and 3: `sent` was delivered at `now`. `is_earlier` when the echoed
    /// timestamp says that an earlier transmission of it was.
    pub fn on_delivered(
        &mut self,
        sent: &Sent,
        now: Nanos,
        min_rtt: Option<Nanos>,
        is_earlier: bool,
    ) {
        if sent.end() > self.fack {
            self.fack = sent.end();
        } else if sent.end() < self.fack && sent.retransmissions == 0 {
            // An original arrived after one sent later.
            self.reordering_seen = true;
        }
        let rtt = now.since(sent.sent_at);
        // Faster than the path: the acknowledgement is of an earlier transmission.
        let is_too_fast = min_rtt.is_some_and(|min_rtt| rtt < min_rtt);
        if sent.retransmissions > 0 && (is_too_fast || is_earlier) {
            return;
        }
        if self.rtt.is_none() || (sent.sent_at, sent.end()) > (self.xmit_ts, self.end_seq) {
            self.rtt = Some(rtt);
            self.xmit_ts = sent.sent_at;
            self.end_seq = sent.end();
        }
    }

    /// Section 6.2 step 4: a DSACK widens the window, at most once a round trip, and makes it last
    /// for 16 recoveries.
    pub fn on_dsack(&mut self, snd_una: u64, snd_nxt: u64) {
        if self.dsack_round.is_none_or(|round| snd_una >= round) {
            self.dsack_round = Some(snd_nxt);
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = REO_WND_PERSIST;
        }
    }

    /// Section 6.2 step 4: "RACK.reo_wnd_persist" counts recoveries down.
    pub fn on_recovery_exit(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// Section 6.2 step 4: the reordering window. `is_urgent` when in recovery or when DupThresh
    /// segments were sacked.
    pub fn reo_wnd(&self, is_urgent: bool, min_rtt: Option<Nanos>, srtt: Option<Nanos>) -> Nanos {
        if !self.reordering_seen && is_urgent {
            return Nanos(0);
        }
        // "Return min(RACK.reo_wnd_mult * RACK.min_RTT / 4, SRTT)".
        let quarter = min_rtt.map_or(0, |rtt| rtt.0 / 4);
        let wide = Nanos(quarter.saturating_mul(self.reo_wnd_mult));
        srtt.map_or(wide, |srtt| wide.min(srtt))
    }

    /// Section 6.2 step 5: when `sent` is to be deemed lost; `None` while nothing that was sent
    /// after it has been delivered.
    pub fn loss_time(&self, sent: &Sent, reo_wnd: Nanos) -> Option<Nanos> {
        let rtt = self.rtt?;
        let is_before = (sent.sent_at, sent.end()) < (self.xmit_ts, self.end_seq);
        is_before.then(|| sent.sent_at + rtt + reo_wnd)
    }

    /// Section 6.3: whether `sent` is lost when the retransmission timer expires at `now`.
    pub fn is_lost_at_timeout(&self, sent: &Sent, reo_wnd: Nanos, now: Nanos) -> bool {
        sent.sent_at + self.rtt.unwrap_or(Nanos(0)) + reo_wnd <= now
    }
}

/// Section 6.2 step 4: "RACK.reo_wnd_persist = 16".
const REO_WND_PERSIST: u32 = 16;
