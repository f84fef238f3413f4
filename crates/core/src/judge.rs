//! From the facts of a half to its verdicts: the paper's tree and the refined diagnosis, for each
//! interval, each period and the whole.

mod paper;

use crate::diagnosis::brief::{asks_the_model, at_once};
use crate::diagnosis::hindsight::{Doubt, Revised, Waiting};
use crate::diagnosis::memory::{Memory, Observed};
use crate::diagnosis::model::filter::Belief;
use crate::diagnosis::model::{Asked, ByAnswer, MODEL};
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::tally::Tally;
use crate::diagnosis::{
    Case, Context, Diagnosis, Facts, Finding, Limitation, Shares, SoFar, diagnose, doubt, evidence,
    headroom,
};
use crate::flow::half::Half;
use crate::flow::path::capacity::Capacity;
use crate::flow::time::gaps::Gaps;
use crate::flow::time::period::{Period, PeriodKind};
use crate::flow::time::segmenter::Interval;
use crate::flow::time::sums::Sums;
use crate::options::Options;
use crate::reason::GainUnknown;
use crate::record::address::Address;
use crate::record::{Ends, IntervalRow, Judgement, ObservedRow, Table, Text, Verdict};
use crate::report;
use crate::score::Scores;
use crate::units::{BitRate, Nanos};
use crate::verdict;

/// A half to be judged, with what is known of the flow around it.
pub struct Judge<'a> {
    /// The half.
    pub half: &'a mut Half,
    /// What it was limited by so far; made with the first interval.
    pub tally: &'a mut Option<Box<Tally>>,
    /// Intervals in doubt; made with the first of them.
    pub waiting: &'a mut Option<Box<InDoubt>>,
    /// The periods that have settled.
    pub past: &'a mut Option<Box<Past>>,
    /// Who sends to whom.
    pub ends: Ends,
    /// Where the observer stands, 0 at the data sender.
    pub position: Option<f64>,
    /// Whether both sides permitted SACK; `None` where not both SYNs were seen.
    pub sack_agreed: Option<bool>,
    /// Round-trip time of the handshake.
    pub handshake_rtt: Option<Nanos>,
    /// What the path can carry by PPrate, as the paper takes it.
    pub pprate: Option<Capacity>,
    /// The same as far as it is credible.
    pub capacity: Option<Capacity>,
    /// What the run is to compute.
    pub options: &'a Options,
    /// What is said of the capacity of a half without enough packets.
    pub too_short: &'a str,
    /// What the trees were asked of the last interval of which they were.
    pub asked: Option<Box<Asked>>,
}

/// The intervals in doubt of a half, with what their rows are made of if they are wanted.
pub type InDoubt = Waiting<Option<Box<Held>>>;

/// The rows of an interval in doubt, and what they are to be filled by.
pub struct Held {
    rows: IntervalRows,
    case: Case,
    asked: Box<Asked>,
    /// The capacity as it was known then.
    capacity: Known,
}

/// What PPrate finds, and how much of it is credible.
type Known = Option<(Capacity, Capacity)>;

/// The rows of an interval.
pub struct IntervalRows {
    /// Its facts, scores and verdict.
    pub row: IntervalRow,
    /// What the items say of it, if that table is wanted.
    pub observed: Option<ObservedRow>,
}

/// What the periods of a half that have settled add up to.
#[derive(Debug, Default)]
pub struct Past {
    /// All of them.
    sums: Sums,
    /// The bulk transfers alone.
    bulk: Sums,
    gaps: Option<Box<Gaps>>,
    /// How long each answer of the paper's tree held, in ns.
    time: [i64; Limitation::ALL.len()],
}

impl Past {
    /// What the paper's tree answers for a period that is no bulk transfer.
    pub fn answer_without_scores(kind: PeriodKind) -> Option<Limitation> {
        verdict::siekkinen(kind, &Scores::default()).ok()
    }

    /// Adds a period of which the paper's tree says `answer`.
    pub fn add(&mut self, period: &Period, answer: Option<Limitation>) {
        self.add_but_sums(period, answer);
        self.sums.merge(&period.sums);
    }

    /// The same of one that nobody needs any more: the statistics of the first are kept, not
    /// copied.
    fn take(&mut self, mut period: Period, answer: Option<Limitation>) {
        self.add_but_sums(&period, answer);
        if self.sums.stats.is_none() {
            self.sums.stats = period.sums.stats.take();
        }
        self.sums.merge(&period.sums);
    }

