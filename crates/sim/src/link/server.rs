//! One packet at a time: a queue, and a service that says how long each packet takes.

use super::event::{Backlog, Event, Events};
use super::queue::Queue;
use super::{Body, Element};
use crate::packet::Packet;
use std::collections::VecDeque;
use tcpwhy_core::units::Nanos;

/// How long a packet takes.
pub(super) trait Service: Send + 'static {
    /// When a packet of this many bytes that is taken up at `start` has left. Starts never run
    /// backwards, and none lies before the end of the service before it.
    fn finish(&mut self, start: Nanos, bytes: u32) -> Nanos;
}

/// A queue and a service as an element. The packet in service is no longer in the queue.
pub(super) struct Server<B, S> {
    service: S,
    queue: Box<dyn Queue<B>>,
    serving: Option<(Nanos, Packet<B>)>,
    done: VecDeque<(Nanos, Packet<B>)>,
    events: Events,
    backlog: Backlog,
}

impl<B: Body, S: Service> Server<B, S> {
    /// The service behind the queue, as an element.
    pub fn boxed(service: S, queue: Box<dyn Queue<B>>) -> Box<dyn Element<B>> {
        Box::new(Server {
            service,
            queue,
            serving: None,
            done: VecDeque::new(),
            events: Events::default(),
            backlog: Backlog::default(),
        })
    }

    /// Lets every packet leave that is finished by `now`. The queue decides about the next one at
    /// the very time at which the link becomes free, however late that is noticed.
    fn advance(&mut self, now: Nanos) {
        while let Some((end, _)) = self.serving
            && end <= now
        {
            let left = self.serving.take().expect("it was just seen");
            self.done.push_back(left);
            self.start(end);
        }
    }

    fn start(&mut self, now: Nanos) {
        if let Some(packet) = self.queue.dequeue(now, &mut self.events) {
            let end = self.service.finish(now, packet.wire_bytes);
            self.backlog.busy_ns += end - now;
            self.backlog.sent_packets += 1;
            self.backlog.sent_bytes += u64::from(packet.wire_bytes);
            self.serving = Some((end, packet));
        }
        self.note_backlog(now);
    }

    fn note_backlog(&mut self, now: Nanos) {
        let waiting = self.queue.waiting();
        self.backlog.becomes(now, waiting.packets, waiting.bytes);
    }
}

impl<B: Body, S: Service> Element<B> for Server<B, S> {
    fn push(&mut self, now: Nanos, packet: Packet<B>) {
        self.advance(now);
        self.queue.enqueue(now, packet, &mut self.events);
        if self.serving.is_none() {
            self.start(now);
        } else {
            self.note_backlog(now);
        }
    }

    fn pop(&mut self, now: Nanos) -> Option<(Nanos, Packet<B>)> {
        if let Some((left, _)) = self.done.front() {
            return (*left <= now).then(|| self.done.pop_front()).flatten();
        }
        let (end, packet) = self.serving.take_if(|(end, _)| *end <= now)?;
        self.start(end);
        Some((end, packet))
    }

    fn next(&self) -> Option<Nanos> {
        match self.done.front() {
            Some((left, _)) => Some(*left),
            None => self.serving.as_ref().map(|(end, _)| *end),
        }
    }

    fn drain(&mut self, into: &mut Vec<Event>) {
        self.events.drain(into);
    }

    fn events_lost(&self) -> u64 {
        self.events.lost()
    }

    fn backlog(&mut self, now: Nanos) -> Option<Backlog> {
        self.advance(now);
        Some(self.backlog.at(now))
    }

    fn waiting_of(&mut self, now: Nanos, flow: u32) -> usize {
        self.advance(now);
        self.queue.packets_of(flow)
    }
}
