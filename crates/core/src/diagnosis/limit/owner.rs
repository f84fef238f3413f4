//! Whose time a wait was.

/// Who held the sender back during a wait: the columns `share_…`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The application had nothing to send.
    Application,
    /// The receiver's window was full.
    ReceiverWindow,
    /// The network or congestion control.
    Network,
    /// Losses were repaired.
    Recovery,
}

impl Owner {
    /// The word after `share_`.
    pub const fn name(self) -> &'static str {
        match self {
            Owner::Application => "application",
            Owner::ReceiverWindow => "receiver_window",
            Owner::Network => "network",
            Owner::Recovery => "recovery",
        }
    }
}
