//! Why the ledger said what it said: the rule that decided, for whoever does not believe it.

/// The rule that decided what a segment was, or what an acknowledgement proved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rule {
    /// Bytes above all others.
    #[default]
    Above,
    /// Three or more duplicate acknowledgements stand against it (RFC 5681 section 3.2).
    DuplicateAcks,
    /// Bytes above it were selectively acknowledged (RFC 6675, RFC 8985).
    SackAbove,
    /// One or two duplicate acknowledgements, and nothing else.
    FewDuplicateAcks,
    /// Nothing came or went for as long as the retransmission timer takes.
    Timer,
    /// It had been sent again before, and the acknowledgement did not move for as long as the
    /// timer takes: others may have come (RFC 6298 section 5).
    LostAgain,
    /// It lies below where recovery from a timeout ends.
    TimeoutRecovery,
    /// It lies below where the present recovery ends.
    Recovery,
    /// The highest segment sent, again after nearly two round trips (RFC 8985 section 7).
    Tail,
    /// Range before, and nothing tells why again.
    Unexplained,
    /// All of it had been acknowledged before.
    Acknowledged,
    /// So it had been, and nothing was sent for as long as the retransmission timer takes: the
    /// sender has not heard of it (RFC 6298 section 5).
    Unheard,
    /// It was acknowledged before the capture showed it for the first time.
    AcknowledgedUnseen,
    /// IPv4 identifications that count upwards tell the order of sending.
    Identification,
    /// The sender's timestamps tell the order of sending.
    Timestamps,
    /// It came later than what overtook it by less than a retransmission would take.
    Delay,
    /// An acknowledgement's first SACK block reports a duplicate (RFC 2883).
    Dsack,
    /// An acknowledgement echoes a timestamp from before the retransmission (RFC 3522).
    Eifel,
}

impl Rule {
    /// Whether the retransmission timer expired for it, while it was in flight.
    pub fn is_timer(self) -> bool {
        matches!(self, Rule::Timer | Rule::LostAgain)
    }

    /// The word in the `segments` table.
    pub fn name(self) -> &'static str {
        match self {
            Rule::Above => "above",
            Rule::DuplicateAcks => "duplicate_acks",
            Rule::SackAbove => "sack_above",
            Rule::FewDuplicateAcks => "few_duplicate_acks",
            Rule::Timer => "timer",
            Rule::LostAgain => "lost_again",
            Rule::TimeoutRecovery => "timeout_recovery",
            Rule::Recovery => "recovery",
            Rule::Tail => "tail",
            Rule::Unexplained => "unexplained",
            Rule::Acknowledged => "acknowledged",
            Rule::Unheard => "unheard",
            Rule::AcknowledgedUnseen => "acknowledged_unseen",
            Rule::Identification => "identification",
            Rule::Timestamps => "timestamps",
            Rule::Delay => "delay",
            Rule::Dsack => "dsack",
            Rule::Eifel => "eifel",
        }
    }

    /// The same in words, to be read after "since".
    pub fn meaning(self) -> &'static str {
        match self {
            Rule::Above => "it lies above all bytes before it",
            Rule::DuplicateAcks => "three or more duplicate acknowledgements asked for it",
            Rule::SackAbove => "bytes above it were selectively acknowledged",
            Rule::FewDuplicateAcks => "a duplicate acknowledgement asked for it",
            Rule::Timer => "nothing came or went for as long as the retransmission timer takes",
            Rule::LostAgain => {
                "it had been sent again before, and the retransmission timer has run out since"
            }
            Rule::TimeoutRecovery => "recovery from a timeout had not reached beyond it",
            Rule::Recovery => "the recovery that was under way had not reached beyond it",
            Rule::Tail => "it is the highest segment, sent again after nearly two round trips",
            Rule::Unexplained => "its bytes had been sent before",
            Rule::Acknowledged => "all of it had been acknowledged before",
            Rule::Unheard => {
                "all of it had been acknowledged, and the sender waited as long as its timer takes"
            }
            Rule::AcknowledgedUnseen => "its acknowledgement was captured before it",
            Rule::Identification => "the IPv4 identifications tell that it was sent earlier",
            Rule::Timestamps => "the sender's timestamps tell that it was sent earlier",
            Rule::Delay => "it came too soon after what overtook it to have been sent again",
            Rule::Dsack => "its first SACK block reports a duplicate",
            Rule::Eifel => "it echoes a timestamp from before the retransmission",
        }
    }
}
