//! What happens to the segments of a flow, and to the flow at its end: facts, verdicts, rows.

use crate::counter::{Counter, Counters};
use crate::diagnosis::model::Asked;
use crate::diagnosis::tally::Tally;
use crate::flow::Flow;
use crate::flow::entry::Entry;
use crate::flow::handshake::side;
use crate::flow::path::capacity::Capacity;
use crate::flow::stall::{Eve, Watch};
use crate::flow::table::Analyse;
use crate::flow::table::class::Class;
use crate::flow::time::period::{Period, PeriodKind};
use crate::flow::time::segmenter::Interval;
use crate::judge::{InDoubt, IntervalRows, Judge, Judged, Past};
use crate::options::Options;
use crate::record::{Ends, Judgement, Rows, Table};
use crate::report;
use crate::stream::Opening;
use crate::units::{Nanos, Seq};
use crate::wire::community::{CommunityId, community_id};
use crate::wire::hash::HashKey;
use crate::wire::{FlowKey, Segment};
use std::collections::HashMap;
use std::sync::Arc;
use std::vec::Drain;

/// What happens to the segments of a flow, and to the flow at its end.
pub(crate) struct Analysis {
    options: Options,
    wanted: Wanted,
    /// Reason text of directions with too few packets for an estimate of the capacity.
    too_short: String,
    pub counters: Counters,
    pub tunnels: HashMap<u16, Arc<str>>,
    pub rows: Rows,
    /// The verdict of a direction that sent no data: the same for all of them.
    no_data: Option<Judgement>,
    /// Frame number of the newest segment; entries keep the low half of theirs.
    pub frame: u64,
    /// Segments that may open a connection, where connections are numbered.
    pub openings: Option<Vec<Opening>>,
    hash_key: HashKey,
    /// A flow that ended, for the next one to use its memory.
    ended: Option<Box<Followed>>,
    /// An empty tally, for the next direction that needs one.
    tally: Option<Box<Tally>>,
    allowance: Allowance,
}

/// A flow with what was found about it so far.
pub(crate) struct Followed {
    flow: Flow,
    /// What each direction was limited by; made with its first interval.
    tallies: [Option<Box<Tally>>; 2],
    /// Its intervals in doubt, with their rows; made with the first of them.
    waiting: [Option<Box<InDoubt>>; 2],
    /// What the settled periods of each direction add up to; made with the first of them.
    past: [Option<Box<Past>>; 2],
    /// Where it stalled, if that is wanted.
    stalls: Option<Box<Watch>>,
}

/// How many short flows of a full table may still have their rows in this second of packet time:
/// a flood must not become a flood of rows.
#[derive(Default)]
struct Allowance {
    since: Nanos,
    taken: u32,
}

impl Allowance {
    fn take(&mut self, now: Nanos) -> bool {
        if now.since(self.since) >= Nanos::SECOND {
            *self = Allowance { since: now, taken: 0 };
        }
        self.taken += 1;
        self.taken <= EVICTED_ROWS_PER_SECOND
    }
}

/// Tables that are wanted, looked up once.
#[derive(Clone, Copy)]
struct Wanted {
    flows: bool,
    intervals: bool,
    periods: bool,
    stalls: bool,
    segments: bool,
    /// Something of each segment.
    each: bool,
}

impl Analyse for Analysis {
    type Flow = Followed;

    fn segment(
        &mut self,
        key: &FlowKey,
        slot: &mut Option<Box<Followed>>,
        entry: &Entry,
        sack: &[(Seq, Seq)],
    ) {
        let behind = (self.frame as u32).wrapping_sub(entry.frame_low);
        let frame = self.frame.saturating_sub(u64::from(behind));
        if slot.as_ref().is_some_and(|known| known.flow.is_reopened_by(entry)) {
            let ended = slot.take().expect("just seen");
            self.end(ended);
        }
        let followed = match slot {
            Some(followed) => followed,
            None => slot.insert(self.begin(key, frame, entry)),
        };
        if self.wanted.each {
            self.segment_with_rows(followed, frame, entry, sack);
        } else {
            let filed = followed.flow.segment(frame, entry, sack, self.options.interval);
            if filed.duplicate {
                self.counters.count(Counter::DuplicateFrames);
            }
        }
        self.judge_if_ended(followed, side(entry));
    }

