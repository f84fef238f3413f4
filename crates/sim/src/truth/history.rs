//! What a run leaves behind for answers: who held each sender back when, how busy each link was and
//! with whose packets, and which element dropped what.

use super::answer::{Observation, Server};
use super::losses::Kind;
use crate::endpoint::{Limit, Phase, Snapshot};
use crate::link::event::{Backlog, Event};
use std::collections::BTreeMap;
use tcpwhy_core::units::Nanos;

/// The record of a run.
#[derive(Default)]
pub struct History {
    /// Spans of each half, in the order of time.
    spans: Vec<Vec<Span>>,
    /// Drops and marks of each half, in the order of time.
    losses: Vec<Vec<Loss>>,
    /// By link and element: the time at which it had been sending for so long in all.
    busy: BTreeMap<(usize, usize), Vec<(Nanos, Nanos)>>,
    /// By link and half: the bytes that left the link in each [`SAMPLE`].
    passed: BTreeMap<(usize, usize), Vec<u64>>,
}

/// A span in which one thing held a sender back.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: Nanos,
    end: Nanos,
    limit: Limit,
    phase: Phase,
    pacing_bps: Option<u64>,
    both_windows: bool,
    nearly_full: Option<Limit>,
    srtt: Option<Nanos>,
    min_rtt: Option<Nanos>,
}

/// A packet that an element dropped or marked.
#[derive(Clone, Copy, Debug)]
struct Loss {
    at: Nanos,
    kind: Kind,
}

impl History {
    /// A span is over.
    pub(super) fn note_span(&mut self, half: usize, start: Nanos, end: Nanos, state: &Snapshot) {
        let span = Span {
            start,
            end,
            limit: state.limit,
            phase: state.phase,
            pacing_bps: state.pacing_rate_bps,
            both_windows: state.both_windows,
            nearly_full: state.nearly_full,
            srtt: state.srtt_ns,
            min_rtt: state.min_rtt_ns,
        };
        of_half(&mut self.spans, half).push(span);
    }

    /// An element did something.
    pub(super) fn note_event(&mut self, _link: usize, event: &Event) {
        if let Some(kind) = Kind::of(event.action.name(), event.reason) {
            of_half(&mut self.losses, event.flow as usize).push(Loss { at: event.at, kind });
        }
    }

    /// A queue was looked at.
    pub(super) fn note_queue(
        &mut self,
        link: usize,
        element: usize,
        now: Nanos,
        backlog: &Backlog,
    ) {
        self.busy.entry((link, element)).or_default().push((now, backlog.busy_ns));
    }

    /// A packet left a link.
    pub(crate) fn note_passage(&mut self, link: usize, half: usize, now: Nanos, bytes: u32) {
        let slots = self.passed.entry((link, half)).or_default();
        let slot = slot_of(now);
        if slots.len() <= slot {
            slots.resize(slot + 1, 0);
        }
        slots[slot] += u64::from(bytes);
    }

    /// What there was of a half between two times. `routes` are the links that its packets take and
    /// those of its acknowledgements.
    pub(crate) fn observe(
        &self,
        half: usize,
        (start, end): (Nanos, Nanos),
        routes: [&[usize]; 2],
        paced_bps: Option<u64>,
    ) -> Observation {
        let mut seen = Observation { length: end.since(start), ..Observation::default() };
        self.observe_sender(&mut seen, half, (start, end), paced_bps);
        let [there, back] = routes;
        seen.servers = self.servers(half, (start, end), there);
        let returning = self.servers(half ^ 1, (start, end), back);
        seen.returning_busy = returning.iter().map(|server| server.busy).fold(0.0, f64::max);
        let losses = self.losses.get(half).map_or(&[][..], Vec::as_slice);
        for loss in losses.iter().filter(|loss| loss.at >= start - REACH && loss.at <= end) {
            let counted = if loss.at >= start { &mut seen.losses } else { &mut seen.before };
            counted.note(loss.kind, 1);
        }
        seen
    }

