//! The TCP header (RFC 9293 section 3.1) and its options.

use super::walk::{IpFacts, Walk};
use super::{Endpoint, FlowKey, Frame, NO_WINDOW_SCALE, Segment, marks};
use crate::counter::Counter;
use crate::units::Seq;

/// The segment whose TCP header is next, written to `out`.
pub(super) fn segment(
    frame: &Frame,
    walk: &Walk,
    tunnel: u16,
    out: &mut Segment,
) -> Result<(), Counter> {
    match read(frame, walk.rest, walk.wire, &walk.ip, out) {
        Some((src_port, dst_port)) => {
            let src = Endpoint { addr: walk.ip.src, port: src_port };
            let dst = Endpoint { addr: walk.ip.dst, port: dst_port };
            (out.key, out.forward) = FlowKey::of(src, dst, tunnel);
            Ok(())
        }
        None if walk.rest.len() >= 20 => Err(Counter::UndecodableMalformed),
        None if walk.ip.marks & marks::FRAGMENT != 0 => Err(Counter::PacketsFragment),
        None => Err(walk.too_short(20)),
    }
}

/// The segment that starts with `bytes` and takes `wire` bytes on the wire, if that is possible.
/// Its flow is left out: gives the ports of its sender and receiver.
/// It is written in place: a segment is two cache lines, and moving it costs more than decoding.
#[inline(always)]
pub(super) fn read(
    frame: &Frame,
    bytes: &[u8],
    wire: u32,
    ip: &IpFacts,
    out: &mut Segment,
) -> Option<(u16, u16)> {
    let (header, rest) = bytes.split_first_chunk::<20>()?;
    let header_len = u32::from(header[12] >> 4) * 4;
    if header_len < 20 {
        return None;
    }
    let payload_len = wire.checked_sub(header_len)?;
    let fragment = ip.marks & marks::FRAGMENT != 0;
    let port = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
    out.frame = frame.number;
    out.ts = frame.ts;
    // Old tools wrote what they captured as the length on the wire too; the packet knows better.
    out.wire_len = frame.wire_len.max(ip.len);
    out.flags = u16::from_be_bytes([header[12], header[13]]) & 0x1ff;
    out.marks = ip.marks;
    out.ecn = ip.ecn;
    out.ip_id = ip.id;
    out.ip_len = ip.len;
    out.payload_len = if fragment { 0 } else { payload_len };
    out.window_raw = u16::from_be_bytes([header[14], header[15]]);
    out.seq = Seq(u32::from_be_bytes([header[4], header[5], header[6], header[7]]));
    out.ack = Seq(u32::from_be_bytes([header[8], header[9], header[10], header[11]]));
    (out.tsval, out.tsecr) = (0, 0);
    out.mss_option = 0;
    out.window_scale = NO_WINDOW_SCALE;
    out.sack_count = 0;
    let options_len = header_len as usize - 20;
    match rest.first_chunk::<12>() {
        // The layout that RFC 7323 appendix A recommends, which almost every segment has.
        Some([1, 1, 8, 10, value @ ..]) if options_len == 12 => set_timestamps(out, value),
        _ if options_len == 0 => {}
        _ => options(out, rest, options_len),
    }
    Some((port(0), port(2)))
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
