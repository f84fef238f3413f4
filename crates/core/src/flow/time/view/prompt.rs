//! What made a sender send after a wait: an acknowledgement, or its own time.

use super::{CLOCKED, SenderView, UNKNOWN};
use crate::flow::time::clock::WaitReason;
use crate::units::Nanos;

/// What ended a wait with data in flight, room in the window and more to send; how long there was
/// room, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// An acknowledgement right before, which clocks the segment out (Jacobson 1988, section 1), or
    /// comes so soon by chance.
    Acknowledged(u64),
    /// No acknowledgement of new data since the last segment, nor a window that opened: a timer of
    /// the sender, or its program.
    Unprompted(u64),
}

/// Waits by what ended them, in ns. Two can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Those with [`Prompt::Acknowledged`],
    pub acknowledged_ns: u64,
    /// and with [`Prompt::Unprompted`].
    pub unprompted_ns: u64,
}

impl Prompts {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, prompt: Prompt) {
        match prompt {
            Prompt::Acknowledged(ns) => self.acknowledged_ns += ns,
            Prompt::Unprompted(ns) => self.unprompted_ns += ns,
        }
    }

    /// Adds those of another span.
    pub fn merge(&mut self, other: &Prompts) {
        self.acknowledged_ns += other.acknowledged_ns;
        self.unprompted_ns += other.unprompted_ns;
    }
}

impl SenderView {
    /// What ends a wait of this reason, `waited` ns long, with a segment at `ts`. Shorter ones tell
    /// nothing: acknowledgements come as densely by chance.
    #[inline(always)]
    pub(super) fn prompt(&self, ts: Nanos, reason: WaitReason, waited: i64) -> Option<Prompt> {
        let dense = LONG.0 * i64::from(self.released.max(1));
        let free = matches!(reason, WaitReason::Network | WaitReason::Unused);
        if waited < dense || !free || self.una == UNKNOWN {
            None
        } else if self.released == 0 {
            Some(Prompt::Unprompted(waited as u64))
        } else {
            let soon = ts.since(self.released_at) < CLOCKED;
            soon.then_some(Prompt::Acknowledged(waited as u64))
        }
    }
}

/// One send in four comes right after an acknowledgement by chance where they come as far apart.
const LONG: Nanos = Nanos(4 * CLOCKED.0);
