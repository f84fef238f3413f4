//! What made a sender send after a wait: an acknowledgement, or its own time.

use super::{CLOCKED, SenderView, UNKNOWN};
use crate::flow::time::clock::WaitReason;
use crate::units::Nanos;

/// What ended a wait with data in flight and room in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// Acknowledgements of new data came in it.
    Acknowledged(Acknowledged),
    /// So many came that they tell nothing: how long there was room, in ns, and
    /// [`Acknowledged::asked`].
    Crowded(u64, bool),
    /// More was there to send, and no acknowledgement of new data came since the last segment, nor
    /// a window that opened: a timer of the sender, or its program. How long there was room, in ns.
    Unprompted(u64),
}

/// How a wait with acknowledgements ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledged {
    /// How long there was room, in ns.
    pub waited_ns: u64,
    /// More was there to send, and the last acknowledgement came right before: it clocked the
    /// segment out (Jacobson 1988, section 1), or came so soon by chance.
    pub clocked: bool,
    /// It came so short a time before that the kernel sent in the same breath: no program was woken
    /// in between, and a timer would hit it by chance alone.
    pub at_once: bool,
    /// The wait ended in the first quarter of the time between two acknowledgements. A program that
    /// room in the send buffer wakes is as late as its host is busy, and early all the same; one
    /// that writes at its own times is early in a fourth of the waits.
    pub early: bool,
    /// It ended in the first quarter of the time between two messages of the other side.
    pub asked: bool,
}

/// Waits by what ended them, in ns. Two can be added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Prompts {
    /// Those with [`Prompt::Acknowledged`],
    pub acknowledged_ns: u64,
    /// of these [`Acknowledged::clocked`],
    pub clocked_ns: u64,
    /// [`Acknowledged::at_once`],
    pub at_once_ns: u64,
    /// and [`Acknowledged::early`];
    pub early_ns: u64,
    /// those with [`Prompt::Unprompted`].
    pub unprompted_ns: u64,
    /// Those with acknowledgements, also with [`Prompt::Crowded`], in [`TICK_NS`],
    pub heard_ticks: u32,
    /// and of these [`Acknowledged::asked`].
    pub asked_ticks: u32,
}

impl Prompts {
    /// Adds one.
    #[inline]
    pub fn add(&mut self, prompt: Prompt) {
        match prompt {
            Prompt::Acknowledged(prompt) => {
                let waited_ns = prompt.waited_ns;
                self.acknowledged_ns += waited_ns;
                self.clocked_ns += u64::from(prompt.clocked) * waited_ns;
                self.at_once_ns += u64::from(prompt.at_once) * waited_ns;
                self.early_ns += u64::from(prompt.early) * waited_ns;
                self.hear(waited_ns, prompt.asked);
            }
            Prompt::Crowded(ns, asked) => self.hear(ns, asked),
            Prompt::Unprompted(ns) => self.unprompted_ns += ns,
        }
    }

    #[inline]
    fn hear(&mut self, ns: u64, asked: bool) {
        let ticks = u32::try_from(ns / TICK_NS).unwrap_or(u32::MAX);
        self.heard_ticks = self.heard_ticks.saturating_add(ticks);
        self.asked_ticks = self.asked_ticks.saturating_add(u32::from(asked) * ticks);
    }

    /// Adds those of another span.
    pub fn merge(&mut self, other: &Prompts) {
        self.acknowledged_ns += other.acknowledged_ns;
        self.clocked_ns += other.clocked_ns;
        self.at_once_ns += other.at_once_ns;
        self.early_ns += other.early_ns;
        self.unprompted_ns += other.unprompted_ns;
        self.heard_ticks = self.heard_ticks.saturating_add(other.heard_ticks);
        self.asked_ticks = self.asked_ticks.saturating_add(other.asked_ticks);
    }
}

impl SenderView {
    fn is_asked(&self, ts: Nanos, waited: i64) -> bool {
        let times = i64::from(self.with_data);
        times > 0 && ts.since(self.data_at).0 * 4 * times < waited
    }

    /// What ends a wait of this reason, `waited` ns long, with a segment at `ts`. Short ones tell
    /// nothing: acknowledgements come as densely by chance.
    #[inline(always)]
    pub(super) fn prompt(&self, ts: Nanos, reason: WaitReason, waited: i64) -> Option<Prompt> {
        use WaitReason::{Dry, Network, Unused};
        let times = i64::from(self.released.max(1));
        let free = matches!(reason, Network | Unused | Dry);
        if waited < SHORT.0 || !free || self.una == UNKNOWN {
            return None;
        }
        let asked = self.is_asked(ts, waited);
        if waited < SHORT.0 * times {
            return Some(Prompt::Crowded(waited as u64, asked));
        }
        let tells = waited >= LONG.0 * times && reason != Dry;
        if self.released == 0 {
            return tells.then_some(Prompt::Unprompted(waited as u64));
        }
        let after = ts.since(self.released_at);
        Some(Prompt::Acknowledged(Acknowledged {
            waited_ns: waited as u64,
            clocked: tells && after < CLOCKED,
            at_once: tells && after < AT_ONCE,
            early: after.0 * 4 * times < waited,
            asked,
        }))
    }
}

/// A sixth of the shortest wait, so that 78 hours fit.
pub const TICK_NS: u64 = 1 << 16;
/// One send in four comes right after an acknowledgement by chance where they come as far apart.
const LONG: Nanos = Nanos(4 * CLOCKED.0);
/// In 88 recordings of kernel_worlds the kernel sent what an acknowledgement let out 16 µs later,
/// and after 36 µs in one of ten. Programs that it woke wrote 100 µs later, and within 50 µs in one
/// of ten.
const AT_ONCE: Nanos = Nanos(50_000);
/// Programs that the kernel woke wrote 0.1 ms later at least: a fourth of this.
const SHORT: Nanos = Nanos(400_000);
