//! The time of a direction, divided into periods and intervals, with what was sent in each.

mod plain;

use super::clock::WaitSpan;
use super::freedom::Freedom;
use super::period::{Isolate, Step};
use super::plain_sums::{CONGESTION_EXPERIENCED, headroom};
use super::rounds::Round;
use super::segmenter::{Now, Segmenter};
use super::sums::Sums;
use super::writer::Wait;
use crate::flow::loss::ledger::{Kind, Rule};
use crate::flow::observer::{Ack, Around, Data, Observer, RoundTrip};
use crate::flow::table::pairs::UNIT;
use crate::units::{Nanos, float};
use crate::wire::flags;

/// Intervals and periods, and what Isolate needs to tell them.
#[derive(Debug, Default)]
pub struct Timeline {
    /// Made with the first payload.
    pub segmenter: Option<Box<Segmenter>>,
    /// The segmenter of a flow that has ended, for the next one.
    ended: Option<Box<Segmenter>>,
    isolate: Isolate,
    freedom: Freedom,
    /// When new data was sent last, unless a pause or a repair came in between.
    last_new: Option<Nanos>,
}

impl Timeline {
    /// Begins anew for the next flow, in the same memory.
    pub(crate) fn renew(&mut self) {
        let ended = self.segmenter.take().or(self.ended.take());
        *self = Timeline { ended, ..Timeline::default() };
    }

    /// What new data does to the division into periods.
    #[inline(always)]
    pub fn step(&mut self, data: &Data<'_>) -> Step {
        let ts = data.entry.ts;
        if self.segmenter.is_none() {
            self.begin(ts, data.around);
        }
        match data.filed.kind {
            Kind::New | Kind::Reordered => {
                let before = self.freedom.before(ts, data.rtt.srtt);
                self.isolate.segment(ts, data.full, data.small, before)
            }
            _ => Step::Stay,
        }
    }

    /// Takes the time since the last send, before `now`. Whether a period began or ended with it.
    #[inline(always)]
    pub fn pass(&mut self, step: Step, now: &Now, pieces: &[WaitSpan], wait: &Wait) -> bool {
        let Some(segmenter) = &mut self.segmenter else { return false };
        segmenter.pass(step, now, pieces);
        if let Some((woken, ns)) = wait.behind_empty_queue {
            let stats = segmenter.late().sums.stats_mut();
            *(if woken { &mut stats.woken_ns } else { &mut stats.unwoken_ns }) += ns;
        }
        if let Some(ns) = wait.behind_full_segment {
            segmenter.late().sums.stats_mut().gathered_ns += ns;
        }
        if let Some(prompt) = wait.prompt {
            segmenter.late().sums.stats_mut().prompts.add(prompt);
        }
        if wait.pause_ns > 0 {
            segmenter.late().sums.stats_mut().pause(wait.pause_ns as u64, wait.answers);
        }
        let switches = !matches!(step, Step::Stay | Step::Transfer { .. });
        if switches {
            self.last_new = None;
        }
        switches
    }

    /// Where the interval under way ends; `None` before the first payload.
    #[inline(always)]
    pub fn interval_end(&self, interval: Nanos) -> Option<Nanos> {
        self.segmenter.as_ref().map(|segmenter| segmenter.interval_end(interval))
    }

    /// Adds a round-trip sample.
    #[inline(always)]
    pub fn add_rtt(&mut self, rtt: Nanos) {
        if let Some(sums) = self.late() {
            sums.rtt_samples += 1;
            sums.rtt_sum_ns += rtt.0 as u64;
        }
    }

    /// Takes a round that ended; `floor` is the least round-trip time.
    #[inline(always)]
    pub fn take_round(&mut self, round: &Round, floor: Option<Nanos>, mss: u32) {
        if let Some(sums) = self.late() {
            sums.stats_mut().round(round, floor, mss);
        }
    }

    /// Ends everything at the last data segment, `end`.
    pub fn finish(&mut self, end: Nanos, interval: Nanos) {
        if let Some(segmenter) = &mut self.segmenter {
            segmenter.finish(end, interval);
        }
    }

    #[cold]
    fn begin(&mut self, ts: Nanos, around: Around<'_>) {
        let mut segmenter = self.ended.take().unwrap_or_default();
        segmenter.renew(ts, around.flow_start, around.interval);
        self.segmenter = Some(segmenter);
    }

    /// The sums for what comes later than the segments that it is about.
    #[inline(always)]
    fn late(&mut self) -> Option<&mut Sums> {
        self.segmenter.as_mut().map(|segmenter| &mut segmenter.late().sums)
    }

