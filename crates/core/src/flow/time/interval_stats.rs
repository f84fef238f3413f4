//! Statistics of an interval that show what limits a half: queueing, marks, the shape of the
//! flight, how losses came about. Facts only; [`crate::diagnosis`] judges them.

use crate::flow::path::one_way::Excess;
use crate::flow::time::clock::Times;
use crate::flow::time::moments::{Moments, Powers};
use crate::flow::time::rounds::Round;
use crate::flow::time::service::Served;
use crate::flow::time::view::Prompts;
use crate::maybe::Maybe;
use crate::units::{Nanos, float};

/// Sums over an interval. Two can be added.
#[derive(Clone, Debug, Default)]
pub struct IntervalStats {
    /// Whose time passed.
    pub times: Times,
    /// Round-trip samples that hold the queue of the path.
    pub rtt_samples: u32,
    /// Their sum in ns.
    pub rtt_sum: u64,
    /// Round-trip samples a twentieth above the least one: something queued.
    pub rtt_raised: u32,
    /// Data segments that carried Congestion Experienced.
    pub ce_marks: u32,
    /// Acknowledgements that echoed it.
    pub ecn_echoes: u32,
    /// Loss episodes right after raised round-trip samples.
    pub losses_queued: u32,
    /// Loss episodes of which the round-trip time before was known.
    pub losses_timed: u32,
    /// New data segments with PSH: the send buffer ran empty behind them.
    pub pushes: u32,
    /// New data segments.
    pub segments: u32,
    /// Small ones among them.
    pub smalls: u32,
    /// Waits of a sender with an empty queue and data in flight, through several acknowledgements,
    /// in ns: those that ended as soon as one of them came,
    pub woken_ns: u64,
    /// and those that ended at a time of their own.
    pub unwoken_ns: u64,
    /// Waits after a full segment that ended as soon as the last of several acknowledgements came,
    /// in ns.
    pub gathered_ns: u64,
    /// Waits that an acknowledgement ended, and those that none did.
    pub prompts: Prompts,
    /// One-way delays of new data above the least.
    pub excess: Excess,
    /// Pauses that nothing imposed, in ns: idle, dry and unused time between two sends.
    pub pauses: Moments,
    /// Messages of the other side: its data that is less than a full segment.
    pub messages: u32,
    /// Pauses that ended after the other side had sent data: a question, and its answer.
    pub answers: u32,
    /// Times the receiver closed its window.
    pub closures: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Of these, for what had been acknowledged: the sender has not heard of it.
    pub unheard: u32,
    /// Acknowledgements of new data.
    pub advances: u32,
    /// Rounds: the time in which a flight is sent and acknowledged.
    pub rounds: u32,
    /// Largest flight of each round, in bytes.
    flights: Powers,
    /// The largest of them.
    pub flight_most: u64,
    /// Rounds whose flight was a quarter larger than the one before.
    pub rounds_leaping: u32,
    /// Rounds whose flight was larger by half a segment or more.
    pub rounds_growing: u32,
    /// Rounds whose flight was smaller by as much.
    pub rounds_shrinking: u32,
    /// Rounds with a raised round-trip time.
    pub rounds_queued: u32,
    /// Delivery rates in those, in bit/s.
    pub queued_rates: Moments,
    /// Flight size (x, in bytes) and least round-trip time (y, in ns) of each round.
    pub flight_rtt: Paired,
    /// Flight size (x, in bytes) and delivery rate (y, in bit/s) of each round without a repair.
    pub flight_rate: Paired,
    /// Squares of the round-trip samples, in s².
    pub rtt_squares: f64,
    /// The least of them, and the largest.
    pub rtt_least: Maybe<Nanos>,
    /// See [`IntervalStats::rtt_least`].
    pub rtt_most: Maybe<Nanos>,
    /// How evenly the path served it; made with the first acknowledgement that tells.
    pub served: Option<Box<Served>>,
}

/// Sums of pairs of values, for their correlation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paired {
    count: u32,
    x: Powers,
    y: Powers,
    products: f64,
}

impl Paired {
    /// Adds a pair.
    pub fn add(&mut self, x: f64, y: f64) {
        self.count += 1;
        self.x.add(x);
        self.y.add(y);
        self.products += x * y;
    }

    fn moments(&self) -> [Moments; 2] {
        [self.x, self.y].map(|powers| Moments::of(self.count, powers))
    }

    /// Pearson's correlation coefficient; `None` of fewer than four pairs, or where one of the two
    /// does not vary by a hundredth.
    pub fn correlation(&self) -> Option<f64> {
        let n = f64::from(self.count);
        let [xs, ys] = self.moments();
        let (x, y) = (xs.mean()?, ys.mean()?);
        let (dx, dy) = (xs.variation()? * x, ys.variation()? * y);
        let varies = self.count >= 4 && dx > x * 0.01 && dy > y * 0.01;
        varies.then(|| ((self.products / n - x * y) / (dx * dy)).clamp(-1.0, 1.0))
    }

    /// How much y changes in parts of its mean where x changes by one of its own: the slope of the
    /// least squares. `None` as for [`Paired::correlation`], but y may stay as it is.
    pub fn elasticity(&self) -> Option<f64> {
        let n = f64::from(self.count);
        let [xs, ys] = self.moments();
        let (x, y) = (xs.mean()?, ys.mean().filter(|&mean| mean > 0.0)?);
        let dx = xs.variation()? * x;
        let varies = self.count >= 4 && dx > x * 0.01;
        varies.then(|| (self.products / n - x * y) / (dx * dx) * x / y)
    }

