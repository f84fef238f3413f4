//! IEEE 802.11 frames and the headers that radios put before them.

use super::walk::{Layer, Walk};
use crate::counter::Counter;

/// An IEEE 802.11 header (IEEE 802.11-2020 section 9.2.3). Only unprotected data frames carry
/// something that can be read.
pub(super) fn ieee80211(walk: &mut Walk) -> Result<Layer, Counter> {
    body(walk, false)
}

/// Radiotap (radiotap.org): its own length in little endian, then presence bits and fields.
pub(super) fn radiotap(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.peek::<4>()?;
    let len = usize::from(u16::from_le_bytes([header[2], header[3]]));
    if header[0] != 0 || len < 8 {
        return Err(Counter::UndecodableMalformed);
    }
    let fields = walk.rest.get(..len).ok_or_else(|| walk.too_short(len))?;
    let padded = radiotap_flags(fields).is_some_and(|flags| flags & PADDED != 0);
    walk.skip(len)?;
    body(walk, padded)
}

/// Prism monitoring header: message code and length in the byte order of the host; some drivers
/// put an AVS header in its place.
pub(super) fn prism(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.peek::<8>()?;
    if header[..3] == [0x80, 0x21, 0x10] {
        return avs(walk);
    }
    let len = [header[4], header[5], header[6], header[7]];
    let len = u32::from_le_bytes(len).min(u32::from_be_bytes(len)) as usize;
    walk.skip(len.max(8))?;
    body(walk, false)
}

/// AVS header: version and length, big endian.
pub(super) fn avs(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.peek::<8>()?;
    let len = u32::from_be_bytes([header[4], header[5], header[6], header[7]]) as usize;
    walk.skip(len.max(8))?;
    body(walk, false)
}

/// The flags field of a radiotap header, if present.
fn radiotap_flags(header: &[u8]) -> Option<u8> {
    const MORE_PRESENCE: u8 = 0x80;
    const TSFT: u8 = 0x01;
    const FLAGS: u8 = 0x02;
    let first = *header.get(4)?;
    let mut at = 8;
    let mut last_byte = *header.get(7)?;
    while last_byte & MORE_PRESENCE != 0 {
        last_byte = *header.get(at + 3)?;
        at += 4;
    }
    if first & TSFT != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    if first & FLAGS == 0 { None } else { header.get(at).copied() }
}

/// The 802.11 header proper. `padded`: the radio padded it to four bytes.
fn body(walk: &mut Walk, padded: bool) -> Result<Layer, Counter> {
    let control = *walk.peek::<2>()?;
    let is_data = control[0] & 0x0c == 0x08;
    let (qos, no_body) = (control[0] & 0x80 != 0, control[0] & 0x40 != 0);
    if control[0] & 0x03 != 0 || !is_data || no_body || control[1] & PROTECTED != 0 {
        return Err(Counter::PacketsNotTcp);
    }
    let mut len = 24;
    if control[1] & BOTH_DISTRIBUTION_SYSTEMS == BOTH_DISTRIBUTION_SYSTEMS {
        len += 6;
    }
    let mut aggregate = false;
    if qos {
        let field = walk.rest.get(len).ok_or_else(|| walk.too_short(len + 1))?;
        aggregate = field & A_MSDU_PRESENT != 0;
        len += 2;
        if control[1] & HT_CONTROL_PRESENT != 0 {
            len += 4;
        }
    }
    if padded {
        len = usize::next_multiple_of(len, 4);
    }
    walk.skip(len)?;
    if aggregate { Err(Counter::UndecodableAggregate) } else { Ok(Layer::Llc) }
}

/// Radiotap flags: padding between the 802.11 header and its payload.
const PADDED: u8 = 0x20;
// Second byte of the frame control field.
const BOTH_DISTRIBUTION_SYSTEMS: u8 = 0x03;
const PROTECTED: u8 = 0x40;
const HT_CONTROL_PRESENT: u8 = 0x80;
/// QoS control: the body is an A-MSDU.
const A_MSDU_PRESENT: u8 = 0x80;
