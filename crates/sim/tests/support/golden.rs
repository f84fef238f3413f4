//! Tables that a person reads: compared with a file, which `UPDATE_GOLDEN=1` writes anew.

use std::path::Path;

/// Compares `table` with `tests/golden/NAME.txt`.
pub fn check(name: &str, table: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, table).expect("the golden file is writable");
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(expected == table, "{} differs; the new table is\n{table}", file.display());
}
