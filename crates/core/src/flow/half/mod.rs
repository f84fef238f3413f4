//! One direction of a flow, named by its data sender: facts, one segment at a time.

mod answer;
mod capacity;
mod time;
mod witness;

use crate::flow::entry::Entry;
use crate::flow::loss::history::LossHistory;
use crate::flow::loss::ledger::{Filed, Kind, Ledger, Path};
use crate::flow::loss::seed::SeedCount;
use crate::flow::path::capacity::Collector;
use crate::flow::path::delay::{Rtt, Tau};
use crate::flow::path::delivery::Delivery;
use crate::flow::path::echoes::Echoes;
use crate::flow::path::mss::Mss;
use crate::flow::path::queue::QueueSense;
use crate::flow::path::scale::ScaleEvidence;
use crate::flow::path::sketch::Sketch;
use crate::flow::time::clock::Holder;
use crate::flow::time::freedom::{Flight, Freedom};
use crate::flow::time::nagle::Nagle;
use crate::flow::time::period::{Isolate, Step};
use crate::flow::time::rounds::Rounds;
use crate::flow::time::stretch::Stretch;
use crate::flow::time::view::{Known, SenderView};
use crate::units::{Nanos, Seq, Unwrap};
use crate::wire::flags;

/// Everything known of one direction.
#[derive(Debug, Default)]
pub struct Half {
    /// Counts from begin to end.
    pub totals: Totals,
    /// Effective MSS.
    pub mss: Mss,
    /// Round-trip times.
    pub rtt: Rtt,
    /// The same by size.
    pub rtts: Sketch,
    /// Intervals and periods; made with the first payload.
    pub stretch: Option<Box<Stretch>>,
    /// Shift of the receiver's window; `None` while it is unknown.
    pub window_scale: Option<u8>,
    /// The published prototype's count of retransmissions.
    pub seed: SeedCount,
    /// The stretch of a flow that has ended, for the next one.
    spare: Option<Box<Stretch>>,
    unwrap: Option<Unwrap>,
    ledger: Ledger,
    view: SenderView,
    isolate: Isolate,
    capacity: Option<Box<Collector>>,
    delivery: Delivery,
    freedom: Freedom,
    headers_len: u32,
    last_new: Option<Nanos>,
    /// Made while the scale of the receiver's window is unknown.
    scale_evidence: Option<Box<ScaleEvidence>>,
    nagle: Nagle,
    rounds: Rounds,
    losses: LossHistory,
    queue: QueueSense,
    /// Made with the first echo that shows the observer near the receiver.
    echoes: Option<Box<Echoes>>,
    /// The last segment was small or pushed: there may have been no more to send.
    emptied: bool,
    /// The other side sent data since this one last did.
    asked: bool,
    /// End of the first full segment.
    first_full_end: Option<u64>,
}

/// Counts of a half from its begin to its end.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "the columns of the flows table document them")]
pub struct Totals {
    pub packets: u64,
    pub data_packets: u64,
    pub wire_bytes: u64,
    pub payload_bytes: u64,
    pub unique_bytes: u64,
    pub retransmitted_bytes: u64,
    pub spurious_bytes: u64,
    pub reordered_packets: u64,
    pub duplicate_frames: u64,
    pub loss_events: u64,
    pub rto_events: u64,
    pub fast_retransmissions: u64,
    pub tlp_events: u64,
    pub zero_window_events: u64,
    pub zero_window_probes: u64,
    pub keep_alives: u64,
    pub duplicate_acks: u64,
    pub missed_bytes: u64,
    pub out_of_window: u64,
    pub flight_max: Option<u64>,
    pub rwnd_max: Option<u64>,
    pub first_data: Option<Nanos>,
    pub last_data: Option<Nanos>,
}

impl Totals {
    /// Time from the first to the last data segment.
    pub fn data_span(&self) -> Nanos {
        match (self.first_data, self.last_data) {
            (Some(first), Some(last)) => last.since(first),
            _ => Nanos(0),
        }
    }
}

/// What is wanted of every flow.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Length of an interval.
    pub interval: Nanos,
    /// Whether the signs are gathered that only the refined diagnosis reads.
    pub refined: bool,
}

/// What a half has to know of the flow around it.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Delay from the observer to the data sender and back.
    pub sender: &'a Tau,
    /// The same for the receiver.
    pub receiver: &'a Tau,
    /// Begin of the flow.
    pub flow_start: Nanos,
    /// What is wanted of it.
    pub plan: Plan,
}

