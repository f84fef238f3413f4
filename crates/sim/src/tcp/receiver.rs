//! The receiving half: what is in order, what is not, and when to say so.
//!
//! Positions are offsets from the peer's initial sequence number. How much room is left is the
//! question of [`super::window`].

use super::config::{Buffer, Config, DelayedAck};
use super::ranges::Ranges;
use super::window::AutoTune;
use crate::packet::SackBlocks;
use tcpwhy_core::units::{Nanos, Seq};

/// The receiving half.
#[derive(Debug)]
pub struct Receiver {
    /// RCV.NXT.
    pub nxt: u64,
    /// What arrived beyond it.
    pub(super) out_of_order: Ranges,
    /// In-order bytes that the application has not read.
    pub(super) unread: u64,
    /// Bytes read by the application.
    pub(super) read: u64,
    /// Size of the receive buffer, and how far it may grow.
    pub(super) capacity: u64,
    pub(super) limits: Buffer,
    /// Right edge of the advertised window: RCV.NXT + RCV.WND. It never moves back.
    pub(super) edge: u64,
    /// Rcv.Wind.Shift.
    pub(super) shift: u8,
    pub(super) clamp: Option<u64>,
    /// The most that is advertised so far: what arrives opens it up to the buffer (`rcv_ssthresh`).
    pub(super) threshold: u64,
    /// Our MSS: what moves the window's edge at least.
    pub(super) mss: u64,
    pub(super) tune: AutoTune,
    /// RCV.NXT in the last acknowledgement sent (RFC 7323 "Last.ACK.sent").
    pub last_ack: u64,
    acks: AckSchedule,
    sack: SackHistory,
    /// Position of the peer's FIN.
    fin_at: Option<u64>,
}

/// When to acknowledge.
#[derive(Debug)]
struct AckSchedule {
    delayed: Option<DelayedAck>,
    /// When a waiting acknowledgement leaves at the latest.
    deadline: Nanos,
    /// Why one leaves at once.
    due: Option<Due>,
    /// Duplicate acknowledgements that are due besides: one for each segment out of order.
    more_duplicates: u32,
    /// Segments that are still acknowledged at once.
    quick_left: u32,
    /// In-order bytes received since the last acknowledgement.
    unacknowledged: u64,
    /// The largest segment received so far, at most our MSS.
    largest_segment: u64,
}

/// Why an acknowledgement is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Data arrived, or something that must be answered.
    Ack,
    /// The application made room.
    WindowUpdate,
}

/// What the SACK option reports.
#[derive(Debug)]
struct SackHistory {
    is_enabled: bool,
    most_blocks: usize,
    /// Positions within the blocks reported most recently, latest first.
    recent: [u64; SackBlocks::MAX],
    /// A duplicate to report (RFC 2883).
    duplicate: Option<(u64, u64)>,
}

impl Receiver {
    /// Before the handshake.
    pub fn new(config: &Config) -> Receiver {
        Receiver {
            nxt: 0,
            out_of_order: Ranges::default(),
            unread: 0,
            read: 0,
            capacity: config.receive_buffer.initial_bytes,
            limits: config.receive_buffer,
            edge: 0,
            shift: 0,
            clamp: config.window_clamp_bytes,
            threshold: first_window(config),
            mss: u64::from(config.mss),
            tune: AutoTune::default(),
            last_ack: 0,
            acks: AckSchedule {
                delayed: config.delayed_ack,
                deadline: Nanos::MAX,
                due: None,
                more_duplicates: 0,
                quick_left: config.delayed_ack.map_or(0, |delayed| delayed.quick),
                unacknowledged: 0,
                largest_segment: 0,
            },
            sack: SackHistory {
                is_enabled: false,
                most_blocks: SackBlocks::MAX,
                recent: [0; SackBlocks::MAX],
                duplicate: None,
            },
            fin_at: None,
        }
    }

