//! Every threshold of the refined diagnosis, with where it comes from.
//!
//! Those that name no source were chosen on the scenarios of the repository, on draws 1 to 8 of
//! their variants (3 and 8 by counts alone) and on the even-numbered captures of the policing
//! study, between what the causes on either side of them gave there. What judges them are other
//! captures and other draws. "On the kernel" means runs of the lab with other numbers than its
//! scenarios have, and runs of those scenarios whose name has an even first byte of SHA-256.

/// Share of the segments near the window's end, below which its size held nothing back.
pub const TOUCHED: f64 = 0.0005;
/// Share of the rounds with a queue throughout from which a link counts as full. A link kept busy
/// without a standing queue (BBR) raises one round in eight (its gain cycle).
pub const QUEUED: f64 = 0.05;
/// Share of single round-trip samples with a queue from which it counts as full; fewer may be the
/// half's own bursts.
pub const RAISED: f64 = 0.4;
/// Share of the rounds with a queue below which bursts explain the samples that have one: at a
/// link that others use, rounds and samples hardly differ.
pub const QUEUED_ALWAYS: f64 = 0.15;
/// Utilisation in rounds with a queue from which the link is the half's alone: th1 of IM 2021 less
/// what headers and estimates miss.
pub const UNSHARED_UTILISATION: f64 = 0.94;
/// Variation of the delivery rate in rounds with a queue below which nobody else takes a part.
pub const UNSHARED_VARIATION: f64 = 0.10;
/// Variation from which it is not certain: a link alone gave 0.00 to 0.06, one with a steady
/// stream beside it 0.05 to 0.2.
pub const STEADY: f64 = 0.06;
/// Share of the time in which room was left unused from which a sender is paced.
pub const UNUSED: f64 = 0.35;
/// The same for a flat flight, with nothing that queues: a window leaves no room unused. On the
/// kernel clamps gave 0.00 to 0.01, a fixed window that BBR paces 0.13 to 0.20, paced sockets 0.01
/// to 0.45 by how their pace falls on the acknowledgements.
pub const UNUSED_FLAT: f64 = 0.22;
/// Variation of the flight from round to round below which it is flat (ALGORITHMS 7.8: 5 %).
pub const FLAT: f64 = 0.08;
/// Variation below which it is the same to the byte: a fixed window that BBR paces gave 0.000 on
/// the kernel, sockets that the kernel paces 0.017 to 0.056.
pub const CAPPED: f64 = 0.01;
/// Largest over mean flight up to which it is a plateau with dips.
pub const PLATEAU: f64 = 1.12;
/// Rounds below which a flight has no shape (ALGORITHMS 7.8: 8).
pub const FLAT_ROUNDS: u32 = 6;
/// Share of the rounds that leap by a quarter in slow start.
pub const LEAPING: f64 = 0.4;
/// Position from which the sender is the farther end.
pub const HALF_WAY: f64 = 0.5;
/// A pause from this on is no queue's, in s.
pub const LONGEST_QUEUE_S: f64 = 1.0;
/// Share of small segments from which writes are small.
pub const SMALL: f64 = 0.5;
/// A pause from this on is silence, shorter ones are pacing, in s.
pub const SILENCE_S: f64 = 0.1;
/// Share of segments with PSH from which the send buffer keeps running empty.
pub const PUSHES: f64 = 0.02;
/// Small segments a round from which it is the end of writes that makes them, again and again: on
/// the kernel send buffers gave 0.9 to 13, one write of another size at the begin 0.01 to 0.03.
pub const EMPTIED: f64 = 0.2;
/// Mean payload over the largest below which segments are small.
pub const FILLING: f64 = 0.7;
/// Flight at losses over the mean flight from which losses follow the load. Independent losses gave
/// 1.00 to 1.13 in the scenarios, policers 1.2 to 4.7 in the captures of Flach et al. (even half).
pub const LOSS_FLIGHT: f64 = 1.10;
/// Variation of the gaps between losses below which they are regular.
pub const LOSS_REGULAR: f64 = 0.8;
/// Share of segments lost without any queue from which no link errs: TCP would hardly move.
pub const LOSS_HEAVY: f64 = 0.08;
/// Share of the segments that a link which errs may lose all the time: with more of them TCP has a
/// window of five (Mathis et al. 1997), and nobody would use it.
pub const LOSS_LINK: f64 = 0.05;
/// Losses, and bursts before losses, from which more than [`LOSS_HEAVY`] may be chance: their mean
/// rank is then known to 4 %.
pub const HEAVY_CHANCE: u32 = 60;
/// Segments lost below which their share says nothing.
pub const LOST_FEWEST: f64 = 3.0;
/// Variation of the gaps between losses from which they come in clusters (independent ones gave 0.8
/// to 1.1).
pub const LOSS_CLUSTERED: f64 = 1.3;
/// Bursts of a bad channel: below this share of segments,
pub const BURSTS_RATIO: f64 = 0.025;
/// with this clustering,
pub const BURSTS_CLUSTERING: f64 = 2.5;
/// and hardly more in flight than usual.
pub const BURSTS_FLIGHT: f64 = 1.06;
/// and of losses that follow soon on another one so many directly: while a channel is bad nothing
/// passes, whereas a bucket that fills lets some through. Bad channels gave 0.93 to 1.00, policers
/// 0.60 to 1.00 (of the study, even half: 0.67 to 0.96).
pub const BURSTS_ADJACENT: f64 = 0.92;
/// Share of the losses after raised round-trip times from which a short queue overflows.
pub const LOSS_HIGH: f64 = 0.85;
/// Rounds with a queue below which their rates say nothing.
pub const RATED_ROUNDS: u32 = 4;
/// A flat flight that fills this much of a window whose scale was inferred fills it by no accident:
/// any other flight lies anywhere in the octave below it.
pub const INFERRED_FULL: f64 = 0.94;
/// The same when there is a queue: a paced controller (BBR) at a full link gave up to 0.25.
pub const UNUSED_QUEUED: f64 = 0.5;
/// Position below which nothing lies between the sender and the observer.
pub const BESIDE: f64 = 0.02;
/// Position up to which what the sender does shows as it does it.
pub const NEAR: f64 = 0.5;
/// Utilisation from which the capacity must have been underestimated.
pub const OVERUSED: f64 = 1.25;
/// Share of segments at the window's end from which it is the window that lets them out.
pub const AT_EDGE: f64 = 0.8;
/// A flight of no more segments than this is no window that a sender would have: the initial one is
/// ten (RFC 6928).
pub const TINY_FLIGHT: f64 = 3.0;
/// Share of the time after small segments from which a flat flight is the application's.
pub const DRY: f64 = 0.03;
/// Segments with PSH for each small one from which it is not the end of a write that pushes.
pub const PUSHED: f64 = 4.0;
/// Share of the time without data from which unused room is the application's even beside a queue.
pub const WITHOUT_DATA: f64 = 0.2;
/// Load below which the repair of a loss crawls: one segment a round trip (NewReno) or after
/// timers.
pub const CRAWL: f64 = 0.15;
/// Segments a round trip up to which a repair crawls: NewReno sends one hole and a new segment or
/// two (RFC 6582).
pub const SINGLY: f64 = 3.0;
/// Lead of a share over the next below which both count as the limit.
pub const CLEAR_LEAD: f64 = 0.04;
/// Share of the time in which a program waited for room in its send buffer from which that is what
/// limits it: on the kernel, buffers of 24 to 400 kB over 30 to 160 ms gave 0.32 to 0.97, programs
/// and sockets that pace themselves 0.00 to 0.21.
pub const WOKEN: f64 = 0.3;
/// Share of such waits that an acknowledgement ended, of all: at random it is at most a fourth, and
/// on the kernel it was from a half up to all.
pub const WOKEN_MOST: f64 = 0.5;
/// Share of the time from which its owner is clear.
pub const CLEAR_SHARE: f64 = 0.6;
/// Share of the bytes that the capture missed from which nothing is certain (ALGORITHMS 7.8: 1 %).
pub const MISSED: f64 = 0.01;
/// Rounds below which the network's time has no shape.
pub const SHAPED_ROUNDS: u32 = 4;
/// Mean over least round-trip time from which a queue stands, and the excess in ns.
pub const INFLATED: f64 = 1.5;
/// See [`INFLATED`].
pub const INFLATED_NS: f64 = 5e6;
/// Load of a queued link from which it is full, whatever the sender leaves unused (segmentation
/// offload waits for room enough for a burst).
pub const LOADED: f64 = 0.85;
/// Variation of the delivery rate in rounds with a queue from which the queue came and went.
pub const RAMPING: f64 = 0.25;
/// What a tenth of such rounds delivers (mean and 1.3 deviations) over the capacity, from which
/// nobody else takes a part.
pub const REACHED: f64 = 0.97;
/// Share of the bytes sent again from which a stretch holds hardly anything else, so that it says
/// nothing of what was lost before.
pub const LOSS_ALL: f64 = 0.6;
/// Mean of the largest flights over the mean window from which the window is what they fill.
pub const FULL: f64 = 0.9;
/// Most in flight over the largest window from which the capture lacks acknowledgements: one that
/// is a round trip late at the observer leaves as much again.
pub const OVERRUN: f64 = 2.5;
/// Share of the time that a window which keeps closing has to hold the sender back.
pub const CLOSING: f64 = 0.35;
/// Share below which the clocks do not show a cause that the shape of the flight does.
pub const UNSEEN: f64 = 0.1;
/// Smallest over mean window below which the receiver took some of it back.
pub const SWAY: f64 = 0.7;
/// Mean over largest window below which unread data fills the receiver's buffer.
pub const OPENNESS: f64 = 0.6;
/// Share of the losses with a queue below which, in this many of them, it is not the queue that
/// loses.
pub const QUEUE_FEW: f64 = 0.3;
/// See [`QUEUE_FEW`].
pub const LOSSES_TOLD: u32 = 3;
/// So many losses of which hardly any came with a queue were not lost by one.
pub const LOSSES_MANY: u32 = 10;
/// See [`LOSSES_MANY`].
pub const QUEUE_HARDLY: f64 = 0.15;
/// Share of the losses with a queue from which it is: most of them.
pub const QUEUE_MOST: f64 = 0.5;
/// Share of the time from which a stretch was spent on repairs: most of it.
pub const REPAIRING: f64 = 0.5;
/// The same where hardly anything else was done.
pub const ONLY_REPAIR: f64 = 0.8;
/// Share of the rounds with a queue from which it stands: most of them.
pub const STANDING: f64 = 0.5;
/// Utilisation from which a link that its queue leaves now and then can be the half's alone.
pub const REACHING: f64 = 0.5;
/// Standard deviations above the mean that a tenth of normal values exceeds.
pub const TENTH: f64 = 1.3;
/// Share of the rounds that grew below which a flight does not grow.
pub const GROWING: f64 = 0.3;
/// Share of the bytes sent again that had been lost, below which it was reordering: most were not.
pub const GENUINE: f64 = 0.5;
/// Share of the pauses after a question of the other side from which it is the exchange that
/// pauses.
pub const ANSWERS: f64 = 0.5;
/// Mean flight times the root of the share lost from which a sender does not answer its losses:
/// AIMD settles between 1.2 and 1.9 (Mathis et al. 1997).
pub const STANDS: f64 = 5.0;
/// Variation of the flight from which it does not stand but fell, as behind slow start. BBR behind
/// a policer gave 0.04 to 0.4, the first seconds under random loss 0.6 to 1.1.
pub const STANDS_VARIATION: f64 = 0.5;
/// Share lost below which any controller may stand.
pub const STANDS_RATIO: f64 = 0.02;
/// Variation of the gaps between loss episodes below which they have a rhythm: policers and short
/// queues that one flow fills gave 0.01 to 0.57, random losses 0.56 to 1.3, 1 being chance.
pub const RHYTHM: f64 = 0.60;
/// Less so much over the root of their number, for that is how far it is known.
pub const RHYTHM_CHANCE: f64 = 0.5;
/// The same where flights were no larger at the losses than at other times, which speaks for
/// chance: of six gaps of independent losses one series in 36 is below the former, one in 250 below
/// this, and every interval tries anew.
pub const RHYTHM_CHANCE_FLAT: f64 = 0.8;
/// Losses of a fitted token bucket below which the fit yields to losses that lie as chance lays
/// them: twice the 15 that Flach et al. (SIGCOMM 2016) ask for. Random losses of small windows fit
/// one now and then at first, and no longer when there are more of them.
pub const FIT_FEW: u32 = 30;
/// Mean rank of the losses, by what was sent just before them, from which they meet dense bursts.
/// Simulated buckets of 5 to 8 packets gave 0.70 to 1.00 (0.5 to 30 Mbit/s, 20 to 200 ms), random
/// losses 0.16 to 0.70, and 0.65 at most with more than ten of them.
pub const DENSE: f64 = 0.80;
/// The same where many losses agree: policers that several flows share gave 0.5 to 0.95 in the
/// captures of Flach et al. (even half).
pub const DENSER: f64 = 0.60;
/// The same from which nobody else is in the way: of the intervals at links of the scenarios with
/// a load of a half and more 1,016 were the half's alone, and 2 shared.
pub const DENSEST: f64 = 0.95;
/// Losses below which those before a bucket are not told from chance, however high they rank.
pub const DENSE_FEWEST: u32 = 2;
/// Standard deviations above chance that one series of losses in a hundred reaches at random,
pub const HARDLY_CHANCE: f64 = 2.33;
/// that probability,
pub const HARDLY_CHANCE_TAIL: f64 = 0.01;
/// one in 700,
pub const BEYOND_CHANCE: f64 = 3.0;
/// and one in twenty.
pub const LIKE_CHANCE: f64 = 1.64;
/// Mean rank of the losses, by the round-trip time of what came just before, from which a queue
/// filled up: links with others gave 0.86 to 0.99, those alone 0.72 to 1.00, policers 0.25 to 0.80
/// and random losses 0.33 to 0.76.
pub const DELAYED: f64 = 0.85;
/// The same with fewer losses than [`DELAYS_TOLD`]: a bucket gave 0.95 at most.
pub const DELAYED_FEW: f64 = 0.96;
/// The same below which no queue lost them.
pub const UNDELAYED: f64 = 0.70;
/// Losses that this takes.
pub const DELAYS_TOLD: u32 = 8;
/// Delay in ns that a host adds now and then (ALGORITHMS 7.0 takes it for noise). What came before
/// the losses of policers of the study (even half) waited 0.1 to 0.5 ms, before those of queues
/// 5 ms and more.
pub const HOST_DELAY_NS: i64 = 500_000;
/// This part of the least round-trip time where that is less.
pub const NEAR_DELAY: i64 = 8;
/// Segments lost in one episode, without a queue, from which it was no accident of single ones.
pub const LOST_AT_ONCE: f64 = 5.0;
/// And this much of the largest flight: random losses of more keep flights too small for that.
pub const LOST_OF_FLIGHT: f64 = 0.05;
/// Load from which what a link lost at once it lost itself, as a queue of a few packets does in
/// slow start: a policer's rate is far below the link's, or there would be no use for it. Queues of
/// 8 kB at 10 Mbit/s and 100 ms gave 0.25 to 0.5, policers of the study (even half) 0.005 to 0.1.
pub const LOADED_AT_ONCE: f64 = 0.25;
