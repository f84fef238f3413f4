//! The pcapng format (draft-ietf-opsawg-pcapng): sections, interfaces, packets; every other block
//! is passed over.

use super::stored::{Damage, MAX_CAPTURED_LEN, Record};
use crate::units::Nanos;

/// The first four bytes of a pcapng file, the same in both byte orders.
pub(super) const MAGIC: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];

/// A pcapng file. It starts with a section header, which [`Pcapng::next`] reads.
#[derive(Clone, Debug, Default)]
pub struct Pcapng {
    big_endian: bool,
    interfaces: Vec<Interface>,
    offset: u64,
    needed: usize,
    /// Bytes of the present block that are still to be passed over.
    skip: u64,
    last_ts: Nanos,
    without_time: u64,
    /// Drops of the sections that have ended.
    drops: u64,
}

#[derive(Clone, Debug)]
struct Interface {
    linktype: u16,
    snaplen: u32,
    resolution: Resolution,
    offset_s: i64,
    drops: u64,
}

/// The unit of an interface's timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolution {
    /// So many nanoseconds.
    Nanos(u32),
    /// The 10^n-th part of a second, finer than a nanosecond.
    Decimal(u8),
    /// The 2^n-th part of a second.
    Binary(u8),
}

impl Pcapng {
    pub(super) fn needed(&self) -> usize {
        self.needed
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn inside_block(&self) -> bool {
        self.skip > 0
    }

    pub(super) fn without_time(&self) -> u64 {
        self.without_time
    }

    pub(super) fn kernel_drops(&self) -> u64 {
        self.drops + self.interfaces.iter().map(|interface| interface.drops).sum::<u64>()
    }

    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<Option<Record<'a>>, Damage> {
        loop {
            if self.skip > 0 {
                let passed = self.skip.min(input.len() as u64);
                *input = &input[passed as usize..];
                self.skip -= passed;
                self.offset += passed;
            }
            let Some(header) = input.first_chunk::<12>() else {
                self.needed = 12;
                return Ok(None);
            };
            let (kind, len) = self.block_header(header)?;
            if !matches!(kind, SECTION | INTERFACE | STATISTICS | ENHANCED | SIMPLE | PACKET) {
                self.skip = u64::from(len);
                continue;
            }
            let limit = MAX_CAPTURED_LEN + MAX_OPTIONS_LEN;
            if len > limit {
                return Err(self.damage(format!("a block claims {len} bytes")));
            }
            let bytes: &'a [u8] = input;
            let Some(block) = bytes.get(..len as usize) else {
                self.needed = len as usize;
                return Ok(None);
            };
            let (body, trailer) = block[8..].split_at(len as usize - 12);
            if self.word(trailer, 0) != Some(len) {
                return Err(self.damage("the two lengths of a block differ".to_owned()));
            }
            let record = self.block(kind, body)?;
            *input = &bytes[len as usize..];
            self.offset += u64::from(len);
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// Type and length of a block. A section header also sets the byte order.
    #[inline]
    fn block_header(&mut self, header: &[u8; 12]) -> Result<(u32, u32), Damage> {
        if header[..4] == MAGIC {
            match header[8..] {
                [0x1a, 0x2b, 0x3c, 0x4d] => self.big_endian = true,
                [0x4d, 0x3c, 0x2b, 0x1a] => self.big_endian = false,
                _ => return Err(self.damage("a section without byte-order magic".to_owned())),
            }
        } else if self.offset == 0 {
            return Err(self.damage("no section header".to_owned()));
        }
        let word = |at: usize| self.word(header, at).unwrap_or_default();
        let (kind, len) = (word(0), word(4));
        if len < 12 || len % 4 != 0 {
            return Err(self.damage(format!("a block claims {len} bytes")));
        }
        Ok((kind, len))
    }

    fn block<'a>(&mut self, kind: u32, body: &'a [u8]) -> Result<Option<Record<'a>>, Damage> {
        let record = match kind {
            ENHANCED => self.enhanced(body, self.word(body, 0)),
            PACKET => self.enhanced(body, self.half(body, 0).map(u32::from)),
            SIMPLE => self.simple(body),
            SECTION => self.section(body).map(|()| None),
            INTERFACE => self.interface(body).map(|()| None),
            _ => self.statistics(body).map(|()| None),
        };
        record.map_err(|what| self.damage(what))
    }

