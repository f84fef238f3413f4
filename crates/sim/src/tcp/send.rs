//! What may be sent: lost segments first, then new data, each within the windows.

use super::config::{Nagle, Variant};
use super::recovery::scoreboard::Sent;
use super::recovery::{DUP_THRESH, Phase};
use super::sender::Sender;
use crate::endpoint::Kind;
use tcpwhy_core::units::Nanos;

/// A segment that leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// First position.
    pub start: u64,
    /// Payload bytes.
    pub payload: u64,
    /// It carries the FIN.
    pub fin: bool,
    /// It ends what the program wrote at once, empties the send buffer, or ends a super-segment
    /// (PSH).
    pub push: bool,
    /// It is the first new segment since a reduction for congestion (CWR).
    pub cwr: bool,
    /// Why it leaves.
    pub kind: Kind,
}

/// Why nothing more leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocked {
    /// Everything written was sent.
    NothingToSend,
    /// Less than a segment is left, and earlier data is unacknowledged.
    Nagle,
    /// The receiver's window.
    Window,
    /// The pacing rate.
    Pacing,
    /// The congestion window.
    Cwnd,
}

impl Sender {
    /// The next segment to leave at `now`, or why there is none. `option_bytes` gives what the SACK
    /// option of a new segment takes.
    pub fn depart(
        &mut self,
        now: Nanos,
        option_bytes: impl Fn() -> u64,
    ) -> Result<Departure, Blocked> {
        let mut departure = self.choose(now, option_bytes).inspect_err(|blocked| {
            if *blocked != Blocked::NothingToSend {
                self.buffer.join();
            }
        })?;
        self.commit(now, &departure);
        departure.push |= self.ends_super_segment(now, &departure);
        Ok(departure)
    }

    fn choose(&mut self, now: Nanos, option_bytes: impl Fn() -> u64) -> Result<Departure, Blocked> {
        if self.recovery.force_retransmit {
            match self.board.next_lost() {
                Some(sent) => return Ok(self.again(&sent, self.recovery_kind())),
                None => self.recovery.force_retransmit = false,
            }
        }
        if let Some(probe) = self.probe() {
            return Ok(probe);
        }
        if self.board.awaiting_bytes() > 0
            && !self.recovery.frto.sends_new()
            && let Some(sent) = self.board.next_lost()
        {
            self.check_rate_and_cwnd(now, u64::from(sent.len))?;
            return Ok(self.again(&sent, self.recovery_kind()));
        }
        match self.new_data(option_bytes) {
            Ok(departure) => {
                self.restart_after_idle(now);
                self.check_rate_and_cwnd(now, departure.payload)?;
                Ok(departure)
            }
            Err(blocked) => self.hole(now).ok_or(blocked),
        }
    }

    /// The next new segment that the application, Nagle's algorithm and the receiver allow.
    pub(super) fn new_data(&self, option_bytes: impl Fn() -> u64) -> Result<Departure, Blocked> {
        let (nxt, end) = (self.board.nxt, self.buffer.end());
        if nxt > end || (nxt == end && !self.buffer.is_closed()) {
            return Err(Blocked::NothingToSend);
        }
        let unsent = end - nxt;
        let full = self.mss.saturating_sub(option_bytes()).max(1);
        let waits = self.must_wait_for_more();
        let written = self.buffer.write_end_after(nxt).filter(|_| !waits).unwrap_or(end);
        let payload = full.min(written - nxt);
        let room = (self.board.una + self.peer_window.bytes).saturating_sub(nxt);
        let is_last = payload == unsent;
        if payload > room && !self.is_worth_sending(room) {
            return Err(Blocked::Window);
        }
        let fits = payload.min(room);
        let fin = is_last && fits == payload && self.buffer.is_closed();
        if payload < full && is_last && !fin && waits {
            return Err(Blocked::Nagle);
        }
        Ok(self.first(fits, fin, Kind::New))
    }

    /// RFC 9293 section 3.8.6.2.1: less than a segment is sent when it is at least half the largest
    /// window seen.
    fn is_worth_sending(&self, room: u64) -> bool {
        room > 0 && room >= self.peer_window.largest / 2
    }

