//! The path: one to three links in any order, one of them the narrow one, and what goes wrong.

use super::draw::{Draw, count, short};

/// Links between the hosts.
pub(super) struct Path {
    /// Round-trip time of the empty path.
    pub rtt_ms: f64,
    /// Rate of the narrow link.
    pub rate_bps: f64,
    /// What the path can carry with its policer and its losses, roughly.
    pub carries_bps: f64,
    /// Which link is the narrow one.
    pub narrow: usize,
    links: Vec<Link>,
}

/// The elements of one link in both directions, as TOML.
struct Link {
    forward: Vec<String>,
    backward: Vec<String>,
}

impl Path {
    /// Draws a path.
    pub fn draw(draw: &mut Draw) -> Path {
        let rtt_ms = draw.log(1.0, 400.0);
        let rate_bps = draw.log(0.3e6, 2e9);
        let bdp_bytes = (rate_bps * rtt_ms / 8000.0).max(3000.0);
        let links = draw.whole(1, 3) as usize;
        let narrow = draw.whole(0, links as u64 - 1) as usize;
        // A return path of its own length, and often of its own rate.
        let forward_share = if draw.chance(0.2) { draw.between(0.2, 0.8) } else { 0.5 };
        let delays = [forward_share, 1.0 - forward_share].map(|share| rtt_ms * share);
        let mut cuts: Vec<f64> = (0..links).map(|_| draw.log(0.02, 1.0)).collect();
        let total: f64 = cuts.iter().sum();
        cuts.iter_mut().for_each(|cut| *cut /= total);
        let mut path = Path { rtt_ms, rate_bps, carries_bps: rate_bps, narrow, links: Vec::new() };
        let back_bps = rate_bps * if draw.chance(0.3) { draw.log(0.02, 1.0) } else { 10.0 };
        for (i, cut) in cuts.iter().enumerate() {
            let faster = if i == narrow { 1.0 } else { draw.log(1.2, 100.0) };
            let server = server(draw, (rate_bps * faster).min(1e10), bdp_bytes, i == narrow);
            let returning = (back_bps * faster).clamp(50_000.0, 1e10);
            let queue = count((200.0 * draw.log(0.2, 5.0)).max(10.0));
            path.links.push(Link {
                forward: vec![server, delay(delays[0] * cut)],
                backward: vec![
                    format!(
                        "{{ rate = {{ rate_bps = {}, queue.drop_tail.limit_packets = {queue} }} }}",
                        count(returning)
                    ),
                    delay(delays[1] * cut),
                ],
            });
        }
        path.harm(draw);
        path
    }

    /// Adds what goes wrong: before or behind the queue of any link.
    fn harm(&mut self, draw: &mut Draw) {
        let mut elements: Vec<String> = self.loss(draw).into_iter().collect();
        if draw.chance(0.12) {
            let rate = self.rate_bps * draw.log(0.03, 0.9);
            let rate = rate.max(2e5);
            let burst = (rate * draw.log(0.01, 2.0) / 8.0).max(5_000.0);
            let burst = burst.min(5e8);
            self.carries_bps = self.carries_bps.min(rate);
            elements.push(format!(
                "{{ policer = {{ rate_bps = {}, burst_bytes = {} }} }}",
                count(rate),
                count(burst)
            ));
        }
        if draw.chance(0.2) {
            let jitter = draw.log(0.02, 0.25) * self.rtt_ms;
            let shape = draw.pick(&[(1.0, "uniform"), (1.0, "normal"), (1.0, "exponential")]);
            let keep = draw.chance(0.85);
            elements.push(format!(
                "{{ jitter = {{ jitter_ms = {}, distribution = \"{shape}\", keep_order = {keep} }} \
                 }}",
                short(if keep { jitter } else { 0.2 * jitter })
            ));
        }
        if draw.chance(0.08) {
            elements.push(format!(
                "{{ reorder = {{ probability = {}, overtaken_by = {}, hold_ms = {} }} }}",
                short(draw.log(1e-4, 0.05)),
                draw.whole(1, 12),
                short(draw.log(0.1, 20.0))
            ));
        }
        if draw.chance(0.05) {
            let p = draw.log(1e-4, 0.02);
            elements.push(format!("{{ duplicate.probability = {} }}", short(p)));
        }
        if draw.chance(0.06) {
            elements.push(self.delay_steps(draw));
        }
        elements.extend(silence(draw));
        for element in elements {
            let link = draw.whole(0, self.links.len() as u64 - 1) as usize;
            // Before the server, between it and the delay, or behind both.
            let at = draw.whole(0, 2) as usize;
            self.links[link].forward.insert(at, element);
        }
        let link = draw.whole(0, self.links.len() as u64 - 1) as usize;
        let backward = &mut self.links[link].backward;
        if draw.chance(0.1) {
            let loss = short(draw.log(1e-3, 0.3));
            backward.push(format!("{{ bernoulli.loss = {loss} }}"));
        }
        if draw.chance(0.08) {
            backward.insert(0, format!("{{ thin_acks.one_of = {} }}", draw.whole(2, 12)));
        }
    }

