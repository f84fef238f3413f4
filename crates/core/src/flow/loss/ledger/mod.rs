//! The loss ledger: what happened to every byte of a half.
//!
//! Sequence numbers are 64 bits wide here ([`crate::units::Unwrap`]). The ledger holds the ranges
//! between the lowest unacknowledged and the highest seen byte, sent and missing alike, without
//! gaps.

mod acks;
mod kind;
mod missed;
mod place;
mod repair;
mod rule;

pub use kind::{Acked, Codes, Filed, Flight, Kind, Path};
pub use rule::Rule;

use self::missed::Missed;
use crate::flow::entry::Entry;
use crate::units::{Nanos, Unwrap};
use std::collections::VecDeque;

/// The ranges in flight, and how the sender got there.
#[derive(Debug, Default)]
pub struct Ledger {
    /// Widens the direction's sequence numbers; `None` before the first one is known.
    numbers: Option<Unwrap>,
    sent: VecDeque<Range>,
    /// Lowest byte not acknowledged, as the observer saw it.
    una: u64,
    /// After the highest byte seen.
    next: u64,
    origin: u64,
    /// The lowest byte seen: below `origin` when the capture begins in disorder.
    lowest: u64,
    missed: Missed,
    duplicate_acks: u32,
    /// After the highest byte selectively acknowledged.
    sack_high: u64,
    last_ack_window: Option<u16>,
    last_sent: Nanos,
    last_progress: Nanos,
    last_loss: Option<Nanos>,
    recovery: Option<Recovery>,
    recent: VecDeque<Resent>,
    /// How many of `recent` were not acknowledged yet.
    unproven: u32,
    /// After a probe of a closed window: acknowledged up to here, nothing was missed.
    probe_end: u64,
    /// After the FIN; 0 without one.
    fin_end: u64,
    /// The other direction was seen, whatever it acknowledged.
    answered: bool,
    /// End of the first full segment; 0 without one.
    first_full_end: u64,
    overflow: u64,
    unanswered: u64,
}

/// A contiguous range that was sent, or is missing.
#[derive(Clone, Copy, Debug)]
struct Range {
    start: u64,
    first: Nanos,
    /// Time from the first to the last copy in us.
    last_us: u32,
    frame_low: u32,
    len: u32,
    tsval: u32,
    ip_id: u16,
    /// Relative flight when it was sent first.
    flight: u16,
    /// What had been sent just before it, see [`Codes`].
    burst: u8,
    sends: u8,
    sacked: bool,
    /// Never seen; `first`, `tsval`, `ip_id` and `frame` are those of the segment that opened it.
    hole: bool,
}

impl Range {
    fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Notes another copy.
    fn again(&mut self, entry: &Entry) {
        self.sends = self.sends.saturating_add(1);
        let since_us = entry.ts.since(self.first).0 / 1000;
        self.last_us = since_us.min(i64::from(u32::MAX)) as u32;
        (self.ip_id, self.tsval) = (entry.ip_id, entry.tsval);
    }

    /// When it was sent last.
    fn last(&self) -> Nanos {
        self.first + Nanos::from_micros(i64::from(self.last_us))
    }

    /// The frame of its newest copy, given the number of a frame soon after it.
    fn frame(&self, now: u64) -> u64 {
        now.saturating_sub(u64::from((now as u32).wrapping_sub(self.frame_low)))
    }
}

#[derive(Clone, Copy, Debug)]
struct Recovery {
    kind: Kind,
    /// Recovery ends when this is acknowledged (RFC 6675: RecoveryPoint).
    point: u64,
}

/// A retransmission that may still prove to have been unneeded.
#[derive(Clone, Copy, Debug)]
struct Resent {
    start: u64,
    end: u64,
    ts: Nanos,
    tsval: u32,
    has_timestamps: bool,
    acked: bool,
    spurious: bool,
}

impl Ledger {
    /// Begins anew, in the same memory if that is little.
    pub(crate) fn renew(&mut self) {
        let mut sent = std::mem::take(&mut self.sent);
        sent.clear();
        sent.shrink_to(KEPT_WHEN_RENEWED);
        *self = Ledger { sent, ..Ledger::default() };
    }

