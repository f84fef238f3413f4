//! Who else uses the narrow link.

use super::draw::{Draw, count, short};
use super::hosts::controller;
use super::path::{Path, link_name};
use std::fmt::Write;

/// Other flows and sources, each through an access link of its own.
pub(super) struct Neighbours {
    /// What they need together, roughly.
    pub need_bps: f64,
    /// Packets of UDP sources.
    pub packets_per_second: f64,
    hosts: String,
    links: String,
    /// Flows as TOML without their start, and whether they start later.
    flows: Vec<(String, Option<f64>)>,
}

impl Neighbours {
    /// Draws them.
    pub fn draw(draw: &mut Draw, path: &Path) -> Neighbours {
        let mut neighbours = Neighbours {
            need_bps: 0.0,
            packets_per_second: 0.0,
            hosts: String::new(),
            links: String::new(),
            flows: Vec::new(),
        };
        let (tcp, udp) = draw.pick(&[
            (0.56, (false, false)),
            (0.24, (true, false)),
            (0.15, (false, true)),
            (0.05, (true, true)),
        ]);
        if tcp {
            neighbours.add_tcp(draw, path);
        }
        if udp {
            neighbours.add_udp(draw, path);
        }
        neighbours
    }

    fn add_tcp(&mut self, draw: &mut Draw, path: &Path) {
        self.need_bps = f64::INFINITY;
        for i in 0..draw.whole(1, 3) {
            let delay = short(draw.log(0.1, 60.0));
            let _ = write!(
                self.links,
                "[links.side{i}]\nforward = [{{ rate.rate_bps = {} }}, {{ delay.delay_ms = {delay} \
                 }}]\n\n",
                count(path.rate_bps * 10.0)
            );
            let workload = match draw.pick(&[(0.7, 0), (0.15, 1), (0.15, 2)]) {
                0 => "bulk = {}".to_owned(),
                1 => format!("paced.rate_bps = {}", count(path.rate_bps * draw.log(0.02, 0.7))),
                _ => {
                    let bytes = count((path.rate_bps / 8.0 * draw.log(0.02, 1.0)).max(3_000.0));
                    format!(
                        "chunks = {{ chunk_bytes = {bytes}, interval_ms = {} }}",
                        short(draw.log(100.0, 4_000.0))
                    )
                }
            };
            let count = draw.pick(&[(0.6, 1), (0.2, 2), (0.1, 4), (0.1, 8)]);
            // The last of them starts before the shortest world ends.
            let stagger_s = draw.log(0.01, 0.5).min(1.2 / f64::from(count));
            let text = format!(
                "[[flows]]\nfrom = \"N\"\nto = \"M\"\npath = [\"side{i}\", \"{}\"]\ncount = {}\n\
                 stagger_s = {}\nworkload.{workload}\ntcp.controller = \"{}\"\n",
                link_name(path.narrow),
                count,
                short(stagger_s),
                controller(draw)
            );
            self.flows.push((text, starts(draw)));
        }
        self.hosts += "[hosts.N]\n[hosts.M]\n\n";
    }

    fn add_udp(&mut self, draw: &mut Draw, path: &Path) {
        for _ in 0..draw.pick(&[(0.7, 1), (0.3, 2)]) {
            let bytes = draw.pick(&[(0.2, 200), (0.3, 1000), (0.5, 1400)]);
            let pps = path.rate_bps * draw.log(0.03, 0.9) / 8.0 / f64::from(bytes);
            self.packets_per_second += pps;
            let source = match draw.pick(&[(0.3, 0), (0.3, 1), (0.25, 2), (0.15, 3)]) {
                0 => format!("constant.rate_pps = {}", short(pps)),
                1 => format!("poisson.rate_pps = {}", short(pps)),
                2 => format!(
                    "on_off = {{ rate_pps = {}, on_ms = {}, off_ms = {} }}",
                    short(pps * 1.3),
                    short(draw.log(20.0, 3_000.0)),
                    short(draw.log(20.0, 3_000.0))
                ),
                _ => format!(
                    "sine = {{ mean_pps = {}, frequencies_hz = [{}] }}",
                    short(pps * 0.6),
                    short(draw.log(0.05, 5.0))
                ),
            };
            let text = format!(
                "[[udp]]\nfrom = \"V\"\nto = \"W\"\npath = [\"{}\"]\nwire_bytes = {bytes}\n\
                 source.{source}\njitter_ms = {}\n",
                link_name(path.narrow),
                short(4000.0 * f64::from(bytes) / path.rate_bps)
            );
            self.flows.push((text, starts(draw)));
        }
        self.hosts += "[hosts.V]\n[hosts.W]\n\n";
    }

    /// Their hosts as TOML.
    pub fn hosts_toml(&self) -> String {
        self.hosts.clone()
    }

    /// Their access links as TOML.
    pub fn links_toml(&self) -> String {
        self.links.clone()
    }

    /// Themselves as TOML.
    pub fn flows_toml(&self, duration_s: f64) -> String {
        let one = |(text, start): &(String, Option<f64>)| match start {
            Some(share) => format!("{text}start_s = {}\n\n", short(share * duration_s)),
            None => format!("{text}\n"),
        };
        self.flows.iter().map(one).collect()
    }
}

/// Which share of the run has passed when they start; `None` for the begin.
fn starts(draw: &mut Draw) -> Option<f64> {
    draw.chance(0.4).then(|| draw.between(0.1, 0.7))
}
