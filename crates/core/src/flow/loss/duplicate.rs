//! Frames that a mirror port delivers twice.

use crate::flow::entry::Entry;
use crate::units::Nanos;
use crate::wire::flags;

/// The last few frames of a flow, to recognise copies.
#[derive(Clone, Debug, Default)]
pub struct Recent {
    /// Their fingerprints, and their times.
    prints: [u32; REMEMBERED],
    times: [Nanos; REMEMBERED],
    at: u8,
    copies: u32,
}

impl Recent {
    /// Whether `entry` is a copy of a frame seen within the last millisecond. A host that sends
    /// something again gives it a new IPv4 identification. Without one, the same bytes with the
    /// same timestamps within 100 us are a copy. Pure acknowledgements are only once the flow has
    /// shown copies of something else.
    #[inline(always)]
    pub fn is_copy(&mut self, entry: &Entry) -> bool {
        let print = fingerprint(entry);
        // Mostly none is the same, which all at once say.
        let same = self.prints.iter().fold(false, |same, &seen| same | (seen == print));
        if same && self.is_recent(print, entry) {
            self.note_copy();
            return true;
        }
        self.remember(print, entry.ts);
        false
    }

    /// Remembers frames of which none can be a copy, since all carry something new.
    #[inline]
    pub fn skip(&mut self, entries: &[Entry]) {
        let known = entries.len().saturating_sub(REMEMBERED);
        self.at = self.at.wrapping_add(known as u8);
        for entry in &entries[known..] {
            self.remember(fingerprint(entry), entry.ts);
        }
    }

    #[inline(always)]
    fn remember(&mut self, print: u32, ts: Nanos) {
        let at = usize::from(self.at) % REMEMBERED;
        (self.prints[at], self.times[at]) = (print, ts);
        self.at = self.at.wrapping_add(1);
    }

    /// Whether a frame with this fingerprint is so new that `entry` is its copy.
    #[cold]
    fn is_recent(&self, print: u32, entry: &Entry) -> bool {
        let bare = entry.ip_id == 0 && entry.seq_len() == 0;
        let shown = self.copies >= COPIES_SHOWN;
        if bare && !shown {
            return false;
        }
        let within = if entry.ip_id != 0 || entry.has(flags::SYN) || bare {
            WITH_IDENTIFICATION
        } else {
            WITHOUT_IDENTIFICATION
        };
        // Clocks of most captures tell microseconds.
        let since_us = |at: Nanos| entry.ts.0 / 1000 - at.0 / 1000;
        let mut seen = self.prints.iter().zip(self.times);
        seen.any(|(&seen, at)| seen == print && since_us(at) < within)
    }

    /// Takes note that the capture shows copies.
    pub fn note_copy(&mut self) {
        self.copies = self.copies.saturating_add(1);
    }
}

/// All that a retransmission or another acknowledgement would change. Never 0.
fn fingerprint(entry: &Entry) -> u32 {
    let numbers = u64::from(entry.seq.0) << 32 | u64::from(entry.ack.0);
    let times = u64::from(entry.tsval) << 32 | u64::from(entry.tsecr);
    let rest = u64::from(entry.payload_len) << 32
        | u64::from(entry.ip_id) << 16
        | u64::from(entry.window_raw);
    // Fibonacci hashing of each word: collisions need the same flow within a millisecond.
    let mix = |word: u64| word.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let kind = u64::from(entry.flags()) << 1 | u64::from(entry.forward());
    let early = mix(numbers).rotate_left(29) ^ times ^ kind;
    // Only the high bits of the last product depend on all others.
    (mix(mix(early).rotate_left(29) ^ rest) >> 32) as u32 | 1
}

/// Frames between a frame and its copy at most: a mirror port delivers them close together. A
/// power of two, so that the place of the next one may turn over.
const REMEMBERED: usize = 8;
/// Copies of others from which those of bare acknowledgements are taken for such.
const COPIES_SHOWN: u32 = 2;
const WITH_IDENTIFICATION: i64 = 1000;
const WITHOUT_IDENTIFICATION: i64 = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Seq;

    fn frame(us: i64, ip_id: u16, payload_len: u32) -> Entry {
        let ts = Nanos::from_micros(1_000_000 + us);
        Entry { ts, ip_id, payload_len, seq: Seq(1), ..Entry::default() }
    }

    #[test]
    fn the_identification_tells_a_copy_from_a_retransmission() {
        let mut recent = Recent::default();
        assert!(!recent.is_copy(&frame(0, 7, 1448)));
        assert!(recent.is_copy(&frame(30, 7, 1448)));
        assert!(!recent.is_copy(&frame(60, 8, 1448)));
        assert!(!recent.is_copy(&frame(2_000, 7, 1448)), "too late for a mirror");
    }

    #[test]
    fn acknowledgements_without_identification_may_be_duplicates_for_real() {
        let mut recent = Recent::default();
        assert!(!recent.is_copy(&frame(0, 0, 0)));
        assert!(!recent.is_copy(&frame(10, 0, 0)));
        for i in 0..3 {
            assert!(!recent.is_copy(&frame(100 + i, i as u16 + 1, 100)));
            assert!(recent.is_copy(&frame(100 + i, i as u16 + 1, 100)));
        }
        assert!(!recent.is_copy(&frame(2_000, 0, 0)));
        assert!(recent.is_copy(&frame(2_500, 0, 0)), "of a batch that came once more");
        assert!(!recent.is_copy(&frame(4_000, 0, 0)));
    }
}
