//! The receiver's window as the observer sees it.

use super::scale::ScaleEvidence;
use crate::flow::entry::Entry;
use crate::wire::flags;

/// The newest window, and the shift by which it is read.
#[derive(Debug)]
pub struct ReceiverWindow {
    /// Shift of the window; `None` while it is unknown.
    pub scale: Option<u8>,
    /// What may be sent ends here: 0 while the window is closed, [`UNLIMITED`] while unknown.
    limit: u64,
    closed: bool,
    /// Made while the scale is unknown.
    evidence: Option<Box<ScaleEvidence>>,
}

impl Default for ReceiverWindow {
    fn default() -> ReceiverWindow {
        ReceiverWindow { scale: None, limit: UNLIMITED, closed: false, evidence: None }
    }
}

/// A window that an acknowledgement brings.
#[derive(Clone, Copy, Debug)]
pub struct Advertised {
    /// In bytes; `None` while the scale is unknown.
    pub rwnd: Option<u64>,
    /// It is zero, and the one before was not.
    pub closes: bool,
}

impl ReceiverWindow {
    /// Takes the window that comes with `ack`, while `una..next` is in flight.
    #[inline(always)]
    pub fn advertise(&mut self, entry: &Entry, ack: u64, una: u64, next: u64) -> Advertised {
        let syn = entry.has(flags::SYN);
        let scale = if syn { Some(0) } else { self.scale };
        let rwnd = scale.map(|scale| u64::from(entry.window_raw) << scale);
        if rwnd.is_none() {
            self.learn_scale(next.saturating_sub(ack), entry.window_raw);
        }
        if ack < una {
            return Advertised { rwnd, closes: false };
        }
        let closed = entry.window_raw == 0 && !syn;
        let closes = closed && !self.closed;
        self.closed = closed;
        let edge = rwnd.map_or(UNLIMITED, |rwnd| ack + rwnd);
        self.limit = if closed { 0 } else { edge };
        Advertised { rwnd, closes }
    }

    /// The same for an open window of known scale that comes with the newest acknowledgement.
    #[inline(always)]
    pub fn move_on(&mut self, entry: &Entry, ack: u64) -> u32 {
        let rwnd = u32::from(entry.window_raw) << self.scale.unwrap_or(0);
        self.closed = false;
        self.limit = ack + u64::from(rwnd);
        rwnd
    }

    #[cold]
    fn learn_scale(&mut self, flight: u64, window_raw: u16) {
        self.evidence.get_or_insert_default().add(flight, window_raw);
    }

    /// Whether the newest window is zero.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether it is open and its scale known.
    #[inline(always)]
    pub fn is_plain(&self) -> bool {
        self.scale.is_some() && !self.closed
    }

    /// Whether `len` bytes from `next` on fit. An unknown window has room.
    #[inline(always)]
    pub fn has_room(&self, next: u64, len: u32) -> bool {
        self.limit >= next + u64::from(len)
    }

    /// The scale that the flight sizes imply, when the handshake was not seen.
    pub fn inferred_scale(&self) -> Option<u8> {
        self.evidence.as_ref()?.least_scale()
    }

    /// The window in bytes by the least scale that the flight sizes allow, when the handshake was
    /// not seen.
    pub fn inferred_rwnd(&self) -> Option<u64> {
        let evidence = self.evidence.as_ref()?;
        Some(u64::from(evidence.raw_most) << evidence.least_scale()?)
    }
}

/// Beyond every number of the wide sequence space.
const UNLIMITED: u64 = u64::MAX;

#[cfg(test)]
mod tests {
    use super::*;

    fn window(window_raw: u16) -> Entry {
        Entry { window_raw, ..Entry::default() }
    }

    #[test]
    fn a_window_closes_once_and_only_the_newest_acknowledgement_counts() {
        let mut receiver = ReceiverWindow { scale: Some(1), ..ReceiverWindow::default() };
        assert!(receiver.has_room(0, u32::MAX), "unknown");
        assert_eq!(receiver.advertise(&window(500), 1_000, 1_000, 2_000).rwnd, Some(1_000));
        assert!(receiver.has_room(1_500, 500) && !receiver.has_room(1_501, 500));
        assert!(!receiver.advertise(&window(0), 900, 1_000, 2_000).closes, "an old one");
        assert!(receiver.advertise(&window(0), 1_000, 1_000, 2_000).closes);
        assert!(!receiver.advertise(&window(0), 1_000, 1_000, 2_000).closes, "still closed");
        assert!(receiver.is_closed() && !receiver.has_room(1, 0));
    }
}
