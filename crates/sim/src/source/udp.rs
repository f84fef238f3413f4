//! UDP sources: packets at times that nothing in the network changes.

use crate::parameter::{Interval, Milliseconds, PacketRate, checked};
use crate::random::Random;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::f64::consts::TAU;
use tcpwhy_core::units::Nanos;

/// The settings of any UDP source: a table with one key, its name.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UdpSources {
    /// Equal intervals.
    Constant(Constant),
    /// Exponential intervals.
    Poisson(Constant),
    /// Equal intervals for a while, nothing for a while.
    OnOff(OnOff),
    /// A rate that follows one or more sines.
    Sine(Sine),
}

/// A mean rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Packets per second.
    pub rate_pps: PacketRate,
}

/// A rate with pauses.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// Packets per second while on.
    pub rate_pps: PacketRate,
    /// How long it is on.
    pub on_ms: Interval,
    /// How long it is off.
    pub off_ms: Milliseconds,
}

/// `r(t) = mean * (1 + sum of sin(2 pi (f t + phase)) / n)` over `n` frequencies: the source of
/// "The Effect of TCP's Adaptivity on the Throughput".
///
/// Packet `k` leaves when the integral of `r` reaches `k`. To wait `1 / r(now)` between packets
/// instead stalls where the sine is 0 and loses rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Sine {
    /// Mean packets per second; the peak is twice that.
    pub mean_pps: PacketRate,
    /// The frequencies, at least one.
    #[serde(deserialize_with = "frequencies")]
    pub frequencies_hz: Vec<f64>,
    /// The phase of each in periods; 0 where it is not given.
    #[serde(default)]
    pub phases: Vec<f64>,
}

checked!(Sine);

impl Sine {
    fn check(&self) -> Result<(), String> {
        let (phases, frequencies) = (self.phases.len(), self.frequencies_hz.len());
        if phases > frequencies {
            return Err(format!("{phases} phases for {frequencies} frequencies_hz: too many"));
        }
        if self.phases.iter().any(|phase| !(-1e3..=1e3).contains(phase)) {
            return Err("phases: expected numbers of periods from -1000 to 1000".to_owned());
        }
        Ok(())
    }
}

impl UdpSources {
    /// The times of the packets, counted from the start of the source.
    pub fn build(&self, random: Random) -> Emissions {
        let shape = match self {
            UdpSources::Constant(constant) => Shape::Constant(constant.rate_pps.0),
            UdpSources::Poisson(constant) => Shape::Poisson(constant.rate_pps.0),
            UdpSources::OnOff(on_off) => Shape::OnOff(on_off.clone()),
            UdpSources::Sine(sine) => Shape::Sine(sine.clone()),
        };
        Emissions { shape, random, sent: 0, last_s: 0.0, last_pps: 0.0 }
    }
}

/// The times at which packets leave.
pub struct Emissions {
    shape: Shape,
    random: Random,
    sent: u64,
    last_s: f64,
    /// The rate then; only for [`Sine`].
    last_pps: f64,
}

enum Shape {
    Constant(f64),
    Poisson(f64),
    OnOff(OnOff),
    Sine(Sine),
}

impl Iterator for Emissions {
    type Item = Nanos;

    /// The time of the next packet.
    fn next(&mut self) -> Option<Nanos> {
        self.sent += 1;
        let k = self.sent as f64;
        self.last_s = match &self.shape {
            Shape::Constant(rate) => k / rate,
            Shape::Poisson(rate) => self.last_s + self.random.exponential() / rate,
            Shape::OnOff(on_off) => on_off.time_of(k),
            Shape::Sine(sine) => {
                let (time, rate) = sine.time_of(k, self.last_s, self.last_pps);
                self.last_pps = rate;
                time
            }
        };
        Some(Nanos::from_secs_f64(self.last_s))
    }
}

impl OnOff {
    fn time_of(&self, k: f64) -> f64 {
        let per_period = (self.rate_pps.0 * self.on_ms.0.as_secs_f64()).floor().max(1.0);
        let periods = ((k - 1.0) / per_period).floor();
        let within = k - 1.0 - periods * per_period;
        let period_s = (self.on_ms.0 + self.off_ms.0).as_secs_f64();
        periods * period_s + within / self.rate_pps.0
    }
}

impl Sine {
    /// The integral of the rate up to `t`, and the rate at `t`.
    fn integral_and_rate(&self, t: f64) -> (f64, f64) {
        let share = 1.0 / self.frequencies_hz.len() as f64;
        let (mut area, mut height) = (t, 1.0);
        for (i, f) in self.frequencies_hz.iter().enumerate() {
            let phase = self.phases.get(i).copied().unwrap_or(0.0);
            let (sin, cos) = (TAU * (f * t + phase)).sin_cos();
            let begin = if phase == 0.0 { 1.0 } else { (TAU * phase).cos() };
            area += share * (begin - cos) / (TAU * f);
            height += share * sin;
        }
        (self.mean_pps.0 * area, self.mean_pps.0 * height)
    }

