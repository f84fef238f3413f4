//! What the analysis says of a simulated world at each of its taps, beside what is true.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int64Type, UInt16Type};
use arrow_schema::Schema;
use std::sync::Arc;
use tcpwhy_core::columns;
use tcpwhy_core::pipeline::{Options, Pipeline, Table};
use tcpwhy_core::record::{self, Batches};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::run::Simulation;
use tcpwhy_sim::scenario::Scenario;
use tcpwhy_sim::tap::frame::EPOCH;
use tcpwhy_sim::tcp::Connection;
use tcpwhy_sim::truth::answer::Answer;

use crate::simulate::{EVENTS_AT_ONCE, segments};

columns! {
    /// What is true of one row of `intervals`, in the same order.
    #[derive(Clone, Debug)]
    pub struct AnswerRow / AnswerRowBuilder {
        /// Number of the flow in the scenario, from 0.
        true_flow: u32,
        /// The limitation that is true; NULL where `untellable` says why.
        true_limitation: Option<&'static str>,
        /// Its cause, where the record of the run names it.
        true_cause: Option<&'static str>,
        /// All limitations that are right, the main one first, with blanks between.
        true_limitations: Option<String>,
        /// Why nobody could tell.
        untellable: Option<&'static str>,
        /// Share of the time in which the program held the sender back.
        true_application: Option<f64>,
        /// Share of the time in which Nagle's algorithm did.
        true_nagle: Option<f64>,
        /// Share of the time in which the pacing rate of the socket did.
        true_socket_pacing: Option<f64>,
        /// Share of the time in which the receiver's window did.
        true_receiver_window: Option<f64>,
        /// Share of the time in which the send buffer did.
        true_send_buffer: Option<f64>,
        /// Share of the time in which the clamp of cwnd did.
        true_cwnd_clamp: Option<f64>,
        /// Share of the time in which a window did and the other host's had no room either.
        true_both_windows: Option<f64>,
        /// Share of the time in which recovery and retransmission timeouts did.
        true_recovery: Option<f64>,
        /// Share of the time in which cwnd or the controller's pacing did in slow start.
        true_slow_start: Option<f64>,
        /// Share of the time in which cwnd or the controller's pacing did otherwise.
        true_congestion_avoidance: Option<f64>,
        /// Share of the time in which the busiest link of the path was sending.
        link_busy: Option<f64>,
        /// Share of its bytes that belonged to others.
        link_others: Option<f64>,
        /// Packets that queues dropped.
        queue_drops: Option<u64>,
        /// Packets that queues marked.
        queue_marks: Option<u64>,
        /// Packets that policers dropped.
        policer_drops: Option<u64>,
        /// Packets dropped by chance.
        chance_drops: Option<u64>,
        /// Packets dropped where nothing passed, or because they were too long.
        silent_drops: Option<u64>,
    }
}

/// The Arrow schema of the answers.
pub fn schema() -> Arc<Schema> {
    record::schema::<AnswerRow>()
}

/// What a tap's analysis gave: a table of it, or `answers` beside its `intervals`.
pub struct Found {
    /// The tap.
    pub tap: String,
    /// `intervals`, `answers`, `flows` or `observations`.
    pub table: &'static str,
    /// The rows.
    pub batch: RecordBatch,
}

/// Runs a scenario, analyses what its taps see, and says what is true of every interval; with
/// `observations` also what the items of evidence say of it.
/// `go_on` is asked every few milliseconds; when it says no, there is nothing.
pub fn judge(
    scenario: &Scenario,
    wanted: Option<&[String]>,
    observations: bool,
    mut go_on: impl FnMut() -> bool,
) -> Vec<Found> {
    let mut built = scenario.build();
    let chosen: Vec<usize> = match wanted {
        None => (0..built.taps.len()).collect(),
        Some(names) => (0..built.taps.len())
            .filter(|&tap| names.iter().any(|name| *name == built.taps[tap]))
            .collect(),
    };
    built.simulation.record_history();
    let mut pipelines: Vec<(usize, Pipeline, u64)> =
        chosen.into_iter().map(|tap| (tap, Pipeline::new(options(observations)), 0)).collect();
    let mut now = Nanos(0);
    while now < built.duration {
        now = (now + STEP).min(built.duration);
        while !built.simulation.run_some(now, EVENTS_AT_ONCE) {
            if !go_on() {
                return Vec::new();
            }
        }
        for tap in 0..built.taps.len() {
            let records = built.simulation.take_records(tap);
            let Some((_, pipeline, frames)) = pipelines.iter_mut().find(|(n, ..)| *n == tap) else {
                continue;
            };
            let segments = segments(&built.simulation, &records, frames);
            segments.chunks(SEGMENTS_AT_ONCE).for_each(|batch| pipeline.push(batch));
        }
    }
    // Ends the open spans.
    built.simulation.truth();
    let truth = Truth::new(built.simulation, scenario);
    truth.beside(pipelines, &built.taps)
}

/// What is true, by the addresses of the halves.
struct Truth<'a> {
    world: Simulation<Connection>,
    scenario: &'a Scenario,
    halves: HashMap<(String, u16, String, u16), usize>,
}

