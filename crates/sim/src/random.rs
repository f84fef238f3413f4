//! Random numbers that the seed fixes: one stream per user, the same on every machine.

use tcpwhy_core::units::Nanos;

/// A xoshiro256++ generator (Blackman and Vigna, "Scrambled linear pseudorandom number
/// generators", ACM TOMS 47(4), 2021), seeded through SplitMix64 as its authors advise.
#[derive(Clone, Debug)]
pub struct Random([u64; 4]);

impl Random {
    /// Stream number `stream` of the scenario with this seed. Every element, application and
    /// source has its own stream, so that one more draw here changes nothing there.
    pub fn stream(seed: u64, stream: u64) -> Random {
        let mut state = split_mix(&mut seed.clone()) ^ stream.wrapping_mul(GOLDEN_GAMMA);
        Random(std::array::from_fn(|_| split_mix(&mut state)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`. A draw is taken also for 0 and 1, so that streams stay in step.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Normal with mean 0 and deviation 1 (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.unit() - 1.0, 2.0 * self.unit() - 1.0);
            let s = x * x + y * y;
            if s > 0.0 && s < 1.0 {
                return x * (-2.0 * s.ln() / s).sqrt();
            }
        }
    }

    /// Uniform in [0, `span`).
    pub fn within(&mut self, span: Nanos) -> Nanos {
        Nanos((self.unit() * span.0 as f64) as i64)
    }
}

/// The increment of SplitMix64: 2^64 divided by the golden ratio, made odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), the seeder.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(GOLDEN_GAMMA);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_repeat_and_differ() {
        let draw = |seed, stream| {
            let mut random = Random::stream(seed, stream);
            [random.bits(), random.bits()]
        };
        assert_eq!(draw(1, 1), draw(1, 1));
        assert_ne!(draw(1, 1), draw(1, 2));
        assert_ne!(draw(1, 1), draw(2, 1));
        assert_ne!(draw(1, 0), draw(0, 1));
    }

    #[test]
    fn the_generator_is_xoshiro256_plus_plus() {
        // First outputs of the reference implementation for the state 1, 2, 3, 4.
        let mut random = Random([1, 2, 3, 4]);
        let first: Vec<u64> = (0..4).map(|_| random.bits()).collect();
        assert_eq!(first, [41943041, 58720359, 3588806011781223, 3591011842654386]);
    }

    #[test]
    fn moments_are_those_of_the_distributions() {
        let n = 100_000;
        let mut random = Random::stream(7, 0);
        let mut mean_and_variance = |draw: &mut dyn FnMut(&mut Random) -> f64| {
            let draws: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            let mean = draws.iter().sum::<f64>() / n as f64;
            (mean, draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64)
        };
        // Bounds: five standard errors of the mean, about three of the variance.
        let (mean, variance) = mean_and_variance(&mut |r| r.unit());
        assert!((mean - 0.5).abs() < 0.0046 && (variance - 1.0 / 12.0).abs() < 0.001);
        let (mean, variance) = mean_and_variance(&mut |r| r.exponential());
        assert!((mean - 1.0).abs() < 0.016 && (variance - 1.0).abs() < 0.03);
        let (mean, variance) = mean_and_variance(&mut |r| r.normal());
        assert!((mean).abs() < 0.016 && (variance - 1.0).abs() < 0.015);
    }
}
