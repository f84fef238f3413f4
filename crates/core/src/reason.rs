//! How a number was found, and why it is not known: the words of the columns that say so.
//!
//! A column that may be NULL has one beside it with the reason. A reason is a word of an enum, so
//! that nobody has to read sentences; `tcpwhy.vocabulary` has what each word means.

use crate::diagnosis::limit::owner::Owner;

/// Declares an enum whose variants are words of a column, each with its meaning.
macro_rules! words {
    ($($(#[doc = $about:literal])+ $name:ident {
        $($variant:ident = $word:literal: $meaning:literal,)+
    })+) => {$(
        $(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $(#[doc = $meaning] $variant,)+ }

        impl $name {
            /// Every word.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The word in the tables.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $word,)+ }
            }

            /// What it means, as a part of a sentence.
            pub const fn meaning(self) -> &'static str {
                match self { $($name::$variant => $meaning,)+ }
            }
        }
    )+};
}

words! {
    /// How the capacity of a path was found: the column `capacity_method`.
    CapacityMethod {
        PprateData = "pprate_data": "PPrate, from the gaps between data packets",
        PprateDataModes = "pprate_data_modes":
            "PPrate, from the gaps between data packets, of several modes",
        PprateAcks = "pprate_acks": "PPrate, from the gaps between ACKs",
        PprateAcksModes = "pprate_acks_modes":
            "PPrate, from the gaps between ACKs, of several modes",
        PairDispersion = "pair_dispersion": "packet pairs that the link spread apart",
    }

    /// Why the capacity of a path is not known: the column `capacity_unknown`.
    CapacityUnknown {
        TooFewPackets = "too_few_packets": "too few data packets",
        TooFewSamples = "too_few_samples": "fewer than 300 samples",
        TooFewClean = "too_few_clean_samples": "too few samples after cleaning",
        TimestampResolution = "timestamp_resolution": "the capture's timestamps are too coarse",
        NoMode = "no_mode": "no mode in the packet gaps",
        SenderPace = "sender_pace": "packets keep their sender's pace",
        SeveralRates = "several_rates": "one of several rates, and many gaps are shorter",
        BelowDelivered = "below_delivered": "the estimate is below what was delivered",
        FewAgree = "few_gaps_agree": "hardly any gaps agree",
    }

    /// Why nobody can say what the remedy would gain: the column `gain_unknown`.
    GainUnknown {
        OnlyThisLink = "only_this_link":
            "nothing but this link ever held the sender back, so no other limit shows",
        SenderPace = "sender_pace":
            "the packets have their sender's pace, so that none shows how fast the link is",
        LinkUnknown = "link_unknown":
            "the gaps between the packets do not show how fast the link is",
        TooLittleData = "too_little_data": "too little was sent to show how fast the path is",
        NobodyAnswers = "nobody_answers":
            "nobody answers, so that nothing shows what the path would carry",
        BeyondEvidence = "beyond_evidence":
            "the next limit is so far away that nothing in the capture supports it",
        NoOtherBound = "no_other_bound":
            "no other bound is known, the path was never filled",
        NothingMeasured = "nothing_measured": "nothing was measured",
        HostLimit = "host_limit": "the host is at its own limit, the path is not",
        HostBeforeWindow = "host_before_window":
            "round trips are so short that the hosts are the limit before any window is",
        AskedFor = "asked_for": "the test itself was the limit",
    }

    /// Why a direction stalled: the column `stall_cause`.
    StallCause {
        NothingToSend = "nothing_to_send": "the application had nothing to send",
        PeerAwaited = "peer_awaited":
            "the application had nothing to send until the other side sent something",
        ZeroWindow = "zero_window": "the receiver's window was closed",
        WindowFull = "window_full": "the receiver's window had no room for a full segment",
        RetransmissionTimeout = "retransmission_timeout":
            "the retransmission timer had to run out before something was sent again",
        LostRetransmission = "lost_retransmission":
            "a retransmission was lost as well, and its timer had to run out",
        TailLossProbe = "tail_loss_probe":
            "nothing answered the last segments until one was sent again as a probe",
        LossRecovery = "loss_recovery": "a loss was being repaired",
        LateAnswer = "late_answer":
            "data was outstanding and its acknowledgement came late, by path or receiver",
        Unanswered = "unanswered":
            "data was outstanding, and nothing answered it before the next packet",
    }
}

impl StallCause {
    /// Whose time it was.
    pub const fn owner(self) -> Owner {
        match self {
            StallCause::NothingToSend | StallCause::PeerAwaited => Owner::Application,
            StallCause::ZeroWindow | StallCause::WindowFull => Owner::ReceiverWindow,
            StallCause::RetransmissionTimeout
            | StallCause::LostRetransmission
            | StallCause::TailLossProbe
            | StallCause::LossRecovery => Owner::Recovery,
            StallCause::LateAnswer | StallCause::Unanswered => Owner::Network,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn is_one_word(word: &str) -> bool {
        word.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    }

    #[test]
    fn reasons_are_single_words_and_each_has_its_own() {
        let methods = CapacityMethod::ALL.iter().map(|word| word.name());
        let capacities = methods.chain(CapacityUnknown::ALL.iter().map(|word| word.name()));
        let gains = GainUnknown::ALL.iter().map(|word| word.name());
        let stalls = StallCause::ALL.iter().map(|word| word.name());
        for words in [capacities.collect::<Vec<_>>(), gains.collect(), stalls.collect()] {
            assert!(words.iter().all(|word| is_one_word(word)), "{words:?}");
            assert_eq!(words.iter().collect::<HashSet<_>>().len(), words.len());
        }
    }
}
