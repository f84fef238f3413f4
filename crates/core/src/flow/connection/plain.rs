//! The short way: what most segments of a transfer are is taken in runs.
//!
//! Plain is a full segment of new data, in order, with the acknowledgement of the one before it.
//! So is a bare acknowledgement that moves on. For these most questions have one answer, as in the
//! kernel's header prediction (Jacobson 1990). All that holds for a whole run is asked once. A
//! property test holds this way and [`Flow::segment`] equal.

use super::{Flow, both, round_trip};
use crate::flow::entry::Entry;
use crate::flow::half::Half;
use crate::flow::handshake::side;
use crate::flow::observer::Around;
use crate::flow::path::delay::Tau;
use crate::flow::totals::Counted;
use crate::units::{Nanos, Seq};
use crate::wire::flags;

impl Flow {
    /// Takes the plain segments at the begin of `entries`, and gives how many these are. `interval`
    /// is the length of intervals; none ends here.
    #[inline(never)]
    pub fn take_plain(&mut self, entries: &[Entry], interval: Nanos) -> usize {
        let [first, ..] = entries else { return 0 };
        let sender = if first.payload_len > 0 { side(first) } else { 1 - side(first) };
        let known = self.first_seq[0].is_some() && self.first_seq[1].is_some();
        if !is_plain(first) || !known || !self.handshake.is_settled() {
            return 0;
        }
        let flow_start = self.start;
        let (own, peer) = both(&mut self.halves, sender);
        let Some(mut run) = own.plain_run(peer, interval) else { return 0 };
        let (tau, peer_tau) = both(&mut self.taus, sender);
        let (mut data, mut acks) = (Counted::default(), Counted::default());
        let first_seq = own.next_seq();
        let mut taken = 0;
        for entry in entries {
            if !is_plain(entry) {
                break;
            }
            if side(entry) == sender {
                if !own.is_plain_data(entry, &run) {
                    break;
                }
                data.add(entry);
                if entry.has_timestamps() {
                    data_timestamps(entry, own, (tau, peer_tau));
                }
                let around = Around { sender: tau, receiver: peer_tau, flow_start, interval };
                if !own.plain_data(entry, around, &mut run) {
                    taken += 1;
                    break;
                }
            } else {
                if !own.is_plain_ack(entry, &run) {
                    break;
                }
                acks.add(entry);
                if entry.has_timestamps() {
                    tau.passed_towards(entry.ts, entry.tsval);
                    own.answered(entry);
                    peer_tau.came_back(entry.ts, entry.tsecr, Nanos(0));
                }
                let around = Around { sender: tau, receiver: peer_tau, flow_start, interval };
                let acked = own.plain_ack(entry, around);
                if let Some(sample) = acked.sample {
                    round_trip(entry, sample, &acked, own, (peer_tau, tau));
                }
            }
            taken += 1;
        }
        let entries = &entries[..taken];
        let Some(last) = entries.last() else { return 0 };
        self.end = self.end.max(last.ts);
        self.recent.skip(entries);
        let of = |side: usize| entries.iter().filter(move |entry| self::side(entry) == side);
        if data.any() {
            peer.note_peer_data();
            let last_seq = Seq(own.next_seq().0.wrapping_sub(run.mss));
            own.end_plain_run(&mut run);
            own.totals.count_plain(&data, (first_seq, last_seq), of(sender));
        }
        let seq = run.receiver_seq;
        peer.totals.count_plain(&acks, (seq, seq), of(1 - sender));
        taken
    }
}

/// Whether nothing but data or an acknowledgement is in a segment.
#[inline(always)]
fn is_plain(entry: &Entry) -> bool {
    entry.flags() & !flags::PSH == flags::ACK
}

/// What the timestamps of plain data tell, as for any segment. Delays are given of its sender, then
/// of the receiver.
#[inline(always)]
fn data_timestamps(entry: &Entry, own: &mut Half, (tau, peer_tau): (&mut Tau, &mut Tau)) {
    peer_tau.passed_towards(entry.ts, entry.tsval);
    let silent = own.totals.last_data.map_or(Nanos::MAX, |last| entry.ts.since(last));
    let sample = tau.came_back(entry.ts, entry.tsecr, silent);
    own.echo(entry, sample, tau, peer_tau);
}

#[cfg(test)]
mod tests;
