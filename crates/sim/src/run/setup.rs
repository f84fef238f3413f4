//! What a network is made of: links, flows, sources and taps are added before it runs.

use super::{Actor, Counts, Link, Route, Simulation, Udp};
use crate::endpoint::Endpoint;
use crate::link::Elements;
use crate::link::path::Path;
use crate::random::Random;
use crate::run::side::Side;
use crate::source::Application;
use crate::source::udp::Emissions;
use crate::tap::Tap;
use crate::tap::frame::Addresses;
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire;

/// A flow to add: its two ends, and the links from the one to the other.
pub struct Flow<E> {
    /// The end at the start of the path, then the one at its end.
    pub ends: [End<E>; 2],
    /// Numbers of the links along the path, and of those back.
    pub routes: [Vec<usize>; 2],
}

/// One end of a flow.
pub struct End<E> {
    /// The endpoint.
    pub endpoint: E,
    /// The program that uses it.
    pub application: Box<dyn Application>,
    /// Its address and port.
    pub address: wire::Endpoint,
    /// When it opens the connection; `None` at the end that listens.
    pub opens: Option<Nanos>,
    /// Whether taps at this host see super-segments of segmentation offload.
    pub tso: bool,
    /// How long receive offload gathers segments before it hands them up; `None` without.
    pub gro: Option<Nanos>,
}

/// A UDP source to add.
pub struct UdpSource {
    /// The times of its packets.
    pub emissions: Emissions,
    /// When it starts and stops.
    pub from: Nanos,
    /// When it stops.
    pub until: Nanos,
    /// Each packet leaves up to so much later than it should, at random.
    pub jitter: Nanos,
    /// For the jitter.
    pub random: Random,
    /// Length of its packets as links count it.
    pub wire_bytes: u32,
    /// Numbers of the links in order.
    pub route: Vec<usize>,
    /// Source and destination.
    pub addresses: Addresses,
}

/// A place at which a tap sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At every end that has this IP address.
    Host([u8; 16]),
    /// Where packets leave a link and where they enter its counterpart of the other direction.
    Behind {
        /// The link that they leave.
        leaves: usize,
        /// The link that they enter in the other direction.
        enters: usize,
    },
}

impl<E: Endpoint> Simulation<E> {
    /// Adds a one-way link; gives its number. Element `i` draws from stream `streams + i`.
    pub fn add_link(
        &mut self,
        name: &str,
        elements: &[Elements],
        seed: u64,
        streams: u64,
    ) -> usize {
        let actor = self.add_actor(Actor::Link(self.links.len()));
        let path = Path::new(elements, seed, streams);
        self.links.push(Link { name: name.to_owned(), path, actor });
        self.links.len() - 1
    }

    /// Adds a flow; gives its number. Its halves are twice that, and one more. All flows come
    /// before the first UDP source.
    pub fn add_flow(&mut self, flow: Flow<E>) -> usize {
        assert!(self.udp.is_empty(), "flows come before UDP sources");
        let [first, last] = [flow.ends[0].address, flow.ends[1].address];
        let there = Addresses { src: first, dst: last };
        let back = Addresses { src: last, dst: first };
        for (links, addresses) in flow.routes.into_iter().zip([there, back]) {
            self.add_route(links, addresses);
        }
        for end in flow.ends {
            let actor = self.add_actor(Actor::Side(self.sides.len()));
            self.agenda.set(actor, end.opens);
            self.sides.push(Side::new(end, actor));
        }
        self.sides.len() / 2 - 1
    }

    /// Adds a UDP source; gives the number of its half.
    pub fn add_udp(&mut self, source: UdpSource) -> usize {
        let headers = self.overhead_bytes + source.addresses.ip_header_bytes() + 8;
        self.add_route(source.route, source.addresses);
        let actor = self.add_actor(Actor::Udp(self.udp.len()));
        let half = self.routes.len() - 1;
        self.udp.push(Udp {
            half,
            actor,
            payload_bytes: source.wire_bytes.saturating_sub(headers),
            emissions: source.emissions,
            start: source.from,
            stop: source.until,
            jitter: source.jitter,
            random: source.random,
            next: Nanos(0),
        });
        self.plan_udp(self.udp.len() - 1);
        half
    }

    /// Adds a tap; gives its number. All flows and sources come before, and at most 32 taps.
    pub fn add_tap(&mut self, place: Place, tap: Tap) -> usize {
        let number = self.taps.len();
        assert!(number < u32::BITS as usize, "at most 32 taps");
        self.taps.push(tap);
        for route in &mut self.routes {
            let last = route.links.len();
            for hop in 0..=last {
                let here = match place {
                    Place::Host(addr) => {
                        (hop == 0 && route.addresses.src.addr == addr)
                            || (hop == last && route.addresses.dst.addr == addr)
                    }
                    Place::Behind { leaves, enters } => {
                        (hop > 0 && route.links[hop - 1] == leaves)
                            || (hop < last && route.links[hop] == enters)
                    }
                };
                route.taps[hop] |= u32::from(here) << number;
            }
        }
        number
    }

    pub(super) fn add_actor(&mut self, actor: Actor) -> usize {
        self.actors.push(actor);
        self.agenda.add()
    }

    fn add_route(&mut self, links: Vec<usize>, addresses: Addresses) {
        let taps = vec![0; links.len() + 1];
        let headers_bytes = self.overhead_bytes + addresses.ip_header_bytes();
        let hosts = [addresses.src, addresses.dst].map(|end| self.number_of_host(end.addr));
        self.routes.push(Route { links, taps, addresses, hosts, headers_bytes });
        self.counts.push(Counts::default());
    }

    fn number_of_host(&mut self, address: [u8; 16]) -> u16 {
        let known = self.hosts.iter().position(|known| *known == address);
        let number = known.unwrap_or_else(|| {
            self.hosts.push(address);
            self.hosts.len() - 1
        });
        u16::try_from(number).expect("a scenario has fewer hosts")
    }
}
