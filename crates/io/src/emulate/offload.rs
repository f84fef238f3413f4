//! Super-packets: what an interface with `IFF_VNET_HDR` hands over, cut into the packets that it
//! stands for before any queue sees them.
//!
//! In front of every frame stands `struct virtio_net_hdr` (virtio 1.2, section 5.1.6): whether the
//! checksum is still to be completed, and into segments of which size the payload is to be cut. A
//! link would otherwise see one blob of 64 kB, and lose it as one.

/// Bytes in front of every frame, read or written.
pub const HEADER_BYTES: usize = 10;

/// Where a checksum begins and where it is to be stored behind that: the host that receives the
/// frame knows that nobody has computed it.
pub type Checksum = Option<(u16, u16)>;

/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`.
const NEEDS_CHECKSUM: u8 = 1;
/// `VIRTIO_NET_HDR_GSO_NONE`, `_TCPV4`, `_TCPV6`; the bit for ECN does not change how to cut.
const GSO_NONE: u8 = 0;
const GSO_TCPV4: u8 = 1;
const GSO_TCPV6: u8 = 4;
const GSO_ECN: u8 = 0x80;
const ETHERNET_BYTES: usize = 14;
const FLAG_FIN: u8 = 0x01;
const FLAG_PSH: u8 = 0x08;
const FLAG_CWR: u8 = 0x80;

/// Cuts what was read into frames; `false` for what is cut short or of another kind.
pub fn split(read: &[u8], mut emit: impl FnMut(Box<[u8]>, Checksum)) -> bool {
    let Some((header, frame)) = read.split_first_chunk::<HEADER_BYTES>() else { return false };
    let field = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let checksum = (header[0] & NEEDS_CHECKSUM != 0).then(|| (field(6), field(8)));
    match header[1] & !GSO_ECN {
        GSO_NONE => emit(frame.into(), checksum),
        GSO_TCPV4 | GSO_TCPV6 => return cut(frame, usize::from(field(4)), checksum, emit),
        _ => return false,
    }
    true
}

/// The bytes that go in front of a frame that is written.
pub fn header(checksum: Checksum) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    if let Some((start, offset)) = checksum {
        bytes[0] = NEEDS_CHECKSUM;
        bytes[6..8].copy_from_slice(&start.to_le_bytes());
        bytes[8..10].copy_from_slice(&offset.to_le_bytes());
    }
    bytes
}

/// Cuts a TCP super-packet into segments of `size` bytes of payload.
fn cut(
    frame: &[u8],
    size: usize,
    checksum: Checksum,
    mut emit: impl FnMut(Box<[u8]>, Checksum),
) -> bool {
    let Some(layout) = Layout::of(frame, checksum) else { return false };
    if size == 0 {
        return false;
    }
    let (headers, payload) = frame.split_at(layout.payload);
    let count = payload.len().div_ceil(size).max(1);
    for (number, part) in payload.chunks(size).enumerate() {
        let mut segment = Vec::with_capacity(headers.len() + part.len());
        segment.extend_from_slice(headers);
        segment.extend_from_slice(part);
        layout.amend(&mut segment, number, number * size, number + 1 == count);
        emit(segment.into(), checksum);
    }
    true
}

/// Where the headers of a super-packet are.
struct Layout {
    is_ipv4: bool,
    tcp: usize,
    payload: usize,
}

impl Layout {
    fn of(frame: &[u8], checksum: Checksum) -> Option<Layout> {
        let tcp = usize::from(checksum?.0);
        let length = usize::from(frame.get(tcp + 12)? >> 4) * 4;
        let is_ipv4 = frame.get(ETHERNET_BYTES)? >> 4 == 4;
        let least = if is_ipv4 { 20 } else { 40 };
        let payload = tcp + length;
        let fits = tcp >= ETHERNET_BYTES + least && length >= 20 && payload <= frame.len();
        fits.then_some(Layout { is_ipv4, tcp, payload })
    }

    /// Gives a segment the header fields that are its own: lengths, identification, sequence
    /// number, and flags of the begin or the end of what was sent (RFC 9293 section 3.1, RFC 3168
    /// section 6.1.2).
    fn amend(&self, segment: &mut [u8], number: usize, offset: usize, is_last: bool) {
        let length = segment.len() - ETHERNET_BYTES;
        if self.is_ipv4 {
            let ip = &mut segment[ETHERNET_BYTES..];
            ip[2..4].copy_from_slice(&(length as u16).to_be_bytes());
            let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(number as u16);
            ip[4..6].copy_from_slice(&id.to_be_bytes());
            ip[10..12].fill(0);
            let sum = !fold(sum(&ip[..self.tcp - ETHERNET_BYTES]));
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            let payload = (length - 40) as u16;
            segment[ETHERNET_BYTES + 4..ETHERNET_BYTES + 6].copy_from_slice(&payload.to_be_bytes());
        }
        let pseudo = self.pseudo_header_sum(segment);
        let tcp = &mut segment[self.tcp..];
        let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(offset as u32);
        tcp[4..8].copy_from_slice(&seq.to_be_bytes());
        if !is_last {
            tcp[13] &= !(FLAG_FIN | FLAG_PSH);
        }
        if number > 0 {
            tcp[13] &= !FLAG_CWR;
        }
        tcp[16..18].copy_from_slice(&pseudo.to_be_bytes());
    }

    /// What a checksum that is still to be completed starts from (RFC 9293 section 3.1).
    fn pseudo_header_sum(&self, segment: &[u8]) -> u16 {
        let ip = &segment[ETHERNET_BYTES..];
        let addresses = if self.is_ipv4 { &ip[12..20] } else { &ip[8..40] };
        let length = segment.len() - self.tcp;
        fold(sum(addresses) + 6 + length as u32)
    }
}

/// Adds up the words of a header, which have to be folded.
pub(super) fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum()
}

/// The one's complement sum (RFC 1071).
pub(super) fn fold(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A super-packet of `payload` bytes as Linux hands it over, MSS 1448, all flags set.
    fn super_packet(payload: usize) -> Vec<u8> {
        let mut read = vec![NEEDS_CHECKSUM, GSO_TCPV4, 66, 0];
        read.extend(1448u16.to_le_bytes());
        read.extend(34u16.to_le_bytes());
        read.extend(16u16.to_le_bytes());
        read.extend([0; 12]);
        read.extend([8, 0]);
        read.extend([0x45, 0, 0, 0, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        read.extend([0x9c, 0x40, 0x13, 0x89, 0xff, 0xff, 0xff, 0x00, 0, 0, 0, 0]);
        read.extend([0x80, 0x9f, 1, 0, 0, 0, 0, 0]);
        read.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        read.extend((0..payload).map(|i| i as u8));
        read
    }

    fn frames(read: &[u8]) -> Vec<(Box<[u8]>, Checksum)> {
        let mut all = Vec::new();
        assert!(split(read, |frame, checksum| all.push((frame, checksum))));
        all
    }

    #[test]
    fn payload_is_cut_without_loss() {
        let read = super_packet(4000);
        let all = frames(&read);
        let lengths: Vec<usize> = all.iter().map(|(frame, _)| frame.len() - 66).collect();
        assert_eq!(lengths, [1448, 1448, 1104]);
        let joined: Vec<u8> = all.iter().flat_map(|(frame, _)| frame[66..].to_vec()).collect();
        assert_eq!(joined, read[HEADER_BYTES + 66..]);
        assert!(all.iter().all(|(_, checksum)| *checksum == Some((34, 16))));
    }

    #[test]
    fn every_segment_has_its_own_header() {
        let all = frames(&super_packet(4000));
        let read =
            |at: usize, frame: &[u8]| u32::from_be_bytes(*frame[at..].first_chunk().unwrap());
        for (number, (frame, _)) in all.iter().enumerate() {
            assert_eq!(fold(sum(&frame[14..34])), 0xffff, "header checksum");
            let total = u16::from_be_bytes([frame[16], frame[17]]);
            assert_eq!(usize::from(total), frame.len() - 14);
            assert_eq!(u16::from_be_bytes([frame[18], frame[19]]), 0x1234 + number as u16);
            // The sequence number wraps.
            let seq = 0xffff_ff00u32.wrapping_add(1448 * number as u32);
            assert_eq!(read(38, frame), seq);
        }
        let flags: Vec<u8> = all.iter().map(|(frame, _)| frame[47]).collect();
        // CWR only on the first, PSH and FIN only on the last.
        assert_eq!(flags, [0x96, 0x16, 0x1f]);
    }

    #[test]
    fn a_small_frame_passes_as_it_is() {
        let mut read = vec![0; HEADER_BYTES];
        read.extend([7; 60]);
        assert_eq!(frames(&read), [(vec![7; 60].into(), None)]);
        assert_eq!(header(None), [0; HEADER_BYTES]);
        assert_eq!(header(Some((34, 16)))[..10], [1, 0, 0, 0, 0, 0, 34, 0, 16, 0]);
    }

    #[test]
    fn what_is_cut_short_is_refused() {
        let read = super_packet(4000);
        for length in 0..HEADER_BYTES + 66 {
            let mut seen = 0;
            let good = split(&read[..length], |_, _| seen += 1);
            assert!(!good && seen == 0, "{length} bytes");
        }
        let mut zero = super_packet(100);
        zero[4..6].fill(0);
        assert!(!split(&zero, |_, _| ()));
    }
}
