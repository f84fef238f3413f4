//! What the table knows of a flow without looking at its segments: who closed it, its list, and
//! whether what it sends is counted.

use super::class::Class;
use crate::wire::{Segment, flags};

/// Bits 0 and 1: the FIN of either side, both for a RST. Bit 2: more than SYNs came. From bit 3 on:
/// the [`Class`] under which it is listed. Bit 5: what it sends is counted.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct State(u8);

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
        self.0 = self.0 & (CLOSED | ESTABLISHED | COUNTED) | (class as u8) << LISTED_SHIFT;
    }

    /// That of the next flow in the same slot, which is still in the same list.
    pub fn cleared(self) -> State {
        State(self.0 & !(CLOSED | ESTABLISHED | COUNTED))
    }

    /// Whether what it sends is counted for others between the same hosts.
    #[inline]
    pub fn is_counted(self) -> bool {
        self.0 & COUNTED != 0
    }

    /// It is counted from now on, or no longer.
    pub fn set_counted(&mut self, counted: bool) {
        self.0 = self.0 & !COUNTED | if counted { COUNTED } else { 0 };
    }
}

/// Both sides have closed, or one has reset.
const CLOSED: u8 = 3;
/// A segment came that is no SYN and no RST.
const ESTABLISHED: u8 = 4;
const LISTED_SHIFT: u8 = 3;
const COUNTED: u8 = 32;
