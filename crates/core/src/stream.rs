//! Numbers of connections, as Wireshark's `tcp.stream` has them.
//!
//! Connections are counted in the order of their first segments. What continues on the same
//! addresses and ports without a new SYN is the same connection, however long the pause was. The
//! same addresses and ports in another tunnel are the same connection too.
//!
//! Pipelines give the segments that may open a connection ([`Opening`]). [`Streams`] takes them in
//! the order of capture.

use crate::units::Seq;
use crate::wire::hash::HashKey;
use crate::wire::{FlowKey, Segment, flags};
use std::collections::HashMap;

/// A segment that may open a connection: a SYN, or one of a flow that the table does not hold.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    frame: u64,
    /// Hash of addresses and ports, the same in every tunnel.
    ports: u64,
    /// What the segment says of the initial sequence numbers of both sides, its sender first.
    initial: [Option<Seq>; 2],
    side: usize,
    is_syn: bool,
    /// The side that sends it may have sent before.
    used: bool,
}

impl Opening {
    /// Of a segment; `used` says whether its sender may have sent on this connection before.
    pub(crate) fn of(segment: &Segment, hash_key: HashKey, used: bool) -> Opening {
        let ports = hash_key.hash(&FlowKey { tunnel: 0, ..segment.key });
        let syn = segment.flags & flags::SYN != 0;
        let ack = segment.flags & flags::ACK != 0;
        let own = if syn { segment.seq } else { segment.seq + u32::MAX };
        let other = ack.then(|| segment.ack + u32::MAX);
        let is_syn = is_syn(segment);
        let side = usize::from(!segment.forward);
        Opening { frame: segment.frame, ports, initial: [Some(own), other], side, is_syn, used }
    }
}

/// Whether a segment is the first of an opening handshake.
#[inline]
pub(crate) fn is_syn(segment: &Segment) -> bool {
    segment.flags & (flags::SYN | flags::ACK | flags::RST) == flags::SYN
}

/// The numbers of the connections of a run.
#[derive(Debug, Default)]
pub struct Streams {
    count: u32,
    /// The last frame of which all openings were taken.
    known_to: u64,
    first_frames: Frames,
    /// Numbers of the flows that continue an earlier connection, by their first frames.
    continued: HashMap<u64, u32>,
    /// Connections by addresses and ports: the newer ones, and those before them.
    recent: Known,
    older: Known,
    forgotten: u64,
}

/// What is remembered of a connection.
#[derive(Clone, Copy, Debug)]
struct Connection {
    /// Hash of addresses and ports, in halves: nothing lies between it and what follows.
    ports: [u32; 2],
    initial: [Seq; 2],
    /// Which of the two are known.
    known: [bool; 2],
}

/// Connections that were numbered one after the other, and where they are by their hash. There are
/// millions: they lie in pieces that never move, and are found by four bytes each.
#[derive(Debug, Default)]
struct Known {
    /// Number of the first one.
    first: u32,
    pieces: Vec<Vec<Connection>>,
    len: usize,
    /// By the low bits of the hash, or next to there: one more than the place among the pieces,
    /// and above it high bits of the hash; 0 is empty.
    places: Vec<u32>,
    /// Connections whose addresses and ports have another one since.
    replaced: usize,
}

impl Known {
    fn beginning(first: u32) -> Known {
        Known { first, ..Known::default() }
    }

    /// The number of the connection with this hash, and what is remembered of it.
    fn get(&self, ports: u64) -> Option<(u32, &Connection)> {
        let slot = self.slot(ports).filter(|&slot| self.places[slot] > 0)?;
        let at = place_of(self.places[slot]);
        Some((self.first + at as u32, self.at(at)))
    }

    /// Adds the connection with the next number; one with the same hash is found no more.
    fn push(&mut self, connection: Connection) {
        if (self.len + 1) * 4 > self.places.len() * 3 {
            self.grow();
        }
        if self.len.is_multiple_of(PIECE) {
            self.pieces.push(Vec::with_capacity(PIECE));
        }
        self.pieces[self.len / PIECE].push(connection);
        self.find_at(self.len);
        self.len += 1;
    }

