//! What a run is to compute.

use crate::flow::table::class::Timeouts;
use crate::record::Table;
use crate::units::Nanos;
use crate::wire::community::community_id;
use crate::wire::{Endpoint, FlowKey};
use std::net::{IpAddr, SocketAddr};

/// What one run is to compute.
#[derive(Clone, Debug)]
pub struct Options {
    /// Tables to produce; `Counters` always comes out at the end.
    pub tables: Vec<Table>,
    /// Length of a periodic calculation.
    pub interval: Nanos,
    /// After how much silence flows have ended.
    pub timeouts: Timeouts,
    /// Data packets of a half below which capacity-based scores are not computed.
    pub min_packets: u64,
    /// Also compute the published prototype's formulas.
    pub compat_seed: bool,
    /// Report only these flows.
    pub flow: Option<FlowChoice>,
    /// Of the `segments` table, only the row of this frame, whichever flow it belongs to.
    pub frame: Option<u64>,
    /// Flows held at the same time per worker; beyond it, the least valuable one is put out.
    pub max_flows: usize,
    /// Where the flow table's hash begins; who chooses what is captured must not know it. Rows do
    /// not depend on it.
    pub hash_seed: u64,
    /// So many rows, the first ones, are held by whoever takes them until the run ends. They leave
    /// in batches of a few hundred: those find room where flows were, those of thousands do not.
    pub rows_held: usize,
    /// Whether the refined diagnosis is made. Without it its columns are NULL; that is for
    /// measuring what it costs.
    pub refined: bool,
    /// Whether intervals in doubt wait for a few that follow, and are judged by these as well. Of a
    /// live link a row is wanted when its interval ends.
    pub hindsight: bool,
    /// Whether a connection is judged beside the others between its hosts. On a live link these may
    /// be with other workers, which share nothing, and rows must not depend on how many there are.
    /// So there it depends on how packets are shared out.
    pub beside: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tables: vec![Table::Flows],
            interval: Nanos(3_000_000_000),
            timeouts: Timeouts::default(),
            min_packets: 300,
            compat_seed: false,
            flow: None,
            frame: None,
            max_flows: 10_000_000,
            hash_seed: 0,
            rows_held: 0,
            refined: true,
            hindsight: true,
            beside: true,
        }
    }
}

/// The flows that are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// Those with these `flow_id`s.
    Ids(Vec<u64>),
    /// Those with this Community ID.
    Community(String),
    /// Those of this endpoint, with the other one if it is given.
    Ends(Endpoint, Option<Endpoint>),
}

impl FlowChoice {
    /// Whether a flow with this `flow_id` and key is meant; its Community ID is computed only if
    /// needed.
    pub fn is(&self, flow_id: u64, key: &FlowKey) -> bool {
        match self {
            FlowChoice::Ids(ids) => ids.contains(&flow_id),
            FlowChoice::Community(name) => **name == *community_id(key),
            FlowChoice::Ends(one, None) => key.low == *one || key.high == *one,
            FlowChoice::Ends(one, Some(other)) => {
                let key = (key.low, key.high);
                key == (*one, *other) || key == (*other, *one)
            }
        }
    }
}

impl From<String> for FlowChoice {
    /// Decimal numbers with commas between them are `flow_id`s, `ADDRESS:PORT` an endpoint, two of
    /// them with `-` or an arrow between them a pair; everything else is a Community ID.
    fn from(name: String) -> FlowChoice {
        let ids: Result<Vec<u64>, _> = name.split(',').map(|id| id.trim().parse()).collect();
        if let Ok(ids) = ids {
            return FlowChoice::Ids(ids);
        }
        let (one, other) = match name.split_once(['-', '→', '↔']) {
            Some((one, other)) => (one, Some(other)),
            None => (name.as_str(), None),
        };
        match (endpoint(one), other.map(endpoint)) {
            (Some(one), None) => FlowChoice::Ends(one, None),
            (Some(one), Some(Some(other))) => FlowChoice::Ends(one, Some(other)),
            _ => FlowChoice::Community(name),
        }
    }
}

/// An address and a port, an IPv6 address in brackets (RFC 3986).
fn endpoint(text: &str) -> Option<Endpoint> {
    let known: SocketAddr = text.trim().parse().ok()?;
    let addr = match known.ip() {
        IpAddr::V4(addr) => addr.to_ipv6_mapped(),
        IpAddr::V6(addr) => addr,
    };
    Some(Endpoint { addr: addr.octets(), port: known.port() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn choice(name: &str) -> FlowChoice {
        FlowChoice::from(name.to_owned())
    }

    #[test]
    fn a_flow_is_chosen_by_id_by_community_id_by_an_end_or_by_both() {
        let (near, far) = (endpoint("192.0.2.1:5001"), endpoint("[2001:db8::7]:80"));
        let (near, far) = (near.expect("an endpoint"), far.expect("an endpoint"));
        let (key, _) = FlowKey::of(near, far, 0);
        assert!(choice("17").is(17, &key) && !choice("17").is(18, &key));
        assert!(choice("17,18").is(18, &key));
        assert!(choice(&community_id(&key)).is(0, &key) && !choice("1:abc=").is(0, &key));
        assert!(choice("192.0.2.1:5001").is(0, &key) && choice("[2001:db8::7]:80").is(0, &key));
        assert!(!choice("192.0.2.1:5002").is(0, &key));
        assert!(choice("192.0.2.1:5001-[2001:db8::7]:80").is(0, &key));
        assert!(choice("[2001:db8::7]:80 → 192.0.2.1:5001").is(0, &key));
        assert!(!choice("192.0.2.1:5001-192.0.2.1:80").is(0, &key));
        assert_eq!(choice("nonsense"), FlowChoice::Community("nonsense".to_owned()));
    }
}
