//! A connection: both directions, and what only both together show.

pub(crate) mod plain;

use crate::flow::entry::Entry;
use crate::flow::half::{FiledData, Half};
use crate::flow::handshake::{Handshake, side};
use crate::flow::loss::duplicate::Recent;
use crate::flow::loss::ledger::Acked;
use crate::flow::observer::Around;
use crate::flow::path::delay::{self, Tau};
use crate::units::{Nanos, Seq};
use crate::wire::{FlowKey, flags};

/// A connection as the capture shows it. Sides: 0 is the low endpoint of the key, 1 the high one.
#[derive(Debug)]
pub struct Flow {
    /// The 4-tuple.
    pub key: FlowKey,
    /// Frame number of its first segment.
    pub first_frame: u64,
    /// Time of its first segment.
    pub start: Nanos,
    /// Time of its last segment.
    pub end: Nanos,
    /// Opening and closing.
    pub handshake: Handshake,
    /// What each side sent.
    pub halves: [Half; 2],
    /// Delay from the observer to each side and back.
    pub taus: [Tau; 2],
    first_seq: [Option<Seq>; 2],
    recent: Recent,
}

/// What became of one segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentOutcome {
    /// It was a copy from a mirror port and counts for nothing else.
    pub duplicate: bool,
    /// What its payload was.
    pub sent: Option<FiledData>,
    /// What its acknowledgement did.
    pub acked: Acked,
    /// It was a keep-alive without payload.
    pub keep_alive: bool,
}

impl Flow {
    /// A flow that begins with `first`, of frame number `first_frame`.
    pub fn new(key: FlowKey, first_frame: u64, first: &Entry) -> Flow {
        Flow {
            key,
            first_frame,
            start: first.ts,
            end: first.ts,
            handshake: Handshake::default(),
            halves: Default::default(),
            taus: Default::default(),
            first_seq: [None; 2],
            recent: Recent::default(),
        }
    }

    /// Becomes a flow that begins with `first`, in the same memory.
    pub fn renew(&mut self, key: FlowKey, first_frame: u64, first: &Entry) {
        // All of it, so that the compiler asks for what is added.
        let Flow {
            key: old_key,
            first_frame: old_frame,
            start,
            end,
            handshake,
            halves,
            taus,
            first_seq,
            recent,
        } = self;
        (*old_key, *old_frame) = (key, first_frame);
        (*start, *end) = (first.ts, first.ts);
        *handshake = Handshake::default();
        halves.iter_mut().for_each(Half::renew);
        *taus = Default::default();
        *first_seq = [None; 2];
        *recent = Recent::default();
    }

    /// Whether `entry` opens the next connection on the same 4-tuple.
    #[inline]
    pub fn is_reopened_by(&self, entry: &Entry) -> bool {
        entry.has(flags::SYN) && self.handshake.is_reopened_by(entry, self.first_seq[side(entry)])
    }

    /// Takes the next segment, with SACK blocks as sent; `interval` is the length of intervals.
    #[inline(always)]
    pub fn segment(
        &mut self,
        frame: u64,
        entry: &Entry,
        sack: &[(Seq, Seq)],
        interval: Nanos,
    ) -> SegmentOutcome {
        let side = side(entry);
        self.end = self.end.max(entry.ts);
        let newest = self.recent.is_copy(entry);
        let copy = newest
            || (entry.payload_len > 0 && self.halves[side].is_copy(entry))
            || (entry.has(flags::SYN) && self.handshake.is_copy(entry));
        if copy {
            if !newest {
                self.recent.note_copy();
            }
            self.halves[side].totals.duplicate_frames += 1;
            return SegmentOutcome { duplicate: true, ..SegmentOutcome::default() };
        }
        self.first_seq[side].get_or_insert(entry.seq);
        self.halves[side].count(entry);
        if entry.has(flags::SYN | flags::FIN | flags::RST) || !self.handshake.is_settled() {
            self.open(entry, side);
        }
        let flow_start = self.start;
        let (own, peer) = both(&mut self.halves, side);
        let (tau, peer_tau) = both(&mut self.taus, side);
        if entry.has_timestamps() && !entry.has(flags::SYN | flags::RST) {
            timestamps(entry, (own, peer), (tau, peer_tau));
        }
        let mut acked = Acked::default();
        if entry.has(flags::ACK) && !entry.has(flags::RST) && !peer.is_said_again(entry, sack) {
            let around = Around { sender: peer_tau, receiver: tau, flow_start, interval };
            acked = peer.ack(entry, sack, around);
            if let Some(sample) = acked.sample {
                round_trip(entry, sample, &acked, peer, (tau, peer_tau));
            }
        }
        if own.is_message(entry) {
            peer.note_message(entry.ts);
        }
        let keep_alive = own.is_keep_alive(entry);
        own.totals.keep_alives += u64::from(keep_alive);
        let sent = match entry.payload_len {
            0 => None,
            _ => {
                let around = Around { sender: tau, receiver: peer_tau, flow_start, interval };
                own.data(frame, entry, around)
            }
        };
        if entry.has(flags::FIN) {
            own.fin(entry);
        }
        SegmentOutcome { duplicate: false, sent, acked, keep_alive }
    }

