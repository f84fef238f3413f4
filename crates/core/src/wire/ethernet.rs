//! Ethernet and what can stand between it and IP: tags, LLC and SNAP, labels, PPPoE. None of it is
//! part of the flow key: the two directions of a flow often differ there.

use super::walk::{Layer, Walk, be16};
use crate::counter::Counter;

/// An Ethernet header.
#[inline]
pub(super) fn ethernet(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<14>()?;
    Ok(type_or_length(walk, be16(&[header[12], header[13]])))
}

/// The field after the addresses: an EtherType from 1536 up, else the length of an LLC frame (IEEE
/// 802.3 clause 3.2.6).
fn type_or_length(walk: &mut Walk, field: u16) -> Layer {
    if field >= 0x0600 {
        return Layer::Ethertype(field);
    }
    if field != 0 && u32::from(field) <= walk.wire {
        walk.limit(u32::from(field));
    }
    Layer::Llc
}

/// What an EtherType announces.
#[inline]
pub(super) fn ethertype(walk: &mut Walk, ethertype: u16) -> Result<Layer, Counter> {
    match ethertype {
        IPV4 => Ok(Layer::Ipv4),
        IPV6 => Ok(Layer::Ipv6),
        VLAN | QINQ | QINQ_OLD | QINQ_OLD_2 | QINQ_OLD_3 => {
            let tag = walk.take::<4>()?;
            Ok(type_or_length(walk, be16(&[tag[2], tag[3]])))
        }
        MPLS | MPLS_MULTICAST => Ok(Layer::Mpls),
        PPPOE_SESSION => pppoe(walk),
        // IEEE 802.1ah: the service tag, then the customer's frame.
        BACKBONE_SERVICE => walk.skip(4).map(|()| Layer::Ethernet),
        // Cisco FabricPath: a tag of two bytes, then the frame as it came.
        FABRIC_PATH => walk.skip(2).map(|()| Layer::Ethernet),
        TRANSPARENT_ETHERNET => Ok(Layer::Ethernet),
        PPP => Ok(Layer::Ppp),
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// IEEE 802.2 LLC, with SNAP or without.
pub(super) fn llc(walk: &mut Walk) -> Result<Layer, Counter> {
    match walk.take::<3>()? {
        // RFC 1042; the organisation code of bridge-tunnel frames is 0x0000f8.
        [0xaa, 0xaa, 0x03] => match walk.take::<5>()? {
            [0, 0, 0 | 0xf8, high, low] => Ok(Layer::Ethertype(be16(&[*high, *low]))),
            _ => Err(Counter::PacketsNotTcp),
        },
        // RFC 948: a service access point of its own for IP.
        [0x06, 0x06, 0x03] => Ok(Layer::Ipv4),
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// A PPPoE session header (RFC 2516).
fn pppoe(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<6>()?;
    if header[0] != 0x11 || header[1] != 0 {
        return Err(Counter::PacketsNotTcp);
    }
    walk.limit(u32::from(be16(&[header[4], header[5]])));
    Ok(Layer::Ppp)
}

/// A PPP frame (RFC 1661): address and control may be left out, the protocol field compressed.
pub(super) fn ppp(walk: &mut Walk) -> Result<Layer, Counter> {
    if walk.rest.starts_with(&[0xff, 0x03]) {
        walk.skip(2)?;
    }
    let first = walk.take::<1>()?[0];
    // The last byte of the field is the odd one (RFC 1661 section 2).
    let protocol = match first & 1 {
        1 => u16::from(first),
        _ => be16(&[first, walk.take::<1>()?[0]]),
    };
    match protocol {
        0x0021 => Ok(Layer::Ipv4),
        0x0057 => Ok(Layer::Ipv6),
        0x0281 | 0x0283 => Ok(Layer::Mpls),
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// MPLS labels (RFC 3032), then what the first nibble suggests, as routers do (RFC 4928).
pub(super) fn mpls(walk: &mut Walk) -> Result<Layer, Counter> {
    while walk.take::<4>()?[2] & BOTTOM_OF_STACK == 0 {}
    match walk.peek::<1>()?[0] >> 4 {
        4 => Ok(Layer::Ipv4),
        6 => Ok(Layer::Ipv6),
        // An Ethernet pseudowire starts with a control word of nibble 0 (RFC 4448), which may be
        // left out; then nothing but the EtherType tells where the frame starts.
        0 if announces_packet(walk.rest.get(4..)) => {
            walk.skip(4)?;
            Ok(Layer::Ethernet)
        }
        _ if announces_packet(Some(walk.rest)) => Ok(Layer::Ethernet),
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// Whether an Ethernet frame that carries something known starts here.
fn announces_packet(frame: Option<&[u8]>) -> bool {
    let field = frame.and_then(|frame| frame.get(12..14)).map(|f| be16(&[f[0], f[1]]));
    let known = [IPV4, IPV6, VLAN, QINQ, MPLS, PPPOE_SESSION, BACKBONE_SERVICE];
    field.is_some_and(|field| known.contains(&field))
}

const BOTTOM_OF_STACK: u8 = 0x01;

// EtherTypes (IANA, IEEE 802 Numbers).
pub(super) const IPV4: u16 = 0x0800;
pub(super) const IPV6: u16 = 0x86dd;
const VLAN: u16 = 0x8100;
const QINQ: u16 = 0x88a8;
const QINQ_OLD: u16 = 0x9100;
const QINQ_OLD_2: u16 = 0x9200;
const QINQ_OLD_3: u16 = 0x9300;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const PPPOE_SESSION: u16 = 0x8864;
const BACKBONE_SERVICE: u16 = 0x88e7;
const FABRIC_PATH: u16 = 0x8903;
const TRANSPARENT_ETHERNET: u16 = 0x6558;
const PPP: u16 = 0x880b;
