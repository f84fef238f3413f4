//! Counters of a simulation: how much was simulated, and every bound that bit.

use tcpwhy_core::counters;

counters! {
    /// What a simulation counts. The names are those of the `counters` table.
    pub enum Counter {
        /// Packets that simulated hosts sent.
        Packets = "simulated_packets",
        /// Events that the simulator processed: wake-ups of links, hosts and sources.
        Events = "simulated_events",
        /// Packets that passed a tap and that its capture misses, as the scenario wants it.
        TapMissed = "tap_missed_packets",
        /// Rows of the truth that were not kept since too many waited to be taken.
        TruthRowsLost = "truth_rows_lost",
        /// Drops, marks and other events of elements that were not logged since too many waited.
        ElementEventsLost = "element_events_lost",
    }
}

impl<E: crate::endpoint::Endpoint> crate::run::Simulation<E> {
    /// The present value of a counter.
    pub fn counter(&mut self, counter: Counter) -> u64 {
        match counter {
            Counter::Packets => self.packets(),
            Counter::Events => self.events_seen(),
            Counter::TapMissed => self.tap_missed(),
            Counter::TruthRowsLost => self.truth_so_far().map_or(0, |truth| truth.lost_rows),
            Counter::ElementEventsLost => self.element_events_lost(),
        }
    }
}
