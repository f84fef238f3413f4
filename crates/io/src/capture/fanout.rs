//! How packets are shared out: both directions of a flow to the same worker.

mod assembler;
mod program;

pub(super) use program::program;

/// Which worker gets a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fanout {
    /// By a program of ours: addresses of the outer packet, so that all between two hosts is with
    /// one worker.
    #[default]
    Hosts,
    /// By the kernel's symmetric hash of addresses and ports; it looks into tunnels.
    Hash,
    /// By a program of ours: addresses and ports of the outer packet.
    Cbpf,
    /// By the receive queue of the card; right only where the card's own hash is symmetric.
    QueueMapping,
}

impl Fanout {
    /// Every way, with its name on the command line.
    pub const ALL: [(&'static str, Fanout); 4] = [
        ("hosts", Fanout::Hosts),
        ("hash", Fanout::Hash),
        ("cbpf", Fanout::Cbpf),
        ("qm", Fanout::QueueMapping),
    ];

    /// The way of this name.
    pub fn from_name(name: &str) -> Option<Fanout> {
        Fanout::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, fanout)| fanout)
    }

    /// The kernel's number for it.
    pub(super) fn kind(self) -> u32 {
        match self {
            Fanout::Hash => libc::PACKET_FANOUT_HASH,
            Fanout::Hosts | Fanout::Cbpf => libc::PACKET_FANOUT_CBPF,
            Fanout::QueueMapping => libc::PACKET_FANOUT_QM,
        }
    }
}