    fn must_wait_for_more(&self) -> bool {
        match self.config.nagle {
            Nagle::Off => false,
            Nagle::On => self.board.flight_size() > 0,
            Nagle::Minshall => self.small_end > self.board.una,
        }
    }

    /// Whether a new segment could leave if only cwnd and pacing allowed it.
    pub(super) fn can_send_new(&self) -> bool {
        self.new_data(|| 0).is_ok()
    }

    /// A probe of the window or of the tail, if one is due.
    fn probe(&mut self) -> Option<Departure> {
        if std::mem::take(&mut self.window_probe_pending) && self.board.flight_size() == 0 {
            let room = (self.board.una + self.peer_window.bytes).saturating_sub(self.board.nxt);
            let waiting = self.buffer.end().saturating_sub(self.board.nxt);
            if waiting > 0 && room > 0 {
                return Some(self.first(room.min(waiting).min(self.mss), false, Kind::New));
            } else if waiting > 0 {
                return Some(self.window_probe());
            }
        }
        if std::mem::take(&mut self.probe_pending) {
            // RFC 8985 section 7.3: new data if there is some and the receiver has room for it,
            // else the last segment once more.
            if let Ok(departure) = self.new_data(|| 0) {
                return Some(Departure { kind: Kind::Tlp, ..departure });
            }
            let last = *self.board.last()?;
            return Some(self.again(&last, Kind::Tlp));
        }
        None
    }

    /// A segment without payload, one position before what is awaited: the peer must answer it
    /// (RFC 9293 section 3.10.7.4). Linux's `tcp_xmit_probe_skb`.
    fn window_probe(&self) -> Departure {
        let start = self.board.nxt - 1;
        let kind = Kind::WindowProbe;
        Departure { start, payload: 0, fin: false, push: false, cwr: false, kind }
    }

    /// RFC 6675 NextSeg() rules 3 and 4, when there is neither a lost segment nor new data: a hole
    /// that is not yet deemed lost, and once per recovery the last segment.
    fn hole(&mut self, now: Nanos) -> Option<Departure> {
        let recovery = &self.recovery;
        if recovery.phase != Phase::Recovery || recovery.variant != Variant::Sack {
            return None;
        }
        let hole = self.board.unmarked_hole();
        let is_rescue = hole.is_none();
        if is_rescue && recovery.rescued {
            return None;
        }
        let sent = hole.or_else(|| self.board.highest_unsacked())?;
        self.check_rate_and_cwnd(now, u64::from(sent.len)).ok()?;
        self.recovery.rescued |= is_rescue;
        Some(self.again(&sent, Kind::Fast))
    }

    fn check_rate_and_cwnd(&mut self, now: Nanos, bytes: u64) -> Result<(), Blocked> {
        if self.pacing_rate_bps().is_some()
            && let Err(release) = self.pacer.release(now)
        {
            self.timers.pacing = release;
            return Err(Blocked::Pacing);
        }
        let (used, window) = self.usage_and_window();
        if used + bytes <= window { Ok(()) } else { Err(Blocked::Cwnd) }
    }

    /// What counts against cwnd, and cwnd with what limited transmit adds (RFC 3042: two segments
    /// at most, RFC 6675 section 5 step 3: within the pipe).
    pub(super) fn usage_and_window(&self) -> (u64, u64) {
        let (pipe, cwnd) = (self.board.pipe(), self.cwnd());
        if self.recovery.phase != Phase::Open {
            return (pipe, cwnd);
        }
        match (self.recovery.variant.is_selective(), self.config.limited_transmit) {
            (true, true) => (pipe, cwnd),
            (true, false) => (pipe + self.board.sacked_bytes(), cwnd),
            (false, false) => (pipe, cwnd),
            (false, true) => {
                let dupacks = self.recovery.dupacks.min(DUP_THRESH - 1);
                (pipe, cwnd + u64::from(dupacks) * self.mss)
            }
        }
    }

