//! One direction of a flow, named by its data sender: facts, one segment at a time.

mod facts;
mod plain;
mod run;

use crate::flow::entry::Entry;
use crate::flow::loss::history::LossHistory;
use crate::flow::loss::ledger::{Acked, Filed, Kind, Ledger, Path};
use crate::flow::observer::{Ack, Around, Data, Observer, RttBefore};
use crate::flow::path::delay::Rtt;
use crate::flow::path::delay::Tau;
use crate::flow::path::mss::Mss;
use crate::flow::path::one_way::OneWay;
use crate::flow::path::probe::CapacityProbe;
use crate::flow::path::queue::QueueSense;
use crate::flow::path::window::ReceiverWindow;
use crate::flow::time::segmenter::Now;
use crate::flow::time::timeline::Timeline;
use crate::flow::time::view::{SenderState, SenderView, Sending};
use crate::flow::time::writer::Writer;
use crate::flow::totals::Totals;
use crate::units::{Nanos, Seq};
use crate::wire::flags;

/// Everything known of one direction. What a segment was is found by the first six, in the order of
/// [`Half::pass`] and [`Half::ack`]; the others keep statistics of it.
#[derive(Debug, Default)]
pub struct Half {
    /// Sizes of segments.
    pub mss: Mss,
    /// Round-trip times.
    pub rtt: Rtt,
    /// The receiver's window.
    pub window: ReceiverWindow,
    ledger: Ledger,
    view: SenderView,
    writer: Writer,
    /// Counts from begin to end.
    pub totals: Totals,
    timeline: Timeline,
    capacity: CapacityProbe,
    queue: QueueSense,
    one_way: OneWay,
    losses: LossHistory,
    /// The newest acknowledgement, while another one like it would say nothing new.
    said: Option<Said>,
}

/// What an acknowledgement says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Said {
    ack: Seq,
    window_raw: u16,
}

/// Tells every observer of an event. An observer that is added to [`Half`] is named here. What it
/// needs of plain segments stands in [`Half::plain_data`] and [`Half::plain_ack`]; a property test
/// of [`crate::flow::connection`] finds what is missing there.
macro_rules! tell {
    ($half:ident, $event:ident($($what:expr),+)) => {
        $half.totals.$event($($what),+);
        $half.timeline.$event($($what),+);
        $half.capacity.$event($($what),+);
        $half.queue.$event($($what),+);
        $half.losses.$event($($what),+);
        $half.writer.$event($($what),+);
    };
}

/// Where a data segment lies, and how it was before it.
#[derive(Clone, Copy, Debug)]
struct Place {
    start: u64,
    end: u64,
    relative_flight: u16,
    was_repairing: bool,
}

/// What became of one data segment.
#[derive(Clone, Copy, Debug)]
pub struct FiledData {
    /// What it was.
    pub filed: Filed,
    /// Flight size after it.
    pub flight_size: Option<u64>,
}

impl Half {
    /// Sequence numbers count from `origin` on; later calls do nothing.
    #[inline(always)]
    pub fn start(&mut self, origin: Seq) {
        self.ledger.start(origin);
    }

    /// Begins anew for the next flow, in the same memory. Each part by itself: a whole one made
    /// elsewhere would be copied over this one.
    pub(crate) fn renew(&mut self) {
        // All of them, so that the compiler asks for one that is added.
        let Half {
            mss,
            rtt,
            window,
            ledger,
            view,
            writer,
            totals,
            timeline,
            capacity,
            queue,
            one_way,
            losses,
            said,
        } = self;
        *mss = Mss::default();
        *rtt = Rtt::default();
        *window = ReceiverWindow::default();
        ledger.renew();
        view.renew();
        *writer = Writer::default();
        totals.renew();
        timeline.renew();
        *capacity = CapacityProbe::default();
        *queue = QueueSense::default();
        *one_way = OneWay::default();
        *losses = LossHistory::default();
        *said = None;
    }

    /// Part of [`crate::flow::Flow::shrink`].
    pub(crate) fn shrink(&mut self) {
        self.ledger.shrink();
        self.view.shrink();
    }

