//! Scenario files that nobody meant to write: each is refused with its place, or runs. None hangs,
//! none panics.

use std::path::Path;
use tcpwhy_core::units::Nanos;
use tcpwhy_sim::random::Random;
use tcpwhy_sim::scenario::Scenario;

const BASE: &str = r#"
title = "two flows"
duration_s = 2
[hosts.A]
[hosts.B]
[links.wan]
forward = [
    { rate = { rate_bps = 2_000_000, queue.red = { min_packets = 5, max_packets = 15 } } },
    { delay.delay_ms = 5 },
]
[[flows]]
from = "A"
to = "B"
path = ["wan"]
workload.chunks = { chunk_bytes = 1000, interval_ms = 10 }
tcp.mss = 1460
[[udp]]
from = "A"
to = "B"
path = ["wan"]
wire_bytes = 500
source.sine = { mean_pps = 50, frequencies_hz = [1.0], phases = [0.5] }
[[taps]]
name = "a"
host = "A"
"#;

/// What is replaced by what, and how the refusal begins.
const REFUSALS: [(&str, &str, &str); 30] = [
    (
        "interval_ms = 10",
        "interval_ms = 0",
        "15: flows[0].workload.chunks.interval_ms: invalid value: number `0.0`, \
         expected a time in milliseconds from 0.001",
    ),
    (
        "mss = 1460",
        "mss = 0",
        "16: flows[0].tcp.mss: invalid value: number `0.0`, expected a segment size in \
         bytes from 48 to 65,495",
    ),
    ("mss = 1460", "mss = 65_535", "16: flows[0].tcp.mss: invalid value"),
    (
        "tcp.mss = 1460",
        "count = 20_000",
        "16: flows[0].count: expected at most 10000 flows in all, not 20000",
    ),
    (
        "to = \"B\"\npath = [\"wan\"]\nworkload",
        "to = \"A\"\npath = [\"wan\"]\nworkload",
        "13: flows[0].to: `A` is also `from`: expected another host",
    ),
    (
        "[hosts.A]",
        "[hosts.A]\naddress = \"10.0.0.2\"",
        "1: hosts.B.address: 10.0.0.2 is the address of `A` too: one for each host",
    ),
    (
        "[hosts.B]",
        "[hosts.B]\naddress = \"fd00::1\"",
        "14: flows[0].to: 10.0.0.1 cannot reach fd00::1: expected one family",
    ),
    (
        "[hosts.B]",
        "[hosts.B]\naddress = \"224.0.0.1\"",
        "6: hosts.B.address: 224.0.0.1 is not the address of a host",
    ),
    (
        "max_packets = 15",
        "max_packets = 3",
        "8: links.wan.forward[0].rate.queue.red: min_packets is 5: expected less than \
         max_packets, 3",
    ),
    (
        "phases = [0.5]",
        "phases = [0.5, 0.1]",
        "22: udp[0].source.sine: 2 phases for 1 frequencies_hz: too many",
    ),
    ("mean_pps = 50", "mean_pps = 1e12", "22: udp[0].source.sine.mean_pps: invalid value"),
    (
        "wire_bytes = 500",
        "wire_bytes = 20",
        "21: udp[0].wire_bytes: 20: expected from 42, the headers, to 65529",
    ),
    (
        "name = \"a\"",
        "name = \"../a\"",
        "23: taps[0].name: `../a`: expected up to 64 letters, digits",
    ),
    ("name = \"a\"", "name = \"a\"\nfrom_s = 9", "23: taps[0].from_s: expected before duration_s"),
    ("duration_s = 2", "duration_s = 0", "1: duration_s: expected a time above 0"),
    (
        "duration_s = 2",
        "duration_s = 2\nseed = -1",
        "4: seed: invalid value: integer `-1`, expected a whole number from 0",
    ),
    (
        "duration_s = 2",
        "duration_s = 2\noverhead_bytes = 4_000_000_000",
        "4: overhead_bytes: invalid value",
    ),
    ("tcp.mss = 1460", "start_s = 5", "12: flows[0].start_s: starts at 5 s, when all is over"),
    ("tcp.mss = 1460", "tcp.rto_max_ms = 0", "16: flows[0].tcp.rto_max_ms: invalid value"),
    (
        "workload.chunks = { chunk_bytes = 1000, interval_ms = 10 }",
        "workload.paced = { rate_bps = 1e12, write_bytes = 1 }",
        "15: flows[0].workload.paced: write_bytes is 1: expected at least 125000 at \
         this rate_bps",
    ),
    (
        "workload.chunks = { chunk_bytes = 1000, interval_ms = 10 }",
        "workload.phases.list = []",
        "15: flows[0].workload.phases: list: expected at least one workload",
    ),
    (
        "tcp.mss = 1460",
        "tcp.fast_open = \"yes\"",
        "16: flows[0].tcp.fast_open: invalid type: string \"yes\", expected a boolean",
    ),
    (
        "{ delay.delay_ms = 5 }",
        "{ options = {} }, { delay.delay_ms = 5 }",
        "9: links.wan.forward[1].options: expected `strip`, `mss_max_bytes` or `drop_syn_data`",
    ),
    (
        "{ delay.delay_ms = 5 }",
        "{ options.strip = [\"sack\"] }, { delay.delay_ms = 5 }",
        "9: links.wan.forward[1].options.strip[0]: unknown name `sack`, expected one of `mss`, \
         `window_scale`, `sack_permitted`, `timestamps`, `fast_open`",
    ),
    (
        "red = { min_packets = 5, max_packets = 15 }",
        "cake.isolate = \"hosts\"",
        "8: links.wan.forward[0].rate.queue.cake.isolate: unknown name `hosts`, expected one of \
         `flows`, `dual_srchost`, `dual_dsthost`, `triple_isolate`",
    ),
    (
        "red = { min_packets = 5, max_packets = 15 }",
        "cake.rtt_ms = 0",
        "8: links.wan.forward[0].rate.queue.cake.rtt_ms: invalid value",
    ),
    (
        "workload.chunks = { chunk_bytes = 1000, interval_ms = 10 }",
        "workload.relay = { of = 0, buffer_bytes = 1000 }",
        "12: flows[0].workload.relay.of: 0: expected a flow before this one, 0",
    ),
    ("[[udp]]", RELAY_ELSEWHERE, "18: flows[1].workload.relay.of: flow 0 ends at `B`, not at `A`"),
    ("[[udp]]", RELAY_TWICE, "23: flows[2].workload.relay.of: flow 0 has a relay already"),
    (
        "[[udp]]",
        RELAY_LATER,
        "18: flows[1].start_s: expected none: a relay opens when its flow does",
    ),
];

