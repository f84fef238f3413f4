//! What a direction does with plain segments ([`Flow::take_plain`](crate::flow::Flow::take_plain)).

use super::{Half, Said, way};
use crate::flow::entry::Entry;
use crate::flow::half::run::Run;
use crate::flow::loss::ledger::{Acked, Flight};
use crate::flow::observer::{Ack, Around, Observer};
use crate::flow::path::window::Advertised;
use crate::flow::time::period::Step;
use crate::flow::time::plain_sums::PlainSums;
use crate::flow::time::segmenter::Now;
use crate::units::{Nanos, Seq};

impl Half {
    /// What plain segments of this direction are, with the acknowledgements that `peer`'s sends.
    /// `None` where the general way has to be taken: so soon after the begin, while a loss is
    /// repaired, or with a closed window.
    #[inline(always)]
    pub(crate) fn plain_run(&self, peer: &Half, interval: Nanos) -> Option<Run> {
        let said = peer.said?;
        let mss = self.mss.learned()?;
        let known = self.ledger.is_plain() && self.view.is_plain() && self.window.is_plain();
        if !known || self.totals.data_packets == 0 || !peer.queue.is_far() {
            return None;
        }
        let receiver_seq = peer.ledger.is_started().then(|| peer.next_seq())?;
        let until = self.timeline.interval_end(interval)?;
        let (ack, window_raw, sums) = (said.ack, said.window_raw, PlainSums::new(mss));
        let steady = (self.timeline.is_steady(), 0);
        Some(Run { mss, until, ack, window_raw, receiver_seq, sums, steady, chosen: None })
    }

    /// Whether `entry`, which comes from this side, is plain data.
    #[inline(always)]
    pub(crate) fn is_plain_data(&self, entry: &Entry, run: &Run) -> bool {
        entry.payload_len == run.mss
            && entry.seq.0 == self.ledger.next() as u32
            && entry.ts < run.until
            && (entry.ack, entry.window_raw) == (run.ack, run.window_raw)
    }

    /// Whether `entry`, which comes from the other side, is a bare acknowledgement that moves on.
    #[inline(always)]
    pub(crate) fn is_plain_ack(&self, entry: &Entry, run: &Run) -> bool {
        entry.payload_len == 0
            && entry.window_raw != 0
            && entry.seq == run.receiver_seq
            && self.ledger.is_next_ack(entry.ack)
    }

    /// Files plain data, as [`Half::data`] does. Whether the run goes on: it does not where so
    /// many periods have ended that some are to be judged.
    #[inline(always)]
    pub(crate) fn plain_data(&mut self, entry: &Entry, around: Around<'_>, run: &mut Run) -> bool {
        let (ts, start, before) = (entry.ts, self.ledger.next(), self.totals.data_packets);
        let end = start + u64::from(run.mss);
        self.said = None;
        let (una, edge) = self.view.at_plain(entry, end);
        let flight = self.losses.relative_flight(start.saturating_sub(una), before);
        let burst = self.losses.take_plain(ts, start, run.mss, flight);
        self.ledger.append_next(end, entry, flight, burst);
        self.ledger.note_full(end);
        self.mss.set_headers_len(entry.headers_len());
        let is_idle = una >= start;
        let held = self.writer.hold_full(is_idle, una);
        let step =
            self.timeline.step_plain(ts, self.rtt.srtt, self.totals.last_data, &mut run.steady);
        let goes_on = step == Step::Stay && !held;
        if goes_on && self.view.has_one_wait() {
            let (reason, ns, prompt) = self.view.send_after_one_wait(ts, end, run.mss);
            self.timeline.pass_one_wait(reason, ns, prompt, &mut self.writer);
        } else {
            let (pieces, freed, prompt) = self.view.send_plain(ts, end, run.mss);
            if goes_on && freed.is_none() {
                self.timeline.pass_plain(pieces, prompt, &mut self.writer);
            } else {
                if step != Step::Stay {
                    run.flush(start, &mut self.timeline, &mut self.totals);
                }
                let (now, srtt) = (Now { ts, interval: around.interval }, self.rtt.srtt);
                let (pieces, wait) = self.writer.attribute_plain(pieces, held, freed, prompt, srtt);
                if self.timeline.pass(step, &now, pieces, &wait) {
                    self.capacity.interrupt();
                }
                self.timeline.begin_stats();
            }
        }
        (self.totals.data_packets, self.totals.last_data) = (before + 1, Some(ts));
        run.sums.add(entry, end, (una, edge));
        if let Some(delay) = self.one_way.data(entry) {
            run.sums.excess.add(delay);
        }
        let room = self.window.has_room(end, run.mss);
        self.timeline.plain_data(ts, room, is_idle, before + 1);
        let in_flight = Flight { una: self.ledger.flight().una, next: end, repairing: false };
        self.capacity.plain_data(entry, around, before + 1, &self.mss, &mut run.chosen);
        self.queue.plain_data(entry);
        if let Some(round) = self.queue.turn_plain(ts, una, &in_flight) {
            self.timeline.take_round(&round, self.rtt.min, run.mss);
        }
        step == Step::Stay || !self.segmenter().is_some_and(|segmenter| segmenter.has_ended_some())
    }

    /// The sequence number of the next data.
    pub(crate) fn next_seq(&self) -> Seq {
        Seq(self.ledger.next() as u32)
    }

    /// Ends a run with data: what is left of its sums is added.
    pub(crate) fn end_plain_run(&mut self, run: &mut Run) {
        self.timeline.count_steady(self.totals.last_data, &mut run.steady.1);
        run.flush(self.ledger.next(), &mut self.timeline, &mut self.totals);
        self.ledger.end_plain_run();
    }

    /// The other side sent data, which only repeats an acknowledgement.
    #[inline(always)]
    pub(crate) fn note_peer_data(&mut self) {
        self.writer.note_data_of_peer();
    }

    /// Files a plain acknowledgement, as [`Half::ack`] does.
    #[inline(always)]
    pub(crate) fn plain_ack(&mut self, entry: &Entry, around: Around<'_>) -> Acked {
        let acked = self.ledger.next_ack(entry, around.receiver.least());
        let flight = Flight { repairing: false, ..self.ledger.flight() };
        let rwnd = self.window.move_on(entry, flight.una);
        let tau = self.way_to_sender(around.sender);
        self.view.newer_acknowledgement(entry, flight.una, rwnd, way(entry, tau));
        let ack = Ack {
            entry,
            acked: &acked,
            selective: false,
            is_newest: true,
            window: Advertised { rwnd: Some(u64::from(rwnd)), closes: false },
            flight,
            room: self.window.has_room(flight.next, self.mss.value()),
            arrival: entry.ts + tau.unwrap_or_default(),
            rtt: &self.rtt,
            mss: &self.mss,
        };
        self.totals.on_ack(&ack);
        self.timeline.on_ack(&ack);
        self.capacity.on_ack(&ack);
        self.said = Some(Said { ack: entry.ack, window_raw: entry.window_raw });
        acked
    }
}
