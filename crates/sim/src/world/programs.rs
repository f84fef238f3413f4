//! What the programs do at both ends.

use super::draw::{Draw, count, short};
use super::path::Path;

/// The program that writes and the one that reads.
pub(super) struct Program {
    /// What they move at most, roughly.
    pub needs_bps: f64,
    workload: String,
    reader: Option<String>,
}

impl Program {
    /// Draws both.
    pub fn draw(draw: &mut Draw, path: &Path) -> Program {
        let (workload, needs_bps) = if draw.chance(0.12) {
            phases(draw, path)
        } else {
            let kind = draw.pick(&KINDS);
            workload(draw, path, kind)
        };
        let mut program = Program { needs_bps, workload, reader: None };
        match draw.pick(&[(0.8, 0), (0.12, 1), (0.08, 2)]) {
            1 => {
                let rate = (path.rate_bps * draw.log(0.03, 1.3)).max(20_000.0);
                program.needs_bps = program.needs_bps.min(rate);
                let bytes = count(draw.log(1_000.0, 200_000.0));
                let from = if draw.chance(0.7) { 0.0 } else { draw.between(2.0, 9.0) };
                program.reader = Some(format!(
                    "slow = {{ rate_bps = {}, read_bytes = {bytes}, from_s = {} }}",
                    count(rate),
                    short(from)
                ));
            }
            2 => program.reader = Some(pauses(draw)),
            _ => {}
        }
        program
    }

    /// Both as TOML, for a flow.
    pub fn toml(&self) -> String {
        let reader = self.reader.as_ref().map(|reader| format!("reader.{reader}\n"));
        format!("workload.{}\n{}", self.workload, reader.unwrap_or_default())
    }
}

/// A program that writes.
#[derive(Clone, Copy)]
enum Kind {
    Bulk,
    Chunks,
    Paced,
    Requests,
    SmallWrites,
}

const KINDS: [(f64, Kind); 5] = [
    (0.66, Kind::Bulk),
    (0.1, Kind::Chunks),
    (0.1, Kind::Paced),
    (0.08, Kind::Requests),
    (0.06, Kind::SmallWrites),
];

/// A workload as TOML, and the rate that it needs.
fn workload(draw: &mut Draw, path: &Path, kind: Kind) -> (String, f64) {
    match kind {
        Kind::Bulk => {
            let text = if draw.chance(0.5) {
                let bytes = count(draw.log(1_000.0, 300_000.0));
                format!("bulk = {{ write_bytes = {bytes} }}")
            } else {
                "bulk = {}".to_owned()
            };
            (text, f64::INFINITY)
        }
        Kind::Chunks => {
            let interval_s = draw.log(0.05, 5.0);
            let rate = path.rate_bps * draw.log(0.01, 1.3);
            let bytes = (rate * interval_s / 8.0).clamp(3_000.0, 5e8);
            let text = format!(
                "chunks = {{ chunk_bytes = {}, interval_ms = {} }}",
                count(bytes),
                short(interval_s * 1000.0)
            );
            (text, bytes * 8.0 / interval_s)
        }
        Kind::Paced => {
            let rate = (path.rate_bps * draw.log(0.01, 1.2)).max(10_000.0);
            let bytes = draw.log(500.0, 60_000.0).max(rate / 8.0 * 2e-4);
            let text =
                format!("paced = {{ rate_bps = {}, write_bytes = {} }}", count(rate), count(bytes));
            (text, rate)
        }
        Kind::Requests => {
            let [request, response] = [draw.log(80.0, 3e5), draw.log(80.0, 3e6)];
            let (serve, think) = (draw.log(0.1, 200.0), draw.log(0.1, 500.0));
            let text = format!(
                "request_response = {{ request_bytes = {}, response_bytes = {}, serve_ms = {}, \
                 think_ms = {} }}",
                count(request),
                count(response),
                short(serve),
                short(think)
            );
            let round_s = (path.rtt_ms + serve + think) / 1000.0;
            (text, (request + response) * 8.0 / round_s)
        }
        Kind::SmallWrites => {
            let (bytes, interval_ms) = (draw.log(20.0, 1_200.0), draw.log(0.5, 200.0));
            let text = format!(
                "small_writes = {{ write_bytes = {}, interval_ms = {} }}",
                count(bytes),
                short(interval_ms)
            );
            // A packet for each write, whatever its length.
            (text, 1_500.0 * 8000.0 / interval_ms)
        }
    }
}

/// Two or three workloads, one after the other.
fn phases(draw: &mut Draw, path: &Path) -> (String, f64) {
    let mut most: f64 = 0.0;
    let mut phase = |draw: &mut Draw, kind: Kind| {
        let (text, needs) = workload(draw, path, kind);
        most = most.max(needs);
        format!("{{ for_s = {}, workload.{text} }}", short(draw.between(2.0, 12.0)))
    };
    let kinds = [(1.0, Kind::Bulk), (1.0, Kind::Chunks), (1.0, Kind::Paced)];
    let list: Vec<String> = (0..draw.whole(2, 4))
        .map(|_| {
            let kind = draw.pick(&kinds);
            phase(draw, kind)
        })
        .collect();
    (format!("phases.list = [{}]", list.join(", ")), most)
}

/// A reader that stops now and then.
fn pauses(draw: &mut Draw) -> String {
    let mut at = draw.between(0.5, 4.0);
    let mut list = Vec::new();
    for _ in 0..draw.whole(1, 6) {
        let until = at + draw.log(0.2, 6.0);
        list.push(format!("[{}, {}]", short(at), short(until)));
        at = until + draw.log(0.1, 8.0);
    }
    format!("pausing.pauses_s = [{}]", list.join(", "))
}
