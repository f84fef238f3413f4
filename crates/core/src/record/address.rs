//! Addresses as text. Every row has two, and the formatter of the standard library takes ten times
//! as long for those of IPv4.

use std::fmt::{self, Display, Formatter};
use std::net::{IpAddr, Ipv4Addr};
use std::ops::Deref;

/// An address, written as the standard library does.
pub(crate) struct Address(pub IpAddr);

impl Display for Address {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(addr) => f.write_str(&dotted(addr)),
            IpAddr::V6(addr) => addr.fmt(f),
        }
    }
}

/// Four numbers with dots, on the stack.
pub(crate) struct Dotted {
    text: [u8; ROOM],
    len: usize,
}

/// The text of an IPv4 address.
pub(crate) fn dotted(addr: Ipv4Addr) -> Dotted {
    let mut out = Dotted { text: [0; ROOM], len: 0 };
    for (at, octet) in addr.octets().into_iter().enumerate() {
        if at > 0 {
            out.put(b'.');
        }
        if octet >= 100 {
            out.put(b'0' + octet / 100);
        }
        if octet >= 10 {
            out.put(b'0' + octet / 10 % 10);
        }
        out.put(b'0' + octet % 10);
    }
    out
}

impl Dotted {
    fn put(&mut self, byte: u8) {
        self.text[self.len] = byte;
        self.len += 1;
    }
}

impl Deref for Dotted {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.text[..self.len]).expect("digits and dots")
    }
}

/// Bytes of the longest.
const ROOM: usize = "255.255.255.255".len();

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_read_as_the_standard_library_writes_them() {
        for text in ["0.0.0.0", "1.20.200.99", "255.255.255.255", "10.100.0.1", "2001:db8::1"] {
            assert_eq!(Address(text.parse().unwrap()).to_string(), text);
        }
    }
}
