//! The scenario files of the repository: each runs, and what it expects is what its senders' own
//! states say.

use arrow_array::{Int64Array, RecordBatch, StringArray, UInt32Array};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use tcpwhy_core::limit::Cause;
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::run::Simulation;
use tcpwhy_sim::scenario::{Expect, Scenario};
use tcpwhy_sim::tap::frame::pcap_header;
use tcpwhy_sim::tcp::Connection;

/// Every scenario with its name, found by looking.
fn scenarios() -> Vec<(String, Scenario)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut list: Vec<_> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let scenario = Scenario::parse(&name, &text).unwrap_or_else(|error| panic!("{error}"));
            (name, scenario)
        })
        .collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    list
}

#[test]
fn every_cause_has_a_scenario() {
    let scenarios = scenarios();
    assert!(scenarios.len() >= 40, "{} scenarios", scenarios.len());
    let expectations = scenarios.iter().flat_map(|(_, scenario)| &scenario.expect);
    let causes: BTreeSet<_> =
        expectations.filter_map(|expect| expect.get_ref().cause.as_deref()).collect();
    let missing: Vec<_> = Cause::WORDS.iter().filter(|cause| !causes.contains(*cause)).collect();
    // What nobody can tell from outside is no truth of a scenario.
    assert_eq!(missing, [&"sender_window/undetermined", &"unshared_bottleneck/varying"]);
}