    fn add_but_sums(&mut self, period: &Period, answer: Option<Limitation>) {
        if let Some(answer) = answer {
            self.time[answer as usize] += period.end.since(period.start).0;
        }
        if period.kind == PeriodKind::Btp {
            self.bulk.merge(&period.sums);
            if !period.gaps.is_empty() {
                self.gaps.get_or_insert_default().merge_packed(&period.gaps);
            }
        }
    }
}

/// The verdict of a whole half, and of its periods if they are wanted.
pub struct Judged {
    /// The half's, if it is to be reported.
    pub whole: Option<Judgement>,
    /// Periods after Merge, each with its verdict.
    pub periods: Vec<(Period, Judgement)>,
    /// The refined finding; `None` for a half without data.
    pub finding: Option<Finding>,
}

impl Judged {
    /// Of a direction that sent no data.
    pub fn of_silence(whole: Option<Judgement>) -> Judged {
        Judged { whole, periods: Vec::new(), finding: None }
    }
}

impl Judge<'_> {
    /// Judges the next interval. If `rows` are wanted, `put` takes those of this interval, or of
    /// an earlier one that waited for it.
    pub fn interval(
        &mut self,
        interval: &Interval,
        rows: bool,
        put: &mut impl FnMut(IntervalRows),
    ) {
        let mut kept = rows.then(|| self.rows(interval));
        if !self.options.refined {
            return kept.into_iter().for_each(put);
        }
        let length = interval.end.since(interval.start);
        let mut case = self.case(interval.sums());
        case.over_all_bps = BitRate::of(interval.sums().unique_bytes, length).map(|rate| rate.0);
        let tally = self.tally.get_or_insert_default();
        let before = tally.before();
        let diagnosis = tally.judge(&mut case);
        if let Some(chances) = diagnosis.chances() {
            tally.remember(&chances);
            self.waiting.iter_mut().for_each(|waiting| waiting.see(&chances));
            self.revise(false, put);
        }
        if let Some(kept) = &mut kept
            && self.options.tables.contains(&Table::Observations)
        {
            let (ends, start, end) = (self.ends, interval.start, interval.end);
            let asked = diagnosis.asked.as_ref().map(|asked| asked.observed.clone());
            let observed = Box::new(asked.unwrap_or_else(|| self.look(&case)));
            kept.observed = Some(ObservedRow { ends, start, end, observed });
        }
        if self.options.hindsight && diagnosis.is_in_doubt() {
            let asked = diagnosis.asked.expect("the items left it in doubt");
            let doubt = Doubt::new(&case, &asked.said, before, length.as_secs_f64());
            let capacity = self.known();
            let held =
                kept.map(|rows| Box::new(Held { rows, case, asked: asked.clone(), capacity }));
            self.asked = Some(asked);
            self.waiting.get_or_insert_default().push(doubt, held);
        } else {
            self.add(diagnosis.finding.as_ref(), length.as_secs_f64());
            if let Some(rows) = kept {
                let asked = diagnosis.asked.as_deref().map(|asked| (asked, None));
                put(self.filled(rows, &case, diagnosis.finding.as_ref(), asked, self.known()));
            }
            self.asked = diagnosis.asked.or(self.asked.take());
        }
    }

    /// Judges the intervals in doubt again that have waited long enough, or all of them; `put`
    /// takes their rows.
    pub fn revise(&mut self, all: bool, put: &mut impl FnMut(IntervalRows)) {
        while let Some(waiting) = self.waiting
            && let Some((doubt, held)) = waiting.pop(all)
        {
            let Revised { finding, moved } = doubt.revise();
            self.add(finding.as_ref(), doubt.span_s);
            if let Some(held) = held {
                let Held { rows, case, asked, capacity } = *held;
                let asked = Some((&*asked, moved.as_ref()));
                put(self.filled(rows, &case, finding.as_ref(), asked, capacity));
            }
        }
    }

    /// Adds what was found of an interval to the tally.
    fn add(&mut self, finding: Option<&Finding>, span_s: f64) {
        let tally = self.tally.get_or_insert_default();
        finding.iter().for_each(|finding| tally.add(finding, span_s));
    }

    /// The rows of an interval with what was found of it: by these trees, if they were asked, and
    /// moved so far by the intervals around it.
    fn filled(
        &self,
        mut rows: IntervalRows,
        case: &Case,
        finding: Option<&Finding>,
        asked: Option<(&Asked, Option<&ByAnswer>)>,
        known: Known,
    ) -> IntervalRows {
        let (_, (facts, (_, columns))) = &mut rows.row;
        let capacity = self.in_view(known);
        facts.capacity_bps = capacity.and_then(|capacity| capacity.bps);
        self.refine(columns, case, finding, capacity.as_ref());
        if let Some((finding, (asked, moved))) = finding.zip(asked) {
            argue(columns, asked, finding, moved);
        }
        rows
    }

    /// The rows of an interval, with nothing but the paper's verdict yet.
    fn rows(&self, interval: &Interval) -> IntervalRows {
        let judgement = self.paper_of_interval(interval);
        let capacity = self.capacity.as_ref();
        let row = report::interval_row(self.ends, interval, self.half, capacity, judgement);
        IntervalRows { row, observed: None }
    }

    /// Judges a period that has settled before the end, and says what to report of it if `rows`
    /// are wanted.
    pub fn settled(&mut self, period: Period, rows: bool) -> Option<(Period, Judgement)> {
        let answer = self.paper_answer(&period);
        self.past.get_or_insert_default().add(&period, answer);
        rows.then(|| self.period(period))
    }

    /// Judges the periods and the whole: the limitation that held for the largest share of the
    /// time, with the scores of all bulk transfer. Columns only if `rows` are wanted.
    pub fn whole(&mut self, rows: bool, period_rows: bool) -> Judged {
        let periods = self.half.segmenter_mut().map(|segmenter| segmenter.last_periods());
        let mut periods = periods.unwrap_or_default();
        // Most have none that settled before: theirs needs no memory of its own.
        let mut past = self.past.take().map_or_else(Past::default, |past| *past);
        if period_rows {
            for period in &periods {
                past.add(period, self.paper_answer(period));
            }
        } else {
            for period in periods.drain(..) {
                let answer = self.paper_answer(&period);
                past.take(period, answer);
            }
        }
        let case = self.options.refined.then(|| {
            let mut case = self.case(&past.sums);
            case.over_all_bps = case.so_far.goodput_bps;
            case
        });
        let finding = case.as_ref().and_then(|case| self.longest(case));
        let whole = rows.then(|| {
            let (scores, mut columns) = self.paper_of_periods(&past);
            if let Some(case) = &case {
                self.refine(&mut columns, case, finding.as_ref(), self.capacity_in_view().as_ref());
                if let Some(finding) = &finding
                    && asks_the_model(case)
                {
                    // What was asked of one interval alone was asked of the whole.
                    let one = self.tally.as_ref().is_some_and(|tally| tally.is_one_interval());
                    let asked = self.asked.take().filter(|_| one);
                    let asked = asked.unwrap_or_else(|| MODEL.ask(self.look(case)));
                    argue(&mut columns, &asked, finding, None);
                }
            }
            (scores, columns)
        });
        let judged = periods.drain(..).map(|period| self.period(period)).collect();
        if let Some(segmenter) = self.half.segmenter_mut() {
            segmenter.keep_for_next(periods, past.sums.stats);
        }
        Judged { whole, periods: judged, finding }
    }

    fn period(&mut self, period: Period) -> (Period, Judgement) {
        let gaps = period.gaps.unpack();
        let (scores, mut columns) = self.paper(period.kind, &period.sums, gaps.as_ref());
        if self.options.refined {
            let case = self.case(&period.sums);
            let look = |case: &Case| self.look(case);
            let Diagnosis { finding, asked } = diagnose(&case, &mut Belief::default(), look);
            let finding = finding.or_else(|| at_once(&case));
            self.refine(&mut columns, &case, finding.as_ref(), self.capacity_in_view().as_ref());
            if let Some((finding, asked)) = finding.as_ref().zip(asked.as_ref()) {
                argue(&mut columns, asked, finding, None);
            }
        }
        (period, (scores, columns))
    }

    /// The finding for the whole half.
    fn longest(&self, case: &Case) -> Option<Finding> {
        match self.tally.as_ref().and_then(|tally| tally.longest()) {
            None => at_once(case).filter(|_| self.half.totals.payload_bytes > 0),
            longest => {
                longest.map(|found| Finding { confidence: doubt::tempered(&found, case), ..found })
            }
        }
    }

    /// What the items say of a period, or of the whole.
    fn look(&self, case: &Case) -> Observed {
        self.tally.as_ref().map_or_else(|| Memory::default().look(case), |tally| tally.look(case))
    }

    fn case(&mut self, sums: &Sums) -> Case {
        let half = &mut *self.half;
        let missed = half.totals.missed_bytes as f64 / half.totals.unique_bytes.max(1) as f64;
        let context = Context {
            mss_bytes: half.mss.value(),
            headers_bytes: half.headers_len(),
            mss_option: half.mss.offered(),
            rtt_min: half.rtt.min.and_then(Nanos::resolved),
            rtt_least: half
                .rtt
                .min
                .into_iter()
                .chain(self.handshake_rtt)
                .min()
                .and_then(Nanos::resolved),
            rtt_unresolved: half.rtt.min == Some(Nanos(0)),
            window_scale: half.window.scale,
            sack_agreed: self.sack_agreed,
            missed,
            position: self.position,
            rwnd_max: half.totals.rwnd_max,
            rwnd_met: half.totals.rwnd_met.filter(|&met| met > 0),
            inferred_rwnd: half.inferred_rwnd(),
            only_small_answered: half.only_small_answered(),
            unanswered: half.is_unanswered(),
            acks_unseen: half.acks_unseen(sums.flight_max.get()),
            ..Context::default()
        }
        .with(self.capacity.as_ref());
        let facts = Facts::of(sums, &context);
        let (policer, losses, density) = (half.policer(), half.loss_shape(), half.density());
        let (levels, evenness) = (half.levels(), half.evenness());
        let so_far = SoFar::of(half, self.pprate.as_ref());
        Case {
            facts,
            context,
            policer,
            levels,
            evenness,
            losses,
            density,
            so_far,
            beside: sums.others_share(),
            ..Case::default()
        }
    }

    fn known(&self) -> Known {
        self.pprate.zip(self.capacity)
    }

    /// The capacity as far as it is credible, in view of what the verdicts so far say.
    pub fn capacity_in_view(&self) -> Option<Capacity> {
        self.in_view(self.known())
    }

    fn in_view(&self, known: Known) -> Option<Capacity> {
        let (found, credible) = known?;
        let time = self.tally.as_ref().map(|tally| tally.time_by()).unwrap_or_default();
        Some(self.half.in_view_of(found, credible, time))
    }

    fn refine(
        &self,
        columns: &mut Verdict,
        case: &Case,
        finding: Option<&Finding>,
        capacity: Option<&Capacity>,
    ) {
        let mut case = *case;
        case.context = case.context.with(capacity);
        case.facts.take_capacity(&case.context);
        let case = &case;
        let Some(finding) = finding else {
            // It holds for what the paper's tree has no answer to as well.
            match case.facts.span_s > 0.0 {
                true => columns.null_reason = Some(Text::Borrowed(case.why_unknown())),
                false => {
                    columns.null_reason.get_or_insert(Text::Borrowed("no data was sent"));
                }
            }
            return;
        };
        columns.limitation = Some(finding.cause.limitation().name());
        columns.cause = Some(finding.cause.name());
        columns.confidence = Some(finding.confidence.name());
        columns.probability = Some(f64::from(finding.probability));
        columns.alternative = finding.alternative.map(|(next, _)| next.name());
        columns.alternative_probability = finding.alternative.map(|(_, chance)| chance.into());
        columns.bufferbloat = case.facts.bufferbloat(&case.context);
        let shares = Some(finding.shares).filter(|shares| *shares != Shares::default());
        columns.share_application = shares.map(|shares| shares.application);
        columns.share_receiver_window = shares.map(|shares| shares.receiver_window);
        columns.share_network = shares.map(|shares| shares.network);
        columns.share_recovery = shares.map(|shares| shares.recovery);
        let now_bps = case.facts.reached_bps(&case.context).unwrap_or(0.0);
        let headroom = headroom::predict(case, finding.cause, now_bps);
        columns.headroom_bps = headroom.ok().map(|headroom| headroom.bps);
        columns.gain_unknown = headroom.err().map(GainUnknown::name);
        let next = headroom.ok().and_then(|headroom| headroom.next);
        columns.next_limitation = next.map(Limitation::name);
        columns.evidence = Some(evidence::sentence(case, finding));
        let [src, dst] = [self.ends.src, self.ends.dst].map(Address);
        let advised =
            Advised { case, cause: finding.cause, headroom: headroom.ok(), src: &src, dst: &dst };
        columns.remedy = Some(advised.remedy());
    }
}

/// Says what speaks for a finding and what against it, where the intervals around it `moved` the
/// log-odds so far.
fn argue(columns: &mut Verdict, asked: &Asked, finding: &Finding, moved: Option<&ByAnswer>) {
    let answer = finding.cause.limitation() as usize;
    let argument = MODEL.argument(asked, (&finding.chances, moved), answer);
    let if_any = |text: String| Some(Text::Owned(text)).filter(|text| !text.is_empty());
    columns.speaks_for = if_any(argument.speaks_for);
    columns.speaks_against = if_any(argument.speaks_against);
}
