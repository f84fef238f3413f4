//! What the table knows of a flow without looking at its segments: who closed it, its list, how
//! many came, and how often they were analysed.

use super::class::Class;
use crate::wire::{Segment, flags};

/// Bits 0 and 1: the FIN of either side, both for a RST. Bit 2: more than SYNs came. Bits 3 and 4:
/// the [`Class`] under which it is listed. Bit 5: it is a member of the pair of its hosts. Bits 6
/// to 9: how often its log was analysed, and from bit 10 on: its segments. Both count as far as
/// they matter.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct State(u16);

impl State {
    /// Learns from a segment.
    #[inline]
    pub fn see(&mut self, segment: &Segment) {
        let bits = segment.flags & (flags::SYN | flags::FIN | flags::RST);
        if bits == 0 {
            self.0 |= ESTABLISHED;
        } else if bits & flags::RST != 0 {
            self.0 |= CLOSED;
        } else if bits & flags::FIN != 0 {
            self.0 |= ESTABLISHED | 1 << u8::from(segment.forward);
        } else if segment.flags & flags::ACK == 0 {
            // The next connection on the same ports.
            self.0 &= !CLOSED;
        }
    }

    /// Whether both sides have closed, or one has reset.
    #[inline]
    pub fn is_closed(self) -> bool {
        self.0 & CLOSED == CLOSED
    }

    /// Whether a segment came that is no SYN and no RST.
    #[inline]
    pub fn is_established(self) -> bool {
        self.0 & ESTABLISHED != 0
    }

    /// The list that it is in.
    #[inline]
    pub fn listed(self) -> Class {
        Class::ALL[usize::from(self.0 >> LISTED_SHIFT & 3)]
    }

    /// It is in the list of `class` now.
    pub fn set_listed(&mut self, class: Class) {
        self.0 = self.0 & !LISTED | (class as u16) << LISTED_SHIFT;
    }

    /// That of the next flow in the same slot, which is still in the same list.
    pub fn cleared(self) -> State {
        State(self.0 & LISTED)
    }

    /// Whether it is a member of the pair of its hosts.
    #[inline]
    pub fn is_member(self) -> bool {
        self.0 & MEMBER != 0
    }

    /// It is a member from now on.
    pub fn set_member(&mut self) {
        self.0 |= MEMBER;
    }

    /// Counts a segment of one that is no member; whether there are as many now that it may be one.
    #[inline]
    pub fn count(&mut self) -> bool {
        let is_more = self.0 >> SEGMENTS_SHIFT < MEMBER_FROM;
        self.0 += u16::from(is_more) << SEGMENTS_SHIFT;
        is_more && self.0 >> SEGMENTS_SHIFT == MEMBER_FROM
    }

    /// How often its log was analysed, 15 at most.
    #[inline]
    pub fn bursts(self) -> u8 {
        (self.0 >> BURSTS_SHIFT) as u8 & MOST_BURSTS
    }

    /// Its log was analysed.
    #[inline]
    pub fn add_burst(&mut self) {
        self.0 += u16::from(self.bursts() < MOST_BURSTS) << BURSTS_SHIFT;
    }
}

/// Both sides have closed, or one has reset.
const CLOSED: u16 = 3;
/// A segment came that is no SYN and no RST.
const ESTABLISHED: u16 = 4;
const LISTED_SHIFT: u16 = 3;
const LISTED: u16 = 3 << LISTED_SHIFT;
const MEMBER: u16 = 32;
const BURSTS_SHIFT: u16 = 6;
const MOST_BURSTS: u8 = 15;
const SEGMENTS_SHIFT: u16 = 10;
/// The segment with which a flow becomes a member of its pair. It has state then, whenever its log
/// was analysed: one without is no longer than [`super::short::LONGEST`].
const MEMBER_FROM: u16 = super::short::LONGEST as u16 + 1;
const _: () = assert!(MEMBER_FROM < 1 << (16 - SEGMENTS_SHIFT));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_stop_where_they_do_not_matter() {
        let mut state = State::default();
        state.set_listed(Class::Long);
        let became = (1..1000).filter(|_| state.count()).count();
        assert_eq!((became, state.0 >> SEGMENTS_SHIFT), (1, MEMBER_FROM));
        (0..1000).for_each(|_| state.add_burst());
        state.set_member();
        assert_eq!((state.bursts(), state.is_member()), (MOST_BURSTS, true));
        assert!(state.listed() == Class::Long && !state.is_closed());
        assert!(state.cleared().bursts() == 0 && !state.cleared().is_member());
    }
}
