//! Every real capture is read to its end, and what is counted equals the manifest, except for the
//! explained differences in `tests/data/manifest_differences.tsv`.

use std::collections::{BTreeMap, HashSet};

use crate::shared;
use tcpwhy_core::counter::Counter;
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_core::wire::Decoder;
use tcpwhy_io::{Source, analyze, read_frames};

#[test]
fn counts_equal_the_manifest() {
    let Some(captures) = shared::captures() else { return };
    let mut found = BTreeMap::new();
    for row in shared::manifest(&captures) {
        let mut decoder = Decoder::new();
        let mut flows = HashSet::new();
        let (counters, _) = read_frames(&[captures.join(&row.file)], |frame| {
            if let Ok(segment) = decoder.decode(frame) {
                flows.insert((segment.key.low, segment.key.high));
            }
        });
        let packets = counters.value(Counter::PacketsRead);
        let conns = flows.len() as u64;
        for (field, theirs, ours) in
            [("packets", row.packets, packets), ("tcp_conns", row.tcp_conns, conns)]
        {
            if theirs != ours {
                found.insert((row.file.clone(), field.to_owned()), (theirs, ours));
            }
        }
    }
    assert_eq!(found, explained());
}

/// The differences that are understood: file and field, the manifest's value and ours.
fn explained() -> BTreeMap<(String, String), (u64, u64)> {
    let lines = include_str!("data/manifest_differences.tsv").lines().skip(1);
    let row = |line: &str| {
        let [file, field, theirs, ours, reason] =
            line.split('\t').collect::<Vec<_>>().try_into().expect("five columns");
        assert!(!reason.is_empty(), "{file} has no reason");
        let number = |text: &str| text.parse().expect("a number");
        ((file.to_owned(), field.to_owned()), (number(theirs), number(ours)))
    };
    lines.map(row).collect()
}

/// Rows do not depend on how the work is shared out.
#[test]
fn rows_do_not_depend_on_workers() {
    let Some(captures) = shared::captures() else { return };
    let sampled = |row: &shared::Row| !row.file.starts_with("policing") || row.packets < 3_000;
    for row in shared::manifest(&captures).into_iter().filter(sampled) {
        let rows = |workers| {
            let inputs = vec![captures.join(&row.file)];
            let tables = vec![Table::Flows, Table::Intervals, Table::Periods, Table::Stalls];
            let options = Options { tables, ..Options::default() };
            let source = Source { inputs, workers, filter: None, ..Source::default() };
            let mut rows = Vec::new();
            for (table, batch) in analyze(source, options).unwrap().flatten() {
                let text = |i| format!("{table:?} {:?}", batch.slice(i, 1).columns());
                rows.extend((0..batch.num_rows()).map(text));
            }
            rows.sort();
            rows
        };
        let expected = rows(1);
        for workers in [2, 5] {
            let rows = rows(workers);
            let differs = rows.iter().zip(&expected).find(|(ours, expected)| ours != expected);
            assert_eq!(differs, None, "{} with {workers} workers", row.file);
            assert_eq!(rows.len(), expected.len(), "{} with {workers} workers", row.file);
        }
    }
}
