//! Throughput models against simulated transfers: what the formulas are worth for today's TCP. The
//! simulator shares no code with them.

use std::path::PathBuf;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, UInt64Type};
use tcpwhy_core::model::Predict;
use tcpwhy_core::model::bbr::{Bbr, Version};
use tcpwhy_core::model::capacity::Capacity;
use tcpwhy_core::model::cubic::Cubic;
use tcpwhy_core::model::mathis::{Losses, Mathis};
use tcpwhy_core::model::pftk::Pftk;
use tcpwhy_core::model::slow_start::SlowStart;
use tcpwhy_core::model::window::Window;
use tcpwhy_core::pipeline::{Options, Table};
use tcpwhy_io::simulate::{Request, simulate};

/// A path of `rate_bps` and a flow over it.
struct Case<'a> {
    name: &'a str,
    rtt_ms: u32,
    rate_bps: u64,
    loss: f64,
    duration_s: u32,
    workload: &'a str,
    tcp: &'a str,
    peer_tcp: &'a str,
}

const BULK: Case = Case {
    name: "",
    rtt_ms: 40,
    rate_bps: 1_000_000_000,
    loss: 0.0,
    duration_s: 60,
    workload: "bulk = {}",
    tcp: "controller = \"cubic\"",
    peer_tcp: "",
};

