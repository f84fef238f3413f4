//! A segment in as few words as it takes: how the log of a flow keeps an [`Entry`].
//!
//! Most segments take six words of 32 bits, eight with timestamps. A time is kept as what passed
//! since the segment before, lengths of headers as the number of a usual pair. What does not fit is
//! written in full.

use crate::flow::entry::Entry;
use crate::units::{Nanos, Seq};
use crate::wire::{NO_WINDOW_SCALE, flags, marks};

/// Words that a segment takes at most.
pub const MOST: usize = 12;
/// Words of a plain one at most: an acknowledgement of a usual shape, with data or without.
pub const PLAIN: usize = 8;

/// Writes `entry`, which came after a segment at `before`, if it is a plain one; how many words it
/// took, 0 if it is not written.
#[inline(always)]
pub fn pack_plain(entry: &Entry, before: Nanos, words: &mut [u32; PLAIN]) -> usize {
    let shape = shape(entry);
    let form = u32::from(shape != SHAPES[0]);
    let unusual = (shape ^ SHAPES[form as usize]) | (options(entry) ^ NO_OPTIONS);
    let since = since(entry, before);
    if unusual != 0 || since > SINCE || entry.payload_len > SIZE || !entry.has(flags::ACK) {
        return 0;
    }
    // Without timestamps the next segment is written over the last two.
    *words = [
        control(entry, form),
        since as u32,
        entry.seq.0,
        entry.frame_low,
        sizes(entry),
        entry.ack.0,
        entry.tsval,
        entry.tsecr,
    ];
    if entry.has_timestamps() { PLAIN } else { PLAIN - 2 }
}

/// Writes any segment; how many words it took.
#[inline(never)]
pub fn pack(entry: &Entry, before: Nanos, words: &mut [u32; MOST]) -> usize {
    let since = since(entry, before);
    let acks = entry.has(flags::ACK);
    if since > SINCE || entry.payload_len > SIZE || (!acks && entry.ack.0 != 0) {
        *words = [
            control(entry, WIDE),
            entry.ts.0 as u32,
            entry.seq.0,
            entry.frame_low,
            sizes(entry),
            entry.ack.0,
            entry.tsval,
            entry.tsecr,
            shape(entry),
            options(entry),
            (entry.ts.0 >> 32) as u32,
            entry.payload_len,
        ];
        return MOST;
    }
    let (shape, options) = (shape(entry), options(entry));
    let known = SHAPES.iter().position(|&known| known == shape);
    let form = match known {
        _ if options != NO_OPTIONS => WITH_OPTIONS,
        Some(known) => known as u32,
        None => SHAPED,
    };
    let head = [control(entry, form), since as u32, entry.seq.0, entry.frame_low, sizes(entry)];
    words[..HEAD].copy_from_slice(&head);
    let mut taken = HEAD;
    let mut add = |yes: bool, word: u32| {
        if yes {
            words[taken] = word;
            taken += 1;
        }
    };
    add(acks, entry.ack.0);
    add(entry.has_timestamps(), entry.tsval);
    add(entry.has_timestamps(), entry.tsecr);
    add(form >= SHAPED, shape);
    add(form == WITH_OPTIONS, options);
    taken
}

/// Reads a segment that came after one at `before`; how many words it takes.
#[inline(always)]
pub fn unpack(words: &[u32; MOST], before: Nanos) -> (Entry, usize) {
    let form = words[0] >> FORM_SHIFT & 7;
    if form >= SHAPED || words[0] & u32::from(flags::ACK) == 0 {
        return unpack_other(words, before);
    }
    let stamped = words[0] & STAMPED != 0;
    let (tsval, tsecr) = if stamped { (words[6], words[7]) } else { (0, 0) };
    let said = Said { ack: words[5], tsval, tsecr, shape: SHAPES[form as usize], ..HEAD_ONLY };
    (said.entry(words, before), if stamped { PLAIN } else { PLAIN - 2 })
}

