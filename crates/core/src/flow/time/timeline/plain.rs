//! What plain data is to the division of time: it hardly ever begins or ends anything.

use super::{GAPS_FROM, Timeline};
use crate::flow::time::clock::{WaitReason, WaitSpan};
use crate::flow::time::period::Step;
use crate::flow::time::plain_sums::PlainSums;
use crate::flow::time::sums::Sums;
use crate::flow::time::view::Prompt;
use crate::flow::time::writer::Writer;
use crate::units::Nanos;

impl Timeline {
    /// [`Timeline::step`] of plain data, of which the first was not the direction's first.
    #[inline(always)]
    pub fn step_plain(
        &mut self,
        ts: Nanos,
        srtt: Option<Nanos>,
        last: Option<Nanos>,
        (steady, count): &mut (bool, u32),
    ) -> Step {
        if *steady && !self.freedom.is_drained(ts, srtt) {
            *count += 1;
            return Step::Stay;
        }
        self.count_steady(last, count);
        let before = self.freedom.before(ts, srtt);
        let step = self.isolate.segment(ts, 1, false, before);
        *steady = self.isolate.is_steady();
        step
    }

    /// Whether Isolate only counts full segments, as long as data is in flight.
    #[inline(always)]
    pub fn is_steady(&self) -> bool {
        self.isolate.is_steady()
    }

    /// Counts these, of which the last was sent at `last`, and there are none then.
    #[inline(always)]
    pub fn count_steady(&mut self, last: Option<Nanos>, count: &mut u32) {
        if let Some(last) = last.filter(|_| *count > 0) {
            self.isolate.count_steady(last, std::mem::take(count));
        }
    }

    /// [`Timeline::pass_plain`] of one wait, so many ns long.
    #[inline(always)]
    pub fn pass_one_wait(
        &mut self,
        reason: WaitReason,
        ns: i64,
        prompt: Option<Prompt>,
        writer: &mut Writer,
    ) {
        writer.note_not_held();
        let Some(sums) = self.late() else { return };
        let stats = sums.stats_mut();
        stats.times.add(reason, Nanos(ns));
        if let Some(prompt) = prompt {
            stats.prompts.add(prompt);
        }
        if reason.is_pause() && ns > 0 {
            stats.pause(ns as u64, writer.takes_answer());
        }
    }

    /// [`Timeline::pass`] where the period goes on and nothing held the sender back but what the
    /// pieces say.
    #[inline(always)]
    pub fn pass_plain(&mut self, pieces: &[WaitSpan], prompt: Option<Prompt>, writer: &mut Writer) {
        writer.note_not_held();
        let Some(sums) = self.late() else { return };
        let (stats, mut pause_ns) = (sums.stats_mut(), 0);
        if let Some(prompt) = prompt {
            stats.prompts.add(prompt);
        }
        for piece in pieces {
            stats.times.add(piece.reason, piece.end.since(piece.start));
            pause_ns += piece.pause_ns();
        }
        if pause_ns > 0 {
            stats.pause(pause_ns as u64, writer.takes_answer());
        }
    }

    /// Statistics are kept from data on, also where a period ended with it.
    pub fn begin_stats(&mut self) {
        self.late().map(Sums::stats_mut);
    }

    /// What plain data tells at once; its sums come with [`Timeline::take_plain`].
    #[inline(always)]
    pub fn plain_data(&mut self, ts: Nanos, room: bool, is_idle: bool, data_packets: u64) {
        self.freedom.note_sent(ts, room);
        let Some(segmenter) = &mut self.segmenter else { return };
        if is_idle {
            segmenter.begin_service(ts);
        }
        if let Some(last) = self.last_new.replace(ts)
            && data_packets >= GAPS_FROM
        {
            segmenter.window(true).gap(ts.since(last));
        }
    }

    /// Takes the sums of plain data, the last of which was sent at `last`.
    pub fn take_plain(&mut self, plain: &PlainSums, last: Option<Nanos>) {
        let Some(segmenter) = &mut self.segmenter else { return };
        plain.add_to(&mut segmenter.window(true).sums, last);
        let stats = segmenter.late().sums.stats_mut();
        stats.ce_marks += plain.ce_marks;
        stats.segments += plain.segments;
        stats.pushes += plain.pushes;
        stats.excess.merge(&plain.excess);
    }
}
