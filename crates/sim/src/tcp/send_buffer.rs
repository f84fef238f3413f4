//! What the application wrote: bytes without content, from written to acknowledged.

use super::config::Buffer;
use std::collections::VecDeque;

/// The send buffer. Positions are offsets from the initial sequence number.
#[derive(Debug)]
pub struct SendBuffer {
    limits: Buffer,
    size: u64,
    /// First position not yet acknowledged.
    start: u64,
    /// One past the last byte written.
    end: u64,
    /// The application was told to wait for room.
    is_refusing: bool,
    /// Nothing more will be written.
    is_closed: bool,
    /// Where writes end that are not yet acknowledged, ascending.
    write_ends: VecDeque<u64>,
}

impl SendBuffer {
    /// An empty buffer whose first byte will be at `start`.
    pub fn new(limits: Buffer, start: u64) -> SendBuffer {
        let size = limits.initial_bytes;
        SendBuffer {
            limits,
            size,
            start,
            end: start,
            is_refusing: false,
            is_closed: false,
            write_ends: VecDeque::new(),
        }
    }

    /// Takes what fits of `bytes`.
    pub fn write(&mut self, bytes: u64) -> u64 {
        let taken = bytes.min(self.room());
        self.end += taken;
        self.is_refusing = taken < bytes;
        if taken > 0 && !self.is_refusing {
            self.write_ends.push_back(self.end);
        }
        taken
    }

    /// Whether `start..end` ends a write, or all that is there: Linux sets PSH on the last segment
    /// of every write (`tcp_push`). Whoever writes without end does so in pieces of
    /// [`PIECE_BYTES`].
    pub fn ends_write(&self, start: u64, end: u64) -> bool {
        let next = self.write_ends.partition_point(|write_end| *write_end <= start);
        end == self.end
            || self.write_ends.get(next).is_some_and(|write_end| *write_end <= end)
            || (self.is_refusing && start / PIECE_BYTES != end / PIECE_BYTES)
    }

    /// How much a write would take.
    pub fn room(&self) -> u64 {
        if self.is_closed { 0 } else { self.size.saturating_sub(self.held()) }
    }

    /// Bytes written and not acknowledged.
    pub fn held(&self) -> u64 {
        self.end - self.start
    }

    /// One past the last byte written.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Everything below `una` is acknowledged. The buffer grows to twice `cwnd`, if it may, as
    /// Linux's does (`tcp_sndbuf_expand`): one window in flight, one to be written meanwhile.
    pub fn release(&mut self, una: u64, cwnd: u64) {
        self.start = self.start.max(una.min(self.end));
        while self.write_ends.front().is_some_and(|write_end| *write_end <= self.start) {
            self.write_ends.pop_front();
        }
        self.size = self.size.max((2 * cwnd).min(self.limits.max_bytes));
    }

    /// Nothing more will be written.
    pub fn close(&mut self) {
        self.is_closed = true;
        self.is_refusing = false;
    }

    /// Whether nothing more will be written: a FIN follows the last byte.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether the application waits for room.
    pub fn is_refusing(&self) -> bool {
        self.is_refusing
    }
}

/// What programs such as iperf3 write at once.
const PIECE_BYTES: u64 = 131_072;
