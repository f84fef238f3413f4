//! The hosts: their TCP, their buffers, their network cards.

use super::draw::{Draw, count, short};
use super::path::Path;
use std::fmt::Write;

/// Sender `S` and receiver `D`.
pub(super) struct Hosts {
    /// What their windows and their pacing let through, roughly.
    pub carry_bps: f64,
    /// Length of a full packet.
    pub packet_bytes: f64,
    /// The smallest window of either side.
    window_bytes: f64,
    hosts: String,
    tcp: Vec<String>,
    peer_tcp: Vec<String>,
    is_download: bool,
}

impl Hosts {
    /// Draws both hosts, and how late their programs run.
    pub fn draw(draw: &mut Draw, late: &mut Draw, path: &Path) -> Hosts {
        let mss = draw.pick(&[(0.78, 1460), (0.08, 1400), (0.04, 1220), (0.05, 536), (0.05, 8960)]);
        let mut hosts = Hosts {
            carry_bps: f64::INFINITY,
            packet_bytes: f64::from(mss) + 54.0,
            window_bytes: f64::INFINITY,
            hosts: String::new(),
            tcp: vec![format!("mss = {mss}")],
            peer_tcp: vec![format!("mss = {mss}")],
            is_download: draw.chance(0.4),
        };
        for (name, tso_chance, gro_chance) in [("S", 0.4, 0.1), ("D", 0.1, 0.3)] {
            let tso = draw.chance(tso_chance);
            let _ = write!(hosts.hosts, "[hosts.{name}]\ntso = {tso}\n");
            if draw.chance(gro_chance) {
                let _ = writeln!(hosts.hosts, "gro_ms = {}", short(draw.log(0.02, 0.5)));
            }
        }
        hosts.options(draw);
        hosts.sender(draw, path);
        hosts.windows(draw, path);
        // From a host with nothing else to do to one that is never idle.
        if late.chance(0.7) {
            let delay = short(late.log(0.02, 5.0));
            hosts.tcp.push(format!("writer_delay_ms = {delay}"));
        }
        hosts
    }

    /// What the two sides negotiate.
    fn options(&mut self, draw: &mut Draw) {
        for (key, p) in [("sack", 0.88), ("timestamps", 0.8), ("window_scaling", 0.92)] {
            if !draw.chance(p) {
                self.tcp.push(format!("{key} = false"));
                self.peer_tcp.push(format!("{key} = false"));
                if key == "window_scaling" {
                    self.window_bytes = UNSCALED_WINDOW_BYTES;
                }
            }
        }
        if draw.chance(0.2) {
            self.tcp.push("ecn = true".to_owned());
            self.peer_tcp.push("ecn = true".to_owned());
        }
        match draw.pick(&[(0.84, 0), (0.1, 1), (0.06, 2)]) {
            1 => self.peer_tcp.push("delayed_ack_ms = 0".to_owned()),
            2 => self.peer_tcp.push(format!("delayed_ack_ms = {}", draw.whole(100, 200))),
            _ => {}
        }
    }

    /// How the sender finds losses and grows.
    fn sender(&mut self, draw: &mut Draw, path: &Path) {
        let is_fixed = draw.chance(0.02);
        let controller = if is_fixed { "fixed" } else { controller(draw) };
        self.tcp.push(format!("controller = \"{controller}\""));
        let recovery = draw.pick(&[
            (0.78, "rack"),
            (0.08, "sack"),
            (0.08, "newreno"),
            (0.03, "reno"),
            (0.03, "tahoe"),
        ]);
        self.tcp.push(format!("recovery = \"{recovery}\""));
        let nagle = draw.pick(&[(0.57, "minshall"), (0.35, "off"), (0.08, "on")]);
        self.tcp.push(format!("nagle = \"{nagle}\""));
        // Linux alone sets PSH on super-segments, and not before version 5.4.
        if draw.chance(0.25) {
            self.tcp.push("tso_max_bytes = 1".to_owned());
        }
        if draw.chance(0.06) {
            let bytes = count(draw.log(20_000.0, 400_000.0));
            self.tcp.push(format!("initial_ssthresh_bytes = {bytes}"));
        }
        if is_fixed {
            let mss = self.packet_bytes - 54.0;
            let segments = (path.bdp_bytes() * draw.log(0.08, 3.0) / mss).clamp(2.0, 10_000.0);
            self.window_bytes = self.window_bytes.min(segments * mss);
            self.tcp.push(format!("initial_window_segs = {}", count(segments)));
        } else if draw.chance(0.1) {
            let segments = draw.pick(&[(1.0, 2), (1.0, 4), (1.0, 32)]);
            self.tcp.push(format!("initial_window_segs = {segments}"));
        }
    }

    /// Buffers and clamps around the bandwidth-delay product, and the pacing of the socket.
    fn windows(&mut self, draw: &mut Draw, path: &Path) {
        let mss = self.packet_bytes - 54.0;
        let round_s = path.rtt_ms / 1000.0;
        let window = |draw: &mut Draw| (path.bdp_bytes() * draw.log(0.08, 5.0)).max(4.0 * mss);
        if draw.chance(0.2) {
            let bytes = window(draw);
            self.window_bytes = self.window_bytes.min(bytes);
            self.tcp.push(format!("send_buffer_bytes = {}", count(bytes)));
        }
        if draw.chance(0.2) {
            let bytes = window(draw);
            self.window_bytes = self.window_bytes.min(bytes);
            self.peer_tcp.push(format!("receive_buffer_bytes = {}", count(bytes)));
        }
        if draw.chance(0.06) {
            let bytes = window(draw);
            self.window_bytes = self.window_bytes.min(bytes);
            self.peer_tcp.push(format!("window_clamp_bytes = {}", count(bytes)));
        }
        if draw.chance(0.07) {
            let bytes = window(draw);
            self.window_bytes = self.window_bytes.min(bytes);
            self.tcp.push(format!("cwnd_clamp_bytes = {}", count(bytes)));
        }
        self.carry_bps = self.window_bytes * 8.0 / round_s;
        if draw.chance(0.07) {
            let rate = (path.rate_bps * draw.log(0.03, 1.3)).max(50_000.0);
            self.carry_bps = self.carry_bps.min(rate);
            self.tcp.push(format!("pacing_rate_bps = {}", count(rate)));
        }
    }

    /// The hosts as TOML.
    pub fn toml(&self) -> String {
        format!("{}\n", self.hosts)
    }

    /// What the flow between them says of their TCP.
    pub fn flow_toml(&self) -> String {
        format!(
            "opened_by = \"{}\"\ntcp = {{ {} }}\npeer_tcp = {{ {} }}\n\n",
            if self.is_download { "to" } else { "from" },
            self.tcp.join(", "),
            self.peer_tcp.join(", ")
        )
    }
}

/// Any controller, the widespread ones more often.
pub(super) fn controller(draw: &mut Draw) -> &'static str {
    draw.pick(&[
        (0.46, "cubic"),
        (0.04, "cubic_rfc9438"),
        (0.16, "bbr1"),
        (0.12, "bbr3"),
        (0.16, "reno"),
        (0.03, "newreno"),
        (0.03, "reno_per_ack"),
    ])
}

/// What 16 bits hold.
const UNSCALED_WINDOW_BYTES: f64 = 65_535.0;
