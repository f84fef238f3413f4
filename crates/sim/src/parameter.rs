//! Numbers as scenario files give them: checked where they are read, so that an error names the
//! key and what it may be; kept in base units.

use serde::de::{Deserialize, Deserializer, Error, Unexpected, Visitor};
use tcpwhy_core::units::Nanos;

/// A time in milliseconds, not negative, kept in nanoseconds. Keys end in `_ms`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Milliseconds(pub Nanos);

/// The time from one event to the next in milliseconds, from a microsecond on: what repeats at once
/// would never end. Keys end in `_ms`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval(pub Nanos);

/// A time in seconds, not negative, kept in nanoseconds. Keys end in `_s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seconds(pub Nanos);

/// A rate from 1 bit/s to 1 Tbit/s. Keys end in `_bps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(pub u64);

/// Packets per second, up to what 10 Gbit/s of the shortest frames are. Keys end in `_pps`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketRate(pub f64);

/// Payload bytes of a segment. The least is Linux's, the most what an IP packet holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mss(pub u16);

/// Bytes of the link layer, from 0 to 1,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead(pub u32);

/// A whole number from 0 to 1,000,000,000.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Whole(pub u32);

/// A probability from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probability(pub f64);

/// A number above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Positive(pub f64);

/// A number of packets or bytes from 1 to 1,000,000,000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count(pub u64);

/// Declares how a parameter is read from a number: what it is called in errors, which values are
/// allowed, and how they are stored.
macro_rules! numbers {
    ($($type:ident, $expected:literal, $allowed:expr, $store:expr;)+) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<$type, D::Error> {
                let x = deserializer.deserialize_any(Number { expected: $expected })?;
                if !($allowed)(x) {
                    return Err(D::Error::invalid_value(Unexpected::Float(x), &$expected));
                }
                Ok($type(($store)(x)))
            }
        }
    )+};
}

// A year is more than any simulation; it keeps sums of times far from overflow.
numbers! {
    Milliseconds, "a time in milliseconds from 0 to 3.2e10",
        |x: f64| (0.0..=3.2e10).contains(&x), |x: f64| Nanos((x * 1e6).round() as i64);
    Interval, "a time in milliseconds from 0.001 to 3.2e10",
        |x: f64| (0.001..=3.2e10).contains(&x), |x: f64| Nanos((x * 1e6).round() as i64);
    PacketRate, "a number of packets per second from 0.001 to 20,000,000",
        |x: f64| (0.001..=2e7).contains(&x), |x| x;
    Mss, "a segment size in bytes from 48 to 65,495",
        |x: f64| (48.0..=65_495.0).contains(&x) && x.fract() == 0.0, |x: f64| x as u16;
    Overhead, "a number of bytes from 0 to 1,000",
        |x: f64| (0.0..=1000.0).contains(&x) && x.fract() == 0.0, |x: f64| x as u32;
    Whole, "a whole number from 0 to 1,000,000,000",
        |x: f64| (0.0..=1e9).contains(&x) && x.fract() == 0.0, |x: f64| x as u32;
    Seconds, "a time in seconds from 0 to 3.2e7",
        |x: f64| (0.0..=3.2e7).contains(&x), Nanos::from_secs_f64;
    Rate, "a rate in bit/s from 1 to 1e12",
        |x: f64| (1.0..=1e12).contains(&x), |x: f64| x.round() as u64;
    Probability, "a probability from 0 to 1",
        |x: f64| (0.0..=1.0).contains(&x), |x| x;
    Positive, "a number above 0 and up to 1e12",
        |x: f64| x > 0.0 && x <= 1e12, |x| x;
    Count, "a whole number from 1 to 1,000,000,000",
        |x: f64| (1.0..=1e9).contains(&x) && x.fract() == 0.0, |x: f64| x as u64;
}

/// Reads any TOML number as a float: every number above fits without loss.
struct Number {
    expected: &'static str,
}

impl Visitor<'_> for Number {
    type Value = f64;

    fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_i64<E: Error>(self, x: i64) -> Result<f64, E> {
        Ok(x as f64)
    }

    fn visit_u64<E: Error>(self, x: u64) -> Result<f64, E> {
        Ok(x as f64)
    }

    fn visit_f64<E: Error>(self, x: f64) -> Result<f64, E> {
        Ok(x)
    }
}

/// Reads settings whose fields are derived, and then asks them whether they fit together. The type
/// derives `Deserialize` with `#[serde(remote = "Self")]` and has a `check`.
macro_rules! checked {
    ($type:ident) => {
        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<$type, D::Error> {
                let read = <$type>::deserialize(from)?;
                match read.check() {
                    Ok(()) => Ok(read),
                    Err(message) => Err(serde::de::Error::custom(message)),
                }
            }
        }
    };
}
pub(crate) use checked;
