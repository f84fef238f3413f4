//! What the types of the settings cannot hold: that names are defined, that the parts fit together,
//! and that time can pass. Whatever is accepted here runs.

use super::{Elements, LinkPair, OpenedBy, Scenario};
use crate::parameter::Count;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;
use tcpwhy_core::units::Nanos;
use toml::Spanned;

/// Where in the file, which key, and what is wrong.
pub(super) type Flaw = (Range<usize>, String, String);

/// Two hosts and the links between them, of a flow or a source.
struct Route<'a> {
    key: String,
    from: &'a Spanned<String>,
    to: &'a Spanned<String>,
    path: &'a [Spanned<String>],
}

impl Scenario {
    /// Finds the first thing that does not fit.
    pub(super) fn check(&self) -> Result<(), Flaw> {
        if self.duration_s.0 <= Nanos(0) {
            return flaw(0..0, "duration_s", "expected a time above 0".to_owned());
        }
        self.check_hosts()?;
        for (name, link) in &self.links {
            check_word(&format!("links.{name}"), name, link.forward.span())?;
            check_link(name, link)?;
        }
        self.check_flows()?;
        self.check_relays()?;
        self.check_udp()?;
        self.check_taps()?;
        self.check_expects()
    }

    fn check_hosts(&self) -> Result<(), Flaw> {
        let mut seen: BTreeMap<[u8; 16], &String> = BTreeMap::new();
        for (name, octets) in self.addresses() {
            let (name, host) = self.hosts.get_key_value(&name).expect("an address of a host");
            let span = host.address.as_ref().map_or(0..0, Spanned::span);
            let key = format!("hosts.{name}");
            check_word(&key, name, span.clone())?;
            if let Some(other) = seen.insert(octets, name) {
                let ip = shown(octets);
                let message = format!("{ip} is the address of `{other}` too: one for each host");
                return flaw(span, &format!("{key}.address"), message);
            }
            if host.address.as_ref().is_some_and(|ip| !is_of_a_host(*ip.get_ref())) {
                let message = format!("{} is not the address of a host", shown(octets));
                return flaw(span, &format!("{key}.address"), message);
            }
        }
        Ok(())
    }

    fn check_flows(&self) -> Result<(), Flaw> {
        let mut flows = 0;
        for (i, flow) in self.flows.iter().enumerate() {
            let key = format!("flows[{i}]");
            let (from, to, path) = (&flow.from, &flow.to, &flow.path[..]);
            let route = Route { key: key.clone(), from, to, path };
            self.check_route(&route)?;
            self.check_time_passes(&route)?;
            let Count(count) = *flow.count.get_ref();
            flows += count;
            if flows > FLOWS_MAX {
                let message = format!("expected at most {FLOWS_MAX} flows in all, not {flows}");
                return flaw(flow.count.span(), &format!("{key}.count"), message);
            }
            let last = super::start_of(flow, count - 1).0;
            if last >= self.duration_s.0 {
                let message = format!(
                    "starts at {} s, when all is over: expected before duration_s",
                    last.as_secs_f64()
                );
                return flaw(from.span(), &format!("{key}.start_s"), message);
            }
        }
        Ok(())
    }

    /// A proxy passes on what arrives at its host, once.
    fn check_relays(&self) -> Result<(), Flaw> {
        let flows = self.flows();
        let mut relayed = BTreeSet::new();
        let mut first = 0;
        for (i, flow) in self.flows.iter().enumerate() {
            let number = first;
            first += flow.count.get_ref().0 as usize;
            let Some(relay) = flow.workload.relay() else { continue };
            let refuse = |key: &str, message: String| {
                flaw(flow.from.span(), &format!("flows[{i}].{key}"), message)
            };
            let key = "workload.relay.of";
            if relay.of >= number {
                let message = format!("{}: expected a flow before this one, {number}", relay.of);
                return refuse(key, message);
            }
            let before = flows[relay.of].0;
            let (host, here) = (before.to.get_ref(), flow.from.get_ref());
            if host != here {
                let message = format!("flow {} ends at `{host}`, not at `{here}`", relay.of);
                return refuse(key, message);
            }
            if !relayed.insert(relay.of) {
                return refuse(key, format!("flow {} has a relay already", relay.of));
            }
            if !before.reader.is_greedy() {
                let message = format!("flow {} has a `reader`: expected none", relay.of);
                return refuse(key, message);
            }
            if flow.count.get_ref().0 != 1 {
                return refuse("count", "expected 1: a relay has one flow".to_owned());
            }
            if flow.start_s.0 > Nanos(0) || flow.opened_by != OpenedBy::From {
                let key = if flow.start_s.0 > Nanos(0) { "start_s" } else { "opened_by" };
                return refuse(key, "expected none: a relay opens when its flow does".to_owned());
            }
        }
        Ok(())
    }