    fn merge(&mut self, other: &Paired) {
        self.count = self.count.saturating_add(other.count);
        self.x.merge(&other.x);
        self.y.merge(&other.y);
        self.products += other.products;
    }
}

impl IntervalStats {
    /// The largest flight of each round, in bytes.
    pub fn flights(&self) -> Moments {
        Moments::of(self.rounds, self.flights)
    }

    /// Delivery rates in all rounds without a repair, in bit/s.
    pub fn rates(&self) -> Moments {
        self.flight_rate.moments()[1]
    }

    /// Adds a later interval.
    pub fn merge(&mut self, later: &IntervalStats) {
        self.times.merge(&later.times);
        self.rtt_samples += later.rtt_samples;
        self.rtt_sum += later.rtt_sum;
        self.rtt_raised += later.rtt_raised;
        self.ce_marks += later.ce_marks;
        self.ecn_echoes += later.ecn_echoes;
        self.losses_queued += later.losses_queued;
        self.losses_timed += later.losses_timed;
        self.pushes += later.pushes;
        self.segments += later.segments;
        self.smalls += later.smalls;
        self.woken_ns += later.woken_ns;
        self.unwoken_ns += later.unwoken_ns;
        self.gathered_ns += later.gathered_ns;
        self.prompts.merge(&later.prompts);
        self.excess.merge(&later.excess);
        self.pauses.merge(&later.pauses);
        self.answers += later.answers;
        self.messages += later.messages;
        self.closures += later.closures;
        self.timeouts += later.timeouts;
        self.unheard += later.unheard;
        self.advances += later.advances;
        self.rounds += later.rounds;
        self.flights.merge(&later.flights);
        self.flight_most = self.flight_most.max(later.flight_most);
        self.rounds_leaping += later.rounds_leaping;
        self.rounds_growing += later.rounds_growing;
        self.rounds_shrinking += later.rounds_shrinking;
        self.rounds_queued += later.rounds_queued;
        self.queued_rates.merge(&later.queued_rates);
        self.flight_rtt.merge(&later.flight_rtt);
        self.flight_rate.merge(&later.flight_rate);
        self.rtt_squares += later.rtt_squares;
        self.rtt_least = self.rtt_least.min(later.rtt_least);
        self.rtt_most = self.rtt_most.max(later.rtt_most);
        match (&mut self.served, &later.served) {
            (Some(mine), Some(theirs)) => mine.merge(theirs),
            (None, theirs) => self.served = theirs.clone(),
            (_, None) => {}
        }
    }

    /// Takes a round-trip sample; `raised` tells whether it shows a queue.
    #[inline]
    pub fn round_trip(&mut self, rtt: Nanos, raised: bool) {
        self.rtt_samples += 1;
        self.rtt_sum += rtt.0 as u64;
        self.rtt_raised += u32::from(raised);
        let s = rtt.0 as f64 / 1e9;
        self.rtt_squares += s * s;
        self.rtt_least = self.rtt_least.min(rtt.into());
        self.rtt_most = self.rtt_most.max(rtt.into());
    }

    /// Takes a pause that nothing imposed.
    #[inline]
    pub fn pause(&mut self, ns: u64, answers: bool) {
        self.pauses.add(float(ns));
        self.answers += u32::from(answers);
    }

    /// Takes a round of a half whose least round-trip time is `floor`.
    pub fn round(&mut self, round: &Round, floor: Option<Nanos>, mss: u32) {
        self.rounds += 1;
        let flight = float(round.flight);
        self.flights.add(flight);
        self.flight_most = self.flight_most.max(round.flight);
        let before = round.flight_before;
        self.rounds_leaping += u32::from(before > 0 && round.flight * 4 >= before * 5);
        self.rounds_growing += u32::from(round.flight >= before + u64::from(mss / 2));
        self.rounds_shrinking += u32::from(round.flight + u64::from(mss / 2) <= before);
        let rate_bps = float(round.bytes) * 8e9 / round.span.0.max(1) as f64;
        if round.span.0 > 0 && !round.repairing {
            self.flight_rate.add(flight, rate_bps);
        }
        if let Some(rtt) = round.rtt {
            self.flight_rtt.add(flight, rtt.0 as f64);
        }
        if let (Some(rtt), Some(floor)) = (round.rtt, floor)
            && is_raised(rtt, floor)
        {
            self.rounds_queued += 1;
            if round.span.0 > 0 && !round.repairing {
                self.queued_rates.add(rate_bps);
            }
        }
    }

    /// Takes a loss episode. `rtt` is the sample before it, `floor` the
    /// least one of the half.
    pub fn loss(&mut self, rtt: Option<Nanos>, floor: Nanos) {
        if let Some(rtt) = rtt {
            self.losses_timed += 1;
            self.losses_queued += u32::from(is_queued(rtt, floor));
        }
    }
}

/// Whether a round-trip sample shows a queue: a twentieth above the least one, and by more than a
/// host takes now and then to answer.
pub fn is_raised(rtt: Nanos, floor: Nanos) -> bool {
    rtt.0 - floor.0 >= (floor.0 / 20).max(500_000)
}

/// Whether losses right after such a sample are a queue's: an eighth above the least one.
pub fn is_queued(rtt: Nanos, floor: Nanos) -> bool {
    rtt.0 - floor.0 >= (floor.0 / 8).max(500_000)
}
