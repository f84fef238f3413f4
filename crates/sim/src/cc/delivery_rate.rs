//! Delivery rate samples: how fast the network delivers what was sent
//! (draft-ietf-ccwg-bbr-06 section 4.1, before that draft-cheng-iccrg-delivery-rate-estimation).

use tcpwhy_core::units::Nanos;

/// What is noted about the connection when a segment is sent: the per-packet state of section
/// 4.1.2.1.2, without what the scoreboard has anyway.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendState {
    /// "P.delivered: C.delivered when the packet was sent".
    pub delivered: u64,
    /// "P.delivered_time: C.delivered_time when the packet was sent."
    pub delivered_time: Nanos,
    /// "P.first_send_time: C.first_send_time when the packet was sent."
    pub first_send_time: Nanos,
    /// "P.lost: C.lost when the packet was sent".
    pub lost: u64,
    /// "P.tx_in_flight: C.inflight immediately after the transmission of packet P."
    pub tx_in_flight: u64,
    /// "P.is_app_limited: true if C.app_limited was non-zero when the packet was sent".
    pub is_app_limited: bool,
}

/// A rate sample: section 4.1.2.1.3 and 2.3.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateSample {
    /// "RS.delivery_rate"; 0 when the interval is too short to be believed.
    pub delivery_rate_bps: u64,
    /// "RS.is_app_limited".
    pub is_app_limited: bool,
    /// "RS.interval: The length of the sampling interval."
    pub interval: Nanos,
    /// "RS.delivered: The amount of data marked as delivered over the sampling interval."
    pub delivered: u64,
    /// "RS.prior_delivered: The P.delivered count from the most recently delivered packet."
    pub prior_delivered: u64,
    /// "RS.lost": deemed lost between transmission and acknowledgement of that packet.
    pub lost: u64,
    /// "RS.tx_in_flight": in flight when that packet was sent.
    pub tx_in_flight: u64,
}

/// The estimator of a connection: section 4.1.2.1.1.
#[derive(Debug, Default)]
pub struct DeliveryRate {
    /// "C.delivered: The total amount of data delivered so far".
    pub delivered: u64,
    /// "C.lost: The total amount of data marked as lost so far".
    pub lost: u64,
    /// "C.delivered_time: The wall clock time when C.delivered was last updated."
    delivered_time: Nanos,
    /// "C.first_send_time: If packets are in flight, then this holds the send time of the packet
    /// that was most recently marked as delivered."
    first_send_time: Nanos,
    /// "C.app_limited": `delivered` at which the bubble has left the pipe, 0 when there is none.
    app_limited: u64,
    /// The sample under construction for the acknowledgement being processed.
    newest: Option<Newest>,
}

/// What the most recently sent packet among those just delivered carried.
#[derive(Clone, Copy, Debug)]
struct Newest {
    sent: SendState,
    send_time: Nanos,
    end: u64,
}

impl DeliveryRate {
    /// OnPacketSent() of section 4.1.2.2. `in_flight` does not include the packet.
    pub fn on_sent(&mut self, now: Nanos, in_flight: u64, bytes: u64) -> SendState {
        if in_flight == 0 {
            self.first_send_time = now;
            self.delivered_time = now;
        }
        SendState {
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_send_time: self.first_send_time,
            lost: self.lost,
            tx_in_flight: in_flight + bytes,
            is_app_limited: self.app_limited != 0,
        }
    }

    /// UpdateRateSample() of section 4.1.2.3: `bytes` up to offset `end`, sent at `send_time`, are
    /// delivered for the first time.
    pub fn on_delivered(&mut self, sent: &SendState, send_time: Nanos, end: u64, bytes: u64) {
        self.delivered += bytes;
        let is_newest =
            self.newest.is_none_or(|newest| (send_time, end) > (newest.send_time, newest.end));
        if is_newest {
            self.newest = Some(Newest { sent: *sent, send_time, end });
        }
    }

    /// GenerateRateSample() of section 4.1.2.3, at the end of an acknowledgement: `None` when it
    /// delivered nothing.
    pub fn sample(&mut self, now: Nanos, min_rtt: Option<Nanos>) -> Option<RateSample> {
        let Newest { sent, send_time, .. } = self.newest.take()?;
        self.delivered_time = now;
        self.first_send_time = self.first_send_time.max(send_time);
        if self.app_limited != 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        // "Use the longer of the send_elapsed and ack_elapsed".
        let send_elapsed = send_time.since(sent.first_send_time);
        let ack_elapsed = now.since(sent.delivered_time);
        let interval = send_elapsed.max(ack_elapsed);
        let delivered = self.delivered - sent.delivered;
        // "Normally we expect interval >= MinRTT": what is faster comes from the acknowledgement of
        // a transmission that was repeated needlessly.
        let is_reliable = interval.0 > 0 && min_rtt.is_none_or(|min_rtt| interval >= min_rtt);
        Some(RateSample {
            delivery_rate_bps: if is_reliable { rate_bps(delivered, interval) } else { 0 },
            is_app_limited: sent.is_app_limited,
            interval,
            delivered,
            prior_delivered: sent.delivered,
            lost: self.lost - sent.lost,
            tx_in_flight: sent.tx_in_flight,
        })
    }

    /// MarkConnectionAppLimited() of section 4.1.2.4.
    pub fn mark_app_limited(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Whether samples of what is sent now are limited by the application.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited != 0
    }
}

/// `bytes` per `interval`, in bit/s.
pub fn rate_bps(bytes: u64, interval: Nanos) -> u64 {
    (u128::from(bytes) * 8_000_000_000 / interval.0 as u128) as u64
}

/// The bytes that `rate_bps` moves in `interval`: a bandwidth-delay product.
pub fn volume(rate_bps: u64, interval: Nanos) -> u64 {
    (u128::from(rate_bps) * interval.0 as u128 / 8_000_000_000) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten packets of 1000 bytes leave back to back; the network delivers one each millisecond.
    #[test]
    fn a_flight_measures_the_rate_of_its_acknowledgements() {
        let mut rate = DeliveryRate::default();
        let flight: Vec<_> = (0..10).map(|i| rate.on_sent(Nanos(0), i * 1_000, 1_000)).collect();
        let mut last = None;
        for (i, sent) in flight.iter().enumerate() {
            rate.on_delivered(sent, Nanos(0), (i as u64 + 1) * 1_000, 1_000);
            last = rate.sample(Nanos::from_millis(10 + i as i64), None);
        }
        // The whole flight took 19 ms from its first transmission.
        let sample = last.unwrap();
        assert_eq!((sample.delivered, sample.interval), (10_000, Nanos::from_millis(19)));
        assert_eq!(sample.delivery_rate_bps, 10_000 * 8 * 1_000 / 19);
    }

    #[test]
    fn an_application_limited_phase_ends_one_flight_later() {
        let mut rate = DeliveryRate::default();
        let before = rate.on_sent(Nanos(0), 0, 1_000);
        rate.mark_app_limited(1_000);
        let within = rate.on_sent(Nanos(1), 1_000, 1_000);
        assert!(!before.is_app_limited && within.is_app_limited);
        rate.on_delivered(&before, Nanos(0), 1_000, 1_000);
        rate.sample(Nanos(10), None);
        assert!(rate.is_app_limited());
        rate.on_delivered(&within, Nanos(1), 2_000, 1_000);
        assert!(rate.sample(Nanos(11), None).unwrap().is_app_limited);
        assert!(!rate.is_app_limited());
    }
}
