//! Finds the stalls of both directions while the segments of a flow pass.
//!
//! It decides nothing that is decided elsewhere. What a segment was is the loss ledger's word.
//! Whose time passed before new data is the clock's ([`crate::flow::time::clock`]).

use super::{Ended, Stall, Stalls};
use crate::flow::entry::Entry;
use crate::flow::half::Half;
use crate::flow::handshake::side;
use crate::flow::loss::ledger::{Filed, Flight, Kind, Rule};
use crate::flow::path::delay::Rtt;
use crate::flow::time::clock::{Times, WaitReason, WaitSpan};
use crate::flow::{Flow, SegmentOutcome};
use crate::reason::StallCause;
use crate::units::Nanos;
use crate::wire::flags;

/// Watches both directions of a flow.
#[derive(Debug, Default)]
pub struct Watch {
    since: [Option<Since>; 2],
    closed: [bool; 2],
    /// The stalls of each side's data.
    pub stalls: [Stalls; 2],
}

/// Where a direction got on last.
#[derive(Clone, Copy, Debug)]
struct Since {
    ts: Nanos,
    frame: u64,
    flight_size: Option<u64>,
    window_closed: bool,
}

/// How a flow was before a segment.
#[derive(Clone, Copy, Debug)]
pub struct Eve {
    halves: [HalfEve; 2],
    handshake_rtt: Option<Nanos>,
}

#[derive(Clone, Copy, Debug)]
struct HalfEve {
    rtt: Rtt,
    flight: Flight,
    has_room: bool,
    window_closed: bool,
}

impl Eve {
    /// Of the segment that `flow` takes next.
    pub fn of(flow: &Flow) -> Eve {
        let eve = |half: &Half| HalfEve {
            rtt: half.rtt,
            flight: half.flight(),
            has_room: half.has_room(),
            window_closed: half.window.is_closed(),
        };
        let [low, high] = &flow.halves;
        Eve { halves: [eve(low), eve(high)], handshake_rtt: flow.handshake_rtt() }
    }
}

impl HalfEve {
    fn is_drained(&self) -> bool {
        self.flight.una >= self.flight.next
    }

    /// What a stall is longer than.
    fn least_stall(&self, handshake_rtt: Option<Nanos>) -> Nanos {
        let srtt = self.rtt.srtt.or(handshake_rtt);
        let rto = self.rtt.rto();
        srtt.map_or(rto, |srtt| rto.min(Nanos(2 * srtt.0))).max(WAKE_UP)
    }
}

impl Watch {
    /// Takes a segment that `flow` filed as `filed`; `eve` is how the flow was before it.
    pub fn segment(
        &mut self,
        flow: &Flow,
        eve: &Eve,
        frame: u64,
        entry: &Entry,
        filed: &SegmentOutcome,
    ) {
        if filed.duplicate {
            return;
        }
        let own = side(entry);
        let sent = filed.sent.map(|sent| sent.filed);
        for watched in 0..2 {
            let half = &flow.halves[watched];
            let before = &eve.halves[watched];
            let ended = match watched == own {
                true => of_sender(entry, sent.as_ref()),
                false => of_receiver(entry, filed, before, half.has_room()),
            };
            if watched == own && entry.has(flags::FIN | flags::RST) {
                self.closed[own] = true;
            }
            // Before its first segment a direction waits for nobody.
            let known = self.since[watched];
            let Some(ended) = ended.filter(|_| known.is_some() || watched == own) else { continue };
            let since = Since {
                ts: known.map_or(entry.ts, |known| known.ts.max(entry.ts)),
                frame,
                flight_size: half.outstanding(),
                window_closed: half.window.is_closed(),
            };
            self.since[watched] = (!entry.has(flags::RST)).then_some(since);
            let Some(start) = known else { continue };
            let is_over = self.closed[watched] && watched != own && before.is_drained();
            let length = entry.ts.since(start.ts);
            if length > before.least_stall(eve.handshake_rtt) && !is_over {
                self.stalls[watched].add(Stall {
                    start: start.ts,
                    end: entry.ts,
                    frame_before: start.frame,
                    frame_after: frame,
                    flight_size: start.flight_size,
                    ended,
                    cause: cause(ended, &start, before, sent.as_ref(), half.last_wait(), entry.ts),
                });
            }
        }
    }
}

