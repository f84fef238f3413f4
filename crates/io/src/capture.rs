//! Live capture: packet sockets, their rings, and how workers share what they see.

mod block;
pub(crate) mod fanout;
mod open;

use std::time::{Duration, Instant};

use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::capture::Record;

use crate::sys::packet::{Ring, interface_exists, wait};
use block::Cursor;
pub use fanout::Fanout;
pub(crate) use open::open;

/// What to capture.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Interfaces, by name. A flow may have one direction on each of two.
    pub interfaces: Vec<String>,
    /// A pcap-filter(7) expression; frames that it does not match are left out, by the kernel where
    /// it can.
    pub filter: Option<String>,
    /// Workers, each with a ring of its own on every interface; 0 is one per core.
    pub workers: usize,
    /// How workers share the packets.
    pub fanout: Fanout,
    /// Bytes of a frame that are kept: headers are enough.
    pub snaplen: u32,
    /// Whether to ask the interface for packets to others.
    pub promiscuous: bool,
    /// Bytes of each ring, in memory that is not swapped.
    pub ring_bytes: usize,
    /// Whether the card is to take the packets' times, where the kernel does otherwise. It takes
    /// CAP_NET_ADMIN, and stays so on the card.
    pub hardware_times: bool,
    /// Whether to give up every capability once the sockets are open.
    pub drop_privileges: bool,
}

impl Default for Capture {
    fn default() -> Capture {
        Capture {
            interfaces: Vec::new(),
            filter: None,
            workers: 0,
            fanout: Fanout::Hosts,
            snaplen: 256,
            promiscuous: true,
            ring_bytes: 64 << 20,
            hardware_times: false,
            drop_privileges: false,
        }
    }
}

/// One worker's share of every interface.
pub(crate) struct Member {
    taps: Vec<Tap>,
    /// For frames with their tag put back.
    space: Vec<u8>,
}

/// One worker's ring on one interface.
struct Tap {
    ring: Ring,
    interface: String,
    linktype: u16,
    /// The next frame of the block at hand, and since when it is at hand.
    open: Option<(Cursor, Instant)>,
    gone: bool,
    /// Frames whose time was taken by the card, and by the kernel, that were not yet reported.
    stamped: [u64; 2],
    /// Whether the card took the time of the last one.
    by_card: bool,
    /// Frames that were not yet reported whose tag hides them from the fan-out, where it matters.
    hidden: Option<u64>,
}

impl Member {
    /// Gives frames that are ready to `each`, a block's worth at most, those of several interfaces
    /// in the order of time. False when there are none.
    pub fn read(&mut self, each: impl FnMut(&Record)) -> bool {
        for tap in &mut self.taps {
            tap.look();
        }
        match self.taps.as_mut_slice() {
            [only] => only.read(Nanos::MAX, &mut self.space, each),
            _ => self.merge(each),
        }
    }

    /// Waits until frames are ready, but not for long.
    pub fn wait(&self) {
        if self.taps.iter().any(|tap| tap.open.is_some()) {
            // They wait for those of another interface.
            return std::thread::sleep(HOLD / 10);
        }
        let rings: Vec<&Ring> = self.taps.iter().filter(|t| !t.gone).map(|t| &t.ring).collect();
        wait(&rings, RETIRE_MS as i32);
        let failed: Vec<_> = rings.iter().filter_map(|ring| ring.socket().take_error()).collect();
        if !failed.is_empty() {
            // The interface is down: packets come again when it is up.
            std::thread::sleep(Duration::from_millis(RETIRE_MS.into()));
        }
    }

    /// Lets no more packets in; what is in the rings stays.
    pub fn shut(&self) {
        for tap in &self.taps {
            // It can only fail for want of memory; then the link's next pause ends the run.
            let _ = tap.ring.socket().filter(&open::NOTHING);
        }
    }

    /// Packets that the kernel had to drop since the last call.
    pub fn drops(&self) -> u64 {
        self.taps.iter().map(|tap| tap.ring.socket().drops().unwrap_or(0)).sum()
    }

