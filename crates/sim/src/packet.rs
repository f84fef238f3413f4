//! What travels: packets with as much of a header as the path and the endpoints look at.

use tcpwhy_core::units::Seq;

/// A packet on a path. The path looks only at these fields; the simulator carries a TCP header as
/// the body, the emulator the bytes of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Packet<B> {
    /// Unique within a run, in the order of sending; it names the packet in logs of drops.
    pub id: u64,
    /// Which half of which flow it belongs to: what fair queues and statistics tell apart. In the
    /// simulator twice the number of the flow along its path, and one more against it; UDP sources
    /// follow.
    pub flow: u32,
    /// Length on the wire in bytes, as links and queues count it.
    pub wire_bytes: u32,
    /// ECN field (RFC 3168); elements may set it to `Ce`.
    pub ecn: Ecn,
    /// The rest.
    pub body: B,
}

/// ECN codepoints (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable transport.
    #[default]
    NotEct = 0,
    /// ECN-capable, ECT(1).
    Ect1 = 1,
    /// ECN-capable, ECT(0).
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

/// A TCP header as it is on the wire: 32-bit numbers, raw window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpHeader {
    /// Sequence number.
    pub seq: Seq,
    /// Acknowledgement number.
    pub ack: Seq,
    /// TCP flags, [`tcpwhy_core::wire::flags`].
    pub flags: u16,
    /// Window field, unscaled.
    pub window_raw: u16,
    /// Payload bytes.
    pub payload_bytes: u32,
    /// MSS option.
    pub mss: Option<u16>,
    /// Window scale option.
    pub window_scale: Option<u8>,
    /// SACK permitted option.
    pub sack_permitted: bool,
    /// Timestamps option: tsval, tsecr.
    pub timestamps: Option<(u32, u32)>,
    /// Fast Open option (RFC 7413).
    pub fast_open: Option<Cookie>,
    /// SACK blocks, most recent first; the first may be a DSACK (RFC 2883).
    pub sack: SackBlocks,
}

/// What the Fast Open option says (RFC 7413 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cookie {
    /// The client asks for a cookie.
    Request,
    /// A cookie: eight bytes on the wire, as many as Linux gives, of which four differ here.
    Value(u32),
}

/// Up to four SACK blocks: what 40 bytes of TCP options hold (RFC 2018 section 3). It reads like a
/// slice and lives in the header, so that a segment never allocates.
#[derive(Clone, Copy, Debug, Default)]
pub struct SackBlocks {
    blocks: [(Seq, Seq); SackBlocks::MAX],
    len: u8,
}

impl SackBlocks {
    /// The most blocks that fit.
    pub const MAX: usize = 4;

    /// Appends a block; one that no longer fits is left out, as the option would.
    pub fn push(&mut self, left: Seq, right: Seq) {
        if usize::from(self.len) < SackBlocks::MAX {
            self.blocks[usize::from(self.len)] = (left, right);
            self.len += 1;
        }
    }
}

impl std::ops::Deref for SackBlocks {
    type Target = [(Seq, Seq)];
    fn deref(&self) -> &[(Seq, Seq)] {
        &self.blocks[..usize::from(self.len)]
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &SackBlocks) -> bool {
        **self == **other
    }
}

impl Eq for SackBlocks {}

impl FromIterator<(Seq, Seq)> for SackBlocks {
    fn from_iter<I: IntoIterator<Item = (Seq, Seq)>>(blocks: I) -> SackBlocks {
        let mut list = SackBlocks::default();
        for (left, right) in blocks {
            list.push(left, right);
        }
        list
    }
}

impl<'a> IntoIterator for &'a SackBlocks {
    type Item = &'a (Seq, Seq);
    type IntoIter = std::slice::Iter<'a, (Seq, Seq)>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl TcpHeader {
    /// Length of the header with its options in bytes, padded to 32-bit words
    /// (RFC 9293 section 3.1, 7323 section 2.2 and 3.2, 2018 section 2 and 3, 7413 section 4.1.1).
    pub fn header_bytes(&self) -> u32 {
        let options = self.mss.map_or(0, |_| 4)
            + self.window_scale.map_or(0, |_| 3)
            + if self.sack_permitted { 2 } else { 0 }
            + self.timestamps.map_or(0, |_| 10)
            + match self.fast_open {
                None => 0,
                Some(Cookie::Request) => 2,
                Some(Cookie::Value(_)) => 10,
            }
            + if self.sack.is_empty() { 0 } else { 2 + 8 * self.sack.len() as u32 };
        20 + options.div_ceil(4) * 4
    }
}
