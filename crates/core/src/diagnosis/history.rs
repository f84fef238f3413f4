//! What the intervals before were like, where a fading mean ([`super::memory`]) would not tell: how
//! evenly a direction went on, and for how long nothing has been acknowledged.

use super::{Case, silence};
use crate::flow::time::moments::Moments;

/// The intervals of a direction before the one that is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct History {
    goodputs: Moments,
    most_bps: f64,
    least_bps: f64,
    last_bps: Option<f64>,
    /// Time up to its end in which the sender waited and nothing was acknowledged.
    silent_s: f64,
    /// Retransmission timeouts in it.
    timeouts: u32,
}

impl History {
    /// Adds the interval that was judged.
    pub fn add(&mut self, case: &Case) {
        self.timeouts = self.timeouts(case);
        self.silent_s = self.silent_s(case);
        self.last_bps = case.facts.rate_bps();
        let Some(bps) = self.last_bps else { return };
        let is_first = self.goodputs.count == 0;
        self.most_bps = self.most_bps.max(bps);
        self.least_bps = if is_first { bps } else { self.least_bps.min(bps) };
        self.goodputs.add(bps);
    }

    /// How many there were.
    pub fn intervals(&self) -> u32 {
        self.goodputs.count
    }

    /// Whether nothing was acknowledged in the one before, while the sender waited.
    pub fn is_silent(&self) -> bool {
        self.silent_s > 0.0
    }

    /// Time without an answer up to the end of the interval `case`, in s.
    pub fn silent_s(&self, case: &Case) -> f64 {
        if silence::is_unanswered(case) { self.silent_s + case.facts.span_s } else { 0.0 }
    }

    /// Retransmission timeouts since anything was acknowledged, up to the end of `case`.
    pub fn timeouts(&self, case: &Case) -> u32 {
        if silence::is_unanswered(case) { self.timeouts + case.facts.timeouts } else { 0 }
    }

    /// Goodput of the interval `case` over the highest of one before it; `None` for the first.
    pub fn of_best(&self, case: &Case) -> Option<f64> {
        (self.most_bps > 0.0).then(|| case.facts.rate_bps().map(|bps| bps / self.most_bps))?
    }

    /// The same over that of the one before.
    pub fn of_last(&self, case: &Case) -> Option<f64> {
        let last_bps = self.last_bps.filter(|&bps| bps > 0.0)?;
        Some(case.facts.rate_bps()? / last_bps)
    }

    /// Lowest goodput of an interval over the highest, `case` among them; `None` for the first.
    pub fn evenness(&self, case: &Case) -> Option<f64> {
        let bps = case.facts.rate_bps().filter(|_| self.intervals() > 0)?;
        let most_bps = self.most_bps.max(bps);
        (most_bps > 0.0).then(|| self.least_bps.min(bps) / most_bps)
    }

    /// Standard deviation over mean of the goodputs of the intervals, `case` among them.
    pub fn variation(&self, case: &Case) -> Option<f64> {
        let mut all = self.goodputs;
        all.add(case.facts.rate_bps()?);
        all.variation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Facts;

    /// A second with so many bytes, of which some were acknowledged if any were sent.
    fn second(unique_bytes: u64) -> Case {
        let advances = u32::from(unique_bytes > 0);
        let facts = Facts { span_s: 1.0, unique_bytes, advances, network: 1.0, ..Facts::default() };
        Case { facts, ..Case::default() }
    }

    #[test]
    fn an_interval_is_held_against_those_before() {
        let mut history = History::default();
        let first = second(1000);
        assert_eq!((history.of_best(&first), history.evenness(&first)), (None, None));
        assert_eq!(history.variation(&first), None);
        history.add(&first);
        history.add(&second(500));
        let third = second(750);
        assert_eq!(history.of_best(&third), Some(0.75));
        assert_eq!(history.of_last(&third), Some(1.5));
        assert_eq!(history.evenness(&third), Some(0.5));
        let expected = (62_500.0f64 / 1.5).sqrt() / 750.0;
        assert!((history.variation(&third).expect("three") - expected).abs() < 1e-9);
    }

    #[test]
    fn silence_is_added_up_until_something_is_acknowledged() {
        let mut history = History::default();
        history.add(&second(1000));
        history.add(&second(0));
        assert_eq!(history.silent_s(&second(0)), 2.0);
        history.add(&second(0));
        assert_eq!(history.silent_s(&second(9)), 0.0);
    }
}
