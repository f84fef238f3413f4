//! Captures at their own timing, as if their packets came from a link now: a rehearsal of live
//! runs, with the same timely rows and the same losses where they are taken too slowly.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use tcpwhy_core::pipeline::{Options, Pipeline};
use tcpwhy_core::units::Nanos;

use super::live::{ITEMS, LATENESS, LONGEST_SILENCE, Live, Out};
use super::{Item, Reader};
use crate::intake::TunnelNames;
use crate::progress::{Shared, Standing};

/// How fast packet time passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    factor: f64,
    /// The time of the first packet, and when it came.
    began: Option<(Nanos, Instant)>,
}

impl Pace {
    /// Packet time passes `factor` times as fast as the clock.
    pub fn new(factor: f64) -> Pace {
        Pace { factor, began: None }
    }

    /// How long it is until a packet of this time is due; the first one is due at once.
    pub fn ahead(&mut self, ts: Nanos) -> Duration {
        let (first, began) = *self.began.get_or_insert((ts, Instant::now()));
        let since = (ts - first).0.max(0) as f64 / 1e9 / self.factor;
        let due = Duration::try_from_secs_f64(since).unwrap_or(Duration::MAX);
        due.saturating_sub(began.elapsed())
    }

    /// The packet time that it is now.
    pub fn now(&self) -> Option<Nanos> {
        let (first, began) = self.began?;
        Some(first + Nanos((began.elapsed().as_nanos() as f64 * self.factor) as i64))
    }
}

/// Reads in a thread of its own, in which all flows are followed.
pub(super) fn spawn(reader: Reader, options: &Options, shared: &Arc<Shared>) -> Live {
    let (send, items) = sync_channel(ITEMS);
    let out = Out::new(send.clone(), shared.clone());
    let options = options.clone();
    Live::new(items, thread::spawn(move || run(reader, options, out, &send)), shared)
}

fn run(mut reader: Reader, options: Options, mut out: Out, items: &SyncSender<Item>) {
    let shared = reader.shared.clone();
    let interval = Duration::from_nanos(options.interval.0.max(1) as u64);
    let period = interval.min(LONGEST_SILENCE);
    let mut pipeline = Pipeline::new(options);
    let mut tunnels = TunnelNames::default();
    let mut due = Instant::now() + period;
    loop {
        let more = reader.step(|segments, intake, now| {
            for (index, name) in tunnels.news(intake.tunnels()) {
                pipeline.define_tunnel(index, name);
            }
            pipeline.push(segments);
            if let (true, Some(now)) = (segments.is_empty(), now) {
                pipeline.tick(now - LATENESS);
            }
            let report = Instant::now() >= due;
            if report {
                due = Instant::now() + period;
                pipeline.settle(pipeline.flows());
                let mut counters = intake.counters();
                counters.merge(pipeline.counters());
                let flows = pipeline.flows() as u64;
                shared.stand(0, Standing { flows, counters });
            }
            for batch in pipeline.take(report) {
                out.offer(batch);
            }
            !out.deaf
        });
        if !more {
            break;
        }
    }
    let mut counters = out.finish(&mut pipeline);
    counters.merge(pipeline.counters());
    let mut all = counters.clone();
    all.merge(&reader.intake.counters());
    shared.stand(0, Standing { flows: 0, counters: all });
    for item in reader.closing(&counters) {
        if items.send(item).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_due_at_their_distance_from_the_first() {
        let mut pace = Pace::new(10.0);
        assert_eq!(pace.ahead(Nanos(5_000_000_000)), Duration::ZERO);
        let ahead = pace.ahead(Nanos(1_005_000_000_000));
        assert!(ahead <= Duration::from_secs(100) && ahead > Duration::from_secs(10), "{ahead:?}");
        assert_eq!(pace.ahead(Nanos(4_000_000_000)), Duration::ZERO, "a clock that was set back");
        assert!(pace.now() >= Some(Nanos(5_000_000_000)));
    }
}
