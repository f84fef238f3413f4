//! What arrives (RFC 9293 section 3.10.7).

use super::ack::{Acknowledgement, widen};
use super::{Connection, State};
use crate::packet::{Ecn, TcpHeader};
use tcpwhy_core::units::Nanos;
use tcpwhy_core::wire::flags;

impl Connection {
    /// A segment arrives, in whatever state.
    pub(super) fn segment_arrives(&mut self, now: Nanos, header: &TcpHeader, ecn: Ecn) {
        match self.state {
            State::Closed => {}
            State::Listen => self.arrives_in_listen(now, header),
            State::SynSent => self.arrives_in_syn_sent(now, header),
            _ => self.arrives_synchronized(now, header, ecn),
        }
    }

    /// Section 3.10.7.4, its steps in order.
    fn arrives_synchronized(&mut self, now: Nanos, header: &TcpHeader, ecn: Ecn) {
        self.keep_alive.on_segment(now, self.config.keep_alive);
        if self.repeats_syn(header) {
            self.arrives_again(now, header);
            return;
        }
        let seq = widen(self.receiver.nxt, header.seq, self.irs);
        let fin = header.flags & flags::FIN != 0;
        if !self.is_acceptable(header, seq, fin) {
            if header.flags & flags::RST == 0 {
                // A duplicate is reported as such, everything else only answered.
                let payload = u64::from(header.payload_bytes);
                if payload > 0 {
                    self.receiver.on_data(now, seq, payload, false);
                } else {
                    self.receiver.acknowledge_now();
                }
            }
            return;
        }
        if header.flags & flags::RST != 0 {
            self.abort(now);
            return;
        }
        if header.flags & flags::SYN != 0 {
            // RFC 5961 section 4.2: a challenge acknowledgement.
            self.receiver.acknowledge_now();
            return;
        }
        if header.flags & flags::ACK == 0 {
            return;
        }
        if self.state == State::SynReceived && !self.completes_handshake(now, header) {
            self.reset_pending = Some(header.ack);
            return;
        }
        if let Some((tsval, _)) = header.timestamps {
            self.timestamps.on_segment(tsval, seq, &self.receiver);
        }
        self.process_ack(now, header, seq);
        self.process_payload(now, header, seq, ecn);
    }

    /// Whether any part of the segment lies in the window, and it is not older than what was seen.
    /// A segment without payload may be as old as the last acknowledgement that we sent.
    fn is_acceptable(&self, header: &TcpHeader, seq: u64, fin: bool) -> bool {
        let is_old = self.timestamps.is_enabled
            && header.timestamps.is_some_and(|(tsval, _)| self.timestamps.is_old(tsval))
            && header.flags & flags::RST == 0;
        let end = seq + u64::from(header.payload_bytes) + u64::from(fin);
        let (nxt, edge) = (self.receiver.nxt, self.receiver.edge);
        let in_window = if end == seq {
            seq >= self.receiver.last_ack.min(nxt) && seq <= edge.max(nxt)
        } else {
            end > nxt && seq < edge
        };
        in_window && !is_old
    }

    fn process_ack(&mut self, now: Nanos, header: &TcpHeader, seq: u64) {
        let ack = widen(self.sender.board.una, header.ack, self.iss);
        if ack > self.sender.board.nxt {
            // "If the ACK acks something not yet sent ..., then send an ACK".
            self.receiver.acknowledge_now();
            return;
        }
        let shift = self.settled.window_shifts.map_or(0, |(peer, _)| peer);
        let echoed = header.timestamps.filter(|_| self.timestamps.is_enabled);
        let echoed = echoed.filter(|&(_, tsecr)| tsecr != 0);
        let acknowledgement = Acknowledgement {
            ack,
            window: u64::from(header.window_raw) << shift,
            seq,
            has_data: header.payload_bytes > 0 || header.flags & flags::FIN != 0,
            ece: header.flags & flags::ECE != 0,
            timestamp_rtt: echoed.map(|(_, tsecr)| self.timestamps.rtt(now, tsecr)),
            echoed_at: echoed.map(|(_, tsecr)| self.timestamps.sent_at(now, tsecr)),
        };
        self.sender.on_ack(now, &acknowledgement, &header.sack, self.iss);
        self.process_ack_of_fin(now);
    }

    /// Our FIN was acknowledged.
    fn process_ack_of_fin(&mut self, now: Nanos) {
        if !self.sender.is_fin_acknowledged() {
            return;
        }
        match self.state {
            State::FinWait1 => self.enter(now, State::FinWait2),
            State::Closing => self.enter(now, State::TimeWait),
            State::LastAck => self.abort(now),
            _ => {}
        }
    }

    fn process_payload(&mut self, now: Nanos, header: &TcpHeader, seq: u64, ecn: Ecn) {
        if header.flags & flags::CWR != 0 {
            self.ece_pending = false;
        }
        if ecn == Ecn::Ce && self.settled.ecn {
            self.ece_pending = true;
        }
        let fin = header.flags & flags::FIN != 0;
        if header.payload_bytes == 0 && !fin {
            return;
        }
        if let Some((_, tsecr)) = header.timestamps
            && self.timestamps.is_enabled
            && tsecr != 0
        {
            self.receiver.tune.on_echo(tsecr, self.timestamps.rtt(now, tsecr));
        }
        self.receiver.on_data(now, seq, u64::from(header.payload_bytes), fin);
        if self.receiver.is_closed() {
            match self.state {
                State::Established => self.enter(now, State::CloseWait),
                State::FinWait1 => self.enter(now, State::Closing),
                State::FinWait2 => self.enter(now, State::TimeWait),
                _ => {}
            }
        }
    }
}
