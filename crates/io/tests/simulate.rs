//! Simulations with their outputs: files, and the analysis fed directly.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::shared;
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use arrow_array::{Array, RecordBatch};
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_core::units::Nanos;
use tcpwhy_io::simulate::{Request, simulate};
use tcpwhy_io::{Source, analyze};

fn scenario(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios").join(format!("{name}.toml"))
}

/// A folder that is gone when the test is over.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("tcpwhy-simulate-{name}-{}", std::process::id());
        Folder(std::env::temp_dir().join(name))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn short(name: &str, folder: &Folder) -> Request {
    Request {
        duration: Some(Nanos(3 * Nanos::SECOND.0)),
        captures: Some(folder.0.clone()),
        ..Request::new(scenario(name))
    }
}

#[test]
fn the_analysis_sees_the_same_with_and_without_a_file_in_between() {
    let names = ["bottleneck_cubic", "trap_offload", "trap_mirror_duplicates", "bottleneck_ipv6"];
    for name in names {
        let folder = Folder::new(name);
        let options = Options {
            tables: vec![Table::Flows, Table::Intervals, Table::Segments],
            ..Options::default()
        };
        let analysis = Some(("sender".to_owned(), options.clone()));
        let run = simulate(Request { analysis, ..short(name, &folder) }).unwrap();
        let direct: Vec<(&str, RecordBatch)> = run.map(Result::unwrap).collect();
        assert!(counter(&direct, "packets_read") > 1000, "{name}");
        let file = folder.0.join(format!("{name}.sender.pcap"));
        let source = Source { inputs: vec![file], filter: None, workers: 1, ..Source::default() };
        let read: Vec<_> = analyze(source, options).unwrap().map(Result::unwrap).collect();
        for table in [Table::Flows, Table::Intervals, Table::Segments] {
            let from_tap = direct.iter().filter(|(name, _)| *name == table.name());
            let from_tap = rows(from_tap.map(|(_, batch)| batch));
            let from_file = read.iter().filter(|(name, _)| *name == table);
            let from_file = rows(from_file.map(|(_, batch)| batch));
            assert!(!from_tap.is_empty(), "{name}: no {}", table.name());
            assert_eq!(from_tap.len(), from_file.len(), "{name}: {}", table.name());
            for (one, other) in from_tap.iter().zip(&from_file) {
                assert_eq!(one, other, "{name}: {}", table.name());
            }
        }
    }
}

fn counter(items: &[(&str, RecordBatch)], name: &str) -> u64 {
    let (_, batch) = items.iter().rfind(|(table, _)| *table == "counters").unwrap();
    let names = batch.column(0).as_string::<i32>();
    let row = (0..names.len()).find(|row| names.value(*row) == name).unwrap();
    batch.column(1).as_primitive::<UInt64Type>().value(row)
}

/// Row by row, in order of their text: where a batch ends is no property of the rows, and only a
/// file's come in order of time.
fn rows<'a>(batches: impl Iterator<Item = &'a RecordBatch>) -> Vec<RecordBatch> {
    let each = |batch: &'a RecordBatch| {
        let batch = shared::without_places(batch);
        (0..batch.num_rows()).map(move |row| batch.slice(row, 1))
    };
    let mut rows: Vec<RecordBatch> = batches.flat_map(each).collect();
    rows.sort_by_cached_key(|row| format!("{:?}", row.columns()));
    rows
}

#[test]
fn another_decoder_finds_nothing_wrong_with_the_frames() {
    if Command::new("tshark").arg("--version").output().is_err() {
        eprintln!("skipped: tshark is not installed");
        return;
    }
    for name in ["shared_udp", "bottleneck_ipv6", "bottleneck_ecn"] {
        let folder = Folder::new(&format!("tshark-{name}"));
        let run = simulate(Request { payload: true, ..short(name, &folder) }).unwrap();
        let captures = run.captures();
        assert_eq!(captures.len(), 3, "sender, receiver, middle");
        run.for_each(|item| drop(item.unwrap()));
        for (_, file) in captures {
            let wrong = "_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 \
                         || udp.checksum.status == 0 || _ws.expert.severity == 8388608";
            assert_eq!(tshark(&file, wrong), 0, "{}", file.display());
            assert!(tshark(&file, "tcp.checksum.status == 1") > 1000, "{}", file.display());
        }
    }
}

/// How many frames a display filter matches.
fn tshark(file: &Path, filter: &str) -> usize {
    let output = Command::new("tshark")
        .args(["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"])
        .args(["-o", "udp.check_checksum:TRUE", "-T", "fields", "-e", "frame.number"])
        .arg("-r")
        .arg(file)
        .args(["-Y", filter])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {errors}");
    String::from_utf8_lossy(&output.stdout).lines().count()
}

#[test]
fn truth_comes_with_every_run_and_a_stop_keeps_what_was_found() {
    let run = simulate(Request::new(scenario("rwnd_buffer"))).unwrap();
    let handle = run.handle();
    let mut names = Vec::new();
    for item in run {
        names.push(item.unwrap().0);
    }
    for table in ["truth", "queues", "counters"] {
        assert!(names.contains(&table), "no {table} in {names:?}");
    }
    assert_eq!(handle.now_ns(), 20_000_000_000);
    let mut run = simulate(Request::new(scenario("rwnd_buffer"))).unwrap();
    run.handle().stop();
    assert!(run.any(|item| item.unwrap().0 == "truth"));
    assert!(run.handle().now_ns() < 20_000_000_000);
}

#[test]
fn what_cannot_be_simulated_is_refused_with_its_place() {
    let folder = Folder::new("refused");
    std::fs::create_dir_all(&folder.0).unwrap();
    let file = folder.0.join("bad.toml");
    std::fs::write(&file, "title = \"x\"\nduration_s = -1\n").unwrap();
    let error = simulate(Request::new(file)).err().unwrap();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("bad.toml:2: duration_s: "), "{error}");
    let error = simulate(Request::new(folder.0.join("none.toml"))).err().unwrap();
    assert_eq!(error.exit_code(), 3);
    let analysis = Some(("nowhere".to_owned(), Options::default()));
    let request = Request { analysis, ..Request::new(scenario("rwnd_buffer")) };
    let error = simulate(request).err().unwrap().to_string();
    assert!(error.contains("it has sender, receiver, middle"), "{error}");
}
