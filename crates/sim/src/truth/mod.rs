//! The truth: what limited each sender at every instant, by its own state, and what every element
//! did to every packet.

pub mod answer;
pub mod history;
pub mod losses;

use crate::endpoint::{Limit, Snapshot};
use crate::link::event::{Backlog, Event};
use crate::tap::frame::Addresses;
use history::History;
use std::collections::VecDeque;
use std::net::IpAddr;
use tcpwhy_core::columns;
use tcpwhy_core::record::Batches;
use tcpwhy_core::units::Nanos;

columns! {
    /// A span of time in which one thing limited a sender. A span ends when the limit or the phase
    /// changes, and at the latest after the sampling interval.
    #[derive(Clone, Debug, PartialEq)]
    pub struct TruthRow / TruthRowBuilder {
        /// Number of the flow in the scenario, from 0.
        flow: u32,
        /// `forward` for the sender at the start of the flow's path, `backward` for the other.
        side: &'static str,
        /// `orig` when this side opened the connection, else `resp`.
        direction: &'static str,
        /// Address of the sender.
        src: IpAddr,
        /// Port of the sender.
        src_port: u16,
        /// Address of the receiver.
        dst: IpAddr,
        /// Port of the receiver.
        dst_port: u16,
        /// Begin of the span in ns since the start of the simulation.
        start_ns: Nanos,
        /// End of the span in ns since the start of the simulation.
        end_ns: Nanos,
        /// What held the sender back: `application`, `receiver_window`, `send_buffer`, `cwnd`, ...
        limit: &'static str,
        /// What congestion control was doing.
        phase: &'static str,
        /// Congestion window at the begin of the span, as all that follow.
        cwnd_bytes: u64,
        /// Slow start threshold; NULL while it is infinite.
        ssthresh_bytes: Option<u64>,
        /// Estimate of what is in the network (RFC 6675).
        pipe_bytes: u64,
        /// Sent and not cumulatively acknowledged (RFC 5681).
        flight_size_bytes: u64,
        /// The receiver's window.
        rwnd_bytes: u64,
        /// Bytes in the send buffer.
        send_buffer_bytes: u64,
        /// Bytes written and not yet sent.
        unsent_bytes: u64,
        /// Smoothed round-trip time; NULL before the first measurement.
        srtt_ns: Option<Nanos>,
        /// Retransmission timeout.
        rto_ns: Nanos,
        /// Pacing rate; NULL without pacing.
        pacing_rate_bps: Option<u64>,
        /// Packets that wait in the queues of the path, of all flows.
        queue_packets: u64,
        /// Bytes that wait in the queues of the path, of all flows.
        queue_bytes: u64,
        /// Packets of this sender in the network, counted by the simulator.
        in_network_packets: u64,
    }
}

columns! {
    /// Something that an element did to a packet.
    #[derive(Clone, Debug, PartialEq)]
    pub struct EventRow / EventRowBuilder {
        /// When, in ns since the start of the simulation.
        at_ns: Nanos,
        /// The link on which the element is, with its direction.
        link: String,
        /// Position of the element on the link, from 0.
        element: u16,
        /// `drop`, `mark`, `hold` or `duplicate`.
        action: &'static str,
        /// Why, as the element names it.
        reason: &'static str,
        /// Number of the packet, in the order of sending.
        packet: u64,
        /// Number of the flow in the scenario; behind the flows the UDP sources.
        flow: u32,
        /// `forward` along the path of the flow, or `backward`.
        side: &'static str,
        /// Length of the packet as the link counts it.
        wire_bytes: u32,
    }
}

columns! {
    /// What waited in a queue at a sampling time.
    #[derive(Clone, Debug, PartialEq)]
    pub struct QueueRow / QueueRowBuilder {
        /// When, in ns since the start of the simulation.
        at_ns: Nanos,
        /// The link, with its direction.
        link: String,
        /// Position of the element on the link, from 0.
        element: u16,
        /// Packets waiting; the one in transmission is not counted.
        queue_packets: u64,
        /// Bytes waiting.
        queue_bytes: u64,
        /// Packets sent since the start.
        sent_packets: u64,
        /// Bytes sent since the start.
        sent_bytes: u64,
        /// Time in which a packet was being sent since the start.
        busy_ns: Nanos,
    }
}

/// Collects the rows of the truth.
#[derive(Default)]
pub struct Truth {
    /// Rows of the `truth` table.
    pub spans: Batches<TruthRow>,
    /// Rows of the `events` table.
    pub events: Batches<EventRow>,
    /// Rows of the `queues` table.
    pub queues: Batches<QueueRow>,
    /// Rows that were not kept since [`ROWS_MAX`] waited.
    pub lost_rows: u64,
    /// What the answers are made of; with it no rows are kept.
    pub history: Option<History>,
    halves: Vec<Half>,
    /// The longest span.
    pub sample: Nanos,
}

