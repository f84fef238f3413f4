//! The facts of an interval as ratios: what every test of the diagnosis looks at.

use super::threshold;
use crate::flow::path::capacity::Capacity;
use crate::flow::time::clock::WaitReason;
use crate::flow::time::interval_stats::IntervalStats;
use crate::flow::time::service::LENGTHS;
use crate::flow::time::sums::Sums;
use crate::flow::time::view::TICK_NS;
use crate::units::{Nanos, float};

/// What is known of the half as a whole when an interval of it is judged.
#[derive(Clone, Copy, Debug, Default)]
pub struct Context {
    /// Payload bytes of a full segment.
    pub mss_bytes: u32,
    /// IP and TCP header bytes of a full segment.
    pub headers_bytes: u32,
    /// The receiver's MSS option.
    pub mss_option: Option<u32>,
    /// Least round-trip time of the flow so far.
    pub rtt_min: Option<Nanos>,
    /// The same, the handshake's included: what a row calls the smallest.
    pub rtt_least: Option<Nanos>,
    /// It was shorter than a tick of the capture's clock.
    pub rtt_unresolved: bool,
    /// Capacity of the path in bit/s of IP packets.
    pub capacity_bps: Option<f64>,
    /// The packets come evenly, as fast as they are delivered, and none of them queues: their pace
    /// is the sender's own.
    pub own_pace: bool,
    /// The gaps between its packets differ by whole packets of others.
    pub others_between: bool,
    /// Shift of the receiver's window, and whether it is known from the handshake.
    pub window_scale: Option<u8>,
    /// Whether both sides permitted SACK; `None` where not both SYNs were seen.
    pub sack_agreed: Option<bool>,
    /// Share of the bytes that the capture missed.
    pub missed: f64,
    /// Where the observer stands, 0 at the data sender.
    pub position: Option<f64>,
    /// Largest receiver window in bytes.
    pub rwnd_max: Option<u64>,
    /// Largest of those that new data met.
    pub rwnd_met: Option<u64>,
    /// The window that the flight sizes imply, where the handshake was not seen.
    pub inferred_rwnd: Option<u64>,
    /// Smaller segments were acknowledged and full ones, sent as well, never were.
    pub only_small_answered: bool,
    /// Nothing was acknowledged, of no more than an initial window.
    pub unanswered: bool,
    /// The capture does not show the acknowledgements.
    pub acks_unseen: bool,
}

