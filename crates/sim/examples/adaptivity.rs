//! The reference case of the adaptivity study over frequency, beside another simulator's table,
//! and how fast it runs.
//!
//! `cargo run --release -p tcpwhy-sim --example adaptivity [TABLE.csv]`, where the table has the
//! columns `f1, norm_goodput_mean, lo_tol, hi_tol, timeouts_per_period, mean_q, max_in_net`.

use std::collections::HashMap;
use std::time::Instant;
use tcpwhy_sim::adaptivity::Case;

fn main() {
    let frequencies = (0..33).map(|i| 0.05 * 200f64.powf(f64::from(i) / 32.0));
    let table = std::env::args().nth(1).map(|path| read(&path));
    let frequencies: Vec<f64> = match &table {
        Some(rows) => rows.iter().map(|row| row["f1"]).collect(),
        None => frequencies.collect(),
    };
    println!("  f 1/s  goodput  timeouts/period  mean queue  most in network  | the other's");
    let begun = Instant::now();
    let (mut simulated, mut events) = (0.0, 0);
    for (i, f) in frequencies.iter().enumerate() {
        let case = Case { frequencies_hz: vec![*f], ..Case::default() };
        let outcome = case.run();
        simulated += (case.warm + case.duration).as_secs_f64();
        events += outcome.events;
        let timeouts = outcome.timeouts as f64 / (600.0 * f);
        let (queue, most) = (outcome.mean_queue, outcome.max_in_network);
        let goodput = outcome.norm_goodput;
        print!("{f:7.4}  {goodput:7.4}  {timeouts:5.2}  {queue:5.1}  {most:2}");
        if let Some(row) = table.as_ref().map(|rows| &rows[i]) {
            let is_inside = (row["lo_tol"]..=row["hi_tol"]).contains(&goodput);
            print!("  | {} {:7.4}", if is_inside { " " } else { "*" }, row["norm_goodput_mean"]);
            print!("  [{:.3} {:.3}]", row["lo_tol"], row["hi_tol"]);
            print!("  {:5.2}  {:5.1}", row["timeouts_per_period"], row["mean_q"]);
            print!("  {:2.0}", row["max_in_net"]);
        }
        println!();
    }
    let seconds = begun.elapsed().as_secs_f64();
    eprintln!(
        "{:.0} simulated s in {seconds:.2} s: {:.0} per s, {:.2} M events/s",
        simulated,
        simulated / seconds,
        events as f64 / seconds / 1e6
    );
}

fn read(path: &str) -> Vec<HashMap<String, f64>> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN));
        names.iter().map(|name| (*name).to_owned()).zip(cells).collect()
    };
    lines.map(row).collect()
}
