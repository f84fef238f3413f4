//! How many payload bytes a full segment carries.

/// Effective MSS of a half, learned while it sends.
#[derive(Clone, Copy, Debug)]
pub struct Mss {
    /// What [`Mss::value`] says, asked for several times a segment.
    value: u32,
    /// From the receiver's MSS option, less what options take off every segment.
    offered: Option<u32>,
    /// What they take.
    taken: u32,
    /// Largest payload at most `offered` that was seen often enough.
    observed: Option<u32>,
    candidates: [(u32, u8); 4],
    /// A segment longer than any MSS was seen: segmentation or receive offload.
    pub super_packets: bool,
    headers_len: u32,
}

impl Default for Mss {
    fn default() -> Mss {
        Mss {
            value: ETHERNET_WITH_TIMESTAMPS,
            offered: None,
            taken: 0,
            observed: None,
            candidates: Default::default(),
            super_packets: false,
            headers_len: 0,
        }
    }
}

impl Mss {
    /// The receiver's MSS option; a timestamps option takes 12 bytes off every segment (RFC 7323
    /// appendix A, RFC 6691).
    pub fn offer(&mut self, mss_option: u16, timestamps: bool) {
        self.taken = if timestamps { TIMESTAMPS } else { 0 };
        self.offered = Some(u32::from(mss_option).saturating_sub(self.taken).max(1));
        self.conclude();
    }

    /// Learns from a payload of `len` bytes, of a segment with timestamps or without.
    #[inline]
    pub fn learn(&mut self, len: u32, timestamps: bool) {
        if self.observed != Some(len) {
            self.learn_other(len, timestamps);
        }
    }

    /// Learns from a length other than the one observed.
    fn learn_other(&mut self, len: u32, timestamps: bool) {
        if self.taken > 0 && !timestamps {
            // One side offered timestamps and the other declined, or a middlebox took them off.
            self.offered = self.offered.map(|offered| offered + self.taken);
            self.taken = 0;
            self.conclude();
        }
        if self.taken == 0 && timestamps && self.is_less_timestamps(len) {
            // Some send timestamps although the SYN/ACK has none.
            (self.offered, self.taken) = (Some(len), TIMESTAMPS);
            self.conclude();
        }
        let limit = self.offered.unwrap_or(MAX_WITHOUT_OPTION);
        if self.is_whole_option(len) {
            self.consider(len);
            return;
        }
        if len > limit {
            // Nine tenths of a jumbo frame without the option is a larger MSS, not an offload.
            self.super_packets |= self.offered.is_some() || len > MAX_JUMBO;
            if self.offered.is_some() || len > MAX_JUMBO {
                return;
            }
        }
        let least = self.offered.unwrap_or(MAX_WITHOUT_OPTION) * MIN_SHARE / 100;
        if len >= least && self.observed.is_none_or(|observed| len > observed) {
            self.consider(len);
        }
    }

    /// Whether a payload fills the MSS option although timestamps come with it, as stacks from
    /// before RFC 6691 send them. Where super-packets are seen it is as likely a segment and a bit.
    fn is_whole_option(&self, len: u32) -> bool {
        let whole = self.offered.map(|offered| offered + self.taken);
        self.taken > 0 && !self.super_packets && whole == Some(len)
    }

    /// Whether a payload fills what the option leaves beside timestamps, as the first that tells.
    fn is_less_timestamps(&self, len: u32) -> bool {
        self.observed.is_none() && self.offered == Some(len + TIMESTAMPS)
    }

    fn consider(&mut self, len: u32) {
        if let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.0 == len) {
            candidate.1 += 1;
            let multiple = self.observed.is_some_and(|observed| len.is_multiple_of(observed));
            if candidate.1 >= OFTEN_ENOUGH {
                if multiple && self.offered.is_none() {
                    self.super_packets = true;
                    return;
                }
                self.observed = Some(len);
                if self.is_whole_option(len) {
                    (self.offered, self.taken) = (Some(len), 0);
                }
                self.conclude();
                self.candidates = [(0, 0); 4];
            }
            return;
        }
        let rarest = self.candidates.iter_mut().min_by_key(|candidate| candidate.1);
        *rarest.expect("there are four candidates") = (len, 1);
    }

    /// Payload bytes of a full segment, as known now.
    #[inline]
    pub fn value(&self) -> u32 {
        self.value
    }

    fn conclude(&mut self) {
        self.value = self.known().unwrap_or(ETHERNET_WITH_TIMESTAMPS);
    }

    /// Payload bytes of a full segment, where another one teaches nothing; `None` before that.
    #[inline]
    pub fn learned(&self) -> Option<u32> {
        self.observed
    }

    /// What the receiver takes at most, options counted; `None` when its SYN was not seen.
    pub fn offered(&self) -> Option<u32> {
        self.offered
    }

    /// The same, or `None` when nothing tells.
    pub fn known(&self) -> Option<u32> {
        self.observed.or(self.offered)
    }

    /// IP and TCP header bytes of the last data segment.
    #[inline]
    pub fn headers_len(&self) -> u32 {
        self.headers_len
    }

    /// Takes the IP and TCP header bytes of a data segment.
    #[inline]
    pub fn set_headers_len(&mut self, headers_len: u32) {
        self.headers_len = headers_len;
    }

    /// How many full segments `len` bytes stand for, and whether a small one is left.
    #[inline]
    pub fn split(&self, len: u32) -> (u32, bool) {
        let mss = self.value();
        if self.offered.is_none() && !self.super_packets && len <= MAX_JUMBO && len >= mss {
            // A frame longer than those before may be one packet; more are claimed where it is
            // known.
            (1, false)
        } else if len < mss {
            (0, true)
        } else if len == mss {
            (1, false)
        } else if len <= mss.max(self.offered.unwrap_or(MAX_WITHOUT_OPTION))
            || self.is_whole_option(len)
        {
            // Not yet learned, but no more than one packet may carry.
            (1, false)
        } else {
            (len / mss, !len.is_multiple_of(mss))
        }
    }
}

