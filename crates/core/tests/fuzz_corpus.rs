//! Replays the corpus of the fuzz targets through the functions that they call.

#[path = "../../../fuzz/bodies.rs"]
mod bodies;

use std::path::Path;

fn replay(target: &str, body: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        body(&bytes);
        // Every cut of an input is an input too, and so is one with a byte changed.
        for at in 0..bytes.len().min(400) {
            body(&bytes[..at]);
            let mut changed = bytes.clone();
            changed[at] ^= 0xff;
            body(&changed);
        }
        replayed += 1;
    }
    assert!(replayed >= 3, "{target}: {replayed} inputs");
}

#[test]
fn frames() {
    replay("decode", bodies::decode);
}

#[test]
fn captures() {
    replay("capture", bodies::capture);
}

#[test]
fn filters() {
    replay("filter", bodies::filter);
}