#[inline(never)]
fn unpack_other(words: &[u32; MOST], before: Nanos) -> (Entry, usize) {
    let form = words[0] >> FORM_SHIFT & 7;
    if form == WIDE {
        let &[_, low, _, _, _, ack, tsval, tsecr, shape, options, high, payload_len] = words;
        let ts = Nanos(i64::from(high as i32) << 32 | i64::from(low));
        let said = Said { ack, tsval, tsecr, shape, options };
        return (Entry { ts, payload_len, ..said.entry(words, before) }, MOST);
    }
    let mut taken = HEAD;
    let mut next = |yes: bool, otherwise: u32| match yes {
        true => {
            taken += 1;
            words[taken - 1]
        }
        false => otherwise,
    };
    let (acks, stamped) = (words[0] & u32::from(flags::ACK) != 0, words[0] & STAMPED != 0);
    let said = Said {
        ack: next(acks, 0),
        tsval: next(stamped, 0),
        tsecr: next(stamped, 0),
        shape: next(form >= SHAPED, SHAPES[form as usize % SHAPES.len()]),
        options: next(form == WITH_OPTIONS, NO_OPTIONS),
    };
    (said.entry(words, before), taken)
}

/// What is not in the first words of a segment.
struct Said {
    ack: u32,
    tsval: u32,
    tsecr: u32,
    shape: u32,
    options: u32,
}

impl Said {
    /// The segment of which these are the first words.
    #[inline(always)]
    fn entry(self, words: &[u32; MOST], before: Nanos) -> Entry {
        let stamped = words[0] & STAMPED != 0;
        let shape = if stamped { self.shape.wrapping_add(STAMPS) } else { self.shape };
        Entry {
            ts: Nanos(before.0.wrapping_add(i64::from(words[1]))),
            seq: Seq(words[2]),
            ack: Seq(self.ack),
            tsval: self.tsval,
            tsecr: self.tsecr,
            payload_len: words[4] & 0xffff,
            frame_low: words[3],
            bits: words[0] as u16 & BITS,
            ip_id: (words[4] >> 16) as u16,
            window_raw: (words[0] >> 16) as u16,
            mss_option: (self.options >> 16) as u16,
            headers_len: (shape >> 16) as u16,
            link_len: shape as i16,
            window_scale: (self.options >> 8) as u8,
            marks: self.options as u8 | if stamped { marks::TIMESTAMPS } else { 0 },
            // Flows without state are no members of a pair.
            others: 0,
        }
    }
}

const HEAD_ONLY: Said = Said { ack: 0, tsval: 0, tsecr: 0, shape: 0, options: NO_OPTIONS };

#[inline(always)]
fn since(entry: &Entry, before: Nanos) -> u64 {
    entry.ts.0.wrapping_sub(before.0) as u64
}

#[inline(always)]
fn control(entry: &Entry, form: u32) -> u32 {
    let stamped = if entry.has_timestamps() { STAMPED } else { 0 };
    u32::from(entry.window_raw) << 16 | form << FORM_SHIFT | stamped | u32::from(entry.bits & BITS)
}

#[inline(always)]
fn sizes(entry: &Entry) -> u32 {
    u32::from(entry.ip_id) << 16 | (entry.payload_len & 0xffff)
}

/// Lengths of headers, less the option of timestamps, and of what is around the IP packet.
#[inline(always)]
fn shape(entry: &Entry) -> u32 {
    let shape = u32::from(entry.headers_len) << 16 | u32::from(entry.link_len as u16);
    if entry.has_timestamps() { shape.wrapping_sub(STAMPS) } else { shape }
}

#[inline(always)]
fn options(entry: &Entry) -> u32 {
    u32::from(entry.mss_option) << 16
        | u32::from(entry.window_scale) << 8
        | u32::from(entry.marks & !marks::TIMESTAMPS)
}

