//! A list of elements as one element.

use super::event::{Backlog, Event};
use super::{Body, Element, Elements};
use crate::packet::Packet;
use crate::random::Random;
use tcpwhy_core::units::Nanos;

/// Elements one behind the other.
///
/// No element depends on how often it is polled. So the path does not follow a packet from element
/// to element. It moves everything up to `now` at once, first element first. It wants to be woken
/// only when something may come out at its end.
pub struct Path<B> {
    stages: Vec<Stage<B>>,
}

struct Stage<B> {
    element: Box<dyn Element<B>>,
    /// Position on the path as its settings have it.
    position: usize,
    /// `element.next()` after the last call to it.
    next: Option<Nanos>,
    /// The constant delay behind the element. No packet needs to be moved for that: it is asked for
    /// later.
    after: Nanos,
    /// The least time that a packet takes from leaving the element to the end of the path.
    rest_min: Nanos,
    is_logging: bool,
}

impl<B: Body> Path<B> {
    /// The elements in the order in which packets meet them, not empty. Element number `i` draws
    /// from stream `streams + i` of the seed.
    pub fn new(elements: &[Elements], seed: u64, streams: u64) -> Path<B> {
        let build = |(i, settings): (usize, &Elements)| {
            settings.build(Random::stream(seed, streams + i as u64))
        };
        Path::of(elements.iter().enumerate().map(build).collect())
    }

    /// A path of elements that are already built.
    pub fn of(elements: Vec<Box<dyn Element<B>>>) -> Path<B> {
        let mut stages: Vec<Stage<B>> = Vec::with_capacity(elements.len());
        for (position, element) in elements.into_iter().enumerate() {
            match (element.constant_delay(), stages.last_mut()) {
                (Some(delay), Some(before)) => before.after += delay,
                _ => stages.push(Stage {
                    position,
                    next: None,
                    after: Nanos(0),
                    rest_min: Nanos(0),
                    is_logging: element.is_logging(),
                    element,
                }),
            }
        }
        let mut rest_min = Nanos(0);
        for stage in stages.iter_mut().rev() {
            rest_min += stage.after;
            stage.rest_min = rest_min;
            rest_min += stage.element.latency_min();
        }
        Path { stages }
    }

    /// What waits at `now` at every element that has a queue, with the element's position.
    pub fn backlogs(&mut self, now: Nanos) -> impl Iterator<Item = (usize, Backlog)> + '_ {
        self.sweep(now);
        let stages = self.stages.iter_mut();
        stages.filter_map(move |stage| Some((stage.position, stage.element.backlog(now)?)))
    }

    /// How many packets of a flow wait in the queues at `now`.
    pub fn waiting_of(&mut self, now: Nanos, flow: u32) -> usize {
        self.sweep(now);
        self.stages.iter_mut().map(|stage| stage.element.waiting_of(now, flow)).sum()
    }

    /// Moves packets up to `now` towards the last element.
    fn sweep(&mut self, now: Nanos) {
        for i in 1..self.stages.len() {
            let (before, behind) = self.stages.split_at_mut(i);
            let (from, to) = (&mut before[i - 1], &mut behind[0]);
            if from.next.is_none_or(|next| next + from.after > now) {
                continue;
            }
            while let Some((left, packet)) = from.element.pop(now - from.after) {
                to.element.push(left + from.after, packet);
            }
            from.next = from.element.next();
            to.next = to.element.next();
        }
    }
}

impl<B: Body> Element<B> for Path<B> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        let first = &mut self.stages[0];
        first.element.push(now, packet);
        first.next = first.element.next();
    }

    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)> {
        self.sweep(now);
        let last = self.stages.last_mut()?;
        if last.next.is_none_or(|next| next + last.after > now) {
            return None;
        }
        let popped = last.element.pop(now - last.after);
        last.next = last.element.next();
        popped.map(|(left, packet)| (left + last.after, packet))
    }

    fn next(&self) -> Option<Nanos> {
        self.stages.iter().filter_map(|stage| Some(stage.next? + stage.rest_min)).min()
    }

    fn latency_min(&self) -> Nanos {
        self.stages.first().map_or(Nanos(0), |first| first.element.latency_min() + first.rest_min)
    }

    fn events_lost(&self) -> u64 {
        self.stages.iter().map(|stage| stage.element.events_lost()).sum()
    }

    fn drain(&mut self, into: &mut Vec<Event>) {
        let begin = into.len();
        for stage in self.stages.iter_mut().filter(|stage| stage.is_logging) {
            let mine = into.len();
            stage.element.drain(into);
            for event in &mut into[mine..] {
                event.element = stage.position as u16;
            }
        }
        if self.stages.len() > 1 && into.len() > begin + 1 {
            into[begin..].sort_by_key(|event| event.at);
        }
    }
}
