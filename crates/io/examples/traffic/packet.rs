//! Ethernet, IPv4 or IPv6, and TCP or UDP headers, and the capture file that they go to.

use std::io::{self, Write};

/// TCP flag bits.
pub const FIN: u8 = 0x01;
pub const SYN: u8 = 0x02;
pub const RST: u8 = 0x04;
pub const PSH: u8 = 0x08;
pub const ACK: u8 = 0x10;

/// One side of a flow.
#[derive(Clone, Copy)]
pub struct Host {
    /// IPv6 address; IPv4 in the last four bytes.
    pub addr: [u8; 16],
    pub port: u16,
    pub ttl: u8,
}

/// What a packet carries besides the flow's addresses.
#[derive(Clone, Copy, Default)]
pub struct Packet {
    pub udp: bool,
    pub ip_id: u16,
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    /// TSval and TSecr.
    pub timestamps: Option<(u32, u32)>,
    /// MSS and window scale, on a SYN.
    pub syn_options: Option<(u16, u8)>,
    /// A SACK block.
    pub sack: Option<(u32, u32)>,
    pub payload_len: u16,
}

/// A pcap file with nanoseconds and Ethernet, written in large blocks.
pub struct Capture {
    sink: Box<dyn Write>,
    buffer: Vec<u8>,
    snaplen: usize,
    packets: u64,
    wire_bytes: u64,
}

const BUFFER_BYTES: usize = 1 << 20;
const ETHERNET: usize = 14;
/// The first packet's time: 2026-01-01 00:00:00 UTC.
const EPOCH_S: u64 = 1_767_225_600;
/// Record header, Ethernet, IPv6, and TCP with all its options.
const HEADERS_MAX: usize = 16 + ETHERNET + 40 + 60;

impl Capture {
    pub fn new(mut sink: Box<dyn Write>, snaplen: usize) -> io::Result<Capture> {
        let mut header = [0; 24];
        header[..4].copy_from_slice(&0xa1b2_3c4d_u32.to_le_bytes());
        header[4..6].copy_from_slice(&2_u16.to_le_bytes());
        header[6..8].copy_from_slice(&4_u16.to_le_bytes());
        header[16..20].copy_from_slice(&(snaplen as u32).to_le_bytes());
        header[20] = 1; // LINKTYPE_ETHERNET
        sink.write_all(&header)?;
        let buffer = Vec::with_capacity(BUFFER_BYTES + 65_536 + HEADERS_MAX);
        Ok(Capture { sink, buffer, snaplen, packets: 0, wire_bytes: 0 })
    }

    /// Appends a packet that passed `at` ns after the start.
    pub fn write(
        &mut self,
        at: u64,
        v6: bool,
        from: &Host,
        to: &Host,
        packet: &Packet,
    ) -> io::Result<()> {
        let mut bytes = [0; HEADERS_MAX];
        let frame = &mut bytes[16..];
        let ip_header = if v6 { 40 } else { 20 };
        let transport = &mut frame[ETHERNET + ip_header..];
        let transport_len = if packet.udp {
            udp(transport, from, to, packet)
        } else {
            tcp(transport, from, to, packet)
        };
        let wire_len = ethernet_and_ip(frame, v6, from, to, packet, transport_len);
        let headers = ETHERNET + ip_header + transport_len;
        let captured = wire_len.min(self.snaplen);
        let (seconds, ns) = (EPOCH_S + at / 1_000_000_000, at % 1_000_000_000);
        for (field, value) in bytes.chunks_exact_mut(4).zip([
            seconds as u32,
            ns as u32,
            captured as u32,
            wire_len as u32,
        ]) {
            field.copy_from_slice(&value.to_le_bytes());
        }
        let end = self.buffer.len() + 16 + captured;
        self.buffer.extend_from_slice(&bytes[..16 + headers.min(captured)]);
        self.buffer.resize(end, 0);
        self.packets += 1;
        self.wire_bytes += wire_len as u64;
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(())
    }

    /// Writes what is left; packets and bytes on the wire.
    pub fn finish(mut self) -> io::Result<(u64, u64)> {
        self.flush()?;
        self.sink.flush()?;
        Ok((self.packets, self.wire_bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}

/// Fills in all below the transport header; gives the frame's length on the wire.
fn ethernet_and_ip(
    frame: &mut [u8],
    v6: bool,
    from: &Host,
    to: &Host,
    packet: &Packet,
    transport_len: usize,
) -> usize {
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    let segment_len = transport_len + usize::from(packet.payload_len);
    let protocol = if packet.udp { 17 } else { 6 };
    if v6 {
        frame[12..14].copy_from_slice(&[0x86, 0xdd]);
        let ip = &mut frame[ETHERNET..];
        ip[0] = 0x60;
        ip[4..6].copy_from_slice(&(segment_len as u16).to_be_bytes());
        ip[6] = protocol;
        ip[7] = from.ttl;
        ip[8..24].copy_from_slice(&from.addr);
        ip[24..40].copy_from_slice(&to.addr);
        return ETHERNET + 40 + segment_len;
    }
    frame[12] = 0x08;
    let ip = &mut frame[ETHERNET..ETHERNET + 20];
    ip[0] = 0x45;
    ip[2..4].copy_from_slice(&((20 + segment_len) as u16).to_be_bytes());
    ip[4..6].copy_from_slice(&packet.ip_id.to_be_bytes());
    ip[6] = 0x40; // DF
    ip[8] = from.ttl;
    ip[9] = protocol;
    ip[12..16].copy_from_slice(&from.addr[12..]);
    ip[16..20].copy_from_slice(&to.addr[12..]);
    let sum: u32 = ip.chunks_exact(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]]))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let checksum = !(folded + (folded >> 16)) as u16;
    ip[10..12].copy_from_slice(&checksum.to_be_bytes());
    ETHERNET + 20 + segment_len
}

/// Fills in a TCP header with its options and gives its length. The checksum stays 0: the payload
/// does not exist.
fn tcp(header: &mut [u8], from: &Host, to: &Host, packet: &Packet) -> usize {
    header[..2].copy_from_slice(&from.port.to_be_bytes());
    header[2..4].copy_from_slice(&to.port.to_be_bytes());
    header[4..8].copy_from_slice(&packet.seq.to_be_bytes());
    header[8..12].copy_from_slice(&packet.ack.to_be_bytes());
    header[13] = packet.flags;
    header[14..16].copy_from_slice(&packet.window.to_be_bytes());
    let mut len = 20;
    let mut add = |bytes: &[u8]| {
        header[len..len + bytes.len()].copy_from_slice(bytes);
        len += bytes.len();
    };
    if let Some((mss, scale)) = packet.syn_options {
        let [high, low] = mss.to_be_bytes();
        add(&[2, 4, high, low]);
        if packet.timestamps.is_some() {
            add(&[4, 2, 1, 3, 3, scale, 1, 1]);
        }
    }
    if let Some((value, echo)) = packet.timestamps {
        add(&[1, 1, 8, 10]);
        add(&value.to_be_bytes());
        add(&echo.to_be_bytes());
    }
    if let Some((left, right)) = packet.sack {
        add(&[1, 1, 5, 10]);
        add(&left.to_be_bytes());
        add(&right.to_be_bytes());
    }
    header[12] = (len as u8 / 4) << 4;
    len
}

fn udp(header: &mut [u8], from: &Host, to: &Host, packet: &Packet) -> usize {
    header[..2].copy_from_slice(&from.port.to_be_bytes());
    header[2..4].copy_from_slice(&to.port.to_be_bytes());
    header[4..6].copy_from_slice(&(8 + packet.payload_len).to_be_bytes());
    8
}
