//! What the paper's tree says of a half.

use super::{Judge, Past};
use crate::diagnosis::Limitation;
use crate::flow::time::gaps::Gaps;
use crate::flow::time::period::{Period, PeriodKind};
use crate::flow::time::segmenter::Interval;
use crate::flow::time::sums::Sums;
use crate::record::{Judgement, Text, Verdict};
use crate::score::{Evidence, Scores};
use crate::verdict;

impl Judge<'_> {
    /// The scores of a span.
    pub(super) fn scores(&self, sums: &Sums, gaps: Option<&Gaps>) -> Scores {
        Scores::of(&Evidence {
            sums,
            gaps,
            capacity_bps: self.pprate.as_ref().and_then(|capacity| capacity.bps),
            mss_bytes: self.half.mss.value(),
            headers_bytes: self.half.headers_len(),
            prototype: self.options.compat_seed.then_some(&self.half.totals.seed),
        })
    }

    pub(super) fn paper_of_interval(&self, interval: &Interval) -> Judgement {
        self.paper(interval.kind, &interval.window.sums, interval.window.gaps.as_deref())
    }

    /// The paper's verdict for a span, as columns.
    pub(super) fn paper(&self, kind: PeriodKind, sums: &Sums, gaps: Option<&Gaps>) -> Judgement {
        let scores = self.scores(sums, gaps);
        let answer = verdict::siekkinen(kind, &scores);
        let reason = match answer {
            Err(reason) => Some(Text::Borrowed(reason)),
            Ok(Limitation::Application) => None,
            Ok(_) => self.no_capacity(),
        };
        let verdict = Verdict {
            limitation_siekkinen: answer.ok().map(Limitation::name),
            null_reason: reason,
            ..Verdict::default()
        };
        (scores, verdict)
    }

    /// What the paper's tree answers for a period.
    pub(super) fn paper_answer(&self, period: &Period) -> Option<Limitation> {
        if period.kind != PeriodKind::Btp {
            return Past::answer_without_scores(period.kind);
        }
        let gaps = period.gaps.unpack();
        verdict::siekkinen(period.kind, &self.scores(&period.sums, gaps.as_ref())).ok()
    }

    /// The paper's verdict of the half: what held for the largest share of its periods' time.
    pub(super) fn paper_of_periods(&self, past: &Past) -> Judgement {
        let Past { bulk: sums, gaps, time, .. } = past;
        let kind = if sums.data_packets > 0 { PeriodKind::Btp } else { PeriodKind::Stp };
        let (scores, mut whole) = self.paper(kind, sums, gaps.as_deref());
        let (longest, most) =
            (0..time.len()).map(|i| (i, time[i])).max_by_key(|&(_, t)| t).expect("some");
        let name = (most > 0).then(|| Limitation::ALL[longest].name());
        whole.limitation_siekkinen = name;
        whole.null_reason = match name {
            None => whole.null_reason,
            Some("application") => None,
            Some(_) => self.no_capacity(),
        };
        (scores, whole)
    }

    /// Why the capacity is not known, if so: then the tree began at its second test.
    fn no_capacity(&self) -> Option<Text> {
        match &self.pprate {
            Some(capacity) => {
                let reason = capacity.method.err()?;
                Some(format!("no capacity, {}", reason.meaning()).into())
            }
            None => Some(self.too_short.to_owned().into()),
        }
    }
}