    /// Part of [`crate::flow::Flow::shrink`].
    pub(crate) fn shrink(&mut self) {
        self.sent.shrink_to_fit();
        self.recent.shrink_to_fit();
    }

    /// After the highest byte seen.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// What has to be acknowledged for the repair of a loss to end; `None` outside of one.
    pub fn recovery_point(&self) -> Option<u64> {
        self.recovery.map(|recovery| recovery.point)
    }

    /// What is in flight.
    #[inline(always)]
    pub fn flight(&self) -> Flight {
        Flight { una: self.una, next: self.next, repairing: self.recovery.is_some() }
    }

    /// Bytes from the first one that could be sent to the highest one seen.
    pub fn sent_bytes(&self) -> u64 {
        self.next.saturating_sub(self.origin)
    }

    /// Whether no acknowledgement of data was seen.
    pub fn never_acked(&self) -> bool {
        self.una <= self.origin
    }

    /// A full segment ended at `end`.
    #[inline(always)]
    pub fn note_full(&mut self, end: u64) {
        if self.first_full_end == 0 {
            self.first_full_end = end;
        }
    }

    /// Whether smaller segments were acknowledged and full ones, sent as well, never were.
    pub fn only_small_answered(&self) -> bool {
        !self.never_acked() && self.una < self.first_full_end
    }

    /// Ranges that were given up since too many were in flight.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }

    /// The same where nothing was seen of the direction that would have acknowledged them.
    pub fn unanswered(&self) -> u64 {
        self.unanswered
    }

    /// Files the data segment `start..end` if it is what most are: new, next to the last one, and
    /// into an open window. Whether it was.
    #[inline(always)]
    pub fn append_plain(
        &mut self,
        start: u64,
        end: u64,
        frame: u64,
        entry: &Entry,
        path: &Path,
    ) -> bool {
        let plain = start == self.next && end > start && !path.window_closed;
        if plain {
            self.append(start, end, frame, entry, path);
            self.last_sent = entry.ts;
        }
        plain
    }

    /// Files any other data segment `start..end` at its time, and says what it was.
    pub fn data(&mut self, start: u64, end: u64, frame: u64, entry: &Entry, path: &Path) -> Filed {
        let filed = self.classify(start, end, frame, entry, path);
        self.last_sent = entry.ts;
        filed
    }

    fn classify(&mut self, start: u64, end: u64, frame: u64, entry: &Entry, path: &Path) -> Filed {
        let probe = |kind| Filed { kind, ..Filed::new(0) };
        if end - start <= 1 && start + 1 == self.next {
            let kind = if path.window_closed { Kind::ZeroWindowProbe } else { Kind::KeepAlive };
            return probe(kind);
        }
        if end == start + 1 && path.window_closed && (start == self.next || end == self.probe_end) {
            self.probe_end = end;
            return probe(Kind::ZeroWindowProbe);
        }
        if start >= self.next {
            if start > self.next {
                self.open_hole(start, frame, entry, path);
            }
            self.append(start, end, frame, entry, path);
            return Filed::new(end - start);
        }
        self.again(start, end, frame, entry, path)
    }

    /// Files the next data, up to `end`, into an open window; `flight` and `burst` are those of
    /// [`Path`].
    #[inline(always)]
    pub fn append_next(&mut self, end: u64, entry: &Entry, flight: u16, burst: u8) {
        self.append_sent(self.next, end, entry.frame_low, entry, flight, burst, MAX_RANGES);
        self.last_sent = entry.ts;
    }

    #[inline(always)]
    fn append(&mut self, start: u64, end: u64, frame: u64, entry: &Entry, path: &Path) {
        let (flight, burst) = (path.relative_flight, path.bursts.before);
        self.append_sent(start, end, frame as u32, entry, flight, burst, self.most_ranges());
    }

