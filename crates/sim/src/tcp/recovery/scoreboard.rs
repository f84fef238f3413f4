//! What was sent and what became of it: the scoreboard of RFC 6675, for every recovery variant.
//!
//! Positions are offsets from the initial sequence number, so that they do not wrap. Everything
//! that happens per segment is O(log n) in the segments outstanding: they are found by binary
//! search, selective acknowledgements look only at what they add, and lost segments wait in a heap.

use super::super::ranges::Ranges;
use crate::cc::delivery_rate::SendState;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use tcpwhy_core::units::Nanos;

/// A segment that was sent and is not cumulatively acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// First position.
    pub start: u64,
    /// Sequence space it takes: payload, and one for a FIN.
    pub len: u32,
    /// When it was sent last.
    pub sent_at: Nanos,
    /// What the delivery rate estimator noted then.
    pub state: SendState,
    /// How often it was sent again.
    pub retransmissions: u16,
    /// It carries the FIN.
    pub fin: bool,
    sacked: bool,
    lost: bool,
    /// Sent again since it was last deemed lost.
    in_flight_again: bool,
}

impl Sent {
    /// One past the last position.
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.len)
    }

    /// Whether it was selectively acknowledged.
    pub fn is_sacked(&self) -> bool {
        self.sacked
    }

    /// Whether it is deemed lost and was not sent again since.
    pub fn awaits_retransmission(&self) -> bool {
        self.lost && !self.in_flight_again
    }
}

/// The scoreboard.
#[derive(Debug, Default)]
pub struct Scoreboard {
    /// SND.UNA: the first position not acknowledged.
    pub una: u64,
    /// SND.NXT: the next position to send for the first time.
    pub nxt: u64,
    segments: VecDeque<Sent>,
    sacked: Ranges,
    /// Starts of segments that await retransmission; stale entries are skipped.
    lost: BinaryHeap<Reverse<u64>>,
    /// Transmissions in the order of time, for RACK; stale entries are skipped.
    by_time: VecDeque<(Nanos, u64)>,
    keeps_time_order: bool,
    sacked_bytes: u64,
    sacked_segments: u32,
    lost_bytes: u64,
    again_bytes: u64,
    /// Everything not sacked below this is marked lost by [`Scoreboard::mark_lost_by_sack`].
    lost_edge: u64,
    /// Parts of a SACK block that are new; kept to reuse its memory.
    fresh: Vec<(u64, u64)>,
}

impl Scoreboard {
    /// An empty scoreboard that starts at `una`. RACK needs the transmissions in order of time.
    pub fn new(una: u64, keeps_time_order: bool) -> Scoreboard {
        Scoreboard { una, nxt: una, lost_edge: una, keeps_time_order, ..Scoreboard::default() }
    }

    /// Bytes sent and not cumulatively acknowledged (RFC 5681 FlightSize).
    pub fn flight_size(&self) -> u64 {
        self.nxt - self.una
    }

    /// RFC 6675 SetPipe(): what is in the network.
    pub fn pipe(&self) -> u64 {
        self.flight_size() + self.again_bytes - self.sacked_bytes - self.lost_bytes
    }

