//! What a half was limited by, interval after interval.

use super::history::History;
use super::memory::{Memory, Observed};
use super::model::filter::Belief;
use super::model::{ByAnswer, MODEL};
use super::threshold;
use super::{Case, Cause, Confidence, Diagnosis, Finding, Limitation, Shares, diagnose, next_to};
use crate::flow::path::credible::TimeBy;

/// Time by cause, and what the next interval is weighed against.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    entries: Vec<Entry>,
    shares: Shares,
    total_s: f64,
    /// Chances of all limitations, of each answer after calibration, times the time.
    chances: ByAnswer,
    /// How sure the first finding was, as long as there is no other.
    only: Option<(f32, Confidence)>,
    belief: Belief,
    /// Mean chances by the intervals alone, the newest with the largest weight.
    before: Option<ByAnswer>,
    memory: Memory,
    history: History,
    /// Intervals in which there was something to be judged.
    intervals: u32,
}

/// The time in which a cause was the answer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    cause: Cause,
    time_s: f64,
}

impl Tally {
    /// Begins anew, in the same memory.
    pub fn renew(&mut self) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        *self = Tally { entries, ..Tally::default() };
    }

    /// What the items say of a span, without adding it to the tally.
    pub fn look(&self, case: &Case) -> Observed {
        self.memory.look(case)
    }

    /// Whether all that was judged is one interval.
    pub fn is_one_interval(&self) -> bool {
        self.intervals == 1
    }

    /// Mean chances of the intervals so far by what each shows alone, if there are any.
    pub fn before(&self) -> Option<ByAnswer> {
        self.before
    }

    /// Judges the next interval by itself and by those before it, and remembers what the items say
    /// of it if they are asked.
    pub fn judge(&mut self, case: &mut Case) -> Diagnosis {
        case.history = self.history;
        self.history.add(case);
        let diagnosis = diagnose(case, &mut self.belief, |case| self.memory.observe(case));
        self.intervals += u32::from(diagnosis.finding.is_some() || diagnosis.asked.is_some());
        diagnosis
    }

    /// Takes the chances of an interval for those that follow.
    pub fn remember(&mut self, chances: &ByAnswer) {
        match &mut self.before {
            None => self.before = Some(*chances),
            Some(means) => {
                for (mean, chance) in means.iter_mut().zip(chances) {
                    *mean += (chance - *mean) * NEWEST;
                }
            }
        }
    }

    /// Adds what limited an interval of `span_s` seconds.
    pub fn add(&mut self, finding: &Finding, span_s: f64) {
        match self.entries.iter_mut().find(|entry| entry.cause == finding.cause) {
            Some(entry) => entry.time_s += span_s,
            None => {
                // Most have one or two.
                self.entries.reserve_exact(1);
                self.entries.push(Entry { cause: finding.cause, time_s: span_s });
            }
        }
        let mut chances = finding.chances;
        chances[finding.cause.limitation() as usize] = finding.probability;
        for (sum, chance) in self.chances.iter_mut().zip(chances) {
            *sum += chance * span_s as f32;
        }
        let is_first = self.total_s == 0.0;
        self.only = is_first.then_some((finding.probability, finding.confidence));
        self.shares.add(&finding.shares, span_s);
        self.total_s += span_s;
    }

    /// The limitation that held for the longest time, with the cause of most of this time; the
    /// shares are those of the whole time.
    ///
    /// The mean of its chances tells how often it is right, also over the time in which others
    /// held; that of one interval alone is as sure as it. Where others held for a third of the time
    /// or more it is no more than medium: seen elsewhere, one of those may have held the longest.
    pub fn longest(&self) -> Option<Finding> {
        let time = |answer: Limitation| -> f64 {
            let mine = self.entries.iter().filter(|entry| entry.cause.limitation() == answer);
            mine.map(|entry| entry.time_s).sum()
        };
        let longest = self.entries.iter().max_by(|a, b| {
            let by_answer = time(a.cause.limitation()).total_cmp(&time(b.cause.limitation()));
            by_answer.then(a.time_s.total_cmp(&b.time_s))
        })?;
        let answer = longest.cause.limitation();
        let chances = self.chances.map(|sum| sum / self.total_s as f32);
        let (probability, confidence) = self.only.unwrap_or_else(|| {
            let probability = MODEL.whole.calibrated(chances[answer as usize], answer);
            let holds_mostly = time(answer) > self.total_s * threshold::OF_THE_WHOLE;
            let most = if holds_mostly { Confidence::High } else { Confidence::Medium };
            (probability, MODEL.whole.confidence(probability).min(most))
        });
        let alternative = next_to(answer, &chances, probability);
        let shares = self.shares.scaled(1.0 / self.total_s);
        Some(Finding {
            cause: longest.cause,
            probability,
            confidence,
            alternative,
            chances,
            shares,
        })
    }

    /// What the capacity is seen in view of.
    pub fn time_by(&self) -> TimeBy {
        if self.total_s <= 0.0 {
            return TimeBy::default();
        }
        let of = |answers: &[Limitation]| {
            let is_one = |entry: &&Entry| answers.contains(&entry.cause.limitation());
            let time_s: f64 = self.entries.iter().filter(is_one).map(|entry| entry.time_s).sum();
            time_s / self.total_s
        };
        TimeBy {
            full_link: of(&[Limitation::UnsharedBottleneck, Limitation::SharedBottleneck]),
            program: of(&[Limitation::Application]),
            network: self.shares.network / self.total_s,
        }
    }

    #[cfg(test)]
    /// Causes with their shares of the time, the longest first.
    pub fn causes(&self) -> Vec<(Cause, f64)> {
        let share = |entry: &Entry| (entry.cause, entry.time_s / self.total_s);
        let mut causes: Vec<_> = self.entries.iter().map(share).collect();
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        causes
    }
}

