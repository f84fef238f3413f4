//! Opening: SYN, SYN-ACK, and what their options settle (RFC 9293 section 3.5).

use super::sender::{FIRST_BYTE, Negotiated};
use super::{Connection, State, fast_open};
use crate::endpoint::{Kind, Outgoing};
use crate::packet::{Ecn, TcpHeader};
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::flags;

/// The progress of the handshake.
#[derive(Debug)]
pub struct Handshake {
    /// Our SYN or SYN-ACK is to leave now.
    pub is_due: bool,
    /// The acknowledgement of the peer's SYN-ACK is due by itself.
    pub ack_is_due: bool,
    /// When it is to leave again.
    pub timer: Nanos,
    /// When it left last.
    sent_at: Nanos,
    /// How often it left.
    pub(super) sent: u32,
    /// What the peer's SYN offered.
    peer: Offer,
    /// Data in the SYN.
    pub(super) fast_open: fast_open::Progress,
}

/// The options of a SYN.
#[derive(Clone, Copy, Debug, Default)]
struct Offer {
    mss: Option<u16>,
    window_scale: Option<u8>,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    window: u16,
}

impl Default for Handshake {
    fn default() -> Handshake {
        Handshake {
            is_due: false,
            ack_is_due: false,
            timer: Nanos::MAX,
            sent_at: Nanos(0),
            sent: 0,
            peer: Offer::default(),
            fast_open: fast_open::Progress::default(),
        }
    }
}

impl Connection {
    /// A segment arrives while we listen (RFC 9293 section 3.10.7.2).
    pub(super) fn arrives_in_listen(&mut self, now: Nanos, header: &TcpHeader) {
        if header.flags & (flags::SYN | flags::ACK | flags::RST) == flags::SYN {
            self.take_syn(header);
            self.enter(now, State::SynReceived);
            self.handshake.is_due = true;
            self.answer_fast_open(now, header);
        }
    }

    /// A segment arrives after our SYN (section 3.10.7.3).
    pub(super) fn arrives_in_syn_sent(&mut self, now: Nanos, header: &TcpHeader) {
        let has_ack = header.flags & flags::ACK != 0;
        let last = FIRST_BYTE + self.handshake.fast_open.sent_bytes;
        let is_ours = has_ack && (1..=last as i32).contains(&header.ack.distance(self.iss));
        if has_ack && !is_ours {
            if header.flags & flags::RST == 0 {
                self.reset_pending = Some(header.ack);
            }
            return;
        }
        if header.flags & flags::RST != 0 {
            if is_ours {
                self.abort(now);
            }
            return;
        }
        if header.flags & flags::SYN == 0 {
            return;
        }
        self.take_syn(header);
        if is_ours {
            self.note_cookie(header);
            self.establish(now, header.ack);
            if self.settle_syn_data(now, header) {
                // What leaves again carries the acknowledgement.
            } else if self.config.bare_third_packet {
                self.handshake.ack_is_due = true;
            } else {
                self.receiver.acknowledge_now();
            }
        } else {
            // Both sides opened at once.
            self.enter(now, State::SynReceived);
            self.handshake.is_due = true;
        }
    }

    /// The segment that acknowledges our SYN-ACK. Returns whether it did.
    pub(super) fn completes_handshake(&mut self, now: Nanos, header: &TcpHeader) -> bool {
        let is_ours = header.flags & flags::ACK != 0 && header.ack.distance(self.iss) > 0;
        if is_ours && self.is_open_early() {
            self.complete_fast_open(now, header.ack);
        } else if is_ours {
            self.establish(now, header.ack);
        }
        is_ours
    }

    /// Whether the peer's SYN arrives again while we wait for the answer to ours.
    pub(super) fn repeats_syn(&self, header: &TcpHeader) -> bool {
        self.state == State::SynReceived && header.flags & flags::SYN != 0 && header.seq == self.irs
    }

    /// The peer's SYN again: with our SYN acknowledged both had opened at once; without, our answer
    /// was lost.
    pub(super) fn arrives_again(&mut self, now: Nanos, header: &TcpHeader) {
        if self.completes_handshake(now, header) {
            self.receiver.acknowledge_now();
        } else {
            self.handshake.is_due = true;
        }
    }

    fn take_syn(&mut self, header: &TcpHeader) {
        self.irs = header.seq;
        self.receiver.on_syn();
        let is_answer = header.flags & flags::ACK != 0;
        let ecn_bits = header.flags & (flags::ECE | flags::CWR);
        // RFC 3168 section 6.1.1: ECE and CWR in the SYN, ECE alone in the SYN-ACK.
        let ecn = ecn_bits == if is_answer { flags::ECE } else { flags::ECE | flags::CWR };
        self.handshake.peer = Offer {
            mss: header.mss,
            window_scale: header.window_scale,
            sack: header.sack_permitted,
            timestamps: header.timestamps.is_some(),
            ecn,
            window: header.window_raw,
        };
        if let Some((tsval, _)) = header.timestamps {
            self.timestamps.on_syn(tsval);
        }
    }

