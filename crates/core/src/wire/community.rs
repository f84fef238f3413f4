//! Community ID version 1: a name for a flow that Zeek, Suricata and Wireshark compute alike
//! (github.com/corelight/community-id-spec).

use super::{FlowKey, ip};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use std::net::IpAddr;
use std::ops::Deref;

/// A Community ID. All have the same length, so that no row needs memory for its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommunityId([u8; ID_BYTES]);

impl Deref for CommunityId {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(&self.0).expect("made of digits and letters")
    }
}

/// The Community ID of a TCP flow with the default seed 0. Tunnels do not take part in it.
pub(crate) fn community_id(key: &FlowKey) -> CommunityId {
    const SEED: [u8; 2] = [0, 0];
    const PADDING: u8 = 0;
    // All at once: a hash that is fed in pieces takes a third longer.
    let mut bytes = [0; MOST_BYTES];
    let mut len = 0;
    let mut put = |part: &[u8]| {
        bytes[len..len + part.len()].copy_from_slice(part);
        len += part.len();
    };
    put(&SEED);
    // The specification puts the smaller endpoint first, as the key does.
    for endpoint in [&key.low, &key.high] {
        match endpoint.ip() {
            IpAddr::V4(addr) => put(&addr.octets()),
            IpAddr::V6(addr) => put(&addr.octets()),
        }
    }
    put(&[ip::TCP, PADDING]);
    put(&key.low.port.to_be_bytes());
    put(&key.high.port.to_be_bytes());
    let mut id = [0; ID_BYTES];
    id[..2].copy_from_slice(b"1:");
    let hash = STANDARD.encode_slice(Sha1::digest(&bytes[..len]), &mut id[2..]);
    debug_assert_eq!(hash, Ok(ID_BYTES - 2));
    CommunityId(id)
}

/// Bytes that are hashed of IPv6 addresses, and of the name.
const MOST_BYTES: usize = 2 + 2 * 16 + 2 + 2 * 2;
const ID_BYTES: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::Endpoint;

    fn id(src: &str, src_port: u16, dst: &str, dst_port: u16) -> String {
        let endpoint = |ip: &str, port| {
            let addr = match ip.parse().unwrap() {
                IpAddr::V4(addr) => ip::mapped(addr.octets()),
                IpAddr::V6(addr) => addr.octets(),
            };
            Endpoint { addr, port }
        };
        let (src, dst) = (endpoint(src, src_port), endpoint(dst, dst_port));
        (*community_id(&FlowKey::of(src, dst, 0).0)).to_owned()
    }

    /// Values of the reference implementation, PyPI `communityid` 1.5.0.
    #[test]
    fn agrees_with_the_reference_implementation() {
        let zeek_example = "1:LQU9qZlK+B5F3KDmev6m5PMibrg=";
        assert_eq!(id("128.232.110.120", 34855, "66.35.250.204", 80), zeek_example);
        assert_eq!(id("66.35.250.204", 80, "128.232.110.120", 34855), zeek_example);
        let ipv6 = "1:RYG3Msb11GthNt1OYXJouPzmrvA=";
        assert_eq!(id("2001:db8::1", 40000, "2001:db8::2", 443), ipv6);
        assert_eq!(id("10.0.0.1", 5, "10.0.0.1", 4), "1:gLmjZuaRsMk4vbmk5HxV9Jb1iQg=");
    }
}
