//! Scenarios: a network, its hosts, flows and taps, and what truly limits each flow, as one TOML
//! file. The simulator runs it, and so does the kernel lab.

mod build;
mod error;
mod expect;
mod tcp;

pub use build::Built;
pub use build::{EndpointSettings, STREAMS_PER_LINK, UDP_PORT};
pub use error::ScenarioError;
pub use expect::{CAUSES, Expect, LIMITATIONS};
pub use tcp::{Nagle, Profile, Recovery, TcpSettings};

use crate::link::Elements;
use crate::parameter::{Count, Milliseconds, Probability, Seconds};
use crate::source::Workloads;
use crate::source::reader::Readers;
use crate::source::udp::UdpSources;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;
use toml::Spanned;

/// A scenario file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it shows, in one line.
    pub title: String,
    /// More about it.
    #[serde(default)]
    pub about: String,
    /// Fixes all randomness.
    #[serde(default = "one")]
    pub seed: u64,
    /// How long it lasts.
    pub duration_s: Seconds,
    /// What links count of each packet besides IP: 14 bytes of Ethernet by default.
    #[serde(default = "ethernet")]
    pub overhead_bytes: u32,
    /// The hosts by name.
    pub hosts: BTreeMap<String, Host>,
    /// The links by name.
    pub links: BTreeMap<String, LinkPair>,
    /// The TCP flows.
    pub flows: Vec<FlowSettings>,
    /// The UDP sources.
    #[serde(default)]
    pub udp: Vec<UdpSettings>,
    /// Where captures are made. Without any: at both hosts of the first flow, and in the middle.
    #[serde(default)]
    pub taps: Vec<Spanned<TapSettings>>,
    /// What truly limits each flow.
    #[serde(default)]
    pub expect: Vec<Spanned<Expect>>,
}

/// A host.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Its address; 10.0.0.1 and so on by default, in the order of the names.
    #[serde(default)]
    pub address: Option<IpAddr>,
    /// Segmentation offload: captures at this host show super-segments that it sends.
    #[serde(default)]
    pub tso: bool,
    /// Receive offload: segments that arrive within this time are handed up as one.
    #[serde(default)]
    pub gro_ms: Option<Milliseconds>,
    /// Settings of its TCP.
    #[serde(default)]
    pub tcp: TcpSettings,
}

/// A link: what packets meet in each direction.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkPair {
    /// Along the paths that name it.
    pub forward: Spanned<Vec<Elements>>,
    /// Against them; like `forward` by default.
    #[serde(default)]
    pub backward: Option<Spanned<Vec<Elements>>>,
}

/// A TCP flow, or several alike.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSettings {
    /// The host that sends the data.
    pub from: Spanned<String>,
    /// The host that receives it.
    pub to: Spanned<String>,
    /// The links from the one to the other.
    pub path: Vec<Spanned<String>>,
    /// When the connection is opened.
    #[serde(default)]
    pub start_s: Seconds,
    /// Which side opens the connection.
    #[serde(default)]
    pub opened_by: OpenedBy,
    /// What the sending program does.
    pub workload: Workloads,
    /// How the receiving program reads.
    #[serde(default)]
    pub reader: Readers,
    /// Settings of the sender's TCP, over those of the host.
    #[serde(default)]
    pub tcp: TcpSettings,
    /// Settings of the receiver's TCP, over those of the host.
    #[serde(default)]
    pub peer_tcp: TcpSettings,
    /// How many such flows.
    #[serde(default = "one_count")]
    pub count: Count,
    /// How much later each of them starts than the one before.
    #[serde(default)]
    pub stagger_s: Seconds,
}

/// Which side of a flow sends the first SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OpenedBy {
    /// The one that sends the data: an upload.
    #[default]
    From,
    /// The one that receives it: a download.
    To,
}

