//! Frames in a block of the ring: `struct tpacket_block_desc` and `struct tpacket3_hdr` of
//! linux/if_packet.h, read field by field.

use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::capture::Record;
use tcpwhy_core::wire::linktype::ETHERNET;

/// Where the next frame of a block is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    at: usize,
    left: u32,
}

/// A frame in a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'a> {
    pub ts: Nanos,
    /// Whether the card took the time.
    pub by_card: bool,
    wire_len: u32,
    bytes: &'a [u8],
    /// Whether it is on its way out with a tag in the frame.
    pub tag_hidden: bool,
    /// A tag that the card or the kernel took off: EtherType and tag control information.
    tag: Option<[u8; TAG_LEN]>,
    next: usize,
}

impl Cursor {
    /// The first frame of a block.
    pub fn new(block: &[u8]) -> Cursor {
        let left = word(block, 12).unwrap_or(0);
        Cursor { at: word(block, 16).unwrap_or(0) as usize, left }
    }

    /// The frame here; `None` after the last one.
    pub fn frame<'a>(&self, block: &'a [u8]) -> Option<Frame<'a>> {
        if self.left == 0 {
            return None;
        }
        let header = block.get(self.at..)?;
        let [seconds, nanos] = [word(header, 4)?, word(header, 8)?];
        let [captured, wire_len, status] =
            [word(header, 12)?, word(header, 16)?, word(header, 20)?];
        let start = usize::from(half(header, 24)?);
        let tag = (status & libc::TP_STATUS_VLAN_VALID != 0).then(|| {
            let named = status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
            let ethertype = half(header, 36).filter(|_| named).unwrap_or(VLAN);
            let control = word(header, 32).unwrap_or(0) as u16;
            let ([a, b], [c, d]) = (ethertype.to_be_bytes(), control.to_be_bytes());
            [a, b, c, d]
        });
        let bytes = header.get(start..start + captured as usize)?;
        // `struct sockaddr_ll` comes behind the header.
        let leaves = header.get(SLL_PKTTYPE).is_some_and(|&kind| kind == libc::PACKET_OUTGOING);
        let tagged = || matches!(bytes.get(12..14), Some([0x81, 0x00] | [0x88, 0xa8]));
        Some(Frame {
            tag_hidden: leaves && tagged(),
            ts: Nanos(i64::from(seconds) * 1_000_000_000 + i64::from(nanos)),
            by_card: status & STAMPED_BY_CARD != 0,
            wire_len,
            bytes,
            tag,
            next: self.at + word(header, 0)? as usize,
        })
    }

    /// Goes on after `frame`.
    pub fn pass(&mut self, frame: &Frame) {
        self.at = frame.next;
        self.left -= 1;
    }
}

impl<'a> Frame<'a> {
    /// The frame as it was on the wire; `space` is for one with its tag put back.
    #[inline]
    pub fn record<'b>(&self, linktype: u16, space: &'b mut Vec<u8>) -> Record<'b>
    where
        'a: 'b,
    {
        let &Frame { ts, wire_len, bytes, tag, .. } = self;
        match tag {
            Some(tag) if linktype == ETHERNET && bytes.len() >= ADDRESSES_LEN => {
                let (addresses, rest) = bytes.split_at(ADDRESSES_LEN);
                space.clear();
                space.extend_from_slice(addresses);
                space.extend_from_slice(&tag);
                space.extend_from_slice(rest);
                Record { ts, linktype, wire_len: wire_len + TAG_LEN as u32, bytes: space }
            }
            _ => Record { ts, linktype, wire_len, bytes },
        }
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at + 4)?;
    Some(u32::from_ne_bytes(field.try_into().expect("four bytes")))
}

#[inline]
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at + 2)?;
    Some(u16::from_ne_bytes(field.try_into().expect("two bytes")))
}

/// Both Ethernet addresses, after which a tag stands (IEEE 802.1Q clause 9).
const ADDRESSES_LEN: usize = 12;
const TAG_LEN: usize = 4;
/// Where `sll_pkttype` is: TPACKET_ALIGN(sizeof(struct tpacket3_hdr)) and ten bytes.
const SLL_PKTTYPE: usize = 48 + 10;
/// TP_STATUS_TS_RAW_HARDWARE.
const STAMPED_BY_CARD: u32 = 1 << 31;
/// EtherType of a customer's tag.
const VLAN: u16 = 0x8100;

#[cfg(test)]
mod tests {
    use super::*;

    /// A block with frames of (seconds, status, tag, bytes).
    fn block(frames: &[(u32, u32, u32, &[u8])]) -> Vec<u8> {
        let mut block = vec![0; 48];
        block[12..16].copy_from_slice(&(frames.len() as u32).to_ne_bytes());
        block[16..20].copy_from_slice(&48u32.to_ne_bytes());
        for &(seconds, status, tag, bytes) in frames {
            let len = bytes.len() as u32;
            for word in [64 + len, seconds, 7, len, 1500, status] {
                block.extend(word.to_ne_bytes());
            }
            block.extend(64u16.to_ne_bytes());
            block.extend([0; 6]);
            block.extend(tag.to_ne_bytes());
            block.extend(0x88a8u16.to_ne_bytes());
            block.extend([0; 26]);
            block.extend(bytes);
        }
        block
    }

    fn records(block: &[u8]) -> Vec<(i64, u32, Vec<u8>)> {
        let mut cursor = Cursor::new(block);
        let mut found = Vec::new();
        let mut space = Vec::new();
        while let Some(frame) = cursor.frame(block) {
            let record = frame.record(ETHERNET, &mut space);
            found.push((record.ts.0, record.wire_len, record.bytes.to_vec()));
            cursor.pass(&frame);
        }
        found
    }

    #[test]
    fn frames_come_in_order_with_their_time() {
        let block = block(&[(1, 0, 0, b"first"), (2, 0, 0, b"second")]);
        let wanted =
            [(1_000_000_007, 1500, b"first".to_vec()), (2_000_000_007, 1500, b"second".to_vec())];
        assert_eq!(records(&block), wanted);
    }

    #[test]
    fn who_took_the_time_is_known() {
        // TP_STATUS_TS_SOFTWARE.
        let kernel = 1 << 29;
        let block = block(&[(1, kernel, 0, b"a"), (2, STAMPED_BY_CARD, 0, b"b")]);
        let mut cursor = Cursor::new(&block);
        let first = cursor.frame(&block).expect("a frame");
        cursor.pass(&first);
        let second = cursor.frame(&block).expect("another");
        assert_eq!([first.by_card, second.by_card], [false, true]);
    }

    #[test]
    fn a_tag_is_put_back_where_it_was() {
        let both = libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID;
        let bytes = b"ddddddssssss\x08\x00";
        let with = |ethertype: [u8; 2]| {
            [b"ddddddssssss".as_slice(), &ethertype, &[0x20, 5], &[8, 0]].concat()
        };
        let one = records(&block(&[(0, both, 0x2005, bytes)]));
        assert_eq!(one, [(7, 1504, with([0x88, 0xa8]))]);
        let unnamed = records(&block(&[(0, libc::TP_STATUS_VLAN_VALID, 0x2005, bytes)]));
        assert_eq!(unnamed, [(7, 1504, with([0x81, 0]))]);
    }

    #[test]
    fn a_block_cut_anywhere_gives_whole_frames() {
        let block = block(&[(1, 0, 0, b"first"), (2, 0, 0, b"second")]);
        for len in 0..block.len() {
            let found = records(&block[..len]).len();
            assert_eq!(found, usize::from(len >= 48 + 64 + 5), "{len} bytes");
        }
    }
}