    /// Opening and closing, and what the options say about both halves.
    #[cold]
    fn open(&mut self, entry: &Entry, side: usize) {
        let was_complete = self.handshake.complete();
        self.halves.iter_mut().for_each(Half::reopen);
        self.handshake.segment(entry);
        if entry.has(flags::SYN) {
            self.halves[side].start(entry.seq + 1);
            let timestamps = entry.has_timestamps();
            if entry.mss_option != 0 {
                self.halves[1 - side].mss.offer(entry.mss_option, timestamps);
            }
            let before = self.handshake.offer(1 - side).and_then(|offer| offer.mss);
            if let Some(mss_option) = before.filter(|_| !timestamps && entry.has(flags::ACK)) {
                // Timestamps are used where both sides offer them (RFC 7323 section 3.2).
                self.halves[side].mss.offer(mss_option, false);
            }
            for receiver in 0..2 {
                self.halves[1 - receiver].window.scale = self.handshake.window_scale(receiver);
            }
        }
        if !was_complete && self.handshake.complete() {
            let orig = self.handshake.orig.unwrap_or(0);
            self.taus[orig].set_handshake(self.handshake.tau_orig());
            self.taus[1 - orig].set_handshake(self.handshake.tau_resp());
        }
    }

    /// Where the observer stands for the half of `sender`: 0 at the sender, 1 at the receiver.
    pub fn position(&self, sender: usize) -> Option<f64> {
        delay::position(&self.taus[sender], &self.taus[1 - sender])
    }

    /// Round-trip time of the handshake.
    pub fn handshake_rtt(&self) -> Option<Nanos> {
        Some(self.taus[0].handshake()? + self.taus[1].handshake()?)
    }

    /// Gives back the room that is kept for more segments.
    pub fn shrink(&mut self) {
        self.halves.iter_mut().for_each(Half::shrink);
    }

    /// Ends both halves.
    pub fn finish(&mut self, interval: Nanos) {
        self.halves.iter_mut().for_each(|half| half.finish(interval));
    }

    /// An identifier that every run over the same packets gives: a hash of the 4-tuple, the tunnel
    /// and the time of the first segment. 63 bits, so that it fits a signed integer everywhere.
    pub fn id(&self, tunnel: Option<&str>) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut mix = |word: u64| {
            hash = (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            hash ^= hash >> 29;
        };
        for endpoint in [&self.key.low, &self.key.high] {
            for half in endpoint.addr.chunks_exact(8) {
                mix(u64::from_be_bytes(half.try_into().expect("eight bytes")));
            }
            mix(u64::from(endpoint.port));
        }
        // By its name: the index of a tunnel depends on what came before it in the capture.
        tunnel.iter().flat_map(|name| name.bytes()).for_each(|byte| mix(u64::from(byte)));
        mix(self.start.0 as u64);
        hash >> 1
    }
}

/// What belongs to `side`, and what belongs to the other one: found once for a segment.
#[inline(always)]
fn both<T>(pair: &mut [T; 2], side: usize) -> (&mut T, &mut T) {
    let [low, high] = pair;
    if side == 0 { (low, high) } else { (high, low) }
}

/// What the timestamps of a segment tell of the delays to both sides. Halves and delays are given
/// of the one who sent it, then of the other.
#[inline(always)]
fn timestamps(entry: &Entry, halves: (&mut Half, &mut Half), taus: (&mut Tau, &mut Tau)) {
    let ((own, peer), (tau, peer_tau)) = (halves, taus);
    peer_tau.passed_towards(entry.ts, entry.tsval);
    let last = own.totals.last_data;
    let silent = last.map_or(Nanos::MAX, |last| entry.ts.since(last));
    // An acknowledgement goes out at once; data may have had to be written first.
    let waited = if entry.payload_len > 0 { silent } else { Nanos(0) };
    peer.answered(entry);
    if !entry.has(flags::ACK) {
        return;
    }
    let sample = tau.came_back(entry.ts, entry.tsecr, waited);
    if entry.payload_len > 0 {
        own.echo(entry, sample, tau, peer_tau);
    }
}

/// Takes the delay of the receiver, who sent `entry`, that its acknowledgement of data of `half`
/// shows. The delays known are those of the receiver and of the sender of that data.
#[inline(always)]
fn round_trip(
    entry: &Entry,
    sample: Nanos,
    acked: &Acked,
    half: &mut Half,
    (tau, sender_tau): (&mut Tau, &mut Tau),
) {
    tau.sample(entry.ts, sample);
    if let Some(sender) = sender_tau.recent() {
        let receiver = tau.least().unwrap_or(sample);
        let sender_least = sender_tau.least().unwrap_or(sender);
        // A lone segment's acknowledgement may have waited for the delayed-ACK timer, unless the
        // next segment had arrived too by then.
        let mss = u64::from(half.mss.value());
        let prompt = acked.bytes >= 2 * mss
            || acked.next_sent.is_some_and(|sent| entry.ts.since(sent) >= receiver);
        // Small segments may all wait for that timer.
        if prompt && acked.bytes >= mss {
            tau.sense_queue(sample, sender_tau);
        }
        let beyond = receiver.0 * 2 >= sender_least.0 || tau.has_queue();
        half.round_trip(entry.ts, sample + sender, beyond && prompt);
    }
}

#[cfg(test)]
pub(crate) mod tests;
