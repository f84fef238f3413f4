//! Capacity: what headers leave of a link's rate.

use super::declare::model;
use super::{Outside, Predict};

model! {
    /// The payload that fits through the narrowest link beside its headers.
    "capacity" Capacity {
        formula: "capacity × MSS / (MSS + headers + frame)",
        source: "RFC 6349 section 4.1.1 (maximum achievable TCP throughput)",
        conditions: [
            "the link is not shared, or `capacity_bps` is the share of this connection",
            "all segments are full",
        ],
        /// Rate of the narrowest link.
        capacity_bps: f64, Positive, Required;
        /// Payload bytes of a full segment.
        mss_bytes: f64, Positive, Value(1448.0);
        /// IP and TCP headers of a segment: 52 with IPv4 and timestamps, 72 with IPv6.
        headers_bytes: f64, NotNegative, Value(52.0);
        /// What the rate counts beside IP packets: 0 as this tool measures it, 38 for the bit rate
        /// of Ethernet (header, check sum, preamble and gap).
        frame_bytes: f64, NotNegative, Value(0.0);
    }
}

impl Predict for Capacity {
    fn compute(&self) -> Result<f64, Outside> {
        let packet = self.mss_bytes + self.headers_bytes + self.frame_bytes;
        Ok(self.capacity_bps * self.mss_bytes / packet)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_frames_of_ethernet_carry_what_rfc_6349_counts() {
        // 81,274 frames of 1538 bytes a second at 1 Gbit/s, 1460 bytes of payload in each.
        let ethernet = Capacity {
            mss_bytes: 1460.0,
            headers_bytes: 40.0,
            frame_bytes: 38.0,
            ..Capacity::default()
        };
        for (capacity_bps, frames) in [(1e8, 8_127.0), (1e9, 81_274.0), (1e10, 812_744.0)] {
            let rate = Capacity { capacity_bps, ..ethernet }.rate_bps().unwrap();
            assert!((rate / (1460.0 * 8.0) - frames).abs() < 0.6, "{rate}");
        }
    }

    #[test]
    fn timestamps_and_larger_packets_change_it_as_they_should() {
        let rate = |mss_bytes, headers_bytes| {
            let plain = Capacity { capacity_bps: 1e9, ..Capacity::default() };
            Capacity { mss_bytes, headers_bytes, ..plain }.rate_bps().unwrap()
        };
        assert!(rate(1460.0, 40.0) > rate(1448.0, 52.0));
        assert!(rate(8948.0, 52.0) > rate(1448.0, 52.0));
        assert!(rate(1448.0, 0.0) == 1e9);
    }
}
