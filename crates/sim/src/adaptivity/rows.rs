//! The tables of the study.

use super::{Case, Departure, Moment, Outcome};
use tcpwhy_core::columns;
use tcpwhy_core::units::Nanos;

columns! {
    /// One case of the study and what was measured.
    #[derive(Clone, Debug, PartialEq)]
    pub struct OutcomeRow / OutcomeRowBuilder {
        /// Figure of the paper.
        figure: u32,
        /// Which of the curves of the figure.
        series: String,
        /// How losses are repaired: `tahoe`, `reno`, `newreno`, `sack` or `rack`.
        recovery: &'static str,
        /// By which rules recovery without SACK counts: `rfc5681` or `ns3`.
        reno_rules: &'static str,
        /// Frequency of the UDP source in 1/s.
        frequency_hz: f64,
        /// Second frequency of the UDP source in 1/s.
        second_frequency_hz: Option<f64>,
        /// Rate of every link.
        rate_bps: u64,
        /// Propagation delay of every link.
        delay_ns: Nanos,
        /// Packets that may wait in front of every link.
        buffer_packets: u64,
        /// Length of a TCP data packet on the wire.
        tcp_packet_bytes: u32,
        /// Length of a UDP packet on the wire.
        udp_packet_bytes: u32,
        /// Lower bound of the retransmission timeout.
        rto_min_ns: Nanos,
        /// Upper bound of the retransmission timeout, also of the lower one.
        rto_max_ns: Nanos,
        /// Phase of the UDP source in periods.
        phase: f64,
        /// Each UDP packet leaves up to so many packet times later, at random.
        jitter_packets: f64,
        /// Seed of the jitter.
        seed: u64,
        /// When the measurement began.
        warm_ns: Nanos,
        /// How long it lasted.
        duration_ns: Nanos,
        /// Payload delivered in order, as data packets, over half of what the link carries.
        norm_goodput: f64,
        /// Data packets over the shared link, retransmissions included, over the same.
        norm_tcp_link: f64,
        /// UDP packets over the shared link, over the same.
        norm_udp_link: f64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// Fast retransmissions.
        fast_retransmits: u64,
        /// Mean over time of the packets waiting at the shared link.
        queue_packets_mean: f64,
        /// The most packets waiting there since the start.
        queue_packets_max: u64,
        /// Data packets dropped.
        tcp_drops: u64,
        /// UDP packets dropped.
        udp_drops: u64,
        /// The most data packets in the network: the paper's "congestion window".
        in_network_packets_max: u64,
        /// Mean over the periods of the first frequency of the most data packets in the network.
        in_network_packets_period_max: f64,
    }
}

columns! {
    /// What a case shows at one instant.
    #[derive(Clone, Debug, PartialEq)]
    pub struct MomentRow / MomentRowBuilder {
        /// Figure of the paper.
        figure: u32,
        /// Which of the curves of the figure.
        series: String,
        /// Frequency of the UDP source in 1/s.
        frequency_hz: f64,
        /// When, in ns since the start of the simulation.
        at_ns: Nanos,
        /// Rate of TCP data over the shared link since the moment before.
        tcp_bps: f64,
        /// Rate of UDP over the shared link since the moment before.
        udp_bps: f64,
        /// Congestion window of the sender.
        cwnd_bytes: u64,
        /// Slow start threshold; NULL while it is infinite.
        ssthresh_bytes: Option<u64>,
        /// Data packets in the network: the paper's "congestion window".
        in_network_packets: u64,
        /// Packets of TCP waiting at the shared link.
        tcp_queue_packets: u64,
        /// Packets of UDP waiting at the shared link.
        udp_queue_packets: u64,
        /// Payload bytes delivered in order since the start.
        delivered_bytes: u64,
        /// Retransmission timeouts since the start.
        timeouts: u64,
        /// Fast retransmissions since the start.
        fast_retransmits: u64,
    }
}

columns! {
    /// A data segment that left the sender of a case.
    #[derive(Clone, Debug, PartialEq)]
    pub struct DepartureRow / DepartureRowBuilder {
        /// Figure of the paper.
        figure: u32,
        /// Which of the curves of the figure.
        series: String,
        /// Frequency of the UDP source in 1/s.
        frequency_hz: f64,
        /// When, in ns since the start of the simulation.
        at_ns: Nanos,
        /// Number of the segment in the stream, from 0.
        segment: u64,
        /// `new`, or why it left again: `fast`, `rto`, `tlp`.
        kind: &'static str,
    }
}

/// Which curve of which figure a case belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Figure of the paper.
    pub figure: u32,
    /// Which of its curves.
    pub series: String,
}

impl OutcomeRow {
    /// The row of a case.
    pub fn new(label: &Label, case: &Case, outcome: &Outcome) -> OutcomeRow {
        OutcomeRow {
            figure: label.figure,
            series: label.series.clone(),
            recovery: case.tcp.recovery.name(),
            reno_rules: case.tcp.reno_rules.name(),
            frequency_hz: case.frequencies_hz[0],
            second_frequency_hz: case.frequencies_hz.get(1).copied(),
            rate_bps: case.rate_bps,
            delay_ns: case.delay,
            buffer_packets: case.buffer_packets,
            tcp_packet_bytes: case.tcp_packet_bytes,
            udp_packet_bytes: case.udp_packet_bytes,
            rto_min_ns: case.tcp.rto.min,
            rto_max_ns: case.tcp.rto.max,
            phase: case.phase,
            jitter_packets: case.jitter_packets,
            seed: case.seed,
            warm_ns: case.warm,
            duration_ns: case.duration,
            norm_goodput: outcome.norm_goodput,
            norm_tcp_link: outcome.norm_tcp_link,
            norm_udp_link: outcome.norm_udp_link,
            timeouts: outcome.timeouts,
            fast_retransmits: outcome.fast_retransmits,
            queue_packets_mean: outcome.mean_queue,
            queue_packets_max: outcome.max_queue,
            tcp_drops: outcome.tcp_drops,
            udp_drops: outcome.udp_drops,
            in_network_packets_max: outcome.max_in_network,
            in_network_packets_period_max: outcome.mean_period_max_in_network,
        }
    }
}

impl MomentRow {
    /// The row of a moment of a case.
    pub fn new(label: &Label, case: &Case, moment: &Moment) -> MomentRow {
        MomentRow {
            figure: label.figure,
            series: label.series.clone(),
            frequency_hz: case.frequencies_hz[0],
            at_ns: moment.at,
            tcp_bps: moment.tcp_bps,
            udp_bps: moment.udp_bps,
            cwnd_bytes: moment.cwnd_bytes,
            ssthresh_bytes: moment.ssthresh_bytes,
            in_network_packets: moment.in_network,
            tcp_queue_packets: moment.tcp_queue_packets,
            udp_queue_packets: moment.udp_queue_packets,
            delivered_bytes: moment.delivered_bytes,
            timeouts: moment.timeouts,
            fast_retransmits: moment.fast_retransmits,
        }
    }
}

impl DepartureRow {
    /// The row of a departure of a case.
    pub fn new(label: &Label, case: &Case, departure: &Departure) -> DepartureRow {
        DepartureRow {
            figure: label.figure,
            series: label.series.clone(),
            frequency_hz: case.frequencies_hz[0],
            at_ns: departure.at,
            segment: departure.segment,
            kind: departure.kind.name(),
        }
    }
}
