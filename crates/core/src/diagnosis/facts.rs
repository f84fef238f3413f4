//! The facts of a stretch as ratios: what every test of the diagnosis looks at.

use super::threshold;
use crate::flow::clock::Holder;
use crate::flow::signs::Moments;
use crate::flow::sums::Sums;
use crate::units::Nanos;

/// What is known of the half as a whole when a stretch of it is judged.
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
    /// Capacity of the path in bit/s of IP packets.
    pub capacity_bps: Option<f64>,
    /// Shift of the receiver's window, and whether it is known from the handshake.
    pub window_scale: Option<u8>,
    /// Share of the bytes that the capture missed.
    pub missed: f64,
    /// Where the observer stands, 0 at the data sender.
    pub position: Option<f64>,
    /// Largest receiver window in bytes.
    pub rwnd_max: Option<u64>,
    /// The window that the flight sizes imply, where the handshake was not seen.
    pub inferred_rwnd: Option<u64>,
}

/// Ratios of a stretch; `None` where there is nothing to divide.
#[derive(Clone, Copy, Debug, Default)]
pub struct Facts {
    /// Time accounted for in s.
    pub span_s: f64,
    /// Shares of that time by holder.
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
    /// Bytes sent again without need not counted, over bytes sent.
    pub loss_ratio: f64,
    /// Share of the bytes sent again that had been lost: the rest proved unneeded.
    pub genuine: f64,
    /// Loss episodes of which the round-trip time before is known.
    pub losses_timed: u32,
    /// Share of the loss episodes that came with a queue.
    pub losses_queued: Option<f64>,
    /// Share of the loss episodes after round-trip times above the mean.
    pub losses_high: Option<f64>,
    /// Variation of the flight at loss episodes.
    pub loss_flight_variation: Option<f64>,
    /// Marks and echoes of ECN.
    pub marks: u32,
    /// Rounds.
    pub rounds: u32,
    /// Variation of the flight from round to round.
    pub flight_variation: Option<f64>,
    /// Share of the rounds that grew.
    pub growing: f64,
    /// Share of the rounds that grew by a quarter.
    pub leaping: f64,
    /// Share of the segments sent within 3 MSS of the window's end.
    pub at_edge: f64,
    /// Largest flight of a round in segments.
    pub flight_segments: f64,
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
    /// The rate of all payload over the capacity.
    pub load: Option<f64>,
    /// Mean payload of a new segment over the largest that the receiver takes.
    pub filling: Option<f64>,
    /// Share of segments with PSH.
    pub pushes: f64,
    /// Share of small segments.
    pub smalls: f64,
    /// Typical pause in s, weighted by time.
    pub pause_s: Option<f64>,
    /// Variation of pauses.
    pub pause_variation: Option<f64>,
    /// Share of the pauses that ended with a question of the other side.
    pub answers: f64,
    /// Times the window closed.
    pub closures: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Smallest over mean window.
    pub window_sway: Option<f64>,
}

