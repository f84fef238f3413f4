//! Compressed inputs, recognised by their first bytes, not by their names.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use liblzma::read::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};
use lz4_flex::frame::FrameDecoder;

use crate::progress::Shared;

type Source = Box<dyn Read + Send>;

/// A way in which captures are compressed.
pub(crate) struct Codec {
    /// Its name in messages.
    pub name: &'static str,
    recognise: fn(&[u8]) -> bool,
    decode: fn(Source) -> io::Result<Source>,
}

const CODECS: &[Codec] = &[
    Codec {
        name: "gzip",
        recognise: |head| head.starts_with(&[0x1f, 0x8b]),
        decode: |source| Ok(Box::new(flate2::read::MultiGzDecoder::new(source))),
    },
    Codec {
        name: "zstd",
        // A data frame, or a skippable one, with which pzstd starts (RFC 8878 section 3.1).
        recognise: |head| {
            head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
                || matches!(head, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..])
        },
        decode: |source| Ok(Box::new(zstd::stream::read::Decoder::new(source)?)),
    },
    Codec {
        name: "xz",
        recognise: |head| head.starts_with(b"\xfd7zXZ\0"),
        decode: |source| {
            let stream = Stream::new_stream_decoder(XZ_MEMORY, CONCATENATED)?;
            Ok(Box::new(XzDecoder::new_stream(source, stream)))
        },
    },
    Codec {
        name: "lz4",
        recognise: |head| head.starts_with(&[0x04, 0x22, 0x4d, 0x18]),
        decode: |source| Ok(Box::new(Lz4::new(source))),
    },
];

impl Codec {
    /// The codec of a file that starts like this.
    pub fn of(head: &[u8]) -> Option<&'static Codec> {
        CODECS.iter().find(|codec| (codec.recognise)(head))
    }

    /// Decompresses on a thread of its own.
    pub fn decompress(&'static self, source: Source, shared: &Arc<Shared>) -> Piped {
        Piped::spawn(move || (self.decode)(source), shared.clone())
    }
}

/// The lz4 decoder stops after a frame, and takes a file that ends between two blocks for a whole
/// one; this reads on, and does not.
struct Lz4(FrameDecoder<Tail>);

/// A source that remembers how it ended.
struct Tail {
    source: Source,
    last: [u8; 8],
    ended: bool,
}

impl Lz4 {
    fn new(source: Source) -> Lz4 {
        Lz4(FrameDecoder::new(Tail { source, last: [0xff; 8], ended: false }))
    }
}

impl Read for Lz4 {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.0.read(buffer)?;
            let tail = self.0.get_ref();
            if n > 0 || tail.ended && tail.is_whole() {
                return Ok(n);
            }
            if tail.ended {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

impl Tail {
    /// A frame ends with four zero bytes and, if its header said so, a checksum.
    fn is_whole(&self) -> bool {
        self.last[4..] == [0; 4] || self.last[..4] == [0; 4]
    }
}

impl Read for Tail {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        self.ended = n == 0 && !buffer.is_empty();
        let new = &buffer[n.saturating_sub(8)..n];
        self.last.rotate_left(new.len());
        self.last[8 - new.len()..].copy_from_slice(new);
        Ok(n)
    }
}

/// What another thread reads: a decompressor, or a pipe that may have nothing to say for long.
pub(crate) struct Piped {
    blocks: Receiver<io::Result<Vec<u8>>>,
    empty: Sender<Vec<u8>>,
    block: Vec<u8>,
    taken: usize,
    shared: Arc<Shared>,
}

impl Piped {
    /// Starts the thread.
    pub fn spawn(
        open: impl FnOnce() -> io::Result<Source> + Send + 'static,
        shared: Arc<Shared>,
    ) -> Piped {
        let (full_end, blocks) = sync_channel(BLOCKS);
        let (empty, empty_end) = channel();
        thread::spawn(move || pump(open, &full_end, &empty_end));
        Piped { blocks, empty, block: Vec::new(), taken: 0, shared }
    }

    /// The next block; `None` at the end, or when the run is to stop.
    fn receive(&self) -> Option<io::Result<Vec<u8>>> {
        loop {
            match self.blocks.recv_timeout(STOP_CHECK) {
                Ok(block) => return Some(block),
                Err(RecvTimeoutError::Timeout) if !self.shared.stopped() => {}
                Err(_) => return None,
            }
        }
    }
}

impl Read for Piped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.block.len() {
            let Some(block) = self.receive() else { return Ok(0) };
            let used = std::mem::replace(&mut self.block, block?);
            self.taken = 0;
            // The other thread has ended when it does not want it back.
            let _ = self.empty.send(used);
        }
        let rest = &self.block[self.taken..];
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        self.taken += n;
        Ok(n)
    }
}

/// Reads until the end, an error, or nobody listens any more.
fn pump(
    open: impl FnOnce() -> io::Result<Source>,
    full: &SyncSender<io::Result<Vec<u8>>>,
    empty: &Receiver<Vec<u8>>,
) {
    let mut source = match open() {
        Ok(source) => source,
        Err(error) => return drop(full.send(Err(error))),
    };
    loop {
        let mut block = empty.try_recv().unwrap_or_default();
        block.resize(BLOCK_LEN, 0);
        match source.read(&mut block) {
            Ok(0) => return,
            Ok(n) => {
                block.truncate(n);
                if full.send(Ok(block)).is_err() {
                    return;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return drop(full.send(Err(error))),
        }
    }
}

/// Memory that an xz file may ask for, in bytes: `xz -9` asks for 65 MiB. (zstd refuses windows of
/// more than 128 MiB by itself.)
const XZ_MEMORY: u64 = 1 << 30;
/// Blocks between the threads: enough that neither waits for the other at every block.
const BLOCKS: usize = 8;
const BLOCK_LEN: usize = 256 * 1024;
/// How long a reader may sleep before it looks whether the run is to stop.
const STOP_CHECK: Duration = Duration::from_millis(50);
