//! Proportional rate reduction (RFC 9937): cwnd during fast recovery.

/// The variables of RFC 9937 section 6.
#[derive(Debug, Default)]
pub struct Prr {
    /// "prr_delivered = 0 // Total bytes delivered in recovery".
    prr_delivered: u64,
    /// "prr_out = 0 // Total bytes sent in recovery".
    prr_out: u64,
    /// "RecoverFS": FlightSize right before recovery.
    recover_fs: u64,
    /// The resulting congestion window: "cwnd = inflight + sndcnt".
    pub cwnd: u64,
}

impl Prr {
    /// Recovery begins. `recover_fs` is the data in flight before it: FlightSize without what was
    /// selectively acknowledged earlier, with what this acknowledgement delivered.
    pub fn enter(&mut self, recover_fs: u64) {
        *self = Prr { recover_fs: recover_fs.max(1), ..Prr::default() };
    }

    /// "On every ACK starting or during fast recovery". `safe_ack`: SND.UNA advanced and no further
    /// loss was found.
    pub fn on_ack(&mut self, delivered: u64, pipe: u64, ssthresh: u64, mss: u64, safe_ack: bool) {
        self.prr_delivered += delivered;
        let mut sndcnt = if pipe > ssthresh {
            // "Proportional Rate Reduction: sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) -
            // prr_out".
            (self.prr_delivered * ssthresh).div_ceil(self.recover_fs).saturating_sub(self.prr_out)
        } else {
            // "PRR-CRB by default: sndcnt = MAX(prr_delivered - prr_out, DeliveredData)"; "PRR-SSRB
            // when recovery is in good progress: sndcnt += MSS"; "attempt to catch up".
            let bound = self.prr_delivered.saturating_sub(self.prr_out).max(delivered);
            let slow_start = if safe_ack { mss } else { 0 };
            (bound + slow_start).min(ssthresh - pipe)
        };
        if self.prr_out == 0 && sndcnt == 0 {
            // "Force a fast retransmit upon entering recovery: sndcnt = MSS".
            sndcnt = mss;
        }
        self.cwnd = pipe + sndcnt;
    }

    /// "On any data transmission or retransmission: prr_out += (data sent)".
    pub fn on_sent(&mut self, bytes: u64) {
        self.prr_out += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 20 segments outstanding, one lost, ssthresh 10: the retransmission, then one segment on
    /// every second ACK, as in the figure of RFC 6937 section 4. At pipe = ssthresh nothing leaves,
    /// below it what is missing.
    #[test]
    fn one_loss_sends_on_every_second_ack() {
        let (mut prr, mut pipe) = (Prr::default(), 19u64);
        prr.enter(20);
        let mut sent = String::new();
        for ack in 0..19 {
            pipe -= 1;
            prr.on_ack(1, pipe, 10, 1, false);
            let may_send = prr.cwnd > pipe;
            sent.push(if may_send { if ack == 0 { 'R' } else { 'N' } } else { '-' });
            if may_send {
                prr.on_sent(1);
                pipe += 1;
            }
        }
        assert_eq!(sent, "R-N-N-N-N-N-N-N--NN");
        assert_eq!(pipe, 10);
    }
}
