//! The reference case of the adaptivity study against two other simulators' tables.
//!
//! The rule is that of the tables' authors: it was fixed before this simulator existed. Where the
//! tables are missing, the shape is still held to numbers of theirs that are written here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::adaptivity::{Case, Outcome};

/// Runs many cases on two threads; each is a world of its own.
fn run_all(cases: Vec<Case>) -> Vec<Outcome> {
    let half = cases.len().div_ceil(2);
    let run = |cases: &[Case]| cases.iter().map(Case::run).collect::<Vec<_>>();
    std::thread::scope(|scope| {
        let (first, second) = cases.split_at(half);
        let first = scope.spawn(move || run(first));
        let second = run(second);
        let mut all = first.join().expect("a case failed");
        all.extend(second);
        all
    })
}

fn at(frequency: f64) -> Case {
    Case { frequencies_hz: vec![frequency], ..Case::default() }
}

/// A table beside the repository, with its rows by column name; `None` where it is not.
fn table(name: &str) -> Option<Vec<HashMap<String, f64>>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let candidates = here.ancestors().map(|dir| dir.join("shared/oracle").join(name));
    let path: PathBuf = candidates.into_iter().find(|path| path.exists())?;
    let text = std::fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let names: Vec<&str> = lines.next()?.split(',').collect();
    let row = |line: &str| {
        let cells = line.split(',').map(|cell| cell.parse().unwrap_or(f64::NAN));
        names.iter().map(|name| (*name).to_owned()).zip(cells).collect()
    };
    Some(lines.map(row).collect())
}

#[test]
fn the_dip_lies_where_it_should_and_is_as_deep() {
    // 33 frequencies, equal steps on a logarithmic scale from 0.05 to 10; two phases each, since
    // between 0.3 and 0.35 the phase decides.
    let frequencies: Vec<f64> = (0..33).map(|i| 0.05 * 200f64.powf(f64::from(i) / 32.0)).collect();
    let phases = |f: &f64| [0.0, 0.5].map(|phase| Case { phase, ..at(*f) });
    let outcomes = run_all(frequencies.iter().flat_map(phases).collect());
    let mut least = (0.0, f64::MAX);
    let mut edge = f64::MAX;
    for (f, pair) in frequencies.iter().zip(outcomes.chunks(2)) {
        let goodput = (pair[0].norm_goodput + pair[1].norm_goodput) / 2.0;
        if goodput < least.1 && *f >= 0.36 {
            least = (*f, goodput);
        }
        edge = edge.min(goodput);
        assert!(*f > 0.24 || goodput >= 0.92, "{goodput} at {f}");
        assert!(*f < 2.0 || goodput >= 0.85, "{goodput} at {f}");
    }
    assert!((0.36..=0.60).contains(&least.0), "minimum at {}", least.0);
    assert!((0.65..=0.73).contains(&least.1), "minimum {} at {}", least.1, least.0);
    // On the steep edge below, at 0.309, the tables scatter by 0.082 over the phases.
    assert!(edge > least.1 - 0.082, "{edge} on the edge, minimum {}", least.1);
}

#[test]
fn timeouts_and_windows_are_those_of_each_regime() {
    // Means over four phases, as in the tables.
    let phases = |f: f64| [0.0, 0.25, 0.5, 0.75].map(|phase| Case { phase, ..at(f) });
    let frequencies = [0.05, 0.22, 0.26, 0.4];
    let outcomes = run_all(frequencies.into_iter().flat_map(phases).collect());
    let mean = |i: usize, value: fn(&Outcome) -> u64| {
        let sum: u64 = outcomes[4 * i..4 * i + 4].iter().map(value).sum();
        sum as f64 / 4.0
    };
    let per_period = |i: usize| mean(i, |outcome| outcome.timeouts) / (600.0 * frequencies[i]);
    // One timeout per wave below the dip, 0.62 in it.
    assert!((per_period(1) - 1.0).abs() <= 0.1, "{} timeouts per period", per_period(1));
    assert!((per_period(2) - 1.0).abs() <= 0.1, "{} timeouts per period", per_period(2));
    assert!((per_period(3) - 0.62).abs() <= 0.08, "{} timeouts per period", per_period(3));
    // The paper's two window maxima.
    let window = |i| mean(i, |outcome| outcome.max_in_network);
    assert!((window(0) - 42.0).abs() <= 3.0, "{} in the network at 0.05", window(0));
    assert!((window(3) - 21.0).abs() <= 2.0, "{} in the network at 0.4", window(3));
}