/// A UDP source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UdpSettings {
    /// The host that sends.
    pub from: Spanned<String>,
    /// The host that receives.
    pub to: Spanned<String>,
    /// The links from the one to the other.
    pub path: Vec<Spanned<String>>,
    /// Length of its packets as links count it.
    pub wire_bytes: Count,
    /// When its packets leave.
    pub source: UdpSources,
    /// When it starts.
    #[serde(default)]
    pub start_s: Seconds,
    /// When it stops; at the end without it.
    #[serde(default)]
    pub stop_s: Option<Seconds>,
    /// Every packet leaves up to so much later, at random: it breaks the lock of phases that equal
    /// rates and exact times bring about.
    #[serde(default)]
    pub jitter_ms: Milliseconds,
}

/// A tap.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TapSettings {
    /// Its name, which the files of its capture bear.
    pub name: String,
    /// At this host; or `behind` a link.
    #[serde(default)]
    pub host: Option<Spanned<String>>,
    /// Where packets along the path leave this link.
    #[serde(default)]
    pub behind: Option<Spanned<String>>,
    /// Bytes kept of each frame; without it all headers and no payload.
    #[serde(default)]
    pub snaplen: Option<Count>,
    /// Every packet is seen twice, the copy so much later (a mirror port).
    #[serde(default)]
    pub duplicate_after_ms: Option<Milliseconds>,
    /// The capture of each flow begins with its first segment with payload.
    #[serde(default)]
    pub without_handshake: bool,
    /// The capture begins at this time.
    #[serde(default)]
    pub from_s: Seconds,
    /// The probability that a packet is missed.
    #[serde(default)]
    pub missed: Probability,
    /// Only this direction of the flows is seen.
    #[serde(default)]
    pub only: Option<Direction>,
}

/// Along the path of a flow or against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// Along it: data, mostly.
    Forward,
    /// Against it: acknowledgements, mostly.
    Backward,
}

impl Scenario {
    /// Reads a scenario. `file` is its name for errors.
    pub fn parse(file: &str, text: &str) -> Result<Scenario, ScenarioError> {
        let fail = |error: toml::de::Error, key: &str| {
            let span = error.span().unwrap_or(0..0);
            ScenarioError::at(file, text, span, key, error.message().to_owned())
        };
        let deserializer = toml::Deserializer::parse(text).map_err(|error| fail(error, ""))?;
        let scenario: Scenario = serde_path_to_error::deserialize(deserializer)
            .map_err(|error| fail(error.inner().clone(), &key_of(error.path())))?;
        scenario
            .check()
            .map_err(|(span, key, message)| ScenarioError::at(file, text, span, &key, message))?;
        Ok(scenario)
    }

    /// The flows with repeated ones counted out, each with its start.
    pub fn flows(&self) -> Vec<(&FlowSettings, Seconds)> {
        let each = |flow| (0..flow_count(flow)).map(move |i| (flow, start_of(flow, i)));
        self.flows.iter().flat_map(each).collect()
    }

    /// What the types cannot hold: that every name is defined.
    fn check(&self) -> Result<(), Flaw> {
        for (i, flow) in self.flows.iter().enumerate() {
            self.check_route(&format!("flows[{i}]"), &flow.from, &flow.to, &flow.path)?;
        }
        for (i, udp) in self.udp.iter().enumerate() {
            self.check_route(&format!("udp[{i}]"), &udp.from, &udp.to, &udp.path)?;
        }
        self.check_taps()?;
        for (name, link) in &self.links {
            for (direction, list) in
                [("forward", Some(&link.forward)), ("backward", link.backward.as_ref())]
            {
                if let Some(list) = list
                    && list.get_ref().is_empty()
                {
                    let message = "expected at least one element, such as { delay.delay_ms = 1 }";
                    let key = format!("links.{name}.{direction}");
                    return Err((list.span(), key, message.to_owned()));
                }
            }
        }
        let flows = self.flows().len();
        for (i, expect) in self.expect.iter().enumerate() {
            let (key, it) = (format!("expect[{i}]"), expect.get_ref());
            if it.flow >= flows {
                let message = format!("there are {flows} flows, numbered from 0");
                return Err((expect.span(), format!("{key}.flow"), message));
            }
            if !it.is_consistent() {
                let message = format!("expected a cause of `{}`", it.limitation);
                return Err((expect.span(), format!("{key}.cause"), message));
            }
        }
        Ok(())
    }

