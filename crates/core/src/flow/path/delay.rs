//! Delays between the observer and the two endpoints, and the round-trip times made of them.
//!
//! The observer sees `tau` of a side as the time from a packet towards that side to the answer that
//! comes back. Both taus together are the round-trip time (Veal, Li, Lowenthal, PAM 2005), and
//! their ratio is where the observer stands.

use crate::units::Nanos;

/// The delay from the observer to one endpoint and back.
#[derive(Clone, Copy, Debug)]
pub struct Tau {
    /// From the handshake, or [`UNKNOWN`].
    handshake: Nanos,
    /// Smallest sample of data and acknowledgements, or [`UNKNOWN`].
    min: Nanos,
    /// Smallest samples of the present and of the previous window, or [`UNKNOWN`].
    windows: [Nanos; 2],
    window_start: Nanos,
    /// Where the present one ends.
    window_end: Nanos,
    /// A timestamp that passed towards the endpoint and whose echo is awaited.
    probe: Option<(u32, Nanos)>,
    /// The newest timestamp that passed towards the endpoint.
    newest: Option<u32>,
    /// What [`Tau::recent`] and [`Tau::least`] say, or [`UNKNOWN`]: asked for every segment.
    recent: Nanos,
    least: Nanos,
    /// How far the newest echo of this endpoint lay above its least delay.
    excess: Nanos,
    /// Delays that a queue on the way to the endpoint raised, less those that one on the other side
    /// raised more.
    raised: u8,
    has_queue: bool,
}

impl Default for Tau {
    fn default() -> Tau {
        Tau {
            handshake: UNKNOWN,
            min: UNKNOWN,
            windows: [UNKNOWN; 2],
            window_start: Nanos(0),
            window_end: Nanos(0),
            probe: None,
            newest: None,
            recent: UNKNOWN,
            least: UNKNOWN,
            excess: Nanos(0),
            raised: 0,
            has_queue: false,
        }
    }
}

impl Tau {
    /// The delay that the handshake showed.
    pub fn handshake(&self) -> Option<Nanos> {
        known(self.handshake)
    }

    /// Takes the delay that the handshake showed.
    pub fn set_handshake(&mut self, tau: Option<Nanos>) {
        self.handshake = tau.unwrap_or(UNKNOWN);
        self.conclude();
    }

    /// Takes a sample that ended at `now`.
    #[inline(always)]
    pub fn sample(&mut self, now: Nanos, tau: Nanos) {
        self.take(now, tau, true);
    }

    /// Takes a sample; one that is not `sure` may hold a time in which the endpoint waited, and
    /// bounds the delay only from above.
    #[inline(always)]
    fn take(&mut self, now: Nanos, tau: Nanos, sure: bool) {
        // Most are no least one of anything. The least one of all is none above a window's.
        if tau < self.windows[0] || now > self.window_end {
            self.take_lowest(now, tau, sure);
        }
    }

    /// How long a window is.
    fn span(&self) -> Nanos {
        WINDOW.max(Nanos(self.min.0.saturating_mul(4)))
    }

    /// Takes a sample that lowers a minimum, or begins a window.
    #[inline(never)]
    fn take_lowest(&mut self, now: Nanos, tau: Nanos, sure: bool) {
        self.min = self.min.min(tau);
        if !sure && self.recent <= tau {
            return self.conclude();
        }
        let span = self.span();
        if now.since(self.window_start) > span {
            let stale = now.since(self.window_start) > span + span;
            self.windows = [UNKNOWN, if stale { UNKNOWN } else { self.windows[0] }];
            self.window_start = now;
        }
        self.windows[0] = self.windows[0].min(tau);
        self.conclude();
    }

    fn conclude(&mut self) {
        self.window_end = self.window_start + self.span();
        self.least = self.min.min(self.handshake);
        let recent = self.windows[0].min(self.windows[1]);
        self.recent = match (recent, self.handshake) {
            (UNKNOWN, UNKNOWN) => self.least,
            (UNKNOWN, handshake) => handshake,
            (recent, _) => recent,
        };
    }