/// Bytes of a timestamps option, padded.
const TIMESTAMPS: u32 = 12;
/// Times that a length must be seen before it counts as the MSS.
const OFTEN_ENOUGH: u8 = 3;
/// Percent of the offered MSS below which a length is what the application wrote. The least IPv6
/// MTU of 1280 leaves 84 % of what Ethernet carries.
const MIN_SHARE: u32 = 84;
/// Ethernet less IPv4 and TCP headers.
const MAX_WITHOUT_OPTION: u32 = 1460;
/// A 9,000-byte frame less headers.
const MAX_JUMBO: u32 = 8960;
/// Ethernet less IPv4 and TCP headers and timestamps: what most segments of today have.
const ETHERNET_WITH_TIMESTAMPS: u32 = 1448;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_observed_size_wins_over_the_option_and_super_packets_do_not_count() {
        let mut mss = Mss::default();
        mss.offer(1460, true);
        assert_eq!(mss.value(), 1448);
        for len in [2896, 500, 500, 500, 1420, 1420, 1420] {
            mss.learn(len, true);
        }
        assert_eq!(mss.value(), 1420);
        assert!(mss.super_packets);
        assert_eq!(mss.split(1420 * 3 + 7), (3, true));
        assert_eq!(mss.split(1419), (0, true));
    }

    #[test]
    fn a_jumbo_frame_is_learned_without_a_handshake() {
        let mut mss = Mss::default();
        for _ in 0..3 {
            mss.learn(8948, true);
        }
        assert_eq!(mss.known(), Some(8948));
        assert!(!mss.super_packets);
    }

    #[test]
    fn segments_without_timestamps_have_the_room_that_these_would_take() {
        let mut mss = Mss::default();
        mss.offer(1460, true);
        mss.learn(1460, false);
        assert_eq!((mss.value(), mss.super_packets), (1460, false), "the other side declined");
        assert_eq!(mss.split(1460), (1, false));
        mss.learn(2920, false);
        assert!(mss.super_packets);
    }

    #[test]
    fn timestamps_take_their_room_whatever_the_handshake_said() {
        let mut mss = Mss::default();
        mss.offer(1460, false);
        mss.learn(512, true);
        assert_eq!(mss.value(), 1460);
        mss.learn(1448, true);
        assert_eq!(mss.value(), 1448, "full");
        mss.learn(1460, false);
        assert_eq!(mss.value(), 1460, "a segment without them has more room");
    }

    #[test]
    fn a_sender_may_fill_the_option_beside_its_timestamps() {
        let mut mss = Mss::default();
        mss.offer(1392, true);
        mss.learn(1392, true);
        assert_eq!((mss.split(1392), mss.super_packets), ((1, false), false));
        mss.learn(1392, true);
        mss.learn(1392, true);
        assert_eq!((mss.value(), mss.offered()), (1392, Some(1392)));
        mss.learn(2784, true);
        assert!(mss.super_packets);
        let mut joined = Mss::default();
        joined.offer(1460, true);
        joined.learn(2896, true);
        assert_eq!(joined.split(1460), (1, true), "a segment and 12 bytes, joined by offload");
    }

    #[test]
    fn what_may_be_one_packet_is_not_called_several() {
        let mut mss = Mss::default();
        mss.learn(4129, false);
        assert_eq!(mss.split(4129), (1, false), "a jumbo frame, or an offload");
        mss.learn(20_000, false);
        assert_eq!(mss.split(4129), (2, true), "an offload: no frame is so long");
    }

    #[test]
    fn writes_that_are_seen_before_full_segments_make_these_no_several() {
        let mut mss = Mss::default();
        for _ in 0..3 {
            mss.learn(1777, true);
        }
        assert_eq!(mss.split(8948), (1, false), "a jumbo frame after short ones");
        for _ in 0..3 {
            mss.learn(3554, true);
        }
        assert!(mss.super_packets, "multiples, time after time");
        assert_eq!(mss.split(3554), (2, false));
    }
}
