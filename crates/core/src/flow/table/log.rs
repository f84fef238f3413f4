//! The segments of a flow that wait to be analysed.
//!
//! A flow is analysed in bursts: its segments are filed here and handed on together. So its state
//! is fetched once for many segments, and a flow that stays short never needs it. Flows with state
//! have their logs as they will be analysed ([`super::bursts`]), those without in little room
//! ([`super::short`]).

/// A queue of segments in blocks of a pool, one for each kind of flow. A log that was never pushed
/// to owns no block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    /// Number of the first word, or of the first entry, of the newest block.
    pub(super) block: u32,
    /// Words used of it.
    pub(super) used: u16,
    pub(super) len: u8,
    /// Size class plus one; 0 without a block.
    pub(super) class: u8,
}

impl Log {
    /// How many segments wait.
    #[inline]
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
