//! TCP options of a frame, changed in place as middleboxes do.
//!
//! An option that is taken out becomes NOPs, so that the frame keeps its length, as with nftables
//! (`reset tcp option`).

use super::frame::{ETHERNET_BYTES, Frame};
use super::offload::{fold, sum};
use std::ops::Range;
use tcpwhy_sim::link::{Stripped, TcpOptions};

impl TcpOptions for Frame {
    fn is_syn_with_payload(&self) -> bool {
        self.tcp_header().is_some_and(|header| {
            // What pads a short Ethernet frame is not payload.
            let ip = &self.bytes[ETHERNET_BYTES..];
            let end = ETHERNET_BYTES
                + match ip[0] >> 4 {
                    4 => usize::from(u16::from_be_bytes([ip[2], ip[3]])),
                    _ => 40 + usize::from(u16::from_be_bytes([ip[4], ip[5]])),
                };
            self.bytes[header.start + 13] & FLAG_SYN != 0 && end > header.end
        })
    }

    fn strip(&mut self, option: Stripped) -> u32 {
        let kind = match option {
            Stripped::Mss => KIND_MSS,
            Stripped::WindowScale => 3,
            Stripped::SackPermitted => 4,
            Stripped::Timestamps => 8,
            Stripped::FastOpen => 34,
        };
        self.change(kind, |option| option.fill(NOP));
        0
    }

    fn lower_mss(&mut self, mss_max_bytes: u16) {
        self.change(KIND_MSS, |option| {
            if let [_, 4, high, low] = option {
                let mss = u16::from_be_bytes([*high, *low]).min(mss_max_bytes);
                [*high, *low] = mss.to_be_bytes();
            }
        });
    }
}

impl Frame {
    /// Changes each option of a kind, and mends the checksum (RFC 1624) unless it is still to be
    /// completed: what a sum starts from does not include options.
    fn change(&mut self, kind: u8, mut change: impl FnMut(&mut [u8])) {
        let Some(header) = self.tcp_header() else { return };
        let header = &mut self.bytes[header];
        let Some(at) = find(header, kind) else { return };
        let before = fold(sum(header));
        change(&mut header[at]);
        if self.checksum.is_none() {
            let after = fold(sum(header));
            let old = u16::from_be_bytes([header[16], header[17]]);
            let new = !fold(u32::from(!old) + u32::from(!before) + u32::from(after));
            header[16..18].copy_from_slice(&new.to_be_bytes());
        }
    }
}

/// Where the first option of a kind is in a TCP header (RFC 9293 section 3.1).
fn find(header: &[u8], kind: u8) -> Option<Range<usize>> {
    let mut at = 20;
    loop {
        match *header.get(at)? {
            END => return None,
            NOP => at += 1,
            found => {
                let length = usize::from(*header.get(at + 1)?).max(2);
                if at + length > header.len() {
                    return None;
                }
                if found == kind {
                    return Some(at..at + length);
                }
                at += length;
            }
        }
    }
}

const END: u8 = 0;
const NOP: u8 = 1;
const KIND_MSS: u8 = 2;
const FLAG_SYN: u8 = 0x02;

#[cfg(test)]
mod tests {
    use super::*;

    /// A SYN as Linux sends it: MSS 1460, SACK permitted, timestamps, NOP, window scale 7.
    fn syn(payload: &[u8]) -> Frame {
        let mut bytes = vec![0; 12];
        bytes.extend([8, 0]);
        let length = (60 + payload.len()) as u8;
        bytes.extend([0x45, 0, 0, length, 0, 1, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        bytes.extend([0x9c, 0x40, 0x13, 0x89, 0, 0, 1, 2, 0, 0, 0, 0]);
        bytes.extend([0xa0, 0x02, 0xfa, 0xf0, 0, 0, 0, 0]);
        bytes.extend([2, 4, 5, 180, 4, 2, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0, 1, 3, 3, 7]);
        bytes.extend(payload);
        let mut frame = Frame { bytes: bytes.into(), route: 0, hop: 0, checksum: None };
        let sum = !checksum(&frame);
        frame.bytes[50..52].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    /// The sum over pseudo-header and segment: all ones where the checksum is right.
    fn checksum(frame: &Frame) -> u16 {
        let length = frame.bytes.len() - 34;
        fold(sum(&frame.bytes[26..34]) + 6 + length as u32 + sum(&frame.bytes[34..]))
    }

    #[test]
    fn an_option_becomes_nops_and_the_checksum_stays_right() {
        let whole = syn(&[]);
        assert_eq!(checksum(&whole), 0xffff);
        let spans = [
            (Stripped::Mss, 54..58),
            (Stripped::SackPermitted, 58..60),
            (Stripped::Timestamps, 60..70),
            (Stripped::WindowScale, 71..74),
        ];
        for (option, span) in spans {
            let mut frame = whole.clone();
            assert_eq!(frame.strip(option), 0);
            assert!(frame.bytes[span.clone()].iter().all(|byte| *byte == NOP), "{option:?}");
            assert_eq!(frame.bytes[..50], whole.bytes[..50]);
            assert_eq!(frame.bytes[span.end..], whole.bytes[span.end..]);
            assert_eq!(checksum(&frame), 0xffff, "{option:?}");
        }
        let mut frame = whole.clone();
        frame.strip(Stripped::FastOpen);
        assert_eq!(frame.bytes, whole.bytes);
    }

    #[test]
    fn only_a_larger_mss_is_lowered() {
        let whole = syn(&[]);
        let mut frame = whole.clone();
        frame.lower_mss(1460);
        assert_eq!(frame.bytes, whole.bytes);
        frame.lower_mss(1360);
        assert_eq!(frame.bytes[54..58], [2, 4, 5, 80]);
        assert_eq!(checksum(&frame), 0xffff);
    }

    #[test]
    fn a_checksum_to_be_completed_is_left_alone() {
        let mut frame = Frame { checksum: Some((34, 16)), ..syn(&[]) };
        let before = frame.bytes[50..52].to_vec();
        frame.lower_mss(1360);
        assert_eq!(frame.bytes[50..52], before);
    }

    #[test]
    fn padding_is_no_payload() {
        assert!(syn(&[1, 2]).is_syn_with_payload());
        let mut padded = syn(&[]);
        padded.bytes = [&padded.bytes[..], &[0; 4]].concat().into();
        assert!(!padded.is_syn_with_payload());
    }

    #[test]
    fn what_is_cut_short_is_left_alone() {
        let whole = syn(&[]);
        for length in 0..whole.bytes.len() {
            let mut frame = Frame { bytes: whole.bytes[..length].into(), ..whole.clone() };
            assert!(frame.tcp_header().is_none() && !frame.is_syn_with_payload());
            frame.strip(Stripped::Mss);
            assert_eq!(frame.bytes[..], whole.bytes[..length]);
        }
        let mut endless = whole.clone();
        endless.bytes[59] = 0;
        endless.strip(Stripped::WindowScale);
    }
}
