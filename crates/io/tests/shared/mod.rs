//! Where the captures beside the repository are, and what their manifest says.

use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;

pub mod forge;

/// The rows without the columns that name the input and the place in it: no property of packets.
pub fn without_places(batch: &RecordBatch) -> RecordBatch {
    let schema = batch.schema();
    let kept = |at: &usize| !["source", "stream"].contains(&schema.field(*at).name().as_str());
    let kept: Vec<usize> = (0..batch.num_columns()).filter(kept).collect();
    batch.project(&kept).expect("columns of the batch")
}

/// A row of the manifest.
pub struct Row {
    pub file: String,
    pub packets: u64,
    pub tcp_conns: u64,
}

/// The folder of captures: `$TCPWHY_SHARED/captures`, or `../shared/captures` beside the
/// repository. Says why a test is skipped when there is none.
pub fn captures() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("TCPWHY_SHARED").map_or(beside, PathBuf::from);
    let captures = shared.join("captures");
    if captures.join("manifest.csv").is_file() {
        return Some(captures);
    }
    println!("skipped: no captures at {} (set TCPWHY_SHARED)", captures.display());
    None
}

/// The manifest.
pub fn manifest(captures: &Path) -> Vec<Row> {
    let text = std::fs::read_to_string(captures.join("manifest.csv")).unwrap();
    let mut rows = csv(&text).into_iter();
    let header = rows.next().unwrap();
    let column = |name: &str| header.iter().position(|field| field == name).unwrap();
    let (file, packets, conns) = (column("file"), column("packets"), column("tcp_conns"));
    let number = |text: &str| text.parse().unwrap();
    rows.map(|row| Row {
        file: row[file].clone(),
        packets: number(&row[packets]),
        tcp_conns: number(&row[conns]),
    })
    .collect()
}

fn csv(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let mut quoted = false;
    for c in text.trim_end().chars() {
        let row = rows.last_mut().unwrap();
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            '\r' => {}
            _ => row.last_mut().unwrap().push(c),
        }
    }
    rows
}