    fn check_taps(&self) -> Result<(), Flaw> {
        let mut names = BTreeSet::new();
        for (i, tap) in self.taps.iter().enumerate() {
            let (key, span, tap) = (format!("taps[{i}]"), tap.span(), tap.get_ref());
            match (&tap.host, &tap.behind) {
                (Some(host), None) => self.check_host(&format!("{key}.host"), host)?,
                (None, Some(link)) => self.check_link(&format!("{key}.behind"), link)?,
                _ => return Err((span, key, "expected either `host` or `behind`".to_owned())),
            }
            if !names.insert(&tap.name) {
                return Err((span, key, format!("a second tap with the name `{}`", tap.name)));
            }
        }
        if self.taps.len() > TAPS_MAX {
            let span = self.taps[TAPS_MAX].span();
            return Err((span, "taps".to_owned(), format!("expected at most {TAPS_MAX} taps")));
        }
        Ok(())
    }

    fn check_route(
        &self,
        key: &str,
        from: &Spanned<String>,
        to: &Spanned<String>,
        path: &[Spanned<String>],
    ) -> Result<(), Flaw> {
        self.check_host(&format!("{key}.from"), from)?;
        self.check_host(&format!("{key}.to"), to)?;
        if path.is_empty() || path.len() > LINKS_MAX {
            let message = format!("expected 1 to {LINKS_MAX} names of links");
            return Err((from.span(), format!("{key}.path"), message));
        }
        path.iter().try_for_each(|link| self.check_link(&format!("{key}.path"), link))
    }

    fn check_host(&self, key: &str, name: &Spanned<String>) -> Result<(), Flaw> {
        check_name(key, name, self.hosts.keys(), "host")
    }

    fn check_link(&self, key: &str, name: &Spanned<String>) -> Result<(), Flaw> {
        check_name(key, name, self.links.keys(), "link")
    }
}

/// The key as the file has it, without what [`Spanned`] puts in between.
fn key_of(path: &serde_path_to_error::Path) -> String {
    path.to_string().replace(".$__serde_spanned_private_value", "")
}

/// Where in the file, which key, and what is wrong.
type Flaw = (Range<usize>, String, String);

fn check_name<'a>(
    key: &str,
    name: &Spanned<String>,
    mut names: impl Iterator<Item = &'a String> + Clone,
    kind: &str,
) -> Result<(), Flaw> {
    if names.clone().any(|known| known == name.get_ref()) {
        return Ok(());
    }
    let list = names.by_ref().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let message = format!("no {kind} `{}`, expected one of {list}", name.get_ref());
    Err((name.span(), key.to_owned(), message))
}

fn flow_count(flow: &FlowSettings) -> u64 {
    flow.count.0.min(FLOWS_MAX)
}

fn start_of(flow: &FlowSettings, i: u64) -> Seconds {
    let stagger = tcpwhy_core::units::Nanos(flow.stagger_s.0.0 * i as i64);
    Seconds(flow.start_s.0 + stagger)
}

fn one() -> u64 {
    1
}

fn one_count() -> Count {
    Count(1)
}

fn ethernet() -> u32 {
    crate::tap::frame::ETHERNET_BYTES
}

/// More links than any path needs; a packet counts them in a byte.
const LINKS_MAX: usize = 64;
/// One bit each.
const TAPS_MAX: usize = 32;
/// Flows of one entry.
const FLOWS_MAX: u64 = 10_000;

#[cfg(test)]
mod tests;
