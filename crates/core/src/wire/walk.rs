//! What remains of a frame while its headers are taken off, and what was learnt from them.

use super::tunnel::{MAX_DEPTH, Tunnel};
use crate::counter::Counter;

/// The header that comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layer {
    /// The header of this LINKTYPE.
    Link(u16),
    /// An Ethernet header without preamble.
    Ethernet,
    /// What this EtherType announces.
    Ethertype(u16),
    /// An IEEE 802.2 LLC header.
    Llc,
    /// A PPP protocol field, address and control field optional.
    Ppp,
    /// A stack of MPLS labels.
    Mpls,
    /// An IP packet of the version that its first byte says.
    Ip,
    /// An IPv4 header.
    Ipv4,
    /// An IPv6 header.
    Ipv6,
    /// What this IP protocol number announces.
    Protocol(u8),
}

/// What the innermost IP header said.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct IpFacts {
    pub src: [u8; 16],
    pub dst: [u8; 16],
    /// Length of the packet, header included.
    pub len: u32,
    pub id: u16,
    pub ecn: u8,
    /// Bits of [`super::marks`].
    pub marks: u8,
}

/// A frame on its way to the TCP header.
pub(super) struct Walk<'a> {
    /// Captured bytes from the present header on.
    pub rest: &'a [u8],
    /// Bytes on the wire from the present header on, by the lengths seen so far.
    pub wire: u32,
    /// The innermost IP header.
    pub ip: IpFacts,
    /// Tunnels entered, outermost first.
    pub tunnels: [Tunnel; MAX_DEPTH],
    /// How many of them.
    pub depth: usize,
}

impl<'a> Walk<'a> {
    pub fn new(bytes: &'a [u8], wire_len: u32) -> Walk<'a> {
        // A capture that claims fewer bytes on the wire than it holds is wrong about the former.
        let wire = wire_len.max(bytes.len() as u32);
        Walk {
            rest: bytes,
            wire,
            ip: IpFacts::default(),
            tunnels: [Tunnel::NONE; MAX_DEPTH],
            depth: 0,
        }
    }

    /// Takes a header of fixed length.
    #[inline]
    pub fn take<const N: usize>(&mut self) -> Result<&'a [u8; N], Counter> {
        match self.rest.split_first_chunk::<N>() {
            Some((header, rest)) => {
                self.rest = rest;
                self.wire = self.wire.saturating_sub(N as u32);
                Ok(header)
            }
            None => Err(self.too_short(N)),
        }
    }

    /// Looks at the next bytes.
    #[inline]
    pub fn peek<const N: usize>(&self) -> Result<&'a [u8; N], Counter> {
        self.rest.first_chunk::<N>().ok_or_else(|| self.too_short(N))
    }

    /// Passes over bytes that do not matter.
    #[inline]
    pub fn skip(&mut self, n: usize) -> Result<(), Counter> {
        match self.rest.get(n..) {
            Some(rest) => {
                self.rest = rest;
                self.wire = self.wire.saturating_sub(n as u32);
                Ok(())
            }
            None => Err(self.too_short(n)),
        }
    }

    /// Ends the packet after `n` more bytes: a length field said so. What follows is padding. When
    /// the frame is shorter than that, the field is believed: tools that cut frames often do not
    /// keep their length on the wire.
    #[inline]
    pub fn limit(&mut self, n: u32) {
        self.wire = n;
        if let Some(kept) = self.rest.get(..n as usize) {
            self.rest = kept;
        }
    }

    /// Why `n` bytes are not there: cut by the capture, or never sent.
    #[cold]
    pub fn too_short(&self, n: usize) -> Counter {
        if (self.wire as usize) < n {
            Counter::UndecodableMalformed
        } else {
            Counter::UndecodableTruncated
        }
    }

    /// Enters a tunnel between the endpoints of the present IP header.
    pub fn enter(&mut self, tunnel: Tunnel) -> Result<(), Counter> {
        let slot = self.tunnels.get_mut(self.depth).ok_or(Counter::UndecodableNesting)?;
        *slot = tunnel;
        self.depth += 1;
        Ok(())
    }
}

/// A big-endian 16-bit field.
#[inline]
pub(super) fn be16(bytes: &[u8; 2]) -> u16 {
    u16::from_be_bytes(*bytes)
}
