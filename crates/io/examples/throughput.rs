//! Measures the reading path: `throughput MODE WORKERS FILE…`.
//!
//! MODE is `read` (frames only), `decode` (segments), `hash` (and the hash of their flows), or
//! `analyze` (everything, with so many workers; 0 is one per core). Prints packets, CPU time of the
//! process per packet, wall time and the largest resident set. CPU time, since machines are shared.

use std::hint::black_box;
use std::path::PathBuf;
use std::time::Instant;

use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::Options;
use tcpwhy_core::wire::hash::HashKey;
use tcpwhy_core::wire::{Decoder, Segment};
use tcpwhy_io::{Source, analyze, read_frames};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let mode = arguments.next().unwrap_or_default();
    let workers = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(1);
    let inputs: Vec<PathBuf> = arguments.map(PathBuf::from).collect();
    let begin = Instant::now();
    let packets = match mode.as_str() {
        "read" => read_frames(&inputs, |frame| {
            black_box(frame.wire_len);
        })
        .0
        .value(Counter::PacketsRead),
        "decode" => decode(&inputs, |segments| {
            black_box(segments);
        }),
        "hash" => {
            let hash = HashKey::default();
            decode(&inputs, |segments| {
                black_box(segments.iter().fold(0, |sum, s| sum ^ hash.hash(&s.key)));
            })
        }
        "analyze" => run(inputs, workers),
        _ => {
            eprintln!("usage: throughput read|decode|hash|analyze WORKERS FILE...");
            std::process::exit(2);
        }
    };
    report(&mode, packets, begin.elapsed().as_secs_f64());
}

/// Decodes in batches, as the analysis does.
fn decode(inputs: &[PathBuf], mut each: impl FnMut(&[Segment])) -> u64 {
    let (mut decoder, mut filled) = (Decoder::new(), 0);
    let mut batch = vec![Segment::default(); 256];
    let (counters, _) = read_frames(inputs, |frame| {
        filled += usize::from(decoder.decode_into(frame, &mut batch[filled]).is_ok());
        if filled == batch.len() {
            each(&batch);
            filled = 0;
        }
    });
    each(&batch[..filled]);
    counters.value(Counter::PacketsRead)
}

fn run(inputs: Vec<PathBuf>, workers: usize) -> u64 {
    let source = Source { inputs, workers, ..Source::default() };
    let mut stream = analyze(source, Options::default()).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(error.exit_code());
    });
    let mut rows = 0;
    for item in &mut stream {
        match item {
            Ok((_, batch)) => rows += batch.num_rows(),
            Err(error) => eprintln!("{error}"),
        }
    }
    eprintln!("{rows} rows");
    stream.progress().packets
}

/// CPU time and memory from /proc, as the kernel accounts them to this process.
fn report(mode: &str, packets: u64, wall_s: f64) {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
    let ticks = |field: usize| -> f64 {
        after_name.split(' ').nth(field).and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
    };
    // Fields 14 and 15 of proc(5) are user and system time in units of 10 ms on every Linux.
    let (user_s, system_s) = (ticks(11) / 100.0, ticks(12) / 100.0);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("?");
    println!(
        "{mode}: {packets} packets, {:.1} ns CPU/packet (user {user_s:.2} s, \
         system {system_s:.2} s), {wall_s:.2} s wall, {} resident",
        (user_s + system_s) * 1e9 / packets as f64,
        resident.trim(),
    );
}