    /// An echo of this endpoint, the sender of the data, took `tau`.
    #[inline]
    pub fn note_echo(&mut self, tau: Nanos) {
        self.excess = tau - self.least;
    }

    /// Looks for a queue on the way to this endpoint, in a `sample` of its delay in which it did
    /// not wait. `sender` is on the other side, where the queue may be as well.
    #[inline(always)]
    pub fn sense_queue(&mut self, sample: Nanos, sender: &Tau) {
        let rtt = self.least.0.saturating_add(sender.least.0);
        let excess = sample - self.least;
        if excess.0.saturating_mul(RAISED) >= rtt && self.least.0.saturating_mul(APART) >= rtt {
            self.weigh(excess > sender.excess);
        }
    }

    #[inline(never)]
    fn weigh(&mut self, is_here: bool) {
        self.raised = match is_here {
            true => ENOUGH.min(self.raised + 1),
            false => self.raised.saturating_sub(1),
        };
        self.has_queue = self.raised == ENOUGH || (self.has_queue && self.raised > 0);
    }

    /// Whether a queue stands on the way to this endpoint, again and again.
    #[inline(always)]
    pub fn has_queue(&self) -> bool {
        self.has_queue
    }

    /// A packet with `tsval` passed towards this endpoint. Only the first with a timestamp counts:
    /// what echoes it may answer that one, and a burst has one timestamp for all.
    #[inline(always)]
    pub fn passed_towards(&mut self, now: Nanos, tsval: u32) {
        if self.newest.is_some_and(|newest| tsval.wrapping_sub(newest) as i32 <= 0) {
            return;
        }
        self.newest = Some(tsval);
        match self.probe {
            Some((_, since)) if now.since(since) < PROBE_LIFETIME => {}
            _ => self.probe = Some((tsval, now)),
        }
    }

    /// A packet that echoes `tsecr` came back from this endpoint. An echo of a later timestamp
    /// gives no sample. Gives the sample: an upper bound of the delay, since the endpoint may have
    /// waited, but no longer than `silent`, the time since it last sent.
    #[inline]
    pub fn came_back(&mut self, now: Nanos, tsecr: u32, silent: Nanos) -> Option<Nanos> {
        let (tsval, since) = self.probe?;
        if (tsecr.wrapping_sub(tsval) as i32) < 0 {
            return None;
        }
        self.probe = None;
        (tsecr == tsval).then(|| {
            let tau = now.since(since);
            self.take(now, tau, silent.0 < tau.0 / 8);
            tau
        })
    }

    /// The delay now: the least of the last few round trips.
    #[inline]
    pub fn recent(&self) -> Option<Nanos> {
        known(self.recent)
    }

    /// The delay without queueing, as far as it was seen.
    pub fn least(&self) -> Option<Nanos> {
        known(self.least)
    }
}

#[inline(always)]
fn known(tau: Nanos) -> Option<Nanos> {
    (tau != UNKNOWN).then_some(tau)
}

/// Where the observer stands between `sender` and `receiver`: 0 at the sender, 1 at the receiver.
/// `None` when a side was never measured.
pub fn position(sender: &Tau, receiver: &Tau) -> Option<f64> {
    let (near, far) = (sender.least()?.0 as f64, receiver.least()?.0 as f64);
    (near + far > 0.0).then(|| near / (near + far))
}

/// Where the observer stands to the narrow link of a half.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standpoint {
    /// The least delays to the sender and to the receiver, or [`UNKNOWN`].
    least: [Nanos; 2],
    /// Whether a queue stood on the way to the receiver.
    has_queue: bool,
}

impl Standpoint {
    /// Between `sender` and `receiver`.
    #[inline(always)]
    pub fn of(sender: &Tau, receiver: &Tau) -> Standpoint {
        Standpoint { least: [sender.least, receiver.least], has_queue: receiver.has_queue() }
    }