    /// A satellite that hands over, or one change of the route.
    fn delay_steps(&self, draw: &mut Draw) -> String {
        let delays: [f64; 3] = std::array::from_fn(|_| short(draw.log(0.02, 0.5) * self.rtt_ms));
        let repeats = draw.chance(0.6);
        let every = if repeats { draw.log(1.0, 15.0) } else { draw.between(1.0, 12.0) };
        let steps: Vec<String> = delays
            .iter()
            .enumerate()
            .take(if repeats { 3 } else { 2 })
            .map(|(i, delay)| format!("[{}, {delay}]", short(every * i as f64)))
            .collect();
        let mut repeat = String::new();
        if repeats {
            repeat = format!(", repeat_s = {}", short(3.0 * every));
        }
        format!(
            "{{ delay_steps = {{ steps = [{}]{repeat}, keep_order = {} }} }}",
            steps.join(", "),
            draw.chance(0.8)
        )
    }

    /// Loss by chance or in bursts, if any.
    fn loss(&mut self, draw: &mut Draw) -> Option<String> {
        let (loss, element) = match draw.pick(&[(0.58, 0), (0.26, 1), (0.16, 2)]) {
            0 => return None,
            1 => {
                let loss = draw.log(2e-5, 0.04);
                (loss, format!("{{ bernoulli.loss = {} }}", short(loss)))
            }
            _ => {
                let (bad, good) = (draw.log(2e-5, 0.005), draw.log(0.08, 0.7));
                let passes = if draw.chance(0.5) { 0.0 } else { draw.between(0.1, 0.7) };
                let element = format!(
                    "{{ gilbert_elliott = {{ p = {}, r = {}, h = {} }} }}",
                    short(bad),
                    short(good),
                    short(passes)
                );
                (bad / (bad + good) * (1.0 - passes), element)
            }
        };
        // Mathis et al. 1997, three times over: other controllers are less shy.
        let mathis = 3.0 * 1448.0 * 8.0 * 1.22 / (self.rtt_ms / 1000.0 * loss.sqrt());
        self.carries_bps = self.carries_bps.min(mathis.max(1e5));
        Some(element)
    }

    /// The bandwidth-delay product of the empty path.
    pub fn bdp_bytes(&self) -> f64 {
        self.rate_bps * self.rtt_ms / 8000.0
    }

    /// The names of the links in order, as a TOML list.
    pub fn names(&self) -> String {
        let names: Vec<_> =
            (0..self.links.len()).map(|i| format!("\"{}\"", link_name(i))).collect();
        format!("[{}]", names.join(", "))
    }

    /// How many links there are.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// One line for people.
    pub fn about(&self) -> String {
        format!(
            "RTT {} ms, narrow link `{}` of {} Mbit/s.",
            short(self.rtt_ms),
            link_name(self.narrow),
            short(self.rate_bps / 1e6)
        )
    }

    /// The links as TOML.
    pub fn toml(&self) -> String {
        let list = |elements: &[String]| format!("[\n    {},\n]", elements.join(",\n    "));
        let link = |(i, link): (usize, &Link)| {
            format!(
                "[links.{}]\nforward = {}\nbackward = {}\n\n",
                link_name(i),
                list(&link.forward),
                list(&link.backward)
            )
        };
        self.links.iter().enumerate().map(link).collect()
    }
}

/// An outage, a forgetful middlebox, or a path that became too narrow for long packets.
fn silence(draw: &mut Draw) -> Option<String> {
    match draw.pick(&[(0.93, 0), (0.04, 1), (0.015, 2), (0.015, 3)]) {
        0 => None,
        1 => {
            let from = draw.between(1.0, 12.0);
            let until = from + draw.log(0.1, 15.0);
            Some(format!("{{ outage.spans_s = [[{}, {}]] }}", short(from), short(until)))
        }
        2 => Some(format!("{{ forget.idle_ms = {} }}", short(draw.log(500.0, 5_000.0)))),
        _ => Some(format!(
            "{{ mtu = {{ wire_bytes_max = {}, from_s = {} }} }}",
            draw.whole(500, 1_450),
            short(draw.between(0.0, 8.0))
        )),
    }
}

