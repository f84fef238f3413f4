//! The scoreboard against a model that looks at every segment each time.

use super::*;
use crate::random::Random;

/// One segment of the model.
#[derive(Clone, Copy, Debug)]
struct Plain {
    start: u64,
    end: u64,
    sent_at: i64,
    sacked: bool,
    lost: bool,
    again: bool,
}

#[derive(Debug, Default)]
struct Model {
    una: u64,
    nxt: u64,
    segments: Vec<Plain>,
    sacked: Vec<bool>,
}

impl Model {
    fn pipe(&self) -> u64 {
        let counted = |s: &&Plain| !s.sacked && (!s.lost || s.again);
        self.segments.iter().filter(counted).map(|s| s.end - s.start).sum()
    }

    fn awaiting(&self) -> Vec<u64> {
        self.segments.iter().filter(|s| s.lost && !s.again).map(|s| s.start).collect()
    }

    fn push(&mut self, len: u64, now: i64) {
        let (start, end) = (self.nxt, self.nxt + len);
        let (sacked, lost, again) = (false, false, false);
        self.segments.push(Plain { start, end, sent_at: now, sacked, lost, again });
        self.nxt = end;
        self.sacked.resize(end as usize, false);
    }

    fn ack(&mut self, ack: u64) -> u64 {
        let mut delivered = 0;
        for s in &mut self.segments {
            let covered = ack.min(s.end).saturating_sub(s.start);
            delivered += if s.sacked { 0 } else { covered };
            s.start += covered;
        }
        self.segments.retain(|s| s.start < s.end);
        self.una = ack;
        delivered
    }

    fn sack(&mut self, start: u64, end: u64) -> u64 {
        self.sacked[start as usize..end as usize].fill(true);
        let mut delivered = 0;
        for s in &mut self.segments {
            let is_covered = self.sacked[s.start as usize..s.end as usize].iter().all(|b| *b);
            if is_covered && !s.sacked {
                (s.sacked, s.lost, s.again) = (true, false, false);
                delivered += s.end - s.start;
            }
        }
        delivered
    }

    /// RFC 6675 IsLost(), as it is written: three discontiguous sacked sequences, or more than two
    /// segments' worth of sacked bytes, above.
    fn mark_lost(&mut self, mss: u64) {
        let sacked = self.sacked.clone();
        let is_lost = |end: u64| {
            let above = &sacked[end as usize..];
            let bytes = above.iter().filter(|b| **b).count() as u64;
            let begins = |i: &usize| above[*i] && (*i == 0 || !above[i - 1]);
            (0..above.len()).filter(begins).count() >= 3 || bytes > 2 * mss
        };
        let (una, mut marked) = (self.una, std::mem::take(&mut self.segments));
        for s in marked.iter_mut().filter(|s| !s.sacked && !s.lost && s.start >= una) {
            s.lost = is_lost(s.end);
        }
        self.segments = marked;
    }
}

