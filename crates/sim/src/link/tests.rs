//! Every element of the registry against the contract of [`Element`], and each against what its
//! source promises.

use super::event::Action;
use super::path::Path;
use super::queue::Queues;
use super::*;
use crate::packet::Ecn;

type Departures = Vec<(Nanos, u64, Ecn)>;

/// What came of a run: what left and when, and the log.
#[derive(Debug, PartialEq)]
struct Outcome {
    departures: Departures,
    events: Vec<Event>,
}

/// An arrival: when, how large, which ECN field.
type Arrivals = Vec<(Nanos, u32, Ecn)>;

fn elements(toml: &str) -> Elements {
    toml::from_str(toml).unwrap_or_else(|error| panic!("{toml}\n{error}"))
}

/// Every example of every element, and every queue discipline behind a rate.
fn whole_registry() -> Vec<(String, Elements)> {
    let plain = Elements::ENTRIES.iter().flat_map(|entry| {
        entry.examples.iter().map(|settings| format!("[{}]\n{settings}", entry.name))
    });
    let queues = Queues::ENTRIES.iter().flat_map(|entry| {
        entry.examples.iter().map(|settings| {
            format!("[rate]\nrate_bps = 2_000_000\n[rate.queue.{}]\n{settings}", entry.name)
        })
    });
    plain.chain(queues).map(|toml| (toml.clone(), elements(&toml))).collect()
}

/// Bursts and pauses: enough to fill every queue of the examples and to let it run empty.
fn arrivals(seed: u64, count: usize) -> Arrivals {
    let mut random = Random::stream(seed, 1000);
    let mut now = Nanos(0);
    let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1];
    let mut mean_gap_ns = 1e6;
    let one = |_| {
        if random.chance(0.02) {
            mean_gap_ns = [2e4, 1e6, 4e6, 2e7][(random.bits() % 4) as usize];
        }
        now += Nanos((random.exponential() * mean_gap_ns) as i64);
        let bytes = if random.chance(0.3) { 40 } else { 40 + random.bits() % 1474 } as u32;
        (now, bytes, ecn[(random.bits() % 3) as usize])
    };
    (0..count).map(one).collect()
}

fn packet(id: usize, bytes: u32, ecn: Ecn) -> Packet<()> {
    Packet { id: id as u64, flow: id as u32 % 2, wire_bytes: bytes, ecn, body: () }
}

/// Runs the element over the arrivals; `polls` says at which extra times it is popped dry.
fn run(element: &mut dyn Element<()>, arrivals: &Arrivals, polls: &mut dyn Polls) -> Outcome {
    let mut outcome = Outcome { departures: Vec::new(), events: Vec::new() };
    let mut last = Nanos(0);
    for (id, &(at, bytes, ecn)) in arrivals.iter().enumerate() {
        while let Some(poll) = polls.next_before(at, last, element) {
            pop_dry(element, poll, &mut outcome);
            last = poll;
        }
        element.push(at, packet(id, bytes, ecn));
        last = at;
    }
    let end = last + Nanos(3_600_000_000_000);
    while let Some(poll) = polls.next_before(end, last, element) {
        pop_dry(element, poll, &mut outcome);
        last = poll;
    }
    pop_dry(element, end, &mut outcome);
    element.drain(&mut outcome.events);
    outcome
}

fn pop_dry(element: &mut dyn Element<()>, now: Nanos, outcome: &mut Outcome) {
    while let Some((left, packet)) = element.pop(now) {
        assert!(left <= now, "a packet left in the future");
        outcome.departures.push((left, packet.id, packet.ecn));
    }
    element.drain(&mut outcome.events);
}

/// A way to poll.
trait Polls {
    /// The next poll in (`last`, `before`).
    fn next_before(&mut self, before: Nanos, last: Nanos, e: &dyn Element<()>) -> Option<Nanos>;
}

/// Only when everything is over.
struct Never;

impl Polls for Never {
    fn next_before(&mut self, _: Nanos, _: Nanos, _: &dyn Element<()>) -> Option<Nanos> {
        None
    }
}

/// At random times, from every few µs to every few 100 ms.
struct AtRandom(Random);

impl Polls for AtRandom {
    fn next_before(&mut self, before: Nanos, last: Nanos, _: &dyn Element<()>) -> Option<Nanos> {
        let mean_ns = [3e3, 1e6, 3e8][(self.0.bits() % 3) as usize];
        let poll = last + Nanos((self.0.exponential() * mean_ns) as i64);
        (poll < before && self.0.chance(0.9)).then_some(poll)
    }
}

/// Whenever the element says so, and never at another time.
struct AsAsked;

impl Polls for AsAsked {
    fn next_before(&mut self, before: Nanos, last: Nanos, e: &dyn Element<()>) -> Option<Nanos> {
        let poll = e.next()?;
        assert!(poll >= last, "the next departure lies in the past");
        (poll < before).then_some(poll)
    }
}