const RELAY_ELSEWHERE: &str = r#"[[flows]]
from = "A"
to = "B"
path = ["wan"]
workload.relay = { of = 0, buffer_bytes = 1000 }
[[udp]]"#;

const RELAY_TWICE: &str = r#"[[flows]]
from = "B"
to = "A"
path = ["wan"]
workload.relay = { of = 0, buffer_bytes = 1000 }
[[flows]]
from = "B"
to = "A"
path = ["wan"]
workload.relay = { of = 0, buffer_bytes = 1000 }
[[udp]]"#;

const RELAY_LATER: &str = r#"[[flows]]
from = "B"
to = "A"
path = ["wan"]
workload.relay = { of = 0, buffer_bytes = 1000 }
start_s = 1
[[udp]]"#;

#[test]
fn what_does_not_fit_is_refused_with_its_place() {
    for (what, by, expected) in REFUSALS {
        let text = BASE.replacen(what, by, 1);
        assert_ne!(text, BASE, "{what} is not in the scenario");
        let error = Scenario::parse("s.toml", &text).expect_err(by).to_string();
        assert!(error.starts_with(&format!("s.toml:{expected}")), "{by}\ngives    {error}");
    }
}

#[test]
fn a_path_on_which_no_time_passes_is_refused() {
    let (begin, rest) = BASE.split_once("forward = [").unwrap();
    let (_, end) = rest.split_once("\n]\n").unwrap();
    let text =
        format!("{begin}forward = [{{ delay.delay_ms = 0 }}, {{ bernoulli.loss = 0.1 }}]\n{end}");
    let error = Scenario::parse("s.toml", &text).unwrap_err().to_string();
    assert!(error.contains("flows[0].path: no time passes on this path"), "{error}");
}