    #[inline(always)]
    #[expect(clippy::too_many_arguments, reason = "fields of a range")]
    fn append_sent(
        &mut self,
        start: u64,
        end: u64,
        frame_low: u32,
        entry: &Entry,
        flight: u16,
        burst: u8,
        most: usize,
    ) {
        if self.sent.is_empty() {
            self.last_progress = entry.ts;
        }
        self.next = end;
        self.push(
            Range {
                start,
                first: entry.ts,
                last_us: 0,
                frame_low,
                len: (end - start) as u32,
                tsval: entry.tsval,
                ip_id: entry.ip_id,
                flight,
                burst,
                sends: 1,
                sacked: false,
                hole: false,
            },
            most,
        );
    }

    /// How many ranges may be in flight. Without acknowledgements, as in a capture of one
    /// direction, there is nothing to wait for. Those of a capture that begins amidst a transfer
    /// first cover what came before it.
    #[inline(always)]
    fn most_ranges(&self) -> usize {
        if self.answered { MAX_RANGES } else { MAX_UNANSWERED }
    }

    #[cold]
    fn open_hole(&mut self, end: u64, frame: u64, entry: &Entry, path: &Path) {
        let mut start = self.next;
        // A gap of more than a window of any size is a capture that lost much: no ledger of it.
        if end - start > MAX_HOLE {
            start = end - MAX_HOLE;
        }
        self.push(
            Range {
                start,
                first: entry.ts,
                last_us: 0,
                frame_low: frame as u32,
                len: (end - start) as u32,
                tsval: entry.tsval,
                ip_id: entry.ip_id,
                flight: path.relative_flight,
                burst: path.bursts.behind,
                sends: 0,
                sacked: false,
                hole: true,
            },
            self.most_ranges(),
        );
    }

    #[inline(always)]
    fn push(&mut self, sent: Range, most: usize) {
        if self.sent.len() >= most {
            let cut = if self.answered { &mut self.overflow } else { &mut self.unanswered };
            *cut += 1;
            self.sent.pop_front();
        }
        self.sent.push_back(sent);
    }

    /// A segment of which at least the first byte lies below the highest seen.
    fn again(&mut self, start: u64, end: u64, frame: u64, entry: &Entry, path: &Path) -> Filed {
        let known_end = end.min(self.next);
        let first_known = self.sent.front().map_or(self.next, |sent| sent.start);
        let above = start.max(first_known);
        if known_end <= self.una || known_end <= above {
            return self.already_acknowledged(start, end, frame, entry, path);
        }
        let first = self.sent.partition_point(|sent| sent.end() <= above);
        // Before the first byte that was seen, nothing was seen.
        let before = self.lowest.saturating_sub(start).min(above - start);
        self.lowest = self.lowest.min(start);
        let (mut seen, mut missing) = (above - start - before, 0);
        let (mut witness, mut opener, mut highest) = (None, None, false);
        let (mut previous_send, mut lost, mut resent) = (None, None, None);
        for index in first..self.sent.len() {
            let sent = self.sent[index];
            if sent.start >= known_end {
                break;
            }
            let overlap = known_end.min(sent.end()) - sent.start.max(above);
            if sent.hole {
                missing += overlap;
                opener.get_or_insert(sent);
            } else {
                seen += overlap;
                witness.get_or_insert(sent.frame(frame));
                let is_first = previous_send.is_none();
                resent = resent.or((is_first && sent.sends > 1).then_some(sent.last()));
                previous_send.get_or_insert(sent.last());
                lost = lost.or((sent.sends == 1).then_some(sent));
                highest = sent.end() == self.next;
                self.sent[index].again(entry);
            }
        }
        if missing > 0 {
            self.fill(above, known_end, frame, entry);
        }
        let fresh = end - known_end + before;
        if end > known_end {
            self.append(known_end, end, frame, entry, path);
        }
        if seen == 0 {
            let opener = opener.expect("bytes below the highest were seen or are missing");
            if let Some(rule) = self.was_reordered(&opener, entry, path) {
                let (kind, witness) = (Kind::Reordered, Some(opener.frame(frame)));
                return Filed { kind, rule, witness, ..Filed::new(missing + fresh) };
            }
            witness = Some(opener.frame(frame));
            previous_send = None;
            lost = Some(opener);
            resent = asked_for_at(&opener, entry, path);
        }
        let lost_at = previous_send.or(opener.map(|opener| opener.first));
        self.resent(start + before, known_end, entry);
        let (kind, rule) = self.repair(start, previous_send, highest, resent, entry, path);
        Filed {
            kind,
            rule,
            retransmitted_bytes: seen + missing,
            loss_event: self.is_loss_event(entry.ts, path),
            rto_event: rule.is_timer(),
            lost_at,
            seen_bytes: seen,
            lost_flight: lost.map(|lost| lost.flight),
            lost_burst: lost.map(|lost| lost.burst),
            lost_offset: lost.map_or(0, |lost| above.saturating_sub(lost.start) as u32),
            witness,
            ..Filed::new(missing + fresh)
        }
    }

