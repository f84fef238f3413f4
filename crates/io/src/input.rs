//! One input: opened, decompressed, cut into frames.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use tcpwhy_core::counter::{Counter, Counters};
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::capture::{Damage, MAX_CAPTURED_LEN, Parser, Record};
use tcpwhy_core::wire::linktype;

use crate::codec::{Codec, Piped};
use crate::error::Error;
use crate::progress::Shared;

/// An input that is being read.
pub(crate) struct Input {
    path: PathBuf,
    /// How far its clock is ahead.
    ahead: Nanos,
    source: Box<dyn Read + Send>,
    codec: Option<&'static Codec>,
    /// Bytes of the file as stored that were read.
    offset: Arc<AtomicU64>,
    window: Vec<u8>,
    start: usize,
    end: usize,
    parser: Option<Parser>,
    waiting: Waiting,
    frames: u64,
    unknown_frames: u64,
    linktype: u16,
}

/// A frame that was parsed but whose time has not come.
#[derive(Default)]
struct Waiting {
    ts: Option<Nanos>,
    linktype: u16,
    wire_len: u32,
    bytes: Vec<u8>,
}

impl Input {
    /// Opens a file, or standard input for `-`. Only the first bytes are read.
    pub fn open(path: &Path, ahead: Nanos, shared: &Arc<Shared>) -> Result<Input, Error> {
        let offset = Arc::new(AtomicU64::new(0));
        let (mut source, pipe) = open_source(path, &offset, shared)?;
        if pipe {
            source = Box::new(Piped::spawn(move || Ok(source), shared.clone()));
        }
        let mut head = Vec::new();
        let read = source.by_ref().take(HEAD_LEN as u64).read_to_end(&mut head);
        read.map_err(|error| Error::unreadable(path, 0, &error))?;
        if head.is_empty() {
            return Err(Error::Empty(path.to_owned()));
        }
        let codec = Codec::of(&head);
        let mut input = Input {
            path: path.to_owned(),
            ahead,
            source,
            codec,
            offset,
            window: vec![0; WINDOW_LEN],
            start: 0,
            end: 0,
            parser: None,
            waiting: Waiting::default(),
            frames: 0,
            unknown_frames: 0,
            linktype: linktype::ETHERNET,
        };
        match codec {
            Some(codec) => {
                let whole = Box::new(io::Cursor::new(head).chain(input.source));
                input.source = Box::new(codec.decompress(whole, shared));
            }
            None => {
                input.window[..head.len()].copy_from_slice(&head);
                input.end = head.len();
            }
        }
        Ok(input)
    }

    /// The time of the next frame; `None` at the end.
    pub fn peek(&mut self) -> Result<Option<Nanos>, Error> {
        while self.waiting.ts.is_none() {
            // No frame has this time, so that none is passed over.
            if !self.read(Nanos(i64::MIN), |_| {})? {
                break;
            }
        }
        Ok(self.waiting.ts)
    }

    /// The link type of the next frame.
    pub fn waiting_linktype(&self) -> Option<u16> {
        self.waiting.ts.map(|_| self.waiting.linktype)
    }

    /// Calls `each` with frames in the order of the file. It stops before one with a time after
    /// `limit`, and when the window is empty and was filled again. Gives false at the end.
    pub fn read(&mut self, limit: Nanos, mut each: impl FnMut(&Record)) -> Result<bool, Error> {
        if let Some(ts) = self.waiting.ts {
            if ts > limit {
                return Ok(true);
            }
            let Waiting { linktype, wire_len, ref bytes, .. } = self.waiting;
            each(&Record { ts, linktype, wire_len, bytes });
            self.waiting.ts = None;
        }
        self.parse(limit, &mut each)?;
        if self.waiting.ts.is_some() { Ok(true) } else { self.refill() }
    }

    /// What the file says about itself, and its error if no frame could be read.
    pub fn finish(&self, counters: &mut Counters) -> Result<(), Error> {
        if let Some(parser) = &self.parser {
            counters.add(Counter::PacketsWithoutTime, parser.without_time());
            counters.add(Counter::KernelDrops, parser.kernel_drops());
        }
        if self.frames > 0 && self.unknown_frames == self.frames {
            let (path, linktype, frames) = (self.path.clone(), self.linktype, self.frames);
            return Err(Error::Linktype { path, linktype, frames });
        }
        Ok(())
    }