/// Words that every segment has.
const HEAD: usize = 5;
/// Most that passes between two segments, and the largest payload, of those that are not wide.
const SINCE: u64 = u32::MAX as u64;
const SIZE: u32 = u16::MAX as u32;
/// Bits of an entry that the first word has as they are; those above say how it goes on.
const BITS: u16 = 0x0fff;
const STAMPED: u32 = 0x1000;
const FORM_SHIFT: u32 = 13;
/// Forms: a number below it is of one of [`SHAPES`], with it a word says the shape,
const SHAPED: u32 = 4;
/// with this one another word has the options,
const WITH_OPTIONS: u32 = 5;
/// and here everything is written.
const WIDE: u32 = 6;
/// Of the option of timestamps, with two bytes before it.
const STAMPS: u32 = 12 << 16;
/// Usual shapes: IPv4 and IPv6 on Ethernet, IPv4 filled up to 60 bytes, and IPv4 in Linux's cooked
/// captures.
const SHAPES: [u32; 4] = [40 << 16 | 14, 60 << 16 | 14, 40 << 16 | 20, 40 << 16 | 16];
const NO_OPTIONS: u32 = (NO_WINDOW_SCALE as u32) << 8;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(entry: &Entry, before: Nanos) -> (usize, Entry, usize) {
        let mut words = [u32::MAX; MOST];
        let mut plain = [u32::MAX; PLAIN];
        let taken = match pack_plain(entry, before, &mut plain) {
            0 => pack(entry, before, &mut words),
            taken => {
                words[..PLAIN].copy_from_slice(&plain);
                assert_eq!(pack(entry, before, &mut [0; MOST]), taken);
                taken
            }
        };
        let (read, passed) = unpack(&words, before);
        (taken, read, passed)
    }

    proptest! {
        #[test]
        fn what_is_packed_is_read_as_it_was(
            (numbers, sizes) in any::<([u32; 5], [u16; 4])>(),
            (headers_len, link_len) in prop_oneof![
                prop::sample::select(vec![(40u16, 14i16), (60, 14), (52, 14), (40, 20), (40, 0)]),
                any::<(u16, i16)>(),
            ],
            payload_len in prop_oneof![0u32..70_000, any::<u32>()],
            (window_scale, marks) in prop_oneof![
                (Just(NO_WINDOW_SCALE), 0u8..2),
                any::<(u8, u8)>(),
            ],
            (before, since) in prop_oneof![
                (0i64..1 << 60, 0i64..10_000_000_000),
                (any::<i64>(), any::<i64>()),
            ],
        ) {
            let [seq, ack, tsval, tsecr, frame_low] = numbers;
            let [bits, ip_id, window_raw, mss_option] = sizes;
            let stamped = marks & marks::TIMESTAMPS != 0;
            let entry = Entry {
                ts: Nanos(before.wrapping_add(since)),
                seq: Seq(seq),
                ack: Seq(ack),
                tsval: if stamped { tsval } else { 0 },
                tsecr: if stamped { tsecr } else { 0 },
                payload_len,
                frame_low,
                bits: bits & BITS,
                ip_id,
                window_raw,
                mss_option: if window_scale == NO_WINDOW_SCALE { 0 } else { mss_option },
                headers_len,
                link_len,
                window_scale,
                marks,
                others: 0,
            };
            let (taken, read, passed) = read(&entry, Nanos(before));
            prop_assert_eq!(taken, passed);
            prop_assert_eq!(format!("{read:?}"), format!("{entry:?}"));
        }
    }

    #[test]
    fn an_acknowledgement_takes_six_words_and_two_more_with_timestamps() {
        let entry = Entry {
            bits: flags::ACK,
            headers_len: 40,
            link_len: 14,
            window_scale: NO_WINDOW_SCALE,
            ..Entry::default()
        };
        assert_eq!(read(&entry, Nanos(0)).0, 6);
        let stamped = Entry { marks: marks::TIMESTAMPS, headers_len: 52, ..entry };
        assert_eq!(read(&stamped, Nanos(0)).0, 8);
    }
}