impl Facts {
    /// The facts of `sums`.
    pub fn of(sums: &Sums, context: &Context) -> Facts {
        let signs = &sums.signs;
        let total = signs.times.total() as f64;
        let share = |holder| if total > 0.0 { signs.times.of(holder) as f64 / total } else { 0.0 };
        let part = |a: u32, b: u32| if b > 0 { f64::from(a) / f64::from(b) } else { 0.0 };
        let some = |a: u32, b: u32| (b > 0).then(|| f64::from(a) / f64::from(b));
        let lost = sums.retransmitted_bytes.saturating_sub(sums.spurious_bytes);
        let mean = Moments::mean;
        let queued_rate_bps = mean(&signs.queued_rates);
        let mss = f64::from(context.mss_bytes.max(1));
        let on_wire = (mss + f64::from(context.headers_bytes)) / mss;
        Facts {
            span_s: total / 1e9,
            idle: share(Holder::Idle),
            dry: share(Holder::Dry),
            unused: share(Holder::Unused),
            receiver: share(Holder::Receiver),
            network: share(Holder::Network),
            recovery: share(Holder::Recovery),
            raised: some(signs.rtt_raised, signs.rtt_samples),
            inflation: context
                .rtt_min
                .filter(|least| least.0 > 0 && signs.rtt_samples > 0)
                .map(|least| signs.rtt_sum as f64 / f64::from(signs.rtt_samples) / least.0 as f64),
            packets: sums.data_packets,
            unique_bytes: sums.unique_bytes,
            losses: sums.loss_events,
            loss_ratio: if sums.payload_bytes > 0 {
                lost as f64 / sums.payload_bytes as f64
            } else {
                0.0
            },
            genuine: match sums.retransmitted_bytes {
                0 => 1.0,
                again => lost as f64 / again as f64,
            },
            queued_rates: signs.queued_rates.count,
            losses_queued: some(signs.losses_queued, signs.losses_timed),
            losses_high: some(signs.losses_high, signs.losses_timed),
            loss_flight_variation: signs.loss_flights.variation(),
            marks: signs.ce_marks + signs.ecn_echoes,
            rounds: signs.rounds,
            flight_variation: signs.flights.variation(),
            growing: part(signs.rounds_growing, signs.rounds),
            leaping: part(signs.rounds_leaping, signs.rounds),
            at_edge: if sums.rwnd_known > 0 {
                sums.rwnd_limited as f64 / sums.rwnd_known as f64
            } else {
                0.0
            },
            flight_segments: signs.flight_most as f64 / mss,
            losses_timed: signs.losses_timed,
            inferred_fullness: context
                .inferred_rwnd
                .filter(|&rwnd| rwnd > 0 && signs.rounds > 0)
                .map(|rwnd| signs.flight_most as f64 / rwnd as f64),
            fullness: mean(&signs.flights).zip(sums.rwnd_mean()).map(|(f, w)| f / w),
            queued: part(signs.rounds_queued, signs.rounds),
            queued_rate_bps,
            queued_rate_variation: signs.queued_rates.variation(),
            utilisation: queued_rate_bps
                .zip(context.capacity_bps)
                .map(|(rate, capacity)| rate * on_wire / capacity),
            load: context
                .capacity_bps
                .filter(|_| total > 0.0)
                .map(|capacity| sums.payload_bytes as f64 * 8e9 / total * on_wire / capacity),
            filling: context.mss_option.filter(|_| signs.segments > 0).map(|most| {
                let new = sums.unique_bytes as f64 / sums.data_packets.max(1) as f64;
                new / f64::from(most)
            }),
            pushes: part(signs.pushes, signs.segments),
            smalls: part(signs.smalls, signs.segments),
            pause_s: signs.pauses.weighted_mean().map(|ns| ns / 1e9),
            pause_variation: signs.pauses.variation(),
            answers: part(signs.answers, signs.pauses.count),
            closures: signs.closures,
            timeouts: signs.timeouts,
            window_sway: sums
                .rwnd_min
                .zip(sums.rwnd_mean())
                .map(|(least, mean)| least as f64 / mean),
        }
    }

    /// Goodput over the time accounted for, in bit/s.
    pub fn rate_bps(&self) -> Option<f64> {
        (self.span_s > 0.0).then(|| self.unique_bytes as f64 * 8.0 / self.span_s)
    }

    /// Whether a queue stood: round-trip times half above the least one, and by 5 ms (ALGORITHMS
    /// 7.0, `rtt_inflation_th`).
    pub fn bufferbloat(&self, context: &Context) -> Option<bool> {
        let (inflation, least) = (self.inflation?, context.rtt_min?);
        let excess_ns = (inflation - 1.0) * least.0 as f64;
        Some(inflation >= threshold::INFLATED && excess_ns >= threshold::INFLATED_NS)
    }

    /// Whether something queued, not only the half's own bursts.
    pub fn is_queued(&self) -> bool {
        self.queued >= threshold::QUEUED || self.raised.unwrap_or(0.0) >= threshold::RAISED
    }
}
