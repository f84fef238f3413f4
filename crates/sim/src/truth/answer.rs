//! What truly limited a sender in an interval: from the record of the run alone, never from what
//! the scenario was meant to show.
//!
//! The rules are those of `docs/worlds.md`. An answer is a set: one limitation that is the main
//! one, others that are right too where two causes act, or none with the reason where nobody could
//! tell.

use super::losses::{Losses, Shares};
use tcpwhy_core::units::Nanos;

/// What there was of a half in an interval.
#[derive(Clone, Debug, Default)]
pub struct Observation {
    /// How long the interval is.
    pub length: Nanos,
    /// Who held the sender back, in seconds.
    pub time: Time,
    /// Smoothed round-trip time at the end.
    pub srtt: Option<Nanos>,
    /// Mean smoothed round-trip time over the least of the connection so far.
    pub inflation: Option<f64>,
    /// The servers along the path of the data.
    pub servers: Vec<Server>,
    /// The largest share of time in which a server on the way back was sending.
    pub returning_busy: f64,
    /// Packets of the half that were dropped or marked.
    pub losses: Losses,
    /// The same for the ten seconds before.
    pub before: Losses,
}

/// Seconds by what held the sender back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Time {
    /// No connection: handshake, or over.
    pub closed: f64,
    /// Nothing to send.
    pub application: f64,
    /// Nagle's algorithm: writes of less than a segment.
    pub nagle: f64,
    /// The pacing rate of the socket, which the program sets.
    pub socket_pacing: f64,
    /// The receiver's window.
    pub receiver_window: f64,
    /// The send buffer.
    pub send_buffer: f64,
    /// The clamp of cwnd.
    pub cwnd_clamp: f64,
    /// Of these three, the time in which the other host's window had no room for a full segment
    /// either.
    pub both_windows: f64,
    /// Of the receiver's window and the clamp, the waits of a controller that paces at the rate
    /// which it measured behind them.
    pub paced_at_window: f64,
    /// Recovery and waits for the retransmission timer.
    pub recovery: f64,
    /// Of these, the waits for the timer.
    pub timer: f64,
    /// cwnd or the controller's pacing, in slow start.
    pub slow_start: f64,
    /// cwnd or the controller's pacing, otherwise.
    pub congestion_avoidance: f64,
}

/// A link that sends one packet after the other.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    /// The share of the time in which it was sending.
    pub busy: f64,
    /// The share of its bytes that belonged to others.
    pub others: f64,
}

/// What is right to say of an interval.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The main limitation; `None` when nobody could tell.
    pub limitation: Option<&'static str>,
    /// Its cause where the record names it.
    pub cause: Option<&'static str>,
    /// All limitations that are right, the main one first.
    pub right: Vec<&'static str>,
    /// Why nobody could tell.
    pub untellable: Option<&'static str>,
    /// What it was worked out from.
    pub seen: Observation,
}

/// A verdict on the network's part of an interval.
struct Network {
    right: Vec<&'static str>,
    cause: Option<&'static str>,
}

impl Observation {
    /// The server that was busiest; without one, an idle one.
    pub fn bottleneck(&self) -> Server {
        let busier = |a: Server, b: &Server| if b.busy > a.busy { *b } else { a };
        self.servers.iter().fold(Server::default(), busier)
    }

    /// What is right to say.
    pub fn answer(self) -> Answer {
        let time = self.time;
        let owners = [
            ("application", time.application + time.nagle + time.socket_pacing),
            ("receiver_window", time.receiver_window),
            ("sender_window", time.send_buffer + time.cwnd_clamp),
            ("network", time.recovery + time.slow_start + time.congestion_avoidance),
        ];
        let total: f64 = owners.iter().map(|(_, seconds)| seconds).sum();
        if let Some(why) = self.too_little(total) {
            return self.untold(why);
        }
        let mut by_share: Vec<_> = owners.map(|(owner, s)| (owner, s / total)).into();
        by_share.sort_by(|a, b| b.1.total_cmp(&a.1));
        if by_share[0].1 < HOLDS {
            return self.untold("no cause held for two fifths of the time");
        }
        // A queue on the way back holds up windows of every kind.
        let waits = by_share.iter().any(|(owner, s)| *owner != "application" && *s >= ALSO);
        if waits && self.returning_busy >= FULL && self.bottleneck().busy < FULL {
            return self.untold("the acknowledgements wait on the way back");
        }
        self.told(&by_share, total)
    }

