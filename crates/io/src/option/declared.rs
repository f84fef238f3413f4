//! Every option.

use super::Command::{Analyze, Monitor, Simulate};
use super::{Default, Kind, Opt, Settings, Value, nanos};
use crate::capture::Fanout;
use crate::stream::Part;
use tcpwhy_core::pipeline::FlowChoice;
use tcpwhy_core::units::Nanos;

const ANALYSIS: &[super::Command] = &[Analyze, Monitor];

/// Titles of groups.
const WHAT: Option<&str> = Some("What to look at");
const HOW: Option<&str> = Some("How to judge");
const ENDS: Option<&str> = Some("When connections end");
const RUN: Option<&str> = Some("How to run");
const LINK: Option<&str> = Some("How to capture");
const SCENARIO: Option<&str> = Some("What to change in the scenario");

/// Every option, in the order of help.
pub const OPTIONS: &[Opt] = &[
    Opt {
        name: "filter",
        commands: ANALYSIS,
        group: WHAT,
        kind: Kind::Text("BPF"),
        default: Default::None("all packets"),
        help: "Capture filter in the syntax of tcpdump.",
        set: |to, value| {
            let filter = text(value);
            (to.source.filter, to.capture.filter) = (filter.clone(), filter);
        },
    },
    Opt {
        name: "flow",
        commands: ANALYSIS,
        group: WHAT,
        kind: Kind::Text("FLOW"),
        default: Default::None("all"),
        help: "Only this connection: its number #, HOST:PORT, a pair HOST:PORT-HOST:PORT, a \
               flow_id or a Community ID.",
        set: |to, value| to.analysis.flow = text(value).map(FlowChoice::from),
    },
    Opt {
        name: "frame",
        commands: &[Analyze],
        group: None,
        kind: Kind::Count(1),
        default: Default::None("all"),
        help: "Of the segments table only the row of this frame, of whatever connection.",
        set: |to, value| to.analysis.frame = number(&value),
    },
    Opt {
        name: "interval",
        commands: ANALYSIS,
        group: HOW,
        kind: Kind::Duration,
        default: Default::Number(3_000_000_000),
        help: "Length of a periodic calculation; a live run gives rows as often.",
        set: |to, value| to.analysis.interval = nanos(number(&value).unwrap_or_default()),
    },
    Opt {
        name: "min_packets",
        commands: ANALYSIS,
        group: HOW,
        kind: Kind::Count(1),
        default: Default::Number(300),
        help: "Data packets below which capacity-based scores are not computed.",
        set: |to, value| to.analysis.min_packets = number(&value).unwrap_or_default(),
    },
    Opt {
        name: "compat",
        commands: ANALYSIS,
        group: HOW,
        kind: Kind::Choice(&["seed"]),
        default: Default::None("no"),
        help: "Also compute the formulas of the published prototype.",
        set: |to, value| to.analysis.compat_seed = text(value).is_some(),
    },
    Opt {
        name: "idle_timeout",
        commands: ANALYSIS,
        group: ENDS,
        kind: Kind::Duration,
        default: Default::Number(180_000_000_000),
        help: "Silence after which a connection has ended.",
        set: |to, value| to.analysis.timeouts.idle = nanos(number(&value).unwrap_or_default()),
    },
    Opt {
        name: "half_open_timeout",
        commands: ANALYSIS,
        group: ENDS,
        kind: Kind::Duration,
        default: Default::Number(60_000_000_000),
        help: "The same for a connection with nothing but SYNs.",
        set: |to, value| to.analysis.timeouts.half_open = nanos(number(&value).unwrap_or_default()),
    },
    Opt {
        name: "closed_timeout",
        commands: ANALYSIS,
        group: ENDS,
        kind: Kind::Duration,
        default: Default::Number(10_000_000_000),
        help: "The same for a connection that was closed or reset.",
        set: |to, value| to.analysis.timeouts.closed = nanos(number(&value).unwrap_or_default()),
    },
    Opt {
        name: "clocks_ahead",
        commands: &[Analyze],
        group: None,
        kind: Kind::Text("NS,NS"),
        default: Default::None("0"),
        help: "How far the clock of each capture is ahead, in ns; it is taken off.",
        set: |to, value| {
            let clocks = text(value).unwrap_or_default();
            let parsed = clocks.split(',').map(|ahead| ahead.trim().parse().unwrap_or_default());
            to.source.ahead = parsed.map(Nanos).collect();
        },
    },
    Opt {
        name: "part",
        commands: &[Analyze],
        group: None,
        kind: Kind::Text("K/N"),
        default: Default::None("all"),
        help: "Only the connections of one part of several: 0/4 is the first of four.",
        set: |to, value| to.source.part = text(value).as_deref().and_then(Part::parse),
    },
    Opt {
        name: "workers",
        commands: ANALYSIS,
        group: RUN,
        kind: Kind::Count(1),
        default: Default::None("all cores"),
        help: "Threads; each of a live run has a ring of its own.",
        set: |to, value| {
            let workers = number(&value).unwrap_or_default() as usize;
            (to.source.workers, to.capture.workers) = (workers, workers);
        },
    },
    Opt {
        name: "max_flows",
        commands: &[Analyze],
        group: RUN,
        kind: Kind::Count(1),
        default: Default::Number(10_000_000),
        help: MAX_FLOWS,
        set: max_flows,
    },
    Opt {
        // A link goes on for ever, and a flood of connections must not take the machine's memory:
        // 2,000,000 short ones take 400 MB.
        name: "max_flows",
        commands: &[Monitor],
        group: RUN,
        kind: Kind::Count(1),
        default: Default::Number(2_000_000),
        help: MAX_FLOWS,
        set: max_flows,
    },
    Opt {
        name: "pace",
        commands: &[Analyze],
        group: RUN,
        kind: Kind::Factor,
        default: Default::None("as fast as possible"),
        help: "Read as fast as the packets came, times this: a rehearsal of a live run.",
        set: |to, value| {
            if let Value::Factor(pace) = value {
                to.source.pace = Some(pace);
            }
        },
    },
    Opt {
        name: "fanout",
        commands: &[Monitor],
        group: LINK,
        kind: Kind::Choice(&["hosts", "hash", "cbpf", "qm"]),
        default: Default::Text("hosts"),
        help: "How workers share packets: by hosts, by the kernel's hash, by addresses and ports, \
               by the card's queues.",
        set: |to, value| {
            let fanout = text(value).and_then(|name| Fanout::from_name(&name));
            to.capture.fanout = fanout.unwrap_or(to.capture.fanout);
        },
    },
    Opt {
        name: "snaplen",
        commands: &[Monitor],
        group: LINK,
        kind: Kind::Bytes(64),
        default: Default::Number(256),
        help: "Bytes of a frame that are kept; headers are enough.",
        set: |to, value| to.capture.snaplen = number(&value).unwrap_or_default() as u32,
    },
    Opt {
        name: "promiscuous",
        commands: &[Monitor],
        group: LINK,
        kind: Kind::Flag,
        default: Default::Flag(true),
        help: "Also packets to other hosts.",
        set: |to, value| to.capture.promiscuous = flag(&value),
    },
    Opt {
        name: "ring_bytes",
        commands: &[Monitor],
        group: LINK,
        kind: Kind::Bytes(1 << 22),
        default: Default::Number(64 << 20),
        help: "Memory of each ring.",
        set: |to, value| to.capture.ring_bytes = number(&value).unwrap_or_default() as usize,
    },
    Opt {
        name: "timestamps",
        commands: &[Monitor],
        group: LINK,
        kind: Kind::Choice(&["kernel", "hardware"]),
        default: Default::Text("kernel"),
        help: "Who takes packets' times: the kernel, or the card, which takes CAP_NET_ADMIN.",
        set: |to, value| to.capture.hardware_times = text(value).as_deref() == Some("hardware"),
    },
    Opt {
        name: "drop_privileges",
        commands: &[Monitor],
        group: None,
        kind: Kind::Flag,
        default: Default::Flag(false),
        help: "Give up every capability of this thread once the sockets are open.",
        set: |to, value| to.capture.drop_privileges = flag(&value),
    },
    Opt {
        name: "seed",
        commands: &[Simulate],
        group: SCENARIO,
        kind: Kind::Count(0),
        default: Default::None("the scenario's"),
        help: "Another seed than the scenario's.",
        set: |to, value| to.simulation.seed = number(&value),
    },
    Opt {
        name: "duration",
        commands: &[Simulate],
        group: SCENARIO,
        kind: Kind::Duration,
        default: Default::None("the scenario's"),
        help: "Another duration than the scenario's.",
        set: |to, value| to.simulation.duration = number(&value).map(nanos),
    },
    Opt {
        name: "captures",
        commands: &[Simulate],
        group: OUT,
        kind: Kind::Path("FOLDER"),
        default: Default::None("none"),
        help: "Folder for captures, one file SCENARIO.TAP.pcap for each tap.",
        set: |to, value| to.simulation.captures = text(value).map(Into::into),
    },
    Opt {
        name: "payload",
        commands: &[Simulate],
        group: OUT,
        kind: Kind::Flag,
        default: Default::Flag(false),
        help: "Captures keep the payload (zeros), not only headers.",
        set: |to, value| to.simulation.payload = flag(&value),
    },
    Opt {
        name: "sample",
        commands: &[Simulate],
        group: OUT,
        kind: Kind::Duration,
        default: Default::Number(100_000_000),
        help: "Longest span of a row of the truth, and how often queues are looked at.",
        set: |to, value| to.simulation.sample = nanos(number(&value).unwrap_or_default()),
    },
    Opt {
        name: "tap",
        commands: &[Simulate],
        group: OUT,
        kind: Kind::Text("NAME"),
        default: Default::None("none"),
        help: "Analyse what passes this tap, without a file.",
        set: |to, value| to.tap = text(value),
    },
];

const OUT: Option<&str> = Some("What to write");
const MAX_FLOWS: &str = "Connections that a worker holds at the same time; beyond, closed and \
                         half-open ones go first.";

fn max_flows(to: &mut Settings, value: Value) {
    to.analysis.max_flows = number(&value).unwrap_or_default() as usize;
}

fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn flag(value: &Value) -> bool {
    *value == Value::Flag(true)
}
