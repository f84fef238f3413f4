//! Writes synthetic TCP traffic to a capture file, the same for the same seed, for benchmarks.
//!
//! ```text
//! cargo run --release -p tcpwhy-io --example traffic -- paper 1024 p1024.pcap
//! cargo run --release -p tcpwhy-io --example traffic -- mawi 400000 mawi400k.pcap --seed 7
//! ```
//!
//! `paper N`: N connections at the same time, 1 Mbit/s each, in packets of 1500 bytes (Bauer et al.
//! 2021, section V). `paced N`: the same with round trips shorter than the gaps between pairs, and
//! 0.1 % loss. `chunks N`: the same rate in chunks of 60 kB. `asked N`: in answers of 12 kB, each
//! to a request. `mawi N`: a mix like a day of the MAWI archive, N scaled so that 400,000 gives
//! 381,000 TCP and 206,000 UDP flows. `open N`: N short exchanges that never close. The shape of
//! what was written goes to stderr as JSON.

mod flow;
mod mix;
mod packet;
mod random;

use flow::{Event, Flow};
use mix::Mix;
use packet::Capture;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;

const USAGE: &str = "usage: traffic paper|paced|chunks|asked|mawi|open FLOWS FILE|- \
                     [--seed N] [--snaplen BYTES] [--seconds N] [--flow-packets-max N]";

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)).and_then(|arguments| {
        run(&arguments).map_err(|error| format!("{}: {error}", arguments.file))
    }) {
        Ok(summary) => {
            eprintln!("{summary}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("traffic: {message}");
            ExitCode::from(2)
        }
    }
}

struct Arguments {
    kind: String,
    flows: u64,
    file: String,
    seed: u64,
    snaplen: usize,
    seconds: Option<u64>,
    flow_packets_max: u32,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut word = || words.next().ok_or(USAGE.to_string());
        let number = |text: String| text.parse().map_err(|_| format!("not a number: {text}"));
        let (kind, flows, file) = (word()?, number(word()?)?, word()?);
        let (seed, snaplen, seconds, flow_packets_max) = (1, 96, None, 120_000);
        let mut arguments =
            Arguments { kind, flows, file, seed, snaplen, seconds, flow_packets_max };
        while let Ok(option) = word() {
            let value = number(word()?)?;
            match option.as_str() {
                "--seed" => arguments.seed = value,
                "--snaplen" => arguments.snaplen = value as usize,
                "--seconds" => arguments.seconds = Some(value),
                "--flow-packets-max" => arguments.flow_packets_max = value as u32,
                _ => return Err(USAGE.to_string()),
            }
        }
        Ok(arguments)
    }

    fn mix(&self) -> io::Result<Mix> {
        match self.kind.as_str() {
            "paper" => Ok(Mix::paper(self.seed, self.flows, self.seconds.unwrap_or(10))),
            "paced" => Ok(Mix::paced(self.seed, self.flows, self.seconds.unwrap_or(10))),
            "chunks" => Ok(Mix::chunks(self.seed, self.flows, self.seconds.unwrap_or(10))),
            "asked" => Ok(Mix::asked(self.seed, self.flows, self.seconds.unwrap_or(10))),
            "open" => Ok(Mix::open(self.seed, self.flows, self.seconds.unwrap_or(60))),
            "mawi" => {
                let seconds = self.seconds.unwrap_or(120);
                Ok(Mix::mawi(self.seed, self.flows, seconds, self.flow_packets_max))
            }
            _ => Err(io::Error::new(io::ErrorKind::InvalidInput, USAGE)),
        }
    }
}

/// Generates packet after packet in order of time. Only flows that are open are in memory.
fn run(arguments: &Arguments) -> io::Result<String> {
    let mut mix = arguments.mix()?;
    let sink: Box<dyn Write> = match arguments.file.as_str() {
        "-" => Box::new(io::stdout()),
        path => Box::new(File::create(path)?),
    };
    let mut capture = Capture::new(sink, arguments.snaplen)?;
    let mut open = OpenFlows::default();
    let mut due: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
    let mut shape = Shape::default();
    let mut arriving = mix.next();
    loop {
        // A flow enters when its first packet is the next one.
        let arrival = arriving.as_ref().map(|flow| flow.begin);
        if arrival.is_some_and(|at| due.peek().is_none_or(|Reverse(event)| event.at > at)) {
            let flow = arriving.take().expect("checked just above");
            due.push(Reverse(Event::first(flow.begin, open.add(flow))));
            arriving = mix.next();
            continue;
        }
        let Some(Reverse(event)) = due.pop() else { break };
        let flow = open.flow(event.slot);
        flow.step(event, &mut capture, |next| due.push(Reverse(next)))?;
        if flow.leave() {
            shape.add(flow);
            open.free.push(event.slot);
        }
    }
    let (packets, bytes) = capture.finish()?;
    Ok(shape.summary(packets, bytes, mix.end_ns))
}

/// Flows with packets still to come, in slots that are used again.
#[derive(Default)]
struct OpenFlows {
    slots: Vec<Flow>,
    free: Vec<u32>,
}

impl OpenFlows {
    fn add(&mut self, flow: Flow) -> u32 {
        if let Some(slot) = self.free.pop() {
            self.slots[slot as usize] = flow;
            return slot;
        }
        self.slots.push(flow);
        (self.slots.len() - 1) as u32
    }

    fn flow(&mut self, slot: u32) -> &mut Flow {
        &mut self.slots[slot as usize]
    }
}

/// What was written, by packets per flow.
struct Shape {
    tcp_flows: u64,
    udp_flows: u64,
    retransmissions: u64,
    /// How many flows had exactly this many packets; the last one has all the larger ones.
    flows_by_packets: Vec<u64>,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape { tcp_flows: 0, udp_flows: 0, retransmissions: 0, flows_by_packets: vec![0; 4096] }
    }
}

impl Shape {
    fn add(&mut self, flow: &Flow) {
        *if flow.is_tcp() { &mut self.tcp_flows } else { &mut self.udp_flows } += 1;
        self.retransmissions += u64::from(flow.retransmissions);
        let last = self.flows_by_packets.len() - 1;
        self.flows_by_packets[(flow.packets as usize).min(last)] += 1;
    }

    fn summary(&self, packets: u64, bytes: u64, end_ns: u64) -> String {
        let flows = self.tcp_flows + self.udp_flows;
        let mut below = 0;
        let p97 = self.flows_by_packets.iter().position(|&count| {
            below += count;
            below as f64 >= 0.97 * flows as f64
        });
        let over_300: u64 = self.flows_by_packets[301..].iter().sum();
        format!(
            "{{\"packets\": {packets}, \"tcp_flows\": {}, \"udp_flows\": {}, \
             \"wire_bytes\": {bytes}, \"wire_bps\": {:.0}, \"retransmissions\": {}, \
             \"flow_packets_p97\": {}, \"share_over_300_packets\": {:.4}}}",
            self.tcp_flows,
            self.udp_flows,
            bytes as f64 * 8e9 / end_ns as f64,
            self.retransmissions,
            p97.unwrap_or(0),
            over_300 as f64 / flows.max(1) as f64,
        )
    }
}