    fn segments(&mut self, key: &FlowKey, slot: &mut Option<Box<Followed>>, entries: &[Entry]) {
        let mut rest = entries;
        while let [first, ..] = rest {
            if let Some(followed) = slot
                && !self.wanted.each
            {
                let taken = followed.flow.take_plain(rest, self.options.interval);
                if taken > 0 {
                    (0..2).for_each(|side| self.judge_if_ended(followed, side));
                    rest = &rest[taken..];
                    continue;
                }
            }
            self.segment(key, slot, first, &[]);
            rest = &rest[1..];
        }
    }

    fn end(&mut self, mut followed: Box<Followed>) {
        let flow = &mut followed.flow;
        flow.finish(self.options.interval);
        self.counters.count(Counter::Flows);
        let flow_id = self.flow_id(flow);
        let chosen = self.is_chosen(flow, flow_id);
        let mut judged = false;
        // Two rows and one hash, which is the largest part of a short flow's end.
        let name = chosen.then(|| community_id(&flow.key));
        for side in 0..2 {
            judged |= self.end_half(&mut followed, flow_id, side, name);
        }
        self.counters.add(Counter::FlowsWithVerdict, u64::from(judged));
        self.ended = Some(followed);
    }

    fn opening(&mut self, segment: &Segment, used: bool) {
        if let Some(openings) = &mut self.openings {
            openings.push(Opening::of(segment, self.hash_key, used));
        }
    }

    fn closed(&mut self, followed: &mut Followed) {
        followed.flow.shrink();
    }

    fn evicted(&mut self, class: Class, now: Nanos) -> bool {
        self.counters.count(Counter::TableEvictions);
        self.counters.count(match class {
            Class::Closed => Counter::EvictedClosed,
            Class::HalfOpen => Counter::EvictedHalfOpen,
            Class::Short => Counter::EvictedShort,
            Class::Long => Counter::EvictedLong,
        });
        match class {
            Class::HalfOpen => false,
            Class::Closed | Class::Short => self.allowance.take(now),
            Class::Long => true,
        }
    }

    fn forgotten(&mut self, segments: u64, payload_bytes: u64) {
        self.counters.count(Counter::Flows);
        self.counters.count(Counter::FlowsForgotten);
        self.counters.add(Counter::PacketsForgotten, segments);
        self.counters.add(Counter::PayloadBytes, payload_bytes);
        self.counters.add(Counter::BytesForgotten, payload_bytes);
    }
}

impl Analysis {
    /// For a run with these options.
    pub fn new(options: Options) -> Analysis {
        let wants = |table| options.tables.contains(&table);
        Analysis {
            wanted: Wanted {
                flows: wants(Table::Flows),
                intervals: wants(Table::Intervals),
                periods: wants(Table::Periods),
                stalls: wants(Table::Stalls),
                segments: wants(Table::Segments),
                each: wants(Table::Stalls) || wants(Table::Segments),
            },
            too_short: format!("no capacity, {} data packets or fewer", options.min_packets),
            hash_key: HashKey::new(options.hash_seed),
            rows: Rows::holding(options.rows_held),
            options,
            openings: None,
            counters: Counters::default(),
            tunnels: HashMap::new(),
            no_data: None,
            frame: 0,
            ended: None,
            tally: None,
            allowance: Allowance::default(),
        }
    }

    /// The state of a flow that begins with `entry`.
    #[cold]
    fn begin(&mut self, key: &FlowKey, frame: u64, entry: &Entry) -> Box<Followed> {
        let stalls = self.wanted.stalls.then(Box::default);
        let Some(mut ended) = self.ended.take() else {
            let flow = Flow::new(*key, frame, entry);
            let (tallies, waiting, past) = ([None, None], [None, None], [None, None]);
            return Box::new(Followed { flow, tallies, waiting, past, stalls });
        };
        ended.flow.renew(*key, frame, entry);
        (ended.tallies, ended.past, ended.stalls) = ([None, None], [None, None], stalls);
        ended.waiting = [None, None];
        ended
    }

    fn flow_id(&self, flow: &Flow) -> u64 {
        flow.id(self.tunnels.get(&flow.key.tunnel).map(|name| &**name))
    }

    fn is_chosen(&self, flow: &Flow, flow_id: u64) -> bool {
        let choice = self.options.flow.as_ref();
        choice.is_none_or(|choice| choice.is(flow_id, &flow.key))
    }

