//! One direction of a flow, named by its data sender: facts, one segment at a time.

use super::capacity::{Capacity, Collector, Stream};
use super::clock::{Holder, Piece};
use super::delay::{Rtt, Tau, is_near_sender};
use super::delivery::Delivery;
use super::entry::Entry;
use super::lasting::Lasting;
use super::ledger::{Acked, Filed, Kind, Ledger, Path};
use super::losses::{Pattern, Shape};
use super::mss::Mss;
use super::period::{Before, Isolate, Step};
use super::policer::{Policer, Trace};
use super::rounds::Rounds;
use super::scale::ScaleEvidence;
use super::seed::SeedCount;
use super::signs::is_queued;
use super::stretch::{Now, Stretch};
use super::view::{Known, SenderView};
use crate::diagnosis::tally::Tally;
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
    /// Intervals and periods; made with the first payload.
    pub stretch: Option<Box<Stretch>>,
    /// Shift of the receiver's window; `None` while it is unknown.
    pub window_scale: Option<u8>,
    /// What it was limited by so far.
    pub tally: Tally,
    /// The published prototype's count of retransmissions.
    pub seed: SeedCount,
    unwrap: Option<Unwrap>,
    ledger: Ledger,
    view: SenderView,
    isolate: Isolate,
    capacity: Option<Box<Collector>>,
    delivery: Delivery,
    window_closed: bool,
    headers_len: u32,
    last_new: Option<Nanos>,
    /// End of the newest window that the observer saw.
    edge: Option<u64>,
    free: Lasting,
    drained: Lasting,
    scale_evidence: ScaleEvidence,
    /// End of the last small segment, and what was acknowledged at the last one.
    small_end: u64,
    una_before: u64,
    /// The last segment left with nothing else in flight.
    alone: bool,
    rounds: Rounds,
    trace: Option<Box<Trace>>,
    losses: Pattern,
    flight_mean: f32,
    /// Smoothed round-trip time of the samples that hold the queue.
    queue_mean: Option<Nanos>,
    rtt_newest: [Option<Nanos>; 2],
    /// The other side sent data since this one last did.
    asked: bool,
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

