//! A copy of captures in pcapng, with comments on frames: what an analysis found, where it began.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::capture::Record;
use tcpwhy_core::wire::{Decoder, Frame};

use crate::error::Error;
use crate::files::Inputs;
use crate::input::STDIN;
use crate::progress::Shared;

/// A direction of a connection: source and destination, outside of any tunnel.
pub type Direction = ((IpAddr, u16), (IpAddr, u16));

/// Comments that wait for their frames. They may be added while frames are written.
#[derive(Debug, Default)]
pub struct Comments {
    waiting: Mutex<HashMap<Direction, VecDeque<(Nanos, String)>>>,
    count: AtomicU64,
}

/// What was written.
#[derive(Debug, Default)]
pub struct Written {
    /// Frames.
    pub frames: u64,
    /// Frames with a comment.
    pub comments: u64,
    /// What went wrong with inputs; what came before is written.
    pub damage: Vec<Error>,
}

impl Comments {
    /// Has the first frame of a direction from this time on say something. False when too many
    /// comments wait.
    pub fn add(&self, direction: Direction, at: Nanos, text: String) -> bool {
        if self.count.load(Ordering::Relaxed) >= MAX_COMMENTS {
            return false;
        }
        self.count.fetch_add(1, Ordering::Relaxed);
        let mut waiting = self.waiting.lock().expect("no thread panics with this lock");
        let of_direction = waiting.entry(direction).or_default();
        let place = of_direction.partition_point(|&(other, _)| other <= at);
        of_direction.insert(place, (at, text));
        true
    }

    /// Writes the frames of these inputs in the order of time, to a file or to a pipe.
    pub fn write(&self, inputs: &[PathBuf], output: &Path) -> io::Result<Written> {
        if output.as_os_str() == STDIN {
            return self.write_to(inputs, io::stdout().lock(), true);
        }
        let file = File::options().write(true).create(true).truncate(true).open(output)?;
        let piped = !file.metadata()?.is_file();
        self.write_to(inputs, file, piped)
    }

    /// Whoever reads a pipe has every frame whole at once: half of one would hold the reader until
    /// the next frame comes.
    fn write_to(&self, paths: &[PathBuf], output: impl Write, piped: bool) -> io::Result<Written> {
        let mut writer = Writer::new(BufWriter::new(output))?;
        let mut inputs = Inputs::open(paths, Arc::new(Shared::new(None)));
        if piped {
            writer.out.flush()?;
        }
        let mut decoder = Decoder::new();
        let mut written = Written::default();
        loop {
            let mut failed = None;
            let more = inputs.read(|record| {
                if failed.is_some() {
                    return;
                }
                written.frames += 1;
                let comment = self.take(&mut decoder, written.frames, record);
                written.comments += u64::from(comment.is_some());
                failed = writer.frame(record, comment.as_deref()).err();
                if piped && failed.is_none() {
                    failed = writer.out.flush().err();
                }
            });
            if let Some(error) = failed {
                return Err(error);
            }
            if !more {
                writer.out.flush()?;
                written.damage = inputs.errors;
                return Ok(written);
            }
        }
    }

    /// The comment of a frame: the last of those that wait for one of its direction.
    fn take(&self, decoder: &mut Decoder, number: u64, record: &Record) -> Option<String> {
        if self.count.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let &Record { ts, linktype, wire_len, bytes } = record;
        let segment = decoder.decode(&Frame { number, ts, linktype, wire_len, bytes }).ok()?;
        let (low, high) = (segment.key.low, segment.key.high);
        let (low, high) = ((low.ip(), low.port), (high.ip(), high.port));
        let direction = if segment.forward { (low, high) } else { (high, low) };
        let mut waiting = self.waiting.lock().expect("no thread panics with this lock");
        let of_direction = waiting.get_mut(&direction)?;
        let mut found = None;
        while of_direction.front().is_some_and(|&(at, _)| at <= ts) {
            found = of_direction.pop_front();
            self.count.fetch_sub(1, Ordering::Relaxed);
        }
        if of_direction.is_empty() {
            waiting.remove(&direction);
        }
        found.map(|(_, text)| text)
    }
}

/// Writes pcapng (draft-ietf-opsawg-pcapng), little-endian, times in nanoseconds.
struct Writer<W: Write> {
    out: W,
    /// Link types of the interfaces that were described.
    interfaces: Vec<u16>,
}

impl<W: Write> Writer<W> {
    fn new(out: W) -> io::Result<Writer<W>> {
        let mut writer = Writer { out, interfaces: Vec::new() };
        let mut body = Vec::new();
        body.extend(0x1A2B_3C4D_u32.to_le_bytes());
        body.extend(1_u16.to_le_bytes());
        body.extend(0_u16.to_le_bytes());
        body.extend((-1_i64).to_le_bytes());
        writer.block(SECTION, &body)?;
        Ok(writer)
    }

