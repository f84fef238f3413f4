//! What a run is to compute.

use crate::flow::table::class::Timeouts;
use crate::record::Table;
use crate::units::Nanos;

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
    /// Report only this flow.
    pub flow: Option<FlowChoice>,
    /// Of the `segments` table, only the row of this frame, whichever flow it belongs to.
    pub frame: Option<u64>,
    /// Flows held at the same time per worker; beyond it, the least valuable one is put out.
    pub max_flows: usize,
    /// Where the flow table's hash begins; who chooses what is captured must not know it. Rows do
    /// not depend on it.
    pub hash_seed: u64,
    /// Whether the refined diagnosis is made. Without it its columns are NULL; that is for
    /// measuring what it costs.
    pub refined: bool,
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
            refined: true,
        }
    }
}

/// A flow by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FlowChoice {
    /// By its `flow_id`.
    Id(u64),
    /// By its Community ID.
    Community(String),
}

impl FlowChoice {
    /// Whether a flow with this `flow_id` is meant; its Community ID is computed only if needed.
    pub fn is(&self, flow_id: u64, community_id: impl FnOnce() -> String) -> bool {
        match self {
            FlowChoice::Id(id) => *id == flow_id,
            FlowChoice::Community(name) => *name == community_id(),
        }
    }
}

impl From<String> for FlowChoice {
    /// A decimal number is a `flow_id`; everything else is a Community ID.
    fn from(name: String) -> FlowChoice {
        name.parse().map_or(FlowChoice::Community(name), FlowChoice::Id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_a_flow_id_and_anything_else_a_community_id() {
        let id = FlowChoice::from("17".to_owned());
        assert!(id.is(17, || unreachable!("not asked for")) && !id.is(18, String::new));
        let community = FlowChoice::from("1:abc=".to_owned());
        assert!(community.is(0, || "1:abc=".to_owned()) && !community.is(0, String::new));
    }
}
