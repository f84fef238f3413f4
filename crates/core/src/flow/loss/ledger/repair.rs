//! Why something was sent again, and what came late only.

use super::kind::Kind;
use super::{Ledger, Path, Range, Recovery, Resent, Rule};
use crate::flow::entry::Entry;
use crate::units::Nanos;

impl Ledger {
    /// Whether a segment that fills a hole was merely late. The sender's timestamps decide: what
    /// was sent before the segment that opened the hole carries no later timestamp than that.
    pub(super) fn was_reordered(&self, opener: &Range, entry: &Entry, path: &Path) -> Option<Rule> {
        let late = entry.ts.since(opener.first);
        let rtt = path.rtt.min.unwrap_or(Nanos::from_millis(4)).0;
        if entry.ip_id != 0 && opener.ip_id != 0 {
            let step = opener.ip_id.wrapping_sub(entry.ip_id);
            // Identifications that count upwards, one a packet or so, tell the order of sending.
            if (1..64).contains(&step) {
                let soon = late < Nanos(rtt.max(MAX_REORDERING.0));
                return soon.then_some(Rule::Identification);
            }
            if (1..64).contains(&step.wrapping_neg()) {
                return None;
            }
        }
        if entry.has_timestamps() {
            // Within one tick of the clock only the delay can tell.
            return match entry.tsval.wrapping_sub(opener.tsval) as i32 {
                0 => (late < Nanos((rtt / 2).max(2_000_000))).then_some(Rule::Delay),
                difference => (difference < 0).then_some(Rule::Timestamps),
            };
        }
        let soon = late < Nanos((rtt / 4).max(1_000_000)) && self.duplicate_acks < 3;
        soon.then_some(Rule::Delay)
    }

    /// Which mechanism sent `start` again, and what tells: a timer that expired for it, or else.
    /// `previous` is when it passed before, and `resent` when it was sent again before, if it was.
    pub(super) fn repair(
        &mut self,
        start: u64,
        previous: Option<Nanos>,
        highest: bool,
        resent: Option<Nanos>,
        entry: &Entry,
        path: &Path,
    ) -> (Kind, Rule) {
        let sacked = self.sack_high > start;
        let evidence = self.duplicate_acks >= 3 || sacked;
        let idle = entry.ts.since(self.last_sent);
        let waited = previous.map_or(idle, |last| entry.ts.since(last));
        let stalled = entry.ts.since(self.last_progress);
        let timer = timer(path);
        let in_recovery = self.recovery.filter(|recovery| start < recovery.point);
        let srtt = path.rtt.srtt.unwrap_or(Nanos::from_millis(100));
        let expired = waited >= timer && idle >= timer.min(stalled) && idle >= Nanos(timer.0 / 2);
        // Duplicate acknowledgements do not restart the timer (RFC 6298 section 5.3). RACK sends
        // what was lost again sooner: a round trip and a quarter after it.
        let beyond_rack = Nanos(srtt.0 * 18 / 10);
        let lost_again = start == self.una
            && stalled >= timer
            && resent.is_some_and(|at| entry.ts.since(at) >= timer.max(beyond_rack));
        let (kind, rule) = match in_recovery {
            _ if lost_again && !expired => (Kind::Rto, Rule::LostAgain),
            Some(Recovery { kind: Kind::Rto, .. }) if !expired => {
                (Kind::Rto, Rule::TimeoutRecovery)
            }
            Some(Recovery { kind: Kind::Rto, .. }) => (Kind::Rto, Rule::Timer),
            _ if evidence && !(expired && stalled >= timer) => {
                (Kind::Fast, if sacked { Rule::SackAbove } else { Rule::DuplicateAcks })
            }
            _ if expired => (Kind::Rto, Rule::Timer),
            _ if highest && waited >= beyond_rack => (Kind::Tlp, Rule::Tail),
            Some(Recovery { kind, .. }) => (kind, Rule::Recovery),
            None if self.duplicate_acks > 0 => (Kind::Fast, Rule::FewDuplicateAcks),
            None => (Kind::Retransmission, Rule::Unexplained),
        };
        if in_recovery.is_none() || rule.is_timer() {
            self.recovery = Some(Recovery { kind, point: self.next });
        }
        (kind, rule)
    }

    /// Whether nothing was sent for as long as the retransmission timer takes.
    pub(super) fn is_expired(&self, entry: &Entry, path: &Path) -> bool {
        entry.ts.since(self.last_sent) >= timer(path)
    }

    pub(super) fn is_loss_event(&mut self, now: Nanos, path: &Path) -> bool {
        let apart = path.rtt.srtt.unwrap_or(Nanos::from_millis(100));
        let event = self.last_loss.is_none_or(|last| now.since(last) > apart);
        self.last_loss = Some(now);
        event
    }

    pub(super) fn resent(&mut self, start: u64, end: u64, entry: &Entry) {
        if self.recent.len() >= MAX_RESENT {
            let oldest = self.recent.pop_front();
            self.unproven -= u32::from(oldest.is_some_and(|resent| !resent.acked));
        }
        if self.recent.len() == self.recent.capacity() {
            // Most directions have a few.
            self.recent.reserve_exact(FEW + self.recent.len() / 4);
        }
        self.unproven += 1;
        self.recent.push_back(Resent {
            start,
            end,
            ts: entry.ts,
            tsval: entry.tsval,
            has_timestamps: entry.has_timestamps(),
            acked: false,
            spurious: false,
        });
    }
}

/// How long the retransmission timer runs at least, as an observer knows the path.
fn timer(path: &Path) -> Nanos {
    Nanos(path.rtt.rto().0 * 8 / 10)
}

/// Retransmissions remembered for the tests that need an acknowledgement.
const MAX_RESENT: usize = 1024;
/// Of these, for how many there is room at first.
const FEW: usize = 4;
/// Reordering beyond this is longer than any queue: the sender must have sent it again.
const MAX_REORDERING: Nanos = Nanos(20_000_000);
