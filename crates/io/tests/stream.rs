//! The stream of record batches: the same rows however the input is stored, cut, split or shared
//! out; damage named after the rows that came before it.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::shared;
use crate::shared::forge::{Folder, Packet, pcap, record_offset, transfers};
use arrow_array::cast::AsArray;
use arrow_array::types::UInt64Type;
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_io::{Error, Source, Stream, analyze};

/// What a run gave.
struct Outcome {
    /// Every row but the counters, as text, in order of the text.
    rows: Vec<String>,
    errors: Vec<Error>,
    counters: Vec<(String, u64)>,
}

impl Outcome {
    fn counter(&self, name: &str) -> u64 {
        self.counters.iter().find(|(known, _)| known == name).unwrap().1
    }
}

fn run(inputs: &[&Path], workers: usize) -> Outcome {
    let inputs = inputs.iter().map(|path| path.to_path_buf()).collect();
    collect(
        analyze(Source { inputs, workers, filter: None, ..Source::default() }, options()).unwrap(),
    )
}

/// Says which row differs, not all of them.
#[track_caller]
fn assert_same_rows(ours: &[String], expected: &[String], what: &str) {
    let differs = ours.iter().zip(expected).find(|(ours, expected)| ours != expected);
    if let Some((ours, expected)) = differs {
        panic!("{what}: {}\nexpected: {}", ours.replace('\n', ""), expected.replace('\n', ""));
    }
    assert_eq!(ours.len(), expected.len(), "{what}: rows");
}

fn options() -> Options {
    let tables = vec![Table::Flows, Table::Intervals, Table::Periods, Table::Stalls];
    Options { tables, ..Options::default() }
}

