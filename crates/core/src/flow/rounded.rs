//! Numbers in two bytes.

/// Nothing, or a number of 1 to 2^64 to 0.05 %: the power of two below it, and eleven digits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rounded(u16);

impl Rounded {
    /// The nearest one; 1 for what is less.
    #[inline]
    pub fn of(number: f32) -> Rounded {
        // Half of what is cut off is added: the nearest one.
        let cut = (number.clamp(1.0, MOST).to_bits() - ONE + (1 << (CUT - 1))) >> CUT;
        Rounded(cut as u16 + 1)
    }

    /// The number.
    #[inline]
    pub fn number(self) -> f32 {
        match self.0.checked_sub(1) {
            Some(cut) => f32::from_bits((u32::from(cut) << CUT) + ONE),
            None => 0.0,
        }
    }
}

/// Bits of 1.0, and how many of a number's last ones are cut off.
const ONE: u32 = 1.0f32.to_bits();
const CUT: u32 = 13;
/// The largest number: 2^64 but for two steps.
const MOST: f32 = f32::from_bits(ONE + ((u16::MAX as u32 - 1) << CUT));

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(number: f32) -> f32 {
        Rounded::of(number).number()
    }

    #[test]
    fn a_number_is_kept_to_a_twentieth_of_a_percent() {
        let mut number = 1.0f32;
        while number < 1e15 {
            assert!((kept(number) / number - 1.0).abs() <= 0.0005, "{number}");
            number *= 1.000_37;
        }
        assert_eq!((kept(0.0), kept(1.0), kept(1024.0)), (1.0, 1.0, 1024.0));
        assert_eq!(Rounded::default().number(), 0.0);
        assert_eq!((kept(MOST), kept(f32::MAX)), (MOST, MOST));
        let most = kept(f32::INFINITY);
        assert!(most > 1.8e19, "{most}");
    }
}