    /// Selectively acknowledged bytes.
    pub fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes
    }

    /// Selectively acknowledged segments (RFC 8985 "RACK.segs_sacked").
    pub fn sacked_segments(&self) -> u32 {
        self.sacked_segments
    }

    /// Bytes that are deemed lost and were not sent again.
    pub fn awaiting_bytes(&self) -> u64 {
        self.lost_bytes - self.again_bytes
    }

    /// Bytes that were deemed lost and are under way again.
    pub fn again_bytes(&self) -> u64 {
        self.again_bytes
    }

    /// Whether anything outstanding is deemed lost, sent again or not.
    pub fn has_lost(&self) -> bool {
        self.lost_bytes > 0
    }

    /// The oldest segment outstanding.
    pub fn first(&self) -> Option<&Sent> {
        self.segments.front()
    }

    /// The newest segment outstanding.
    pub fn last(&self) -> Option<&Sent> {
        self.segments.back()
    }

    /// A new segment of `len` leaves at `nxt`.
    pub fn push(&mut self, len: u32, fin: bool, now: Nanos, state: SendState) {
        self.segments.push_back(Sent {
            start: self.nxt,
            len,
            sent_at: now,
            state,
            retransmissions: 0,
            fin,
            sacked: false,
            lost: false,
            in_flight_again: false,
        });
        self.note_time((now, self.nxt));
        self.nxt += u64::from(len);
    }

    /// The segment at `start` leaves again.
    pub fn retransmit(&mut self, start: u64, now: Nanos, state: SendState) {
        let Some(index) = self.index_of(start) else { return };
        let segment = &mut self.segments[index];
        segment.sent_at = now;
        segment.state = state;
        segment.retransmissions = segment.retransmissions.saturating_add(1);
        if segment.lost && !segment.in_flight_again {
            segment.in_flight_again = true;
            self.again_bytes += u64::from(segment.len);
        }
        self.note_time((now, start));
    }

    /// Everything below `ack` is acknowledged. `delivered` sees each segment, or the part of it,
    /// that leaves the scoreboard; one that was sacked before is marked as such.
    pub fn ack(&mut self, ack: u64, mut delivered: impl FnMut(&Sent)) {
        while let Some(front) = self.segments.front_mut()
            && front.start < ack
        {
            let covered = (ack - front.start).min(u64::from(front.len)) as u32;
            let part = Sent { len: covered, ..*front };
            delivered(&part);
            let is_whole = covered == front.len;
            if !is_whole {
                front.start += u64::from(covered);
                front.len -= covered;
                if front.awaits_retransmission() {
                    self.lost.push(Reverse(front.start));
                }
                // The rest keeps its time; the entry under its old start is stale.
                let entry = (front.sent_at, front.start);
                self.note_time(entry);
            }
            self.forget(&part);
            if is_whole {
                self.sacked_segments -= u32::from(part.sacked);
                self.segments.pop_front();
            }
        }
        self.una = self.una.max(ack);
        self.nxt = self.nxt.max(ack);
        self.lost_edge = self.lost_edge.max(ack);
        self.sacked.remove_below(ack);
        if self.segments.is_empty() {
            self.lost.clear();
            self.by_time.clear();
        }
    }

    /// A SACK block covers `start..end`. `delivered` sees each segment that is now wholly covered
    /// and was not before.
    pub fn sack(&mut self, start: u64, end: u64, mut delivered: impl FnMut(&Sent)) {
        let mut fresh = std::mem::take(&mut self.fresh);
        fresh.clear();
        let merged = self.sacked.insert(start, end, |low, high| fresh.push((low, high)));
        for &(low, high) in &fresh {
            let mut index = self.index_over(low);
            while let Some(segment) = self.segments.get_mut(index)
                && segment.start < high
            {
                if !segment.sacked && merged.0 <= segment.start && segment.end() <= merged.1 {
                    delivered(segment);
                    let before = *segment;
                    segment.sacked = true;
                    segment.lost = false;
                    segment.in_flight_again = false;
                    self.forget(&before);
                    self.sacked_bytes += u64::from(before.len);
                    self.sacked_segments += 1;
                }
                index += 1;
            }
        }
        self.fresh = fresh;
    }

    /// RFC 6675 IsLost() for everything at once: what lies below `threshold` discontiguous sacked
    /// sequences, or below more than `(threshold - 1) * mss` sacked bytes, is lost. `lost` sees
    /// each segment that is newly marked.
    pub fn mark_lost_by_sack(&mut self, threshold: u32, mss: u64, mut lost: impl FnMut(&Sent)) {
        let (mut sequences, mut bytes, mut edge) = (0, 0, None);
        for (start, end) in self.sacked.iter().rev() {
            sequences += 1;
            bytes += end - start;
            if sequences >= threshold || bytes > u64::from(threshold - 1) * mss {
                edge = Some(start);
                break;
            }
        }
        let Some(edge) = edge else { return };
        for index in self.index_from(self.lost_edge)..self.segments.len() {
            if self.segments[index].start >= edge {
                break;
            }
            self.mark_lost_index(index, &mut lost);
        }
        self.lost_edge = self.lost_edge.max(edge);
    }

    /// Marks the oldest segment lost, and lost again if its retransmission is under way.
    pub fn mark_head_lost(&mut self, mut lost: impl FnMut(&Sent)) {
        if !self.segments.is_empty() {
            self.mark_lost_index(0, &mut lost);
        }
    }

    /// Marks everything lost that is not sacked and that `is_lost` says.
    pub fn mark_all_lost(&mut self, is_lost: impl Fn(&Sent) -> bool, mut lost: impl FnMut(&Sent)) {
        for index in 0..self.segments.len() {
            if is_lost(&self.segments[index]) {
                self.mark_lost_index(index, &mut lost);
            }
        }
    }

    /// Marks lost, in the order of their transmission, segments for which `expired` says so, up to
    /// the first for which it does not; returns that one.
    pub fn mark_lost_by_time(
        &mut self,
        mut expired: impl FnMut(&Sent) -> bool,
        mut lost: impl FnMut(&Sent),
    ) -> Option<Sent> {
        while let Some(&(sent_at, start)) = self.by_time.front() {
            if start < self.una {
                self.by_time.pop_front();
                continue;
            }
            let current = self.index_of(start).filter(|&index| {
                let segment = &self.segments[index];
                segment.sent_at == sent_at && !segment.sacked && !segment.awaits_retransmission()
            });
            if let Some(index) = current {
                if !expired(&self.segments[index]) {
                    return Some(self.segments[index]);
                }
                self.mark_lost_index(index, &mut lost);
            }
            self.by_time.pop_front();
        }
        None
    }

    /// Takes back every loss mark whose segment was not sent again: the losses were not real.
    pub fn unmark_lost(&mut self) {
        for segment in &mut self.segments {
            if segment.lost {
                segment.lost = false;
                self.lost_bytes -= u64::from(segment.len);
                if segment.in_flight_again {
                    segment.in_flight_again = false;
                    self.again_bytes -= u64::from(segment.len);
                }
            }
        }
        self.lost.clear();
        self.lost_edge = self.una;
        if self.keeps_time_order {
            // Marking consumed their entries.
            let mut entries: Vec<_> = std::mem::take(&mut self.by_time).into();
            entries
                .extend(self.segments.iter().filter(|s| !s.sacked).map(|s| (s.sent_at, s.start)));
            entries.sort_unstable();
            entries.dedup();
            self.by_time = entries.into();
        }
    }

    /// RFC 6675 NextSeg() rule 1: the lowest segment that awaits retransmission.
    pub fn next_lost(&mut self) -> Option<Sent> {
        while let Some(&Reverse(start)) = self.lost.peek() {
            if let Some(index) = self.index_of(start)
                && self.segments[index].awaits_retransmission()
            {
                return Some(self.segments[index]);
            }
            self.lost.pop();
        }
        None
    }

    /// RFC 6675 NextSeg() rule 3: the lowest hole that was neither sent again nor is deemed lost.
    pub fn unmarked_hole(&self) -> Option<Sent> {
        let end = self.sacked.end()?;
        let first = self.index_from(self.lost_edge);
        let above = self.segments.range(first..).take_while(|segment| segment.start < end);
        above.filter(|s| !s.sacked && !s.lost && s.retransmissions == 0).copied().next()
    }

    /// RFC 6675 NextSeg() rule 4, the rescue retransmission: the highest segment not sacked.
    pub fn highest_unsacked(&self) -> Option<Sent> {
        self.segments.iter().rev().find(|segment| !segment.sacked).copied()
    }

    fn mark_lost_index(&mut self, index: usize, lost: &mut impl FnMut(&Sent)) {
        let segment = &mut self.segments[index];
        if segment.sacked || segment.awaits_retransmission() {
            return;
        }
        if segment.in_flight_again {
            segment.in_flight_again = false;
            self.again_bytes -= u64::from(segment.len);
        } else {
            segment.lost = true;
            self.lost_bytes += u64::from(segment.len);
        }
        self.lost.push(Reverse(segment.start));
        lost(segment);
    }

    fn forget(&mut self, part: &Sent) {
        let len = u64::from(part.len);
        if part.sacked {
            self.sacked_bytes -= len;
        }
        if part.lost {
            self.lost_bytes -= len;
        }
        if part.in_flight_again {
            self.again_bytes -= len;
        }
    }

    /// Adds a transmission; nearly always the latest, so that it goes to the end.
    fn note_time(&mut self, entry: (Nanos, u64)) {
        if self.keeps_time_order {
            let later = self.by_time.iter().rev().take_while(|other| **other > entry).count();
            self.by_time.insert(self.by_time.len() - later, entry);
        }
    }

    /// The segment that starts at `start`.
    fn index_of(&self, start: u64) -> Option<usize> {
        let index = self.index_over(start);
        self.segments.get(index).filter(|segment| segment.start == start).map(|_| index)
    }

    /// The first segment that starts at `start` or later.
    fn index_from(&self, start: u64) -> usize {
        let index = self.index_over(start);
        index + usize::from(self.segments.get(index).is_some_and(|segment| segment.start < start))
    }

    /// The first segment that ends beyond `position`. Segments nearly always have the same length:
    /// then the place follows from it, and nothing is searched.
    fn index_over(&self, position: u64) -> usize {
        let Some(first) = self.segments.front().filter(|first| first.start <= position) else {
            return 0;
        };
        let guess = ((position - first.start) / u64::from(first.len)) as usize;
        if let Some(segment) = self.segments.get(guess)
            && segment.start <= position
            && position < segment.end()
        {
            return guess;
        }
        self.segments.partition_point(|segment| segment.end() <= position)
    }
}

#[cfg(test)]
mod tests;
