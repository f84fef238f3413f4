//! Who acts next: the event heap.

use tcpwhy_core::units::Nanos;

/// The time at which each actor wants to act next. An actor has at most one time; among equal times
/// the one that was set first comes first, so that the order never depends on anything but the
/// scenario.
#[derive(Debug, Default)]
pub struct Agenda {
    /// A binary heap of actors by key.
    heap: Vec<u32>,
    /// Per actor: where it stands in the heap, or [`ABSENT`].
    places: Vec<u32>,
    /// Per actor: its time, and the number of the call that set it.
    keys: Vec<(Nanos, u64)>,
    calls: u64,
}

const ABSENT: u32 = u32::MAX;

impl Agenda {
    /// Adds an actor without a time; gives its number, counted from 0.
    pub fn add(&mut self) -> usize {
        self.places.push(ABSENT);
        self.keys.push((Nanos::MAX, 0));
        self.keys.len() - 1
    }

    /// Sets, changes or with `None` removes the time of an actor. Setting the time that it has
    /// already keeps its place among equals.
    #[inline]
    pub fn set(&mut self, actor: usize, time: Option<Nanos>) {
        let present = self.places[actor] != ABSENT;
        match time {
            Some(time) if present && self.keys[actor].0 == time => {}
            Some(time) => {
                self.calls += 1;
                let earlier = present && time < self.keys[actor].0;
                self.keys[actor] = (time, self.calls);
                if !present {
                    self.places[actor] = self.heap.len() as u32;
                    self.heap.push(actor as u32);
                    self.rise(self.heap.len() - 1);
                } else if earlier {
                    self.rise(self.places[actor] as usize);
                } else {
                    self.sink(self.places[actor] as usize);
                }
            }
            None if present => self.remove(actor),
            None => {}
        }
    }

    /// The actor that is next, and when.
    #[inline]
    pub fn first(&self) -> Option<(Nanos, usize)> {
        let actor = *self.heap.first()? as usize;
        Some((self.keys[actor].0, actor))
    }

    fn remove(&mut self, actor: usize) {
        let place = self.places[actor] as usize;
        self.places[actor] = ABSENT;
        let last = self.heap.pop().expect("an actor with a place is in the heap");
        if last as usize != actor {
            self.put(place, last);
            self.sink(place);
            self.rise(self.places[last as usize] as usize);
        }
    }

    fn key(&self, place: usize) -> (Nanos, u64) {
        self.keys[self.heap[place] as usize]
    }

    fn put(&mut self, place: usize, actor: u32) {
        self.heap[place] = actor;
        self.places[actor as usize] = place as u32;
    }

    fn rise(&mut self, mut place: usize) {
        let actor = self.heap[place];
        let key = self.keys[actor as usize];
        while place > 0 && key < self.key((place - 1) / 2) {
            self.put(place, self.heap[(place - 1) / 2]);
            place = (place - 1) / 2;
        }
        self.put(place, actor);
    }

    fn sink(&mut self, mut place: usize) {
        let actor = self.heap[place];
        let key = self.keys[actor as usize];
        loop {
            let mut child = 2 * place + 1;
            if child >= self.heap.len() {
                break;
            }
            if child + 1 < self.heap.len() && self.key(child + 1) < self.key(child) {
                child += 1;
            }
            if key <= self.key(child) {
                break;
            }
            self.put(place, self.heap[child]);
            place = child;
        }
        self.put(place, actor);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn it_agrees_with_a_sorted_list() {
        let mut random = Random::stream(1, 0);
        let mut agenda = Agenda::default();
        let mut list: Vec<Option<(Nanos, u64)>> = Vec::new();
        for _ in 0..40 {
            list.push(None);
            agenda.add();
        }
        for call in 0..20_000 {
            let actor = (random.bits() % 40) as usize;
            let time = random.chance(0.8).then(|| Nanos((random.bits() % 50) as i64));
            agenda.set(actor, time);
            if time != list[actor].map(|(at, _)| at) {
                list[actor] = time.map(|time| (time, call));
            }
            let set = list.iter().enumerate().filter_map(|(i, key)| Some((key.as_ref()?, i)));
            let expected = set.min().map(|((time, _), actor)| (*time, actor));
            assert_eq!(agenda.first(), expected);
        }
    }
}