    /// RFC 5681 section 4.1: nothing was sent for longer than the timeout.
    fn restart_after_idle(&mut self, now: Nanos) {
        let is_idle = self.board.flight_size() == 0
            && now.since(self.last_sent) > self.rto.timeout()
            && self.config.slow_start_after_idle;
        if is_idle {
            let mut path = self.path(now);
            path.idle_timeouts = (now.since(self.last_sent).0 - 1) / self.rto.timeout().0.max(1);
            self.cc.on_idle(&path);
            self.last_sent = now;
        }
    }

    fn first(&self, payload: u64, fin: bool, kind: Kind) -> Departure {
        let start = self.board.nxt;
        let push = self.buffer.ends_write(start, start + payload);
        Departure { start, payload, fin, push, cwr: self.ecn.cwr_pending, kind }
    }

    fn again(&self, sent: &Sent, kind: Kind) -> Departure {
        let payload = u64::from(sent.len) - u64::from(sent.fin);
        let push = self.buffer.ends_write(sent.start, sent.start + payload);
        Departure { start: sent.start, payload, fin: sent.fin, push, cwr: false, kind }
    }

    fn recovery_kind(&self) -> Kind {
        if self.recovery.phase == Phase::Loss { Kind::Rto } else { Kind::Fast }
    }

    /// The segment leaves: everything that keeps count learns of it.
    fn commit(&mut self, now: Nanos, departure: &Departure) {
        if departure.kind == Kind::WindowProbe {
            return;
        }
        let path = self.path(now);
        self.cc.on_send(&path);
        let is_new = departure.start >= self.board.nxt;
        let bytes = departure.payload + u64::from(departure.fin);
        let state = self.rate.on_sent(now, self.board.pipe(), bytes);
        self.counts.data_segments += u64::from(departure.payload > 0);
        self.recovery.prr.on_sent(bytes);
        if is_new {
            self.board.push(bytes as u32, departure.fin, now, state);
            self.note_new(departure, bytes);
        } else {
            self.board.retransmit(departure.start, now, state);
            self.note_again(now, departure);
        }
        if let Some(rate_bps) = self.pacing_rate_bps()
            && self.counts.data_segments > u64::from(self.config.unpaced_segs)
        {
            self.pacer.on_sent(now, bytes, rate_bps, self.quantum(rate_bps));
        }
        self.last_sent = now;
        if self.timers.retransmission == Nanos::MAX {
            self.timers.retransmission = now + self.rto.timeout();
        }
        if departure.kind == Kind::Tlp {
            self.counts.tail_loss_probes += 1;
            self.recovery.tlp.on_probe(self.board.nxt, !is_new);
            self.timers.probe = Nanos::MAX;
        } else if is_new {
            self.schedule_probe(now);
        }
    }

    fn note_new(&mut self, departure: &Departure, bytes: u64) {
        self.recovery.frto.on_new_segment();
        self.ecn.cwr_pending = false;
        if departure.payload < self.mss {
            self.small_end = self.board.nxt;
        }
        let has_duplicates = self.recovery.dupacks > 0 || self.board.sacked_bytes() > 0;
        if self.recovery.phase == Phase::Open && has_duplicates {
            self.recovery.limited_bytes += bytes;
        }
    }

    fn note_again(&mut self, now: Nanos, departure: &Departure) {
        self.recovery.force_retransmit = false;
        self.counts.retransmitted_segments += 1;
        if departure.kind != Kind::Tlp {
            self.recovery.undo.on_retransmission(now, departure.start);
        }
        let is_oldest = departure.start <= self.board.una;
        if is_oldest
            && self.recovery.phase == Phase::Recovery
            && self.recovery.variant.is_selective()
        {
            // RFC 6675 section 6 allows to restart the timer with every retransmission. Linux does
            // so with that of the oldest segment only (`tcp_xmit_retransmit_queue`): otherwise a
            // flight of retransmissions puts off the timeout that a lost one of them needs.
            self.timers.retransmission = now + self.rto.timeout();
        }
    }
}
