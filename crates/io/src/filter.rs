//! Capture filters on files: pcap-filter(7) expressions, compiled by libpcap for every link type
//! that appears and run in our interpreter.

use tcpwhy_core::wire::bpf::Program;
use tcpwhy_core::wire::capture::Record;

use crate::error::Error;
use crate::sys::Libpcap;

/// A filter expression and its programs.
pub(crate) struct Filter {
    expression: String,
    programs: Vec<(u16, Program)>,
}

impl Filter {
    /// A filter for frames of these link types; others may follow. An expression that does not
    /// compile is refused before anything is analysed. Without any link type, Ethernet stands in.
    pub fn new(expression: String, linktypes: impl Iterator<Item = u16>) -> Result<Filter, Error> {
        let mut linktypes: Vec<u16> = linktypes.collect();
        if linktypes.is_empty() {
            linktypes.push(tcpwhy_core::wire::linktype::ETHERNET);
        }
        let mut filter = Filter { expression, programs: Vec::new() };
        for linktype in linktypes {
            filter.program(linktype)?;
        }
        Ok(filter)
    }

    /// Whether a frame passes.
    pub fn matches(&mut self, record: &Record) -> Result<bool, Error> {
        Ok(self.program(record.linktype)?.matches(record.bytes, record.wire_len))
    }

    fn program(&mut self, linktype: u16) -> Result<&Program, Error> {
        let at = match self.programs.iter().position(|(known, _)| *known == linktype) {
            Some(at) => at,
            None => {
                let program = self.compile(linktype)?;
                self.programs.push((linktype, program));
                self.programs.len() - 1
            }
        };
        Ok(&self.programs[at].1)
    }

    fn compile(&self, linktype: u16) -> Result<Program, Error> {
        let refused =
            |message: String| Error::Filter { expression: self.expression.clone(), message };
        let libpcap = Libpcap::lock().map_err(|message| refused(message.to_owned()))?;
        let instructions = libpcap.compile(&self.expression, dlt(linktype)).map_err(refused)?;
        Program::new(instructions).map_err(|invalid| refused(invalid.to_string()))
    }
}

/// The DLT value that a LINKTYPE value has on Linux: the same, but for a few old ones.
fn dlt(linktype: u16) -> i32 {
    match linktype {
        101 => 12,
        100 => 11,
        other => i32::from(other),
    }
}
