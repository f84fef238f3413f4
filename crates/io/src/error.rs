//! What can go wrong between the user's words and the rows, each with its exit code.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use tcpwhy_core::wire::capture::{Damage, NotCapture};

/// An error of a run. Its text is one line: what, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// What was asked for does not make sense.
    Usage(String),
    /// The filter expression does not compile.
    Filter {
        /// As given.
        expression: String,
        /// What libpcap says about it.
        message: String,
    },
    /// An input cannot be opened or read.
    Unreadable {
        /// The input.
        path: PathBuf,
        /// Bytes that were read before.
        offset: u64,
        /// What the system says.
        message: String,
    },
    /// An input is a directory.
    Directory(PathBuf),
    /// An input has no byte.
    Empty(PathBuf),
    /// An input is no capture.
    NotCapture(PathBuf, NotCapture),
    /// A capture cannot be read to its end; what came before was.
    Damaged(PathBuf, Damage),
    /// Compressed data cannot be read to its end; what came before was.
    Compressed {
        /// The input.
        path: PathBuf,
        /// How it is compressed.
        codec: &'static str,
        /// Compressed bytes that were read.
        offset: u64,
        /// What the decompressor says.
        message: String,
    },
    /// No frame of an input has a link type that is known.
    Linktype {
        /// The input.
        path: PathBuf,
        /// LINKTYPE value.
        linktype: u16,
        /// Frames that were read.
        frames: u64,
    },
    /// An interface cannot be captured, or no longer.
    Interface {
        /// Its name.
        name: String,
        /// What is the matter.
        message: String,
    },
    /// A privilege is missing; the text names it and how to get it.
    Privilege(String),
    /// The run was interrupted.
    Interrupted,
}

impl Error {
    /// The exit code of the command line.
    pub fn exit_code(&self) -> i32 {
        match self {
            Error::Usage(_) | Error::Filter { .. } => 2,
            Error::Privilege(_) => 4,
            Error::Interrupted => 130,
            _ => 3,
        }
    }

    /// An error of the system about an input.
    pub(crate) fn unreadable(path: &Path, offset: u64, error: &io::Error) -> Error {
        if error.kind() == io::ErrorKind::IsADirectory {
            return Error::Directory(path.to_owned());
        }
        let message = match error.kind() {
            io::ErrorKind::NotFound => "no such file; check the name".to_owned(),
            io::ErrorKind::PermissionDenied => "permission denied; make it readable".to_owned(),
            _ => error.to_string(),
        };
        Error::Unreadable { path: path.to_owned(), offset, message }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Error::Usage(message) | Error::Privilege(message) => f.write_str(message),
            Error::Filter { expression, message } => {
                let hint = match expression.contains("==") {
                    true => "this looks like a display filter of Wireshark: ",
                    false => "",
                };
                write!(f, "filter '{expression}': {message}; {hint}man pcap-filter has the syntax")
            }
            Error::Unreadable { path, offset: 0, message } => {
                write!(f, "{}: {message}", path.display())
            }
            Error::Unreadable { path, offset, message } => {
                write!(f, "{}: at byte {offset}: {message}", path.display())
            }
            Error::Directory(path) => {
                write!(f, "{}: is a directory; name the captures in it", path.display())
            }
            Error::Empty(path) => {
                write!(f, "{}: empty file; a capture has at least a header", path.display())
            }
            Error::NotCapture(path, what) => write!(f, "{}: {what}", path.display()),
            Error::Damaged(path, damage) if damage.offset <= PCAP_HEADER => {
                write!(f, "{}: {damage}; record it again", path.display())
            }
            Error::Damaged(path, damage) => write!(
                f,
                "{}: {damage}; frames before it were analysed, record it again for the rest",
                path.display()
            ),
            Error::Compressed { path, codec, offset, message } => write!(
                f,
                "{}: damaged {codec} data near byte {offset} of the file: {message}; frames before \
                 it were analysed, copy the file again for the rest",
                path.display()
            ),
            Error::Linktype { path, linktype, frames } => write!(
                f,
                "{}: none of its {frames} frames can be read: link type {linktype} is not known; \
                 capture on an interface with another link type (tcpdump -y)",
                path.display()
            ),
            Error::Interface { name, message } => write!(f, "{name}: {message}"),
            Error::Interrupted => f.write_str("interrupted"),
        }
    }
}

impl std::error::Error for Error {}

/// Length of the header of a pcap file in bytes: damage there has no frame before it.
const PCAP_HEADER: u64 = 24;