    /// The peer's SYN arrived; data starts after it.
    pub fn on_syn(&mut self) {
        self.nxt = super::sender::FIRST_BYTE;
        if self.edge > 0 {
            // Our SYN advertised a window before the peer's position was known.
            self.edge += self.nxt;
        }
        self.last_ack = self.nxt;
    }

    /// What the handshake settled for this half.
    pub fn establish(&mut self, now: Nanos, sack: bool, timestamps: bool, shift: u8) {
        self.sack.is_enabled = sack;
        self.sack.most_blocks = if timestamps { 3 } else { 4 };
        self.shift = shift;
        self.tune.start(now);
    }

    /// A segment with sequence space arrived: `payload` bytes at `start`, perhaps a FIN after them.
    pub fn on_data(&mut self, now: Nanos, start: u64, payload: u64, fin: bool) {
        let payload_end = start + payload;
        let takes_fin = fin && payload_end <= self.edge;
        if takes_fin {
            self.fin_at.get_or_insert(payload_end);
        }
        // The FIN takes a position as a byte does, in the window and in SACK blocks (RFC 9293
        // section 3.4).
        let end = payload_end.min(self.edge) + u64::from(takes_fin);
        let segment = payload.min(self.mss);
        self.acks.largest_segment = self.acks.largest_segment.max(segment);
        let accepted_start = start.max(self.nxt);
        if payload > 0 && start < self.nxt {
            self.sack.duplicate = Some((start, payload_end.min(self.nxt)));
        }
        if accepted_start > self.nxt && accepted_start < end {
            self.hold(accepted_start, end);
        } else if accepted_start < end {
            self.take_in_order(now, end);
        } else {
            // Nothing of it is new, or nothing of it fits: RFC 9293 section 3.10.7.4, "an
            // acknowledgment should be sent in reply".
            self.acknowledge_now();
        }
    }

    /// RFC 5681 section 4.2: "a TCP receiver SHOULD send an immediate duplicate ACK when an
    /// out-of-order segment arrives".
    fn hold(&mut self, start: u64, end: u64) {
        let mut fresh = 0;
        let held = self.out_of_order.insert(start, end, |low, high| fresh += high - low);
        if fresh < end - start {
            self.sack.duplicate = Some((start, end));
        }
        self.sack.note(held, start);
        if self.acks.due.is_some() {
            self.acks.more_duplicates += 1;
        }
        self.acknowledge_now();
    }

    fn take_in_order(&mut self, now: Nanos, end: u64) {
        let before = self.nxt;
        let filled_gap = !self.out_of_order.is_empty();
        self.nxt = end;
        if let Some((_, held_end)) = self.out_of_order.containing(end) {
            self.nxt = held_end;
        }
        self.out_of_order.remove_below(self.nxt);
        let has_fin = self.fin_at.is_some_and(|fin_at| (before..self.nxt).contains(&fin_at));
        let bytes = self.nxt - before - u64::from(has_fin);
        self.unread += bytes;
        self.acks.unacknowledged += bytes;
        if self.open_window(bytes) {
            self.acks.window_opened();
        }
        self.tune.on_data(now, self.nxt, self.edge);
        if filled_gap || has_fin || self.acks.is_enough() {
            self.acknowledge_now();
        } else if self.acks.deadline == Nanos::MAX {
            let timeout = self.acks.delayed.map_or(Nanos(0), |delayed| delayed.timeout);
            self.acks.deadline = now + timeout;
        }
    }

    /// An acknowledgement leaves with the next segment, whatever it carries.
    pub fn acknowledge_now(&mut self) {
        self.acks.due = Some(Due::Ack);
    }

