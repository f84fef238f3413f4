//! How even the loss episodes of a direction are: in what is in flight when they begin, and in the
//! time between them.
//!
//! A flow that has a link for itself loses whenever it fills the path and the queue, which hold
//! as much each time. Where others fill the queue as well, or losses come by chance, neither the
//! flight nor the time between is even.

use crate::flow::time::moments::Moments;
use crate::units::Nanos;

/// The loss episodes so far; older ones count half.
#[derive(Debug, Default)]
pub struct Episodes {
    flights: Moments,
    gaps: Moments,
    last: Option<Nanos>,
}

/// How even they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evenness {
    /// Standard deviation over mean of the flight when they begin.
    pub flight_variation: Option<f64>,
    /// The same of the time between them.
    pub gap_variation: Option<f64>,
}

impl Episodes {
    /// One is known of at `ts`, with so many bytes in flight when it began.
    pub fn add(&mut self, ts: Nanos, flight: Option<f64>) {
        if let Some(flight) = flight {
            add(&mut self.flights, flight);
        }
        if let Some(last) = self.last.replace(ts) {
            add(&mut self.gaps, ts.since(last).as_secs_f64());
        }
    }

    /// How even they are; `None` of fewer than [`MIN_EPISODES`].
    pub fn evenness(&self) -> Option<Evenness> {
        let of =
            |moments: &Moments| moments.variation().filter(|_| moments.count + 1 >= MIN_EPISODES);
        let (flight_variation, gap_variation) = (of(&self.flights), of(&self.gaps));
        (flight_variation.is_some() || gap_variation.is_some())
            .then_some(Evenness { flight_variation, gap_variation })
    }
}

fn add(moments: &mut Moments, value: f64) {
    if moments.count >= REMEMBERED {
        moments.halve();
    }
    moments.add(value);
}

/// Of fewer, a variation is chance.
const MIN_EPISODES: u32 = 4;
/// A path changes: the last dozens count.
const REMEMBERED: u32 = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saw_is_even_and_chance_is_not() {
        let of = |steps: &[i64]| {
            let (mut episodes, mut ts) = (Episodes::default(), 0);
            for step in steps {
                ts += step;
                episodes.add(Nanos::from_millis(ts), Some(*step as f64));
            }
            episodes.evenness()
        };
        let even = of(&[50; 100]).expect("many");
        assert_eq!(even, Evenness { flight_variation: Some(0.0), gap_variation: Some(0.0) });
        let uneven = of(&[10, 90, 20, 80, 5, 95]).expect("some");
        assert!(uneven.flight_variation.is_some_and(|variation| variation > 0.5));
        assert!(uneven.gap_variation.is_some_and(|variation| variation > 0.5));
        assert_eq!(of(&[50; 2]), None);
    }
}