    /// Counts a segment of any kind.
    #[inline(always)]
    pub fn count(&mut self, entry: &Entry) {
        let wire_bytes = u64::from(entry.wire_len());
        self.totals.packets += 1;
        self.totals.wire_bytes += wire_bytes;
        self.totals.seed.segment(entry.seq, wire_bytes);
    }

    /// Files a segment with payload: where it lies, what the sender knew, what the segment was.
    #[inline(always)]
    pub fn data(&mut self, frame: u64, entry: &Entry, around: Around<'_>) -> Option<FiledData> {
        let Some((start, end)) = self.ledger.range(entry) else {
            self.totals.out_of_window += 1;
            return None;
        };
        self.said = None;
        if start > self.ledger.next() {
            self.queue.note_gap();
        }
        let sending = self.view.at(entry, end);
        let relative_flight = self.relative_flight(sending.known);
        let was_repairing = self.ledger.recovery_point().is_some();
        let place = Place { start, end, relative_flight, was_repairing };
        let path = Path {
            rtt: &self.rtt,
            window_closed: self.window.is_closed(),
            relative_flight,
            bursts: self.losses.codes(entry.ts),
        };
        if !self.ledger.append_plain(start, end, frame, entry, &path) {
            return Some(self.other_data(frame, entry, around, place, sending));
        }
        let filed = Filed::new(end - start);
        let flight_size = self.pass(entry, around, place, sending, Filed::NEW, end - start);
        Some(FiledData { filed, flight_size })
    }

    /// [`Half::data`] for all but new data in order.
    #[cold]
    #[inline(never)]
    fn other_data(
        &mut self,
        frame: u64,
        entry: &Entry,
        around: Around<'_>,
        place: Place,
        sending: Sending,
    ) -> FiledData {
        let path = Path {
            rtt: &self.rtt,
            window_closed: self.window.is_closed(),
            relative_flight: place.relative_flight,
            bursts: self.losses.codes(entry.ts),
        };
        let filed = self.ledger.data(place.start, place.end, frame, entry, &path);
        let unique_bytes = filed.unique_bytes;
        let flight_size = self.pass(entry, around, place, sending, &filed, unique_bytes);
        FiledData { filed, flight_size }
    }

    /// Lets the time up to a data segment pass, then tells the observers. Gives the flight size.
    #[inline(always)]
    fn pass(
        &mut self,
        entry: &Entry,
        around: Around<'_>,
        place: Place,
        sending: Sending,
        filed: &Filed,
        unique_bytes: u64,
    ) -> Option<u64> {
        self.mss.learn(entry.payload_len, entry.has_timestamps());
        self.mss.set_headers_len(entry.headers_len());
        let (known, start) = (sending.known, place.start);
        let (full, small) = packets(&self.mss, entry.payload_len, start, known);
        if full > 0 {
            self.ledger.note_full(place.end);
        }
        let flight = self.ledger.flight();
        let rtt_before = match filed.loss_event || !self.losses.is_empty() {
            true => self.queue.before(filed.is_unseen()),
            false => RttBefore::default(),
        };
        let data = Data {
            entry,
            filed,
            unique_bytes,
            start,
            full,
            small,
            data_packets: self.totals.data_packets + u64::from(full + u32::from(small)),
            known,
            flight,
            room: self.window.has_room(flight.next, self.mss.value()),
            was_repairing: place.was_repairing,
            relative_flight: place.relative_flight,
            excess: (filed.kind == Kind::New).then(|| self.one_way.data(entry)).flatten(),
            rtt_before,
            rtt: &self.rtt,
            mss: &self.mss,
            around,
        };
        let sent = data.sent(self.ledger.recovery_point());
        let hold = self.writer.hold(&data);
        let (pieces, freed, prompt) = self.view.send(sending, sent);
        let wait = self.writer.attribute(pieces, hold, freed, prompt, self.rtt.srtt);
        let now = Now { ts: entry.ts, interval: around.interval };
        let step = self.timeline.step(&data);
        if self.timeline.pass(step, &now, pieces, &wait) {
            self.capacity.interrupt();
        }
        let round = self.queue.turn(entry.ts, known, &flight);
        tell!(self, on_data(&data));
        if let Some(round) = round {
            tell!(self, on_round(&round, &data));
        }
        if filed.loss_event {
            tell!(self, on_loss(&data));
        }
        data.flight_size()
    }

