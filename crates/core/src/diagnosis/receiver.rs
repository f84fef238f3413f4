//! The receiver: a small buffer, a slow reader, or a window that cannot grow.

use super::{Case, Cause, Confidence};

/// Which of them.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let (facts, context) = (&case.facts, &case.context);
    if facts.closures > 0 || facts.window_sway.is_some_and(|sway| sway < 0.7) {
        return (Cause::ReceiverSlowReader, Confidence::High);
    }
    let unscaled = context.window_scale == Some(0);
    if unscaled && context.rwnd_max.is_some_and(|most| (32_768..=65_535).contains(&most)) {
        return (Cause::ReceiverNoScaling, Confidence::High);
    }
    (Cause::ReceiverBuffer, Confidence::High)
}
