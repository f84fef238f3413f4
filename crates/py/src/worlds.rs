//! Random worlds: their scenarios, and what the analysis says of them beside what is true.

use crate::arrow::Batch;
use crate::exception;
use pyo3::prelude::*;
use std::collections::HashMap;
use tcpwhy_core::units::Nanos;
use tcpwhy_io::Error;
use tcpwhy_io::worlds;
use tcpwhy_sim::scenario::Scenario;
use tcpwhy_sim::truth::answer::{Observation, Server, Time};
use tcpwhy_sim::truth::losses::{Kind, Losses};
use tcpwhy_sim::world::World;

/// The number of the generator of worlds.
#[pyfunction]
pub fn world_version() -> u32 {
    tcpwhy_sim::world::VERSION
}

/// The world of a seed as the text of a scenario file.
#[pyfunction]
pub fn world_scenario(seed: u64) -> String {
    World::new(seed).toml()
}

/// Runs a scenario; gives tap, table and rows: `flows`, `intervals`, and `answers` row by row
/// beside the latter; `observations` too if wanted. `file` is the name of the scenario for errors.
#[pyfunction]
#[pyo3(signature = (file, scenario, *, taps=None, observations=false))]
pub fn judge(
    py: Python<'_>,
    file: String,
    scenario: String,
    taps: Option<Vec<String>>,
    observations: bool,
) -> PyResult<Vec<(String, &'static str, Batch)>> {
    let judged = py.detach(|| {
        let read = Scenario::parse(&file, &scenario);
        let read = read.map_err(|error| Error::Usage(error.to_string()))?;
        let mut signal = Ok(());
        let found = worlds::judge(&read, taps.as_deref(), observations, || {
            signal = Python::attach(|py| py.check_signals());
            signal.is_ok()
        });
        Ok((found, signal))
    });
    let (found, signal) = judged.map_err(|error: Error| exception(&error))?;
    signal?;
    Ok(found.into_iter().map(|found| (found.tap, found.table, Batch(found.batch))).collect())
}

/// The columns of the table `observations`: keys, the items of evidence, and the same before.
#[pyfunction]
pub fn observations() -> Vec<String> {
    let schema = tcpwhy_core::record::Table::Observations.schema();
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

/// The main answer, its cause, all right answers, and why nobody could tell.
type Told = (Option<&'static str>, Option<&'static str>, Vec<&'static str>, Option<&'static str>);

/// What is right to say of an interval that something else than the simulator recorded, by the same
/// rules. Given are seconds by owner of the time, and the servers on the way as shares of busy time
/// and of others' bytes. Then comes what elements did to packets (action, reason, how many), in the
/// interval and in the ten seconds before.
#[pyfunction]
#[pyo3(signature = (
    *, length_s, time_s, srtt_s, inflation, servers, returning_busy, losses, before
))]
#[expect(clippy::too_many_arguments, reason = "all are named where they are given")]
pub fn answer(
    length_s: f64,
    time_s: HashMap<String, f64>,
    srtt_s: Option<f64>,
    inflation: Option<f64>,
    servers: Vec<(f64, f64)>,
    returning_busy: f64,
    losses: Vec<(String, String, u64)>,
    before: Vec<(String, String, u64)>,
) -> Told {
    let seconds = |name: &str| time_s.get(name).copied().unwrap_or(0.0);
    let time = Time {
        closed: seconds("closed"),
        application: seconds("application"),
        nagle: seconds("nagle"),
        socket_pacing: seconds("socket_pacing"),
        receiver_window: seconds("receiver_window"),
        send_buffer: seconds("send_buffer"),
        cwnd_clamp: seconds("cwnd_clamp"),
        both_windows: seconds("both_windows"),
        paced_at_window: seconds("paced_at_window"),
        recovery: seconds("recovery") + seconds("timer"),
        timer: seconds("timer"),
        slow_start: seconds("slow_start"),
        congestion_avoidance: seconds("congestion_avoidance"),
    };
    let answer = Observation {
        length: Nanos::from_secs_f64(length_s),
        time,
        srtt: srtt_s.map(Nanos::from_secs_f64),
        inflation,
        servers: servers.into_iter().map(|(busy, others)| Server { busy, others }).collect(),
        returning_busy,
        losses: counted(&losses),
        before: counted(&before),
    }
    .answer();
    (answer.limitation, answer.cause, answer.right, answer.untellable)
}

fn counted(events: &[(String, String, u64)]) -> Losses {
    let mut losses = Losses::default();
    for (action, reason, count) in events {
        if let Some(kind) = Kind::of(action, reason) {
            losses.note(kind, *count);
        }
    }
    losses
}