/// Words of the program that reads, which nobody who writes a scenario needs to know.
const OF_THE_READER: [&str; 8] = ["usize", "u64", "u32", "u16", "f64", "struct", "enum", "variant"];

/// Every scenario of the repository and some worlds, with a number, a word or a line changed.
#[test]
fn any_change_to_a_scenario_is_refused_in_plain_words_or_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut texts: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap())
        .collect();
    texts.sort();
    texts.extend((0..60).map(|seed| tcpwhy_sim::world::World::new(seed).toml()));
    texts.push(BASE.to_owned());
    let mut random = Random::stream(11, 0);
    let (mut refused, mut run) = (0, 0);
    for _ in 0..3_000 {
        let text = changed(&texts[random.bits() as usize % texts.len()], &mut random);
        match Scenario::parse("s.toml", &text) {
            Err(error) => {
                refused += 1;
                let words = error.to_string();
                assert!(words.starts_with("s.toml:"), "{words}");
                let mut parts = words.split(|c: char| !c.is_alphanumeric());
                assert!(!parts.any(|word| OF_THE_READER.contains(&word)), "{words}");
            }
            Ok(scenario) => {
                run += 1;
                let mut built = scenario.build();
                built.simulation.record_truth(Nanos::from_millis(100));
                built.simulation.run_some(built.duration, 3_000);
            }
        }
    }
    assert!(refused > 300 && run > 300, "{refused} refused, {run} run");
}

/// A text with one to three small changes.
fn changed(text: &str, random: &mut Random) -> String {
    let mut text = text.to_owned();
    for _ in 0..1 + random.bits() % 3 {
        text = match random.bits() % 4 {
            0 | 1 => number_changed(&text, random),
            2 => line_changed(&text, random),
            _ => byte_changed(&text, random),
        };
    }
    text
}

fn number_changed(text: &str, random: &mut Random) -> String {
    let is_number = |part: &str| part.starts_with(|c: char| c.is_ascii_digit());
    let parts: Vec<&str> = text.split_inclusive([' ', '=', ',', '\n', '[', '}']).collect();
    let numbers: Vec<usize> = (0..parts.len()).filter(|&i| is_number(parts[i])).collect();
    let Some(&chosen) = numbers.get(random.bits() as usize % numbers.len().max(1)) else {
        return text.to_owned();
    };
    let values = [
        "0", "1", "-1", "0.0001", "1e-9", "1e18", "65536", "nan", "inf", "1e9", "\"x\"", "true",
        "[]", "{}",
    ];
    let value = values[random.bits() as usize % values.len()];
    let end = parts[chosen].trim_start_matches(|c: char| c.is_ascii_digit() || "._e-+".contains(c));
    let mut parts: Vec<String> = parts.into_iter().map(str::to_owned).collect();
    parts[chosen] = format!("{value}{end}");
    parts.concat()
}

fn line_changed(text: &str, random: &mut Random) -> String {
    let mut lines: Vec<&str> = text.lines().collect();
    let (from, to) = (random.bits() as usize % lines.len(), random.bits() as usize % lines.len());
    match random.bits() % 3 {
        0 => {
            lines.remove(from);
        }
        1 => lines.insert(to, lines[from]),
        _ => lines.swap(from, to),
    }
    lines.join("\n")
}

fn byte_changed(text: &str, random: &mut Random) -> String {
    let at = random.bits() as usize % text.len();
    let marks = ["=", "[", "]", "{", "}", "\"", ".", "\n", "0", "#"];
    let mark = marks[random.bits() as usize % marks.len()];
    let mut changed = text.to_owned();
    if changed.is_char_boundary(at) && changed.is_char_boundary(at + 1) {
        changed.replace_range(at..=at, mark);
    }
    changed
}