/// What became of one data segment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// What it was.
    pub filed: Filed,
    /// First byte, relative to the initial sequence number.
    pub seq_start: i64,
    /// Flight size after it.
    pub flight_size: Option<u64>,
}

impl Half {
    /// Sequence numbers count from `origin` on; later calls do nothing.
    #[inline(always)]
    pub fn start(&mut self, origin: Seq) {
        if self.unwrap.is_none() {
            let mut unwrap = Unwrap::new(origin);
            self.ledger.start(unwrap.widen(origin));
            self.unwrap = Some(unwrap);
        }
    }

    /// Begins anew for the next flow, in the same memory.
    pub(crate) fn renew(&mut self) {
        let spare = self.stretch.take().or(self.spare.take());
        let (mut ledger, mut view) =
            (std::mem::take(&mut self.ledger), std::mem::take(&mut self.view));
        let mut rtts = std::mem::take(&mut self.rtts);
        ledger.renew();
        view.renew();
        rtts.clear();
        *self = Half { ledger, view, rtts, spare, ..Half::default() };
    }

    /// Part of [`crate::flow::Flow::shrink`].
    pub(crate) fn shrink(&mut self) {
        self.ledger.shrink();
        self.view.shrink();
        self.capacity.iter_mut().for_each(|capacity| capacity.shrink());
    }

    /// `seq` relative to the first sequence number known.
    pub fn relative(&self, seq: Seq) -> Option<i64> {
        let unwrap = self.unwrap.as_ref()?;
        Some(unwrap.peek(seq) as i64 - self.ledger.origin() as i64)
    }

    /// Files a segment with payload.
    #[inline(always)]
    pub fn data(&mut self, frame: u64, entry: &Entry, around: &Around) -> Option<Sent> {
        let first = entry.seq + u32::from(entry.has(flags::SYN));
        self.start(first);
        let unwrap = self.unwrap.as_mut().expect("started above");
        let start = unwrap.peek(first);
        if start.abs_diff(self.ledger.next()) > FARTHEST {
            self.totals.out_of_window += 1;
            return None;
        }
        let end = unwrap.widen(first + entry.payload_len);
        if start > self.ledger.next() {
            self.note_gap();
        }
        let known = self.view.at(entry);
        let relative_flight = if around.plan.refined { self.relative_flight(known) } else { 0 };
        let path = Path {
            rtt: &self.rtt,
            window_closed: self.freedom.is_closed(),
            relative_flight,
            bursts: self.losses.codes(entry.ts),
        };
        let repairing = self.ledger.recovery().is_some();
        let filed = self.ledger.data(start, end, frame, entry, &path);
        self.mss.learn(entry.payload_len);
        self.headers_len = entry.headers_len();
        if self.stretch.is_none() {
            self.stretch = Some(self.begin_stretch(entry.ts, around));
        }
        let (full, small) = self.packets(entry.payload_len, start, known);
        if full > 0 && self.first_full_end.is_none() {
            self.first_full_end = Some(end);
        }
        let step = match filed.kind {
            Kind::New | Kind::Reordered => {
                let before = self.freedom.before(entry.ts, self.rtt.srtt);
                self.isolate.segment(entry.ts, full, small, before)
            }
            _ => Step::Stay,
        };
        let nagle = around.plan.refined
            && filed.kind == Kind::New
            && self.nagle.on_data(small && full == 0, start, self.ledger.next(), known);
        let holder = match filed.kind {
            _ if filed.rto_event => Some(Holder::Recovery),
            _ if nagle => Some(Holder::Dry),
            _ => None,
        };
        self.pass(step, entry.ts, holder, around);
        self.count(entry, &filed, full + u32::from(small));
        let flight_size = known.map(|known| self.ledger.next().saturating_sub(known.una));
        self.sum(entry, &filed, full, small, known, repairing);
        self.capacity_from_data(entry, &filed, full > 0, around);
        self.freedom.note(entry.ts, self.flight());
        if around.plan.refined {
            self.gather_signs(entry, &filed, small, known, (start, relative_flight));
        }
        let dry = small && full == 0 && filed.kind == Kind::New;
        let point = self.ledger.recovery_point();
        self.view.sent(self.ledger.next(), self.mss.value(), dry, point);
        let seq_start = start as i64 - self.ledger.origin() as i64;
        Some(Sent { filed, seq_start, flight_size })
    }