    /// The delayed acknowledgement has waited long enough.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.acks.deadline <= now {
            self.acknowledge_now();
        }
    }

    /// When a delayed acknowledgement leaves; `Nanos::MAX` when none waits.
    pub fn deadline(&self) -> Nanos {
        self.acks.deadline
    }

    /// Why a segment without payload is to leave now, if one is.
    pub fn due(&self) -> Option<Due> {
        self.acks.due
    }

    /// A segment with the current acknowledgement leaves.
    pub fn on_ack_sent(&mut self) {
        self.last_ack = self.nxt;
        self.sack.duplicate = None;
        self.acks.deadline = Nanos::MAX;
        self.acks.unacknowledged = 0;
        self.acks.quick_left = self.acks.quick_left.saturating_sub(1);
        if self.acks.more_duplicates > 0 {
            self.acks.more_duplicates -= 1;
        } else {
            self.acks.due = None;
        }
    }

    /// Whether there is anything for a SACK option to report.
    fn has_blocks(&self) -> bool {
        self.sack.is_enabled && (self.sack.duplicate.is_some() || !self.out_of_order.is_empty())
    }

    /// The blocks for the next acknowledgement, with `irs` as their origin: RFC 2018 section 4, a
    /// duplicate first (RFC 2883 section 4), then the block that changed last.
    pub fn sack_blocks(&self, irs: Seq) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        if !self.has_blocks() {
            return blocks;
        }
        let duplicates = usize::from(self.sack.duplicate.is_some());
        let mut push = |(start, end): (u64, u64)| {
            let block = (irs + start as u32, irs + end as u32);
            let is_listed = blocks.iter().skip(duplicates).any(|other| *other == block);
            if blocks.len() < self.sack.most_blocks && !is_listed {
                blocks.push(block.0, block.1);
            }
        };
        if let Some(duplicate) = self.sack.duplicate {
            push(duplicate);
        }
        if !self.out_of_order.is_empty() {
            let recent = self.sack.recent.iter();
            recent.filter_map(|&point| self.out_of_order.containing(point)).for_each(push);
        }
        blocks
    }

    /// Whether the peer's FIN and everything before it arrived.
    pub fn is_closed(&self) -> bool {
        self.fin_at.is_some_and(|fin_at| self.nxt > fin_at)
    }

    /// In-order bytes received.
    pub fn delivered(&self) -> u64 {
        self.read + self.unread
    }

    /// Bytes that can be read.
    pub fn readable(&self) -> u64 {
        self.unread
    }

    /// The application takes up to `bytes`. When that makes room worth telling, a window update is
    /// due.
    pub fn read(&mut self, now: Nanos, bytes: u64) -> u64 {
        let taken = bytes.min(self.unread);
        self.unread -= taken;
        self.read += taken;
        self.tune_buffer(now);
        if taken > 0 && self.acks.due.is_none() && self.is_update_worthwhile() {
            self.acks.due = Some(Due::WindowUpdate);
        }
        taken
    }
}

/// The window before anything has arrived, in whole segments where it holds one
/// (`tcp_select_initial_window`).
fn first_window(config: &Config) -> u64 {
    let mss = u64::from(config.mss).max(1);
    config
        .first_window_bytes
        .map_or(u64::MAX, |bytes| if bytes < mss { bytes } else { bytes / mss * mss })
}

impl AckSchedule {
    /// Linux acknowledges at once what opened the window (`tcp_grow_window`).
    fn window_opened(&mut self) {
        if self.delayed.is_some_and(|delayed| delayed.quick > 0) {
            self.quick_left |= 1;
        }
    }

    /// RFC 5681 section 4.2: "at least every second full-sized segment". Linux acknowledges as soon
    /// as there is more than the segments before that one (`__tcp_ack_snd_check`).
    fn is_enough(&self) -> bool {
        let Some(delayed) = self.delayed else { return true };
        self.quick_left > 0
            || self.unacknowledged > u64::from(delayed.segments - 1) * self.largest_segment.max(1)
    }
}

impl SackHistory {
    /// The block `held` changed, by data at `point`.
    fn note(&mut self, held: (u64, u64), point: u64) {
        let is_same = |other: u64| held.0 <= other && other < held.1;
        let place = self.recent.iter().position(|&other| is_same(other));
        let last = place.unwrap_or(SackBlocks::MAX - 1);
        self.recent.copy_within(0..last, 1);
        self.recent[0] = point;
    }
}