    /// Whether data comes by before the narrow link: the observer is nearer to the sender, or half
    /// way ([`position`] at most 0.5), or the queue is behind it. `None` when a side was never
    /// measured.
    #[inline]
    pub fn is_before_link(&self) -> Option<bool> {
        let [near, far] = self.least;
        let known = near != UNKNOWN && far != UNKNOWN && near + far > Nanos(0);
        known.then_some(near <= far || self.has_queue)
    }
}

/// Round-trip times of one half: both delays together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rtt {
    /// Samples taken.
    pub samples: u64,
    sum_ns: u64,
    /// Smallest.
    pub min: Option<Nanos>,
    /// Largest.
    pub max: Option<Nanos>,
    /// Smoothed (RFC 6298 section 2).
    pub srtt: Option<Nanos>,
    rttvar: Nanos,
}

impl Rtt {
    /// Takes a sample.
    #[inline]
    pub fn sample(&mut self, rtt: Nanos) {
        self.samples += 1;
        self.sum_ns += rtt.0 as u64;
        self.min = Some(self.min.map_or(rtt, |least| least.min(rtt)));
        self.max = Some(self.max.map_or(rtt, |most| most.max(rtt)));
        // RFC 6298 section 2: alpha = 1/8, beta = 1/4.
        self.srtt = Some(match self.srtt {
            None => {
                self.rttvar = Nanos(rtt.0 / 2);
                rtt
            }
            Some(srtt) => {
                // None of them is negative, so that a shift divides.
                let deviation = (srtt.0 - rtt.0).abs();
                self.rttvar = Nanos((3 * self.rttvar.0 + deviation) >> 2);
                Nanos((7 * srtt.0 + rtt.0) >> 3)
            }
        });
    }

    /// The sample taken since `before`, a copy of this from when there was one less.
    pub fn newest(&self, before: &Rtt) -> Option<Nanos> {
        let taken = self.samples > before.samples;
        taken.then(|| Nanos((self.sum_ns - before.sum_ns) as i64))
    }

    /// Mean of all samples.
    pub fn mean(&self) -> Option<Nanos> {
        (self.samples > 0).then(|| Nanos((self.sum_ns / self.samples) as i64))
    }

    /// The retransmission timeout that a Linux sender would use: SRTT + max(200 ms, 4 RTTVAR).
    /// Before the first sample one second (RFC 6298 section 2.1).
    pub fn rto(&self) -> Nanos {
        match self.srtt {
            Some(srtt) => srtt + Nanos::from_millis(200).max(Nanos(4 * self.rttvar.0)),
            None => Nanos::SECOND,
        }
    }
}

