//! Window over round-trip time: the bound that holds whatever else happens.

use super::declare::model;
use super::{Outside, Predict};

model! {
    /// One window of data a round trip: what the receiver's window, the congestion window or the
    /// send buffer, whichever is smallest, allows at most.
    "window" Window {
        formula: "window / RTT",
        source: "RFC 7323 section 1.1, RFC 6349 section 3.3.1 (bandwidth-delay product)",
        conditions: [
            "the path carries more: window < capacity × RTT",
            "the application keeps the window full",
            "`rtt_ns` is the RTT with whatever queue the window builds",
        ],
        /// Smallest of receiver window (scaled), congestion window and send buffer.
        window_bytes: f64, Positive, Required;
        /// Round-trip time.
        rtt_ns: f64, Positive, Required;
    }
}

impl Predict for Window {
    fn compute(&self) -> Result<f64, Outside> {
        Ok(self.window_bytes * 8e9 / self.rtt_ns)
    }
}

impl Window {
    /// The window in bytes that `rate_bps` needs over `rtt_ns`: the bandwidth-delay product.
    pub fn bytes_for(rate_bps: f64, rtt_ns: f64) -> f64 {
        rate_bps * rtt_ns / 8e9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unscaled_window_is_5_mbit_over_100_ms() {
        let window = Window { window_bytes: 65_535.0, rtt_ns: 100e6 };
        assert_eq!(window.rate_bps(), Ok(5_242_800.0));
    }

    #[test]
    fn the_window_for_a_rate_gives_that_rate() {
        // A long fat network of RFC 7323 section 1.1: 1 Gbit/s, 100 ms, 12.5 MB.
        let window_bytes = Window::bytes_for(1e9, 100e6);
        assert_eq!(window_bytes, 12.5e6);
        assert_eq!(Window { window_bytes, rtt_ns: 100e6 }.rate_bps(), Ok(1e9));
    }
}