/// The name of link number `i`.
pub(super) fn link_name(i: usize) -> String {
    format!("link{i}")
}

fn delay(ms: f64) -> String {
    format!("{{ delay.delay_ms = {} }}", short(ms))
}

/// What sends: mostly a link of fixed rate, and of the narrow ones some shapers and traces.
fn server(draw: &mut Draw, rate_bps: f64, bdp_bytes: f64, is_narrow: bool) -> String {
    let limit = (bdp_bytes * draw.log(0.1, 8.0)).clamp(6_000.0, 5e8);
    let queue = queue(draw, limit, is_narrow);
    let rate = count(rate_bps);
    match draw.pick(&[(0.7, 0), (0.12, 1), (0.04, 2), (0.08, 3), (0.06, 4)]) {
        1 if is_narrow => {
            let burst = count((rate_bps / 8.0 * draw.log(0.002, 0.5)).clamp(3_000.0, 5e8));
            format!("{{ shaper = {{ rate_bps = {rate}, burst_bytes = {burst}, queue.{queue} }} }}")
        }
        3 if is_narrow => {
            let burst = draw.log(8_000.0, 400_000.0);
            // Gaps of up to a few times the burst leave the mean rate near what was drawn.
            let gap_ms = burst * 8000.0 / rate_bps * draw.log(0.1, 2.0);
            format!(
                "{{ wifi = {{ rate_bps = {}, burst_bytes = {}, gap_ms = {}, queue.{queue} }} }}",
                count((rate_bps * 2.0).min(1e10)),
                count(burst),
                short(gap_ms)
            )
        }
        4 if is_narrow => format!(
            "{{ walk = {{ min_bps = {}, max_bps = {}, step_ms = {}, step = {}, queue.{queue} }} }}",
            count(rate_bps * draw.log(0.1, 0.7)),
            count(rate_bps * draw.log(1.0, 3.0)),
            short(draw.log(2.0, 200.0)),
            short(draw.log(0.02, 0.4))
        ),
        2 if is_narrow && rate_bps < 5e7 => trace(draw, rate_bps, &queue),
        _ => format!("{{ rate = {{ rate_bps = {rate}, queue.{queue} }} }}"),
    }
}

/// Delivery opportunities that come in clumps, about as many as the rate wants.
fn trace(draw: &mut Draw, rate_bps: f64, queue: &str) -> String {
    let each_ms = 1504.0 * 8.0 / rate_bps * 1000.0;
    let (mut at, mut list) = (0.0, Vec::new());
    for _ in 0..draw.whole(200, 600) {
        at += each_ms * draw.log(0.1, 3.0);
        list.push((at as u64 + 1).to_string());
    }
    format!("{{ trace = {{ opportunities_ms = [{}], queue.{queue} }} }}", list.join(", "))
}

/// A queue that holds `limit` bytes, of any discipline; marks only where it is narrow.
fn queue(draw: &mut Draw, limit: f64, is_narrow: bool) -> String {
    let bytes = count(limit);
    let packets = (limit / 1514.0).max(4.0);
    let ecn = is_narrow && draw.chance(0.4);
    let choice = draw.pick(&[
        (0.56, "drop_tail"),
        (0.08, "drop_head"),
        (0.1, "codel"),
        (0.12, "fq_codel"),
        (0.1, "pie"),
        (0.08, "red"),
        (0.06, "ecn_threshold"),
    ]);
    match choice {
        "codel" | "fq_codel" => format!("{choice} = {{ ecn = {ecn}, limit_bytes = {bytes} }}"),
        "pie" => format!("pie = {{ ecn = {ecn}, limit_bytes = {bytes} }}"),
        "red" => format!(
            "red = {{ min_packets = {}, max_packets = {}, gentle = {}, ecn = {ecn}, \
             limit_bytes = {bytes} }}",
            short((packets * draw.between(0.1, 0.3)).max(1.0)),
            short((packets * draw.between(0.5, 0.9)).max(3.0)),
            draw.chance(0.5)
        ),
        "ecn_threshold" => format!(
            "ecn_threshold = {{ mark_packets = {}, limit_bytes = {bytes} }}",
            count(packets * draw.between(0.1, 0.5))
        ),
        name => format!("{name}.limit_bytes = {bytes}"),
    }
}