/// No delay is known.
const UNKNOWN: Nanos = Nanos::MAX;
/// Long enough for several round trips of most paths, short enough to follow a queue.
const WINDOW: Nanos = Nanos(1_000_000_000);
/// After this, an echo is not expected any more.
const PROBE_LIFETIME: Nanos = Nanos(3_000_000_000);
/// A queue raises a delay by this part of the least round-trip time: one in so many.
const RAISED: i64 = 4;
/// The endpoint is this part of the round-trip time away: nearer, its own waits would look alike.
const APART: i64 = 20;
/// Raised delays after which a queue is taken to stand there: a few may be waits of the endpoint.
/// After as many that were raised more on the other side, none is.
const ENOUGH: u8 = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recent_delay_follows_a_queue_and_the_least_does_not() {
        let mut tau = Tau::default();
        for second in 0..10 {
            let delay = Nanos::from_millis(if second < 5 { 10 } else { 80 });
            for step in 0..10 {
                tau.sample(Nanos(second * 1_000_000_000 + step * 100_000_000), delay);
            }
        }
        assert_eq!(tau.recent(), Some(Nanos::from_millis(80)));
        assert_eq!(tau.least(), Some(Nanos::from_millis(10)));
    }

    #[test]
    fn an_echo_closes_the_probe_and_a_later_echo_gives_no_sample() {
        let mut tau = Tau::default();
        tau.passed_towards(Nanos(0), 7);
        tau.passed_towards(Nanos(1_000), 8);
        tau.came_back(Nanos(5_000), 7, Nanos(0));
        assert_eq!(tau.min, Nanos(5_000));
        tau.passed_towards(Nanos(10_000), 9);
        tau.came_back(Nanos(90_000), 12, Nanos(0));
        assert_eq!(tau.min, Nanos(5_000));
        assert_eq!(tau.recent(), Some(Nanos(5_000)));
    }

    #[test]
    fn an_echo_of_a_burst_answers_its_first_packet() {
        let mut tau = Tau::default();
        tau.passed_towards(Nanos(0), 7);
        tau.came_back(Nanos(5_000), 7, Nanos(0));
        tau.passed_towards(Nanos(6_000), 7);
        assert_eq!(tau.came_back(Nanos(6_500), 7, Nanos(0)), None);
        tau.passed_towards(Nanos(7_000), 6);
        assert_eq!(tau.came_back(Nanos(7_100), 6, Nanos(0)), None, "it was overtaken");
        tau.passed_towards(Nanos(8_000), 8);
        assert_eq!(tau.came_back(Nanos(14_000), 8, Nanos(0)), Some(Nanos(6_000)));
        assert_eq!(tau.least(), Some(Nanos(5_000)));
    }

    #[test]
    fn position_is_the_share_of_the_delay_on_the_senders_side() {
        let (mut near, mut far) = (Tau::default(), Tau::default());
        near.set_handshake(Some(Nanos(10)));
        far.set_handshake(Some(Nanos(30)));
        assert_eq!(position(&near, &far), Some(0.25));
        assert_eq!(Standpoint::of(&near, &far).is_before_link(), Some(true));
        assert_eq!(Standpoint::of(&far, &near).is_before_link(), Some(false));
        assert_eq!(position(&near, &Tau::default()), None);
        assert_eq!(Standpoint::of(&near, &Tau::default()).is_before_link(), None);
    }

    fn apart(sender: i64, receiver: i64) -> (Tau, Tau) {
        let (mut one, mut other) = (Tau::default(), Tau::default());
        one.set_handshake(Some(Nanos(sender)));
        other.set_handshake(Some(Nanos(receiver)));
        (one, other)
    }

    #[test]
    fn a_queue_behind_the_observer_puts_the_narrow_link_there() {
        let (sender, mut receiver) = apart(80, 20);
        for sample in [20, 44, 45, 45, 45, 45, 45, 45, 45] {
            receiver.sense_queue(Nanos(sample), &sender);
            assert!(!receiver.has_queue());
            assert_eq!(Standpoint::of(&sender, &receiver).is_before_link(), Some(false));
        }
        receiver.sense_queue(Nanos(200), &sender);
        assert!(receiver.has_queue());
        assert_eq!(Standpoint::of(&sender, &receiver).is_before_link(), Some(true));
        assert_eq!(position(&sender, &receiver), Some(0.8), "it stands where it stood");
    }

    #[test]
    fn what_waits_at_the_receiver_itself_is_no_queue_of_the_path() {
        let (sender, mut receiver) = apart(96, 4);
        (0..100).for_each(|_| receiver.sense_queue(Nanos(200), &sender));
        assert!(!receiver.has_queue());
    }

    #[test]
    fn the_queue_stands_where_delays_are_raised_more() {
        let (mut sender, mut receiver) = apart(80, 20);
        sender.note_echo(Nanos(280));
        (0..100).for_each(|_| receiver.sense_queue(Nanos(120), &sender));
        assert!(!receiver.has_queue());
        sender.note_echo(Nanos(81));
        (0..100).for_each(|_| receiver.sense_queue(Nanos(120), &sender));
        assert!(receiver.has_queue());
        sender.note_echo(Nanos(280));
        (0..7).for_each(|_| receiver.sense_queue(Nanos(120), &sender));
        assert!(receiver.has_queue());
        receiver.sense_queue(Nanos(120), &sender);
        assert!(!receiver.has_queue());
    }
}
