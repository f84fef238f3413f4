//! How fast data was delivered.

use crate::units::Nanos;

/// The highest rate at which data was acknowledged over a second and four round trips. Bursts of a
/// token bucket or of compressed acknowledgements fade in that time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivery {
    since: Option<Nanos>,
    bytes: u64,
    /// The highest rate in bit/s of payload.
    pub most_bps: Option<f64>,
}

impl Delivery {
    /// `bytes` were acknowledged at `ts`.
    #[inline(always)]
    pub fn acked(&mut self, ts: Nanos, bytes: u64, srtt: Option<Nanos>) {
        let Some(since) = self.since else {
            self.since = Some(ts);
            return;
        };
        self.bytes += bytes;
        let span = ts.since(since);
        if span >= Nanos(4 * srtt.unwrap_or_default().0).max(Nanos::SECOND) {
            let bps = self.bytes as f64 * 8e9 / span.0 as f64;
            self.most_bps = Some(self.most_bps.map_or(bps, |most| most.max(bps)));
            (self.since, self.bytes) = (Some(ts), 0);
        }
    }
}
