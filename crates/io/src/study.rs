//! Sweeps of the adaptivity study: many cases on all cores, the same rows in the same order however
//! many threads there are.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{self, JoinHandle};

use arrow_array::RecordBatch;
use arrow_schema::Schema;
use tcpwhy_core::record::{self, Batches};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::adaptivity::{Case, DepartureRow, Label, MomentRow, OutcomeRow};

/// One case to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// Where it belongs.
    pub label: Label,
    /// The settings.
    pub case: Case,
    /// Look so often and give the time series, instead of what was measured over all.
    pub step: Option<Nanos>,
}

/// The tables of the study, with the Arrow schemas of their rows.
pub fn tables() -> [(&'static str, Arc<Schema>); 3] {
    [
        ("adaptivity", record::schema::<OutcomeRow>()),
        ("adaptivity_series", record::schema::<MomentRow>()),
        ("adaptivity_segments", record::schema::<DepartureRow>()),
    ]
}

/// A sweep under way. Iterating waits for all its cases and then gives the tables.
pub struct Sweep {
    results: Option<Receiver<(usize, Rows)>>,
    workers: Vec<JoinHandle<()>>,
    shared: Arc<Shared>,
    jobs: usize,
    ready: Vec<(&'static str, RecordBatch)>,
}

/// Watches and stops a sweep from another thread.
#[derive(Clone)]
pub struct Handle(Arc<Shared>);

impl Handle {
    /// How many cases are done.
    pub fn done(&self) -> usize {
        self.0.done.load(Ordering::Relaxed)
    }

    /// Begins no further case; the rows of those that are done still come.
    pub fn stop(&self) {
        self.0.stopped.store(true, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Shared {
    next: AtomicUsize,
    done: AtomicUsize,
    stopped: AtomicBool,
}

/// What came of one case.
enum Rows {
    Outcome(Box<OutcomeRow>),
    Series(Vec<MomentRow>, Vec<DepartureRow>),
}

/// Starts the cases on `workers` threads, or on all cores.
pub fn sweep(jobs: Vec<Job>, workers: Option<usize>) -> Sweep {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let workers = workers.unwrap_or(cores).clamp(1, jobs.len().max(1));
    let (count, jobs) = (jobs.len(), Arc::new(jobs));
    let shared = Arc::<Shared>::default();
    let (sender, results) = sync_channel(WAITING);
    let work = |_| {
        let (jobs, shared, sender) = (jobs.clone(), shared.clone(), sender.clone());
        thread::spawn(move || {
            while !shared.stopped.load(Ordering::Relaxed) {
                let index = shared.next.fetch_add(1, Ordering::Relaxed);
                let Some(job) = jobs.get(index) else { return };
                // A send fails when the receiver is gone: nobody wants the rest.
                if sender.send((index, job.run())).is_err() {
                    return;
                }
                shared.done.fetch_add(1, Ordering::Relaxed);
            }
        })
    };
    let workers = (0..workers).map(work).collect();
    Sweep { results: Some(results), workers, shared, jobs: count, ready: Vec::new() }
}

impl Job {
    fn run(&self) -> Rows {
        let (label, case) = (&self.label, &self.case);
        let Some(step) = self.step else {
            return Rows::Outcome(Box::new(OutcomeRow::new(label, case, &case.run())));
        };
        let (moments, departures) = case.time_series(step);
        Rows::Series(
            moments.iter().map(|moment| MomentRow::new(label, case, moment)).collect(),
            departures.iter().map(|departure| DepartureRow::new(label, case, departure)).collect(),
        )
    }
}

impl Sweep {
    /// How many cases it has.
    pub fn jobs(&self) -> usize {
        self.jobs
    }

    /// For another thread.
    pub fn handle(&self) -> Handle {
        Handle(self.shared.clone())
    }

    /// Waits for the cases and puts their rows into the order of the cases.
    fn gather(&mut self, results: Receiver<(usize, Rows)>) {
        let rows: BTreeMap<usize, Rows> = results.iter().collect();
        for worker in self.workers.drain(..) {
            if let Err(fault) = worker.join() {
                std::panic::resume_unwind(fault);
            }
        }
        let mut outcomes: Batches<OutcomeRow> = Batches::default();
        let mut moments: Batches<MomentRow> = Batches::default();
        let mut departures: Batches<DepartureRow> = Batches::default();
        for rows in rows.into_values() {
            match rows {
                Rows::Outcome(row) => outcomes.push(*row),
                Rows::Series(of_moments, of_departures) => {
                    of_moments.into_iter().for_each(|row| moments.push(row));
                    of_departures.into_iter().for_each(|row| departures.push(row));
                }
            }
        }
        let [first, second, third] = tables().map(|(name, _)| name);
        self.ready.extend(departures.take().map(|batch| (third, batch)));
        self.ready.extend(moments.take().map(|batch| (second, batch)));
        self.ready.extend(outcomes.take().map(|batch| (first, batch)));
    }
}

impl Iterator for Sweep {
    type Item = (&'static str, RecordBatch);

    fn next(&mut self) -> Option<Self::Item> {
        if let Some(results) = self.results.take() {
            self.gather(results);
        }
        self.ready.pop()
    }
}

impl Drop for Sweep {
    fn drop(&mut self) {
        self.handle().stop();
    }
}

/// Results that wait to be gathered.
const WAITING: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn jobs() -> Vec<Job> {
        let short = Case {
            warm: Nanos(5 * Nanos::SECOND.0),
            duration: Nanos(20 * Nanos::SECOND.0),
            jitter_packets: 1.0,
            ..Case::default()
        };
        let case = |f: f64| Case { frequencies_hz: vec![f], ..short.clone() };
        let job = |i: u32| Job {
            label: Label { figure: 2, series: format!("s{i}") },
            case: case(0.1 * f64::from(i + 1)),
            step: (i == 3).then_some(Nanos::from_millis(100)),
        };
        (0..12).map(job).collect()
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let one: Vec<_> = sweep(jobs(), Some(1)).collect();
        assert_eq!(one.iter().map(|(name, _)| *name).collect::<Vec<_>>(), tables().map(|t| t.0));
        assert_eq!(one[0].1.num_rows(), 11);
        assert_eq!(one[1].1.num_rows(), 200);
        for workers in [2, 5, 64] {
            let many: Vec<_> = sweep(jobs(), Some(workers)).collect();
            assert_eq!(one, many, "{workers} workers");
        }
    }

    #[test]
    fn a_stop_leaves_whole_rows() {
        let mut sweep = sweep(jobs(), Some(1));
        sweep.handle().stop();
        let rows: usize = sweep.by_ref().map(|(_, batch)| batch.num_rows()).sum();
        assert!(rows < 311, "{rows}");
        assert!(sweep.handle().done() < sweep.jobs());
    }
}
