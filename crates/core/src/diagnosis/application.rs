//! The application: silent, slow, or writing little at a time.

use super::{Case, Cause, Confidence, threshold};

/// Whether room that acknowledgements made was left unused by choice: a queue or losses explain it
/// better where they are.
pub fn is_paced(case: &Case) -> bool {
    let facts = &case.facts;
    !facts.is_queued() && facts.marks == 0 && facts.unused >= threshold::UNUSED
}

/// Which of its habits.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let facts = &case.facts;
    if facts.smalls >= threshold::SMALL || facts.filling.is_some_and(|f| f < threshold::FILLING) {
        return (Cause::ApplicationSmallWrites, Confidence::High);
    }
    let pause = facts.pause_s.unwrap_or(0.0);
    if facts.answers >= 0.5 || pause >= threshold::SILENCE_S {
        return (Cause::ApplicationIdle, Confidence::High);
    }
    (Cause::ApplicationPaced, Confidence::High)
}
