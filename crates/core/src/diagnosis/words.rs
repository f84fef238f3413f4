//! Numbers as people read them.

use super::decimal::Decimal;
pub use super::decimal::{decimal, grouped};
use crate::units::Nanos;

/// A rate: `9.56 Mbit/s`.
pub fn rate(bps: f64) -> Decimal {
    let units = [(1e9, " Gbit/s"), (1e6, " Mbit/s"), (1e3, " kbit/s")];
    scaled(bps, &units, " bit/s")
}

/// A time: `40.3 ms`.
pub fn time(time: Nanos) -> Decimal {
    let units = [(1e9, " s"), (1e6, " ms"), (1e3, " µs")];
    scaled(time.0 as f64, &units, " ns")
}

/// A time in seconds.
pub fn seconds(s: f64) -> Decimal {
    time(Nanos((s * 1e9) as i64))
}

/// A number of bytes: `65,535 bytes`, `6.20 MB`.
pub fn bytes(bytes: f64) -> Decimal {
    if bytes < 1e6 {
        return grouped(bytes as u64).with(" bytes");
    }
    let units = [(1e9, " GB"), (1e6, " MB")];
    scaled(bytes, &units, " bytes")
}

/// A share: `97 %`.
pub fn percent(share: f64) -> Decimal {
    let percent = share * 100.0;
    let digits = match percent {
        percent if percent > 0.0 && percent < 0.995 => 2,
        percent if percent < 9.95 => 1,
        _ => 0,
    };
    decimal(percent, digits).with(" %")
}

/// A count with its noun: `1 loss episode`, `2 loss episodes`.
pub fn count(number: u64, noun: &str) -> Decimal {
    match number {
        0 | 1 => counted(number, noun, ""),
        _ => grouped(number).with(" ").with(noun).with("s"),
    }
}

/// A number of things whose plural is irregular: `2 losses`.
pub fn counted(number: u64, one: &str, many: &str) -> Decimal {
    match number {
        0 => Decimal::default().with("no ").with(one),
        1 => Decimal::default().with("1 ").with(one),
        _ => grouped(number).with(" ").with(many),
    }
}

fn scaled(value: f64, units: &[(f64, &str)], least: &str) -> Decimal {
    let (scale, unit) =
        units.iter().copied().find(|(scale, _)| value >= *scale).unwrap_or((1.0, least));
    let value = value / scale;
    let digits = if value >= 99.95 {
        0
    } else if value >= 9.995 {
        1
    } else {
        2
    };
    decimal(value, digits).with(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_a_unit() {
        assert_eq!(&*rate(9.5637e6), "9.56 Mbit/s");
        assert_eq!(&*rate(123.0), "123 bit/s");
        assert_eq!(&*time(Nanos(40_312_000)), "40.3 ms");
        assert_eq!(&*time(Nanos(4_031)), "4.03 µs");
        assert_eq!(&*seconds(0.1), "100 ms");
        assert_eq!(&*bytes(65_535.0), "65,535 bytes");
        assert_eq!(&*bytes(16.0 * 1024.0 * 1024.0), "16.8 MB");
        assert_eq!(&*percent(0.9712), "97 %");
        assert_eq!(&*percent(0.0023), "0.23 %");
        assert_eq!(&*grouped(1_000), "1,000");
        assert_eq!(&*grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(&*count(2_340, "segment"), "2,340 segments");
        assert_eq!(&*count(0, "loss"), "no loss");
    }
}