    /// Judges a half and puts its rows out, if it is `chosen`, with that Community ID; whether it
    /// has a verdict.
    fn end_half(
        &mut self,
        followed: &mut Followed,
        flow_id: u64,
        side: usize,
        chosen: Option<CommunityId>,
    ) -> bool {
        if followed.flow.halves[side].totals.packets == 0 {
            return false;
        }
        let asked = self.judge_ended(followed, side);
        let ends = report::ends(&followed.flow, flow_id, side);
        let pprate = followed.flow.halves[side].capacity(self.options.min_packets);
        let mut judge = judge_of(followed, side, ends, pprate, (&self.options, &self.too_short));
        judge.asked = asked;
        judge.revise(true, &mut |rows| put_interval(&mut self.rows, rows));
        let rows = chosen.is_some() && self.wanted.flows;
        let silent = judge.half.segmenter().is_none() && !self.options.compat_seed;
        let verdicts = match &self.no_data {
            Some(verdict) if silent => Judged::of_silence(rows.then(|| verdict.clone())),
            _ => judge.whole(rows, chosen.is_some() && self.wanted.periods),
        };
        if silent && self.no_data.is_none() {
            self.no_data.clone_from(&verdicts.whole);
        }
        let capacity = judge.capacity_in_view();
        let flow = &followed.flow;
        let half = &flow.halves[side];
        let judged = verdicts.finding.is_some();
        let bytes = half.totals.payload_bytes;
        let count = |counters: &mut Counters, counter, yes, n| {
            counters.add(counter, if yes { n } else { 0 });
        };
        count(&mut self.counters, Counter::DirectionsWithData, bytes > 0, 1);
        count(&mut self.counters, Counter::DirectionsWithVerdict, judged, 1);
        count(&mut self.counters, Counter::BytesWithVerdict, judged, bytes);
        self.counters.add(Counter::PayloadBytes, bytes);
        self.counters.add(Counter::OutstandingOverflow, half.overflow());
        self.counters.add(Counter::UnansweredOverflow, half.unanswered());
        self.counters.add(Counter::SegmentsOutOfWindow, half.totals.out_of_window);
        self.counters.add(Counter::CaptureGaps, u64::from(half.totals.missed_bytes > 0));
        if let Some(finding) = verdicts.finding {
            self.counters.add(Counter::halves_of(finding.confidence), 1);
            self.counters.add(Counter::bytes_of(finding.confidence), bytes);
        }
        for (period, verdict) in verdicts.periods {
            self.rows.periods.push(report::period_row(ends, &period, verdict));
        }
        // What sends no data has nothing to wait for.
        if let Some(watch) = followed.stalls.as_ref().filter(|_| chosen.is_some() && bytes > 0) {
            let stalls = &watch.stalls[side];
            report::stall_rows(ends, stalls).for_each(|row| self.rows.stalls.push(row));
            self.counters.add(Counter::StallsLeftOut, stalls.left_out());
        }
        if let Some(whole) = verdicts.whole {
            let tunnel = self.tunnels.get(&flow.key.tunnel).map(|name| name.to_string());
            let (capacity, name) = (capacity.as_ref(), chosen.unwrap_or_default());
            let row = report::flow_row(flow, ends, side, capacity, whole, name, tunnel);
            self.rows.flows.push(row);
        }
        if let Some(mut tally) = followed.tallies[side].take() {
            tally.renew();
            self.tally = Some(tally);
        }
        judged
    }

    #[inline(always)]
    fn judge_if_ended(&mut self, followed: &mut Followed, side: usize) {
        if followed.flow.halves[side].segmenter().is_some_and(|s| s.has_ended_some()) {
            self.judge_ended(followed, side);
        }
    }

    /// Judges the intervals and periods that have ended, and reports them where they are wanted.
    /// What the trees were asked of the last of these intervals of which they were.
    fn judge_ended(&mut self, followed: &mut Followed, side: usize) -> Option<Box<Asked>> {
        let segmenter = followed.flow.halves[side].segmenter_mut()?;
        let intervals = std::mem::take(&mut segmenter.intervals);
        let mut asked = None;
        if !intervals.is_empty() {
            asked = self.judge_intervals(followed, side, &intervals);
        }
        let segmenter = followed.flow.halves[side].segmenter_mut()?;
        segmenter.take_back(intervals);
        if let Some((mut periods, settled)) = segmenter.crowded_periods() {
            self.settle_periods(followed, side, periods.drain(..settled));
            if let Some(segmenter) = followed.flow.halves[side].segmenter_mut() {
                segmenter.keep_periods(periods);
            }
        }
        asked
    }

