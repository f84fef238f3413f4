//! Random worlds: a seed becomes a scenario that nobody made with an answer in mind.
//!
//! A world is a scenario file like any other. Each room draws from a stream of its own, so that one
//! more draw in one of them changes nothing in the others. What truly limits a flow is not written
//! down here: [`crate::truth::answer`] works it out from the record of the run.

mod draw;
mod hosts;
mod neighbours;
mod path;
mod programs;
mod taps;

use crate::random::Random;
use crate::scenario::{Scenario, ScenarioError};
use draw::Draw;
use hosts::Hosts;
use neighbours::Neighbours;
use path::Path;
use programs::Program;
use std::fmt::Write;
use taps::Taps;

/// Which generator: the same seed gives the same world as long as this number stays.
pub const VERSION: u32 = 6;

/// A random world.
pub struct World {
    seed: u64,
    path: Path,
    hosts: Hosts,
    program: Program,
    neighbours: Neighbours,
    taps: Taps,
}

impl World {
    /// The world of this seed.
    pub fn new(seed: u64) -> World {
        let draw = |room: u64| Draw(Random::stream(seed, STREAM_WORLD + room));
        let path = Path::draw(&mut draw(0));
        let hosts = Hosts::draw(&mut draw(1), &mut draw(5), &path);
        let program = Program::draw(&mut draw(2), &path);
        let neighbours = Neighbours::draw(&mut draw(3), &path);
        let taps = Taps::draw(&mut draw(4), &path);
        World { seed, path, hosts, program, neighbours, taps }
    }

    /// The name of its scenario.
    pub fn name(seed: u64) -> String {
        format!("world-{seed}")
    }

    /// How long it lasts in seconds: as long as [`PACKETS`] need at the rate that the path, the
    /// hosts and the program allow, from [`SHORTEST_S`] to [`LONGEST_S`].
    pub fn duration_s(&self) -> f64 {
        let own = self.path.carries_bps.min(self.hosts.carry_bps).min(self.program.needs_bps);
        let all = (own + self.neighbours.need_bps).min(self.path.carries_bps);
        let per_second = all / 8.0 / self.hosts.packet_bytes * PACKETS_PER_SEGMENT;
        let asked = PACKETS / (per_second + self.neighbours.packets_per_second);
        asked.clamp(SHORTEST_S, LONGEST_S).max(SHORTEST_ROUNDS * self.path.rtt_ms / 1000.0)
    }

    /// The world as the text of a scenario file.
    pub fn toml(&self) -> String {
        let seed = self.seed;
        let mut text = format!(
            "title = \"World {seed} of generator {VERSION}\"\nabout = \"\"\"\n{}\n\"\"\"\n\
             seed = {seed}\nduration_s = {:.1}\n\n",
            self.path.about(),
            self.duration_s(),
        );
        text += &self.hosts.toml();
        text += &self.neighbours.hosts_toml();
        text += &self.path.toml();
        text += &self.neighbours.links_toml();
        let _ = write!(text, "[[flows]]\nfrom = \"S\"\nto = \"D\"\npath = {}\n", self.path.names());
        text += &self.program.toml();
        text += &self.hosts.flow_toml();
        text += &self.neighbours.flows_toml(self.duration_s());
        text += &self.taps.toml(self.duration_s());
        text
    }

    /// The world as a scenario.
    pub fn scenario(&self) -> Result<Scenario, ScenarioError> {
        Scenario::parse(&World::name(self.seed), &self.toml())
    }
}

/// Packets that a world is to have, all hosts together: a fraction of a second of computing.
const PACKETS: f64 = 100_000.0;
/// A segment and every second time an acknowledgement.
const PACKETS_PER_SEGMENT: f64 = 1.5;
/// Two intervals of the diagnosis, the second not quite as long.
const SHORTEST_S: f64 = 4.5;
/// As long as slow losses need to show.
const LONGEST_S: f64 = 40.0;
/// Far paths take time to get anywhere.
const SHORTEST_ROUNDS: f64 = 30.0;
/// Streams of the rooms, apart from those that scenarios use.
const STREAM_WORLD: u64 = 16 << 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_world_is_a_scenario_that_can_be_built() {
        for seed in 0..1_000 {
            let world = World::new(seed);
            let scenario = world.scenario().unwrap_or_else(|e| panic!("{e}\n{}", world.toml()));
            assert!(scenario.build().taps.len() >= 2, "seed {seed}");
        }
    }

    #[test]
    fn a_seed_gives_the_same_world_again() {
        assert_eq!(World::new(7).toml(), World::new(7).toml());
        assert_ne!(World::new(7).toml(), World::new(8).toml());
    }

    #[test]
    fn worlds_cover_the_ranges() {
        let worlds: Vec<World> = (0..2_000).map(World::new).collect();
        let share = |test: &dyn Fn(&str) -> bool| {
            worlds.iter().filter(|world| test(&world.toml())).count() as f64 / 2_000.0
        };
        for word in [
            "bernoulli",
            "gilbert_elliott",
            "policer",
            "shaper",
            "jitter",
            "reorder",
            "duplicate",
            "fq_codel",
            "wifi",
            "walk",
            "delay_steps",
            "outage",
            "thin_acks",
            "drop_tail",
            "codel",
            "pie",
            "red",
            "ecn_threshold",
            "bulk = {}",
            "bulk = { write_bytes",
            "chunks",
            "small_writes",
            "request_response",
            "phases",
            "slow",
            "pausing",
            "send_buffer_bytes",
            "writer_delay_ms",
            "receive_buffer_bytes",
            "cwnd_clamp_bytes",
            "pacing_rate_bps",
            "bbr1",
            "bbr3",
            "reno",
            "reno_per_ack",
            "cubic_rfc9438",
            "fixed",
            "missed",
            "without_handshake",
            "only",
            "poisson",
            "sine",
            "on_off",
        ] {
            assert!(share(&|toml| toml.contains(word)) > 0.005, "{word}");
        }
        assert!(worlds.iter().any(|world| world.path.rtt_ms < 2.0));
        assert!(worlds.iter().any(|world| world.path.rtt_ms > 300.0));
        assert!(worlds.iter().any(|world| world.path.rate_bps < 0.5e6));
        assert!(worlds.iter().any(|world| world.path.rate_bps > 1e9));
    }
}
