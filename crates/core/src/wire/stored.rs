//! What a capture file holds, whichever its format.

use crate::units::Nanos;
use std::fmt;

/// A frame as a capture file holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Capture time since the Unix epoch.
    pub ts: Nanos,
    /// LINKTYPE value.
    pub linktype: u16,
    /// Length on the wire in bytes.
    pub wire_len: u32,
    /// What was captured.
    pub bytes: &'a [u8],
}

/// Bytes that one frame may have. Twice what tcpdump and Wireshark write at most (262,144), to
/// leave room for BIG TCP; a larger claim means that the file is damaged.
pub const MAX_CAPTURED_LEN: u32 = 524_288;

/// A place from which a capture file cannot be read on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Where the damaged record starts, in bytes from the start of the (decompressed) file.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "damaged at byte {}: {}", self.offset, self.what)
    }
}
