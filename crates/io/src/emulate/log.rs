//! What the elements of the network did, as rows.

use arrow_array::RecordBatch;
use std::net::IpAddr;
use tcpwhy_core::columns;
use tcpwhy_core::record::Batches;
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::link::event::{Backlog, Event};
use tcpwhy_sim::truth::{QueueRow, ROWS_MAX};

use super::frame::{Headers, shown};

columns! {
    /// Something that an element did to a packet of a host, so that it can be found in a capture.
    #[derive(Clone, Debug, PartialEq)]
    pub struct ActionRow / ActionRowBuilder {
        /// When, in ns since the Unix epoch.
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
        /// Twice the number of the flow in the scenario, one more against its path; UDP sources
        /// follow. NULL for traffic that the scenario does not list.
        half: Option<u32>,
        /// Source address.
        src: Option<IpAddr>,
        /// Source port.
        src_port: u16,
        /// Destination address.
        dst: Option<IpAddr>,
        /// Destination port.
        dst_port: u16,
        /// IP protocol number.
        protocol: u8,
        /// TCP sequence number.
        seq: Option<u32>,
        /// Length of the packet as the link counts it.
        wire_bytes: u32,
    }
}

/// Collects the rows of a run.
pub struct Log {
    /// Where time 0 lies.
    epoch: Nanos,
    actions: Batches<ActionRow>,
    queues: Batches<QueueRow>,
    lost_rows: u64,
}

impl Log {
    /// An empty log whose time 0 is `epoch`.
    pub fn new(epoch: Nanos) -> Log {
        Log { epoch, actions: Batches::default(), queues: Batches::default(), lost_rows: 0 }
    }

    /// Notes what an element of this link did.
    pub fn note_event(&mut self, link: &str, event: &Event, headers: Option<&Headers>) {
        if self.actions.len() >= ROWS_MAX {
            self.lost_rows += 1;
            return;
        }
        let tuple = headers.map(|headers| headers.tuple);
        self.actions.push(ActionRow {
            at_ns: self.epoch + event.at,
            link: link.to_owned(),
            element: event.element,
            action: event.action.name(),
            reason: event.reason,
            packet: event.packet,
            half: (event.flow != UNLISTED).then_some(event.flow),
            src: tuple.map(|tuple| shown(tuple.src)),
            src_port: tuple.map_or(0, |tuple| tuple.src_port),
            dst: tuple.map(|tuple| shown(tuple.dst)),
            dst_port: tuple.map_or(0, |tuple| tuple.dst_port),
            protocol: headers.map_or(0, |headers| headers.protocol),
            seq: headers.and_then(|headers| headers.seq),
            wire_bytes: event.wire_bytes,
        });
    }

    /// Notes what waits in a queue of this link.
    pub fn note_queue(&mut self, now: Nanos, link: &str, element: usize, backlog: Backlog) {
        if self.queues.len() >= ROWS_MAX {
            self.lost_rows += 1;
            return;
        }
        self.queues.push(QueueRow {
            at_ns: self.epoch + now,
            link: link.to_owned(),
            element: element as u16,
            queue_packets: backlog.packets,
            queue_bytes: backlog.bytes,
            sent_packets: backlog.sent_packets,
            sent_bytes: backlog.sent_bytes,
            busy_ns: backlog.busy_ns,
        });
    }

    /// The rows of `events` and `queues` since the last call.
    pub fn take(&mut self) -> [Option<RecordBatch>; 2] {
        [self.actions.take(), self.queues.take()]
    }

    /// Rows that were not kept since too many waited.
    pub fn lost_rows(&self) -> u64 {
        self.lost_rows
    }
}

/// The number of a flow that the scenario does not list.
pub const UNLISTED: u32 = u32::MAX;