    /// Whether smaller segments were acknowledged and full ones, sent as well, never were.
    pub fn only_small_answered(&self) -> bool {
        let una = self.ledger.una();
        una > self.ledger.origin() && self.first_full_end.is_some_and(|end| una < end)
    }

    /// Whether nothing was acknowledged, of no more than an initial window.
    pub fn is_unanswered(&self) -> bool {
        let sent_bytes = self.ledger.next().saturating_sub(self.ledger.origin());
        let window_bytes = INITIAL_WINDOW * u64::from(self.mss.value());
        self.never_acked() && sent_bytes <= window_bytes
    }

    /// Whether the capture lacks the acknowledgements of a stretch: none was seen, or `flight_max`
    /// bytes were in flight, many times what any window allowed.
    pub fn acks_unseen(&self, flight_max: Option<u64>) -> bool {
        let rwnd_max = self.totals.rwnd_max.filter(|&most| most > 0);
        let overrun = rwnd_max.zip(flight_max);
        overrun.is_some_and(|(window, flight)| flight > OVERRUN * window)
            || self.never_acked() && (rwnd_max.is_none() || !self.is_unanswered())
    }

    /// Whether no acknowledgement of its data was seen.
    fn never_acked(&self) -> bool {
        self.ledger.una() <= self.ledger.origin()
    }

    /// What is in flight.
    #[inline(always)]
    fn flight(&self) -> Flight {
        let repairing = self.ledger.recovery().is_some();
        let (una, next) = (self.ledger.una(), self.ledger.next());
        Flight { una, next, mss: self.mss.value(), repairing }
    }

    #[cold]
    fn begin_stretch(&mut self, ts: Nanos, around: &Around) -> Box<Stretch> {
        let (flow_start, interval) = (around.flow_start, around.plan.interval);
        let mut stretch = self.spare.take().unwrap_or_default();
        stretch.renew(ts, flow_start, interval);
        stretch
    }

    fn stretch_mut(&mut self) -> &mut Stretch {
        self.stretch.as_mut().expect("made with the first payload")
    }

    #[inline(always)]
    fn count(&mut self, entry: &Entry, filed: &Filed, packets: u32) {
        let totals = &mut self.totals;
        totals.first_data.get_or_insert(entry.ts);
        totals.last_data = Some(entry.ts);
        totals.data_packets += u64::from(packets);
        totals.payload_bytes += u64::from(entry.payload_len);
        totals.unique_bytes += filed.unique_bytes;
        if filed.kind != Kind::New {
            self.count_repair(filed);
        }
    }

    /// The rest of [`Half::count`], which is nothing for new data.
    #[cold]
    fn count_repair(&mut self, filed: &Filed) {
        let totals = &mut self.totals;
        totals.retransmitted_bytes += filed.retransmitted_bytes;
        totals.missed_bytes -= filed.found_bytes;
        totals.loss_events += u64::from(filed.loss_event);
        totals.rto_events += u64::from(filed.rto_event);
        match filed.kind {
            Kind::Fast => totals.fast_retransmissions += 1,
            Kind::Tlp => totals.tlp_events += 1,
            Kind::Reordered => totals.reordered_packets += 1,
            Kind::ZeroWindowProbe => totals.zero_window_probes += 1,
            Kind::KeepAlive => totals.keep_alives += 1,
            Kind::Spurious => totals.spurious_bytes += filed.retransmitted_bytes,
            Kind::New | Kind::Rto | Kind::Retransmission => {}
        }
    }