/// Goodput in bit/s and time in s, from the first to the last data segment as the sender sees them.
fn run(case: &Case) -> (f64, f64) {
    let folder = std::env::temp_dir().join(format!("tcpwhy-models-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file: PathBuf = folder.join(format!("{}.toml", case.name));
    let Case { name, rate_bps, loss, duration_s, workload, tcp, peer_tcp, .. } = case;
    let delay_ms = case.rtt_ms / 2;
    let lossy = if *loss > 0.0 { format!("{{ bernoulli.loss = {loss} }},") } else { String::new() };
    let text = format!(
        "title = \"{name}\"\nseed = 3\nduration_s = {duration_s}\n[hosts.S]\n[hosts.D]\n\
         [links.wan]\nforward = [{lossy} {{ rate = {{ rate_bps = {rate_bps}, \
         queue.drop_tail.limit_packets = 400 }} }}, {{ delay.delay_ms = {delay_ms} }}]\n\
         backward = [{{ delay.delay_ms = {delay_ms} }}]\n[[flows]]\nfrom = \"S\"\nto = \"D\"\n\
         path = [\"wan\"]\nworkload.{workload}\ntcp = {{ {tcp} }}\npeer_tcp = {{ {peer_tcp} }}\n"
    );
    std::fs::write(&file, text).unwrap();
    let options = Options { tables: vec![Table::Flows], ..Options::default() };
    let request = Request { analysis: Some(("sender".to_owned(), options)), ..Request::new(file) };
    let mut found = None;
    for (table, batch) in simulate(request).unwrap().map(Result::unwrap) {
        if table != "flows" {
            continue;
        }
        let bytes = batch.column_by_name("unique_bytes").unwrap().as_primitive::<UInt64Type>();
        let rates = batch.column_by_name("goodput_bps").unwrap().as_primitive::<Float64Type>();
        for row in (0..batch.num_rows()).filter(|&row| bytes.value(row) > 0) {
            found = Some((rates.value(row), bytes.value(row) as f64 * 8.0 / rates.value(row)));
        }
    }
    found.expect("a half that moved data")
}

/// Rows of a table for people: model and simulation, and how far the model is off in per cent.
#[derive(Default)]
struct Comparison {
    table: String,
    wrong: Vec<String>,
}

impl Comparison {
    /// Adds a row; the model may be `most` per cent off.
    fn row(&mut self, name: &str, model: f64, simulated: f64, most: f64) {
        let off = 100.0 * (model / simulated - 1.0);
        let row = format!("{name:28} {:9.2} {:9.2} {off:7.1} %\n", model / 1e6, simulated / 1e6);
        if off.abs() > most {
            self.wrong.push(row.clone());
        }
        self.table += &row;
    }

    fn check(self) {
        println!("{}", self.table);
        assert!(self.wrong.is_empty(), "too far off:\n{}", self.wrong.concat());
    }
}

const RTT_NS: f64 = 40e6;

#[test]
fn bounds_without_loss() {
    let mut found = Comparison::default();
    let link = Capacity { frame_bytes: 14.0, ..Default::default() };
    for rate_bps in [10_000_000, 100_000_000] {
        let simulated = run(&Case { name: "capacity", rate_bps, ..BULK }).0;
        let model = Capacity { capacity_bps: rate_bps as f64, ..link };
        found.row(&format!("capacity {rate_bps}"), model.rate_bps().unwrap(), simulated, 2.0);
    }
    let clamp = "window_clamp_bytes = 65_535";
    let simulated = run(&Case { name: "window", peer_tcp: clamp, ..BULK }).0;
    let model = Window { window_bytes: 65_535.0, rtt_ns: RTT_NS };
    found.row("window", model.rate_bps().unwrap(), simulated, 4.0);
    found.check();
}

#[test]
fn loss_based_controllers_under_random_loss() {
    let mut found = Comparison::default();
    // Enough time for some hundred losses, so that a run is within 5 % of its mean.
    for (loss, duration_s, most) in [(1e-3, 600, 12.0), (1e-2, 200, 30.0), (5e-2, 200, 40.0)] {
        let case = Case { name: "loss", loss, duration_s, ..BULK };
        // An ACK for two segments: whoever counts ACKs grows half as fast, b = 2 in the formulas.
        for (name, tcp, packets_per_ack) in [
            ("reno", "controller = \"reno\"", 1.0),
            ("reno_per_ack", "controller = \"reno_per_ack\"", 2.0),
            ("newreno", "controller = \"newreno\"", 1.0),
        ] {
            let simulated = run(&Case { tcp, ..case }).0;
            let pftk = Pftk { rtt_ns: RTT_NS, loss, packets_per_ack, ..Default::default() };
            let rate = pftk.rate_bps().unwrap();
            found.row(&format!("{name} pftk {loss}"), rate, simulated, most);
            let losses = Losses::Random;
            let mathis =
                Mathis { rtt_ns: RTT_NS, loss, losses, packets_per_ack, ..Default::default() };
            if mathis.caution().is_none() {
                let rate = mathis.rate_bps().unwrap();
                found.row(&format!("{name} mathis {loss}"), rate, simulated, most);
            }
        }
        let cubic = Cubic { rtt_ns: RTT_NS, loss, ..Default::default() };
        let simulated = run(&case).0;
        found.row(&format!("cubic {loss}"), cubic.rate_bps().unwrap(), simulated, 45.0);
    }
    found.check();
}

#[test]
fn bbr_follows_the_bottleneck_and_not_the_loss() {
    let mut found = Comparison::default();
    let bottleneck = Capacity { capacity_bps: 5e7, frame_bytes: 14.0, ..Default::default() };
    let bottleneck_bps = bottleneck.rate_bps().unwrap();
    for (tcp, version, losses) in [
        ("controller = \"bbr1\"", Version::V1, [0.0, 0.01, 0.05, 0.15]),
        ("controller = \"bbr3\"", Version::V3, [0.0, 0.001, 0.005, 0.015]),
    ] {
        for loss in losses {
            let simulated = run(&Case { name: "bbr", rate_bps: 50_000_000, loss, tcp, ..BULK }).0;
            let path = Bbr { bottleneck_bps, rtt_min_ns: RTT_NS, ..Default::default() };
            let model = Bbr { loss, version, ..path };
            let name = format!("bbr {version:?} {loss}");
            // Near its tolerance it gives way earlier than the bound says, and the bound says so.
            let most = if model.caution().is_some() { f64::INFINITY } else { 8.0 };
            found.row(&name, model.rate_bps().unwrap(), simulated, most);
        }
    }
    found.check();
}

#[test]
fn short_transfers_take_whole_rounds_of_slow_start() {
    let mut found = Comparison::default();
    for bytes in [20_000u32, 60_000, 200_000, 1_000_000] {
        let workload = format!("fixed_size.bytes = {bytes}");
        let case = Case { name: "short", workload: &workload, duration_s: 10, ..BULK };
        let model =
            SlowStart { size_bytes: f64::from(bytes), rtt_ns: RTT_NS, ..Default::default() };
        // The capture at the sender sees the last segment leave, a round trip before its ACK.
        let ns = model.phases().unwrap().total_ns() - RTT_NS;
        found.row(&format!("short {bytes}, time in s"), ns / 1e3, run(&case).1 * 1e6, 1.0);
    }
    found.check();
}
