//! Intervals that their own items leave in doubt. They wait for a few that follow, and are judged
//! again by those before and after them.

use super::model::{ByAnswer, MODEL, Said, softmax};
use super::prospect::Prospects;
use super::{Case, Finding};
use std::collections::VecDeque;

/// An interval in doubt, in some 250 bytes.
#[derive(Debug)]
pub struct Doubt {
    /// The log-odds of its answers by its items.
    own: ByAnswer,
    prospects: Prospects,
    /// Mean chances of the intervals before, if there are any.
    before: Option<ByAnswer>,
    after: Sum,
    /// How long it is, in s.
    pub span_s: f64,
}

/// Chances of intervals, added up.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    chances: ByAnswer,
    count: u8,
}

/// What is said of an interval by those before and after it.
#[derive(Debug)]
pub struct Revised {
    /// The answer; none where the capture does not show what it would rest on.
    pub finding: Option<Finding>,
    /// What those before and after added to the log-odds by its items; nothing where it is alone.
    pub moved: Option<ByAnswer>,
}

impl Doubt {
    /// An interval of `span_s` seconds that waits, with what its items say.
    pub fn new(case: &Case, said: &Said, before: Option<ByAnswer>, span_s: f64) -> Doubt {
        let prospects = Prospects::of(case, said.varying);
        Doubt { own: said.log_odds, prospects, before, after: Sum::default(), span_s }
    }

    /// Judges it again, by what is known by now.
    pub fn revise(&self) -> Revised {
        let after = self.after.mean();
        let (own, before) = (softmax(&self.own), self.before.as_ref());
        let mut log_odds = MODEL.around.log_odds(&own, before, after.as_ref());
        let moved: ByAnswer = std::array::from_fn(|answer| log_odds[answer] - self.own[answer]);
        self.prospects.rule(&mut log_odds);
        let finding = self.prospects.concluded(softmax(&log_odds), &MODEL.around.curve);
        let is_alone = before.is_none() && after.is_none();
        Revised { finding, moved: (!is_alone).then_some(moved) }
    }
}

impl Sum {
    fn add(&mut self, chances: &ByAnswer) {
        self.chances.iter_mut().zip(chances).for_each(|(sum, chance)| *sum += chance);
        self.count += 1;
    }

    fn mean(&self) -> Option<ByAnswer> {
        let count = f32::from(self.count);
        (self.count > 0).then(|| self.chances.map(|sum| sum / count))
    }
}

/// The intervals of a direction that wait, the oldest first, each with what goes with it.
pub struct Waiting<R> {
    queue: VecDeque<(Doubt, R)>,
}

impl<R> Default for Waiting<R> {
    fn default() -> Waiting<R> {
        Waiting { queue: VecDeque::new() }
    }
}

impl<R> Waiting<R> {
    /// Lets all that wait know the chances of the next interval.
    pub fn see(&mut self, chances: &ByAnswer) {
        self.queue.iter_mut().for_each(|(doubt, _)| doubt.after.add(chances));
    }

    /// Lets one more wait.
    pub fn push(&mut self, doubt: Doubt, with: R) {
        // Most directions have none or few.
        self.queue.reserve_exact(1);
        self.queue.push_back((doubt, with));
    }

    /// The oldest, if it has waited long enough or `all` are to go.
    pub fn pop(&mut self, all: bool) -> Option<(Doubt, R)> {
        let (oldest, _) = self.queue.front()?;
        if all || oldest.after.count >= LATER { self.queue.pop_front() } else { None }
    }
}

/// Intervals that are waited for: of 1, 2, 3 and 5 the worlds that calibrate are right in 95.0,
/// 95.1, 95.2 and 95.3 %.
const LATER: u8 = 5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::memory::Memory;
    use crate::diagnosis::model::ANSWERS;
    use crate::diagnosis::{Context, Facts, Limitation, SoFar};
    use crate::units::Nanos;

    fn sure_of(answer: Limitation) -> ByAnswer {
        let mut chances = [0.0; ANSWERS];
        chances[answer as usize] = 1.0;
        chances
    }

    fn doubt(before: Option<ByAnswer>) -> Doubt {
        // A path whose round trip is known, so that any answer may be given.
        let facts = Facts { span_s: 3.0, ..Facts::default() };
        let rtt_least = Some(Nanos::from_micros(20_000));
        let context = Context { rtt_least, ..Context::default() };
        let so_far = SoFar { packets: 100, ..SoFar::default() };
        let case = Case { facts, context, so_far, ..Case::default() };
        Doubt::new(&case, &MODEL.ask(Memory::default().look(&case)).said, before, 3.0)
    }

    #[test]
    fn an_interval_waits_for_a_few_that_follow_and_no_longer() {
        let mut waiting = Waiting::default();
        let chances = sure_of(Limitation::Application);
        waiting.push(doubt(None), "first");
        waiting.see(&chances);
        waiting.push(doubt(Some(chances)), "second");
        (1..LATER - 1).for_each(|_| waiting.see(&chances));
        assert!(waiting.pop(false).is_none());
        waiting.see(&chances);
        assert_eq!(waiting.pop(false).map(|(_, name)| name), Some("first"));
        assert!(waiting.pop(false).is_none());
        let (second, name) = waiting.pop(true).expect("the direction has ended");
        assert_eq!((second.after.count, name), (LATER - 1, "second"));
        assert!(waiting.pop(true).is_none());
    }

    #[test]
    fn what_holds_before_and_after_is_likelier_between() {
        for answer in [Limitation::Application, Limitation::SharedBottleneck] {
            let revised = |before: Option<ByAnswer>, after: Option<ByAnswer>| {
                let mut doubt = doubt(before);
                after.iter().for_each(|after| doubt.after.add(after));
                doubt.revise()
            };
            let chance = |revised: &Revised| {
                revised.finding.map_or(0.0, |finding| finding.chances[answer as usize])
            };
            let sure = Some(sure_of(answer));
            let alone = revised(None, None);
            let around = revised(sure, sure);
            assert!(chance(&around) > chance(&alone), "{around:?}");
            assert!(around.moved.is_some());
            assert!(alone.moved.is_none());
        }
    }

    #[test]
    fn facts_rule_whatever_the_neighbours_say() {
        let mut doubt = doubt(Some(sure_of(Limitation::Policer)));
        doubt.after.add(&sure_of(Limitation::Policer));
        let finding = doubt.revise().finding.expect("some answer");
        assert!(finding.chances[Limitation::Policer as usize] < 1e-6, "nothing was lost");
    }
}