#[test]
fn senders_are_limited_by_what_the_scenario_says_and_no_packet_is_unaccounted_for() {
    let scenarios = scenarios();
    let next = AtomicUsize::new(0);
    let work = || {
        let mut wrong = Vec::new();
        while let Some((name, scenario)) = scenarios.get(next.fetch_add(1, Ordering::Relaxed)) {
            check(name, scenario, &mut wrong);
        }
        wrong
    };
    let wrong = std::thread::scope(|scope| {
        let other = scope.spawn(work);
        let mut wrong = work();
        wrong.extend(other.join().expect("a scenario failed"));
        wrong
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Runs a scenario and adds what is wrong with it.
fn check(name: &str, scenario: &Scenario, wrong: &mut Vec<String>) {
    // The study has tests of its own.
    if name == "adaptivity.toml" {
        return;
    }
    let mut built = scenario.build();
    let world = &mut built.simulation;
    world.record_truth(Nanos::from_millis(100));
    run_in_slices(name, world, built.duration, wrong);
    account_for_packets(name, world, wrong);
    let Some(rows) = world.truth().and_then(|truth| truth.spans.take()) else {
        wrong.push(format!("{name}: no truth"));
        return;
    };
    for expect in scenario.expect.iter().map(|expect| expect.get_ref()) {
        let share = share_of_truth(&rows, scenario, expect);
        if share < 0.5 {
            let share = share * 100.0;
            wrong.push(format!("{name}: flow {}: {share:.0} % of {expect:?}", expect.flow));
        }
    }
}

/// Runs it as whoever can be interrupted does: no slice of events is more than some milliseconds of
/// work, whatever the scenario, since it sends few packets.
fn run_in_slices(
    name: &str,
    world: &mut Simulation<Connection>,
    end: Nanos,
    wrong: &mut Vec<String>,
) {
    let mut is_over = false;
    while !is_over {
        let before = world.packets();
        is_over = world.run_some(end, SLICE_EVENTS);
        let packets = world.packets() - before;
        if packets > 2 * SLICE_EVENTS {
            wrong.push(format!("{name}: {packets} packets in {SLICE_EVENTS} events"));
        }
    }
}

/// What was sent was delivered, dropped with a record, or is on the way: as many as the links hold.
fn account_for_packets(name: &str, world: &mut Simulation<Connection>, wrong: &mut Vec<String>) {
    let events = world.truth().and_then(|truth| truth.events.take());
    let recorded = events.map_or(0, |events| {
        let actions = column::<StringArray>(&events, "action");
        (0..events.num_rows()).filter(|i| actions.value(*i) == "drop").count() as u64
    });
    let dropped: u64 = (0..world.halves()).map(|half| world.counts(half).dropped).sum();
    let lost_rows = world.truth().map_or(0, |truth| truth.lost_rows);
    if recorded + lost_rows < dropped || recorded > dropped {
        wrong.push(format!("{name}: {dropped} packets dropped, {recorded} recorded"));
    }
}

/// The share of the expected span in which the sender's state agrees with the expectation.
/// Handshake and end are nobody's limit.
fn share_of_truth(rows: &RecordBatch, scenario: &Scenario, expect: &Expect) -> f64 {
    let (limits, sides) =
        (column::<StringArray>(rows, "limit"), column::<StringArray>(rows, "side"));
    let flows = column::<UInt32Array>(rows, "flow");
    let starts = column::<Int64Array>(rows, "start_ns");
    let ends = column::<Int64Array>(rows, "end_ns");
    let from = expect.from_s.map_or(0, |from| from.0.0);
    let to = expect.to_s.unwrap_or(scenario.duration_s).0.0;
    let side = if expect.backward { "backward" } else { "forward" };
    let (mut agreeing, mut all) = (0, 0);
    for i in 0..rows.num_rows() {
        let limit = limits.value(i);
        let is_it = flows.value(i) as usize == expect.flow && sides.value(i) == side;
        if !is_it || limit == "closed" || limit == "handshake" {
            continue;
        }
        let span = (ends.value(i).min(to) - starts.value(i).max(from)).max(0);
        all += span;
        agreeing += if agrees(expect, limit) { span } else { 0 };
    }
    agreeing as f64 / all as f64
}

/// Whether a sender in this state may be limited by what is expected. Its state cannot tell one
/// reason in the network from another: those follow from how the scenario is built.
fn agrees(expect: &Expect, limit: &str) -> bool {
    let cause = expect.cause.as_deref().unwrap_or(&expect.limitation);
    match cause {
        "application/paced" => matches!(limit, "application" | "nagle" | "pacing"),
        "application/idle" | "application/small_writes" | "application/flow_control" => {
            matches!(limit, "application" | "nagle")
        }
        "sender_window/send_buffer" => limit == "send_buffer",
        "sender_window/cwnd_clamp" => limit == "cwnd_clamp",
        "transport/recovery" => matches!(limit, "recovery" | "rto_wait" | "cwnd"),
        _ if expect.limitation == "receiver_window" => limit == "receiver_window",
        _ => matches!(limit, "cwnd" | "recovery" | "rto_wait" | "pacing"),
    }
}

fn column<A: Clone + 'static>(rows: &RecordBatch, name: &str) -> A {
    let column = rows.column_by_name(name).unwrap_or_else(|| panic!("no column {name}"));
    column.as_any().downcast_ref::<A>().unwrap_or_else(|| panic!("{name} has another type")).clone()
}

/// The capture files of a scenario and its truth, run in steps of this length.
fn files(scenario: &Scenario, step: Nanos) -> (Vec<Vec<u8>>, RecordBatch) {
    let mut built = scenario.build();
    let world = &mut built.simulation;
    world.record_truth(Nanos::from_millis(100));
    let headers = (0..built.taps.len()).map(|tap| pcap_header(world.tap(tap).manner()));
    let mut files: Vec<Vec<u8>> = headers.collect();
    while world.now() < built.duration {
        world.run_until((world.now() + step).min(built.duration));
        for (tap, file) in files.iter_mut().enumerate() {
            let manner = world.tap(tap).manner().clone();
            for record in world.take_records(tap) {
                record.write_pcap(&world.addresses(record.half), &manner, file);
            }
        }
    }
    let rows = world.truth().and_then(|truth| truth.spans.take()).expect("truth was recorded");
    (files, rows)
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let scenarios = scenarios();
    let find = |name: &str| &scenarios.iter().find(|(found, _)| found == name).unwrap().1;
    let chosen =
        ["random_loss_bursts.toml", "trap_offload.toml", "shared_bbr_cubic.toml"].map(find);
    let step = Nanos::from_millis(500);
    let alone: Vec<_> = chosen.iter().map(|scenario| files(scenario, step)).collect();
    std::thread::scope(|scope| {
        let start = |scenario| scope.spawn(move || files(scenario, Nanos::from_millis(70)));
        let threads = chosen.map(start);
        for (thread, alone) in threads.into_iter().zip(&alone) {
            let (files, rows) = thread.join().expect("a scenario failed");
            assert!(files == alone.0, "capture files differ");
            assert!(rows == alone.1, "truth differs");
        }
    });
    let mut other = chosen[0].clone();
    other.seed += 1;
    assert!(files(&other, step).0 != alone[0].0, "another seed gives another run");
}

/// Events between two looks at whether to stop.
const SLICE_EVENTS: u64 = 10_000;
