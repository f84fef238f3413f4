//! The timestamps option: measuring, and protection against old segments (RFC 7323).

use super::receiver::Receiver;
use tcpwhy_core::units::Nanos;

/// The state of RFC 7323 section 4.3 and 5.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timestamps {
    /// Both sides offered them.
    pub is_enabled: bool,
    /// Where our clock starts: it is not the time of day (section 5.4 leaves it free).
    offset: u32,
    /// "TS.Recent".
    recent: u32,
}

impl Timestamps {
    /// A clock that starts at a number derived from the initial sequence number.
    pub fn new(iss: u32) -> Timestamps {
        Timestamps { offset: iss.wrapping_mul(0x9e37_79b9) | 1, ..Timestamps::default() }
    }

    /// TSval and TSecr of a segment that leaves at `now`. The clock ticks in milliseconds
    /// (section 5.4: between 1 ms and 1 s per tick).
    pub fn option(&self, now: Nanos) -> (u32, u32) {
        (self.clock(now), self.recent)
    }

    /// Section 5.3: whether a segment with this TSval is too old to be accepted.
    pub fn is_old(&self, tsval: u32) -> bool {
        (tsval.wrapping_sub(self.recent) as i32) < 0
    }

    /// The SYN's TSval.
    pub fn on_syn(&mut self, tsval: u32) {
        self.recent = tsval;
    }

    /// Section 4.3 (2): "If: SEG.TSval >= TS.Recent and SEG.SEQ <= Last.ACK.sent then SEG.TSval is
    /// copied to TS.Recent".
    pub fn on_segment(&mut self, tsval: u32, seq: u64, receiver: &Receiver) {
        if !self.is_old(tsval) && seq <= receiver.last_ack {
            self.recent = tsval;
        }
    }

    /// The time since `tsecr` was sent, at least one tick.
    pub fn rtt(&self, now: Nanos, tsecr: u32) -> Nanos {
        let ticks = self.clock(now).wrapping_sub(tsecr);
        Nanos::from_millis(i64::from(ticks.max(1)))
    }

    /// When `tsecr` was sent: the start of its tick.
    pub fn sent_at(&self, now: Nanos, tsecr: u32) -> Nanos {
        let ticks = self.clock(now).wrapping_sub(tsecr);
        now - Nanos(now.0.rem_euclid(Nanos::MILLISECOND.0)) - Nanos::from_millis(i64::from(ticks))
    }

    fn clock(&self, now: Nanos) -> u32 {
        ((now.0 / Nanos::MILLISECOND.0) as u32).wrapping_add(self.offset)
    }
}

/// Whether an echoed timestamp, the start of its tick, was sent before `time`: in an earlier tick.
pub fn is_before(echoed_at: Option<Nanos>, time: Nanos) -> bool {
    let tick = |time: Nanos| time.0.div_euclid(Nanos::MILLISECOND.0);
    echoed_at.is_some_and(|echoed| tick(echoed) < tick(time))
}