    /// Gives the frames in the window to `each`.
    fn parse(&mut self, limit: Nanos, each: &mut impl FnMut(&Record)) -> Result<(), Error> {
        let mut input = &self.window[self.start..self.end];
        if self.parser.is_none() {
            let opened = Parser::open(&mut input);
            self.parser = opened.map_err(|what| Error::NotCapture(self.path.clone(), what))?;
        }
        let Some(parser) = &mut self.parser else { return Ok(()) };
        let result = loop {
            let record = match parser.next(&mut input) {
                Ok(Some(record)) if self.ahead == Nanos(0) => record,
                Ok(Some(record)) => Record { ts: (record.ts - self.ahead).readable(), ..record },
                Ok(None) => break Ok(()),
                Err(damage) => break Err(Error::Damaged(self.path.clone(), damage)),
            };
            self.frames += 1;
            if record.linktype != linktype::ETHERNET
                && linktype::linktype(record.linktype).is_none()
            {
                self.unknown_frames += 1;
                self.linktype = record.linktype;
            }
            if record.ts > limit {
                self.waiting.hold(&record);
                break Ok(());
            }
            each(&record);
        };
        self.start = self.end - input.len();
        result
    }

    /// Moves what is left to the front of the window and reads on. Gives false at the end.
    fn refill(&mut self) -> Result<bool, Error> {
        self.window.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let needed = self.parser.as_ref().map_or(0, Parser::needed);
        debug_assert!(needed <= MAX_RECORD_LEN);
        if needed > self.window.len() {
            self.window.resize(needed.next_multiple_of(WINDOW_LEN), 0);
        }
        loop {
            match self.source.read(&mut self.window[self.end..]) {
                Ok(0) => return self.end_of_file(),
                Ok(n) => {
                    self.end += n;
                    return Ok(true);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.source_error(&error)),
            }
        }
    }

    fn end_of_file(&self) -> Result<bool, Error> {
        let rest = &self.window[..self.end];
        let damage = match &self.parser {
            Some(parser) => match parser.finish(rest) {
                Ok(()) => return Ok(false),
                Err(damage) => damage,
            },
            None if rest.is_empty() => return Err(Error::Empty(self.path.clone())),
            None => {
                let what = format!("the file ends after {} bytes, within its header", rest.len());
                Damage { offset: 0, what }
            }
        };
        Err(Error::Damaged(self.path.clone(), damage))
    }

    fn source_error(&self, error: &io::Error) -> Error {
        let offset = self.offset.load(Relaxed);
        let Some(codec) = self.codec else {
            return Error::unreadable(&self.path, offset, error);
        };
        let message = match error.kind() {
            io::ErrorKind::UnexpectedEof => "it ends too early".to_owned(),
            _ => error.to_string(),
        };
        Error::Compressed { path: self.path.clone(), codec: codec.name, offset, message }
    }
}

/// The bytes of an input as stored, and whether they come from a pipe.
fn open_source(
    path: &Path,
    offset: &Arc<AtomicU64>,
    shared: &Arc<Shared>,
) -> Result<(Box<dyn Read + Send>, bool), Error> {
    let (offset, shared) = (offset.clone(), shared.clone());
    if path.as_os_str() == STDIN {
        return Ok((Box::new(Metered { inner: io::stdin(), offset, shared }), true));
    }
    let unreadable = |error: io::Error| Error::unreadable(path, 0, &error);
    let file = File::open(path).map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?.file_type();
    if kind.is_dir() {
        return Err(Error::Directory(path.to_owned()));
    }
    Ok((Box::new(Metered { inner: file, offset, shared }), !kind.is_file()))
}

impl Waiting {
    fn hold(&mut self, record: &Record) {
        self.ts = Some(record.ts);
        self.linktype = record.linktype;
        self.wire_len = record.wire_len;
        self.bytes.clear();
        self.bytes.extend_from_slice(record.bytes);
    }
}

/// Counts the bytes of a source.
struct Metered<R> {
    inner: R,
    offset: Arc<AtomicU64>,
    shared: Arc<Shared>,
}

impl<R: Read> Read for Metered<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.offset.fetch_add(n as u64, Relaxed);
        self.shared.add_bytes(n as u64);
        Ok(n)
    }
}

/// The name that means standard input.
pub(crate) const STDIN: &str = "-";
/// Bytes that are looked at to recognise compression.
const HEAD_LEN: usize = 64;
/// The window stays within a second-level cache; reading more at once gains nothing.
const WINDOW_LEN: usize = 256 * 1024;
/// The largest record, with headers and options.
const MAX_RECORD_LEN: usize = 2 * MAX_CAPTURED_LEN as usize;
