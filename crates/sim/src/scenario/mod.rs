//! Scenarios: a network, its hosts, flows and taps, and what truly limits each flow, as one TOML
//! file. The simulator runs it, and so does the kernel lab.

mod build;
mod check;
mod error;
mod expect;
mod tcp;

pub use build::Built;
pub use build::{EndpointSettings, STREAMS_PER_LINK, UDP_PORT};
pub use error::ScenarioError;
pub use expect::Expect;
pub use tcp::{Nagle, Profile, Recovery, TcpSettings};

use crate::link::Elements;
use crate::parameter::{Count, Milliseconds, Overhead, Probability, Seconds};
use crate::source::Workloads;
use crate::source::reader::Readers;
use crate::source::udp::UdpSources;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::net::IpAddr;
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
    pub overhead_bytes: Overhead,
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
    pub address: Option<Spanned<IpAddr>>,
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
    pub count: Spanned<Count>,
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
    pub wire_bytes: Spanned<Count>,
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
    pub fn flows<'a>(&'a self) -> Vec<(&'a FlowSettings, Seconds)> {
        let each = |flow: &'a FlowSettings| {
            (0..flow.count.get_ref().0).map(move |i| (flow, start_of(flow, i)))
        };
        self.flows.iter().flat_map(each).collect()
    }
}

/// The key as the file has it, without what [`Spanned`] puts in between.
fn key_of(path: &serde_path_to_error::Path) -> String {
    path.to_string().replace(".$__serde_spanned_private_value", "")
}

fn start_of(flow: &FlowSettings, i: u64) -> Seconds {
    let stagger = tcpwhy_core::units::Nanos(flow.stagger_s.0.0.saturating_mul(i as i64));
    Seconds(flow.start_s.0 + stagger)
}

fn one() -> u64 {
    1
}

fn one_count() -> Spanned<Count> {
    Spanned::new(0..0, Count(1))
}

fn ethernet() -> Overhead {
    Overhead(crate::tap::frame::ETHERNET_BYTES)
}

#[cfg(test)]
mod tests;