    /// An enhanced packet block; the obsolete packet block differs only in where it keeps the
    /// interface.
    #[inline]
    fn enhanced<'a>(
        &mut self,
        body: &'a [u8],
        interface: Option<u32>,
    ) -> Result<Option<Record<'a>>, String> {
        const CUT: &str = "a packet block is too short for its packet";
        let header = body.first_chunk::<20>().ok_or(CUT)?;
        let word = |at: usize| self.word(header, at).unwrap_or_default();
        let ticks = u64::from(word(4)) << 32 | u64::from(word(8));
        let (captured, wire_len) = (word(12), word(16));
        let bytes = body[20..].get(..captured as usize).ok_or(CUT)?;
        let interface = interface.unwrap_or_default();
        let interface = self
            .interfaces
            .get(interface as usize)
            .ok_or_else(|| format!("a packet of interface {interface}, which is not described"))?;
        let ts = interface.time(ticks);
        self.last_ts = ts;
        Ok(Some(Record { ts, linktype: interface.linktype, wire_len, bytes }))
    }

    /// A simple packet block has no time and no captured length.
    fn simple<'a>(&mut self, body: &'a [u8]) -> Result<Option<Record<'a>>, String> {
        let wire_len = self.word(body, 0).ok_or("a simple packet block is too short")?;
        let interface = self.interfaces.first().ok_or("a packet before any interface")?;
        let snaplen = if interface.snaplen == 0 { u32::MAX } else { interface.snaplen };
        let captured = wire_len.min(snaplen) as usize;
        let bytes = &body[4..];
        let bytes = bytes.get(..captured).unwrap_or(bytes);
        self.without_time += 1;
        Ok(Some(Record { ts: self.last_ts, linktype: interface.linktype, wire_len, bytes }))
    }

    fn section(&mut self, body: &[u8]) -> Result<(), String> {
        let version = self.half(body, 4).ok_or("a section header is too short")?;
        if version != 1 {
            return Err(format!("a section of pcapng version {version}; only version 1 is known"));
        }
        self.drops = self.kernel_drops();
        self.interfaces.clear();
        Ok(())
    }

    fn interface(&mut self, body: &[u8]) -> Result<(), String> {
        const CUT: &str = "an interface description is too short";
        if self.interfaces.len() >= MAX_INTERFACES {
            return Err(format!("more than {MAX_INTERFACES} interfaces"));
        }
        let mut interface = Interface {
            linktype: self.half(body, 0).ok_or(CUT)?,
            snaplen: self.word(body, 4).ok_or(CUT)?,
            resolution: Resolution::Nanos(1000),
            offset_s: 0,
            drops: 0,
        };
        self.options(&body[8..], |code, value| match (code, value) {
            (IF_TSRESOL, &[exponent, ..]) => interface.resolution = Resolution::from(exponent),
            (IF_TSOFFSET, value) => interface.offset_s = self.long(value).unwrap_or(0) as i64,
            _ => {}
        });
        self.interfaces.push(interface);
        Ok(())
    }

    /// Interface statistics: the counts are totals since the start of the capture.
    fn statistics(&mut self, body: &[u8]) -> Result<(), String> {
        let index = self.word(body, 0).ok_or("interface statistics are too short")?;
        let mut drops = 0u64;
        self.options(body.get(12..).unwrap_or_default(), |code, value| {
            if matches!(code, ISB_IFDROP | ISB_OSDROP) {
                drops = drops.saturating_add(self.long(value).unwrap_or(0));
            }
        });
        if let Some(interface) = self.interfaces.get_mut(index as usize) {
            interface.drops = interface.drops.max(drops);
        }
        Ok(())
    }

    /// Calls `each` with code and value of every option.
    fn options(&self, mut bytes: &[u8], mut each: impl FnMut(u16, &[u8])) {
        while let (Some(code), Some(len)) = (self.half(bytes, 0), self.half(bytes, 2)) {
            let len = usize::from(len);
            let Some(value) = bytes.get(4..4 + len) else { return };
            if code == END_OF_OPTIONS {
                return;
            }
            each(code, value);
            bytes = bytes.get(4 + len.next_multiple_of(4)..).unwrap_or_default();
        }
    }

    #[inline]
    fn word(&self, bytes: &[u8], at: usize) -> Option<u32> {
        let bytes = *bytes.get(at..)?.first_chunk::<4>()?;
        Some(if self.big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn half(&self, bytes: &[u8], at: usize) -> Option<u16> {
        let bytes = *bytes.get(at..)?.first_chunk::<2>()?;
        Some(if self.big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) })
    }

    fn long(&self, bytes: &[u8]) -> Option<u64> {
        let bytes = *bytes.first_chunk::<8>()?;
        Some(if self.big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    #[cold]
    fn damage(&self, what: String) -> Damage {
        Damage { offset: self.offset, what }
    }
}

impl Interface {
    /// The nearest time that is readable: no capture is of another.
    #[inline]
    fn time(&self, ticks: u64) -> Nanos {
        let since_offset = match self.resolution {
            Resolution::Nanos(unit) => i128::from(ticks) * i128::from(unit),
            Resolution::Decimal(exponent) => match 10i128.checked_pow(u32::from(exponent)) {
                Some(per_second) => i128::from(ticks) * 1_000_000_000 / per_second,
                None => 0,
            },
            Resolution::Binary(exponent) => (i128::from(ticks) * 1_000_000_000) >> exponent,
        };
        let ns = since_offset + i128::from(self.offset_s) * 1_000_000_000;
        Nanos(ns.clamp(-i128::from(i64::MAX), i128::from(i64::MAX)) as i64).readable()
    }
}

impl From<u8> for Resolution {
    /// The value of if_tsresol: a negative power of 10, or of 2 with the most significant bit.
    fn from(value: u8) -> Resolution {
        match value & 0x7f {
            exponent if value & 0x80 != 0 => Resolution::Binary(exponent),
            exponent @ 0..=9 => Resolution::Nanos(10u32.pow(9 - u32::from(exponent))),
            exponent => Resolution::Decimal(exponent),
        }
    }
}

// Block types.
const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 2;
const SIMPLE: u32 = 3;
const STATISTICS: u32 = 5;
const ENHANCED: u32 = 6;
// Option codes.
const END_OF_OPTIONS: u16 = 0;
const IF_TSRESOL: u16 = 9;
const IF_TSOFFSET: u16 = 14;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// Room for the options of a block beside the packet; options are at most 65,535 bytes each, and
/// comments are short in practice.
const MAX_OPTIONS_LEN: u32 = 262_144;
/// An enhanced packet block can name more, but no capture has them.
const MAX_INTERFACES: usize = 65_536;
