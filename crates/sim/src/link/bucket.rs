//! The token bucket, exact in integers.

use tcpwhy_core::units::Nanos;

/// Tokens that flow in at a rate up to a burst (RFC 2697 section 3, one colour: committed
/// information rate and committed burst size).
///
/// Tokens are counted in bit times ns/s, so that one nanosecond adds `rate_bps` of them and nothing
/// is ever rounded: a byte costs 8e9.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate_bps: u64,
    burst: u64,
    tokens: u64,
    as_of: Nanos,
}

impl Bucket {
    /// A full bucket. `burst_bytes` is at most 1e9, so that tokens fit.
    pub fn new(rate_bps: u64, burst_bytes: u64) -> Bucket {
        let burst = burst_bytes * TOKENS_PER_BYTE;
        Bucket { rate_bps, burst, tokens: burst, as_of: Nanos(0) }
    }

    /// Takes the tokens for `bytes` at `now` if they are there.
    pub fn take(&mut self, now: Nanos, bytes: u32) -> bool {
        self.fill(now);
        let cost = self.cost(bytes);
        let enough = self.tokens >= cost;
        if enough {
            self.tokens -= cost;
        }
        enough
    }

    /// The first time from `now` on at which the tokens for `bytes` are there.
    pub fn ready(&mut self, now: Nanos, bytes: u32) -> Nanos {
        self.fill(now);
        let missing = self.cost(bytes).saturating_sub(self.tokens);
        now + Nanos(missing.div_ceil(self.rate_bps) as i64)
    }

    fn fill(&mut self, now: Nanos) {
        let gained = u128::from(self.rate_bps) * now.since(self.as_of).0 as u128;
        self.tokens = (u128::from(self.tokens) + gained).min(u128::from(self.burst)) as u64;
        self.as_of = self.as_of.max(now);
    }

    /// A packet larger than the burst costs the whole burst, else it would never pass.
    fn cost(&self, bytes: u32) -> u64 {
        (u64::from(bytes) * TOKENS_PER_BYTE).min(self.burst)
    }
}

const TOKENS_PER_BYTE: u64 = 8_000_000_000;