    /// Adds the segment to the sums of its period.
    #[inline(always)]
    fn sum(&mut self, data: &Data<'_>) {
        let Some(segmenter) = &mut self.segmenter else { return };
        let (entry, filed) = (data.entry, data.filed);
        let window = segmenter.window(data.full > 0);
        let sums = &mut window.sums;
        let headers_bytes = u64::from(data.packets()) * u64::from(entry.headers_len());
        let ip_bytes = data.unique_bytes + headers_bytes;
        if !sums.first.is_known() {
            sums.first = entry.ts.into();
            sums.first_ip_bytes = ip_bytes;
        }
        sums.last = entry.ts.into();
        sums.data_packets += u64::from(data.packets());
        sums.payload_bytes += u64::from(entry.payload_len);
        sums.others_bytes += u64::from(entry.others) * UNIT;
        sums.unique_bytes += data.unique_bytes;
        if !data.is_new() {
            sums.retransmitted_bytes += filed.retransmitted_bytes;
            sums.loss_events += u64::from(filed.loss_event);
            if filed.kind == Kind::Spurious {
                sums.spurious_bytes += filed.retransmitted_bytes;
            }
            self.last_new = None;
            return;
        }
        sums.ip_bytes += ip_bytes;
        add_window(sums, data);
        if let Some(last) = self.last_new.replace(entry.ts)
            && !data.was_repairing
            && data.data_packets >= GAPS_FROM
        {
            window.gap(entry.ts.since(last));
        }
    }
}

/// Adds what new data used of the receiver's window.
#[inline(always)]
fn add_window(sums: &mut Sums, data: &Data<'_>) {
    let Some(known) = data.known else { return };
    let flight = data.flight.next.saturating_sub(known.una);
    sums.flight_max = sums.flight_max.max(flight.into());
    let Some(rwnd) = known.rwnd() else { return };
    let mss = u64::from(data.mss.value());
    sums.rwnd_known += 1;
    sums.rwnd_sum += float(rwnd);
    sums.add_windows(rwnd, rwnd, 0);
    sums.rwnd_limited += u64::from(rwnd.saturating_sub(flight) < headroom(rwnd, mss));
}

impl Timeline {
    /// The other side sent a message.
    pub fn note_message(&mut self) {
        if let Some(sums) = self.late() {
            sums.stats_mut().messages += 1;
        }
    }
}

impl Observer for Timeline {
    #[inline(always)]
    fn on_data(&mut self, data: &Data<'_>) {
        self.sum(data);
        self.freedom.note(data.entry.ts, data.room, &data.flight);
        let Some(segmenter) = &mut self.segmenter else { return };
        if data.known.is_some_and(|known| known.una >= data.start) {
            segmenter.begin_service(data.entry.ts);
        }
        let sums = &mut segmenter.late().sums;
        let stats = sums.stats_mut();
        stats.ce_marks += u32::from(data.entry.ecn() == CONGESTION_EXPERIENCED);
        stats.timeouts += u32::from(data.filed.rto_event);
        stats.unheard += u32::from(data.filed.rule == Rule::Unheard);
        if data.is_new() {
            stats.segments += 1;
            stats.smalls += u32::from(data.small);
            stats.pushes += u32::from(data.entry.has(flags::PSH));
        }
        if let Some(delay) = data.excess {
            stats.excess.add(delay);
        }
    }

    #[inline(always)]
    fn on_ack(&mut self, ack: &Ack<'_>) {
        if ack.is_newest {
            self.freedom.note(ack.arrival, ack.room, &ack.flight);
        }
        let Some(segmenter) = &mut self.segmenter else { return };
        if ack.acked.bytes > 0 {
            segmenter.acknowledged(ack.entry.ts, ack.acked.bytes, ack.flight.repairing);
        }
        let sums = &mut segmenter.late().sums;
        sums.spurious_bytes += ack.acked.spurious_bytes;
        let echo = ack.entry.has(flags::ECE) && !ack.entry.has(flags::SYN);
        if ack.window.closes || echo {
            let stats = sums.stats_mut();
            stats.closures += u32::from(ack.window.closes);
            stats.ecn_echoes += u32::from(echo);
        }
    }

    #[inline(always)]
    fn on_round_trip(&mut self, sample: &RoundTrip) {
        if let Some(sums) = self.late() {
            sums.stats_mut().round_trip(sample.rtt, sample.raised);
        }
    }

    #[inline(always)]
    fn on_round(&mut self, round: &Round, data: &Data<'_>) {
        self.take_round(round, data.rtt.min, data.mss.value());
    }

    #[inline(always)]
    fn on_loss(&mut self, data: &Data<'_>) {
        if let (Some(sums), Some(floor)) = (self.late(), data.rtt.min) {
            sums.stats_mut().loss(data.rtt_before.rtt, floor);
        }
    }
}

/// Data packets before gaps are kept: what an initial window shows is slow start.
const GAPS_FROM: u64 = 32;
