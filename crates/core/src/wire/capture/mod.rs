//! Capture files as incremental parsers over byte slices: no I/O, any cut of the input is fine.

use super::pcap::Pcap;
use super::pcapng::Pcapng;
pub use super::stored::{Damage, MAX_CAPTURED_LEN, Record};
use std::fmt;

/// A parser of one capture file, of whichever format it is.
#[derive(Clone, Debug)]
pub enum Parser {
    /// pcap in all its variants.
    Pcap(Pcap),
    /// pcapng.
    Pcapng(Pcapng),
}

impl Parser {
    /// Recognises the format by the first bytes of a file and moves `input` past what it took;
    /// `None` when that takes more bytes, 28 at most.
    pub fn open(input: &mut &[u8]) -> Result<Option<Parser>, NotCapture> {
        if input.len() < 4 {
            return Ok(None);
        }
        if input.starts_with(&super::pcapng::MAGIC) {
            return Ok(Some(Parser::Pcapng(Pcapng::default())));
        }
        match Pcap::open(input) {
            Some(opened) => Ok(opened.map(Parser::Pcap)),
            None => Err(NotCapture::recognise(input)),
        }
    }

    /// Takes the next frame off `input`; `None` when it is not there as a whole. Then call again
    /// with at least [`Parser::needed`] bytes, those left in `input` first.
    #[inline]
    pub fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Record<'a>>, Damage> {
        match self {
            Parser::Pcap(pcap) => pcap.next(input),
            Parser::Pcapng(pcapng) => pcapng.next(input),
        }
    }

    /// How many bytes the frame needs for which [`Parser::next`] gave `None`.
    pub fn needed(&self) -> usize {
        match self {
            Parser::Pcap(pcap) => pcap.needed(),
            Parser::Pcapng(pcapng) => pcapng.needed(),
        }
    }

    /// Says whether the file may end here, with these bytes left over.
    pub fn finish(&self, rest: &[u8]) -> Result<(), Damage> {
        let (offset, inside) = match self {
            Parser::Pcap(pcap) => (pcap.offset(), false),
            Parser::Pcapng(pcapng) => (pcapng.offset(), pcapng.inside_block()),
        };
        if rest.is_empty() && !inside {
            return Ok(());
        }
        let what = format!(
            "the file ends in the middle of a record: {} bytes of it are there",
            rest.len()
        );
        Err(Damage { offset, what })
    }

    /// Frames that had no time of their own.
    pub fn without_time(&self) -> u64 {
        match self {
            Parser::Pcap(_) => 0,
            Parser::Pcapng(pcapng) => pcapng.without_time(),
        }
    }

    /// Packets that were dropped before they were captured, as far as the file says.
    pub fn kernel_drops(&self) -> u64 {
        match self {
            Parser::Pcap(_) => 0,
            Parser::Pcapng(pcapng) => pcapng.kernel_drops(),
        }
    }
}

/// A file that is no pcap or pcapng.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCapture {
    /// What it looks like.
    pub found: &'static str,
    /// What to do with it.
    pub advice: &'static str,
}

impl NotCapture {
    /// Tells what a file that does not start like a capture is.
    pub fn recognise(head: &[u8]) -> NotCapture {
        let known = FOREIGN.iter().find(|(magic, ..)| head.starts_with(magic));
        match known {
            Some(&(_, found, advice)) => NotCapture { found, advice },
            None if looks_like_erf(head) => NotCapture { found: "an ERF capture", advice: CONVERT },
            None if is_text(head) => NotCapture { found: "text", advice: RECORD },
            None => NotCapture { found: "neither pcap nor pcapng", advice: RECORD },
        }
    }
}

impl fmt::Display for NotCapture {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}; {}", self.found, self.advice)
    }
}

/// ERF has no magic number: a plausible record type and length stand at fixed places.
fn looks_like_erf(head: &[u8]) -> bool {
    let Some(header) = head.first_chunk::<16>() else { return false };
    let record_len = usize::from(u16::from_be_bytes([header[10], header[11]]));
    let kind = header[8] & 0x7f;
    let next = head.get(record_len + 8).map_or(kind, |byte| byte & 0x7f);
    (1..=27).contains(&kind) && record_len >= 16 && next == kind
}

fn is_text(head: &[u8]) -> bool {
    let head = &head[..head.len().min(512)];
    let printable = |&byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | 0x20..=0x7e | 0x80..);
    !head.is_empty() && head.iter().all(printable)
}

const CONVERT: &str = "convert it with `editcap -F pcap IN OUT`";
const RECORD: &str = "give a pcap or pcapng file, as `tcpdump -w` writes it";
const UNPACK: &str = "unpack it first";

/// Files that people mistake for captures, by their first bytes.
const FOREIGN: &[(&[u8], &str, &str)] = &[
    (b"snoop\0\0\0", "a snoop capture", CONVERT),
    (b"btsnoop\0", "a Bluetooth capture", RECORD),
    (b"iptrace ", "an iptrace capture", CONVERT),
    (b"RTSS", "a Network Monitor 1 capture", CONVERT),
    (b"GMBU", "a Network Monitor 2 capture", CONVERT),
    (b"XCP\0", "a NetXRay capture", CONVERT),
    (b"TRSNIFF data", "a Sniffer capture", CONVERT),
    (b"\x7fver", "an OmniPeek capture", CONVERT),
    (b"BZh", "bzip2 data", "unpack it with `bunzip2` or pipe `bzcat` into `-`"),
    (b"PK\x03\x04", "a zip archive", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"PAR1", "a Parquet file", "query it with `tcpwhy query`"),
    (b"\x7fELF", "a program", RECORD),
    (b"\0\0\0\0", "zeroes", RECORD),
];

#[cfg(test)]
mod tests;
