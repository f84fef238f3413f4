//! The reference case of the adaptivity study against two other simulators' tables.
//!
//! The rule is that of the tables' authors: it was fixed before this simulator existed. Where the
//! tables are missing, the shape is still held to numbers of theirs that are written here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::adaptivity::{Case, Outcome};
use tcpwhy_sim::tcp::config::Variant;

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

/// The phases over which the tables take their means.
const PHASES: [f64; 4] = [0.0, 0.25, 0.5, 0.75];

/// One row of outcomes by frequency, with one for each of [`PHASES`].
fn run_phases(frequencies: &[f64]) -> Vec<Vec<Outcome>> {
    let phases = |f: &f64| PHASES.map(|phase| Case { phase, ..at(*f) });
    let outcomes = run_all(frequencies.iter().flat_map(phases).collect());
    outcomes.chunks(PHASES.len()).map(<[Outcome]>::to_vec).collect()
}

fn mean(outcomes: &[Outcome], value: impl Fn(&Outcome) -> f64) -> f64 {
    outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
}

#[test]
fn the_dip_lies_where_it_should_and_is_as_deep() {
    // 33 frequencies, equal steps on a logarithmic scale from 0.05 to 10. The rule holds for the
    // mean over the phases and for the first phase alone.
    let frequencies: Vec<f64> = (0..33).map(|i| 0.05 * 200f64.powf(f64::from(i) / 32.0)).collect();
    let outcomes = run_phases(&frequencies);
    for phases in [1, PHASES.len()] {
        let goodput = |row: &Vec<Outcome>| mean(&row[..phases], |outcome| outcome.norm_goodput);
        let curve: Vec<f64> = outcomes.iter().map(goodput).collect();
        for (f, goodput) in frequencies.iter().zip(&curve) {
            assert!(*f > 0.24 || *goodput >= 0.92, "{goodput} at {f}");
            assert!(*f < 2.0 || *goodput >= 0.85, "{goodput} at {f}");
        }
        let points = frequencies.iter().zip(&curve);
        let (f, least) = points.min_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        println!("minimum {least:.4} at {f:.4} over {phases} phases");
        assert!((0.36..=0.60).contains(f), "minimum at {f}");
        assert!((0.65..=0.73).contains(least), "minimum {least} at {f}");
    }
}

#[test]
fn timeouts_and_windows_are_those_of_each_regime() {
    let frequencies = [0.05, 0.2, 0.23, 0.26, 0.4];
    for (f, row) in frequencies.iter().zip(run_phases(&frequencies)) {
        for outcome in row {
            let timeouts = outcome.timeouts as f64 / (600.0 * f);
            // One timeout per wave below the dip, 0.62 in it.
            let expected = if *f == 0.4 { (0.62, 0.08) } else { (1.0, 0.1) };
            let is_expected = (timeouts - expected.0).abs() <= expected.1;
            assert!(*f == 0.05 || is_expected, "{timeouts} timeouts per period at {f}");
            // The paper's two window maxima.
            let window = outcome.max_in_network;
            assert!(*f != 0.05 || window.abs_diff(42) <= 3, "{window} in the network at {f}");
            assert!(*f != 0.4 || window.abs_diff(21) <= 2, "{window} in the network at {f}");
        }
    }
}

#[test]
fn the_reference_case_is_within_the_band_of_another_simulator() {
    let Some(rows) = table("fig2_expected.csv") else {
        eprintln!("skipped: the table fig2_expected.csv is not beside the repository");
        return;
    };
    let frequencies: Vec<f64> = rows.iter().map(|row| row["f1"]).collect();
    let outcomes = run_phases(&frequencies);
    for phases in [1, PHASES.len()] {
        let (mut inside, mut queues, mut squares) = (0, 0, 0.0);
        for (row, outcomes) in rows.iter().zip(&outcomes) {
            let outcomes = &outcomes[..phases];
            let goodput = mean(outcomes, |outcome| outcome.norm_goodput);
            let outside = (row["lo_tol"] - goodput).max(goodput - row["hi_tol"]);
            assert!(outside <= 0.06, "{goodput} at {}", row["f1"]);
            inside += usize::from(outside <= 0.0);
            squares += (goodput - row["norm_goodput_mean"]).powi(2);
            let queue = mean(outcomes, |outcome| outcome.mean_queue);
            queues += usize::from((queue - row["mean_q"]).abs() <= 1.5);
        }
        let rms = (squares / rows.len() as f64).sqrt();
        println!("{inside} of {} points inside the band, rms {rms:.4}", rows.len());
        println!("{queues} of {} mean queues within 1.5 packets", rows.len());
        assert!(inside * 10 >= rows.len() * 9, "{inside} of {} inside", rows.len());
        assert!(rms <= 0.04, "rms {rms}");
        // The table's queues are means over the phases; one phase may lie off at one frequency.
        assert!(queues == rows.len() || phases == 1, "{queues} of {} mean queues", rows.len());
    }
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
    // From 20 packets on. With 10 the dip begins at 0.7 only: the other simulator has 0.84 at 0.455
    // there and 0.68 with 20.
    let depth = dip(&[20, 40, 80, 160, 320], &[0.4, 0.5, 0.6]);
    assert!(depth.is_sorted(), "{depth:?}");
    assert!(depth[1] < 0.8 && depth[3] > 0.94, "{depth:?}");
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
    let goodput: Vec<f64> =
        run_all(rows.iter().map(case).collect()).iter().map(|o| o.norm_goodput).collect();
    let within = rows.iter().zip(&goodput).filter(|(r, g)| (r["norm_goodput"] - *g).abs() <= 0.08);
    let within = within.count();
    println!("{within} of {} points within 0.08", rows.len());
    // The band is 0.08; the scatter of single runs of 200 s lies beside it.
    assert!(within * 10 >= rows.len() * 9, "{within} of {} points", rows.len());
    for buffer in [20.0, 80.0, 160.0, 320.0] {
        let of_buffer = || (0..rows.len()).filter(|i| rows[*i]["buf"] == buffer);
        let ours: Vec<_> = of_buffer().map(|i| (rows[i]["f1"], goodput[i])).collect();
        let theirs: Vec<_> =
            of_buffer().map(|i| (rows[i]["f1"], rows[i]["norm_goodput"])).collect();
        println!("buffer {buffer}: dip {:.3?}, theirs {:.3?}", edges(&ours), edges(&theirs));
        for (ours, theirs) in edges(&ours).into_iter().zip(edges(&theirs)) {
            match (ours, theirs) {
                (Some(a), Some(b)) => assert!((b / 1.3..=b * 1.3).contains(&a), "{a}, not {b}"),
                (a, b) => assert_eq!(a.is_some(), b.is_some(), "buffer {buffer}: {a:?}, {b:?}"),
            }
        }
    }
}

