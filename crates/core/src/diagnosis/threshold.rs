//! The thresholds that tell causes of a limitation and shares of the time apart, with where they
//! come from. What limits, the model says, which has none.
//!
//! Those that name no source lie between the values that the causes on either side gave. The data
//! were draws 1 to 8 of the variants of the repository's scenarios (3 and 8 by counts alone).
//! The even-numbered captures of the policing study came in addition. Other captures and draws
//! judge them. "On the kernel" means runs of the lab: with other numbers than its scenarios have,
//! or of scenarios whose name has an even first byte of SHA-256.

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
/// Share of the time in which room was left unused from which a sender is paced.
pub const UNUSED: f64 = 0.35;
/// Variation of the flight from round to round below which it is flat (algorithms 13).
pub const FLAT: f64 = 0.08;
/// Rounds below which a flight has no shape (algorithms 13).
pub const FLAT_ROUNDS: u32 = 6;
/// Spans below which what is served in them has no variation.
pub const SPANS: u32 = 4;
/// Share of the time of a direction above which its answer may be sure: it is then at least twice
/// as long as any other. One direction of the worlds of `make consistency` asked for a bound.
pub const OF_THE_WHOLE: f64 = 2.0 / 3.0;
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
/// The same beside a queue: a paced controller (BBR) at a full link gave up to 0.25.
pub const UNUSED_QUEUED: f64 = 0.5;
/// Position below which nothing lies between the sender and the observer.
pub const BESIDE: f64 = 0.02;
/// A flight of no more segments than this is no window that a sender would have: the initial one is
/// ten (RFC 6928).
pub const TINY_FLIGHT: f64 = 3.0;
/// Share of the time without data from which unused room is the application's even beside a queue.
pub const WITHOUT_DATA: f64 = 0.2;
/// Share of the time in which a program waited for room in its send buffer from which that is what
/// limits it. On the kernel, buffers of 24 to 400 kB over 30 to 160 ms gave 0.32 to 0.97. Programs
/// and sockets that pace themselves gave 0.00 to 0.21.
pub const WOKEN: f64 = 0.3;
/// Share of such waits that an acknowledgement ended, of all: at random it is at most a fourth, and
/// on the kernel it was from a half up to all.
pub const WOKEN_MOST: f64 = 0.5;
/// Share of the time from which it is most of it.
pub const MOSTLY: f64 = 0.5;
/// Share of the time from which its owner is clear.
pub const CLEAR_SHARE: f64 = 0.6;
/// Rounds below which the network's time has no shape.
pub const SHAPED_ROUNDS: u32 = 4;
/// Mean over least round-trip time from which a queue stands, and the excess in ns.
pub const INFLATED: f64 = 1.5;
/// See [`INFLATED`].
pub const INFLATED_NS: f64 = 5e6;
/// Load of a queued link from which it is full, whatever the sender leaves unused (segmentation
/// offload waits for room enough for a burst).
pub const LOADED: f64 = 0.85;
/// Mean of the largest flights over the mean window from which the window is what they fill.
pub const FULL: f64 = 0.9;
/// Share below which the clocks do not show a cause that the shape of the flight does.
pub const UNSEEN: f64 = 0.1;
/// Fall of the window below an earlier one, over the largest, above which the receiver took some
/// back.
pub const FALL: f64 = 0.3;
/// Mean over largest window so far below which unread data fills the receiver's buffer.
pub const OPENNESS: f64 = 0.6;
/// Share of the time from which an interval was spent on repairs: most of it.
pub const REPAIRING: f64 = 0.5;
/// Share of the rounds with a queue from which it stands: most of them.
pub const STANDING: f64 = 0.5;
/// Utilisation from which a link that its queue leaves now and then can be the half's alone.
pub const REACHING: f64 = 0.5;
/// Share of the rounds that grew below which a flight does not grow.
pub const GROWING: f64 = 0.3;
/// Share of the bytes sent again that had been lost, below which it was reordering: most were not.
pub const GENUINE: f64 = 0.5;
/// Share of the pauses after a question of the other side from which it is the exchange that
/// pauses.
pub const ANSWERS: f64 = 0.5;
/// Share lost below which any controller may stand.
pub const STANDS_RATIO: f64 = 0.02;
/// Use of a link below which it is not full.
pub const FAR_FROM_FULL: f64 = 1.0 / 3.0;