/// The spans of a half that are not yet rows.
#[derive(Clone, Debug, Default)]
struct Half {
    /// The one that is not yet over.
    open: Option<Span>,
    /// Those that are over, each with its end, and that may still turn out to have been a wait for
    /// the retransmission timer.
    unsettled: VecDeque<(Span, Nanos)>,
}

impl Half {
    /// Since `since`, another limit held than it seemed.
    fn relabel(&mut self, since: Nanos, limit: Limit) {
        let first = self.unsettled.partition_point(|(_, end)| *end <= since);
        if let Some((span, end)) = self.unsettled.get_mut(first)
            && span.start < since
        {
            let (rest, rest_end) = (Span { start: since, ..*span }, *end);
            *end = since;
            self.unsettled.insert(first + 1, (rest, rest_end));
        }
        for (span, _) in self.unsettled.iter_mut().filter(|(span, _)| span.start >= since) {
            span.state.limit = limit;
        }
    }
}

/// A span from its begin.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: Nanos,
    state: Snapshot,
    waits: Waiting,
}

/// What waits on a path, and how many packets of a half are in the network.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waiting {
    /// Packets in queues.
    pub packets: u64,
    /// Bytes in queues.
    pub bytes: u64,
    /// Packets of the half in the network.
    pub in_network: u64,
}

/// Who a half is, for its rows.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// Number of the half.
    pub half: usize,
    /// Whether its sender opened the connection.
    pub is_opener: bool,
    /// Its addresses.
    pub addresses: Addresses,
}

impl Truth {
    /// Nothing collected; spans last up to `sample`.
    pub fn new(sample: Nanos) -> Truth {
        Truth { sample, ..Truth::default() }
    }

    /// Whether the state at `now` begins a new span, so that what waits needs to be looked up.
    pub fn is_new_span(&self, now: Nanos, half: usize, state: &Snapshot) -> bool {
        match self.halves.get(half).and_then(|half| half.open.as_ref()) {
            Some(span) => {
                (span.state.limit, span.state.phase) != (state.limit, state.phase)
                    || now - span.start >= self.sample
            }
            _ => true,
        }
    }

    /// Ends the open span of the half and begins one with this state. When the state's limit began
    /// earlier than it showed, the spans since then are given it.
    pub fn begin_span(&mut self, now: Nanos, name: Name, state: Snapshot, waits: Waiting) {
        if self.halves.len() <= name.half {
            self.halves.resize(name.half + 1, Half::default());
        }
        let half = &mut self.halves[name.half];
        if let Some(over) = half.open.replace(Span { start: now, state, waits }) {
            let is_retroactive = over.state.limit != state.limit && state.limit_since < now;
            half.unsettled.push_back((over, now));
            if is_retroactive {
                half.relabel(state.limit_since, state.limit);
            }
        }
        self.settle(state.settled_until, name);
    }

    /// Ends the open span of the half at `now`.
    pub fn end_span(&mut self, now: Nanos, name: Name) {
        let Some(half) = self.halves.get_mut(name.half) else { return };
        if let Some(over) = half.open.take() {
            half.unsettled.push_back((over, now));
        }
        self.settle(Nanos::MAX, name);
    }

    /// Makes rows of the spans that ended by `until`.
    fn settle(&mut self, until: Nanos, name: Name) {
        let unsettled = &mut self.halves[name.half].unsettled;
        let settled = unsettled.partition_point(|(_, end)| *end <= until);
        for (span, end) in unsettled.drain(..settled).collect::<Vec<_>>() {
            self.keep_span(end, name, span);
        }
    }

    fn keep_span(&mut self, end: Nanos, name: Name, span: Span) {
        if end == span.start {
            return;
        }
        if let Some(history) = &mut self.history {
            history.note_span(name.half, span.start, end, &span.state);
            return;
        }
        if self.spans.len() >= ROWS_MAX {
            self.lost_rows += 1;
            return;
        }
        let Snapshot { limit, phase, .. } = span.state;
        self.spans.push(TruthRow {
            flow: name.half as u32 / 2,
            side: if name.half.is_multiple_of(2) { "forward" } else { "backward" },
            direction: if name.is_opener { "orig" } else { "resp" },
            src: name.addresses.src.ip(),
            src_port: name.addresses.src.port,
            dst: name.addresses.dst.ip(),
            dst_port: name.addresses.dst.port,
            start_ns: span.start,
            end_ns: end,
            limit: limit.name(),
            phase: phase.name(),
            cwnd_bytes: span.state.cwnd_bytes,
            ssthresh_bytes: span.state.ssthresh_bytes,
            pipe_bytes: span.state.pipe_bytes,
            flight_size_bytes: span.state.flight_size_bytes,
            rwnd_bytes: span.state.rwnd_bytes,
            send_buffer_bytes: span.state.send_buffer_bytes,
            unsent_bytes: span.state.unsent_bytes,
            srtt_ns: span.state.srtt_ns,
            rto_ns: span.state.rto_ns,
            pacing_rate_bps: span.state.pacing_rate_bps,
            queue_packets: span.waits.packets,
            queue_bytes: span.waits.bytes,
            in_network_packets: span.waits.in_network,
        });
    }

