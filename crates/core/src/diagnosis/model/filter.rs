//! From one interval to the next: the forward filter of a hidden Markov model (Rabiner, "A tutorial
//! on hidden Markov models", Proc. IEEE 1989, section III.A).
//!
//! What limits a sender mostly goes on. The belief so far, less what may have changed meanwhile, is
//! what the next interval begins with; its evidence is weighed against that.

use super::{ByAnswer, softmax};

/// How an interval follows on the one before. Fitted.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Chance that the limit is the same a second later.
    pub stay_a_second: f32,
    /// How much the evidence of an interval counts: neighbours share some of it.
    pub trust: f32,
    /// How frequent each answer is where nothing is known.
    pub prior: ByAnswer,
}

/// What is believed of a half.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Belief {
    chances: Option<ByAnswer>,
}

impl Belief {
    /// Takes the evidence of the next interval, of so many seconds; the chances of the answers.
    pub fn follow(&mut self, settings: &Settings, log_odds: &ByAnswer, seconds: f32) -> ByAnswer {
        let chances = match self.chances {
            None => softmax(log_odds),
            Some(before) => {
                let stay = settings.stay_a_second.powf(seconds.clamp(0.0, LONGEST_S));
                let mut odds = *log_odds;
                for (answer, odds) in odds.iter_mut().enumerate() {
                    let prior = settings.prior[answer].max(LEAST);
                    let expected = stay * before[answer] + (1.0 - stay) * prior;
                    *odds = settings.trust * (*odds - prior.ln()) + expected.max(LEAST).ln();
                }
                softmax(&odds)
            }
        };
        self.settle(chances);
        chances
    }

    /// Takes chances that are known otherwise.
    pub fn settle(&mut self, chances: ByAnswer) {
        self.chances = Some(chances);
    }
}

/// Seconds after which nothing of a belief is left, whatever else was fitted.
const LONGEST_S: f32 = 600.0;
/// No answer is less likely than this beforehand.
const LEAST: f32 = 1e-4;

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings =
        Settings { stay_a_second: 0.9, trust: 1.0, prior: [1.0 / 9.0; super::super::ANSWERS] };

    #[test]
    fn one_doubtful_interval_does_not_change_a_belief_and_two_do() {
        let (mut one, mut other) = ([0.0; 9], [0.0; 9]);
        (one[3], other[6]) = (4.0, 2.0);
        let mut belief = Belief::default();
        let most = |chances: ByAnswer| {
            (0..9).max_by(|&a, &b| chances[a].total_cmp(&chances[b])).expect("some")
        };
        assert_eq!(most(belief.follow(&SETTINGS, &one, 3.0)), 3);
        assert_eq!(most(belief.follow(&SETTINGS, &other, 3.0)), 3);
        assert_eq!(most(belief.follow(&SETTINGS, &other, 3.0)), 6);
    }

    #[test]
    fn a_long_pause_forgets() {
        let mut one = [0.0; 9];
        one[3] = 6.0;
        let mut belief = Belief::default();
        belief.follow(&SETTINGS, &one, 3.0);
        let chances = belief.follow(&SETTINGS, &[0.0; 9], 300.0);
        assert!(chances.iter().all(|chance| (chance - 1.0 / 9.0).abs() < 1e-3), "{chances:?}");
    }
}