    fn judge_intervals(
        &mut self,
        followed: &mut Followed,
        side: usize,
        intervals: &[Interval],
    ) -> Option<Box<Asked>> {
        let flow = &followed.flow;
        let flow_id = self.flow_id(flow);
        let rows = self.wanted.intervals && self.is_chosen(flow, flow_id);
        let ends = report::ends(flow, flow_id, side);
        let pprate = followed.flow.halves[side].capacity(self.options.min_packets);
        if followed.tallies[side].is_none() {
            followed.tallies[side] = self.tally.take();
        }
        let mut judge = judge_of(followed, side, ends, pprate, (&self.options, &self.too_short));
        let mut put = |rows| put_interval(&mut self.rows, rows);
        for interval in intervals {
            judge.interval(interval, rows, &mut put);
        }
        judge.asked
    }

    /// Judges periods that leave before the flow ends. Most of them need no judgement: only bulk
    /// transfers do, and rows.
    fn settle_periods(&mut self, followed: &mut Followed, side: usize, periods: Drain<Period>) {
        self.counters.add(Counter::PeriodsSettled, periods.len() as u64);
        let bulk = periods.as_slice().iter().any(|period| period.kind == PeriodKind::Btp);
        if !self.wanted.periods && !bulk {
            let past = followed.past[side].get_or_insert_default();
            for period in periods {
                past.add(&period, Past::answer_without_scores(period.kind));
            }
            return;
        }
        let flow_id = self.flow_id(&followed.flow);
        let rows = self.wanted.periods && self.is_chosen(&followed.flow, flow_id);
        let ends = report::ends(&followed.flow, flow_id, side);
        let so_far = followed.flow.halves[side].capacity_so_far(self.options.min_packets);
        let mut judge = judge_of(followed, side, ends, so_far, (&self.options, &self.too_short));
        for period in periods {
            if let Some((period, verdict)) = judge.settled(period, rows) {
                self.rows.periods.push(report::period_row(ends, &period, verdict));
            }
        }
    }

    /// Files a segment, watches for stalls, and reports it, as far as each is wanted. Apart from
    /// the path without, which needs little of what filing tells.
    #[inline(never)]
    fn segment_with_rows(
        &mut self,
        followed: &mut Followed,
        frame: u64,
        entry: &Entry,
        sack: &[(Seq, Seq)],
    ) {
        let side = side(entry);
        let Followed { flow, stalls, .. } = followed;
        let before = flow.halves[1 - side].rtt;
        let eve = stalls.as_ref().map(|_| Eve::of(flow));
        let filed = flow.segment(frame, entry, sack, self.options.interval);
        self.counters.add(Counter::DuplicateFrames, u64::from(filed.duplicate));
        if let (Some(watch), Some(eve)) = (stalls, eve) {
            watch.segment(flow, &eve, frame, entry, &filed);
        }
        if !self.wanted.segments || self.options.frame.is_some_and(|wanted| wanted != frame) {
            return;
        }
        let flow_id = self.flow_id(flow);
        if self.is_chosen(flow, flow_id) {
            let ends = report::ends(flow, flow_id, side);
            let rtt = flow.halves[1 - side].rtt.newest(&before);
            let row = report::segment_row(flow, ends, frame, entry, sack, &filed, rtt);
            self.rows.segments.push(row);
        }
    }
}

fn put_interval(rows: &mut Rows, IntervalRows { row, observed }: IntervalRows) {
    rows.intervals.push(row);
    observed.into_iter().for_each(|row| rows.observations.push(row));
}

/// What is to judge the half of `side` with this capacity, by the options and what is said of a
/// half too short for one.
fn judge_of<'a>(
    followed: &'a mut Followed,
    side: usize,
    ends: Ends,
    pprate: Option<Capacity>,
    (options, too_short): (&'a Options, &'a str),
) -> Judge<'a> {
    let Followed { flow, tallies, waiting, past, .. } = followed;
    let position = flow.position(side);
    let (sack_agreed, handshake_rtt) = (flow.handshake.sack_agreed(), flow.handshake_rtt());
    let half = &mut flow.halves[side];
    let capacity = pprate.map(|capacity| half.credible(capacity));
    let (tally, waiting, past) = (&mut tallies[side], &mut waiting[side], &mut past[side]);
    Judge {
        half,
        tally,
        waiting,
        past,
        ends,
        position,
        sack_agreed,
        handshake_rtt,
        pprate,
        capacity,
        options,
        too_short,
        asked: None,
    }
}

/// Short flows of a full table that have their rows, per second: some ten milliseconds of work.
const EVICTED_ROWS_PER_SECOND: u32 = 2048;