    /// Notes what an element of link `number` did. `flows` is the number of TCP flows.
    pub fn note_event(&mut self, number: usize, link: &str, event: &Event, flows: u32) {
        if let Some(history) = &mut self.history {
            history.note_event(number, event);
            return;
        }
        if self.events.len() >= ROWS_MAX {
            self.lost_rows += 1;
            return;
        }
        let is_udp = event.flow >= 2 * flows;
        self.events.push(EventRow {
            at_ns: event.at,
            link: link.to_owned(),
            element: event.element,
            action: event.action.name(),
            reason: event.reason,
            packet: event.packet,
            flow: if is_udp { event.flow - flows } else { event.flow / 2 },
            side: if is_udp || event.flow.is_multiple_of(2) { "forward" } else { "backward" },
            wire_bytes: event.wire_bytes,
        });
    }

    /// Notes what waits in a queue of a link, by its number and name.
    pub fn note_queue(
        &mut self,
        now: Nanos,
        (number, link): (usize, &str),
        element: usize,
        backlog: Backlog,
    ) {
        if let Some(history) = &mut self.history {
            history.note_queue(number, element, now, &backlog);
            return;
        }
        if self.queues.len() >= ROWS_MAX {
            self.lost_rows += 1;
            return;
        }
        self.queues.push(QueueRow {
            at_ns: now,
            link: link.to_owned(),
            element: element as u16,
            queue_packets: backlog.packets,
            queue_bytes: backlog.bytes,
            sent_packets: backlog.sent_packets,
            sent_bytes: backlog.sent_bytes,
            busy_ns: backlog.busy_ns,
        });
    }
}

/// Rows of one table that may wait to be taken: about 200 MB at most. Whoever runs a simulation for
/// longer takes the rows between its steps.
pub const ROWS_MAX: usize = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;
    use std::net::Ipv4Addr;
    use tcpwhy_core::wire::Endpoint;

    fn name() -> Name {
        let end = Endpoint { addr: Ipv4Addr::LOCALHOST.to_ipv6_mapped().octets(), port: 1 };
        Name { half: 0, is_opener: true, addresses: Addresses { src: end, dst: end } }
    }

    fn state(limit: Limit, since: i64, settled: i64) -> Snapshot {
        let (limit_since, settled_until) = (Nanos(since), Nanos(settled));
        Snapshot { limit, limit_since, settled_until, ..Snapshot::default() }
    }

    fn rows(truth: &mut Truth) -> Vec<(i64, i64, String)> {
        let batch = truth.spans.take().unwrap();
        let times = |name: &str| batch[name].as_primitive::<Int64Type>().values().to_vec();
        let limits = batch["limit"].as_string::<i32>();
        let spans = times("start_ns").into_iter().zip(times("end_ns"));
        spans.zip(limits.iter()).map(|((a, b), l)| (a, b, l.unwrap().to_owned())).collect()
    }

    #[test]
    fn a_wait_that_shows_at_its_end_is_put_where_it_began() {
        let mut truth = Truth::new(Nanos(10));
        let waits = Waiting::default;
        for (now, state) in [
            (0, state(Limit::Cwnd, 0, 0)),
            (10, state(Limit::Cwnd, 0, 9)),
            (20, state(Limit::Cwnd, 0, 14)),
            (30, state(Limit::Cwnd, 0, 14)),
            // The timer expires: nothing has happened since 14.
            (37, state(Limit::RtoWait, 14, 37)),
            (40, state(Limit::Application, 40, 40)),
        ] {
            truth.begin_span(Nanos(now), name(), state, waits());
        }
        truth.end_span(Nanos(45), name());
        let expected = [
            (0, 10, "cwnd"),
            (10, 14, "cwnd"),
            (14, 20, "rto_wait"),
            (20, 30, "rto_wait"),
            (30, 37, "rto_wait"),
            (37, 40, "rto_wait"),
            (40, 45, "application"),
        ];
        assert_eq!(rows(&mut truth), expected.map(|(a, b, limit)| (a, b, limit.to_owned())));
    }
}
