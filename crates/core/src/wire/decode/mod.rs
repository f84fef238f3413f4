//! The decoder: from the first byte of a frame to its TCP segment, header by header.

use super::tunnel::{Tunnel, Tunnels};
use super::walk::{Layer, Walk, be16};
use super::{FlowKey, Frame, Segment, ethernet, ip, linktype, peel, tcp};
use crate::counter::Counter;

/// Turns frames into segments. It holds no state but the table of tunnels.
#[derive(Default)]
pub struct Decoder {
    tunnels: Tunnels,
}

impl Decoder {
    /// A decoder that has seen no tunnel.
    pub fn new() -> Decoder {
        Decoder::default()
    }

    /// The TCP segment in a frame, or the counter that says why there is none.
    pub fn decode(&mut self, frame: &Frame) -> Result<Segment, Counter> {
        let mut segment = Segment::default();
        self.decode_into(frame, &mut segment).map(|()| segment)
    }

    /// Like [`Decoder::decode`], but writes the segment in place, which is what a batch of them
    /// wants. Without a segment, what `out` holds means nothing.
    #[inline]
    pub fn decode_into(&mut self, frame: &Frame, out: &mut Segment) -> Result<(), Counter> {
        match plain(frame, out) {
            Some(()) => Ok(()),
            None if is_plain_udp(frame) => Err(Counter::PacketsNotTcp),
            None => self.decode_any(frame, out),
        }
    }

    /// The tunnel with this index ([`super::FlowKey::tunnel`]); `None` for 0, for indices that
    /// were never given, and for [`Tunnels::OTHERS`].
    pub fn tunnel(&self, index: u16) -> Option<&Tunnel> {
        self.tunnels.tunnel(index)
    }

    /// The table of tunnels.
    pub fn tunnels(&self) -> &Tunnels {
        &self.tunnels
    }

    /// Any frame, through the general walk.
    #[inline(never)]
    fn decode_any(&mut self, frame: &Frame, out: &mut Segment) -> Result<(), Counter> {
        let mut walk = Walk::new(frame.bytes, frame.wire_len);
        walk_to_tcp(&mut walk, frame.linktype)?;
        let tunnel = self.tunnels.intern(&mut walk.tunnels[..walk.depth]);
        tcp::segment(frame, &walk, tunnel, out)
    }
}

/// Takes headers off until the TCP header is next.
fn walk_to_tcp(walk: &mut Walk, linktype: u16) -> Result<(), Counter> {
    let mut layer = Layer::Link(linktype);
    // Every layer but the first takes at least one byte or enters a tunnel, so this ends.
    loop {
        layer = match layer {
            Layer::Link(linktype) => linktype::link(walk, linktype)?,
            Layer::Ethernet => ethernet::ethernet(walk)?,
            Layer::Ethertype(ethertype) => ethernet::ethertype(walk, ethertype)?,
            Layer::Llc => ethernet::llc(walk)?,
            Layer::Ppp => ethernet::ppp(walk)?,
            Layer::Mpls => ethernet::mpls(walk)?,
            Layer::Ip => ip::by_version(walk)?,
            Layer::Ipv4 => ip::ipv4(walk)?,
            Layer::Ipv6 => ip::ipv6(walk)?,
            Layer::Protocol(ip::TCP) => return Ok(()),
            Layer::Protocol(protocol) => peel::enter(walk, protocol)?,
        }
    }
}

/// The common case without the walk: Ethernet, IPv4 without options or fragmentation, TCP. `None`
/// leaves the frame to the walk, which gives the same segment (a property test holds them equal).
#[inline]
fn plain(frame: &Frame, out: &mut Segment) -> Option<()> {
    if frame.linktype != linktype::ETHERNET {
        return None;
    }
    let (head, rest) = frame.bytes.split_first_chunk::<34>()?;
    let (link, header) = head.split_last_chunk::<20>()?;
    if link[12..14] != [0x08, 0x00] || header[0] != 0x45 || header[9] != ip::TCP {
        return None;
    }
    let facts = ip::plain_facts(header)?;
    let payload = facts.len - 20;
    let rest = rest.get(..payload as usize).unwrap_or(rest);
    let addr = |at: usize| [header[at], header[at + 1], header[at + 2], header[at + 3]];
    let (src_port, dst_port) = tcp::read(frame, rest, payload, &facts, out)?;
    (out.key, out.forward) = FlowKey::of_ipv4((addr(12), src_port), (addr(16), dst_port));
    Some(())
}

/// Whether a frame is a datagram that is no tunnel's: Ethernet, IPv4 without options or
/// fragmentation, UDP.
#[inline]
fn is_plain_udp(frame: &Frame) -> bool {
    let Some((head, rest)) = frame.bytes.split_first_chunk::<34>() else { return false };
    let Some((link, header)) = head.split_last_chunk::<20>() else { return false };
    let is_udp = link[12..14] == [0x08, 0x00] && header[0] == 0x45 && header[9] == ip::UDP;
    if frame.linktype != linktype::ETHERNET || !is_udp {
        return false;
    }
    // With its own header whole.
    let whole = ip::plain_facts(header).is_some_and(|facts| facts.len >= 28);
    let ports = rest.first_chunk::<8>().filter(|_| whole && frame.wire_len >= 42);
    ports.is_some_and(|udp| !peel::is_tunnel(be16(&[udp[0], udp[1]]), be16(&[udp[2], udp[3]])))
}

#[cfg(test)]
mod tests;