#[test]
fn poll_invariance() {
    for (toml, settings) in whole_registry() {
        for seed in 0..20 {
            let arrivals = arrivals(seed, 400);
            let build = || settings.build::<()>(Random::stream(seed, 0));
            let never = run(&mut *build(), &arrivals, &mut Never);
            let asked = run(&mut *build(), &arrivals, &mut AsAsked);
            assert_eq!(never, asked, "polled as asked, seed {seed}:\n{toml}");
            let mut polls = AtRandom(Random::stream(seed, 77));
            let random = run(&mut *build(), &arrivals, &mut polls);
            assert_eq!(never, random, "polled at random, seed {seed}:\n{toml}");
        }
    }
}

#[test]
fn poll_invariance_of_random_paths() {
    let registry = whole_registry();
    for seed in 0..200 {
        let mut random = Random::stream(seed, 3);
        let length = 1 + random.bits() % 5;
        let pick = |_| registry[(random.bits() % registry.len() as u64) as usize].clone();
        let (toml, settings): (Vec<_>, Vec<_>) = (0..length).map(pick).unzip();
        let arrivals = arrivals(seed, 300);
        let build = || Path::<()>::new(&settings, seed, 0);
        let never = run(&mut build(), &arrivals, &mut Never);
        let asked = run(&mut build(), &arrivals, &mut AsAsked);
        assert_eq!(never, sorted(asked), "polled as asked, seed {seed}: {toml:#?}");
        let mut polls = AtRandom(Random::stream(seed, 77));
        let polled = run(&mut build(), &arrivals, &mut polls);
        assert_eq!(never, sorted(polled), "polled at random, seed {seed}: {toml:#?}");
    }
}

/// Events of one instant come in the order of the elements when they are drained together.
fn sorted(mut outcome: Outcome) -> Outcome {
    outcome.events.sort_by_key(|event| (event.at, event.element));
    outcome
}

#[test]
fn departures_come_in_the_order_of_time_and_at_the_time_that_was_announced() {
    for (toml, settings) in whole_registry() {
        let arrivals = arrivals(5, 500);
        let mut element = settings.build::<()>(Random::stream(5, 0));
        let outcome = run(&mut *element, &arrivals, &mut AsAsked);
        assert!(outcome.departures.is_sorted_by_key(|(left, ..)| *left), "{toml}");
        for (left, id, _) in outcome.departures {
            let least = arrivals[id as usize].0 + element.latency_min();
            assert!(left >= least, "packet {id} left before it could:\n{toml}");
        }
    }
}

#[test]
fn every_packet_is_delivered_or_dropped_with_a_record() {
    for (toml, settings) in whole_registry() {
        for seed in 0..5 {
            let arrivals = arrivals(seed, 1000);
            let mut element = settings.build::<()>(Random::stream(seed, 0));
            let outcome = run(&mut *element, &arrivals, &mut Never);
            let count = |action| outcome.events.iter().filter(|e| e.action == action).count();
            let sent = arrivals.len() + count(Action::Duplicate);
            let arrived = outcome.departures.len() + count(Action::Drop);
            assert_eq!(sent, arrived, "seed {seed}:\n{toml}");
            let marked = |(left, id, ecn): &(Nanos, u64, Ecn)| {
                *ecn == Ecn::Ce && *left >= arrivals[*id as usize].0
            };
            let marks = outcome.departures.iter().filter(|d| marked(d)).count();
            assert_eq!(marks, count(Action::Mark), "seed {seed}:\n{toml}");
        }
    }
}

#[test]
fn settings_are_refused_with_the_key_and_what_it_may_be() {
    let refusals = [
        ("[bernoulli]\nloss = 1.5", "expected a probability from 0 to 1"),
        ("[delay]\ndelay = 5", "unknown field `delay`, expected `delay_ms`"),
        ("[delay]\ndelay_ms = -1", "expected a time in milliseconds from 0 to"),
        ("[rate]\nrate_bps = 0", "expected a rate in bit/s from 1 to 1e12"),
        (
            "[rate]\nrate_bps = 1\nqueue = { codle = {} }",
            "unknown variant `codle`, expected one of",
        ),
        ("[rate.queue.drop_tail]\nlimit_packets = 0", "expected a whole number from 1"),
        ("[trace]\nopportunities_ms = [5, 3]", "never decrease"),
        ("[jitter]\njitter_ms = 1\ndistribution = \"flat\"", "expected one of `uniform`, `normal`"),
        ("[options]", "expected `strip`, `mss_max_bytes` or `drop_syn_data`"),
        ("[options]\nmss_max_bytes = 10", "expected a segment size in bytes from 48"),
        (
            "[options]\nstrip = [\"mss\"]\nmss_max_bytes = 1000",
            "mss_max_bytes, and `mss` in strip: expected one of them",
        ),
        (
            "[options]\nstrip = [\"sack\"]",
            "unknown variant `sack`, expected one of `mss`, `window_scale`, `sack_permitted`",
        ),
        (
            "[rate]\nrate_bps = 1\nqueue.cake.isolate = \"hosts\"",
            "unknown variant `hosts`, expected one of `flows`, `dual_srchost`",
        ),
        ("[lossy]\nloss = 1", "unknown variant `lossy`, expected one of `delay`, `jitter`"),
    ];
    for (toml, expected) in refusals {
        let error = toml::from_str::<Elements>(toml).expect_err(toml).to_string();
        assert!(error.contains(expected), "{toml}\ngives\n{error}");
    }
}

mod behaviour;
mod outside;
