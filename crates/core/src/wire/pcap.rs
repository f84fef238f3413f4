//! The pcap format (draft-ietf-opsawg-pcap) and the variants that real files show.

use super::stored::{Damage, MAX_CAPTURED_LEN, Record};
use crate::units::Nanos;

/// A pcap file behind its header.
#[derive(Clone, Debug)]
pub struct Pcap {
    big_endian: bool,
    variant: &'static Variant,
    lengths: Lengths,
    linktype: u16,
    offset: u64,
    needed: usize,
}

/// What a magic number says about a file.
#[derive(Debug)]
struct Variant {
    magic: u32,
    /// Nanoseconds per unit of the fractional time.
    unit_ns: u32,
    header_len: usize,
    record_header_len: usize,
}

const VARIANTS: &[Variant] = &[
    Variant { magic: 0xa1b2_c3d4, unit_ns: 1000, header_len: 24, record_header_len: 16 },
    Variant { magic: 0xa1b2_3c4d, unit_ns: 1, header_len: 24, record_header_len: 16 },
    // Alexey Kuznetzov's patch to libpcap 0.4: interface, protocol and packet type follow the
    // usual record header.
    Variant { magic: 0xa1b2_cd34, unit_ns: 1000, header_len: 24, record_header_len: 24 },
    // Navtel: as usual, with nanoseconds.
    Variant { magic: 0xa12b_3c4d, unit_ns: 1, header_len: 24, record_header_len: 16 },
    // IXIA lcap, hardware and software capture: the size of the file follows the header.
    Variant { magic: 0x1c00_01ac, unit_ns: 1, header_len: 28, record_header_len: 16 },
    Variant { magic: 0x1c00_01ab, unit_ns: 1, header_len: 28, record_header_len: 16 },
];

/// Which of the two lengths of a record is which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lengths {
    /// Captured, then on the wire.
    Usual,
    /// The other way round: versions before 2.3, and DG/UX (version 543.0).
    Swapped,
    /// Version 2.3, where both exist: the smaller one is the captured length.
    ByValue,
}

impl Pcap {
    /// Reads the header and moves `input` past it: outer `None` when this is not pcap, inner `None`
    /// when it is cut.
    pub(super) fn open(input: &mut &[u8]) -> Option<Option<Pcap>> {
        let magic = input.first_chunk::<4>()?;
        let (variant, big_endian) = VARIANTS.iter().find_map(|variant| {
            match (u32::from_le_bytes(*magic), u32::from_be_bytes(*magic)) {
                (value, _) if value == variant.magic => Some((variant, false)),
                (_, value) if value == variant.magic => Some((variant, true)),
                _ => None,
            }
        })?;
        let (Some(header), Some(rest)) =
            (input.first_chunk::<24>(), input.get(variant.header_len..))
        else {
            return Some(None);
        };
        *input = rest;
        let half = |at: usize| match big_endian {
            true => u16::from_be_bytes([header[at], header[at + 1]]),
            false => u16::from_le_bytes([header[at], header[at + 1]]),
        };
        let lengths = match (half(4), half(6)) {
            (2, 3) => Lengths::ByValue,
            (2, 0..3) | (543, 0) => Lengths::Swapped,
            _ => Lengths::Usual,
        };
        // The upper bits of the field hold the length of the frame check sequence.
        let linktype = half(if big_endian { 22 } else { 20 });
        let offset = variant.header_len as u64;
        Some(Some(Pcap { big_endian, variant, lengths, linktype, offset, needed: 0 }))
    }

    /// LINKTYPE value of every frame.
    pub fn linktype(&self) -> u16 {
        self.linktype
    }

    pub(super) fn needed(&self) -> usize {
        self.needed
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    #[inline]
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Record<'a>>, Damage> {
        let mut bytes = *input;
        while bytes.len() >= 16 && self.starts_file(bytes) {
            if !self.restart(input) {
                return Ok(None);
            }
            bytes = input;
        }
        let header_len = self.variant.record_header_len;
        let Some((header, _)) = bytes.split_first_chunk::<16>() else {
            self.needed = header_len;
            return Ok(None);
        };
        let [seconds, fraction, first, second] = self.words(header);
        let (captured, wire_len) = match self.lengths {
            Lengths::Usual => (first, second),
            Lengths::Swapped => (second, first),
            Lengths::ByValue => (first.min(second), first.max(second)),
        };
        if captured > MAX_CAPTURED_LEN {
            let what = format!("a record claims {captured} captured bytes");
            return Err(Damage { offset: self.offset, what });
        }
        let end = header_len + captured as usize;
        let Some(frame) = bytes.get(header_len..end) else {
            self.needed = end;
            return Ok(None);
        };
        *input = &bytes[end..];
        self.offset += end as u64;
        let ts = i64::from(seconds) * 1_000_000_000
            + i64::from(fraction) * i64::from(self.variant.unit_ns);
        Ok(Some(Record { ts: Nanos(ts), linktype: self.linktype, wire_len, bytes: frame }))
    }

    #[inline]
    fn words(&self, header: &[u8; 16]) -> [u32; 4] {
        let word = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let words = [word(0), word(4), word(8), word(12)];
        if self.big_endian { words.map(u32::swap_bytes) } else { words }
    }

    /// Whether the header of a second file stands where a record should: `cat a.pcap b.pcap`. It
    /// would read as a record of the year 2055 without a byte.
    #[inline]
    fn starts_file(&self, bytes: &[u8]) -> bool {
        let magic = self.variant.magic.to_be_bytes();
        let nothing = bytes[8..16] == [0; 8];
        nothing && (bytes[..4] == magic || bytes[..4].iter().eq(magic.iter().rev()))
    }

    /// Takes the header of the next file; false when it is cut.
    #[cold]
    fn restart(&mut self, input: &mut &[u8]) -> bool {
        match Pcap::open(input).flatten() {
            Some(next) => {
                *self = Pcap { offset: self.offset + next.offset, ..next };
                true
            }
            None => {
                self.needed = self.variant.header_len;
                false
            }
        }
    }
}
