//! Link types: the first header of a frame. A link type is one row of [`LINKTYPES`].
//!
//! The numbers and layouts are those of the registry at tcpdump.org/linktypes.html.

use super::walk::{Layer, Walk, be16};
use super::{ethernet, wifi};
use crate::counter::Counter;

/// LINKTYPE_ETHERNET.
pub const ETHERNET: u16 = 1;

/// A link type that can be read.
pub struct LinkType {
    /// LINKTYPE value.
    pub id: u16,
    /// Name without the prefix LINKTYPE_.
    pub name: &'static str,
    /// Takes the header off.
    header: fn(&mut Walk) -> Result<Layer, Counter>,
}

/// Every link type that can be read.
pub const LINKTYPES: &[LinkType] = &[
    row(0, "NULL", null),
    row(ETHERNET, "ETHERNET", ethernet::ethernet),
    row(9, "PPP", |_| Ok(Layer::Ppp)),
    row(10, "FDDI", |walk| walk.skip(13).map(|()| Layer::Llc)),
    row(12, "RAW (BSD)", |_| Ok(Layer::Ip)),
    row(14, "RAW (OpenBSD)", |_| Ok(Layer::Ip)),
    row(50, "PPP_HDLC", ppp_hdlc),
    row(51, "PPP_ETHER", |_| Ok(Layer::Ethertype(0x8864))),
    row(101, "RAW", |_| Ok(Layer::Ip)),
    row(104, "C_HDLC", cisco_hdlc),
    row(105, "IEEE802_11", wifi::ieee80211),
    row(107, "FRELAY", frame_relay),
    row(108, "LOOP", null),
    row(113, "LINUX_SLL", linux_sll),
    row(119, "IEEE802_11_PRISM", wifi::prism),
    row(127, "IEEE802_11_RADIOTAP", wifi::radiotap),
    row(129, "ARCNET_LINUX", arcnet_linux),
    row(163, "IEEE802_11_AVS", wifi::avs),
    row(166, "PPP_PPPD", |_| Ok(Layer::Ppp)),
    row(192, "PPI", ppi),
    row(197, "ERF", erf),
    row(204, "PPP_WITH_DIR", |walk| walk.skip(1).map(|()| Layer::Ppp)),
    row(205, "C_HDLC_WITH_DIR", |walk| walk.skip(1).map(|()| Layer::Link(104))),
    row(206, "FRELAY_WITH_DIR", |walk| walk.skip(1).map(|()| Layer::Link(107))),
    row(219, "MPLS", |_| Ok(Layer::Mpls)),
    row(228, "IPV4", |_| Ok(Layer::Ipv4)),
    row(229, "IPV6", |_| Ok(Layer::Ipv6)),
    row(239, "NFLOG", nflog),
    row(240, "NETANALYZER", |walk| walk.skip(4).map(|()| Layer::Ethernet)),
    row(258, "PKTAP", pktap),
    row(276, "LINUX_SLL2", linux_sll2),
    row(281, "DSA_TAG_BRCM", broadcom_tag),
    row(282, "DSA_TAG_BRCM_PREPEND", |walk| walk.skip(4).map(|()| Layer::Ethernet)),
];

const fn row(
    id: u16,
    name: &'static str,
    header: fn(&mut Walk) -> Result<Layer, Counter>,
) -> LinkType {
    LinkType { id, name, header }
}

/// The row of a link type.
pub fn linktype(id: u16) -> Option<&'static LinkType> {
    LINKTYPES.iter().find(|row| row.id == id)
}

/// The first header of a frame.
pub(super) fn link(walk: &mut Walk, id: u16) -> Result<Layer, Counter> {
    if id == ETHERNET {
        return ethernet::ethernet(walk);
    }
    (linktype(id).ok_or(Counter::UndecodableLinktype)?.header)(walk)
}