    /// Frames since the last call whose time was taken by the card, and by the kernel.
    pub fn stamped(&mut self) -> (u64, u64) {
        let taken = self.taps.iter_mut().map(|tap| std::mem::take(&mut tap.stamped));
        taken.fold((0, 0), |(card, kernel), [c, k]| (card + c, kernel + k))
    }

    /// Frames since the last call that may have come to the wrong worker.
    pub fn hidden(&mut self) -> u64 {
        let hidden = self.taps.iter_mut().filter_map(|tap| tap.hidden.as_mut());
        hidden.map(std::mem::take).sum()
    }

    /// Whether the card takes the times of the frames that come.
    pub fn stamped_by_card(&self) -> bool {
        self.taps.iter().any(|tap| tap.by_card)
    }

    /// Interfaces that are no longer there, each told once, and whether any is left.
    pub fn missing(&mut self) -> (Vec<String>, bool) {
        let mut missing = Vec::new();
        for tap in self.taps.iter_mut().filter(|tap| !tap.gone) {
            tap.gone = !interface_exists(&tap.interface);
            if tap.gone {
                missing.push(tap.interface.clone());
            }
        }
        (missing, self.taps.iter().any(|tap| !tap.gone))
    }

    /// Frames of the earliest block up to where another one goes on. A ring without a block may
    /// have earlier frames that the kernel has not handed over, so the others wait that long.
    fn merge(&mut self, each: impl FnMut(&Record)) -> bool {
        let mut heads: Vec<(Nanos, usize)> = Vec::with_capacity(self.taps.len());
        let mut waiting = Duration::ZERO;
        for (index, tap) in self.taps.iter().enumerate() {
            if let Some((ts, since)) = tap.head() {
                heads.push((ts, index));
                waiting = waiting.max(since.elapsed());
            }
        }
        let rings = self.taps.iter().filter(|tap| !tap.gone).count();
        if heads.len() < rings && waiting < HOLD {
            return false;
        }
        heads.sort_unstable();
        let Some(&(_, first)) = heads.first() else { return false };
        let limit = heads.get(1).map_or(Nanos::MAX, |&(ts, _)| ts);
        self.taps[first].read(limit, &mut self.space, each)
    }
}

impl Tap {
    /// Opens the next block, if there is one.
    fn look(&mut self) {
        if self.open.is_none() {
            self.open = self.ring.block().map(|block| (Cursor::new(block), Instant::now()));
        }
    }

    /// The time of the next frame, and since when its block is at hand.
    fn head(&self) -> Option<(Nanos, Instant)> {
        let (cursor, since) = self.open?;
        // A block without a frame is at its end, which `read` finds.
        let ts = cursor.frame(self.ring.block()?).map_or(Nanos(i64::MIN), |frame| frame.ts);
        Some((ts, since))
    }

    /// Gives the frames of the block up to `limit` to `each`; false without a block.
    fn read(&mut self, limit: Nanos, space: &mut Vec<u8>, mut each: impl FnMut(&Record)) -> bool {
        let Some((mut cursor, since)) = self.open else { return false };
        let block = self.ring.block().unwrap_or_default();
        while let Some(frame) = cursor.frame(block) {
            if frame.ts > limit {
                self.open = Some((cursor, since));
                return true;
            }
            self.by_card = frame.by_card;
            if let (true, Some(hidden)) = (frame.tag_hidden, &mut self.hidden) {
                *hidden += 1;
            }
            self.stamped[usize::from(!frame.by_card)] += 1;
            each(&frame.record(self.linktype, space));
            cursor.pass(&frame);
        }
        self.open = None;
        self.ring.release();
        true
    }
}

/// After this time the kernel hands over a block that is not full: short enough that rows are not
/// late, long enough that a quiet link costs nothing.
const RETIRE_MS: u32 = 50;
/// How long frames of one interface wait for earlier ones of another.
const HOLD: Duration = Duration::from_millis(2 * RETIRE_MS as u64);
