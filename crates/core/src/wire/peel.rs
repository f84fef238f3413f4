//! Headers of tunnels, taken off.

use super::tunnel::{Kind, Tunnel};
use super::walk::{Layer, Walk, be16};
use super::{ethernet, ip};
use crate::counter::Counter;

/// What an IP protocol number other than TCP announces.
pub(super) fn enter(walk: &mut Walk, protocol: u8) -> Result<Layer, Counter> {
    match protocol {
        4 => inside(walk, Kind::IpInIp, None, Layer::Ipv4),
        41 => inside(walk, Kind::IpInIp, None, Layer::Ipv6),
        47 => gre(walk),
        51 => ip::authentication(walk),
        // RFC 3378: a version nibble of 3, then an Ethernet frame.
        97 => {
            walk.skip(2)?;
            inside(walk, Kind::EtherIp, None, Layer::Ethernet)
        }
        137 => inside(walk, Kind::MplsInIp, None, Layer::Mpls),
        ip::UDP => udp(walk),
        _ => Err(Counter::PacketsNotTcp),
    }
}

fn inside(walk: &mut Walk, kind: Kind, vni: Option<u32>, next: Layer) -> Result<Layer, Counter> {
    let (src, dst) = (walk.ip.src, walk.ip.dst);
    walk.enter(Tunnel { kind, low: src.min(dst), high: src.max(dst), vni, outer: 0 })?;
    Ok(next)
}

/// GRE (RFC 2784, RFC 2890), its version 1 of PPTP (RFC 2637) and EoIP, ERSPAN.
fn gre(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = *walk.take::<4>()?;
    let (flags, version) = (header[0], header[1] & 0x07);
    let protocol = be16(&[header[2], header[3]]);
    match (version, protocol) {
        (0, _) if flags & GRE_ROUTING != 0 => Err(Counter::PacketsNotTcp),
        (0, _) => {
            let present = [GRE_CHECKSUM, GRE_KEY, GRE_SEQUENCE].map(|bit| flags & bit != 0);
            walk.skip(present.into_iter().filter(|&present| present).count() * 4)?;
            gre_payload(walk, protocol, flags & GRE_SEQUENCE != 0)
        }
        (1, 0x880b) => {
            let sequence = usize::from(flags & GRE_SEQUENCE != 0);
            let acknowledgement = usize::from(header[1] & 0x80 != 0);
            walk.skip(4 + (sequence + acknowledgement) * 4)?;
            inside(walk, Kind::Gre, None, Layer::Ppp)
        }
        // MikroTik EoIP: length and tunnel identifier, then an Ethernet frame.
        (1, 0x6400) if flags == GRE_KEY => {
            let len = walk.take::<4>()?;
            walk.limit(u32::from(be16(&[len[0], len[1]])));
            inside(walk, Kind::Gre, None, Layer::Ethernet)
        }
        _ => Err(Counter::PacketsNotTcp),
    }
}

fn gre_payload(walk: &mut Walk, protocol: u16, sequence: bool) -> Result<Layer, Counter> {
    match protocol {
        // ERSPAN type I has no header of its own, type II one of 8 bytes (draft-foschiano-erspan).
        ERSPAN => {
            walk.skip(if sequence { 8 } else { 0 })?;
            inside(walk, Kind::Erspan, None, Layer::Ethernet)
        }
        ERSPAN_III => {
            let header = *walk.take::<12>()?;
            walk.skip(if header[11] & 0x01 != 0 { 8 } else { 0 })?;
            inside(walk, Kind::Erspan, None, Layer::Ethernet)
        }
        // WCCP version 2 puts a redirect header of 4 bytes before the packet, version 1 does not.
        WCCP => {
            let redirect = walk.peek::<1>()?[0] >> 4 != 4;
            walk.skip(if redirect { 4 } else { 0 })?;
            inside(walk, Kind::Gre, None, Layer::Ipv4)
        }
        ethertype => inside(walk, Kind::Gre, None, Layer::Ethertype(ethertype)),
    }
}

