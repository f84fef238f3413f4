//! What elements dropped or marked of a half, by kind: the record that answers rest on.

/// Packets dropped or marked, by the kind of element.
#[derive(Clone, Copy, Debug, Default)]
pub struct Losses {
    /// Drops of queues.
    pub queue: u64,
    /// Marks of queues.
    pub marks: u64,
    /// Drops of policers.
    pub policer: u64,
    /// Drops by chance.
    pub chance: u64,
    /// Drops where nothing passes: outages, flows that are forgotten.
    pub silence: u64,
    /// Drops of packets that are too long for the path.
    pub too_long: u64,
}

/// Which kind of element dropped or marked a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A queue dropped it.
    Queue,
    /// A queue marked it.
    Mark,
    /// A policer dropped it.
    Policer,
    /// Chance did.
    Chance,
    /// Nothing passed.
    Silence,
    /// It was too long for the path.
    TooLong,
}

impl Kind {
    /// By what an element did and the reason that it gives; queues have reasons of their own each.
    pub fn of(action: &str, reason: &str) -> Option<Kind> {
        match (action, reason) {
            ("drop", "policed") => Some(Kind::Policer),
            ("drop", "random_loss" | "burst_loss" | "listed") => Some(Kind::Chance),
            ("drop", "outage" | "forgotten") => Some(Kind::Silence),
            ("drop", "too_long") => Some(Kind::TooLong),
            // Only acknowledgements.
            ("drop", "thinned") => None,
            ("drop", _) => Some(Kind::Queue),
            ("mark", _) => Some(Kind::Mark),
            _ => None,
        }
    }
}

impl Losses {
    /// So many more of a kind.
    pub fn note(&mut self, kind: Kind, count: u64) {
        match kind {
            Kind::Queue => self.queue += count,
            Kind::Mark => self.marks += count,
            Kind::Policer => self.policer += count,
            Kind::Chance => self.chance += count,
            Kind::Silence => self.silence += count,
            Kind::TooLong => self.too_long += count,
        }
    }

    /// The same as shares of all.
    pub(super) fn shares(&self) -> Shares {
        let total = self.total().max(1) as f64;
        let share = |n: u64| n as f64 / total;
        Shares {
            queue: share(self.queue + self.marks),
            policer: share(self.policer),
            chance: share(self.chance + self.silence),
            gone: share(self.silence + self.too_long),
        }
    }

    pub(super) fn total(&self) -> u64 {
        self.queue + self.marks + self.policer + self.chance + self.silence + self.too_long
    }
}

/// Shares of what was dropped or marked: by queues, by policers, by chance, and what cannot pass.
/// An outage counts as chance and as the last.
pub(super) struct Shares {
    pub queue: f64,
    pub policer: f64,
    pub chance: f64,
    pub gone: f64,
}
