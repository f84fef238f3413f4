//! How fast the simulator is, in CPU time: the reference case of the adaptivity study, one flow at
//! 10 Gbit/s, and a thousand worlds side by side. Prints one `name value` per line;
//! `tools/bench_sim.py` puts them into the page on performance.
//!
//! `cargo run --release -p tcpwhy-sim --example speed`

use tcpwhy_core::units::Nanos;
use tcpwhy_sim::adaptivity::Case;
use tcpwhy_sim::scenario::Scenario;

fn main() {
    study();
    ten_gigabit();
    side_by_side();
}

/// ns-3 simulates 430 to 520 s of this case per CPU second, about 1015 events per simulated second.
fn study() {
    let mut best = f64::MAX;
    let mut events = 0;
    let case = Case::default();
    let simulated_s = (case.warm + case.duration).as_secs_f64();
    for _ in 0..5 {
        let begun = cpu_s();
        events = case.run().events;
        best = best.min(cpu_s() - begun);
    }
    println!("study_simulated_s_per_cpu_s {:.0}", simulated_s / best);
    println!("study_events_per_cpu_s {:.0}", events as f64 / best);
    println!("study_events_per_simulated_s {:.0}", events as f64 / simulated_s);
}

fn ten_gigabit() {
    let mut world = scenario("ten_gigabit").build();
    let begun = cpu_s();
    world.simulation.run_until(world.duration);
    let spent = cpu_s() - begun;
    let (packets, events) = (world.simulation.packets(), world.simulation.events_seen());
    println!("ten_gigabit_cpu_s_per_simulated_s {:.2}", spent / world.duration.as_secs_f64());
    println!("ten_gigabit_packets_per_cpu_s {:.0}", packets as f64 / spent);
    println!("ten_gigabit_events_per_cpu_s {:.0}", events as f64 / spent);
}

fn side_by_side() {
    let scenario = scenario("bottleneck_reno");
    let seeds = (0..1000).map(|seed| Scenario { seed, ..scenario.clone() });
    let mut worlds: Vec<_> = seeds.map(|scenario| scenario.build().simulation).collect();
    let begun = cpu_s();
    for second in 1..=5 {
        for world in &mut worlds {
            world.run_until(Nanos(second * Nanos::SECOND.0));
            (0..3).for_each(|tap| drop(world.take_records(tap)));
        }
    }
    let spent = cpu_s() - begun;
    println!("side_by_side_simulated_s_per_cpu_s {:.0}", 5000.0 / spent);
}

fn scenario(name: &str) -> Scenario {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios");
    let path = format!("{folder}/{name}.toml");
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    Scenario::parse(&path, &text).unwrap_or_else(|error| panic!("{error}"))
}

/// CPU time of this thread so far, as Linux counts it.
fn cpu_s() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").expect("Linux has it");
    let ns = text.split(' ').next().and_then(|field| field.parse::<f64>().ok());
    ns.expect("the first field is a time in ns") / 1e9
}