    fn too_little(&self, total: f64) -> Option<&'static str> {
        let length = self.length.as_secs_f64();
        let srtt = self.srtt.map_or(0.0, Nanos::as_secs_f64);
        match () {
            () if length < SHORTEST_S => Some("shorter than half a second"),
            () if total < 0.5 * length => Some("no connection for most of the time"),
            () if length < 2.0 * srtt => Some("shorter than two round trips"),
            () => None,
        }
    }

    /// The words for the owners, largest share first, of `total` seconds.
    fn told(self, by_share: &[(&'static str, f64)], total: f64) -> Answer {
        let mut right: Vec<&'static str> = Vec::new();
        let mut cause = None;
        let link = self.bottleneck();
        for (i, (owner, share)) in by_share.iter().enumerate() {
            if i > 0 && *share < ALSO {
                break;
            }
            if *owner == "network" {
                let found = self.network();
                cause = cause.or(found.cause.filter(|_| i == 0));
                right.extend(found.right);
                continue;
            }
            let is_window = *owner != "application";
            if is_window && link.busy >= FULL {
                // A larger window would only lengthen the queue.
                right.extend(shared_or_not(link.others));
            }
            right.push(owner);
            if is_window && link.busy >= NEARLY {
                right.extend(shared_or_not(link.others));
            }
            if i == 0 {
                cause = self.cause_at_host(right[0]);
            }
        }
        if self.time.both_windows >= ALSO * total {
            right.extend(["receiver_window", "sender_window"]);
        }
        if self.time.paced_at_window >= ALSO * total {
            right.push("transport");
        }
        if by_share[0].1 < MOST {
            right.push("mixed");
        }
        let mut seen = Vec::new();
        right.retain(|word| {
            !seen.contains(word) && {
                seen.push(*word);
                true
            }
        });
        Answer { limitation: right.first().copied(), cause, right, untellable: None, seen: self }
    }

    fn cause_at_host(&self, limitation: &str) -> Option<&'static str> {
        let Time { send_buffer, cwnd_clamp, .. } = self.time;
        match limitation {
            "sender_window" if cwnd_clamp > send_buffer => Some("sender_window/cwnd_clamp"),
            "sender_window" => Some("sender_window/send_buffer"),
            _ => None,
        }
    }

    /// What the network's part of the time was spent on.
    fn network(&self) -> Network {
        let link = self.bottleneck();
        let recent = if self.losses.total() > 0 { self.losses } else { self.before };
        let is_before = self.losses.total() == 0;
        let Shares { queue, policer, chance, gone } = recent.shares();
        let bottleneck = || shared_or_not(link.others);
        let mut right: Vec<&'static str> = Vec::new();
        let is_stalled = self.time.recovery >= MOST * self.network_s();
        if gone >= ALSO && is_stalled {
            let is_long = recent.too_long > recent.silence;
            let cause = if is_long { "unresponsive/path_mtu" } else { "unresponsive/peer" };
            return Network { right: vec!["unresponsive", "transport"], cause: Some(cause) };
        }
        // Its timer repeats the same segments, and nothing answers: at a link that passes others
        // alone, or whatever takes them all.
        let is_silent = self.time.timer >= SILENT * self.length.as_secs_f64();
        let is_starved = is_stalled && link.others >= ALL && link.busy >= SOME;
        let unanswered = is_silent || is_starved;
        let starved = unanswered.then_some(["unresponsive", "transport"]).into_iter().flatten();
        if is_silent && recent.total() == 0 && link.busy < FULL {
            return Network { right: starved.collect(), cause: None };
        }
        let is_few = is_before || self.losses.total() <= FEW;
        if link.busy >= FULL {
            let mut right = at_full_link(link, &recent, is_few, self.is_delayed());
            right.extend(starved);
            return Network { right, cause: None };
        }
        let mut kinds = [("policer", policer), ("random_loss", chance), ("queue", queue)];
        kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
        for (kind, _) in kinds.into_iter().filter(|(_, share)| *share >= ALSO) {
            if kind != "queue" {
                right.push(kind);
            } else if link.busy >= USED {
                right.extend(bottleneck());
            }
        }
        if right.is_empty() || is_few || is_stalled {
            right.push("transport");
        }
        if recent.total() > 0 && queue >= ALSO && link.busy >= SOME {
            right.extend(bottleneck());
        }
        if link.busy >= NEARLY {
            right.extend(bottleneck());
        }
        right.extend(starved);
        let cause = (right[0] == "transport").then(|| self.phase());
        Network { right, cause }
    }

    /// Whether its packets wait in a queue, as far as is known.
    fn is_delayed(&self) -> bool {
        self.inflation.is_none_or(|inflation| inflation >= DELAYED)
    }

    fn network_s(&self) -> f64 {
        self.time.recovery + self.time.slow_start + self.time.congestion_avoidance
    }

    fn phase(&self) -> &'static str {
        let Time { recovery, slow_start, congestion_avoidance, .. } = self.time;
        if recovery >= slow_start.max(congestion_avoidance) {
            "transport/recovery"
        } else if slow_start >= congestion_avoidance {
            "transport/slow_start"
        } else {
            "transport/congestion_avoidance"
        }
    }

    fn untold(self, why: &'static str) -> Answer {
        Answer { limitation: None, cause: None, right: vec![], untellable: Some(why), seen: self }
    }
}

