//! The sender's own windows: a send buffer that lets a program write only now and then.

use super::{Case, Cause, Confidence, threshold};

/// Whether a full send buffer sets the pace: the program writes whenever acknowledgements have
/// emptied it far enough, and is silent in between.
///
/// Linux wakes a writer when a third of the buffer is free (`sk_stream_is_writable`), and one write
/// may then pass the buffer by: `tcp_sendmsg_locked` asks for room (`sk_stream_memory_free`) only
/// when it begins a super-segment. What leaves is a burst, an eighth of the flight or more, right
/// after an acknowledgement and while others are still under way. A program that paces itself does
/// not know when those come.
pub fn is_woken(case: &Case) -> bool {
    let facts = &case.facts;
    let full = facts.load.is_some_and(|load| load >= threshold::LOADED);
    facts.woken >= threshold::WOKEN
        && facts.woken >= threshold::WOKEN_MOST * (facts.woken + facts.unwoken)
        && facts.receiver < threshold::UNSEEN
        && facts.recovery < threshold::UNSEEN
        && facts.marks == 0
        && !full
}

/// How sure that is: only beside the sender it is certain what came right after what.
pub fn cause(case: &Case) -> (Cause, Confidence) {
    let near = case.context.position.is_some_and(|position| position < threshold::NEAR);
    let confidence = if near { Confidence::High } else { Confidence::Medium };
    (Cause::SenderBuffer, confidence)
}

#[cfg(test)]
mod tests {
    use super::super::{Context, Facts, diagnose};
    use super::*;

    /// A stretch of 3 s beside the sender in which a program waited for room in its buffer, as the
    /// kernel made it: bursts that queue behind each other on a link that is hardly used.
    fn buffered() -> Case {
        let facts = Facts {
            span_s: 3.0,
            network: 0.7,
            dry: 0.3,
            woken: 0.66,
            unwoken: 0.03,
            smalls: 0.011,
            pushes: 0.14,
            raised: Some(0.8),
            queued: 0.3,
            rounds: 42,
            load: Some(0.16),
            ..Facts::default()
        };
        let context = Context { position: Some(0.0), ..Context::default() };
        Case { facts, context, ..Case::default() }
    }

    fn found(change: impl FnOnce(&mut Case)) -> (&'static str, Confidence) {
        let mut case = buffered();
        change(&mut case);
        let finding = diagnose(&case).expect("it lasted");
        (finding.cause.name(), finding.confidence)
    }

    #[test]
    fn a_program_that_acknowledgements_wake_has_a_full_send_buffer() {
        assert_eq!(found(|_| ()), ("sender_window/send_buffer", Confidence::High));
        let far = found(|case| case.context.position = Some(1.0));
        assert_eq!(far, ("sender_window/send_buffer", Confidence::Medium));
    }

    #[test]
    fn what_explains_the_waits_better_goes_first() {
        let causes = [
            found(|case| case.facts.unwoken = 0.8),
            found(|case| case.facts.receiver = 0.5),
            found(|case| case.facts.load = Some(0.95)),
            found(|case| (case.facts.woken, case.facts.dry) = (0.1, 0.6)),
        ];
        assert!(causes.iter().all(|(cause, _)| !cause.starts_with("sender_window")), "{causes:?}");
    }
}
