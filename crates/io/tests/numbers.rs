//! Numbers of connections: the same however many there are, and however the capture is read.

use std::path::{Path, PathBuf};

use crate::shared::forge::{Folder, Packet, connections, pcap};
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{UInt32Type, UInt64Type};
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_io::{Source, analyze};

/// First frame and number of every flow, in the order of frames; and rows that were not ordered.
fn numbers(inputs: &[&Path], source: Source) -> (Vec<(u64, Option<u32>)>, u64) {
    let inputs: Vec<PathBuf> = inputs.iter().map(|path| path.to_path_buf()).collect();
    let options = Options { tables: vec![Table::Flows], ..Options::default() };
    let (mut found, mut unordered) = (Vec::new(), 0);
    for item in analyze(Source { inputs, ..source }, options).expect("it starts") {
        let (table, batch) = item.expect("no damage");
        if table == Table::Counters {
            let names = batch["name"].as_string::<i32>();
            let at = names.iter().position(|name| name == Some("rows_unordered")).expect("it");
            unordered = batch["value"].as_primitive::<UInt64Type>().value(at);
            continue;
        }
        let frames = batch["first_frame"].as_primitive::<UInt64Type>().values();
        let streams = batch["stream"].as_primitive::<UInt32Type>();
        let stream = |row| streams.is_valid(row).then(|| streams.value(row));
        found.extend(frames.iter().enumerate().map(|(row, &frame)| (frame, stream(row))));
    }
    found.sort_unstable();
    (found, unordered)
}

#[test]
fn more_connections_than_rows_are_held_for_have_their_numbers() {
    let count = 80_000;
    let packets = connections(count);
    let folder = Folder::new();
    let path = folder.write("many.pcap", &pcap(&packets));
    let expected: Vec<_> = (0..count).map(|at| (u64::from(at) + 1, Some(at))).collect();
    for workers in [1, 3] {
        let (found, unordered) = numbers(&[&path], Source { workers, ..Source::default() });
        assert_eq!(unordered, u64::from(count));
        assert!(found == expected, "{workers} workers");
    }
}

#[test]
fn what_continues_has_the_number_of_what_it_continues() {
    let mut packets = connections(10);
    let later = |packet: &Packet, s: u64| Packet { ts_us: s * 1_000_000, ..packet.clone() };
    // An hour later the third sends its SYN again, the fourth another one.
    let (again, mut other) = (later(&packets[2], 3600), later(&packets[3], 3601));
    other.bytes[38] ^= 0x40;
    packets.extend([again, other]);
    let folder = Folder::new();
    let path = folder.write("again.pcap", &pcap(&packets));
    let (found, _) = numbers(&[&path], Source { workers: 1, ..Source::default() });
    assert_eq!(found.len(), 12);
    assert_eq!(found[10..], [(11, Some(2)), (12, Some(10))]);
}

#[test]
fn with_a_filter_what_passed_is_counted() {
    let folder = Folder::new();
    let path = folder.write("some.pcap", &pcap(&connections(600)));
    let filter = Some("src net 10.0.1.0/24".to_owned());
    for workers in [1, 2] {
        let source = Source { workers, filter: filter.clone(), ..Source::default() };
        let (found, _) = numbers(&[&path], source);
        let expected: Vec<_> = (0..256).map(|at| (u64::from(at) + 257, Some(at))).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn paced_and_partial_runs_have_none() {
    let folder = Folder::new();
    let path = folder.write("few.pcap", &pcap(&connections(4)));
    let (found, _) = numbers(&[&path], Source { pace: Some(1e6), ..Source::default() });
    assert!(found.len() == 4 && found.iter().all(|(_, stream)| stream.is_none()), "{found:?}");
}
