//! What leaves: control segments, data, acknowledgements, in this order.

use super::receiver::Due;
use super::send::Departure;
use super::{Connection, State};
use crate::endpoint::{Kind, Outgoing};
use crate::packet::{Ecn, SackBlocks, TcpHeader};
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::flags;

impl Connection {
    /// The next segment, if any.
    pub(super) fn segment_leaves(&mut self, now: Nanos) -> Option<Outgoing> {
        if let Some(seq) = self.reset_pending.take() {
            let header = TcpHeader { seq, flags: flags::RST, ..TcpHeader::default() };
            return Some(Outgoing { header, ecn: Ecn::NotEct, kind: Kind::Reset });
        }
        if let Some(syn) = self.handshake_leaves(now) {
            return Some(syn);
        }
        let is_early = self.is_open_early();
        if !self.state.is_synchronized() && !is_early {
            return None;
        }
        if std::mem::take(&mut self.handshake.ack_is_due) {
            let header = self.header(now, self.sender.board.nxt, 0, SackBlocks::default());
            return Some(Outgoing { header, ecn: Ecn::NotEct, kind: Kind::Ack });
        }
        if self.state.may_send() || is_early {
            let (receiver, irs) = (&self.receiver, self.irs);
            match self.sender.depart(now, || option_bytes(&receiver.sack_blocks(irs))) {
                Ok(departure) => {
                    if is_early {
                        self.sender.hold_timers();
                    }
                    return Some(self.data_segment(now, &departure));
                }
                Err(blocked) => self.sender.note_blocked(now, blocked),
            }
        }
        let kind = match self.receiver.due() {
            Some(Due::Ack) => Kind::Ack,
            Some(Due::WindowUpdate) => Kind::WindowUpdate,
            None => return self.keep_alive_leaves(now),
        };
        let blocks = self.receiver.sack_blocks(self.irs);
        let header = self.header(now, self.sender.board.nxt, 0, blocks);
        Some(Outgoing { header, ecn: Ecn::NotEct, kind })
    }

    fn data_segment(&mut self, now: Nanos, departure: &Departure) -> Outgoing {
        // New data was cut to leave room for SACK blocks; a retransmission was cut earlier.
        let blocks = match departure.kind {
            Kind::New => self.receiver.sack_blocks(self.irs),
            _ => SackBlocks::default(),
        };
        let mut bits = 0;
        bits |= if departure.push && departure.payload > 0 { flags::PSH } else { 0 };
        bits |= if departure.cwr { flags::CWR } else { 0 };
        bits |= if departure.fin { flags::FIN } else { 0 };
        let mut header = self.header(now, departure.start, bits, blocks);
        header.payload_bytes = departure.payload as u32;
        if departure.fin {
            match self.state {
                State::Established => self.enter(now, State::FinWait1),
                State::CloseWait => self.enter(now, State::LastAck),
                _ => {}
            }
        }
        // RFC 3168 section 6.1.4 to 6.1.6: ECT on new data, not on retransmissions or probes.
        let is_capable = self.settled.ecn && departure.kind == Kind::New && departure.payload > 0;
        let ecn = if is_capable { Ecn::Ect0 } else { Ecn::NotEct };
        Outgoing { header, ecn, kind: departure.kind }
    }

    /// A keep-alive probe, if one is due: RFC 9293 section 3.8.4, one position before SND.NXT.
    fn keep_alive_leaves(&mut self, now: Nanos) -> Option<Outgoing> {
        if !self.keep_alive.take_probe() {
            return None;
        }
        let seq = self.sender.board.nxt - 1;
        let header = self.header(now, seq, 0, SackBlocks::default());
        Some(Outgoing { header, ecn: Ecn::NotEct, kind: Kind::KeepAlive })
    }

    /// A header at `start` with the current acknowledgement, which thereby is sent.
    fn header(&mut self, now: Nanos, start: u64, bits: u16, sack: SackBlocks) -> TcpHeader {
        let window_raw = self.receiver.advertise(false);
        let ece = if self.ece_pending { flags::ECE } else { 0 };
        let header = TcpHeader {
            seq: self.wire(start),
            ack: self.irs + self.receiver.nxt as u32,
            flags: flags::ACK | bits | ece,
            window_raw,
            timestamps: self.timestamps.is_enabled.then(|| self.timestamps.option(now)),
            sack,
            ..TcpHeader::default()
        };
        self.receiver.on_ack_sent();
        header
    }

    fn wire(&self, position: u64) -> Seq {
        self.iss + position as u32
    }
}

/// The SACK option with its padding (RFC 2018 section 3).
fn option_bytes(blocks: &SackBlocks) -> u64 {
    if blocks.is_empty() { 0 } else { 4 + 8 * blocks.len() as u64 }
}
