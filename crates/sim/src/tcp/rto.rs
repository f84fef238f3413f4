//! The retransmission timeout (RFC 6298): estimator, bounds, backoff.

use tcpwhy_core::units::Nanos;

/// How the timeout is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    /// Before the first measurement. RFC 6298 section 2.1: "the sender SHOULD set RTO <- 1 second".
    pub initial: Nanos,
    /// Lower bound. Section 2.4: "if it is less than 1 second, then the RTO SHOULD be rounded up to
    /// 1 second"; Linux has 200 ms.
    pub min: Nanos,
    /// Upper bound, also of the backed-off timeout, and above `min` when they cross. Section 2.5:
    /// "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
    pub max: Nanos,
    /// G of section 2.2: "RTO <- SRTT + max (G, K*RTTVAR)". Linux has its minimum RTO here.
    pub granularity: Nanos,
    /// The timeout is rounded up to a multiple of this, as by a timer wheel.
    pub tick: Option<Nanos>,
    /// What takes back the backoff.
    pub backoff_reset: BackoffReset,
}

/// What takes back the exponential backoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackoffReset {
    /// Only a new measurement, as Karn's algorithm and RFC 6298 section 5 (end) have it.
    Measurement,
    /// Any acknowledgement of new data, as in ns-3.
    AnyAck,
}

impl Default for RtoConfig {
    /// Linux: initial 1 s, at least 200 ms above the smoothed round-trip time, at most 120 s.
    fn default() -> RtoConfig {
        RtoConfig {
            initial: Nanos::SECOND,
            min: Nanos::from_millis(200),
            max: Nanos(120 * Nanos::SECOND.0),
            granularity: Nanos::from_millis(200),
            tick: None,
            backoff_reset: BackoffReset::Measurement,
        }
    }
}

/// The estimator.
#[derive(Clone, Debug)]
pub struct Rto {
    config: RtoConfig,
    /// "SRTT, smoothed round-trip time".
    srtt: Option<Nanos>,
    /// "RTTVAR, round-trip time variation".
    rttvar: Nanos,
    /// The timeout before backoff.
    base: Nanos,
    /// How often it has been doubled.
    backoff: u32,
    /// The least measurement.
    min_rtt: Option<Nanos>,
}

impl Rto {
    /// Without any measurement.
    pub fn new(config: RtoConfig) -> Rto {
        let base = config.initial.min(config.max);
        Rto { config, srtt: None, rttvar: Nanos(0), base, backoff: 0, min_rtt: None }
    }

    /// A round-trip time was measured, not on a retransmitted segment (Karn).
    pub fn on_measurement(&mut self, rtt: Nanos) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        // Section 2.3, with alpha = 1/8 and beta = 1/4; section 2.2 for the first measurement.
        let srtt = match self.srtt {
            None => {
                self.rttvar = Nanos(rtt.0 / 2);
                rtt
            }
            Some(srtt) => {
                let deviation = (srtt - rtt).0.abs();
                self.rttvar = Nanos(self.rttvar.0 + (deviation - self.rttvar.0) / 4);
                Nanos(srtt.0 + (rtt - srtt).0 / 8)
            }
        };
        self.srtt = Some(srtt);
        let variation = self.config.granularity.max(Nanos(4 * self.rttvar.0));
        self.base = (srtt + variation).max(self.config.min);
        self.backoff = 0;
    }

    /// Section 5.5: "The host MUST set RTO <- RTO * 2 ("back off the timer")."
    pub fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// New data was acknowledged.
    pub fn on_ack(&mut self) {
        if self.config.backoff_reset == BackoffReset::AnyAck {
            self.backoff = 0;
        }
    }

    /// Section 5.7: when the SYN had to be sent again and no measurement exists, "the RTO MUST be
    /// re-initialized to 3 seconds when data transmission begins".
    pub fn after_handshake_loss(&mut self) {
        if self.srtt.is_none() {
            self.base = Nanos(3 * Nanos::SECOND.0);
        }
        self.backoff = 0;
    }

    /// The timeout as it stands: backed off, bounded, rounded up to the tick.
    pub fn timeout(&self) -> Nanos {
        let backed_off = Nanos(self.base.0.saturating_mul(1 << self.backoff));
        let rounded = match self.config.tick {
            Some(tick) => {
                Nanos(backed_off.0.div_euclid(tick.0) * tick.0 + ceil_part(backed_off, tick))
            }
            None => backed_off,
        };
        rounded.min(self.config.max)
    }

    /// Smoothed round-trip time.
    pub fn srtt(&self) -> Option<Nanos> {
        self.srtt
    }

    /// Least round-trip time.
    pub fn min_rtt(&self) -> Option<Nanos> {
        self.min_rtt
    }
}

fn ceil_part(time: Nanos, tick: Nanos) -> i64 {
    if time.0 % tick.0 == 0 { 0 } else { tick.0 }
}

/// Doublings are bounded so that the shift cannot overflow; any `max` bites earlier.
const MAX_BACKOFF: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    fn rfc() -> RtoConfig {
        RtoConfig {
            min: Nanos::SECOND,
            max: Nanos(60 * Nanos::SECOND.0),
            granularity: Nanos::MILLISECOND,
            ..RtoConfig::default()
        }
    }

    #[test]
    fn measurements_move_the_timeout_as_rfc_6298_says() {
        let mut rto = Rto::new(RtoConfig { min: Nanos(0), ..rfc() });
        assert_eq!(rto.timeout(), Nanos::SECOND);
        rto.on_measurement(Nanos::from_millis(100));
        assert_eq!(rto.timeout(), Nanos::from_millis(100 + 4 * 50));
        rto.on_measurement(Nanos::from_millis(180));
        // RTTVAR = 3/4 * 50 + 1/4 * 80 = 57.5 ms; SRTT = 7/8 * 100 + 1/8 * 180 = 110 ms.
        assert_eq!(rto.timeout(), Nanos::from_micros(110_000 + 4 * 57_500));
        assert_eq!(rto.min_rtt(), Some(Nanos::from_millis(100)));
    }

    #[test]
    fn it_doubles_up_to_the_maximum_which_wins_over_the_minimum() {
        let mut rto = Rto::new(rfc());
        rto.on_measurement(Nanos::from_millis(10));
        let mut timeouts = vec![rto.timeout().0 / Nanos::SECOND.0];
        for _ in 0..7 {
            rto.back_off();
            timeouts.push(rto.timeout().0 / Nanos::SECOND.0);
        }
        assert_eq!(timeouts, [1, 2, 4, 8, 16, 32, 60, 60]);
        rto.on_ack();
        assert_eq!(rto.timeout().0 / Nanos::SECOND.0, 60);
        let low = Rto::new(RtoConfig { max: Nanos::from_millis(250), ..rfc() });
        assert_eq!(low.timeout(), Nanos::from_millis(250));
    }

    #[test]
    fn ticks_round_up() {
        let tick = Some(Nanos::from_millis(500));
        let mut rto = Rto::new(RtoConfig { min: Nanos(0), tick, ..rfc() });
        assert_eq!(rto.timeout(), Nanos::SECOND);
        rto.on_measurement(Nanos::from_millis(101));
        assert_eq!(rto.timeout(), Nanos::from_millis(500));
    }
}
