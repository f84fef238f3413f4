//! Puts prepared frames on an interface, to load what watches the other end.
//!
//! ```text
//! load IFACE blast BYTES  [--pps N] [--seconds N] [--flows N]    as fast as it can without --pps
//! load IFACE flood        [--pps N] [--seconds N]                SYNs, each of a new connection
//! load IFACE replay FILE  [--speed X] [--seconds N]              a capture at its own timing
//! ```
//!
//! `BYTES` counts the frame's checksum, as names of packet sizes do: 64 are 60 in memory. A frame
//! of a capture cut short is filled with zeros. What was sent goes to stdout as JSON. The interface
//! must be one end of a veth pair in a network namespace made for this.

mod frames;
mod send;

use frames::{Blast, Flood};
use send::{Sender, Sent};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tcpwhy_io::read_frames;

const USAGE: &str = "usage: load IFACE blast BYTES|flood|replay FILE \
                     [--pps N] [--seconds N] [--flows N] [--speed X]";

fn main() -> ExitCode {
    match Arguments::parse(std::env::args().skip(1)).and_then(|arguments| run(&arguments)) {
        Ok(sent) => {
            println!("{sent}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("load: {message}");
            ExitCode::from(2)
        }
    }
}

struct Arguments {
    interface: String,
    kind: String,
    /// Of a blast the frames' length, of a replay the file.
    what: String,
    pps: f64,
    seconds: f64,
    flows: u32,
    speed: f64,
}

impl Arguments {
    fn parse(words: impl Iterator<Item = String>) -> Result<Arguments, String> {
        let mut words = words.peekable();
        let mut word = || words.next().ok_or(USAGE.to_string());
        let (interface, kind) = (word()?, word()?);
        let what = if kind == "flood" { String::new() } else { word()? };
        let (pps, seconds, flows, speed) = (f64::INFINITY, f64::INFINITY, 1024, 1.0);
        let mut arguments = Arguments { interface, kind, what, pps, seconds, flows, speed };
        while let Ok(option) = word() {
            let text = word()?;
            let value: f64 = text.parse().map_err(|_| format!("not a number: {text}"))?;
            match option.as_str() {
                "--pps" => arguments.pps = value,
                "--seconds" => arguments.seconds = value,
                "--flows" => arguments.flows = value as u32,
                "--speed" => arguments.speed = value,
                _ => return Err(USAGE.to_string()),
            }
        }
        Ok(arguments)
    }
}

fn run(arguments: &Arguments) -> Result<Sent, String> {
    let mut sender = Sender::open(&arguments.interface)?;
    match arguments.kind.as_str() {
        "blast" => {
            let bytes: usize = arguments.what.parse().map_err(|_| USAGE.to_string())?;
            let mut blast = Blast::new(arguments.flows, bytes);
            stream(&mut sender, arguments, |frame| blast.next(frame))
        }
        "flood" => {
            let mut flood = Flood::default();
            stream(&mut sender, arguments, |frame| flood.next(frame))
        }
        "replay" => replay(&mut sender, arguments),
        _ => Err(USAGE.to_string()),
    }
}

/// Sends frame after frame, so many a second, as evenly as batches allow.
fn stream(
    sender: &mut Sender,
    arguments: &Arguments,
    mut next: impl FnMut(&mut Vec<u8>),
) -> Result<Sent, String> {
    let begin = Instant::now();
    loop {
        let elapsed = begin.elapsed().as_secs_f64();
        if elapsed >= arguments.seconds {
            return sender.finish(elapsed, 1.0);
        }
        let due = (elapsed * arguments.pps) as u64;
        let missing = due.saturating_sub(sender.sent()).min(send::BATCH as u64);
        for _ in 0..missing {
            next(sender.space()?);
        }
        match missing {
            0 => std::thread::sleep(NAP),
            _ => sender.flush()?,
        }
    }
}

/// Sends the frames of a capture at the time between them, divided by the speed. After a stall it
/// goes on at that pace: to catch up would take a burst that no link sends.
fn replay(sender: &mut Sender, arguments: &Arguments) -> Result<Sent, String> {
    let begin = Instant::now();
    let (mut first, mut last) = (None, 0.0);
    let mut stalled = Duration::ZERO;
    let mut failed = None;
    let speed = arguments.speed;
    let (_, errors) = read_frames(&[PathBuf::from(&arguments.what)], |frame| {
        let first = *first.get_or_insert(frame.ts);
        let at = frame.ts.since(first).as_secs_f64();
        if failed.is_some() || at > arguments.seconds * speed {
            return;
        }
        last = at;
        let due = Duration::from_secs_f64(at / speed) + stalled;
        if begin.elapsed() < due {
            failed = sender.flush().err();
            std::thread::sleep(due.saturating_sub(begin.elapsed()).max(NAP));
        }
        let late = begin.elapsed().saturating_sub(due);
        if late > STALL {
            stalled += late;
        }
        match sender.space() {
            Ok(space) => {
                space.extend_from_slice(frame.bytes);
                space.resize((frame.wire_len as usize).clamp(60, LONGEST), 0);
            }
            Err(error) => failed = Some(error),
        }
    });
    let failed = failed.or(errors.first().map(ToString::to_string));
    let elapsed = begin.elapsed().as_secs_f64();
    failed.map_or_else(|| sender.finish(elapsed, last / elapsed), Err)
}

/// So late is more than what sleeping takes.
const STALL: Duration = Duration::from_millis(1);
/// A burst of so long is not too long for any ring.
const NAP: Duration = Duration::from_micros(200);
/// Ethernet with an MTU of 1,500 bytes.
const LONGEST: usize = 1514;