/// UDP carries TCP only in a tunnel, which the port names.
fn udp(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = *walk.take::<8>()?;
    let (src, dst) = (be16(&[header[0], header[1]]), be16(&[header[2], header[3]]));
    // The datagram may end before its packet. No length, or one below that of the header, is that
    // of a packet longer than the field can say (BIG TCP).
    let payload = u32::from(be16(&[header[4], header[5]])).checked_sub(8);
    if let Some(payload) = payload.filter(|&payload| payload < walk.wire) {
        walk.limit(payload);
    }
    match dst {
        VXLAN | VXLAN_OF_LINUX => vxlan(walk),
        VXLAN_GPE => vxlan_gpe(walk),
        GENEVE => geneve(walk),
        MPLS => inside(walk, Kind::MplsInUdp, None, Layer::Mpls),
        _ if src == GTP_U || dst == GTP_U => gtp_u(walk),
        _ if src == TEREDO || dst == TEREDO => teredo(walk),
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// Whether datagrams between these ports are those of a tunnel.
#[inline]
pub(super) fn is_tunnel(src: u16, dst: u16) -> bool {
    let either = |port| src == port || dst == port;
    let to = matches!(dst, VXLAN | VXLAN_OF_LINUX | VXLAN_GPE | GENEVE | MPLS);
    to || either(GTP_U) || either(TEREDO)
}

/// VXLAN (RFC 7348): a header whose I flag says that the network identifier is valid.
fn vxlan(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<8>()?;
    if header[0] & VXLAN_VNI_VALID == 0 {
        return Err(Counter::PacketsNotTcp);
    }
    inside(walk, Kind::Vxlan, Some(vni(&header[4..7])), Layer::Ethernet)
}

/// VXLAN-GPE (draft-ietf-nvo3-vxlan-gpe): the last byte of the first word names what follows.
fn vxlan_gpe(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<8>()?;
    let next = match header[3] {
        1 => Layer::Ipv4,
        2 => Layer::Ipv6,
        3 => Layer::Ethernet,
        5 => Layer::Mpls,
        _ => return Err(Counter::PacketsNotTcp),
    };
    if header[0] & VXLAN_VNI_VALID == 0 {
        return Err(Counter::PacketsNotTcp);
    }
    inside(walk, Kind::Vxlan, Some(vni(&header[4..7])), next)
}

/// Geneve (RFC 8926).
fn geneve(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<8>()?;
    if header[0] >> 6 != 0 {
        return Err(Counter::PacketsNotTcp);
    }
    walk.skip(usize::from(header[0] & 0x3f) * 4)?;
    let ethertype = Layer::Ethertype(be16(&[header[2], header[3]]));
    inside(walk, Kind::Geneve, Some(vni(&header[4..7])), ethertype)
}

/// GTP-U (3GPP TS 29.281 section 5.1): only G-PDUs carry packets.
fn gtp_u(walk: &mut Walk) -> Result<Layer, Counter> {
    const VERSION_1_GTP: u8 = 0x30;
    const G_PDU: u8 = 255;
    let header = *walk.take::<8>()?;
    if header[0] & 0xf0 != VERSION_1_GTP || header[1] != G_PDU {
        return Err(Counter::PacketsNotTcp);
    }
    walk.limit(u32::from(be16(&[header[2], header[3]])));
    if header[0] & 0x07 != 0 {
        let mut next = walk.take::<4>()?[3];
        while next != 0 {
            // An extension header states its length in units of four bytes and ends with the type
            // of the next one.
            let len = usize::from(walk.peek::<1>()?[0]) * 4;
            let last = len.checked_sub(1).ok_or(Counter::UndecodableMalformed)?;
            next = *walk.rest.get(last).ok_or_else(|| walk.too_short(len))?;
            walk.skip(len)?;
        }
    }
    inside(walk, Kind::GtpU, None, Layer::Ip)
}

/// Teredo (RFC 4380 section 5.1.1): IPv6 behind optional authentication and origin indications.
fn teredo(walk: &mut Walk) -> Result<Layer, Counter> {
    const AUTHENTICATION: [u8; 2] = [0, 1];
    const ORIGIN: [u8; 2] = [0, 0];
    if *walk.peek::<2>()? == AUTHENTICATION {
        let header = *walk.take::<4>()?;
        walk.skip(usize::from(header[2]) + usize::from(header[3]) + 9)?;
    }
    if *walk.peek::<2>()? == ORIGIN {
        walk.skip(8)?;
    }
    match walk.peek::<1>()?[0] >> 4 {
        6 => inside(walk, Kind::Teredo, None, Layer::Ethertype(ethernet::IPV6)),
        _ => Err(Counter::PacketsNotTcp),
    }
}

fn vni(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |value, &byte| value << 8 | u32::from(byte))
}

const GRE_CHECKSUM: u8 = 0x80;
const GRE_ROUTING: u8 = 0x40;
const GRE_KEY: u8 = 0x20;
const GRE_SEQUENCE: u8 = 0x10;
const ERSPAN: u16 = 0x88be;
const ERSPAN_III: u16 = 0x22eb;
const WCCP: u16 = 0x883e;
const VXLAN_VNI_VALID: u8 = 0x08;
const VXLAN: u16 = 4789;
/// What Linux used before the number was assigned.
const VXLAN_OF_LINUX: u16 = 8472;
const VXLAN_GPE: u16 = 4790;
const GENEVE: u16 = 6081;
const MPLS: u16 = 6635;
const GTP_U: u16 = 2152;
const TEREDO: u16 = 3544;