    /// What was offered or opened anew: no acknowledgement only repeats another one.
    pub(crate) fn reopen(&mut self) {
        self.said = None;
    }

    /// Whether the data segment `entry` of the other side repeats the acknowledgement before it, as
    /// all data of a transfer in one direction does. Then no observer takes it: no range, window or
    /// sum would change, for a duplicate has no data. It does ask for an answer.
    #[inline(always)]
    pub fn is_said_again(&mut self, entry: &Entry, sack: &[(Seq, Seq)]) -> bool {
        let again = self.said == Some(Said { ack: entry.ack, window_raw: entry.window_raw })
            && entry.payload_len > 0
            && sack.is_empty()
            && !entry.has(flags::SYN | flags::ECE);
        if again {
            self.writer.note_data_of_peer();
        }
        again
    }

    /// Whether the data of `entry`, which comes from this side, ends a message: it is less than a
    /// full segment.
    #[inline(always)]
    pub fn is_message(&self, entry: &Entry) -> bool {
        let is_full = |mss| entry.payload_len >= mss;
        entry.payload_len > 0 && !self.mss.learned().is_some_and(is_full)
    }

    /// The other side sent a message.
    pub fn note_message(&mut self, ts: Nanos) {
        self.view.note_data(ts);
        self.timeline.note_message();
    }

    /// The delay from the observer to the sender and back: where the sender's timestamps show a
    /// queue before the observer, the least one and what the last data waited in it.
    #[inline(always)]
    fn way_to_sender(&self, sender: &Tau) -> Option<Nanos> {
        match self.one_way.queue() {
            Some(queue) => sender.least().map(|least| least + queue),
            None => sender.recent(),
        }
    }

    /// Files an acknowledgement of this direction's data; then tells the observers.
    #[inline(always)]
    pub fn ack(&mut self, entry: &Entry, sack: &[(Seq, Seq)], around: Around<'_>) -> Acked {
        self.ledger.start(entry.ack);
        let mut wide;
        let blocks = match sack {
            [] => &[],
            _ => {
                wide = [(0, 0); 4];
                self.ledger.widen(sack, &mut wide)
            }
        };
        let Some(number) = self.ledger.acknowledged(entry) else {
            self.totals.out_of_window += 1;
            return Acked::default();
        };
        let acked = self.ledger.ack(number, entry, blocks, around.receiver.least());
        let flight = self.ledger.flight();
        let window = self.window.advertise(entry, number, flight.una, flight.next);
        let tau = self.way_to_sender(around.sender);
        self.view.acknowledgement(entry, number, window.rwnd, way(entry, tau));
        let ack = Ack {
            entry,
            acked: &acked,
            selective: !blocks.is_empty(),
            is_newest: number >= flight.una,
            window,
            flight,
            room: self.window.has_room(flight.next, self.mss.value()),
            arrival: entry.ts + tau.unwrap_or_default(),
            rtt: &self.rtt,
            mss: &self.mss,
        };
        tell!(self, on_ack(&ack));
        // A closed window and one of unknown scale count each time.
        let counts_once = number <= flight.una && window.rwnd.is_some_and(|rwnd| rwnd > 0);
        let said = Said { ack: entry.ack, window_raw: entry.window_raw };
        self.said = (counts_once && !entry.has(flags::SYN)).then_some(said);
        acked
    }

    /// A round-trip sample: the receiver's delay, and the sender's as known `now`. `queues` says
    /// whether the measured delay holds the queue of the path: whether the receiver is the farther
    /// end, or the queue stands on its side.
    #[inline(always)]
    pub fn round_trip(&mut self, now: Nanos, rtt: Nanos, queues: bool) {
        let rtt = self.queue.raise(now, rtt);
        self.rtt.sample(rtt);
        self.totals.rtts.add(rtt);
        self.timeline.add_rtt(rtt);
        if queues {
            self.queue_sample(rtt);
        }
    }

