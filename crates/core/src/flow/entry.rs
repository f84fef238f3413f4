//! A segment as a flow keeps it until it is analysed: what [`Segment`] says, less the key.

use crate::units::{Nanos, Seq};
use crate::wire::{Segment, flags, marks};

/// A segment within its flow. 48 bytes, so that the log of a short flow stays small; SACK blocks
/// are left out since a segment that carries some is analysed at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct Entry {
    /// Capture time.
    pub ts: Nanos,
    /// Sequence number.
    pub seq: Seq,
    /// Acknowledgement number.
    pub ack: Seq,
    /// Timestamps option.
    pub tsval: u32,
    /// Echoed timestamp.
    pub tsecr: u32,
    /// Payload bytes on the wire.
    pub payload_len: u32,
    /// Low half of the frame number; the flow restores the rest.
    pub frame_low: u32,
    /// TCP flags in the low nine bits, then ECN (2), forward (1).
    pub(crate) bits: u16,
    /// IPv4 identification.
    pub ip_id: u16,
    /// Window field, unscaled.
    pub window_raw: u16,
    /// MSS option of a SYN.
    pub mss_option: u16,
    /// IP and TCP headers in bytes.
    pub(crate) headers_len: u16,
    /// Bytes of the frame around the IP packet.
    pub(crate) link_len: i16,
    /// Window scale option of a SYN.
    pub window_scale: u8,
    /// [`marks`] of the segment.
    pub marks: u8,
    /// What others between the same hosts sent the same way since the last segment with payload, in
    /// [`UNIT`](crate::flow::table::pairs::UNIT)s.
    pub others: u16,
}

impl Entry {
    /// What a flow keeps of `segment`, at time `ts`.
    #[inline]
    pub fn of(segment: &Segment, ts: Nanos) -> Entry {
        let headers = segment.ip_len.saturating_sub(segment.payload_len);
        let link = i64::from(segment.wire_len) - i64::from(segment.ip_len);
        Entry {
            ts,
            seq: segment.seq,
            ack: segment.ack,
            tsval: segment.tsval,
            tsecr: segment.tsecr,
            payload_len: segment.payload_len,
            frame_low: segment.frame as u32,
            bits: (segment.flags & FLAG_BITS)
                | u16::from(segment.ecn & 3) << ECN_SHIFT
                | u16::from(segment.forward) << FORWARD_SHIFT,
            ip_id: segment.ip_id,
            window_raw: segment.window_raw,
            mss_option: segment.mss_option,
            headers_len: headers.min(u32::from(u16::MAX)) as u16,
            link_len: link.clamp(i64::from(i16::MIN), i64::from(i16::MAX)) as i16,
            window_scale: segment.window_scale,
            marks: segment.marks,
            others: 0,
        }
    }

    /// TCP flags, [`flags`].
    #[inline]
    pub fn flags(&self) -> u16 {
        self.bits & FLAG_BITS
    }

    /// Whether any of the flags `mask` is set.
    #[inline]
    pub fn has(&self, mask: u16) -> bool {
        self.bits & mask & FLAG_BITS != 0
    }

    /// ECN field of the IP header.
    #[inline]
    pub fn ecn(&self) -> u8 {
        (self.bits >> ECN_SHIFT) as u8 & 3
    }

    /// Whether it runs from the low to the high endpoint.
    #[inline]
    pub fn forward(&self) -> bool {
        self.bits >> FORWARD_SHIFT & 1 == 1
    }

    /// Whether the timestamps option is present.
    #[inline]
    pub fn has_timestamps(&self) -> bool {
        self.marks & marks::TIMESTAMPS != 0
    }

    /// IP packet length in bytes.
    #[inline]
    pub fn ip_len(&self) -> u32 {
        self.payload_len + u32::from(self.headers_len)
    }

    /// Frame length in bytes.
    #[inline]
    pub fn wire_len(&self) -> u32 {
        self.ip_len().wrapping_add_signed(i32::from(self.link_len))
    }

    /// IP and TCP header bytes.
    #[inline]
    pub fn headers_len(&self) -> u32 {
        u32::from(self.headers_len)
    }

    /// Sequence space it takes: payload, and one each for SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u32 {
        self.payload_len + u32::from(self.has(flags::SYN)) + u32::from(self.has(flags::FIN))
    }
}

const FLAG_BITS: u16 = 0x01ff;
const ECN_SHIFT: u16 = 9;
const FORWARD_SHIFT: u16 = 11;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_fits_three_quarters_of_a_cache_line() {
        assert_eq!(size_of::<Entry>(), 48);
    }
}