/// What is right at a link that is full, of a flow that lost so much, or little.
fn at_full_link(
    link: Server,
    recent: &Losses,
    is_few: bool,
    is_delayed: bool,
) -> Vec<&'static str> {
    let Shares { queue, policer, chance, .. } = recent.shares();
    // Others fill it, and its queue hardly drops packets of this flow.
    let is_spared = link.others >= MAINLY && queue < ALSO;
    let mut right = Vec::new();
    if is_spared && policer >= MOST {
        // A policer gives its rate, whatever becomes of the others.
        right.push("policer");
        right.extend(is_few.then(|| shared_or_not(link.others)).into_iter().flatten());
        return right;
    }
    right.extend((is_spared && chance >= MOST).then_some("random_loss"));
    right.extend(shared_or_not(link.others));
    let is_untouched = link.others >= MAINLY && is_few && !is_delayed;
    let is_lossless = is_spared && recent.total() == 0;
    right.extend((is_untouched || is_lossless).then_some("transport"));
    if link.busy < BRIM {
        right.extend((policer >= ALSO).then_some("policer"));
        right.extend((chance >= ALSO).then_some("random_loss"));
    }
    right
}

/// Whether a full link is shared; both where the others have only a small share.
fn shared_or_not(others: f64) -> Vec<&'static str> {
    const ALONE: &str = "unshared_bottleneck";
    const SHARED: &str = "shared_bottleneck";
    match others {
        x if x < 0.03 => vec![ALONE],
        x if x < 0.1 => vec![ALONE, SHARED],
        x if x < MAINLY => vec![SHARED, ALONE],
        _ => vec![SHARED],
    }
}