    /// A segment of the other side, with timestamps, passed towards the sender.
    #[inline(always)]
    pub fn answered(&mut self, entry: &Entry) {
        self.queue.answered(entry, self.rtt.srtt);
    }

    /// A data segment echoes an acknowledgement that passed `tau` ago, as far as that is known.
    /// Delays are given of its sender and of the `receiver`.
    #[inline(always)]
    pub fn echo(&mut self, entry: &Entry, tau: Option<Nanos>, sender: &mut Tau, receiver: &Tau) {
        if let Some(tau) = self.queue.echoed(entry, tau)
            && let Some(receiver_delay) = receiver.recent()
            && let Some(last) = self.totals.last_data
        {
            let (waited, lossless) = (entry.ts.since(last), self.losses.is_empty());
            let rtt = tau + receiver_delay;
            let Some(rtt) = self.queue.echo(entry.ts, tau, rtt, waited, lossless) else { return };
            sender.note_echo(rtt - receiver_delay);
            // A queue behind the observer is in the receiver's own delay.
            if !receiver.has_queue() {
                self.queue_sample(rtt);
            }
        }
    }

    /// A round-trip sample that holds the queue of the path.
    #[inline(always)]
    fn queue_sample(&mut self, rtt: Nanos) {
        let sample = self.queue.sample(rtt, self.rtt.min.unwrap_or(rtt));
        tell!(self, on_round_trip(&sample));
    }

    /// Flight size against its mean; 0 while it is unknown.
    #[inline(always)]
    fn relative_flight(&mut self, known: Option<SenderState>) -> u16 {
        let Some(known) = known else { return 0 };
        let flight = self.ledger.next().saturating_sub(known.una);
        self.losses.relative_flight(flight, self.totals.data_packets)
    }

    /// Whether a segment without payload is a keep-alive: one below the next byte.
    #[inline(always)]
    pub fn is_keep_alive(&self, entry: &Entry) -> bool {
        let plain = !entry.has(flags::SYN | flags::FIN | flags::RST) && entry.payload_len == 0;
        plain && self.totals.payload_bytes > 0 && self.ledger.is_below_next(entry)
    }

    /// Whether the data segment `entry` is a copy of one that is in flight.
    #[inline(always)]
    pub fn is_copy(&self, entry: &Entry) -> bool {
        self.ledger.is_copy(entry, &self.rtt)
    }

    /// A FIN takes a sequence number that no payload fills.
    pub fn fin(&mut self, entry: &Entry) {
        self.ledger.fin(entry);
    }

    /// Ends everything at the last data segment.
    pub fn finish(&mut self, interval: Nanos) {
        if let Some(end) = self.totals.last_data {
            self.timeline.finish(end, interval);
        }
    }
}

/// How many full packets `len` bytes from `start` on stand for, and whether a small one is among
/// them. What the end of the receiver's window cut short is no sign of the application.
#[inline(always)]
fn packets(mss: &Mss, len: u32, start: u64, known: Option<SenderState>) -> (u32, bool) {
    let (full, small) = mss.split(len);
    let left = known.and_then(|known| known.edge).map(|edge| edge.saturating_sub(start));
    let cut = small && left.is_some_and(|left| left < u64::from(full + 1) * u64::from(mss.value()));
    if cut { (full + 1, false) } else { (full, small) }
}

/// How long an acknowledgement may be under way to the sender. While that is unknown only an echo
/// proves that the sender had it.
#[inline(always)]
fn way(entry: &Entry, tau: Option<Nanos>) -> Nanos {
    tau.unwrap_or(if entry.has_timestamps() { UNKNOWN_WAY } else { Nanos(0) })
}

/// Longer than most ways: the first retransmission timeout of a sender that knows none either (RFC
/// 6298 section 2.1).
const UNKNOWN_WAY: Nanos = Nanos::SECOND;
