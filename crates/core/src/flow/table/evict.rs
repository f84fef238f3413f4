//! Who has to go when a table is full. Nothing is searched for: a flow costs the same to put out,
//! however large the table is.

use super::{Analyse, Table};
use crate::flow::table::class::Class;
use crate::units::Nanos;

impl<F> Table<F> {
    /// Puts one flow out: a closed one, else a half-open one, else a short one, else a long one. Of
    /// the first few of the class the one that was silent longest goes.
    pub(super) fn evict(&mut self, now: Nanos, analyse: &mut impl Analyse<Flow = F>) {
        let Some(class) = Class::ALL.into_iter().find(|&class| self.lists.len(class) > 0) else {
            return;
        };
        let short: usize = Class::ALL[..3].iter().map(|&class| self.lists.len(class)).sum();
        // Without it a table full of long flows would let no new one in. A long flow with packets
        // never goes for it.
        if class > Class::Closed && short <= self.limits.flows / SHORT_SHARE {
            let dormant = self.longest_silent(Class::Long);
            if let Some(id) = dormant.filter(|&id| now.since(self.slots[id].last) > DORMANT) {
                return self.put_out(id, Class::Long, now, analyse);
            }
        }
        let id = match class {
            Class::Closed | Class::HalfOpen => self.lists.first(class),
            Class::Short | Class::Long => self.longest_silent(class),
        };
        self.put_out(id.expect("the class has a flow"), class, now, analyse);
    }

    /// Of the first flows of a class the one that was silent longest; the others go to the end.
    fn longest_silent(&mut self, class: Class) -> Option<usize> {
        let mut found = self.lists.first(class)?;
        for _ in 0..self.lists.len(class).min(EVICTION_CHOICES) {
            let id = self.lists.first(class)?;
            self.lists.remove(id, class);
            self.lists.push(id, class);
            if self.slots[id].last < self.slots[found].last {
                found = id;
            }
        }
        Some(found)
    }

    fn put_out(
        &mut self,
        id: usize,
        class: Class,
        now: Nanos,
        analyse: &mut impl Analyse<Flow = F>,
    ) {
        let Table { slots, pools, .. } = self;
        if !analyse.evicted(class, now) && slots[id].flow.is_none() {
            let entries = pools.short.entries(&slots[id].log);
            let payload = entries.map(|entry| u64::from(entry.payload_len)).sum();
            analyse.forgotten(slots[id].log.len() as u64, payload);
            pools.short.free(&mut slots[id].log);
        }
        self.end(id, analyse);
    }
}

/// Flows of a class of which one is put out.
const EVICTION_CHOICES: usize = 8;
/// One part in so many of a table is for flows that are not long yet, as far as long ones are
/// [`DORMANT`].
const SHORT_SHARE: usize = 16;
/// Silence of a long flow from which on it may have to go for a new one: longer than any timer of
/// TCP waits while data is under way, but for the fifth retransmission on.
const DORMANT: Nanos = Nanos(30_000_000_000);