/// Also checks the order: rows, errors, counters.
fn collect(stream: Stream) -> Outcome {
    let mut outcome = Outcome { rows: Vec::new(), errors: Vec::new(), counters: Vec::new() };
    for item in stream {
        assert!(outcome.counters.is_empty(), "nothing follows the counters");
        match item {
            Ok((Table::Counters, batch)) => {
                let names = batch.column(0).as_string::<i32>();
                let values = batch.column(1).as_primitive::<UInt64Type>();
                let pairs = names.iter().zip(values.values());
                outcome.counters = pairs.map(|(n, v)| (n.unwrap().to_owned(), *v)).collect();
            }
            Ok((table, batch)) => {
                assert!(outcome.errors.is_empty(), "rows come before errors");
                let batch = shared::without_places(&batch);
                let row = |i| format!("{} {:?}", table.name(), batch.slice(i, 1).columns());
                outcome.rows.extend((0..batch.num_rows()).map(row));
            }
            Err(error) => outcome.errors.push(error),
        }
    }
    assert!(!outcome.counters.is_empty(), "the counters always come");
    outcome.rows.sort();
    outcome
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn lz4(bytes: &[u8]) -> Vec<u8> {
    // A block is decoded as a whole or not at all, so that small ones show more of a cut file.
    let info = FrameInfo::new().block_size(BlockSize::Max64KB).content_checksum(true);
    let mut encoder = FrameEncoder::with_frame_info(info, Vec::new());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

type Encode = fn(&[u8]) -> Vec<u8>;

const CODECS: [(&str, Encode); 4] = [("gzip", gzip), ("lz4", lz4), ("zstd", zstd), ("xz", xz)];

#[test]
fn compressed_files_give_the_same_rows() {
    let folder = Folder::new();
    let file = pcap(&transfers(20, 200));
    let plain = run(&[&folder.write("plain", &file)], 1);
    assert_eq!((plain.rows.len() > 20, plain.counter("packets_tcp")), (true, 8000));
    for (name, encode) in CODECS {
        let whole = run(&[&folder.write(name, &encode(&file))], 1);
        assert_eq!(whole.errors, vec![], "{name}");
        assert_same_rows(&whole.rows, &plain.rows, name);
        // Two members one after the other, as parallel compressors and `cat` make them.
        let (head, tail) = file.split_at(file.len() / 2);
        let joined = [encode(head), encode(tail)].concat();
        let members = run(&[&folder.write(name, &joined)], 1);
        assert_eq!(members.errors, vec![], "{name} twice");
        assert_same_rows(&members.rows, &plain.rows, name);
    }
}

#[test]
fn damaged_compression_gives_the_rows_before_it() {
    let folder = Folder::new();
    // Sequence numbers and times make it compress badly enough to span many blocks.
    let file = pcap(&transfers(50, 400));
    for (name, encode) in CODECS {
        let mut packed = encode(&file);
        let cut = run(&[&folder.write(name, &packed[..packed.len() * 3 / 4])], 1);
        let [Error::Compressed { codec, offset, .. }] = cut.errors.as_slice() else {
            panic!("{name} cut: {:?}", cut.errors);
        };
        assert_eq!((*codec, *offset), (name, packed.len() as u64 * 3 / 4));
        assert!(cut.counter("packets_read") > 0, "{name} cut");
        assert_eq!(cut.rows.iter().filter(|row| row.starts_with("flows ")).count(), 100);
        let at = packed.len() / 2;
        packed[at..at + 64].fill(0xa5);
        let corrupt = run(&[&folder.write(name, &packed)], 2);
        assert_eq!(corrupt.errors.len(), 1, "{name} corrupt");
        assert!(corrupt.errors[0].exit_code() == 3, "{name} corrupt");
    }
}

#[test]
fn workers_and_splits_do_not_change_rows() {
    let folder = Folder::new();
    let packets = transfers(30, 150);
    let whole = folder.write("whole", &pcap(&packets));
    let expected = run(&[&whole], 1).rows;
    for workers in [0, 2, 5] {
        let rows = run(&[&whole], workers).rows;
        assert_same_rows(&rows, &expected, &format!("{workers} workers"));
    }
    for at in [1, packets.len() / 3, packets.len() - 1] {
        let first = folder.write("first", &pcap(&packets[..at]));
        let second = folder.write("second", &pcap(&packets[at..]));
        let rows = run(&[&second, &first], 2).rows;
        assert_same_rows(&rows, &expected, &format!("split at {at}, names swapped"));
    }
    // One file per direction, as two interfaces record it: times interleave.
    let (data, acks): (Vec<Packet>, Vec<Packet>) =
        packets.into_iter().partition(|packet| packet.bytes.len() > 60);
    let data = folder.write("data", &pcap(&data));
    let acks = folder.write("acks", &pcap(&acks));
    assert_same_rows(&run(&[&data, &acks], 2).rows, &expected, "merged");
}

#[test]
fn a_cut_file_gives_its_rows_and_names_the_place() {
    let folder = Folder::new();
    let packets = transfers(2, 10);
    let file = pcap(&packets);
    let at = record_offset(&packets, 30);
    let cut = run(&[&folder.write("cut.pcap", &file[..at + 20])], 2);
    let whole = run(&[&folder.write("whole", &pcap(&packets[..30]))], 1);
    assert_same_rows(&cut.rows, &whole.rows, "cut");
    assert_eq!(cut.counter("packets_read"), 30);
    let message = cut.errors[0].to_string();
    let expected =
        format!("cut.pcap: damaged at byte {at}: the file ends in the middle of a record");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn one_bad_input_does_not_keep_the_others_from_being_read() {
    let folder = Folder::new();
    let packets = transfers(2, 10);
    let good = folder.write("good", &pcap(&packets));
    let outcome = run(&[&folder.path("missing"), &good, &folder.path(".")], 1);
    assert_same_rows(&outcome.rows, &run(&[&good], 1).rows, "good");
    assert_eq!(outcome.errors.len(), 2);
}

/// Every kind of bad input, and the one line that is said about it.
#[test]
fn bad_inputs_are_named_with_what_to_do() {
    let folder = Folder::new();
    let packets = transfers(1, 2);
    let mut unknown = pcap(&packets);
    unknown[20] = 147;
    let mut absurd = pcap(&packets);
    absurd[record_offset(&packets, 1) + 11] = 0x7f;
    let rows: &[(&str, Option<Vec<u8>>, &str)] = &[
        ("missing", None, "no such file; check the name"),
        ("empty", Some(vec![]), "empty file; a capture has at least a header"),
        (
            "text",
            Some(b"No. Time\n1 0.0\n".to_vec()),
            "text; give a pcap or pcapng file, \
             as `tcpdump -w` writes it",
        ),
        (
            "snoop",
            Some(b"snoop\0\0\0\0\0\0\x02\0\0\0\x04".to_vec()),
            "a snoop capture; convert it with `editcap -F pcap IN OUT`",
        ),
        (
            "header",
            Some(pcap(&[])[..10].to_vec()),
            "damaged at byte 0: the file ends after 10 bytes, within its header; record it again",
        ),
        (
            "unknown",
            Some(unknown),
            "none of its 4 frames can be read: link type 147 is not known; capture on an \
             interface with another link type (tcpdump -y)",
        ),
        (
            "absurd",
            Some(absurd),
            "damaged at byte 194: a record claims 2130706486 captured bytes; frames before it \
             were analysed, record it again for the rest",
        ),
    ];
    for (name, content, expected) in rows {
        let path = folder.path(name);
        if let Some(content) = content {
            folder.write(name, content);
        }
        let outcome = run(&[&path], 1);
        let [error] = outcome.errors.as_slice() else { panic!("{name}: {:?}", outcome.errors) };
        assert_eq!(error.to_string(), format!("{}: {expected}", path.display()));
        assert_eq!(error.exit_code(), 3);
    }
    let none = analyze(Source::default(), options()).err().unwrap();
    assert_eq!(none.exit_code(), 2);
}

#[test]
fn an_empty_capture_is_no_error() {
    let folder = Folder::new();
    let outcome = run(&[&folder.write("empty.pcap", &pcap(&[]))], 2);
    assert_eq!((outcome.rows.len(), outcome.errors.len()), (0, 0));
}

#[test]
fn a_pipe_is_read_without_being_opened_twice() {
    let folder = Folder::new();
    let fifo = folder.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status();
    if !made.is_ok_and(|status| status.success()) {
        println!("skipped: mkfifo is missing");
        return;
    }
    let file = gzip(&pcap(&transfers(5, 100)));
    let expected = run(&[&folder.write("file", &file)], 1).rows;
    let writer = {
        let fifo = fifo.clone();
        std::thread::spawn(move || std::fs::write(fifo, file).unwrap())
    };
    let outcome = run(&[&fifo], 2);
    writer.join().unwrap();
    assert_eq!(outcome.errors, vec![]);
    assert_same_rows(&outcome.rows, &expected, "pipe");
}

#[test]
fn a_filter_leaves_frames_out_and_counts_them() {
    let folder = Folder::new();
    let input = folder.write("input", &pcap(&transfers(4, 10)));
    let filtered = |expression: &str, workers| {
        let filter = Some(expression.to_owned());
        analyze(
            Source { inputs: vec![input.clone()], workers, filter, ..Source::default() },
            options(),
        )
    };
    if let Err(Error::Filter { message, .. }) = filtered("tcp", 1)
        && message.contains("libpcap is missing")
    {
        println!("skipped: {message}");
        return;
    }
    let outcome = collect(filtered("port 40001", 2).unwrap());
    let counts = ["packets_read", "packets_filtered", "packets_tcp"].map(|n| outcome.counter(n));
    assert_eq!(
        (counts, outcome.rows.iter().filter(|r| r.starts_with("flows")).count()),
        ([80, 60, 20], 2)
    );
    let error = filtered("prot 80", 1).err().unwrap();
    assert_eq!(error.exit_code(), 2);
    let message = "filter 'prot 80': can't parse filter expression: syntax error; \
                   man pcap-filter has the syntax";
    assert_eq!(error.to_string(), message);
}

#[test]
fn stopping_gives_the_rows_so_far() {
    let folder = Folder::new();
    let input = folder.write("long", &pcap(&transfers(10, 20_000)));
    for workers in [1, 2] {
        let inputs = vec![input.clone()];
        let stream =
            analyze(Source { inputs, workers, filter: None, ..Source::default() }, options())
                .unwrap();
        stream.stop();
        let handle = stream.handle();
        let outcome = collect(stream);
        assert!(outcome.counter("packets_read") < 400_000, "{workers} workers");
        assert_eq!(outcome.errors, vec![]);
        assert_eq!(handle.progress().packets, outcome.counter("packets_read"));
    }
}

#[test]
fn progress_ends_at_the_length_of_the_input() {
    let folder = Folder::new();
    let file = gzip(&pcap(&transfers(10, 100)));
    let inputs: Vec<PathBuf> = vec![folder.write("a.gz", &file)];
    let stream =
        analyze(Source { inputs, workers: 1, filter: None, ..Source::default() }, options())
            .unwrap();
    let handle = stream.handle();
    collect(stream);
    let progress = handle.progress();
    assert_eq!(progress.bytes_total, Some(file.len() as u64));
    assert_eq!(progress.bytes_read, file.len() as u64);
    assert_eq!(progress.packets, 2000);
}
