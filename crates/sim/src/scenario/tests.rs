//! Scenario files: what is read, and what is refused with which words.

use super::*;

const SMALL: &str = r#"
title = "one flow"
duration_s = 1

[hosts.S]
[hosts.D]

[links.path]
forward = [{ rate.rate_bps = 1_000_000 }, { delay.delay_ms = 5 }]

[[flows]]
from = "S"
to = "D"
path = ["path"]
workload.bulk = {}

[[expect]]
limitation = "unshared_bottleneck"
cause = "unshared_bottleneck/queue"
"#;

#[test]
fn a_small_scenario_is_read() {
    let scenario = Scenario::parse("small.toml", SMALL).unwrap();
    assert_eq!(scenario.links["path"].forward.get_ref().len(), 2);
    assert_eq!(scenario.flows().len(), 1);
}

#[test]
fn errors_name_file_line_key_and_allowed_values() {
    // What is replaced by what, and the error that it gives.
    let table = [
        (
            "rate_bps = 1_000_000",
            "rate_bps = -3",
            "s.toml:9: links.path.forward[0].rate.rate_bps: invalid value: number `-3.0`, \
             expected a rate in bit/s from 1 to 1e12",
        ),
        (
            "rate.rate_bps",
            "rat.rate_bps",
            "s.toml:9: links.path.forward[0]: unknown name `rat`, expected one of `delay`, \
             `jitter`, `rate`, ",
        ),
        (
            "delay.delay_ms",
            "delay.delay_us",
            "s.toml:9: links.path.forward[1].delay.delay_us: unknown key `delay_us`, \
             expected `delay_ms`",
        ),
        (
            "to = \"D\"",
            "to = \"E\"",
            "s.toml:13: flows[0].to: no host `E`, expected one of `D`, `S`",
        ),
        (
            "[\"path\"]",
            "[\"pth\"]",
            "s.toml:14: flows[0].path: no link `pth`, expected one of `path`",
        ),
        ("[\"path\"]", "[]", "s.toml:12: flows[0].path: expected 1 to 64 names of links"),
        (
            "workload.bulk",
            "workload.bulky",
            "s.toml:15: flows[0].workload: unknown name `bulky`, expected one of \
             `bulk`, `fixed_size`",
        ),
        (
            "\"unshared_bottleneck/queue\"",
            "\"policer\"",
            "s.toml:17: expect[0].cause: expected a cause of `unshared_bottleneck`",
        ),
        (
            "cause = \"unshared_bottleneck/queue\"",
            "flow = 1",
            "s.toml:17: expect[0].flow: there are 1 flows, numbered from 0",
        ),
        (
            "cause = \"unshared_bottleneck/queue\"",
            "cause = \"bad\"",
            "s.toml:19: expect[0].cause: unknown word `bad`, expected one of `application/idle`, ",
        ),
        (
            "duration_s = 1",
            "duration_s = \"x\"",
            "s.toml:3: duration_s: invalid type: string \"x\", expected a time in \
             seconds from 0 to 3.2e7",
        ),
        ("title = \"one flow\"", "title = ", "s.toml:2: "),
        ("title = \"one flow\"", "", "s.toml:1: missing key `title`"),
    ];
    for (what, by, expected) in table {
        let text = SMALL.replace(what, by);
        assert_ne!(text, SMALL, "{what} is not in the scenario");
        let error = Scenario::parse("s.toml", &text).expect_err(by).to_string();
        assert!(error.starts_with(expected), "{by}\ngives    {error}\ninstead of {expected}");
    }
}
