//! The receiver: a small buffer, a slow reader, or a window that cannot grow.

use super::{Case, Cause, Confidence, threshold};

/// Which of them.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let (facts, context) = (&case.facts, &case.context);
    // Unread data takes from the window: it closes, shrinks, or stays far below what it was.
    let shrinks = facts.window_sway.is_some_and(|sway| sway < threshold::SWAY);
    let filled = facts.openness.is_some_and(|open| open < threshold::OPENNESS);
    // A stretch in which no data met any window is one in which it stood shut.
    let shut = context.rwnd_max.is_some() && facts.openness.is_none();
    if facts.closures > 0 || shrinks || filled || shut {
        return (Cause::ReceiverSlowReader, Confidence::High);
    }
    let unscaled = context.window_scale == Some(0);
    if unscaled && context.rwnd_max.is_some_and(|most| (32_768..=65_535).contains(&most)) {
        return (Cause::ReceiverNoScaling, Confidence::High);
    }
    (Cause::ReceiverBuffer, Confidence::High)
}