/// Ratios of an interval; `None` where there is nothing to divide.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Time accounted for in s.
    pub span_s: f64,
    /// Shares of that time by reason.
    pub idle: f64,
    /// The send queue had run dry.
    pub dry: f64,
    /// Room was left unused.
    pub unused: f64,
    /// Receiver window.
    pub receiver: f64,
    /// Network or congestion control.
    pub network: f64,
    /// Loss recovery.
    pub recovery: f64,
    /// Share of round-trip samples with a queue.
    pub raised: Option<f64>,
    /// Mean over least round-trip time.
    pub inflation: Option<f64>,
    /// Data segments.
    pub packets: u64,
    /// Payload bytes counted once.
    pub unique_bytes: u64,
    /// Loss episodes.
    pub losses: u64,
    /// Loss ratio: retransmitted bytes, spurious ones excluded, over bytes sent.
    pub loss_ratio: f64,
    /// Share of the bytes sent again that had been lost: the rest proved unneeded.
    pub genuine: f64,
    /// Loss episodes of which the round-trip time before is known.
    pub losses_timed: u32,
    /// Share of the loss episodes that came with a queue.
    pub losses_queued: Option<f64>,
    /// Marks and echoes of ECN.
    pub marks: u32,
    /// Rounds.
    pub rounds: u32,
    /// Variation of the flight from round to round.
    pub flight_variation: Option<f64>,
    /// Share of the rounds that grew.
    pub growing: f64,
    /// Share of the rounds that shrank as much.
    pub shrinking: f64,
    /// Share of the rounds that grew by a quarter.
    pub leaping: f64,
    /// Share of the segments sent within 3 MSS of the window's end.
    pub at_edge: f64,
    /// Largest flight of a round in segments.
    pub flight_segments: f64,
    /// Mean of the largest flights of the rounds in segments.
    pub flight_mean_segments: f64,
    /// Largest flight of the rounds over the window that was inferred from flights.
    pub inferred_fullness: Option<f64>,
    /// Mean flight over mean window.
    pub fullness: Option<f64>,
    /// Share of rounds with a queue.
    pub queued: f64,
    /// Delivery rate in rounds with a queue, bit/s of payload.
    pub queued_rate_bps: Option<f64>,
    /// Rounds that it rests on.
    pub queued_rates: u32,
    /// Its variation.
    pub queued_rate_variation: Option<f64>,
    /// That rate over the capacity.
    pub utilisation: Option<f64>,
    /// What was sent in all, in bit/s of IP packets.
    pub sent_bps: f64,
    /// The same over the capacity.
    pub load: Option<f64>,
    /// Mean payload of a new segment over the largest that the receiver takes.
    pub filling: Option<f64>,
    /// Share of segments with PSH.
    pub pushes: f64,
    /// Share of small segments,
    pub smalls: f64,
    /// and how many there were a round.
    pub smalls_a_round: f64,
    /// Share of the time in which a sender with an empty queue and data in flight waited for one of
    /// several acknowledgements,
    pub woken: f64,
    /// and for something else.
    pub unwoken: f64,
    /// Share of the time in which one with more to send waited for the last of several
    /// acknowledgements.
    pub gathered: f64,
    /// Share of the time in which a sender with room and more to send waited for what came right
    /// after an acknowledgement,
    pub clocked: f64,
    /// of this what was sent with the acknowledgement, in the same breath,
    pub at_once: f64,
    /// and without one of new data since the last segment.
    pub unprompted: f64,
    /// Share of the time in waits with room in which acknowledgements came,
    pub acknowledged: f64,
    /// and of those that ended in the first quarter of the time between two of them.
    pub early: f64,
    /// The same share, also of waits with more acknowledgements than tell what ended them,
    pub heard: f64,
    /// and the share of that which ended in the first quarter of the time between two messages of
    /// the other side.
    pub asked: f64,
    /// Such messages per acknowledgement.
    pub talk: f64,
    /// Typical pause in s, weighted by time.
    pub pause_s: Option<f64>,
    /// Idle time for each pause, the one under way at the end among them, in s.
    pub silence_s: f64,
    /// Share of the pauses that ended with a question of the other side.
    pub answers: f64,
    /// How many pauses there were.
    pub pauses: f64,
    /// Mean delivery rate of the rounds without a repair, bit/s of payload,
    pub round_rate_bps: Option<f64>,
    /// and its variation.
    pub rate_variation: Option<f64>,
    /// Round-trip samples.
    pub rtt_samples: u32,
    /// Standard deviation over mean of the round-trip times.
    pub rtt_variation: Option<f64>,
    /// Mean one-way delay of new data, above the least so far, in s.
    pub one_way_s: Option<f64>,
    /// The least of the interval.
    pub one_way_low_s: Option<f64>,
    /// Least and largest round-trip time of the interval in s.
    pub rtt_low_s: Option<f64>,
    /// See [`Facts::rtt_low_s`].
    pub rtt_high_s: Option<f64>,
    /// Correlation of flight and round-trip time over the rounds.
    pub flight_rtt: Option<f64>,
    /// Correlation of flight and delivery rate over the rounds.
    pub flight_rate: Option<f64>,
    /// Relative change of the round-trip time with that of the flight: 1 where the flight alone
    /// makes the queue (Little's law at a constant rate).
    pub rtt_elasticity: Option<f64>,
    /// The same of the delivery rate: 0 where the flow has a full link for itself.
    pub rate_elasticity: Option<f64>,
    /// What was acknowledged in spans of each length: how many spans there were,
    pub served_spans: [u32; LENGTHS],
    /// their variation,
    pub served_variation: [Option<f64>; LENGTHS],
    /// and their mean in bytes.
    pub served_bytes: [Option<f64>; LENGTHS],
    /// Share of the spans of the second length without an acknowledgement.
    pub served_empty: Option<f64>,
    /// Gaps between acknowledgements of new data: their variation,
    pub ack_gap_variation: Option<f64>,
    /// mean in s,
    pub ack_gap_s: Option<f64>,
    /// and the longest in s.
    pub ack_gap_most_s: Option<f64>,
    /// Times the window closed.
    pub closures: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Of these, for what had been acknowledged: the sender has not heard of it.
    pub unheard: u32,
    /// Acknowledgements of new data.
    pub advances: u32,
    /// Mean over largest window that the receiver ever advertised.
    pub openness: Option<f64>,
    /// Mean over largest window that new data met so far.
    pub left_open: Option<f64>,
    /// Smallest over mean window.
    pub window_sway: Option<f64>,
    /// Largest fall of the window below an earlier one, over the largest window.
    pub window_fall: f64,
}

