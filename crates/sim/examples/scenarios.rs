//! Runs scenario files and prints, for each expectation, what the senders' own states say.
//!
//! `cargo run --release -p tcpwhy-sim --example scenarios scenarios/*.toml`

use arrow_array::{Int64Array, RecordBatch, StringArray, UInt32Array};
use std::collections::BTreeMap;
use std::time::Instant;
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::scenario::{Expect, Scenario};

fn main() {
    for path in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        match Scenario::parse(&path, &text) {
            Ok(scenario) => run(&path, &scenario),
            Err(error) => eprintln!("{error}"),
        }
    }
}

fn run(path: &str, scenario: &Scenario) {
    let begun = Instant::now();
    let mut built = scenario.build();
    built.simulation.record_truth(Nanos::from_millis(100));
    built.simulation.run_until(built.duration);
    let seconds = begun.elapsed().as_secs_f64();
    let duration = built.duration.as_secs_f64();
    let rates: Vec<String> = (0..scenario.flows().len())
        .map(|flow| {
            let rate = |half| built.simulation.delivered_bytes(half) as f64 * 8.0 / duration / 1e6;
            format!("{:.2}/{:.2}", rate(2 * flow), rate(2 * flow + 1))
        })
        .collect();
    let name = path.rsplit('/').next().unwrap_or(path);
    println!("{name}: {} Mbit/s, {duration} s in {seconds:.2} s", rates.join(" "));
    let state = built.simulation.snapshot(0);
    println!(
        "    retransmitted {} of {}, timeouts {}, fast {}, tlp {}, spurious {}",
        state.retransmitted_segments,
        state.data_segments,
        state.timeouts,
        state.fast_retransmits,
        state.tail_loss_probes,
        state.spurious_recoveries
    );
    let Some(truth) = built.simulation.truth() else { return };
    let Some(rows) = truth.spans.take() else { return };
    for expect in scenario.expect.iter().map(|expect| expect.get_ref()) {
        let shares = shares(&rows, scenario, expect);
        let cause = expect.cause.as_deref().unwrap_or(&expect.limitation);
        println!("    flow {} {cause}: {shares}", expect.flow);
    }
}

/// How the time of an expectation divides among limits and phases.
fn shares(rows: &RecordBatch, scenario: &Scenario, expect: &Expect) -> String {
    let text = |name: &str| -> StringArray { column::<StringArray>(rows, name) };
    let int = |name: &str| -> Int64Array { column::<Int64Array>(rows, name) };
    let flows = column::<UInt32Array>(rows, "flow");
    let (limits, phases, sides) = (text("limit"), text("phase"), text("side"));
    let (starts, ends) = (int("start_ns"), int("end_ns"));
    let from = expect.from_s.map_or(0, |from| from.0.0);
    let to = expect.to_s.unwrap_or(scenario.duration_s).0.0;
    let mut shares: BTreeMap<String, i64> = BTreeMap::new();
    for i in 0..rows.num_rows() {
        let is_forward = sides.value(i) == "forward";
        if flows.value(i) as usize != expect.flow || is_forward == expect.backward {
            continue;
        }
        let span = ends.value(i).min(to) - starts.value(i).max(from);
        let key = format!("{}@{}", limits.value(i), phases.value(i));
        *shares.entry(key).or_default() += span.max(0);
    }
    let total: i64 = shares.values().sum();
    let mut list: Vec<_> = shares.into_iter().filter(|(_, ns)| *ns > 0).collect();
    list.sort_by_key(|(_, ns)| -ns);
    let line =
        |(key, ns): &(String, i64)| format!("{key} {:.0}%", *ns as f64 / total as f64 * 100.0);
    list.iter().take(5).map(line).collect::<Vec<_>>().join(", ")
}

fn column<A: Clone + 'static>(rows: &RecordBatch, name: &str) -> A {
    let column = rows.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    column.as_any().downcast_ref::<A>().unwrap_or_else(|| panic!("{name} has another type")).clone()
}