/// The share of a link's bytes from which it is the others' as well.
const MAINLY: f64 = 0.25;
/// The share of the time that the main owner must hold.
const HOLDS: f64 = 0.4;
/// The share from which a second cause is right as well.
const ALSO: f64 = 0.3;
/// The share from which a cause is the only one of its kind.
const MOST: f64 = 0.5;
/// The share of time in which a link sends from which it is full.
const FULL: f64 = 0.9;
/// The same, so that no loss beside it matters.
const BRIM: f64 = 0.97;
/// The share of the time in the wait for the timer from which nothing answers.
const SILENT: f64 = 0.8;
/// The share of a link's bytes that others have when none of its own pass.
const ALL: f64 = 0.999;
/// The share from which a link may be called full as well.
const NEARLY: f64 = 0.75;
/// The share from which drops of a queue are those of a bottleneck: a short queue leaves gaps.
const USED: f64 = 0.5;
/// The share from which they may be.
const SOME: f64 = 0.3;
/// The round-trip time over its least from which packets wait in a queue.
const DELAYED: f64 = 1.25;
/// Losses that may as well be called what TCP made of them.
const FEW: u64 = 2;
/// Shorter intervals are ends that something cut off.
const SHORTEST_S: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;
    use tcpwhy_core::limit::Limitation;

    /// Three seconds with this time, a link that busy with others' share, and these losses.
    fn seen(time: Time, busy: f64, others: f64, losses: Losses) -> Answer {
        let servers = vec![Server { busy, others }];
        let length = Nanos(3_000_000_000);
        Observation { length, time, servers, losses, ..Observation::default() }.answer()
    }

    fn cwnd() -> Time {
        Time { congestion_avoidance: 3.0, ..Time::default() }
    }

    #[test]
    fn answers_follow_the_rules() {
        let none = Losses::default();
        let window = Time { receiver_window: 3.0, ..Time::default() };
        let chance = Losses { chance: 9, ..none };
        let queue = Losses { queue: 9, ..none };
        let both = Time { application: 1.9, receiver_window: 1.1, ..Time::default() };
        let cases: [(Answer, &[&str]); 10] = [
            (seen(window, 0.3, 0.0, none), &["receiver_window"]),
            (seen(window, 0.8, 0.0, none), &["receiver_window", "unshared_bottleneck"]),
            (seen(window, 0.99, 0.0, none), &["unshared_bottleneck", "receiver_window"]),
            (seen(both, 0.3, 0.0, none), &["application", "receiver_window"]),
            (seen(cwnd(), 0.99, 0.5, queue), &["shared_bottleneck"]),
            (seen(cwnd(), 0.99, 0.05, none), &["unshared_bottleneck", "shared_bottleneck"]),
            (seen(cwnd(), 0.4, 0.0, chance), &["random_loss"]),
            (seen(cwnd(), 0.6, 0.0, queue), &["unshared_bottleneck"]),
            (seen(cwnd(), 0.4, 0.0, queue), &["transport", "unshared_bottleneck"]),
            (seen(cwnd(), 0.2, 0.0, none), &["transport"]),
        ];
        for (number, (answer, right)) in cases.iter().enumerate() {
            assert_eq!(&answer.right, right, "case {number}");
            assert!(right.iter().all(|word| Limitation::WORDS.contains(word)), "case {number}");
        }
    }

    #[test]
    fn pacing_at_the_rate_of_a_window_is_the_windows_or_the_controllers() {
        let none = Losses::default();
        let paced = Time { cwnd_clamp: 3.0, paced_at_window: 2.0, ..Time::default() };
        assert_eq!(seen(paced, 0.5, 0.0, none).right, ["sender_window", "transport"]);
        let held = Time { paced_at_window: 0.5, ..paced };
        assert_eq!(seen(held, 0.5, 0.0, none).right, ["sender_window"]);
    }

    #[test]
    fn a_flow_that_others_leave_room_beside_them_may_be_its_controllers() {
        let servers = vec![Server { busy: 0.99, others: 0.8 }];
        let length = Nanos(3_000_000_000);
        let right = |drops, inflation| {
            let losses = Losses { queue: drops, ..Losses::default() };
            let servers = servers.clone();
            let before = Losses { queue: 3, ..Losses::default() };
            let time = cwnd();
            Observation {
                length,
                time,
                servers,
                losses,
                before,
                inflation,
                ..Observation::default()
            }
            .answer()
            .right
        };
        assert_eq!(right(0, Some(1.1)), ["shared_bottleneck", "transport"]);
        assert_eq!(right(2, Some(1.1)), ["shared_bottleneck", "transport"]);
        assert_eq!(right(3, Some(1.1)), ["shared_bottleneck"]);
        assert_eq!(right(0, Some(1.3)), ["shared_bottleneck"]);
        assert_eq!(right(0, None), ["shared_bottleneck"]);
    }

    #[test]
    fn what_nothing_passes_is_unresponsive_with_its_cause() {
        let waits = Time { recovery: 2.0, congestion_avoidance: 1.0, ..Time::default() };
        let silence = Losses { silence: 3, ..Losses::default() };
        let too_long = Losses { too_long: 3, ..Losses::default() };
        let answer = seen(waits, 0.1, 0.0, silence);
        assert_eq!(answer.right, ["unresponsive", "transport"]);
        assert_eq!(answer.cause, Some("unresponsive/peer"));
        assert_eq!(seen(waits, 0.1, 0.0, too_long).cause, Some("unresponsive/path_mtu"));
    }

    #[test]
    fn a_flow_of_which_nothing_passes_a_full_link_may_be_called_unresponsive() {
        let waits = Time { recovery: 2.5, congestion_avoidance: 0.5, ..Time::default() };
        let queue = Losses { queue: 3, ..Losses::default() };
        let starved = seen(waits, 0.99, 1.0, queue);
        assert_eq!(starved.right, ["shared_bottleneck", "unresponsive", "transport"]);
        assert_eq!(seen(waits, 0.99, 0.98, queue).right, ["shared_bottleneck"]);
        assert_eq!(seen(cwnd(), 0.99, 1.0, queue).right, ["shared_bottleneck"]);
    }

    #[test]
    fn segments_that_nothing_answers_are_unresponsive_whatever_takes_them() {
        let waits =
            Time { recovery: 2.9, timer: 2.8, congestion_avoidance: 0.1, ..Time::default() };
        let none = Losses::default();
        let chance = Losses { chance: 3, ..none };
        assert_eq!(seen(waits, 0.1, 0.0, none).right, ["unresponsive", "transport"]);
        let right = seen(waits, 0.1, 0.0, chance).right;
        assert_eq!(right, ["random_loss", "transport", "unresponsive"]);
        let answered = Time { timer: 1.0, ..waits };
        assert_eq!(seen(answered, 0.1, 0.0, none).right, ["transport"]);
    }

    #[test]
    fn what_a_full_link_spares_is_held_back_by_what_drops_its_packets() {
        let none = Losses::default();
        let policer = Losses { policer: 9, ..none };
        let chance = Losses { chance: 9, ..none };
        let both = Losses { policer: 9, queue: 9, ..none };
        assert_eq!(seen(cwnd(), 1.0, 0.9, policer).right, ["policer"]);
        assert_eq!(seen(cwnd(), 1.0, 0.9, chance).right, ["random_loss", "shared_bottleneck"]);
        assert_eq!(seen(cwnd(), 1.0, 0.9, both).right, ["shared_bottleneck"]);
        assert_eq!(seen(cwnd(), 1.0, 0.9, none).right, ["shared_bottleneck", "transport"]);
        assert_eq!(seen(cwnd(), 1.0, 0.0, policer).right, ["unshared_bottleneck"]);
    }

    #[test]
    fn both_windows_are_right_where_neither_has_room() {
        let both = Time { send_buffer: 3.0, both_windows: 2.0, ..Time::default() };
        let right = seen(both, 0.3, 0.0, Losses::default()).right;
        assert_eq!(right, ["sender_window", "receiver_window"]);
    }

    #[test]
    fn a_window_that_waits_for_the_way_back_is_left_out() {
        let time = Time { receiver_window: 3.0, ..Time::default() };
        let length = Nanos(3_000_000_000);
        let seen = Observation { length, time, returning_busy: 1.0, ..Observation::default() };
        assert_eq!(seen.answer().untellable, Some("the acknowledgements wait on the way back"));
    }

    #[test]
    fn what_nobody_could_tell_is_left_out_with_the_reason() {
        let closed = Time { closed: 2.0, application: 1.0, ..Time::default() };
        let answer = seen(closed, 0.0, 0.0, Losses::default());
        assert_eq!(answer.limitation, None);
        assert_eq!(answer.untellable, Some("no connection for most of the time"));
    }
}