    /// The time after `from` at which the integral is `k`, and the rate there: bisection, with
    /// Newton's step wherever that stays within the bracket, to a tenth of a nanosecond. Without an
    /// upper end the bracket doubles. `rate` is that at `from`, for the first guess.
    fn time_of(&self, k: f64, from: f64, rate: f64) -> (f64, f64) {
        let mut width = 2.0 / self.mean_pps.0;
        let (mut low, mut high) = (from, f64::INFINITY);
        let mut t = from + (1.0 / rate).min(width);
        for _ in 0..STEPS_MAX {
            let (area, rate) = self.integral_and_rate(t);
            let step = (k - area) / rate;
            if area < k {
                low = t;
            } else {
                high = t;
            }
            if step.abs() < 1e-10 || high - low < 1e-10 {
                return (t, rate);
            }
            t += step;
            if t > low && t < high.min(low + width) {
                continue;
            }
            if high.is_finite() {
                t = 0.5 * (low + high);
            } else {
                t = low + width;
                width *= 2.0;
            }
        }
        (t, self.integral_and_rate(t).1)
    }
}

/// Bisection alone ends within 60 steps from a bracket of seconds.
const STEPS_MAX: u32 = 100;

fn frequencies<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let list = Vec::<f64>::deserialize(deserializer)?;
    let positive = list.iter().all(|f| (1e-4..=1e4).contains(f));
    if positive && (1..=FREQUENCIES_MAX).contains(&list.len()) {
        return Ok(list);
    }
    Err(D::Error::custom("expected one to eight frequencies from 0.0001 to 10,000"))
}

const FREQUENCIES_MAX: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn emissions(toml: &str) -> Emissions {
        toml::from_str::<UdpSources>(toml).unwrap().build(Random::stream(3, 0))
    }

    #[test]
    fn the_sine_source_keeps_the_integral() {
        for (toml, f2) in [("[0.4]", None), ("[0.4, 1.7]", Some(1.7))] {
            let toml = format!("[sine]\nmean_pps = 62.5\nfrequencies_hz = {toml}");
            let mut last = Nanos(0);
            for (i, at) in emissions(&toml).take(20_000).enumerate() {
                // The closed form written down independently of the code.
                let t = at.as_secs_f64();
                let part = |f: f64| (1.0 - (TAU * f * t).cos()) / (TAU * f);
                let area = match f2 {
                    None => 62.5 * (t + part(0.4)),
                    Some(f2) => 62.5 * (t + 0.5 * part(0.4) + 0.5 * part(f2)),
                };
                assert!((area - (i + 1) as f64).abs() < 1e-6, "packet {} at {t}: {area}", i + 1);
                assert!(at > last);
                last = at;
            }
        }
    }

    #[test]
    fn the_sine_source_peaks_at_twice_the_mean_and_rests_at_zero() {
        let source = emissions("[sine]\nmean_pps = 62.5\nfrequencies_hz = [0.05]");
        let times: Vec<f64> = source.take(2500).map(Nanos::as_secs_f64).collect();
        let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
        let (least, most) = gaps.fold((1.0f64, 0.0f64), |(a, b), gap| (a.min(gap), b.max(gap)));
        assert!((least - 1.0 / 125.0).abs() < 1e-5, "shortest gap {least}");
        // At the zero r is m w^2 t^2 / 2. A packet that leaves there takes
        // (6 / (m w^2))^(1/3) = 0.99 s, and 4^(1/3) times that when the zero lies in the middle.
        assert!((0.99..1.575).contains(&most), "longest gap {most}");
    }

    #[test]
    fn other_sources_have_their_rate() {
        let last = |toml: &str, n: usize| emissions(toml).nth(n - 1).unwrap().as_secs_f64();
        assert_eq!(last("[constant]\nrate_pps = 50", 100), 2.0);
        let mean = last("[poisson]\nrate_pps = 50", 20_000) / 20_000.0;
        assert!((mean * 50.0 - 1.0).abs() < 0.03, "mean gap {mean}");
        let on_off = "[on_off]\nrate_pps = 100\non_ms = 50\noff_ms = 150";
        let times: Vec<i64> = emissions(on_off).take(7).map(|at| at.0 / 1_000_000).collect();
        assert_eq!(times, [0, 10, 20, 30, 40, 200, 210]);
    }
}