#[test]
fn the_reference_case_is_within_the_band_of_another_simulator() {
    let Some(rows) = table("fig2_expected.csv") else {
        eprintln!("skipped: the table fig2_expected.csv is not beside the repository");
        return;
    };
    let outcomes = run_all(rows.iter().map(|row| at(row["f1"])).collect());
    let (mut inside, mut squares) = (0, 0.0);
    for (row, outcome) in rows.iter().zip(&outcomes) {
        let goodput = outcome.norm_goodput;
        let outside = (row["lo_tol"] - goodput).max(goodput - row["hi_tol"]);
        assert!(outside <= 0.06, "{goodput} at {}", row["f1"]);
        inside += usize::from(outside <= 0.0);
        squares += (goodput - row["norm_goodput_mean"]).powi(2);
    }
    let queue = |(row, outcome): (&HashMap<String, f64>, &Outcome)| {
        (outcome.mean_queue - row["mean_q"]).abs() <= 1.5
    };
    let queues = rows.iter().zip(&outcomes).filter(|pair| queue(*pair)).count();
    println!("{queues} of {} mean queues within 1.5 packets", rows.len());
    assert!(queues * 10 >= rows.len() * 9, "{queues} of {} mean queues", rows.len());
    let rms = (squares / rows.len() as f64).sqrt();
    println!("{inside} of {} points inside the band, rms {rms:.4}", rows.len());
    assert!(inside * 10 >= rows.len() * 9, "{inside} of {} inside", rows.len());
    assert!(rms <= 0.04, "rms {rms}");
}

/// Mean goodput over the dip's frequencies by buffer.
fn dip(buffers: &[u64], frequencies: &[f64]) -> Vec<f64> {
    let case = |buffer: u64, f: f64| Case {
        buffer_packets: buffer,
        jitter_packets: 1.0,
        warm: Nanos(40_000_000_000),
        duration: Nanos(200_000_000_000),
        ..at(f)
    };
    let cases = buffers.iter().flat_map(|b| frequencies.iter().map(|f| case(*b, *f))).collect();
    let goodput: Vec<f64> = run_all(cases).iter().map(|outcome| outcome.norm_goodput).collect();
    let mean = |chunk: &[f64]| chunk.iter().sum::<f64>() / chunk.len() as f64;
    goodput.chunks(frequencies.len()).map(mean).collect()
}

#[test]
fn a_larger_buffer_removes_the_dip() {
    // 10 and 20 packets are about as bad as each other: wide and deep.
    let depth = dip(&[10, 20, 40, 80, 160, 320], &[0.4, 0.5, 0.6]);
    assert!(depth[1..].is_sorted(), "{depth:?}");
    assert!(depth[..3].iter().all(|goodput| *goodput < 0.8) && depth[4] > 0.94, "{depth:?}");
}

#[test]
fn the_trend_over_buffers_is_that_of_another_simulator() {
    let Some(rows) = table("fig14_buffer_jit.csv") else {
        eprintln!("skipped: the table fig14_buffer_jit.csv is not beside the repository");
        return;
    };
    let case = |row: &HashMap<String, f64>| Case {
        buffer_packets: row["buf"] as u64,
        jitter_packets: row["jit"],
        warm: Nanos::from_secs_f64(row["warm"]),
        duration: Nanos::from_secs_f64(row["dur"]),
        ..at(row["f1"])
    };
    let outcomes = run_all(rows.iter().map(case).collect());
    let difference = |(row, outcome): (&HashMap<String, f64>, &Outcome)| {
        (outcome.norm_goodput - row["norm_goodput"]).abs()
    };
    let differences: Vec<f64> = rows.iter().zip(&outcomes).map(difference).collect();
    let within = differences.iter().filter(|difference| **difference <= 0.08).count();
    println!("{within} of {} points within 0.08", rows.len());
    // The band is 0.08; the scatter of single runs of 200 s lies beside it.
    assert!(within * 10 >= rows.len() * 9, "{within} of {}: {differences:.3?}", rows.len());
}
