//! The reference case of the adaptivity study over frequency, beside another simulator's table.
//!
//! `cargo run --release -p tcpwhy-sim --example t1 [TABLE.csv]`, where the table has the columns
//! `f1, norm_goodput_mean, lo_tol, hi_tol, timeouts_per_period, mean_q, max_in_net`.

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
    println!(
        "  f 1/s  goodput       (other [  band   ])  timeouts/period  mean queue   in network"
    );
    let begun = Instant::now();
    let (mut simulated, mut events) = (0.0, 0);
    for (i, f) in frequencies.iter().enumerate() {
        let case = Case { frequencies_hz: vec![*f], ..Case::default() };
        let outcome = case.run();
        simulated += (case.warm + case.duration).as_secs_f64();
        events += outcome.events;
        let timeouts = outcome.timeouts as f64 / (600.0 * f);
        print!("{f:7.4}  {:7.4}  ", outcome.norm_goodput);
        match table.as_ref().map(|rows| &rows[i]) {
            Some(row) => println!(
                "{} ({:.4} [{:.3} {:.3}])  {timeouts:5.2} ({:5.2})  {:5.1} ({:4.1})  {:2} ({:2.0})  {:4.1} ({:4.1})  {:.3} ({:.3})",
                if outcome.norm_goodput < row["lo_tol"] || outcome.norm_goodput > row["hi_tol"] {
                    "*"
                } else {
                    " "
                },
                row["norm_goodput_mean"],
                row["lo_tol"],
                row["hi_tol"],
                row["timeouts_per_period"],
                outcome.mean_queue,
                row["mean_q"],
                outcome.max_in_network,
                row["max_in_net"],
                outcome.mean_period_max_in_network,
                row["mean_period_max_in_net"],
                outcome.norm_udp_link,
                row["norm_udp_link"],
            ),
            None => {
                println!("{timeouts:5.2}  {:5.1}  {:2}", outcome.mean_queue, outcome.max_in_network)
            }
        }
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