impl Facts {
    /// The facts of `sums`.
    pub fn of(sums: &Sums, context: &Context) -> Facts {
        let none = IntervalStats::default();
        let stats = sums.stats.as_deref().unwrap_or(&none);
        let mut facts = Facts {
            packets: sums.data_packets,
            unique_bytes: sums.unique_bytes,
            losses: sums.loss_events,
            marks: stats.ce_marks + stats.ecn_echoes,
            rounds: stats.rounds,
            closures: stats.closures,
            timeouts: stats.timeouts,
            unheard: stats.unheard,
            advances: stats.advances,
            ..Facts::default()
        };
        facts.take_times(stats);
        facts.take_queue(stats, context);
        facts.take_losses(sums, stats);
        facts.take_flight(sums, stats, context);
        facts.take_writes(sums, stats, context);
        facts.take_sent(sums, context);
        facts.take_capacity(context);
        facts.take_service(stats);
        facts
    }

    fn take_times(&mut self, stats: &IntervalStats) {
        let times = &stats.times;
        let total = times.total() as f64;
        let share = |reason| if total > 0.0 { times.of(reason) as f64 / total } else { 0.0 };
        self.span_s = total / 1e9;
        self.idle = share(WaitReason::Idle);
        self.dry = share(WaitReason::Dry);
        self.unused = share(WaitReason::Unused);
        self.receiver = share(WaitReason::Receiver);
        self.network = share(WaitReason::Network);
        self.recovery = share(WaitReason::Recovery);
        let of_total = |ns: u64| if total > 0.0 { (ns as f64 / total).min(1.0) } else { 0.0 };
        (self.woken, self.unwoken) = (of_total(stats.woken_ns), of_total(stats.unwoken_ns));
        self.gathered = of_total(stats.gathered_ns);
        self.clocked = of_total(stats.prompts.clocked_ns);
        self.at_once = of_total(stats.prompts.at_once_ns);
        self.acknowledged = of_total(stats.prompts.acknowledged_ns);
        self.early = of_total(stats.prompts.early_ns);
        self.unprompted = of_total(stats.prompts.unprompted_ns);
        let (heard, asked) = (stats.prompts.heard_ticks, stats.prompts.asked_ticks);
        self.heard = of_total(u64::from(heard) * TICK_NS);
        self.asked = ratio(asked, heard).unwrap_or(0.0);
        self.talk = ratio(stats.messages, stats.advances).unwrap_or(0.0);
    }

    fn take_queue(&mut self, stats: &IntervalStats, context: &Context) {
        self.raised = ratio(stats.rtt_raised, stats.rtt_samples);
        let mean = ratio_f64(stats.rtt_sum as f64, stats.rtt_samples);
        self.inflation = mean.zip(context.rtt_min).map(|(mean, least)| mean / least.0 as f64);
        self.queued = ratio(stats.rounds_queued, stats.rounds).unwrap_or(0.0);
        self.queued_rates = stats.queued_rates.count;
        self.queued_rate_bps = stats.queued_rates.mean();
        self.queued_rate_variation = stats.queued_rates.variation();
        self.round_rate_bps = stats.rates().mean();
        self.rate_variation = stats.rates().variation();
        self.rtt_samples = stats.rtt_samples;
        let mean_s = mean.map(|ns| ns / 1e9).filter(|&s| s > 0.0 && stats.rtt_samples > 1);
        self.rtt_variation = mean_s.map(|mean_s| {
            let squares = stats.rtt_squares / f64::from(stats.rtt_samples);
            (squares - mean_s * mean_s).max(0.0).sqrt() / mean_s
        });
        (self.one_way_s, self.one_way_low_s) = (stats.excess.mean_s(), stats.excess.least_s());
        self.rtt_low_s = stats.rtt_least.get().map(Nanos::as_secs_f64);
        self.rtt_high_s = stats.rtt_most.get().map(Nanos::as_secs_f64);
        self.flight_rtt = stats.flight_rtt.correlation();
        self.flight_rate = stats.flight_rate.correlation();
        self.rtt_elasticity = stats.flight_rtt.elasticity();
        self.rate_elasticity = stats.flight_rate.elasticity();
    }

