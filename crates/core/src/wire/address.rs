//! Addresses as text, without the formatter of the standard library, which takes ten times as
//! long: every row has two.

use std::fmt::{self, Display, Formatter, Write};
use std::net::IpAddr;
use std::ops::Deref;

/// An address as the standard library writes it.
#[derive(Clone, Copy)]
pub struct AddressText {
    text: [u8; LONGEST],
    len: usize,
}

impl AddressText {
    fn put(&mut self, byte: u8) {
        self.text[self.len] = byte;
        self.len += 1;
    }

    fn number(&mut self, octet: u8) {
        if octet >= 100 {
            self.put(b'0' + octet / 100);
        }
        if octet >= 10 {
            self.put(b'0' + octet / 10 % 10);
        }
        self.put(b'0' + octet % 10);
    }
}

impl From<IpAddr> for AddressText {
    fn from(addr: IpAddr) -> AddressText {
        let mut text = AddressText { text: [0; LONGEST], len: 0 };
        match addr {
            IpAddr::V4(addr) => {
                for (at, octet) in addr.octets().into_iter().enumerate() {
                    if at > 0 {
                        text.put(b'.');
                    }
                    text.number(octet);
                }
            }
            IpAddr::V6(addr) => write!(text, "{addr}").expect("there is room for the longest"),
        }
        text
    }
}

impl Write for AddressText {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.text.get_mut(self.len..self.len + more.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(more.as_bytes());
        self.len += more.len();
        Ok(())
    }
}

impl Deref for AddressText {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.text[..self.len]).expect("digits and what divides them")
    }
}

impl Display for AddressText {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(self)
    }
}

/// Bytes of `::ffff:255.255.255.255` and of eight groups of four digits.
const LONGEST: usize = 39;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn addresses_read_as_the_standard_library_writes_them(addr: IpAddr) {
            prop_assert_eq!(AddressText::from(addr).to_string(), addr.to_string());
        }
    }

    #[test]
    fn the_longest_ones_have_room() {
        let all = ["0.0.0.0", "255.255.255.255", "1.20.200.99", "::", "::ffff:255.255.255.255"];
        let longest = "2001:1111:2222:3333:4444:5555:6666:7777";
        for text in all.into_iter().chain([longest]) {
            let addr: IpAddr = text.parse().expect("an address");
            assert_eq!(&*AddressText::from(addr), text);
        }
        assert_eq!(longest.len(), LONGEST);
    }
}
