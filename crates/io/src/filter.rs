//! Capture filters on files: pcap-filter(7) expressions, compiled by libpcap for every link type
//! that appears and run in our interpreter.

use tcpwhy_core::wire::bpf::{Instruction, Program};
use tcpwhy_core::wire::capture::Record;
use tcpwhy_core::wire::linktype::ETHERNET;

use crate::error::Error;
use crate::sys::Libpcap;

/// A filter expression and its programs.
#[derive(Clone)]
pub(crate) struct Filter {
    expression: String,
    programs: Vec<(Variant, Program)>,
}

impl Filter {
    /// A filter for frames of these link types; others may follow. An expression that does not
    /// compile is refused before anything is analysed. When no link type is known yet, as with a
    /// pipe, it has to compile for Ethernet or for Wi-Fi.
    pub fn new(expression: String, linktypes: impl Iterator<Item = u16>) -> Result<Filter, Error> {
        let linktypes: Vec<u16> = linktypes.collect();
        let mut filter = Filter { expression, programs: Vec::new() };
        for &linktype in &linktypes {
            filter.program(Variant::of(linktype, &[]))?;
        }
        if linktypes.is_empty()
            && let Err(error) = filter.program(Variant::of(ETHERNET, &[])).map(drop)
        {
            filter.program(Variant::of(RADIOTAP, &[])).map_err(|_| error)?;
        }
        Ok(filter)
    }

    /// Whether a frame passes.
    pub fn matches(&mut self, record: &Record) -> Result<bool, Error> {
        let variant = Variant::of(record.linktype, record.bytes);
        Ok(self.program(variant)?.matches(record.bytes, record.wire_len))
    }

    /// The program for a link type that was known from the start.
    pub fn instructions(&self, linktype: u16) -> &[Instruction] {
        let variant = Variant::of(linktype, &[]);
        let program = self.programs.iter().find(|(known, _)| *known == variant);
        program.map_or(&[], |(_, program)| program.instructions())
    }

    fn program(&mut self, variant: Variant) -> Result<&Program, Error> {
        let at = match self.programs.iter().position(|(known, _)| *known == variant) {
            Some(at) => at,
            None => {
                let program = self.compile(variant)?;
                self.programs.push((variant, program));
                self.programs.len() - 1
            }
        };
        Ok(&self.programs[at].1)
    }

    fn compile(&self, variant: Variant) -> Result<Program, Error> {
        let refused =
            |message: String| Error::Filter { expression: self.expression.clone(), message };
        let libpcap = Libpcap::lock().map_err(|message| refused(message.to_owned()))?;
        let instructions = libpcap
            .compile(&self.expression, variant.linktype, variant.big_endian)
            .map_err(refused)?;
        Program::new(instructions).map_err(|invalid| refused(invalid.to_string()))
    }
}

/// What decides about the program for a frame.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Variant {
    linktype: u16,
    /// The byte order of the capturing host, which matters for BSD loopback only.
    big_endian: bool,
}

impl Variant {
    fn of(linktype: u16, bytes: &[u8]) -> Variant {
        // Address families are small numbers.
        let big_endian = linktype == LOOPBACK && bytes.starts_with(&[0, 0]);
        Variant { linktype, big_endian }
    }
}

/// LINKTYPE_IEEE802_11_RADIOTAP.
const RADIOTAP: u16 = 127;
/// LINKTYPE_NULL.
const LOOPBACK: u16 = 0;

#[cfg(test)]
mod tests;
