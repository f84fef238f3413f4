//! IPv4 (RFC 791) and IPv6 (RFC 8200) with extension headers, fragments and jumbograms.

use super::marks;
use super::walk::{IpFacts, Layer, Walk, be16};
use crate::counter::Counter;

/// IP protocol number of TCP.
pub(super) const TCP: u8 = 6;
/// That of UDP.
pub(super) const UDP: u8 = 17;

/// An IP packet of the version that its first byte says.
pub(super) fn by_version(walk: &mut Walk) -> Result<Layer, Counter> {
    match walk.peek::<1>()?[0] >> 4 {
        4 => Ok(Layer::Ipv4),
        6 => Ok(Layer::Ipv6),
        _ => Err(Counter::UndecodableMalformed),
    }
}

/// An IPv4 header.
pub(super) fn ipv4(walk: &mut Walk) -> Result<Layer, Counter> {
    let available = walk.wire;
    let header = walk.take::<20>()?;
    let header_len = u32::from(header[0] & 0x0f) * 4;
    if header[0] >> 4 != 4 || header_len < 20 {
        return Err(Counter::UndecodableMalformed);
    }
    let mut facts = facts(header);
    if facts.len == 0 {
        // Segmentation offload: the capturing host had not yet written the length, or, in BIG TCP,
        // it does not fit (16 bits).
        facts.len = available;
        facts.marks |= marks::LENGTH_FROM_FRAME;
    }
    let payload = facts.len.checked_sub(header_len).ok_or(Counter::UndecodableMalformed)?;
    walk.skip(header_len as usize - 20)?;
    walk.limit(payload);
    let fragment = be16(&[header[6], header[7]]);
    if fragment & FRAGMENT_OFFSET != 0 {
        return Err(Counter::PacketsFragment);
    }
    if fragment & MORE_FRAGMENTS != 0 {
        facts.marks |= marks::FRAGMENT;
    }
    walk.ip = facts;
    Ok(Layer::Protocol(header[9]))
}

/// The facts of an IPv4 header that is not a fragment and states its length; else `None`.
#[inline]
pub(super) fn plain_facts(header: &[u8; 20]) -> Option<IpFacts> {
    let fragment = be16(&[header[6], header[7]]);
    let facts = facts(header);
    (fragment & (FRAGMENT_OFFSET | MORE_FRAGMENTS) == 0 && facts.len >= 20).then_some(facts)
}

#[inline]
fn facts(header: &[u8; 20]) -> IpFacts {
    IpFacts {
        src: mapped([header[12], header[13], header[14], header[15]]),
        dst: mapped([header[16], header[17], header[18], header[19]]),
        len: u32::from(be16(&[header[2], header[3]])),
        id: be16(&[header[4], header[5]]),
        ecn: header[1] & 0x03,
        marks: 0,
    }
}

/// The IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2).
#[inline]
pub(super) fn mapped(addr: [u8; 4]) -> [u8; 16] {
    (0xffff_0000_0000u128 | u128::from(u32::from_be_bytes(addr))).to_be_bytes()
}

/// An IPv6 header and its extension headers.
pub(super) fn ipv6(walk: &mut Walk) -> Result<Layer, Counter> {
    let available = walk.wire;
    let header = walk.take::<40>()?;
    if header[0] >> 4 != 6 {
        return Err(Counter::UndecodableMalformed);
    }
    let payload = u32::from(be16(&[header[4], header[5]]));
    let (mut src, mut dst) = ([0; 16], [0; 16]);
    src.copy_from_slice(&header[8..24]);
    dst.copy_from_slice(&header[24..40]);
    walk.ip = IpFacts {
        src,
        dst,
        len: payload + 40,
        id: 0,
        // The traffic class straddles the first two bytes; ECN is its last two bits.
        ecn: header[1] >> 4 & 0x03,
        marks: 0,
    };
    let next = header[6];
    if payload != 0 {
        walk.limit(payload);
    } else {
        set_length_without_field(walk, next, available)?;
    }
    extension_headers(walk, next)
}

/// Payload length 0: a jumbogram says its length in an option (RFC 2675), else offload left it out.
fn set_length_without_field(walk: &mut Walk, next: u8, available: u32) -> Result<(), Counter> {
    if next == HOP_BY_HOP
        && let Some(jumbo) = jumbo_payload(walk)?
    {
        walk.ip.len = jumbo.saturating_add(40);
        walk.limit(jumbo);
    } else {
        walk.ip.len = available;
        walk.ip.marks |= marks::LENGTH_FROM_FRAME;
    }
    Ok(())
}

/// The length in the jumbo payload option of the hop-by-hop header that is next.
fn jumbo_payload(walk: &Walk) -> Result<Option<u32>, Counter> {
    let header = walk.peek::<8>()?;
    let header_len = usize::from(header[1]) * 8 + 8;
    let mut options = walk.rest.get(2..header_len).ok_or_else(|| walk.too_short(header_len))?;
    while let [kind, rest @ ..] = options {
        // Pad1 is the one option without a length (RFC 8200 section 4.2).
        if *kind == 0 {
            options = rest;
            continue;
        }
        let Some((&len, body)) = rest.split_first() else { break };
        if *kind == JUMBO_PAYLOAD
            && len == 4
            && let Some(value) = body.first_chunk::<4>()
        {
            return Ok(Some(u32::from_be_bytes(*value)));
        }
        options = body.get(usize::from(len)..).unwrap_or_default();
    }
    Ok(None)
}

/// Passes over extension headers to the upper layer (RFC 8200 section 4).
fn extension_headers(walk: &mut Walk, first: u8) -> Result<Layer, Counter> {
    let mut next = first;
    loop {
        match next {
            HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HIP | SHIM6 => {
                let header = *walk.peek::<2>()?;
                walk.skip(usize::from(header[1]) * 8 + 8)?;
                next = header[0];
            }
            FRAGMENT => {
                let header = *walk.take::<8>()?;
                let field = be16(&[header[2], header[3]]);
                if field >> 3 != 0 {
                    return Err(Counter::PacketsFragment);
                }
                if field & 1 != 0 {
                    walk.ip.marks |= marks::FRAGMENT;
                }
                next = header[0];
            }
            other => return Ok(Layer::Protocol(other)),
        }
    }
}

/// An authentication header (RFC 4302), in IPv4 and IPv6 alike: its payload is in the clear.
pub(super) fn authentication(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = *walk.peek::<2>()?;
    walk.skip(usize::from(header[1]) * 4 + 8)?;
    match header[0] {
        next @ (HOP_BY_HOP | ROUTING | DESTINATION | MOBILITY | HIP | SHIM6 | FRAGMENT) => {
            extension_headers(walk, next)
        }
        next => Ok(Layer::Protocol(next)),
    }
}

const FRAGMENT_OFFSET: u16 = 0x1fff;
const MORE_FRAGMENTS: u16 = 0x2000;

/// Option type of the jumbo payload option (RFC 2675 section 2).
const JUMBO_PAYLOAD: u8 = 0xc2;

// IPv6 extension headers (IANA, Protocol Numbers).
const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION: u8 = 60;
const MOBILITY: u8 = 135;
const HIP: u8 = 139;
const SHIM6: u8 = 140;