    fn check_udp(&self) -> Result<(), Flaw> {
        let addresses = self.addresses();
        for (i, udp) in self.udp.iter().enumerate() {
            let key = format!("udp[{i}]");
            let (from, to, path) = (&udp.from, &udp.to, &udp.path[..]);
            self.check_route(&Route { key: key.clone(), from, to, path })?;
            let is_ipv4 = is_ipv4(addresses[from.get_ref()]);
            let least = u64::from(self.overhead_bytes.0 + if is_ipv4 { 20 } else { 40 } + 8);
            let Count(bytes) = *udp.wire_bytes.get_ref();
            if !(least..=least + PAYLOAD_MAX).contains(&bytes) {
                let most = least + PAYLOAD_MAX;
                let message = format!("{bytes}: expected from {least}, the headers, to {most}");
                return flaw(udp.wire_bytes.span(), &format!("{key}.wire_bytes"), message);
            }
            if udp.stop_s.is_some_and(|stop| stop.0 <= udp.start_s.0) {
                let message = "expected a time after start_s".to_owned();
                return flaw(from.span(), &format!("{key}.stop_s"), message);
            }
            if i >= SOURCES_MAX {
                let message = format!("expected at most {SOURCES_MAX} sources");
                return flaw(from.span(), "udp", message);
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
                (None, Some(link)) => self.check_link_name(&format!("{key}.behind"), link)?,
                _ => return flaw(span, &key, "expected either `host` or `behind`".to_owned()),
            }
            check_word(&format!("{key}.name"), &tap.name, span.clone())?;
            if !names.insert(&tap.name) {
                return flaw(span, &key, format!("a second tap with the name `{}`", tap.name));
            }
            if tap.from_s.0 >= self.duration_s.0 {
                let message = "expected before duration_s: this tap sees nothing".to_owned();
                return flaw(span, &format!("{key}.from_s"), message);
            }
        }
        if self.taps.len() > TAPS_MAX {
            let span = self.taps[TAPS_MAX].span();
            return flaw(span, "taps", format!("expected at most {TAPS_MAX} taps"));
        }
        Ok(())
    }

    fn check_expects(&self) -> Result<(), Flaw> {
        let flows = self.flows().len();
        for (i, expect) in self.expect.iter().enumerate() {
            let (key, it) = (format!("expect[{i}]"), expect.get_ref());
            if it.flow >= flows {
                let message = format!("there are {flows} flows, numbered from 0");
                return flaw(expect.span(), &format!("{key}.flow"), message);
            }
            if !it.is_consistent() {
                let message = format!("expected a cause of `{}`", it.limitation);
                return flaw(expect.span(), &format!("{key}.cause"), message);
            }
            if let (Some(from), Some(to)) = (it.from_s, it.to_s)
                && from.0 >= to.0
            {
                let message = "expected a time after from_s".to_owned();
                return flaw(expect.span(), &format!("{key}.to_s"), message);
            }
        }
        Ok(())
    }

