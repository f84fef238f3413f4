//! A middlebox that meddles with TCP options.

use super::gate::{Fate, Gate, Gated};
use super::{Body, Element, Settings};
use crate::packet::{Packet, TcpHeader};
use crate::parameter::{Mss, checked};
use crate::random::Random;
use serde::Deserialize;
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::flags;

/// Takes TCP options out of the segments that pass, so that their receiver believes that they were
/// not offered: a firewall or normaliser (Honda et al., "Is it still possible to extend TCP?",
/// 2011). In one direction alone it makes the two sides disagree.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Options {
    /// The options that are taken out, of every segment.
    #[serde(default)]
    pub strip: Vec<Stripped>,
    /// A larger MSS option is lowered to this, as routers before a tunnel do.
    #[serde(default)]
    pub mss_max_bytes: Option<Mss>,
    /// SYNs with payload are dropped: what some firewalls do to Fast Open.
    #[serde(default)]
    pub drop_syn_data: bool,
}

/// An option that can be taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stripped {
    /// Maximum segment size: the receiver takes 536 bytes for it (RFC 9293 section 3.7.1).
    Mss,
    /// Window scale.
    WindowScale,
    /// SACK permitted.
    SackPermitted,
    /// Timestamps.
    Timestamps,
    /// Fast Open: the cookie, or the request for one.
    FastOpen,
}

checked!(Options);

impl Options {
    fn check(&self) -> Result<(), String> {
        if self.strip.is_empty() && self.mss_max_bytes.is_none() && !self.drop_syn_data {
            return Err("expected `strip`, `mss_max_bytes` or `drop_syn_data`".to_owned());
        }
        if self.mss_max_bytes.is_some() && self.strip.contains(&Stripped::Mss) {
            return Err("mss_max_bytes, and `mss` in strip: expected one of them".to_owned());
        }
        Ok(())
    }
}

impl Settings for Options {
    const EXAMPLES: &'static [&'static str] = &[
        "strip = [\"window_scale\", \"timestamps\"]",
        "mss_max_bytes = 1360",
        "strip = [\"fast_open\"]\ndrop_syn_data = true",
    ];

    fn build<B: Body>(&self, _random: Random) -> Box<dyn Element<B>> {
        Gated::boxed(Meddler(self.clone()))
    }
}

struct Meddler(Options);

impl Gate for Meddler {
    fn judge<B: Body>(&mut self, _now: Nanos, packet: &mut Packet<B>) -> Fate {
        let Some(options) = packet.body.tcp_options() else { return Fate::Pass };
        if self.0.drop_syn_data && options.is_syn_with_payload() {
            return Fate::Drop("syn_data");
        }
        let gone: u32 = self.0.strip.iter().map(|option| options.strip(*option)).sum();
        if let Some(Mss(most)) = self.0.mss_max_bytes {
            options.lower_mss(most);
        }
        packet.wire_bytes = packet.wire_bytes.saturating_sub(gone);
        Fate::Pass
    }
}

/// The TCP options of a packet, as a middlebox changes them.
pub trait TcpOptions {
    /// Whether it is a SYN that carries data.
    fn is_syn_with_payload(&self) -> bool;

    /// Takes an option out if it is there. Gives the bytes that the packet has less.
    fn strip(&mut self, option: Stripped) -> u32;

    /// Lowers a larger MSS option.
    fn lower_mss(&mut self, mss_max_bytes: u16);
}

impl TcpOptions for TcpHeader {
    fn is_syn_with_payload(&self) -> bool {
        self.flags & flags::SYN != 0 && self.payload_bytes > 0
    }

    fn strip(&mut self, option: Stripped) -> u32 {
        let before = self.header_bytes();
        match option {
            Stripped::Mss => self.mss = None,
            Stripped::WindowScale => self.window_scale = None,
            Stripped::SackPermitted => self.sack_permitted = false,
            Stripped::Timestamps => self.timestamps = None,
            Stripped::FastOpen => self.fast_open = None,
        }
        before - self.header_bytes()
    }

    fn lower_mss(&mut self, mss_max_bytes: u16) {
        self.mss = self.mss.map(|mss| mss.min(mss_max_bytes));
    }
}