/// What a segment of the sender ends.
fn of_sender(entry: &Entry, sent: Option<&Filed>) -> Option<Ended> {
    match sent.map(|filed| filed.kind) {
        // They move nothing, and come while the wait goes on.
        Some(Kind::ZeroWindowProbe | Kind::KeepAlive) => None,
        Some(kind) => Some(Ended::Data(kind)),
        None if entry.has(flags::RST) => Some(Ended::Rst),
        None if entry.has(flags::SYN) => Some(Ended::Syn),
        None if entry.has(flags::FIN) => Some(Ended::Fin),
        None => None,
    }
}

/// What a segment of the other side ends.
fn of_receiver(
    entry: &Entry,
    filed: &SegmentOutcome,
    before: &HalfEve,
    has_room: bool,
) -> Option<Ended> {
    let probes = [Kind::ZeroWindowProbe, Kind::KeepAlive];
    let brings = filed.sent.is_some_and(|sent| !probes.contains(&sent.filed.kind));
    match before.is_drained() {
        _ if filed.acked.bytes > 0 => Some(Ended::Ack),
        _ if entry.has(flags::RST) => Some(Ended::PeerRst),
        _ if entry.has(flags::SYN) => Some(Ended::PeerSyn),
        _ if has_room && !before.has_room => Some(Ended::WindowUpdate),
        true if brings => Some(Ended::PeerData),
        true if entry.has(flags::FIN) => Some(Ended::PeerFin),
        _ => None,
    }
}

fn cause(
    ended: Ended,
    start: &Since,
    before: &HalfEve,
    sent: Option<&Filed>,
    pieces: &[WaitSpan],
    end: Nanos,
) -> Option<StallCause> {
    let of_window = |closed| if closed { StallCause::ZeroWindow } else { StallCause::WindowFull };
    let idle = (start.flight_size == Some(0)).then_some(StallCause::NothingToSend);
    match ended {
        Ended::Data(Kind::Rto) => sent.map(|filed| match filed.rule {
            Rule::LostAgain => StallCause::LostRetransmission,
            Rule::Timer if is_lost_again(filed) => StallCause::LostRetransmission,
            Rule::Timer => StallCause::RetransmissionTimeout,
            _ => StallCause::LossRecovery,
        }),
        Ended::Data(Kind::Tlp) => Some(StallCause::TailLossProbe),
        Ended::Data(_) if sent.is_some_and(|filed| filed.rule == Rule::Unheard) => {
            Some(StallCause::RetransmissionTimeout)
        }
        Ended::Data(Kind::Fast | Kind::Retransmission | Kind::Spurious) => {
            Some(StallCause::LossRecovery)
        }
        // Without acknowledgements nothing tells one wait from another.
        Ended::Data(_) if start.flight_size.is_none() => None,
        Ended::Data(_) => match longest(pieces, start.ts, end) {
            Some(WaitReason::Idle | WaitReason::Dry | WaitReason::Unused) => {
                Some(StallCause::NothingToSend)
            }
            Some(WaitReason::Receiver) => Some(of_window(start.window_closed)),
            Some(WaitReason::Network) => Some(StallCause::Unanswered),
            Some(WaitReason::Recovery) => Some(StallCause::LossRecovery),
            None => idle,
        },
        Ended::Fin | Ended::Rst => idle,
        Ended::Syn => Some(StallCause::RetransmissionTimeout),
        Ended::PeerData | Ended::PeerFin => Some(StallCause::PeerAwaited),
        Ended::PeerRst if before.is_drained() => Some(StallCause::PeerAwaited),
        Ended::Ack | Ended::PeerRst | Ended::WindowUpdate if before.window_closed => {
            Some(StallCause::ZeroWindow)
        }
        Ended::WindowUpdate => Some(StallCause::WindowFull),
        Ended::Ack if before.flight.repairing => Some(StallCause::LossRecovery),
        Ended::PeerRst => Some(StallCause::Unanswered),
        Ended::Ack | Ended::PeerSyn => Some(StallCause::LateAnswer),
    }
}

/// Whether what was lost had been sent again before.
fn is_lost_again(filed: &Filed) -> bool {
    filed.seen_bytes > 0 && filed.lost_flight.is_none()
}

/// Who held the sender back for most of a span.
fn longest(pieces: &[WaitSpan], start: Nanos, end: Nanos) -> Option<WaitReason> {
    let mut times = Times::default();
    for piece in pieces {
        times.add(piece.reason, piece.end.min(end).since(piece.start.max(start)));
    }
    let reasons = pieces.iter().map(|piece| piece.reason);
    reasons.max_by_key(|&reason| times.of(reason)).filter(|&reason| times.of(reason) > 0)
}

/// Silence shorter than this is an interrupt and a wake-up, whatever the round-trip time.
const WAKE_UP: Nanos = Nanos(1_000_000);

#[cfg(test)]
mod tests;