    fn check_route(&self, route: &Route) -> Result<(), Flaw> {
        let Route { key, from, to, path } = route;
        self.check_host(&format!("{key}.from"), from)?;
        self.check_host(&format!("{key}.to"), to)?;
        if from.get_ref() == to.get_ref() {
            let message = format!("`{}` is also `from`: expected another host", to.get_ref());
            return flaw(to.span(), &format!("{key}.to"), message);
        }
        let addresses = self.addresses();
        let [a, b] = [from, to].map(|name| addresses[name.get_ref()]);
        if is_ipv4(a) != is_ipv4(b) {
            let message = format!("{} cannot reach {}: expected one family", shown(a), shown(b));
            return flaw(to.span(), &format!("{key}.to"), message);
        }
        if path.is_empty() || path.len() > LINKS_MAX {
            let message = format!("expected 1 to {LINKS_MAX} names of links");
            return flaw(from.span(), &format!("{key}.path"), message);
        }
        path.iter().try_for_each(|link| self.check_link_name(&format!("{key}.path"), link))
    }

    /// A packet and its answer would go round at one instant, for ever.
    fn check_time_passes(&self, route: &Route) -> Result<(), Flaw> {
        let takes_time = |name: &Spanned<String>| {
            let pair = &self.links[name.get_ref()];
            let back = pair.backward.iter().flat_map(|list| list.get_ref());
            pair.forward.get_ref().iter().chain(back).any(Elements::takes_time)
        };
        if route.path.iter().any(takes_time) {
            return Ok(());
        }
        let message = "no time passes on this path: expected a rate, or a delay above 0";
        flaw(route.path[0].span(), &format!("{}.path", route.key), message.to_owned())
    }

    fn check_host(&self, key: &str, name: &Spanned<String>) -> Result<(), Flaw> {
        check_name(key, name, self.hosts.keys(), "host")
    }

    fn check_link_name(&self, key: &str, name: &Spanned<String>) -> Result<(), Flaw> {
        check_name(key, name, self.links.keys(), "link")
    }
}

fn check_link(name: &str, link: &LinkPair) -> Result<(), Flaw> {
    for (direction, list) in
        [("forward", Some(&link.forward)), ("backward", link.backward.as_ref())]
    {
        let Some(list) = list else { continue };
        let key = format!("links.{name}.{direction}");
        match list.get_ref().len() {
            1..=ELEMENTS_MAX => {}
            0 => {
                let message = "expected at least one element, such as { delay.delay_ms = 1 }";
                return flaw(list.span(), &key, message.to_owned());
            }
            _ => {
                let message = format!("expected at most {ELEMENTS_MAX} elements");
                return flaw(list.span(), &key, message);
            }
        }
    }
    Ok(())
}

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
    flaw(name.span(), key, message)
}

/// Names become parts of file names.
fn check_word(key: &str, name: &str, span: Range<usize>) -> Result<(), Flaw> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if (1..=NAME_MAX).contains(&name.len()) && name.chars().all(fits) && !name.starts_with('.') {
        return Ok(());
    }
    let message = format!("`{name}`: expected up to {NAME_MAX} letters, digits, `_`, `-` and `.`");
    flaw(span, key, message)
}

fn flaw(span: Range<usize>, key: &str, message: String) -> Result<(), Flaw> {
    Err((span, key.to_owned(), message))
}

fn shown(octets: [u8; 16]) -> IpAddr {
    Ipv6Addr::from(octets).to_canonical()
}

fn is_ipv4(octets: [u8; 16]) -> bool {
    shown(octets).is_ipv4()
}

fn is_of_a_host(ip: IpAddr) -> bool {
    let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
    !(ip.is_unspecified() || ip.is_multicast() || is_broadcast)
}

/// More links than any path needs; a packet counts them in a byte.
const LINKS_MAX: usize = 64;
/// Each element has a random stream of its own among those of its link.
const ELEMENTS_MAX: usize = super::STREAMS_PER_LINK as usize;
/// One bit each.
const TAPS_MAX: usize = 32;
/// Some 100 MB.
const FLOWS_MAX: u64 = 10_000;
/// Each has a port of its own.
const SOURCES_MAX: usize = 1_000;
/// What a UDP datagram in an IPv6 packet holds.
const PAYLOAD_MAX: u64 = 65_487;
/// Letters of a name.
const NAME_MAX: usize = 64;
