//! Measures the reading path: `throughput MODE WORKERS FILE…`.
//!
//! MODE is `read` (frames only), `decode` (segments), `hash` (and the hash of their flows),
//! `analyze` (everything, with so many workers; 0 is one per core), or `paper` (the same without
//! the refined diagnosis, for what that costs). `parquet` makes the rows of flows a Parquet file as
//! well, of which nothing is kept. Prints packets, CPU time of the process per packet, wall time
//! and the largest resident set. CPU time, since machines are shared.
//!
//! `rows` prints every row of every table but `segments`, file by file: two builds can be compared
//! by what they say. Stalls come from a run of their own, since a run with them takes no segment
//! the short way. `segments` prints all tables from one run, `segments` too.

use std::hint::black_box;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::time::Instant;

use arrow_array::{Array, ArrayRef, RecordBatch};
use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_core::wire::hash::HashKey;
use tcpwhy_core::wire::{Decoder, Segment};
use tcpwhy_io::parquet::Writer;
use tcpwhy_io::{Source, Stream, analyze, read_frames};

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
        "analyze" | "paper" => run(inputs, workers, mode == "analyze"),
        "parquet" => write_parquet(inputs, workers).expect("rows of flows fit the file"),
        "rows" | "segments" => return print_rows(inputs, workers, mode == "segments"),
        _ => {
            eprintln!(
                "usage: throughput read|decode|hash|analyze|paper|parquet|rows|segments \
                 WORKERS FILE..."
            );
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

fn run(inputs: Vec<PathBuf>, workers: usize, refined: bool) -> u64 {
    let source = Source { inputs, workers, ..Source::default() };
    let mut stream = begin(source, Options { refined, ..Options::default() });
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

/// The same with the rows of flows written, as users have them.
fn write_parquet(inputs: Vec<PathBuf>, workers: usize) -> parquet::errors::Result<u64> {
    let source = Source { inputs, workers, ..Source::default() };
    let mut stream = begin(source, Options::default());
    let mut writer = Writer::new(&Table::Flows.schema())?;
    let mut written = 0;
    for item in &mut stream {
        match item {
            Ok((Table::Flows, batch)) => written += writer.put(&batch)?.len(),
            Ok(_) => {}
            Err(error) => eprintln!("{error}"),
        }
    }
    written += writer.end()?.len();
    eprintln!("{written} bytes");
    Ok(stream.progress().packets)
}

fn begin(source: Source, options: Options) -> Stream {
    analyze(source, options).unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(error.exit_code());
    })
}

/// Prints all rows, `column=value` with tabs between.
fn print_rows(inputs: Vec<PathBuf>, workers: usize, segments: bool) {
    let all = Table::ALL.into_iter();
    let runs: Vec<Vec<Table>> = match segments {
        true => vec![all.collect()],
        false => {
            let each = [Table::Segments, Table::Stalls];
            vec![all.filter(|table| !each.contains(table)).collect(), vec![Table::Stalls]]
        }
    };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut say = |line: String| writeln!(out, "{line}").expect("standard output is open");
    for input in inputs {
        say(format!("== {}", input.display()));
        for (run, tables) in runs.iter().enumerate() {
            let options =
                Options { tables: tables.clone(), compat_seed: true, ..Options::default() };
            let source = Source { inputs: vec![input.clone()], workers, ..Source::default() };
            for item in begin(source, options) {
                match item {
                    Ok((table, batch)) => (0..batch.num_rows()).for_each(|row| {
                        let line = format!("{}{}", table.name(), cells(&batch.slice(row, 1)));
                        // Counters are those of the first run, but for that of stalls.
                        let of_stalls = line.contains(Counter::StallsLeftOut.name());
                        if table != Table::Counters || segments || of_stalls == (run > 0) {
                            say(line);
                        }
                    }),
                    Err(_) if run > 0 => {}
                    Err(error) => say(error.to_string()),
                }
            }
        }
    }
}

/// The cells of a batch with one row.
fn cells(row: &RecordBatch) -> String {
    let cell = |array: &ArrayRef| match array.is_null(0) {
        true => "NULL".to_owned(),
        // Type, bracket, value, comma, bracket.
        false => format!("{array:?}")
            .lines()
            .nth(2)
            .unwrap_or_default()
            .trim()
            .trim_end_matches(',')
            .into(),
    };
    let schema = row.schema();
    let columns = schema.fields().iter().zip(row.columns());
    columns.map(|(field, array)| format!("\t{}={}", field.name(), cell(array))).collect()
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