/// Weight of the newest interval among those before one.
const NEWEST: f32 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::model::ANSWERS;

    fn finding(cause: Cause, probability: f32) -> Finding {
        let shares = Shares { network: 1.0, ..Shares::default() };
        let mut chances = [0.0; ANSWERS];
        chances[cause.limitation() as usize] = probability;
        chances[Limitation::Transport as usize] += 1.0 - probability;
        let confidence = MODEL.alone.confidence(probability);
        Finding { cause, probability, confidence, alternative: None, chances, shares }
    }

    #[test]
    fn the_longest_limitation_is_the_answer() {
        let mut tally = Tally::default();
        tally.add(&finding(Cause::SlowStart, 1.0), 3.0);
        tally.add(&finding(Cause::UnsharedQueue, 0.9), 2.0);
        tally.add(&finding(Cause::UnsharedLoss, 0.9), 2.5);
        let longest = tally.longest().expect("some");
        assert_eq!(longest.cause, Cause::UnsharedLoss);
        // 0.9 in 4.5 of 7.5 s, and 0 in the others.
        let expected = MODEL.whole.calibrated(0.54, Limitation::UnsharedBottleneck);
        assert!((longest.probability - expected).abs() < 1e-6);
        assert_eq!(longest.alternative.map(|next| next.0), Some(Limitation::Transport));
        assert!((longest.shares.network - 1.0).abs() < 1e-9);
        assert_eq!(tally.causes()[0].0, Cause::SlowStart);
    }

    #[test]
    fn the_capacity_is_seen_in_view_of_all_time() {
        let mut tally = Tally::default();
        assert_eq!(tally.time_by().network, 0.0);
        tally.add(&finding(Cause::ApplicationPaced, 1.0), 6.0);
        tally.add(&finding(Cause::SharedQueue, 1.0), 1.0);
        tally.add(&finding(Cause::UnsharedLoss, 1.0), 1.0);
        let TimeBy { full_link, program, network } = tally.time_by();
        assert_eq!((full_link, program, network), (0.25, 0.75, 1.0));
    }

    #[test]
    fn what_held_for_less_than_half_of_the_time_is_less_sure() {
        let mut tally = Tally::default();
        tally.add(&finding(Cause::SlowStart, 1.0), 2.0);
        tally.add(&finding(Cause::Policer, 1.0), 2.0);
        tally.add(&finding(Cause::UnsharedQueue, 1.0), 2.5);
        assert_eq!(tally.longest().map(|found| found.confidence), Some(Confidence::Low));
    }

    #[test]
    fn what_held_for_no_more_than_two_thirds_of_the_time_is_never_sure() {
        // The chances of the others are its own: the mean alone would be high.
        let answer = finding(Cause::SlowStart, 1.0);
        let other = Finding { cause: Cause::UnresponsivePeer, ..finding(Cause::SlowStart, 1.0) };
        let confidence = |other_s: f64| {
            let mut tally = Tally::default();
            tally.add(&answer, 3.0);
            tally.add(&answer, 3.0);
            tally.add(&other, other_s);
            tally.longest().expect("some").confidence
        };
        assert_eq!(confidence(2.9), Confidence::High);
        assert_eq!(confidence(3.0), Confidence::Medium);
    }

    #[test]
    fn an_answer_is_as_likely_as_it_was_over_all_of_the_time() {
        let mut tally = Tally::default();
        tally.add(&finding(Cause::UnsharedQueue, 0.9), 2.5);
        assert!((tally.longest().expect("some").probability - 0.9).abs() < 1e-6, "alone");
        tally.add(&finding(Cause::SlowStart, 1.0), 1.0);
        tally.add(&finding(Cause::Policer, 0.8), 1.5);
        let longest = tally.longest().expect("some");
        assert_eq!(longest.cause, Cause::UnsharedQueue);
        assert!((longest.chances[Limitation::UnsharedBottleneck as usize] - 0.45).abs() < 1e-6);
        let expected = MODEL.whole.calibrated(0.45, Limitation::UnsharedBottleneck);
        assert_eq!(longest.probability, expected);
        assert_eq!(longest.confidence, MODEL.whole.confidence(longest.probability));
        let (next, chance) = longest.alternative.expect("another");
        assert_eq!(next, Limitation::Transport);
        // 0.31 over all of the time, of the 0.55 that the others share with it.
        let rest = 0.31 * ((1.0 - longest.probability) / 0.55).min(1.0);
        assert!(chance <= longest.probability && (chance - rest).abs() < 1e-5, "{chance}");
    }
}
