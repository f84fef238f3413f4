//! Numbers that may be unknown, in the room of one that is known: sums have many of them, and flows
//! many sums.

use crate::units::Nanos;
use std::marker::PhantomData;

/// A count below 2^63, or a time, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maybe<T> {
    /// 0 of nothing: of what is known the highest bit is turned round.
    word: u64,
    of: PhantomData<T>,
}

/// What it can be; no value has the highest bit alone.
pub trait Value: Copy {
    /// As one word.
    fn word(self) -> u64;
    /// Of such a word.
    fn of(word: u64) -> Self;
}

impl Value for u64 {
    #[inline(always)]
    fn word(self) -> u64 {
        self
    }

    #[inline(always)]
    fn of(word: u64) -> u64 {
        word
    }
}

impl Value for Nanos {
    #[inline(always)]
    fn word(self) -> u64 {
        self.0 as u64
    }

    #[inline(always)]
    fn of(word: u64) -> Nanos {
        Nanos(word as i64)
    }
}

impl<T> Default for Maybe<T> {
    fn default() -> Maybe<T> {
        Maybe { word: 0, of: PhantomData }
    }
}

impl<T: Value> From<T> for Maybe<T> {
    #[inline(always)]
    fn from(value: T) -> Maybe<T> {
        Maybe { word: value.word() ^ TURNED, of: PhantomData }
    }
}

impl<T: Value> Maybe<T> {
    /// What is known.
    #[inline(always)]
    pub fn get(self) -> Option<T> {
        self.is_known().then(|| T::of(self.word ^ TURNED))
    }

    /// Whether anything is.
    #[inline(always)]
    pub fn is_known(self) -> bool {
        self.word != 0
    }

    /// This, or else `other`.
    #[inline(always)]
    pub fn or(self, other: Maybe<T>) -> Maybe<T> {
        if self.is_known() { self } else { other }
    }

    /// The larger of both, if any is known.
    #[inline(always)]
    pub fn max(self, other: Maybe<T>) -> Maybe<T> {
        Maybe { word: self.word.max(other.word), of: PhantomData }
    }

    /// The smaller of both, if any is known.
    #[inline(always)]
    pub fn min(self, other: Maybe<T>) -> Maybe<T> {
        // Nothing comes last when one is taken off.
        let least = self.word.wrapping_sub(1).min(other.word.wrapping_sub(1));
        Maybe { word: least.wrapping_add(1), of: PhantomData }
    }
}

/// The highest bit, which keeps the order of what is signed as well.
const TURNED: u64 = 1 << 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_comes_out_and_has_its_order() {
        let none = Maybe::<u64>::default();
        let (few, many) = (Maybe::from(0u64), Maybe::from(u64::MAX >> 1));
        assert_eq!([none, few, many].map(Maybe::get), [None, Some(0), Some(u64::MAX >> 1)]);
        assert_eq!((few.max(many), few.min(many)), (many, few));
        for known in [few, many] {
            assert_eq!((none.max(known), known.min(none), none.or(known)), (known, known, known));
        }
        assert_eq!((none.max(none), none.min(none)), (none, none));
        let [past, now] = [-1, 0].map(|ns| Maybe::from(Nanos(ns)));
        assert_eq!((past.max(now), past.min(now).get()), (now, Some(Nanos(-1))));
    }
}