/// BSD loopback: the address family, in the byte order of the capturing host or of the network.
fn null(walk: &mut Walk) -> Result<Layer, Counter> {
    let field = *walk.take::<4>()?;
    match u32::from_le_bytes(field).min(u32::from_be_bytes(field)) {
        2 => Ok(Layer::Ipv4),
        // AF_INET6 of Linux, NetBSD and OpenBSD, FreeBSD, macOS.
        10 | 24 | 28 | 30 => Ok(Layer::Ipv6),
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// PPP in HDLC-like framing; Cisco HDLC has another address byte (RFC 1547).
fn ppp_hdlc(walk: &mut Walk) -> Result<Layer, Counter> {
    match walk.peek::<1>()?[0] {
        0x0f | 0x8f => cisco_hdlc(walk),
        _ => Ok(Layer::Ppp),
    }
}

fn cisco_hdlc(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<4>()?;
    Ok(Layer::Ethertype(be16(&[header[2], header[3]])))
}

/// Frame Relay: a Q.922 address of 2 to 4 bytes, then RFC 2427 or Cisco encapsulation.
fn frame_relay(walk: &mut Walk) -> Result<Layer, Counter> {
    const LAST_ADDRESS_BYTE: u8 = 0x01;
    for _ in 0..4 {
        if walk.take::<1>()?[0] & LAST_ADDRESS_BYTE != 0 {
            break;
        }
    }
    let field = *walk.take::<2>()?;
    match field {
        [0x03, 0xcc] => Ok(Layer::Ipv4),
        [0x03, 0x8e] => Ok(Layer::Ipv6),
        [0x03, 0x00] if walk.peek::<1>()?[0] == 0x80 => {
            walk.skip(1)?;
            snap(walk)
        }
        [0x03, 0x80] => snap(walk),
        _ if be16(&field) >= 0x0600 => Ok(Layer::Ethertype(be16(&field))),
        _ => Err(Counter::PacketsNotTcp),
    }
}

fn snap(walk: &mut Walk) -> Result<Layer, Counter> {
    match walk.take::<5>()? {
        [0, 0, 0, high, low] => Ok(Layer::Ethertype(be16(&[*high, *low]))),
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// Linux "cooked" capture, version 1.
fn linux_sll(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<16>()?;
    cooked(be16(&[header[2], header[3]]), be16(&[header[14], header[15]]))
}

/// Linux "cooked" capture, version 2.
fn linux_sll2(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = walk.take::<20>()?;
    cooked(be16(&[header[8], header[9]]), be16(&[header[0], header[1]]))
}

/// The protocol field of a cooked header means an EtherType unless the ARPHRD type or a small value
/// says otherwise.
fn cooked(hardware: u16, protocol: u16) -> Result<Layer, Counter> {
    const ARPHRD_NETLINK: u16 = 824;
    const NO_TYPE_BUT_LLC: u16 = 4;
    match protocol {
        _ if hardware == ARPHRD_NETLINK => Err(Counter::PacketsNotTcp),
        NO_TYPE_BUT_LLC => Ok(Layer::Llc),
        ethertype => Ok(Layer::Ethertype(ethertype)),
    }
}

/// ARCNET as Linux captures it: RFC 1201 has a split flag and a sequence number after the type,
/// RFC 1051 has not.
fn arcnet_linux(walk: &mut Walk) -> Result<Layer, Counter> {
    match walk.take::<5>()?[4] {
        0xf0 => Ok(Layer::Ipv4),
        0xd4 => match walk.take::<3>()? {
            [0, _, _] => Ok(Layer::Ipv4),
            // Split over several ARCNET frames: the packet is not whole.
            _ => Err(Counter::PacketsFragment),
        },
        _ => Err(Counter::PacketsNotTcp),
    }
}

/// Per-Packet Information: a little-endian header that names the link type of what follows.
fn ppi(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = *walk.take::<8>()?;
    let len = usize::from(u16::from_le_bytes([header[2], header[3]]));
    walk.skip(len.checked_sub(8).ok_or(Counter::UndecodableMalformed)?)?;
    inner(u32::from_le_bytes([header[4], header[5], header[6], header[7]]))
}

/// Apple's PKTAP: its own length, a record type, and the link type of what follows.
fn pktap(walk: &mut Walk) -> Result<Layer, Counter> {
    let header = *walk.take::<12>()?;
    let len = u32::from_le_bytes([header[0], header[1], header[2], header[3]]) as usize;
    walk.skip(len.checked_sub(12).ok_or(Counter::UndecodableMalformed)?)?;
    inner(u32::from_le_bytes([header[8], header[9], header[10], header[11]]))
}

/// A link type inside another one.
fn inner(id: u32) -> Result<Layer, Counter> {
    u16::try_from(id).map(Layer::Link).map_err(|_| Counter::UndecodableLinktype)
}

/// Endace ERF records with Ethernet inside (type 2, or with a port colour 11, a DSM colour 16).
fn erf(walk: &mut Walk) -> Result<Layer, Counter> {
    const EXTENSION: u8 = 0x80;
    let header = walk.take::<16>()?;
    let mut more = header[8] & EXTENSION != 0;
    while more {
        more = walk.take::<8>()?[0] & EXTENSION != 0;
    }
    match header[8] & !EXTENSION {
        2 | 11 | 16 => walk.skip(2).map(|()| Layer::Ethernet),
        22 => Ok(Layer::Ipv4),
        23 => Ok(Layer::Ipv6),
        _ => Err(Counter::UndecodableLinktype),
    }
}

/// Linux netfilter log: a list of attributes in the byte order of the host; one is the packet.
fn nflog(walk: &mut Walk) -> Result<Layer, Counter> {
    const PAYLOAD: u16 = 9;
    let family = walk.take::<4>()?[0];
    loop {
        let header = *walk.take::<4>()?;
        let mut len = u16::from_le_bytes([header[0], header[1]]);
        let mut kind = u16::from_le_bytes([header[2], header[3]]);
        // Attribute types are small, so the larger reading is the one in the wrong order.
        if kind > kind.swap_bytes() {
            (len, kind) = (len.swap_bytes(), kind.swap_bytes());
        }
        let body = usize::from(len).checked_sub(4).ok_or(Counter::UndecodableMalformed)?;
        if kind == PAYLOAD {
            walk.limit(body as u32);
            return match family {
                2 => Ok(Layer::Ipv4),
                10 => Ok(Layer::Ipv6),
                _ => Err(Counter::PacketsNotTcp),
            };
        }
        walk.skip(body.next_multiple_of(4))?;
    }
}

/// A Broadcom switch tag between the addresses and the EtherType.
fn broadcom_tag(walk: &mut Walk) -> Result<Layer, Counter> {
    walk.skip(16)?;
    let ethertype = walk.take::<2>()?;
    Ok(Layer::Ethertype(be16(ethertype)))
}