    /// How many of them are still found.
    fn found(&self) -> usize {
        self.len - self.replaced
    }

    fn at(&self, at: usize) -> &Connection {
        &self.pieces[at / PIECE][at % PIECE]
    }

    /// Has a hash lead to the connection at this place.
    fn find_at(&mut self, at: usize) {
        let ports = self.at(at).hash();
        if let Some(slot) = self.slot(ports) {
            self.replaced += usize::from(self.places[slot] > 0);
            self.places[slot] = tag(ports) | (at + 1) as u32;
        }
    }

    /// The slot that leads to the connection with this hash, or the empty one for it; `None` where
    /// there are no slots.
    fn slot(&self, ports: u64) -> Option<usize> {
        let mask = self.places.len().checked_sub(1)?;
        let mut slot = ports as usize & mask;
        loop {
            let found = self.places[slot];
            let alike = found & !PLACE == tag(ports);
            if found == 0 || alike && self.at(place_of(found)).hash() == ports {
                return Some(slot);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn grow(&mut self) {
        let size = (self.places.len() * 2).max(1024);
        self.places = vec![0; size];
        self.replaced = 0;
        (0..self.len).for_each(|at| self.find_at(at));
    }
}

impl Connection {
    fn hash(&self) -> u64 {
        u64::from(self.ports[0]) | u64::from(self.ports[1]) << 32
    }
}

/// The bits of a hash that stand above a place.
fn tag(ports: u64) -> u32 {
    (ports >> 32) as u32 & !PLACE
}

fn place_of(found: u32) -> usize {
    (found & PLACE) as usize - 1
}

impl Streams {
    /// Takes the openings of all frames up to `frame`, in any order.
    pub fn take(&mut self, openings: &mut Vec<Opening>, frame: u64) {
        openings.sort_unstable_by_key(|opening| opening.frame);
        openings.drain(..).for_each(|opening| self.number(&opening));
        self.known_to = self.known_to.max(frame);
    }

    /// Says that no openings will follow. What tells the connection of one goes, so that its memory
    /// is there for rows; all numbers stay.
    pub fn end(&mut self) {
        (self.recent, self.older) = (Known::beginning(self.count), Known::default());
    }

    /// The last frame of which all openings were taken: numbers are known of flows up to it.
    pub fn known_to(&self) -> u64 {
        self.known_to
    }

    /// The number of the connection of a flow that begins with this frame; `None` where it is not
    /// remembered.
    pub fn of(&self, first_frame: u64) -> Option<u32> {
        self.first_frames.rank(first_frame).or_else(|| self.continued.get(&first_frame).copied())
    }

    /// How many connections were seen.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Connections that are not remembered: what continues one of them counts as another.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    fn number(&mut self, opening: &Opening) {
        let known = self.recent.get(opening.ports).or_else(|| self.older.get(opening.ports));
        let [own, other] = opening.initial;
        if let Some((number, known)) = known
            && !(opening.is_syn && opening.is_other_than(known))
        {
            if self.continued.len() < REMEMBERED {
                self.continued.insert(opening.frame, number);
            }
            return;
        }
        let initial = if opening.side == 0 { [own, other] } else { [other, own] };
        let known = initial.map(|initial| initial.is_some());
        let initial = initial.map(Option::unwrap_or_default);
        let ports = [opening.ports as u32, (opening.ports >> 32) as u32];
        self.recent.push(Connection { ports, initial, known });
        self.first_frames.push(opening.frame);
        self.count += 1;
        if self.recent.len >= REMEMBERED {
            let newer = std::mem::replace(&mut self.recent, Known::beginning(self.count));
            let older = std::mem::replace(&mut self.older, newer);
            self.forgotten += older.found() as u64;
        }
    }
}

impl Opening {
    fn is_other_than(&self, known: &Connection) -> bool {
        match known.known[self.side] {
            true => self.initial[0] != Some(known.initial[self.side]),
            false => self.used,
        }
    }
}

/// The frames that opened connections, in order: two bytes each, and never more than a bit for
/// each frame of the run.
#[derive(Debug, Default)]
struct Frames {
    /// One for every [`CHUNK`] frames: how many came before it, and those in it.
    chunks: Vec<(u32, Members)>,
    count: u32,
}

#[derive(Debug)]
enum Members {
    Few(Vec<u16>),
    /// A bit for each frame, and for every few words how many there are.
    Many(Box<([u64; CHUNK / 64], [u16; CHUNK / 64 / STRIDE])>),
}

impl Frames {
    /// Adds a frame behind all that are there.
    fn push(&mut self, frame: u64) {
        let (chunk, at) = place(frame);
        while self.chunks.len() <= chunk {
            self.chunks.push((self.count, Members::Few(Vec::new())));
        }
        self.chunks[chunk].1.push(at);
        self.count += 1;
    }

    /// How many frames come before this one; `None` for one that is not there.
    fn rank(&self, frame: u64) -> Option<u32> {
        let (chunk, at) = place(frame);
        let (before, members) = self.chunks.get(chunk)?;
        Some(before + members.rank(at)?)
    }
}

/// The chunk of a frame, and its place in there.
fn place(frame: u64) -> (usize, u16) {
    ((frame / CHUNK as u64) as usize, (frame % CHUNK as u64) as u16)
}

impl Members {
    fn push(&mut self, at: u16) {
        if let Members::Few(few) = self {
            if few.len() < FEW {
                return few.push(at);
            }
            let few = std::mem::take(few);
            *self = Members::Many(Box::new(([0; CHUNK / 64], [0; CHUNK / 64 / STRIDE])));
            few.into_iter().for_each(|at| self.push(at));
        }
        if let Members::Many(many) = self {
            let (bits, counts) = &mut **many;
            let word = usize::from(at) / 64;
            bits[word] |= 1 << (at % 64);
            counts[word / STRIDE] += 1;
        }
    }

    fn rank(&self, at: u16) -> Option<u32> {
        match self {
            Members::Few(few) => few.binary_search(&at).ok().map(|rank| rank as u32),
            Members::Many(many) => {
                let (bits, counts) = &**many;
                let (word, bit) = (usize::from(at) / 64, 1 << (at % 64));
                let far = counts[..word / STRIDE].iter().map(|&count| u32::from(count));
                let near = bits[word / STRIDE * STRIDE..word].iter().map(|word| word.count_ones());
                let below = far.sum::<u32>() + near.sum::<u32>();
                let is_there = bits[word] & bit != 0;
                is_there.then(|| below + (bits[word] & (bit - 1)).count_ones())
            }
        }
    }
}

/// Connections that are remembered at least: some 60 MB, twice as much at the most.
const REMEMBERED: usize = 1 << 21;
/// Connections of a piece: 2.6 MB, of which only what is used is ever there.
const PIECE: usize = 1 << 17;
/// The bits of a place, which is at most [`REMEMBERED`].
const PLACE: u32 = (1 << 22) - 1;
/// Frames of a chunk.
const CHUNK: usize = 1 << 16;
/// Words of a chunk that are counted together.
const STRIDE: usize = 16;
/// Members of a chunk up to which a list is smaller than a bit for each frame.
const FEW: usize = CHUNK / 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Endpoint;
    use proptest::prelude::*;

    /// A segment of the connection on this port, with these flags and sequence numbers.
    fn opening(frame: u64, port: u16, bits: u16, seq: u32, ack: u32, forward: bool) -> Opening {
        let end = |port| Endpoint { addr: [2; 16], port };
        let (key, _) = FlowKey::of(end(port), end(60_000), 0);
        let (seq, ack) = (Seq(seq), Seq(ack));
        let segment = Segment { frame, key, flags: bits, seq, ack, forward, ..Segment::default() };
        Opening::of(&segment, HashKey::default(), true)
    }

    fn numbers(openings: &[Opening]) -> Vec<Option<u32>> {
        let mut streams = Streams::default();
        let last = openings.len() as u64;
        streams.take(&mut openings.to_vec(), last);
        (1..=last).map(|frame| streams.of(frame)).collect()
    }

    #[test]
    fn connections_are_counted_in_the_order_of_their_first_frames() {
        let (syn, ack) = (flags::SYN, flags::ACK);
        let openings = [
            opening(2, 80, syn, 7, 0, true),
            opening(1, 22, ack, 500, 900, true),
            // The same SYN again, and the next connection on these ports.
            opening(3, 80, syn, 7, 0, true),
            opening(4, 80, syn, 8, 0, true),
            // After a pause without a SYN; and a SYN that its data overtook.
            opening(5, 22, ack, 650, 900, false),
            opening(6, 22, syn, 499, 0, true),
            opening(7, 22, syn, 700, 0, true),
            // The other side opens, which had sent before.
            opening(8, 80, syn, 3, 0, false),
        ];
        let expected = [0, 1, 1, 2, 0, 0, 3, 4].map(Some);
        assert_eq!(numbers(&openings), expected);
        assert_eq!(Streams::default().of(1), None);
    }

    #[test]
    fn numbers_stay_when_no_more_openings_follow() {
        let mut streams = Streams::default();
        let (new, continued) = (opening(1, 80, flags::SYN, 7, 0, true), flags::ACK);
        streams.take(&mut vec![new, opening(2, 80, continued, 90, 0, false)], 2);
        streams.end();
        assert_eq!([1, 2].map(|frame| streams.of(frame)), [Some(0), Some(0)]);
        assert_eq!((streams.count(), streams.forgotten(), streams.recent.len), (1, 0, 0));
    }

    #[test]
    fn both_sides_may_open_one_connection_at_once() {
        let first = opening(1, 80, flags::SYN, 7, 0, true);
        let second = Opening { used: false, ..opening(2, 80, flags::SYN, 3, 0, false) };
        assert_eq!(numbers(&[first, second]), [Some(0), Some(0)]);
    }

    proptest! {
        #[test]
        fn the_newest_connection_of_a_hash_is_found(
            // Few hashes with the same low bits, or the same high ones.
            hashes in prop::collection::vec((0u64..60, 0u64..60), 1..3000), first in 0u32..9,
        ) {
            let mut known = Known::beginning(first);
            let mut expected = HashMap::new();
            let hash = |(high, low): (u64, u64)| high << 40 | low << 8;
            for (&drawn, number) in hashes.iter().zip(first..) {
                let ports = hash(drawn);
                let found = known.get(ports).map(|(number, known)| (number, known.initial[0]));
                prop_assert_eq!(found, expected.get(&ports).copied());
                let initial = [Seq(number * 7), Seq(0)];
                let halves = [ports as u32, (ports >> 32) as u32];
                known.push(Connection { ports: halves, initial, known: [true, false] });
                expected.insert(ports, (number, initial[0]));
            }
            prop_assert_eq!((known.len, known.found()), (hashes.len(), expected.len()));
        }

        #[test]
        fn the_rank_of_a_frame_is_how_many_come_before(
            frames in prop::collection::btree_set(0u64..3 * CHUNK as u64, 1..9000),
        ) {
            let mut found = Frames::default();
            frames.iter().for_each(|&frame| found.push(frame));
            for (rank, &frame) in frames.iter().enumerate() {
                prop_assert_eq!(found.rank(frame), Some(rank as u32));
            }
            let absent = (0..3 * CHUNK as u64).find(|frame| !frames.contains(frame)).expect("one");
            prop_assert_eq!(found.rank(absent), None);
        }
    }

    #[test]
    fn a_full_chunk_takes_a_bit_for_each_frame() {
        let mut found = Frames::default();
        (0..CHUNK as u64 + 3).for_each(|frame| found.push(frame));
        assert!(matches!(found.chunks[0].1, Members::Many(_)));
        assert_eq!(found.rank(CHUNK as u64 + 2), Some(CHUNK as u32 + 2));
    }
}