    fn take_service(&mut self, stats: &IntervalStats) {
        let Some(served) = stats.served.as_deref() else { return };
        for (length, spans) in served.spans.iter().enumerate() {
            self.served_spans[length] = spans.count;
            if spans.count >= threshold::SPANS {
                self.served_variation[length] = spans.variation();
                self.served_bytes[length] = spans.mean();
            }
        }
        self.served_empty = ratio(served.empty, served.spans[1].count);
        self.ack_gap_variation = served.gaps.variation();
        self.ack_gap_s = served.gaps.mean().map(|ns| ns / 1e9);
        self.ack_gap_most_s = (served.gaps.count > 0).then(|| served.gap_most.as_secs_f64());
    }

    fn take_losses(&mut self, sums: &Sums, stats: &IntervalStats) {
        let lost = sums.retransmitted_bytes.saturating_sub(sums.spurious_bytes);
        let part = |a: u64, b: u64, or| if b > 0 { a as f64 / b as f64 } else { or };
        self.loss_ratio = part(lost, sums.payload_bytes, 0.0);
        self.genuine = part(lost, sums.retransmitted_bytes, 1.0);
        self.losses_timed = stats.losses_timed;
        self.losses_queued = ratio(stats.losses_queued, stats.losses_timed);
    }

    fn take_flight(&mut self, sums: &Sums, stats: &IntervalStats, context: &Context) {
        let most = stats.flight_most as f64;
        self.flight_variation = stats.flights().variation();
        self.growing = ratio(stats.rounds_growing, stats.rounds).unwrap_or(0.0);
        self.shrinking = ratio(stats.rounds_shrinking, stats.rounds).unwrap_or(0.0);
        self.leaping = ratio(stats.rounds_leaping, stats.rounds).unwrap_or(0.0);
        let mss = f64::from(context.mss_bytes.max(1));
        self.flight_segments = most / mss;
        self.flight_mean_segments = stats.flights().mean().unwrap_or(0.0) / mss;
        self.fullness = stats.flights().mean().zip(sums.rwnd_mean()).map(|(f, w)| f / w);
        if sums.rwnd_known > 0 {
            self.at_edge = sums.rwnd_limited as f64 / sums.rwnd_known as f64;
        }
        let inferred = context.inferred_rwnd.filter(|&rwnd| rwnd > 0 && stats.rounds > 0);
        self.inferred_fullness = inferred.map(|rwnd| most / rwnd as f64);
        let most = context.rwnd_max.filter(|&most| most > 0);
        let of =
            |most: Option<u64>| sums.rwnd_mean().zip(most).map(|(mean, most)| mean / most as f64);
        (self.openness, self.left_open) = (of(most), of(context.rwnd_met));
        self.window_fall = float(sums.rwnd_fall) / float(sums.rwnd_max.max(1));
        self.window_sway =
            sums.rwnd_min.get().zip(sums.rwnd_mean()).map(|(w, mean)| w as f64 / mean);
    }

    fn take_writes(&mut self, sums: &Sums, stats: &IntervalStats, context: &Context) {
        self.pushes = ratio(stats.pushes, stats.segments).unwrap_or(0.0);
        self.smalls = ratio(stats.smalls, stats.segments).unwrap_or(0.0);
        self.smalls_a_round = ratio(stats.smalls, stats.rounds).unwrap_or(f64::from(stats.smalls));
        self.pauses = f64::from(stats.pauses.count);
        self.pause_s = stats.pauses.weighted_mean().map(|ns| ns / 1e9);
        self.silence_s = self.idle * self.span_s / f64::from(stats.pauses.count + 1);
        self.answers = ratio(stats.answers, stats.pauses.count).unwrap_or(0.0);
        let most = context.mss_option.filter(|_| stats.segments > 0);
        let mean = sums.unique_bytes as f64 / sums.data_packets.max(1) as f64;
        self.filling = most.map(|most| mean / f64::from(most));
    }

