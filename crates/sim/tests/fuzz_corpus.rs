//! Replays the corpus of the fuzz target of scenario files through the function that it calls.

#[path = "../../../fuzz/scenarios.rs"]
mod scenarios;

use std::path::Path;

#[test]
fn scenario_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/scenario");
    let mut replayed = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        scenarios::scenario(&bytes);
        // Every cut of an input is an input too, and so is one with a byte changed.
        for at in (0..bytes.len().min(900)).step_by(3) {
            scenarios::scenario(&bytes[..at]);
            let mut changed = bytes.clone();
            changed[at] ^= 0x07;
            scenarios::scenario(&changed);
        }
        replayed += 1;
    }
    assert!(replayed >= 3, "{replayed} inputs");
}