    fn observe_sender(
        &self,
        seen: &mut Observation,
        half: usize,
        (start, end): (Nanos, Nanos),
        paced_bps: Option<u64>,
    ) {
        let spans = self.spans.get(half).map_or(&[][..], Vec::as_slice);
        let first = spans.partition_point(|span| span.end <= start);
        let held = windows_that_held(spans, (start - REACH, end));
        let is_socket = |rate: u64| paced_bps.is_some_and(|socket| rate * 50 >= socket * 49);
        let (mut rtt_s, mut least_s) = (0.0, 0.0);
        for span in spans[first..].iter().take_while(|span| span.start < end) {
            let time = span.end.min(end).since(span.start.max(start)).as_secs_f64();
            seen.srtt = span.srtt.or(seen.srtt);
            if let (Some(srtt), Some(least)) = (span.srtt, span.min_rtt) {
                rtt_s += time * srtt.as_secs_f64();
                least_s += time * least.as_secs_f64();
            }
            let by = &mut seen.time;
            let limit = match (span.limit, span.nearly_full) {
                (Limit::Pacing, _) if span.pacing_bps.is_some_and(is_socket) => {
                    by.socket_pacing += time;
                    continue;
                }
                // It paces at the rate that it measured behind this window.
                (Limit::Pacing, Some(window)) if held.contains(&window) => {
                    by.paced_at_window += time;
                    window
                }
                (limit, _) => limit,
            };
            let is_window =
                matches!(limit, Limit::ReceiverWindow | Limit::SendBuffer | Limit::CwndClamp);
            if is_window && span.both_windows {
                by.both_windows += time;
            }
            match (limit, span.phase) {
                (Limit::Handshake | Limit::Closed, _) => by.closed += time,
                (Limit::Application, _) => by.application += time,
                (Limit::Nagle, _) => by.nagle += time,
                (Limit::ReceiverWindow, _) => by.receiver_window += time,
                (Limit::SendBuffer, _) => by.send_buffer += time,
                (Limit::CwndClamp, _) => by.cwnd_clamp += time,
                (Limit::Recovery, _) => by.recovery += time,
                (Limit::RtoWait, _) => {
                    by.recovery += time;
                    by.timer += time;
                }
                (Limit::Cwnd | Limit::Pacing, Phase::SlowStart) => by.slow_start += time,
                (Limit::Cwnd | Limit::Pacing, _) => by.congestion_avoidance += time,
            }
        }
        seen.inflation = (least_s > 0.0).then(|| rtt_s / least_s);
    }

    /// How busy every server of a route was, and with whose bytes.
    fn servers(&self, half: usize, (start, end): (Nanos, Nanos), route: &[usize]) -> Vec<Server> {
        let mut servers = Vec::new();
        for &link in route {
            let slots = slot_of(start)..=slot_of(end);
            let bytes = |list: &Vec<u64>| {
                slots.clone().filter_map(|slot| list.get(slot)).sum::<u64>() as f64
            };
            let of_link = self.passed.range((link, 0)..=(link, usize::MAX));
            let all: f64 = of_link.map(|(_, list)| bytes(list)).sum();
            let own = self.passed.get(&(link, half)).map_or(0.0, bytes);
            let others = if all > 0.0 { 1.0 - own / all } else { 0.0 };
            for (_, samples) in self.busy.range((link, 0)..=(link, usize::MAX)) {
                let busy = busy_at(samples, end) - busy_at(samples, start);
                servers.push(Server { busy: busy / end.since(start).as_secs_f64(), others });
            }
        }
        servers
    }
}

/// The windows of hosts that held the sender back between two times.
fn windows_that_held(spans: &[Span], (start, end): (Nanos, Nanos)) -> Vec<Limit> {
    let first = spans.partition_point(|span| span.end <= start);
    let since = spans[first..].iter().take_while(|span| span.start < end);
    let held = |window: &Limit| since.clone().any(|span| span.limit == *window);
    [Limit::ReceiverWindow, Limit::CwndClamp].into_iter().filter(held).collect()
}

/// For how many seconds a server had been sending at `at`: between two samples a straight line.
fn busy_at(samples: &[(Nanos, Nanos)], at: Nanos) -> f64 {
    let next = samples.partition_point(|(time, _)| *time <= at);
    let Some(&(before, busy)) = next.checked_sub(1).and_then(|i| samples.get(i)) else {
        return 0.0;
    };
    let Some(&(after, busy_after)) = samples.get(next) else { return busy.as_secs_f64() };
    let share = at.since(before).0 as f64 / after.since(before).0.max(1) as f64;
    busy.as_secs_f64() + share * busy_after.since(busy).as_secs_f64()
}

fn slot_of(at: Nanos) -> usize {
    ((at.0.max(0) / SAMPLE.0) as usize).min(SLOTS_MAX - 1)
}

fn of_half<T>(lists: &mut Vec<Vec<T>>, half: usize) -> &mut Vec<T> {
    if lists.len() <= half {
        lists.resize_with(half + 1, Vec::new);
    }
    &mut lists[half]
}

/// How often queues are looked at, and how finely passing bytes are counted.
pub const SAMPLE: Nanos = Nanos::from_millis(50);
/// How long before an interval a loss may lie that still holds the sender back.
const REACH: Nanos = Nanos(10_000_000_000);
/// More than an hour; what comes later counts as of the last slot.
const SLOTS_MAX: usize = 100_000;