/// What a half has to know of the flow around it.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Delay from the observer to the data sender and back.
    pub sender: &'a Tau,
    /// The same for the receiver.
    pub receiver: &'a Tau,
    /// Begin of the flow.
    pub flow_start: Nanos,
    /// Length of an interval.
    pub interval: Nanos,
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

    /// Whether sequence numbers of this half are known.
    pub fn started(&self) -> bool {
        self.unwrap.is_some()
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
        let known = self.view.at(entry);
        let relative_flight = self.relative_flight(known);
        let path = Path { rtt: &self.rtt, window_closed: self.window_closed, relative_flight };
        let repairing = self.ledger.recovery().is_some();
        let filed = self.ledger.data(start, end, frame, entry, &path);
        self.mss.learn(entry.payload_len);
        self.headers_len = entry.headers_len();
        self.stretch.get_or_insert_with(|| {
            Box::new(Stretch::new(entry.ts, around.flow_start, around.interval))
        });
        let (full, small) = self.packets(entry.payload_len, start, known);
        let step = match filed.kind {
            Kind::New | Kind::Reordered => {
                let before = self.before(entry.ts);
                self.isolate.segment(entry.ts, full, small, before)
            }
            _ => Step::Stay,
        };
        let nagle = filed.kind == Kind::New && self.was_nagled(small && full == 0, start, known);
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
        self.note_freedom(entry.ts);
        self.gather_signs(entry, &filed, small, known, (start, relative_flight));
        let dry = small && full == 0 && filed.kind == Kind::New;
        let point = self.ledger.recovery_point();
        self.view.sent(self.ledger.next(), self.mss.value(), dry, point);
        let seq_start = start as i64 - self.ledger.origin() as i64;
        Some(Sent { filed, seq_start, flight_size })
    }

    fn stretch_mut(&mut self) -> &mut Stretch {
        self.stretch.as_mut().expect("made with the first payload")
    }

    /// Whether a segment had waited for an acknowledgement because it, or one before it, is small
    /// (RFC 9293 section 3.7.4, Nagle): there was no more than it to send. Linux waits for the small
    /// segment before (Minshall), others for all data; and a lone segment a round is no window.
    fn was_nagled(&mut self, small: bool, start: u64, known: Option<Known>) -> bool {
        let Some(known) = known else { return false };
        let una_before = std::mem::replace(&mut self.una_before, known.una);
        let next = self.ledger.next();
        let released = |end: u64| una_before < end && known.una >= end;
        let nagled = match small {
            true => released(self.small_end) || known.una >= start,
            false => known.una >= start && self.alone,
        };
        self.alone = known.una >= start;
        if small {
            self.small_end = next;
        }
        nagled
    }

    /// Takes the time since the last send, and what Isolate made of it.
    /// `waited` is who held back a segment that waited for what it shows by its coming.
    fn pass(&mut self, step: Step, ts: Nanos, waited: Option<Holder>, around: &Around) {
        let mut pieces = self.view.take_times(ts);
        match waited {
            Some(Holder::Dry) => {
                let held = pieces.0.iter_mut().filter(|piece| piece.holder == Holder::Network);
                held.for_each(|piece| piece.holder = Holder::Dry);
            }
            Some(holder) => pieces.0.iter_mut().for_each(|piece| piece.holder = holder),
            None => {}
        }
        let data_packets = self.totals.data_packets;
        let now = Now { ts, interval: around.interval, data_packets };
        self.stretch_mut().pass(step, &now, &pieces);
        let pause: i64 = pieces.0[..pieces.1].iter().map(Piece::pause_ns).sum();
        if pause > 0 {
            let answers = std::mem::take(&mut self.asked);
            self.stretch_mut().late().sums.signs.pause(pause as u64, answers);
        }
        if !matches!(step, Step::Stay | Step::Transfer { .. }) {
            self.last_new = None;
            self.capacity.iter_mut().for_each(|capacity| capacity.interrupt());
        }
    }

    /// Signs that a data segment shows.
    fn gather_signs(
        &mut self,
        entry: &Entry,
        filed: &Filed,
        small: bool,
        known: Option<Known>,
        (start, flight_before): (u64, u16),
    ) {
        let next = self.ledger.next();
        let flight = known.map(|known| next.saturating_sub(known.una));
        let repairing = self.ledger.recovery_point().is_some();
        let ended = known.and_then(|known| self.rounds.sent(entry.ts, known.una, next, repairing));
        let (floor, mss) = (self.rtt.min, self.mss.value());
        let newest = self.rtt_lately();
        self.trace(entry, filed, start, flight_before);
        let mean = self.queue_mean;
        let signs = &mut self.stretch_mut().late().sums.signs;
        signs.ce_marks += u32::from(entry.ecn() == CONGESTION_EXPERIENCED);
        signs.timeouts += u32::from(filed.rto_event);
        if filed.kind == Kind::New {
            signs.segments += 1;
            signs.smalls += u32::from(small);
            signs.pushes += u32::from(entry.has(flags::PSH));
        }
        if let Some(round) = ended {
            signs.round(&round, floor, mss);
        }
        if filed.loss_event
            && let (Some(floor), Some(mean), Some(flight)) = (floor, mean, flight)
        {
            signs.loss(flight, newest, floor, mean);
        }
    }

    /// Keeps the curves of the policer test, from the first loss on and anew after every pause
    /// that fills a bucket.
    fn trace(&mut self, entry: &Entry, filed: &Filed, start: u64, flight: u16) {
        let lately = self.rtt_lately();
        let queued = lately.zip(self.rtt.min).is_some_and(|(rtt, floor)| is_queued(rtt, floor));
        let high = lately.zip(self.queue_mean).is_some_and(|(rtt, mean)| rtt > mean);
        let trace = match &mut self.trace {
            Some(trace) => trace,
            None if filed.loss_event => self.trace.insert(Box::default()),
            None => return,
        };
        trace.sent(entry.ts, entry.payload_len);
        if filed.kind == Kind::New {
            self.losses.sent(flight, self.ledger.recovery_point().is_some());
        }
        if let Some(lost) = filed.lost_at {
            trace.lost(lost, filed.seen_bytes, queued);
            if let Some(flight) = filed.lost_flight.filter(|_| !queued) {
                self.losses.lost(start, flight, high, self.mss.value());
            }
        }
    }

    /// Flight size against its mean over the last hundred segments or so, in 256ths: what was in
    /// flight when a segment was sent is compared with its own time, since flows change.
    fn relative_flight(&mut self, known: Option<Known>) -> u16 {
        let Some(known) = known else { return 0 };
        let flight = self.ledger.next().saturating_sub(known.una) as f32;
        self.flight_mean += (flight - self.flight_mean) / 64.0;
        (flight * 256.0 / self.flight_mean.max(1.0)) as u16
    }

    /// How the losses lie that no queue explains.
    pub fn loss_shape(&self) -> Option<Shape> {
        self.losses.shape()
    }

    /// The lesser of the last two round-trip samples: one alone may be an accident.
    fn rtt_lately(&self) -> Option<Nanos> {
        match self.rtt_newest {
            [Some(a), Some(b)] => Some(a.min(b)),
            [a, _] => a,
        }
    }

    /// The policer that the losses so far show.
    pub fn policer(&mut self) -> Option<Policer> {
        let rtt = self.rtt.srtt?;
        self.trace.as_mut()?.verdict(rtt)
    }

    /// How many full packets a segment stands for, and whether a small one is among them. What the
    /// end of the receiver's window cut short is no sign of the application.
    #[inline(always)]
    fn packets(&self, len: u32, start: u64, known: Option<Known>) -> (u32, bool) {
        let (full, small) = self.mss.split(len);
        let mss = u64::from(self.mss.value());
        let left = known.and_then(|known| known.edge).map(|edge| edge.saturating_sub(start));
        let cut = small && left.is_some_and(|left| left < u64::from(full + 1) * mss);
        if cut { (full + 1, false) } else { (full, small) }
    }

    /// What the sender could have done before this segment, for Isolate.
    #[inline(always)]
    fn before(&self, ts: Nanos) -> Before {
        let idle = self.rtt.srtt.unwrap_or(Nanos::from_millis(100)).max(SHORTEST_IDLE);
        Before { free: self.free.until(ts), drained: self.drained.until(ts), idle }
    }

    /// Notes from when on nothing has held the sender back: room in the window for a full segment
    /// and no loss being repaired; and from when on it had nothing in flight besides. `at` is the
    /// sender's time, as far as it can be told.
    #[inline(always)]
    fn note_freedom(&mut self, at: Nanos) {
        let next = self.ledger.next();
        let room = self.edge.is_none_or(|edge| edge >= next + u64::from(self.mss.value()));
        let free = room && !self.window_closed && self.ledger.recovery().is_none();
        self.free.note(free, at);
        self.drained.note(free && self.ledger.una() >= next, at);
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

    #[inline(always)]
    fn capacity_from_data(&mut self, entry: &Entry, filed: &Filed, full: bool, around: &Around) {
        if self.totals.data_packets < COLLECT_FROM {
            return;
        }
        let collector = self.capacity.get_or_insert_default();
        let near_sender = is_near_sender(around.sender, around.receiver);
        let near_sender = near_sender.unwrap_or(self.mss.super_packets);
        collector.choose(if near_sender { Stream::Acks } else { Stream::Data });
        if collector.stream() == Some(Stream::Data) {
            if filed.kind == Kind::New {
                collector.packet(entry.ts, entry.ip_len(), full);
            } else {
                collector.interrupt();
            }
        }
    }

    /// SACK blocks of the other side in wide numbers. Blocks that point nowhere are left out.
    pub fn widen<'a>(
        &self,
        sack: &[(Seq, Seq)],
        wide: &'a mut [(u64, u64); 4],
    ) -> &'a [(u64, u64)] {
        let Some(unwrap) = &self.unwrap else { return &[] };
        let mut count = 0;
        for &(left, right) in sack.iter().take(4) {
            let block = (unwrap.peek(left), unwrap.peek(right));
            if block.0 < block.1 && block.1.abs_diff(self.ledger.una()) < FARTHEST {
                wide[count] = block;
                count += 1;
            }
        }
        &wide[..count]
    }

    /// Files an acknowledgement of this half's data.
    #[inline(always)]
    pub fn ack(&mut self, entry: &Entry, sack: &[(u64, u64)], around: &Around) -> Acked {
        let Some(unwrap) = &self.unwrap else { return Acked::default() };
        let ack = unwrap.peek(entry.ack);
        if ack.abs_diff(self.ledger.una()) > FARTHEST {
            self.totals.out_of_window += 1;
            return Acked::default();
        }
        let acked = self.ledger.ack(ack, entry, sack, around.receiver.least());
        self.totals.duplicate_acks += u64::from(acked.duplicate);
        self.totals.missed_bytes += acked.missed_bytes;
        if acked.spurious_bytes > 0 {
            self.totals.spurious_bytes += acked.spurious_bytes;
            if let Some(stretch) = &mut self.stretch {
                stretch.late().sums.spurious_bytes += acked.spurious_bytes;
            }
        }
        if acked.bytes > 0 {
            self.delivery.acked(entry.ts, acked.bytes, self.rtt.srtt);
        }
        self.window(entry, ack, around);
        self.capacity_from_ack(entry, &acked, sack);
        self.asked |= entry.payload_len > 0;
        acked
    }

    /// The window that comes with an acknowledgement.
    #[inline(always)]
    fn window(&mut self, entry: &Entry, ack: u64, around: &Around) {
        let syn = entry.has(flags::SYN);
        let scale = if syn { Some(0) } else { self.window_scale };
        let rwnd = scale.map(|scale| u64::from(entry.window_raw) << scale);
        let closed = entry.window_raw == 0 && !syn;
        if closed && !self.window_closed && ack >= self.ledger.una() {
            self.totals.zero_window_events += 1;
            self.stretch.iter_mut().for_each(|s| s.late().sums.signs.closures += 1);
        }
        if entry.has(flags::ECE) && !syn {
            self.stretch.iter_mut().for_each(|s| s.late().sums.signs.ecn_echoes += 1);
        }
        if ack >= self.ledger.una() {
            self.window_closed = closed;
        }
        match rwnd {
            Some(rwnd) => raise(&mut self.totals.rwnd_max, rwnd),
            None => {
                let flight = self.ledger.next().saturating_sub(ack);
                self.scale_evidence.add(flight, entry.window_raw);
            }
        }
        let tau = around.sender.recent().unwrap_or_default();
        self.view.acknowledgement(entry, ack, rwnd, tau);
        if ack >= self.ledger.una() {
            self.edge = rwnd.map(|rwnd| ack + rwnd);
            self.note_freedom(entry.ts + tau);
        }
    }

    #[inline(always)]
    fn capacity_from_ack(&mut self, entry: &Entry, acked: &Acked, sack: &[(u64, u64)]) {
        let Some(collector) = &mut self.capacity else { return };
        if collector.stream() != Some(Stream::Acks) {
            return;
        }
        if acked.bytes == 0 {
            // A window update or a duplicate: not clocked by data that left the link.
            if acked.duplicate || !sack.is_empty() {
                collector.interrupt();
            }
            return;
        }
        let mss = u64::from(self.mss.value());
        let bytes = acked.bytes + acked.bytes.div_ceil(mss) * u64::from(self.headers_len);
        let repairing = self.ledger.recovery().is_some() || !sack.is_empty();
        let bytes = bytes.min(u64::from(u32::MAX)) as u32;
        collector.packet(entry.ts, bytes, acked.bytes >= mss && !repairing);
    }

    /// A round-trip sample: the receiver's delay, and the sender's as known now. `queues` tells
    /// whether the delay that was measured holds the queue of the path, as far as that is known:
    /// whether the receiver is the farther end.
    #[inline(always)]
    pub fn round_trip(&mut self, rtt: Nanos, queues: bool) {
        self.rtt.sample(rtt);
        if let Some(stretch) = &mut self.stretch {
            let sums = &mut stretch.late().sums;
            sums.rtt_samples += 1;
            sums.rtt_sum_ns += rtt.0 as u64;
        }
        if queues {
            self.queueing(rtt);
        }
    }

    /// A data segment echoes an acknowledgement that passed `tau` ago, which makes a round-trip
    /// time of `rtt`: near the receiver it is this that shows the queue. The sender may have waited
    /// for data, but no longer than since it last sent some.
    pub fn echo(&mut self, ts: Nanos, tau: Nanos, rtt: Nanos) {
        let Some(last) = self.totals.last_data else { return };
        let waited = ts.since(last);
        if tau.0 * 2 > rtt.0 && waited.0 * 4 < tau.0 {
            self.queueing(rtt - waited);
        }
    }

    fn queueing(&mut self, rtt: Nanos) {
        self.rtt_newest = [Some(rtt), self.rtt_newest[0]];
        self.rounds.round_trip(rtt);
        let mean = self.queue_mean.get_or_insert(rtt);
        *mean = Nanos(mean.0 + (rtt.0 - mean.0) / 32);
        let floor = self.rtt.min.unwrap_or(rtt);
        if let Some(stretch) = &mut self.stretch {
            stretch.late().sums.signs.round_trip(rtt, floor);
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
        entry.ip_id != 0 && start < self.ledger.next() && self.ledger.is_copy(start, entry)
    }

    /// Whether a segment without payload is a keep-alive: one below the next byte.
    #[inline(always)]
    pub fn is_keep_alive(&self, entry: &Entry) -> bool {
        let plain = !entry.has(flags::SYN | flags::FIN | flags::RST) && entry.payload_len == 0;
        plain
            && self.totals.payload_bytes > 0
            && self.unwrap.as_ref().is_some_and(|u| u.peek(entry.seq) + 1 == self.ledger.next())
    }

    /// Capacity as known now; `None` before `min_packets` data packets.
    pub fn capacity(&mut self, min_packets: u64) -> Option<Capacity> {
        if self.totals.data_packets <= min_packets {
            return None;
        }
        let delivered = self.delivery.most_bps;
        Some(self.capacity.get_or_insert_default().capacity(delivered))
    }

    /// The window scale that the flight sizes imply, when the handshake was not seen.
    pub fn inferred_scale(&self) -> Option<u8> {
        self.scale_evidence.least_scale()
    }

    /// The window in bytes that the least scale gives which the flight sizes allow, when the
    /// handshake was not seen.
    pub fn inferred_rwnd(&self) -> Option<u64> {
        let scale = self.inferred_scale()?;
        Some(u64::from(self.scale_evidence.raw_most) << scale)
    }

    /// Ranges and acknowledgements that a bound cut.
    pub fn overflow(&self) -> u64 {
        self.ledger.overflow() + self.view.overflow()
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
const HEADROOM_SEGMENTS: u64 = 3;
/// Silence shorter than this is scheduling, whatever the round-trip time.
const SHORTEST_IDLE: Nanos = Nanos(10_000_000);
/// Data packets before gaps and capacity samples are kept: most halves never get this far, and what
/// an initial window shows is slow start.
const COLLECT_FROM: u64 = 32;
/// The ECN field of a packet that a queue marked (RFC 3168 section 5).
const CONGESTION_EXPERIENCED: u8 = 3;
/// No window reaches further (RFC 7323 section 2.3): such a number is not of this connection.
const FARTHEST: u64 = 1 << 30;