#[test]
fn it_agrees_with_a_model() {
    for seed in 0..60 {
        let mut random = Random::stream(seed, 0);
        let (mut board, mut model) = (Scoreboard::new(0, true), Model::default());
        let state = SendState::default();
        for step in 0..400 {
            let mut pick = |bound: u64| random.bits() % bound.max(1);
            let now = step;
            match pick(10) {
                0..4 => {
                    let len = if pick(4) == 0 { 1 + pick(9) } else { 10 };
                    board.push(len as u32, false, Nanos(now), state);
                    model.push(len, now);
                }
                4..6 => {
                    let ack = model.una + pick(model.nxt - model.una + 1).min(pick(60));
                    let mut delivered = 0;
                    board.ack(ack, |s| delivered += if s.is_sacked() { 0 } else { s.len as u64 });
                    assert_eq!(delivered, model.ack(ack), "seed {seed} step {step}");
                }
                6..8 => {
                    // At the edges of segments; what cuts into one is left to the next test.
                    let count = model.segments.len() as u64;
                    let (first, more) = (pick(count) as usize, pick(4) as usize);
                    let range = first..count.min((first + more) as u64 + 1) as usize;
                    let (start, end) = match &model.segments[range] {
                        [] => (0, 0),
                        [only] => (only.start, only.end),
                        [first, .., last] => (first.start, last.end),
                    };
                    if start < end {
                        let mut delivered = 0;
                        board.sack(start, end, |s| delivered += u64::from(s.len));
                        assert_eq!(delivered, model.sack(start, end), "seed {seed} step {step}");
                    }
                }
                8 => {
                    board.mark_lost_by_sack(3, 10, |_| ());
                    model.mark_lost(10);
                }
                _ => {
                    if let Some(lost) = board.next_lost() {
                        board.retransmit(lost.start, Nanos(now), state);
                        let plain = model.segments.iter_mut().find(|s| s.start == lost.start);
                        let plain = plain.expect("the model knows it");
                        (plain.again, plain.sent_at) = (true, now);
                    }
                }
            }
            let awaiting = model.awaiting();
            assert_eq!(board.pipe(), model.pipe(), "seed {seed} step {step}");
            assert_eq!(board.next_lost().map(|s| s.start), awaiting.first().copied());
            assert_eq!(board.flight_size(), model.nxt - model.una);
        }
    }
}

/// A segment counts as sacked once blocks cover all of it, in whatever parts they come.
#[test]
fn blocks_may_cut_segments() {
    for seed in 0..60 {
        let mut random = Random::stream(seed, 2);
        let (mut board, mut model) = (Scoreboard::new(0, false), Model::default());
        for step in 0..300 {
            let mut pick = |bound: u64| random.bits() % bound.max(1);
            let len = 1 + pick(20);
            board.push(len as u32, false, Nanos(0), SendState::default());
            model.push(len, 0);
            let start = model.una + pick(model.nxt - model.una);
            let end = (start + 1 + pick(30)).min(model.nxt);
            let mut delivered = 0;
            board.sack(start, end, |s| delivered += u64::from(s.len));
            assert_eq!(delivered, model.sack(start, end), "seed {seed} step {step}");
            if pick(5) == 0 {
                let ack = model.segments[pick(4).min(model.segments.len() as u64 - 1) as usize].end;
                board.ack(ack, |_| ());
                model.ack(ack);
            }
            assert_eq!(board.pipe(), model.pipe(), "seed {seed} step {step}");
        }
    }
}

/// Marking by time takes exactly what was sent before, whatever was sacked or sent again since.
#[test]
fn marking_by_time_finds_what_was_sent_before() {
    for seed in 0..60 {
        let mut random = Random::stream(seed, 1);
        let (mut board, mut model) = (Scoreboard::new(0, true), Model::default());
        for now in 0..200 {
            let mut pick = |bound: u64| random.bits() % bound.max(1);
            board.push(10, false, Nanos(now), SendState::default());
            model.push(10, now);
            if pick(3) == 0 {
                let start = pick(model.nxt / 10) * 10;
                if start >= model.una {
                    board.sack(start, start + 10, |_| ());
                    model.sack(start, start + 10);
                }
            }
            if pick(5) == 0 {
                let before = now - pick(20) as i64;
                board.mark_lost_by_time(|s| s.sent_at < Nanos(before), |_| ());
                for s in model.segments.iter_mut().filter(|s| !s.sacked && s.sent_at < before) {
                    (s.lost, s.again) = (true, false);
                }
            }
            if let Some(lost) = board.next_lost().filter(|_| pick(2) == 0) {
                board.retransmit(lost.start, Nanos(now), SendState::default());
                let plain = model.segments.iter_mut().find(|s| s.start == lost.start).unwrap();
                (plain.again, plain.sent_at) = (true, now);
            }
            assert_eq!(board.pipe(), model.pipe(), "seed {seed} at {now}");
        }
    }
}
