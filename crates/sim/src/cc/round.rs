//! Packet-timed round trips, as BBR counts them.

/// Counts rounds: a round is over when something sent after its start is delivered
/// (draft-ietf-ccwg-bbr-06 section 5.5.1).
#[derive(Debug, Default)]
pub struct Round {
    /// "BBR.next_round_delivered: P.delivered value denoting the end of a packet-timed round trip."
    next_delivered: u64,
    /// "BBR.round_count: Count of packet-timed round trips elapsed so far."
    pub count: u64,
    /// "BBR.round_start: A boolean that BBR sets to true once per packet-timed round trip".
    pub is_start: bool,
}

impl Round {
    /// UpdateRound(): a packet was delivered that was sent when `prior_delivered` had been.
    pub fn update(&mut self, prior_delivered: u64, delivered: u64) {
        self.is_start = prior_delivered >= self.next_delivered;
        if self.is_start {
            self.start(delivered);
            self.count += 1;
        }
    }

    /// StartRound(): the current round ends with what is sent from now on.
    pub fn start(&mut self, delivered: u64) {
        self.next_delivered = delivered;
    }
}
