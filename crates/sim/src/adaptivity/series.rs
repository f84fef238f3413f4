//! A point of the study over time: rates, windows, what waits, and when which segment left.

use super::{Case, DATA, Reading, SHARED, UDP, address};
use crate::endpoint::Kind;
use crate::random::Random;
use crate::run::Place;
use crate::tap::{Content, Manner, Tap};
use tcpwhy_core::units::Nanos;

/// What a time series shows at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// When.
    pub at: Nanos,
    /// Rate of TCP data over the shared link since the moment before.
    pub tcp_bps: f64,
    /// Rate of UDP over the shared link since the moment before.
    pub udp_bps: f64,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow start threshold; `None` while it is infinite.
    pub ssthresh_bytes: Option<u64>,
    /// Data packets in the network: the paper's "congestion window".
    pub in_network: u64,
    /// Packets of TCP waiting at the shared link.
    pub tcp_queue_packets: u64,
    /// Packets of UDP waiting there.
    pub udp_queue_packets: u64,
    /// Payload bytes delivered in order.
    pub delivered_bytes: u64,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
    /// Fast retransmissions so far.
    pub fast_retransmits: u64,
}

/// A data segment leaves the sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// When.
    pub at: Nanos,
    /// Number of the segment in the stream, from 0.
    pub segment: u64,
    /// Why it left.
    pub kind: Kind,
}

impl Case {
    /// Looks every `step` from `warm` on for `duration`, and gathers what leaves the sender in that
    /// time.
    pub fn time_series(&self, step: Nanos) -> (Vec<Moment>, Vec<Departure>) {
        let mut world = self.build();
        let tap = world.add_tap(
            Place::Host(address(1, 0).addr),
            Tap::new(Manner { from: self.warm, ..Manner::default() }, Random::stream(self.seed, 1)),
        );
        world.run_until(self.warm);
        let mut last = Reading::take(&mut world);
        let (mut moments, mut departures) = (Vec::new(), Vec::new());
        let payload = u64::from(self.tcp_packet_bytes - Case::HEADER_BYTES);
        // The tap sees 32 bits of the sequence number; what is acknowledged says which turn.
        let mut near = last.delivered_bytes;
        let mut at = self.warm;
        while at < self.warm + self.duration {
            at += step;
            world.run_until(at);
            let reading = Reading::take(&mut world);
            let state = world.snapshot(DATA);
            let rate = |packets: u64, bytes: u32| {
                (packets * u64::from(bytes) * 8) as f64 / step.as_secs_f64()
            };
            moments.push(Moment {
                at,
                tcp_bps: rate(reading.data_arrived - last.data_arrived, self.tcp_packet_bytes),
                udp_bps: rate(reading.udp_arrived - last.udp_arrived, self.udp_packet_bytes),
                cwnd_bytes: state.cwnd_bytes,
                ssthresh_bytes: state.ssthresh_bytes,
                in_network: world.counts(DATA).in_network(),
                tcp_queue_packets: world.waiting_of(SHARED, DATA) as u64,
                udp_queue_packets: world.waiting_of(SHARED, UDP) as u64,
                delivered_bytes: reading.delivered_bytes,
                timeouts: state.timeouts,
                fast_retransmits: state.fast_retransmits,
            });
            for record in world.take_records(tap) {
                if let Content::Tcp(header, kind) = record.content
                    && record.half == DATA
                    && header.payload_bytes > 0
                {
                    let first = self.tcp.iss + 1;
                    let delta = header.seq.distance(first + near as u32);
                    near = near.saturating_add_signed(i64::from(delta));
                    departures.push(Departure { at: record.ts, segment: near / payload, kind });
                }
            }
            last = reading;
        }
        (moments, departures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_is_split_by_source_and_segments_are_numbered_on() {
        let case = Case {
            warm: Nanos(10 * Nanos::SECOND.0),
            duration: Nanos(5 * Nanos::SECOND.0),
            ..Case::default()
        };
        let (moments, departures) = case.time_series(Nanos::from_millis(50));
        assert_eq!(moments.len(), 100);
        assert_eq!(moments[0].at, Nanos::from_millis(10_050));
        let most = moments.iter().map(|m| m.tcp_queue_packets + m.udp_queue_packets).max();
        assert!(most <= Some(case.buffer_packets) && most > Some(20), "{most:?}");
        // What left for the first time is numbered without a gap.
        let new = departures.iter().filter(|departure| departure.kind == Kind::New);
        let numbers: Vec<u64> = new.map(|departure| departure.segment).collect();
        assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 1), "{numbers:?}");
        let delivered = moments[0].delivered_bytes / 958;
        assert!(numbers[0].abs_diff(delivered) < 60, "{} and {delivered}", numbers[0]);
        assert!(departures.iter().any(|departure| departure.kind != Kind::New));
    }
}