    /// Adds the segment to the window of scores.
    #[inline(always)]
    fn sum(
        &mut self,
        entry: &Entry,
        filed: &Filed,
        full: u32,
        small: bool,
        known: Option<Known>,
        repairing: bool,
    ) {
        let mss = u64::from(self.mss.value());
        let gaps_from = self.totals.data_packets >= COLLECT_FROM;
        let window = self.stretch.as_mut().expect("made with the first payload").window(full > 0);
        let sums = &mut window.sums;
        let ip_bytes = filed.unique_bytes
            + u64::from(full + u32::from(small)) * u64::from(entry.headers_len());
        if sums.first.is_none() {
            sums.first = Some(entry.ts);
            sums.first_ip_bytes = ip_bytes;
        }
        sums.last = Some(entry.ts);
        sums.data_packets += u64::from(full + u32::from(small));
        sums.payload_bytes += u64::from(entry.payload_len);
        sums.unique_bytes += filed.unique_bytes;
        if filed.kind != Kind::New {
            sums.retransmitted_bytes += filed.retransmitted_bytes;
            sums.loss_events += u64::from(filed.loss_event);
            if filed.kind == Kind::Spurious {
                sums.spurious_bytes += filed.retransmitted_bytes;
            }
            self.last_new = None;
            return;
        }
        sums.ip_bytes += ip_bytes;
        if let Some(known) = known {
            let flight = self.ledger.next().saturating_sub(known.una);
            raise(&mut sums.flight_max, flight);
            raise(&mut self.totals.flight_max, flight);
            if let Some(edge) = known.edge {
                let rwnd = edge.saturating_sub(known.una);
                sums.rwnd_known += 1;
                sums.rwnd_sum += rwnd as f64;
                if sums.rwnd_min.is_none_or(|least| rwnd < least) {
                    sums.rwnd_min = Some(rwnd);
                }
                let headroom = (HEADROOM_SEGMENTS * mss).min(rwnd / 4).max(mss);
                sums.rwnd_limited += u64::from(rwnd.saturating_sub(flight) < headroom);
            }
        }
        if let Some(last) = self.last_new.replace(entry.ts).filter(|_| !repairing && gaps_from) {
            window.gap(entry.ts.since(last));
        }
    }

    /// A FIN takes a sequence number that no payload fills.
    pub fn fin(&mut self, entry: &Entry) {
        if let Some(unwrap) = &self.unwrap {
            self.ledger.fin(unwrap.peek(entry.seq + entry.payload_len));
        }
    }

    /// IP and TCP header bytes of the last data segment.
    pub fn headers_len(&self) -> u32 {
        self.headers_len
    }

    /// Whether the data segment `entry` is a copy of one that is in flight, from another place on
    /// its way: the same range with the same identification, from a sender that counts them.
    #[inline(always)]
    pub fn is_copy(&self, entry: &Entry) -> bool {
        let Some(unwrap) = &self.unwrap else { return false };
        let start = unwrap.peek(entry.seq + u32::from(entry.has(flags::SYN)));
        entry.ip_id != 0
            && start < self.ledger.next()
            && self.ledger.is_copy(start, entry, self.rtt.srtt.map(|_| self.rtt.rto()))
    }

    /// Whether a segment without payload is a keep-alive: one below the next byte.
    #[inline(always)]
    pub fn is_keep_alive(&self, entry: &Entry) -> bool {
        let plain = !entry.has(flags::SYN | flags::FIN | flags::RST) && entry.payload_len == 0;
        plain
            && self.totals.payload_bytes > 0
            && self.unwrap.as_ref().is_some_and(|u| u.peek(entry.seq) + 1 == self.ledger.next())
    }

    /// The window scale that the flight sizes imply, when the handshake was not seen.
    pub fn inferred_scale(&self) -> Option<u8> {
        self.scale_evidence.as_ref()?.least_scale()
    }

    /// The window in bytes that the least scale gives which the flight sizes allow, when the
    /// handshake was not seen.
    pub fn inferred_rwnd(&self) -> Option<u64> {
        let evidence = self.scale_evidence.as_ref()?;
        Some(u64::from(evidence.raw_most) << evidence.least_scale()?)
    }

    /// Ranges and acknowledgements that a bound cut.
    pub fn overflow(&self) -> u64 {
        self.ledger.overflow() + self.view.overflow()
    }

    /// Ranges that a bound cut since the other direction was never seen.
    pub fn unanswered(&self) -> u64 {
        self.ledger.unanswered()
    }
}

/// Makes `most` at least `value`.
#[inline]
fn raise(most: &mut Option<u64>, value: u64) {
    if most.is_none_or(|most| value > most) {
        *most = Some(value);
    }
}

/// Segments of room below which the sender counts as held back by the window (ALGORITHMS 1.2).
/// Segments that a sender may send before any answer (RFC 6928).
const INITIAL_WINDOW: u64 = 10;
/// Flight over the largest window that no sender reaches, even one that ignores the window for a
/// while.
const OVERRUN: u64 = 8;
const HEADROOM_SEGMENTS: u64 = 3;
/// Data packets before gaps and capacity samples are kept: most halves never get this far, and what
/// an initial window shows is slow start.
const COLLECT_FROM: u64 = 32;
/// No window reaches further (RFC 7323 section 2.3): such a number is not of this connection.
const FARTHEST: u64 = 1 << 30;
