//! What a direction does with plain segments ([`Flow::take_plain`](crate::flow::Flow::take_plain)).

use super::{Half, Place, Said, Size};
use crate::flow::connection::plain::Terms;
use crate::flow::entry::Entry;
use crate::flow::loss::ledger::{Acked, Filed, Flight};
use crate::flow::observer::Around;
use crate::units::Nanos;

impl Half {
    /// What plain segments of this direction are, with the acknowledgements that `peer`'s sends.
    /// `None` where the general way has to be taken: so soon after the begin, while a loss is
    /// repaired, with a closed window, or near the end of an interval.
    #[inline(always)]
    pub(crate) fn plain_terms(&self, peer: &Half, interval: Nanos) -> Option<Terms> {
        let said = peer.said?;
        let mss = self.mss.settled()?;
        let known = self.ledger.is_plain() && self.view.is_plain() && self.window.is_plain();
        if !known || self.totals.data_packets < PLAIN_FROM || !peer.queue.is_far() {
            return None;
        }
        let receiver_seq = peer.ledger.next_seq()?;
        let until = self.timeline.interval_end(interval)?;
        let (ack, window_raw) = (said.ack, said.window_raw);
        Some(Terms { mss, until, ack, window_raw, receiver_seq })
    }

    /// Whether `entry`, which comes from this side, is plain data.
    #[inline(always)]
    pub(crate) fn is_plain_data(&self, entry: &Entry, terms: &Terms) -> bool {
        entry.payload_len == terms.mss
            && entry.seq.0 == self.ledger.next() as u32
            && entry.ts < terms.until
            && (entry.ack, entry.window_raw) == (terms.ack, terms.window_raw)
    }

    /// Whether `entry`, which comes from the other side, is a bare acknowledgement that moves on.
    #[inline(always)]
    pub(crate) fn is_plain_ack(&self, entry: &Entry, terms: &Terms) -> bool {
        entry.payload_len == 0
            && entry.window_raw != 0
            && entry.seq == terms.receiver_seq
            && self.ledger.is_next_ack(entry.ack)
    }

    /// The other side sent data, which repeats an acknowledgement.
    #[inline(always)]
    pub(crate) fn note_peer_data(&mut self) {
        self.writer.note_data_of_peer();
    }

    /// Files plain data, as [`Half::data`] does.
    #[inline(always)]
    pub(crate) fn plain_data(&mut self, entry: &Entry, around: Around<'_>, terms: &Terms) {
        self.said = None;
        let (start, unique_bytes) = (self.ledger.next(), u64::from(terms.mss));
        let end = start + unique_bytes;
        let sending = self.view.at_plain(entry, end);
        let relative_flight = self.relative_flight(sending.known);
        let burst = self.losses.codes(entry.ts).before;
        self.ledger.append_next(end, entry, relative_flight, burst);
        self.mss.set_headers_len(entry.headers_len());
        let place = Place { start, end, relative_flight, was_repairing: false };
        let size = Size { unique_bytes, full: 1, small: false };
        let flight = Flight { repairing: false, ..self.ledger.flight() };
        self.observe(entry, around, place, sending, Filed::NEW, size, flight, None);
    }

    /// Files a plain acknowledgement, as [`Half::ack`] does.
    #[inline(always)]
    pub(crate) fn plain_ack(&mut self, entry: &Entry, around: Around<'_>) -> Acked {
        let number = self.ledger.next_ack(entry.ack);
        let acked = self.ledger.ack(number, entry, &[], around.receiver.least());
        let flight = Flight { repairing: false, ..self.ledger.flight() };
        self.acknowledged(entry, number, &acked, false, flight, around);
        self.said = Some(Said { ack: entry.ack, window_raw: entry.window_raw });
        acked
    }
}

/// Data packets before plain ones are: from then on all statistics are kept.
const PLAIN_FROM: u64 = 32;