    fn take_sent(&mut self, sums: &Sums, context: &Context) {
        let sent_bits = sums.payload_bytes as f64 * 8.0 * context.on_wire();
        self.sent_bps = if self.span_s > 0.0 { sent_bits / self.span_s } else { 0.0 };
    }

    /// Compares rates with the capacity.
    pub fn take_capacity(&mut self, context: &Context) {
        let rate = self.queued_rate_bps.zip(context.capacity_bps);
        self.utilisation = rate.map(|(rate, capacity)| rate * context.on_wire() / capacity);
        let capacity = context.capacity_bps.filter(|_| self.span_s > 0.0);
        self.load = capacity.map(|capacity| self.sent_bps / capacity);
    }

    /// Goodput over the time accounted for, in bit/s.
    pub fn rate_bps(&self) -> Option<f64> {
        (self.span_s > 0.0).then(|| self.unique_bytes as f64 * 8.0 / self.span_s)
    }

    /// The same of a transfer that took a round trip at least: what left at once was not a rate.
    pub fn reached_bps(&self, context: &Context) -> Option<f64> {
        let least_s = context.rtt_least.map_or(0.0, |least| least.as_secs_f64());
        (self.span_s > 0.0).then(|| self.unique_bytes as f64 * 8.0 / self.span_s.max(least_s))
    }

    /// Whether a queue stood: round-trip times half above the least one, and by 5 ms (algorithms
    /// 13, `rtt_inflation_th`).
    pub fn bufferbloat(&self, context: &Context) -> Option<bool> {
        let (inflation, least) = (self.inflation?, context.rtt_min?);
        let excess_ns = (inflation - 1.0) * least.0 as f64;
        Some(inflation >= threshold::INFLATED && excess_ns >= threshold::INFLATED_NS)
    }

    /// Whether something queued, not only the half's own bursts.
    pub fn is_queued(&self) -> bool {
        if self.has_own_bursts() || self.stands_beside() {
            return false;
        }
        // One round alone may be an accident.
        let rounds = self.queued * f64::from(self.rounds);
        let rounds_queued = self.queued >= threshold::QUEUED && rounds > 1.5;
        rounds_queued || self.raised.unwrap_or(0.0) >= threshold::RAISED
    }

    /// Whether a queue that comes now and then leaves a flat flight as it is, on a link that is far
    /// from full: it is not what the sender waits for.
    fn stands_beside(&self) -> bool {
        self.raised.is_some_and(|raised| raised < threshold::RAISED)
            && self.queued < threshold::QUEUED_ALWAYS
            && self.rounds >= threshold::FLAT_ROUNDS
            && self.flight_variation.is_some_and(|variation| variation < threshold::FLAT)
            && self.growing < threshold::GROWING
            && self.losses + u64::from(self.marks) == 0
            && self.load.is_some_and(|load| load < threshold::REACHING)
    }

    /// Whether what queues are the half's own bursts, on a link that is far from full: they raise
    /// many samples and leave the least one of nearly every round alone.
    fn has_own_bursts(&self) -> bool {
        self.raised.is_some_and(|raised| raised >= threshold::RAISED)
            && self.queued < threshold::QUEUED_ALWAYS
            && self.rounds >= threshold::FLAT_ROUNDS
            && self.losses + u64::from(self.marks) == 0
            && self.load.is_some_and(|load| load < threshold::REACHING)
    }
}

impl Context {
    /// IP bytes for each byte of payload in full segments.
    fn on_wire(&self) -> f64 {
        1.0 + f64::from(self.headers_bytes) / f64::from(self.mss_bytes.max(1))
    }

    /// The same with this capacity.
    pub fn with(self, capacity: Option<&Capacity>) -> Context {
        Context {
            capacity_bps: capacity.and_then(|capacity| capacity.bps),
            others_between: capacity.is_some_and(Capacity::is_shared),
            own_pace: capacity.is_some_and(Capacity::is_pace),
            ..self
        }
    }
}

fn ratio(a: u32, b: u32) -> Option<f64> {
    ratio_f64(f64::from(a), b)
}

fn ratio_f64(a: f64, b: u32) -> Option<f64> {
    (b > 0).then(|| a / f64::from(b))
}
