//! Forges frames for tests, layer by layer from the inside out.

/// A TCP header with these options (padded), and so many payload bytes.
pub fn tcp(options: &[u8], payload: usize) -> Vec<u8> {
    let padded = options.len().next_multiple_of(4);
    let mut bytes = vec![0x9c, 0x40, 0x00, 0x50, 0, 0, 0, 1, 0, 0, 0, 2];
    bytes.extend([((20 + padded) as u8 / 4) << 4, 0x10, 0x01, 0x00, 0, 0, 0, 0]);
    bytes.extend(options);
    bytes.resize(20 + padded + payload, 0);
    bytes
}

/// A UDP datagram.
pub fn udp(src: u16, dst: u16, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() + 8) as u16;
    [src, dst, len, 0]
        .iter()
        .flat_map(|field| field.to_be_bytes())
        .chain(payload.to_vec())
        .collect()
}

/// An IPv4 packet from 10.0.0.1 to 10.0.0.2.
pub fn ipv4(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let len = (payload.len() + 20) as u16;
    let mut bytes = vec![0x45, 0x02];
    bytes.extend(len.to_be_bytes());
    bytes.extend([0x12, 0x34, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend(payload);
    bytes
}

/// An IPv6 packet from 2001:db8::1 to 2001:db8::2.
pub fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x60, 0x10, 0, 0];
    bytes.extend((payload.len() as u16).to_be_bytes());
    bytes.extend([next, 64]);
    for host in [1, 2] {
        bytes.extend([0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, host]);
    }
    bytes.extend(payload);
    bytes
}

/// An Ethernet frame.
pub fn ethernet(ethertype: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    bytes.extend(ethertype.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// Bytes after one another.
pub fn join(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}
