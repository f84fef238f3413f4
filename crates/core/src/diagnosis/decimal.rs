//! Numbers with a few digits, written without the standard library's formatter: sentences are made
//! for every flow, and are mostly numbers.

use std::fmt::{self, Display, Formatter};
use std::ops::Deref;

/// A short text on the stack.
#[derive(Clone, Copy)]
pub struct Decimal {
    text: [u8; ROOM],
    len: usize,
}

/// A number with so many digits after the point, as `format!` writes it.
pub fn decimal(value: f64, digits: u32) -> Decimal {
    let unit = 10u64.pow(digits);
    let size = value.abs() * unit as f64;
    // The product was rounded. Close to the middle of two numbers, that would decide.
    let between = (size - size.floor() - 0.5).abs() < 1e-6;
    let exact = size < EXACT && !between;
    if !exact {
        return Decimal::default().with(&longer(value, digits as usize));
    }
    let number = size.round() as u64;
    let mut out = Decimal::default();
    if value.is_sign_negative() {
        out.put(b'-');
    }
    out.digits(number / unit, |_| false);
    if digits > 0 {
        // The one before makes the zeros behind the point.
        let point = out.len;
        out.digits(unit + number % unit, |_| false);
        out.text[point] = b'.';
    }
    out
}

#[cold]
fn longer(value: f64, digits: usize) -> String {
    match value.abs() < LONGEST {
        true => format!("{value:.digits$}"),
        false => format!("{value:.digits$e}"),
    }
}

/// Digits in groups of three.
pub fn grouped(number: u64) -> Decimal {
    let mut out = Decimal::default();
    out.digits(number, |left| left > 0 && left.is_multiple_of(3));
    out
}

impl Decimal {
    /// The same with `text` behind it.
    pub fn with(mut self, text: &str) -> Decimal {
        let end = self.len + text.len();
        self.text[self.len..end].copy_from_slice(text.as_bytes());
        self.len = end;
        self
    }

    /// Adds a number, with commas where that many digits are left.
    fn digits(&mut self, mut number: u64, comma: impl Fn(usize) -> bool) {
        let mut reversed = [0u8; MOST_DIGITS];
        let mut count = 0;
        while number > 0 || count == 0 {
            reversed[count] = b'0' + (number % 10) as u8;
            (count, number) = (count + 1, number / 10);
        }
        for left in (0..count).rev() {
            self.put(reversed[left]);
            if comma(left) {
                self.put(b',');
            }
        }
    }

    fn put(&mut self, byte: u8) {
        self.text[self.len] = byte;
        self.len += 1;
    }
}

impl Default for Decimal {
    fn default() -> Decimal {
        Decimal { text: [0; ROOM], len: 0 }
    }
}

impl Deref for Decimal {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.text[..self.len]).expect("only texts were put together")
    }
}

impl Display for Decimal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

/// Bytes of the longest number with commas, and of a unit or a noun.
const ROOM: usize = 56;
/// Digits of the largest number.
const MOST_DIGITS: usize = 20;
/// Below it, the digits of a product are exact but for the last.
const EXACT: f64 = 1e9;
/// From it on an exponent is shorter.
const LONGEST: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_the_standard_library_writes_them() {
        let mut value = 1e-4f64;
        while value < 1e14 {
            // Middles between two numbers among them.
            let near = [value, (value * 100.0).round() / 200.0, value.round() / 8.0, value.floor()];
            for value in near.into_iter().flat_map(|value| [value, -value]) {
                for digits in 0..3 {
                    assert_eq!(&*decimal(value, digits), format!("{value:.*}", digits as usize));
                }
            }
            value *= 1.0007;
        }
        for value in [0.0, -0.0, 0.5, 1.5, 2.5, 0.25, 0.125, 999.995, f64::NAN, f64::INFINITY] {
            assert_eq!(&*decimal(value, 2), format!("{value:.2}"));
            assert_eq!(&*decimal(value, 0), format!("{value:.0}"));
        }
    }

    #[test]
    fn the_longest_have_room() {
        assert_eq!(&*grouped(u64::MAX).with(" bytes"), "18,446,744,073,709,551,615 bytes");
        let noun = "retransmission timeouts";
        assert!(grouped(u64::MAX).with(" ").with(noun).ends_with(noun));
        assert_eq!(&*grouped(1_000), "1,000");
        assert_eq!(&*grouped(0), "0");
        assert_eq!(&*decimal(-1e300, 2).with(" Gbit/s"), "-1.00e300 Gbit/s");
        assert_eq!(&*decimal(-999_999_999_999_999.0, 2), "-999999999999999.00");
    }
}
