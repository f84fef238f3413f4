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
    /// There is room, and the application has not come yet.
    is_late: bool,
    /// Nothing more will be written.
    is_closed: bool,
    /// Where writes end that are not yet acknowledged, ascending.
    write_ends: VecDeque<u64>,
    /// Up to here everything left at once or waits in one piece.
    joined: u64,
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
            is_late: false,
            is_closed: false,
            write_ends: VecDeque::new(),
            joined: start,
        }
    }

    /// Takes what fits of `bytes`, and all of the last super-segment that it begins: Linux asks for
    /// room at the beginning of one alone (`tcp_sendmsg_locked`). Super-segments are whole segments
    /// of `mss` bytes here, of a fourth of a fixed buffer at most: programs that write more at once
    /// would not be limited by it. A buffer that grows is not what limits.
    pub fn write(&mut self, bytes: u64, mss: u64) -> u64 {
        let room = self.room();
        let is_fixed = self.limits.initial_bytes == self.limits.max_bytes;
        let most = if is_fixed { (self.size / 4).min(SUPER_SEGMENT_BYTES_MAX) } else { 0 };
        let unit = (most / mss).max(1) * mss;
        let taken = if bytes > room { room.next_multiple_of(unit).min(bytes) } else { bytes };
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

    /// How much a write would take. Who was refused is woken when a third of the buffer is free
    /// (Linux's `sk_stream_min_wspace`: half of what waits).
    pub fn room(&self) -> u64 {
        let room = self.size.saturating_sub(self.held());
        let is_asleep = self.is_refusing && !self.has_enough();
        if self.is_closed || is_asleep || self.is_late { 0 } else { room }
    }

    fn has_enough(&self) -> bool {
        self.size.saturating_sub(self.held()) >= self.held() / 2
    }

    /// Whether the kernel wakes the application now: it waits, and nothing has woken it yet.
    pub fn wakes_writer(&self) -> bool {
        self.is_refusing && !self.is_late && !self.is_closed && self.has_enough()
    }

    /// The application that was woken runs later, or does so now.
    pub fn set_late(&mut self, is_late: bool) {
        self.is_late = is_late;
    }

    /// Where the first write ends that left nothing behind when it was made: a segment of its own
    /// may end there, before the next write.
    pub fn write_end_after(&self, position: u64) -> Option<u64> {
        let past = position.max(self.joined);
        self.write_ends.get(self.write_ends.partition_point(|end| *end <= past)).copied()
    }

    /// What was written has to wait: the writes so far make one piece, as in Linux, where a write
    /// goes on in the last unsent buffer.
    pub fn join(&mut self) {
        self.joined = self.end;
    }

    /// Bytes written and not acknowledged.
    pub fn held(&self) -> u64 {
        self.end - self.start
    }

    /// One past the last byte written.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Everything below `una` is acknowledged. The buffer grows to the memory of twice `cwnd`, as
    /// if each segment had a buffer of its own, if it may (Linux's `tcp_sndbuf_expand`). Data in
    /// super-segments take a third of that, so that a recovery does not run out of them.
    pub fn release(&mut self, una: u64, cwnd: u64, mss: u64) {
        self.start = self.start.max(una.min(self.end));
        while self.write_ends.front().is_some_and(|write_end| *write_end <= self.start) {
            self.write_ends.pop_front();
        }
        let segment = (mss + HEADERS_BYTES).next_power_of_two() + SK_BUFF_BYTES;
        let grown = 2 * cwnd.div_ceil(mss) * segment;
        self.size = self.size.max(grown.min(self.limits.max_bytes));
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

    /// Whether the application waits for room. One that was woken does not (Linux's
    /// `tcp_check_space` ends `sndbuf_limited` then).
    pub fn is_refusing(&self) -> bool {
        self.is_refusing && !self.is_late
    }
}

/// What programs such as iperf3 write at once.
const PIECE_BYTES: u64 = 131_072;
/// What Linux keeps in front of a segment and behind it: `MAX_TCP_HEADER` and `skb_shared_info`.
const HEADERS_BYTES: u64 = 640;
/// `struct sk_buff`.
const SK_BUFF_BYTES: u64 = 256;
/// The most that Linux puts into one super-segment (`GSO_LEGACY_MAX_SIZE`).
const SUPER_SEGMENT_BYTES_MAX: u64 = 65_536;

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1448;

    #[test]
    fn it_grows_to_the_memory_of_two_windows() {
        let limits = Buffer { initial_bytes: 87_040, max_bytes: 4_194_304 };
        let mut buffer = SendBuffer::new(limits, 1);
        // 10 segments, Linux's first window: `tcp_init_buffer_space` has the same.
        buffer.release(1, 10 * MSS, MSS);
        assert_eq!(buffer.room(), 2 * 10 * 4352);
        buffer.release(1, 100 * MSS, MSS);
        assert_eq!(buffer.room(), 2 * 100 * 4352);
        buffer.release(1, 10_000 * MSS, MSS);
        assert_eq!(buffer.room(), limits.max_bytes);
    }

    #[test]
    fn a_write_that_finds_room_is_taken_by_whole_super_segments() {
        let mut buffer = SendBuffer::new(Buffer::fixed(64_000), 1);
        // A fourth of the buffer is eleven segments: five of them are the first to exceed it.
        assert_eq!(buffer.write(1 << 40, MSS), 5 * 11 * MSS);
        assert!(buffer.is_refusing());
        assert_eq!(buffer.write(1, MSS), 0);
    }

    #[test]
    fn a_small_write_is_taken_whole_and_the_next_one_waits_for_a_third() {
        let mut buffer = SendBuffer::new(Buffer::fixed(50_000), 1);
        let taken: Vec<u64> = (0..8).map(|_| buffer.write(8192, MSS)).collect();
        assert_eq!(taken, [8192, 8192, 8192, 8192, 8192, 8192, 8192, 0]);
        assert!(buffer.is_refusing());
        buffer.release(1 + 2 * 8192, 0, MSS);
        assert_eq!(buffer.write(8192, MSS), 0);
        buffer.release(1 + 3 * 8192, 0, MSS);
        assert_eq!(buffer.write(8192, MSS), 8192);
    }

    #[test]
    fn a_program_that_was_woken_late_finds_no_room_until_then() {
        let mut buffer = SendBuffer::new(Buffer::fixed(50_000), 1);
        assert_eq!(buffer.write(1 << 40, MSS), 5 * 8 * MSS);
        assert!(!buffer.wakes_writer());
        buffer.release(1 + 30_000, 0, MSS);
        assert!(buffer.wakes_writer());
        buffer.set_late(true);
        assert!(!buffer.is_refusing() && !buffer.wakes_writer());
        assert_eq!((buffer.room(), buffer.write(1_000, MSS)), (0, 0));
        buffer.set_late(false);
        assert_eq!(buffer.write(1_000, MSS), 1_000);
    }
}