    fn frame(&mut self, record: &Record, comment: Option<&str>) -> io::Result<()> {
        let interface = self.interface(record.linktype)?;
        let ticks = record.ts.0 as u64;
        let mut body = Vec::with_capacity(record.bytes.len() + 64);
        body.extend(interface.to_le_bytes());
        body.extend(((ticks >> 32) as u32).to_le_bytes());
        body.extend((ticks as u32).to_le_bytes());
        body.extend((record.bytes.len() as u32).to_le_bytes());
        body.extend(record.wire_len.to_le_bytes());
        body.extend(record.bytes);
        pad(&mut body);
        if let Some(text) = comment {
            option(&mut body, OPT_COMMENT, shortened(text).as_bytes());
            option(&mut body, OPT_END, &[]);
        }
        self.block(PACKET, &body)
    }

    /// The number of the interface with this link type; it is described before its first frame.
    fn interface(&mut self, linktype: u16) -> io::Result<u32> {
        if let Some(index) = self.interfaces.iter().position(|&known| known == linktype) {
            return Ok(index as u32);
        }
        let mut body = Vec::new();
        body.extend(linktype.to_le_bytes());
        body.extend([0; 2]);
        body.extend(0_u32.to_le_bytes());
        option(&mut body, OPT_TSRESOL, &[9]);
        option(&mut body, OPT_END, &[]);
        self.block(INTERFACE, &body)?;
        self.interfaces.push(linktype);
        Ok(self.interfaces.len() as u32 - 1)
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> io::Result<()> {
        let len = (body.len() as u32 + 12).to_le_bytes();
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&len)?;
        self.out.write_all(body)?;
        self.out.write_all(&len)
    }
}

fn option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    pad(body);
}

fn pad(body: &mut Vec<u8>) {
    body.resize(body.len().next_multiple_of(4), 0);
}

/// As much of a text as an option holds, in whole characters.
fn shortened(text: &str) -> &str {
    let mut end = text.len().min(MAX_TEXT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

const SECTION: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;

const OPT_END: u16 = 0;
const OPT_COMMENT: u16 = 1;
const OPT_TSRESOL: u16 = 9;

/// Comments that may wait: some 300 MB.
const MAX_COMMENTS: u64 = 1_000_000;
/// Of a comment; an option has a length of 16 bits.
const MAX_TEXT_BYTES: usize = 8192;

#[cfg(test)]
mod tests {
    use super::*;
    use tcpwhy_core::wire::capture::Parser;

    const A: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)), 1000);
    const B: (IpAddr, u16) = (IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)), 80);

    /// A raw IPv4 packet from A to B with as many bytes of payload.
    fn packet(payload: usize) -> Vec<u8> {
        let len = 40 + payload;
        let mut bytes = vec![0x45, 0, (len >> 8) as u8, len as u8, 0, 0, 0, 0, 64, 6, 0, 0];
        bytes.extend([10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend(A.1.to_be_bytes());
        bytes.extend(B.1.to_be_bytes());
        bytes.extend([0; 8]);
        bytes.extend([0x50, 0x10, 255, 255, 0, 0, 0, 0]);
        bytes.resize(len, 7);
        bytes
    }

    fn written(
        comments: &Comments,
        times: &[i64],
        sizes: &[usize],
    ) -> (Vec<u8>, Vec<Option<String>>) {
        let mut writer = Writer::new(Vec::new()).expect("memory takes everything");
        let mut decoder = Decoder::new();
        let mut told = Vec::new();
        for (number, (&at, &size)) in times.iter().zip(sizes).enumerate() {
            let bytes = packet(size);
            let wire_len = bytes.len() as u32;
            let record = Record { ts: Nanos(at), linktype: 101, wire_len, bytes: &bytes };
            let comment = comments.take(&mut decoder, number as u64 + 1, &record);
            writer.frame(&record, comment.as_deref()).expect("memory takes everything");
            told.push(comment);
        }
        (writer.out, told)
    }

    #[test]
    fn the_first_frame_of_the_direction_from_a_time_on_has_the_comment() {
        let comments = Comments::default();
        for (at, text) in [(20, "window"), (5, "never alone"), (7, "application"), (90, "too late")]
        {
            assert!(comments.add((A, B), Nanos(at), text.to_owned()));
        }
        comments.add((B, A), Nanos(0), "the other direction".to_owned());
        let (_, told) = written(&comments, &[0, 10, 19, 21, 30], &[0; 5]);
        let told: Vec<_> = told.iter().map(Option::as_deref).collect();
        assert_eq!(told, [None, Some("application"), None, Some("window"), None]);
    }

    #[test]
    fn what_is_written_is_read_again() {
        let comments = Comments::default();
        comments.add((A, B), Nanos(0), "é".repeat(MAX_TEXT_BYTES));
        let (times, sizes) = ([1_700_000_000_123_456_789, 1_700_000_000_123_456_790], [3, 4]);
        let (bytes, told) = written(&comments, &times, &sizes);
        assert!(told[0].is_some());
        let mut rest = bytes.as_slice();
        let mut parser = Parser::open(&mut rest).expect("a capture").expect("a whole head");
        for (at, size) in times.into_iter().zip(sizes) {
            let record = parser.next(&mut rest).expect("no damage").expect("a frame");
            assert_eq!((record.ts, record.linktype), (Nanos(at), 101));
            assert_eq!(record.bytes, packet(size));
        }
        assert!(parser.next(&mut rest).expect("no damage").is_none());
    }
}
