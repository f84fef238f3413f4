//! The words of a diagnosis: limitations and the causes that refine them.

/// What keeps a half from going faster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The application had nothing to send.
    ApplicationIdle,
    /// The application, or pacing on its behalf, spread what it sent.
    ApplicationPaced,
    /// The application wrote less than a segment at a time.
    ApplicationSmallWrites,
    /// The receive buffer, as advertised, is smaller than the path.
    ReceiverBuffer,
    /// The receiving application reads more slowly than the path delivers.
    ReceiverSlowReader,
    /// The window cannot exceed 65,535 bytes.
    ReceiverNoScaling,
    /// The send buffer holds no more.
    SenderBuffer,
    /// The congestion window is held at a fixed size.
    SenderClamp,
    /// Either of the two.
    SenderUndetermined,
    /// Alone at a full link, with a queue.
    UnsharedQueue,
    /// Alone at a full link with hardly a queue: losses tell.
    UnsharedLoss,
    /// A full link shared with others, with losses.
    SharedLoss,
    /// A full link shared with others, with a queue.
    SharedQueue,
    /// A full link shared with others, which marks.
    SharedEcn,
    /// A token bucket drops what exceeds its rate.
    Policer,
    /// Losses without congestion.
    RandomLoss,
    /// Slow start had not ended.
    SlowStart,
    /// Congestion avoidance grows and nothing else holds it.
    CongestionAvoidance,
    /// Losses are being repaired, or timers waited for.
    Recovery,
}

impl Cause {
    /// Every cause.
    pub const ALL: [Cause; 19] = [
        Cause::ApplicationIdle,
        Cause::ApplicationPaced,
        Cause::ApplicationSmallWrites,
        Cause::ReceiverBuffer,
        Cause::ReceiverSlowReader,
        Cause::ReceiverNoScaling,
        Cause::SenderBuffer,
        Cause::SenderClamp,
        Cause::SenderUndetermined,
        Cause::UnsharedQueue,
        Cause::UnsharedLoss,
        Cause::SharedLoss,
        Cause::SharedQueue,
        Cause::SharedEcn,
        Cause::Policer,
        Cause::RandomLoss,
        Cause::SlowStart,
        Cause::CongestionAvoidance,
        Cause::Recovery,
    ];

    /// Whether it is what the network's time was spent on.
    pub fn is_of_network(self) -> bool {
        !matches!(self.limitation(), "application" | "receiver_window")
    }

    /// Whether a link is full.
    pub fn is_bottleneck(self) -> bool {
        matches!(
            self,
            Cause::UnsharedQueue
                | Cause::UnsharedLoss
                | Cause::SharedLoss
                | Cause::SharedQueue
                | Cause::SharedEcn
        )
    }

    /// Whether nothing holds the sender but TCP, which grows.
    pub fn is_growth(self) -> bool {
        matches!(self, Cause::SlowStart | Cause::CongestionAvoidance)
    }

    /// The word in the column `cause`.
    pub fn name(self) -> &'static str {
        match self {
            Cause::ApplicationIdle => "application/idle",
            Cause::ApplicationPaced => "application/paced",
            Cause::ApplicationSmallWrites => "application/small_writes",
            Cause::ReceiverBuffer => "receiver_window/buffer",
            Cause::ReceiverSlowReader => "receiver_window/slow_reader",
            Cause::ReceiverNoScaling => "receiver_window/no_window_scaling",
            Cause::SenderBuffer => "sender_window/send_buffer",
            Cause::SenderClamp => "sender_window/cwnd_clamp",
            Cause::SenderUndetermined => "sender_window/undetermined",
            Cause::UnsharedQueue => "unshared_bottleneck/queue",
            Cause::UnsharedLoss => "unshared_bottleneck/loss",
            Cause::SharedLoss => "shared_bottleneck/loss",
            Cause::SharedQueue => "shared_bottleneck/queue",
            Cause::SharedEcn => "shared_bottleneck/ecn",
            Cause::Policer => "policer",
            Cause::RandomLoss => "random_loss",
            Cause::SlowStart => "transport/slow_start",
            Cause::CongestionAvoidance => "transport/congestion_avoidance",
            Cause::Recovery => "transport/recovery",
        }
    }

    /// The word in the column `limitation`: the cause up to its slash.
    pub fn limitation(self) -> &'static str {
        let name = self.name();
        name.split_once('/').map_or(name, |(limitation, _)| limitation)
    }
}

/// How sure a verdict is. The share of right answers that each stands for is measured, not set:
/// see the accuracy table in the documentation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Confidence {
    /// A guess from little.
    #[default]
    Low,
    /// The likeliest of several.
    Medium,
    /// Nothing speaks against it.
    High,
}

impl Confidence {
    /// The word in the column `confidence`.
    pub fn name(self) -> &'static str {
        match self {
            Confidence::Low => "low",
            Confidence::Medium => "medium",
            Confidence::High => "high",
        }
    }

    /// One step less sure.
    pub fn less(self) -> Confidence {
        match self {
            Confidence::High => Confidence::Medium,
            Confidence::Medium | Confidence::Low => Confidence::Low,
        }
    }
}