impl Truth<'_> {
    fn new(world: Simulation<Connection>, scenario: &Scenario) -> Truth<'_> {
        let name = |half: usize| {
            let addresses = world.addresses(half);
            let [src, dst] = [addresses.src, addresses.dst];
            ((src.ip().to_string(), src.port, dst.ip().to_string(), dst.port), half)
        };
        let halves = (0..2 * scenario.flows().len()).map(name).collect();
        Truth { world, scenario, halves }
    }

    fn beside(mut self, pipelines: Vec<(usize, Pipeline, u64)>, taps: &[String]) -> Vec<Found> {
        let mut found = Vec::new();
        for (number, mut pipeline, _) in pipelines {
            let only =
                self.scenario.taps.get(number).is_some_and(|tap| tap.get_ref().only.is_some());
            while pipeline.finish() {}
            for (table, batch) in pipeline.take(true) {
                let mut add = |table, batch| {
                    found.push(Found { tap: taps[number].clone(), table, batch });
                };
                if table == Table::Intervals {
                    let answers = self.answers(&batch, only);
                    add("intervals", batch);
                    answers.into_iter().for_each(|answers| add("answers", answers));
                } else if table == Table::Flows {
                    add("flows", batch);
                } else if table == Table::Observations {
                    add("observations", batch);
                }
            }
        }
        found
    }

    /// One row for each of the batch.
    fn answers(&mut self, intervals: &RecordBatch, is_one_way: bool) -> Option<RecordBatch> {
        let text = |name: &str| intervals[name].as_string::<i32>();
        let port = |name: &str| intervals[name].as_primitive::<UInt16Type>();
        let time = |name: &str| intervals[name].as_primitive::<Int64Type>();
        let mut rows: Batches<AnswerRow> = Batches::default();
        for i in 0..intervals.num_rows() {
            let name = (
                text("src").value(i).to_owned(),
                port("src_port").value(i),
                text("dst").value(i).to_owned(),
                port("dst_port").value(i),
            );
            let span =
                (Nanos(time("start_ns").value(i)) - EPOCH, Nanos(time("end_ns").value(i)) - EPOCH);
            let half = self.halves.get(&name).copied();
            let paced = half.and_then(|half| self.paced_bps(half));
            let answer = half.and_then(|half| self.world.answer(half, span, paced));
            rows.push(row(half.unwrap_or_default() / 2, answer, is_one_way));
        }
        rows.take()
    }

    /// The rate at which the scenario paces the socket of a half.
    fn paced_bps(&self, half: usize) -> Option<u64> {
        let (flow, _) = *self.scenario.flows().get(half / 2)?;
        let (host, tcp) = [(&flow.from, &flow.tcp), (&flow.to, &flow.peer_tcp)][half % 2];
        let tcp = tcp.over(&self.scenario.hosts.get(host.get_ref())?.tcp);
        tcp.pacing_rate_bps.map(|rate| rate.0)
    }
}

fn row(flow: usize, answer: Option<Answer>, is_one_way: bool) -> AnswerRow {
    let seen = answer.as_ref().map(|answer| &answer.seen);
    let told = answer.as_ref().filter(|_| !is_one_way);
    let share = |seconds: fn(&tcpwhy_sim::truth::answer::Time) -> f64| {
        seen.map(|seen| seconds(&seen.time) / seen.length.as_secs_f64())
    };
    let untellable = match &answer {
        None => Some("no flow of the scenario"),
        Some(_) if is_one_way => Some("only one direction is in the capture"),
        Some(answer) => answer.untellable,
    };
    AnswerRow {
        true_flow: flow as u32,
        true_limitation: told.and_then(|told| told.limitation),
        true_cause: told.and_then(|told| told.cause),
        true_limitations: told.map(|told| told.right.join(" ")).filter(|words| !words.is_empty()),
        untellable,
        true_application: share(|time| time.application),
        true_nagle: share(|time| time.nagle),
        true_socket_pacing: share(|time| time.socket_pacing),
        true_receiver_window: share(|time| time.receiver_window),
        true_send_buffer: share(|time| time.send_buffer),
        true_cwnd_clamp: share(|time| time.cwnd_clamp),
        true_both_windows: share(|time| time.both_windows),
        true_recovery: share(|time| time.recovery),
        true_slow_start: share(|time| time.slow_start),
        true_congestion_avoidance: share(|time| time.congestion_avoidance),
        link_busy: seen.map(|seen| seen.bottleneck().busy),
        link_others: seen.map(|seen| seen.bottleneck().others),
        queue_drops: seen.map(|seen| seen.losses.queue),
        queue_marks: seen.map(|seen| seen.losses.marks),
        policer_drops: seen.map(|seen| seen.losses.policer),
        chance_drops: seen.map(|seen| seen.losses.chance),
        silent_drops: seen.map(|seen| seen.losses.silence + seen.losses.too_long),
    }
}

fn options(observations: bool) -> Options {
    let mut tables = vec![Table::Flows, Table::Intervals];
    tables.extend(observations.then_some(Table::Observations));
    Options { tables, ..Options::default() }
}

/// Simulated time between two looks at the taps.
const STEP: Nanos = Nanos::from_millis(250);
/// Segments that go into the analysis at once.
const SEGMENTS_AT_ONCE: usize = 256;