    /// A segment below what is acknowledged. Bytes that the capture had missed, or that lie before
    /// the first one it saw, are unique all the same: it has the acknowledgement before the data.
    fn already_acknowledged(
        &mut self,
        start: u64,
        end: u64,
        frame: u64,
        entry: &Entry,
        path: &Path,
    ) -> Filed {
        let fresh = end.saturating_sub(self.next.max(start));
        if fresh > 0 {
            self.append(end - fresh, end, frame, entry, path);
        }
        let found = self.missed.find(start, end);
        let before = self.lowest.saturating_sub(start).min(end - start);
        self.lowest = self.lowest.min(start);
        let again = end - start - fresh;
        let is_drained = fresh == 0 && self.una >= self.next;
        let (kind, rule) = if found + before >= again {
            (Kind::Reordered, Rule::AcknowledgedUnseen)
        } else if is_drained && self.is_expired(entry, path) {
            (Kind::Spurious, Rule::Unheard)
        } else {
            (Kind::Spurious, Rule::Acknowledged)
        };
        Filed {
            kind,
            rule,
            rto_event: rule == Rule::Unheard,
            retransmitted_bytes: again - found - before,
            found_bytes: found,
            ..Filed::new(fresh + found + before)
        }
    }

    /// Marks `start..end` of a hole as seen, splitting it.
    fn fill(&mut self, start: u64, end: u64, frame: u64, entry: &Entry) {
        let mut index = self.sent.partition_point(|sent| sent.end() <= start);
        while let Some(&hole) = self.sent.get(index) {
            if hole.start >= end {
                break;
            }
            if hole.hole {
                let (from, to) = (hole.start.max(start), hole.end().min(end));
                let part = |a: u64, b: u64| Range { start: a, len: (b - a) as u32, ..hole };
                let now = Range {
                    first: entry.ts,
                    last_us: 0,
                    frame_low: frame as u32,
                    tsval: entry.tsval,
                    ip_id: entry.ip_id,
                    // Not the first copy, most likely: no round-trip sample from it.
                    sends: 2,
                    hole: false,
                    ..part(from, to)
                };
                let pieces = [part(hole.start, from), now, part(to, hole.end())];
                self.sent.remove(index);
                for piece in pieces.into_iter().rev().filter(|piece| piece.len > 0) {
                    self.sent.insert(index, piece);
                }
            }
            index += 1;
        }
    }
}

/// When a hole was sent again first, if this fills it much later: a round trip after it opened.
/// Without timestamps the round trip may lack the queue before the observer.
fn asked_for_at(opener: &Range, entry: &Entry, path: &Path) -> Option<Nanos> {
    let srtt = path.rtt.srtt.filter(|_| entry.has_timestamps());
    srtt.map(|srtt| opener.first + srtt)
}

/// Ranges in flight: a window of 1 GiB in full-sized segments is 740,000, and real windows hold a
/// hundredth of that.
const MAX_RANGES: usize = 65_536;
/// Room that the ledger of the next flow takes over.
const KEPT_WHEN_RENEWED: usize = 16;
/// Room that an empty ledger keeps.
const KEPT_RANGES: usize = 4;
/// The same before anything came from the other side: an initial window of anybody.
const MAX_UNANSWERED: usize = 256;
/// The largest window that TCP can advertise (RFC 7323 section 2.3).
const MAX_HOLE: u64 = 1 << 30;