    fn establish(&mut self, now: Nanos, ack: Seq) {
        // Where data of the SYN is acknowledged, its round trip is measured, and once is enough.
        let is_of_syn_data =
            self.handshake.fast_open.sent_bytes > 0 && ack.distance(self.iss) > FIRST_BYTE as i32;
        let rtt = self.handshake_rtt(now).filter(|_| !is_of_syn_data);
        self.settle(now, rtt, self.handshake.sent > 1);
        self.finish_handshake(now, State::Established);
    }

    /// How long the handshake took, unless a repetition hides it.
    pub(super) fn handshake_rtt(&self, now: Nanos) -> Option<Nanos> {
        (self.handshake.sent == 1).then(|| now.since(self.handshake.sent_at))
    }

    /// What both SYNs said is in force from now on.
    pub(super) fn settle(&mut self, now: Nanos, rtt: Option<Nanos>, syn_lost: bool) {
        let (peer, config) = (self.handshake.peer, &self.config);
        let own_shift = own_shift(config);
        self.settled = Negotiated {
            // RFC 9293 section 3.7.1: "If an MSS Option is not received at connection setup, TCP
            // implementations MUST assume a default send MSS of 536".
            peer_mss: peer.mss.unwrap_or(536),
            sack: config.sack && peer.sack,
            timestamps: config.timestamps && peer.timestamps,
            window_shifts: peer.window_scale.zip(own_shift).map(|(peer, own)| (peer.min(14), own)),
            ecn: config.ecn && peer.ecn,
        };
        let settled = self.settled;
        self.sender.establish(now, &settled, rtt, syn_lost);
        // A SYN's window is not scaled.
        self.sender.peer_window.bytes = u64::from(peer.window);
        self.sender.peer_window.largest = u64::from(peer.window);
        let shift = settled.window_shifts.map_or(0, |(_, own)| own);
        self.receiver.establish(now, settled.sack, settled.timestamps, shift);
        if let Some(rtt) = rtt {
            self.receiver.tune.on_rtt(rtt);
        }
        self.timestamps.is_enabled = settled.timestamps;
    }

    /// Nothing of the handshake is awaited any more.
    pub(super) fn finish_handshake(&mut self, now: Nanos, state: State) {
        self.handshake.timer = Nanos::MAX;
        self.handshake.is_due = false;
        self.keep_alive.start(now, self.config.keep_alive);
        self.enter(now, state);
    }

    /// The SYN or SYN-ACK was not answered in time.
    pub(super) fn handshake_timer(&mut self, now: Nanos) {
        if self.handshake.timer > now {
            return;
        }
        self.handshake.timer = Nanos::MAX;
        if self.config.max_retries.is_some_and(|max| self.handshake.sent > max) {
            self.abort(now);
            return;
        }
        self.sender.rto.back_off();
        self.handshake.is_due = true;
    }

    /// Our SYN or SYN-ACK, if it is due.
    pub(super) fn handshake_leaves(&mut self, now: Nanos) -> Option<Outgoing> {
        if !std::mem::take(&mut self.handshake.is_due) {
            return None;
        }
        let is_answer = self.state == State::SynReceived;
        let peer = self.handshake.peer;
        let offers = |own: bool, theirs: bool| own && (!is_answer || theirs);
        let config = &self.config;
        let ecn = offers(config.ecn, peer.ecn);
        let mut bits = flags::SYN;
        bits |= if is_answer { flags::ACK } else { 0 };
        bits |= match (ecn, is_answer) {
            (false, _) => 0,
            (true, false) => flags::ECE | flags::CWR,
            (true, true) => flags::ECE,
        };
        let timestamps = offers(config.timestamps, peer.timestamps)
            .then(|| self.timestamps.option(now))
            .map(|(tsval, tsecr)| (tsval, if is_answer { tsecr } else { 0 }));
        let (payload, fast_open) = self.fast_open_of_syn(now, is_answer);
        let config = &self.config;
        let header = TcpHeader {
            seq: self.iss,
            ack: if is_answer { self.irs + self.receiver.nxt as u32 } else { Default::default() },
            flags: bits,
            window_raw: self.receiver.advertise(true),
            mss: Some(config.mss),
            window_scale: own_shift(config).filter(|_| offers(true, peer.window_scale.is_some())),
            sack_permitted: offers(config.sack, peer.sack),
            timestamps,
            payload_bytes: payload as u32,
            fast_open,
            ..TcpHeader::default()
        };
        self.handshake.sent_at = now;
        self.handshake.sent += 1;
        self.handshake.timer = now + self.sender.rto.timeout();
        Some(Outgoing { header, ecn: Ecn::NotEct, kind: Kind::Handshake })
    }
}

/// The shift that we offer: the configured one, or the least that lets the largest window be told.
fn own_shift(config: &super::Config) -> Option<u8> {
    let largest =
        config.window_clamp_bytes.unwrap_or(u64::MAX).min(config.receive_buffer.max_bytes);
    config.window_scale.map(|fixed| {
        let least = (0..14).find(|shift| u64::from(u16::MAX) << shift >= largest);
        fixed.unwrap_or(least.unwrap_or(14)).min(14)
    })
}
