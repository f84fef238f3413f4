//! The TCP header (RFC 9293 section 3.1) and its options.

use super::walk::Walk;
use super::{Endpoint, FlowKey, Frame, NO_WINDOW_SCALE, Segment, marks};
use crate::counter::Counter;
use crate::units::Seq;

/// The segment whose TCP header is next.
#[inline]
pub(super) fn segment(frame: &Frame, walk: &Walk, tunnel: u16) -> Result<Segment, Counter> {
    let fragment = walk.ip.marks & marks::FRAGMENT != 0;
    let Some((header, rest)) = walk.rest.split_first_chunk::<20>() else {
        return Err(if fragment { Counter::PacketsFragment } else { walk.too_short(20) });
    };
    let header_len = u32::from(header[12] >> 4) * 4;
    if header_len < 20 {
        return Err(Counter::UndecodableMalformed);
    }
    let Some(payload_len) = walk.wire.checked_sub(header_len) else {
        return Err(Counter::UndecodableMalformed);
    };
    let src = Endpoint { addr: walk.ip.src, port: u16::from_be_bytes([header[0], header[1]]) };
    let dst = Endpoint { addr: walk.ip.dst, port: u16::from_be_bytes([header[2], header[3]]) };
    let (key, forward) = FlowKey::of(src, dst, tunnel);
    let mut segment = Segment {
        frame: frame.number,
        ts: frame.ts,
        key,
        forward,
        flags: u16::from_be_bytes([header[12], header[13]]) & 0x1ff,
        marks: walk.ip.marks,
        ecn: walk.ip.ecn,
        ip_id: walk.ip.id,
        window_raw: u16::from_be_bytes([header[14], header[15]]),
        seq: Seq(u32::from_be_bytes([header[4], header[5], header[6], header[7]])),
        ack: Seq(u32::from_be_bytes([header[8], header[9], header[10], header[11]])),
        payload_len: if fragment { 0 } else { payload_len },
        ip_len: walk.ip.len,
        wire_len: frame.wire_len,
        tsval: 0,
        tsecr: 0,
        mss_option: 0,
        window_scale: NO_WINDOW_SCALE,
        sack_count: 0,
        sack: [(Seq(0), Seq(0)); 4],
    };
    let options_len = header_len as usize - 20;
    match rest.first_chunk::<12>() {
        // The layout that RFC 7323 appendix A recommends, which almost every segment has.
        Some([1, 1, 8, 10, value @ ..]) if options_len == 12 => set_timestamps(&mut segment, value),
        _ if options_len == 0 => {}
        _ => options(&mut segment, rest, options_len),
    }
    Ok(segment)
}

/// Reads the options that were captured.
fn options(segment: &mut Segment, rest: &[u8], options_len: usize) {
    let captured = rest.get(..options_len);
    if captured.is_none() {
        segment.marks |= marks::OPTIONS_CUT;
    }
    let mut bytes = captured.unwrap_or(rest);
    while let [kind, tail @ ..] = bytes {
        match *kind {
            END_OF_LIST => break,
            NO_OPERATION => {
                bytes = tail;
                continue;
            }
            _ => {}
        }
        // A length that contradicts itself ends the list: nothing after it can be found.
        let Some(option) = tail.first().and_then(|&len| bytes.get(..usize::from(len))) else {
            break;
        };
        if option.len() < 2 {
            break;
        }
        set_option(segment, *kind, &option[2..]);
        bytes = &bytes[option.len()..];
    }
}

fn set_option(segment: &mut Segment, kind: u8, value: &[u8]) {
    match (kind, value) {
        (MSS, &[high, low]) => segment.mss_option = u16::from_be_bytes([high, low]),
        // RFC 7323 section 2.3: a larger shift count is to be used as 14.
        (WINDOW_SCALE, &[shift]) => segment.window_scale = shift.min(14),
        (SACK_PERMITTED, []) => segment.marks |= marks::SACK_PERMITTED,
        (SACK, blocks) => {
            segment.sack_count = 0;
            for (slot, block) in segment.sack.iter_mut().zip(blocks.chunks_exact(8)) {
                *slot = (seq(&block[..4]), seq(&block[4..]));
                segment.sack_count += 1;
            }
        }
        (TIMESTAMPS, value) => {
            if let Some(value) = value.first_chunk::<8>() {
                set_timestamps(segment, value);
            }
        }
        _ => {}
    }
}

#[inline]
fn set_timestamps(segment: &mut Segment, value: &[u8; 8]) {
    segment.marks |= marks::TIMESTAMPS;
    segment.tsval = u32::from_be_bytes([value[0], value[1], value[2], value[3]]);
    segment.tsecr = u32::from_be_bytes([value[4], value[5], value[6], value[7]]);
}

fn seq(bytes: &[u8]) -> Seq {
    Seq(bytes.iter().fold(0, |value, &byte| value << 8 | u32::from(byte)))
}

// Option kinds (IANA, TCP Parameters).
const END_OF_LIST: u8 = 0;
const NO_OPERATION: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;
