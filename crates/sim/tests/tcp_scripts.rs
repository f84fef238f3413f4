//! TCP's behaviour as timelines in virtual time: every file under `scripts/`, found by walking.

use std::path::{Path, PathBuf};

use crate::support;

#[test]
fn every_timeline_holds() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files = Vec::new();
    collect(&root, &mut files);
    let failures: Vec<String> = files
        .iter()
        .filter_map(|file| {
            let text = std::fs::read_to_string(file).expect("a script is readable");
            let name = file.strip_prefix(&root).unwrap_or(file).display();
            support::script::run(&text).err().map(|error| format!("{name}: {error}"))
        })
        .collect();
    assert!(!files.is_empty(), "no scripts under {}", root.display());
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), files.len(), failures.join("\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).expect("the folder of scripts is readable");
    for path in entries.map(|entry| entry.expect("an entry is readable").path()) {
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "pkt") {
            files.push(path);
        }
    }
    files.sort();
}
