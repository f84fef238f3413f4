//! What a half was limited by, stretch after stretch.

use super::{Cause, Confidence, Finding, Shares};
use crate::units::Nanos;

/// Time by cause, and the answer that the next stretch is compared with.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    entries: Vec<Entry>,
    shares: Shares,
    total_s: f64,
    before: Option<Cause>,
    sure: Confidence,
    pending: Option<Cause>,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    cause: Cause,
    /// By confidence, from low to high.
    time_s: [f64; 3],
}

impl Tally {
    /// The cause of the stretch before.
    pub fn before(&self) -> Option<Cause> {
        self.before
    }

    /// How sure that was when it was found.
    pub fn before_sure(&self) -> Confidence {
        self.sure
    }

    /// Takes the finding of the next stretch, of `span`, and gives the one to report: neighbours do
    /// not flap between causes of the network's time on thin evidence, so that another one than
    /// before has to be sure, or to be found twice in a row, or to tell better of the same losses.
    pub fn settle(&mut self, finding: Finding, span: Nanos) -> Finding {
        let other = self.before.filter(|before| before.limitation() != finding.cause.limitation());
        let doubtful = finding.confidence != Confidence::High
            && !self.revises(&finding)
            && finding.cause.is_of_network()
            && self.pending != Some(finding.cause);
        self.pending = Some(finding.cause);
        let settled = match other {
            // Growth ends, and whatever ends it may be told by little at first.
            Some(before) if doubtful && before.is_of_network() && !before.is_growth() => {
                Finding { cause: before, confidence: Confidence::Low, ..finding }
            }
            _ => {
                self.sure = finding.confidence;
                finding
            }
        };
        self.before = Some(settled.cause);
        self.add(&settled, span.as_secs_f64());
        settled
    }

    /// Whether a guess of what caused losses gives way to one that rests on more; chance is what
    /// is left when nothing tells, and revises none.
    fn revises(&self, finding: &Finding) -> bool {
        let guessed = matches!(self.before, Some(Cause::Policer | Cause::RandomLoss));
        let told = matches!(finding.cause, Cause::Policer | Cause::UnsharedLoss);
        guessed && told && finding.confidence > self.sure
    }

    fn add(&mut self, finding: &Finding, span_s: f64) {
        let at = match self.entries.iter().position(|entry| entry.cause == finding.cause) {
            Some(at) => at,
            None => {
                self.entries.push(Entry { cause: finding.cause, time_s: [0.0; 3] });
                self.entries.len() - 1
            }
        };
        self.entries[at].time_s[finding.confidence as usize] += span_s;
        self.shares.add(&finding.shares, span_s);
        self.total_s += span_s;
    }

    /// The cause that held for the longest time, with the confidence that half of this time had at
    /// least, and the shares of all of it.
    pub fn longest(&self) -> Option<Finding> {
        let time = |entry: &Entry| entry.time_s.iter().sum::<f64>();
        let longest = self.entries.iter().max_by(|a, b| time(a).total_cmp(&time(b)))?;
        let whole = time(longest);
        let mut confidence = Confidence::Low;
        let at_least = |level: usize| longest.time_s[level..].iter().sum::<f64>();
        for level in [Confidence::Medium, Confidence::High] {
            if at_least(level as usize) * 2.0 >= whole {
                confidence = level;
            }
        }
        if whole * 2.0 < self.total_s {
            confidence = confidence.less();
        }
        let shares = self.shares.scaled(1.0 / self.total_s);
        Some(Finding { cause: longest.cause, rival: None, confidence, shares })
    }

    #[cfg(test)]
    /// Causes with their shares of the time, the longest first.
    pub fn causes(&self) -> Vec<(Cause, f64)> {
        let time = |entry: &Entry| entry.time_s.iter().sum::<f64>() / self.total_s;
        let mut causes: Vec<_> = self.entries.iter().map(|e| (e.cause, time(e))).collect();
        causes.sort_by(|a, b| b.1.total_cmp(&a.1));
        causes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(cause: Cause, confidence: Confidence) -> Finding {
        let shares = Shares { network: 1.0, ..Shares::default() };
        Finding { cause, rival: None, confidence, shares }
    }

    #[test]
    fn one_doubtful_stretch_does_not_change_the_answer_and_two_do() {
        let mut tally = Tally::default();
        let second = Nanos::SECOND;
        let mut settle = |cause, confidence| tally.settle(finding(cause, confidence), second).cause;
        assert_eq!(settle(Cause::UnsharedQueue, Confidence::High), Cause::UnsharedQueue);
        assert_eq!(settle(Cause::RandomLoss, Confidence::Medium), Cause::UnsharedQueue);
        assert_eq!(settle(Cause::RandomLoss, Confidence::Medium), Cause::RandomLoss);
        assert_eq!(settle(Cause::Policer, Confidence::High), Cause::Policer);
        assert_eq!(settle(Cause::ApplicationIdle, Confidence::Low), Cause::ApplicationIdle);
    }

    #[test]
    fn a_guess_about_losses_gives_way_to_what_rests_on_more() {
        let mut tally = Tally::default();
        let second = Nanos::SECOND;
        let mut settle = |cause, confidence| tally.settle(finding(cause, confidence), second).cause;
        assert_eq!(settle(Cause::Policer, Confidence::Low), Cause::Policer);
        assert_eq!(settle(Cause::Recovery, Confidence::Medium), Cause::Policer);
        assert_eq!(settle(Cause::UnsharedLoss, Confidence::Medium), Cause::UnsharedLoss);
        assert_eq!(settle(Cause::RandomLoss, Confidence::Medium), Cause::UnsharedLoss);
    }

    #[test]
    fn the_longest_cause_is_the_answer() {
        let mut tally = Tally::default();
        tally.settle(finding(Cause::SlowStart, Confidence::High), Nanos(1_000_000_000));
        tally.settle(finding(Cause::UnsharedQueue, Confidence::High), Nanos(5_000_000_000));
        let longest = tally.longest().expect("some");
        assert_eq!((longest.cause, longest.confidence), (Cause::UnsharedQueue, Confidence::High));
        assert!((longest.shares.network - 1.0).abs() < 1e-9);
        assert_eq!(tally.causes()[1].0, Cause::SlowStart);
    }
}
