//! A link whose rate walks at random.

use super::queue::Queues;
use super::server::{Server, Service};
use super::{Body, Element, Settings};
use crate::parameter::{Interval, Probability, Rate, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;

/// A cellular link: every `step_ms` the rate changes by a random factor, and is reflected at both
/// of its ends. Winstein, Sivaraman and Balakrishnan, "Stochastic forecasts achieve high throughput
/// and low delay over cellular networks" (NSDI 2013), section 3, have a rate in
/// Brownian motion; here the logarithm moves, so that slow and fast links waver alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Walk {
    /// The lowest rate.
    pub min_bps: Rate,
    /// The highest rate.
    pub max_bps: Rate,
    /// How often the rate changes.
    #[serde(default = "twenty_ms")]
    pub step_ms: Interval,
    /// The deviation of a step, as a share of the way from the lowest to the highest rate.
    #[serde(default = "tenth")]
    pub step: Probability,
    /// The queue in front.
    #[serde(default)]
    pub queue: Queues,
}

checked!(Walk);

impl Walk {
    fn check(&self) -> Result<(), String> {
        let (min, max) = (self.min_bps.0, self.max_bps.0);
        if min > max {
            return Err(format!("min_bps is {min}: expected at most max_bps, {max}"));
        }
        if self.step_ms.0 < Nanos::MILLISECOND {
            return Err("step_ms: expected at least 1".to_owned());
        }
        if min < LOWEST_BPS {
            return Err(format!("min_bps is {min}: expected at least {LOWEST_BPS}"));
        }
        Ok(())
    }
}

impl Settings for Walk {
    const EXAMPLES: &'static [&'static str] = &[
        "min_bps = 500_000\nmax_bps = 8_000_000\nqueue.drop_tail.limit_packets = 30",
        "min_bps = 1_000_000\nmax_bps = 2_000_000\nstep_ms = 5\nstep = 0.5",
    ];

    fn takes_time(&self) -> bool {
        true
    }

    fn build<B: Body>(&self, mut random: Random) -> Box<dyn Element<B>> {
        let [low, high] = [self.min_bps, self.max_bps].map(|rate| (rate.0 as f64).ln());
        let mut walk = Random::stream(random.bits(), 0);
        let queue = self.queue.build(Some(((low + high) / 2.0).exp() as u64), random);
        let place = walk.unit();
        Server::boxed(Walker { settings: self.clone(), random: walk, step: 0, place }, queue)
    }
}

struct Walker {
    settings: Walk,
    random: Random,
    /// The number of the step that `place` is of.
    step: i64,
    /// Where the rate is between the lowest, 0, and the highest, 1.
    place: f64,
}

impl Walker {
    /// Walks on until `now`. After a long silence only the last steps are taken: where the walk
    /// was before does not matter then.
    fn walk_to(&mut self, now: Nanos) {
        let due = now.0 / self.settings.step_ms.0.0;
        self.step = self.step.max(due - STEPS_MAX);
        while self.step < due {
            self.step += 1;
            let place = self.place + self.random.normal() * self.settings.step.0;
            // Reflected at both ends, however far it went.
            let folded = place.rem_euclid(2.0);
            self.place = if folded > 1.0 { 2.0 - folded } else { folded };
        }
    }
}

impl Service for Walker {
    fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos {
        let step = self.settings.step_ms.0;
        let [low, high] = [self.settings.min_bps, self.settings.max_bps].map(|r| (r.0 as f64).ln());
        let (mut now, mut bits) = (start, f64::from(bytes) * 8.0);
        loop {
            self.walk_to(now);
            let rate = (low + (high - low) * self.place).exp();
            let end = now + Nanos((bits / rate * 1e9).ceil() as i64);
            let next = Nanos((self.step + 1).saturating_mul(step.0));
            if end <= next {
                return end;
            }
            bits -= (next - now).as_secs_f64() * rate;
            now = next;
        }
    }
}

fn twenty_ms() -> Interval {
    Interval(Nanos::from_millis(20))
}

fn tenth() -> Probability {
    Probability(0.1)
}

/// The most steps that are walked through for a silence.
const STEPS_MAX: i64 = 1_000;
/// A packet takes at most some 500,000 steps.
const LOWEST_BPS: u64 = 1_000;