/// Where a curve first falls below 0.9 and where it last rises above it, interpolated on a
/// logarithmic scale of frequency.
fn edges(curve: &[(f64, f64)]) -> [Option<f64>; 2] {
    let crossing = |pair: &[(f64, f64)]| {
        let [(f0, g0), (f1, g1)] = [pair[0], pair[1]];
        f0 * (f1 / f0).powf((0.9 - g0) / (g1 - g0))
    };
    let falls = curve.windows(2).find(|pair| pair[0].1 >= 0.9 && pair[1].1 < 0.9);
    let rises = curve.windows(2).rev().find(|pair| pair[0].1 < 0.9 && pair[1].1 >= 0.9);
    [falls.map(crossing), rises.map(crossing)]
}

/// The variants beside classic Reno. The bands are those of the two other simulators, 0.04 wider
/// for the scatter between programs; where one of them dips and the other does not, the deeper one
/// holds.
#[test]
fn the_variants_lie_between_the_other_simulators() {
    let frequencies: Vec<f64> = (0..17).map(|i| 0.05 * 200f64.powf(f64::from(i) / 16.0)).collect();
    let starts = [0.0, 0.5];
    let curve = |variant: Variant| -> Vec<f64> {
        let tcp = Case::reference_tcp(variant);
        let phases = |f: &f64| starts.map(|phase| Case { phase, tcp: tcp.clone(), ..at(*f) });
        let outcomes = run_all(frequencies.iter().flat_map(phases).collect());
        outcomes.chunks(starts.len()).map(|row| mean(row, |o| o.norm_goodput)).collect()
    };
    // SACK: ns-3 at least 0.95, ns-2 0.845 at 0.36. NewReno: ns-3 0.79 to 0.88 from 0.15 to 0.36
    // and at least 0.95 from 0.43, ns-2 0.885 at 0.36. TCP can only have more than its half where
    // UDP loses packets: with these variants UDP had 0.9 at least.
    let (scatter, most) = (0.04, 1.1);
    type Band = fn(f64) -> f64;
    let sack: Band = |f| if (0.3..0.43).contains(&f) { 0.845 } else { 0.95 };
    let newreno: Band = |f| if (0.15..0.43).contains(&f) { 0.79 } else { 0.95 };
    for (variant, least) in [(Variant::Sack, sack), (Variant::NewReno, newreno)] {
        for (f, goodput) in frequencies.iter().zip(curve(variant)) {
            let band = least(*f) - scatter..=most;
            assert!(band.contains(&goodput), "{}: {goodput:.3} at {f:.3}", variant.name());
        }
    }
    // RACK sees what SACK sees, and lost retransmissions besides.
    let rack = curve(Variant::Rack);
    assert!(rack.iter().all(|goodput| (0.91..=most).contains(goodput)), "{rack:.3?}");
    // Tahoe resends one segment, as classic Reno: the same dip, deeper where it starts anew from
    // one segment, and no better anywhere.
    let (tahoe, reno) = (curve(Variant::Tahoe), curve(Variant::Reno));
    let better = tahoe.iter().zip(&reno).filter(|(tahoe, reno)| *tahoe > &(*reno + 0.08)).count();
    assert_eq!(better, 0, "tahoe {tahoe:.3?}, reno {reno:.3?}");
    let least = tahoe.iter().copied().fold(f64::MAX, f64::min);
    assert!((0.65 - scatter..=0.73 + scatter).contains(&least), "{least}");
}
