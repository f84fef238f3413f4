//! Data in the SYN: TCP Fast Open (RFC 7413), as Linux does it (`tcp_fastopen.c`).
//!
//! A first connection asks for a cookie. Later ones show it and put their first data into the SYN.
//! Whoever knows the cookie for its own hands the data up before the handshake is complete, and may
//! answer it at once. Where the path or the peer does not go along, the data leaves again behind
//! the handshake.

use super::ack::{Acknowledgement, widen};
use super::sender::{FIRST_BYTE, Sender};
use super::{Connection, State};
use crate::endpoint::PeerMemory;
use crate::packet::{Cookie, TcpHeader};
use tcpwhy_core::units::{Nanos, Seq};

/// How far it has come.
#[derive(Clone, Copy, Debug, Default)]
pub struct Progress {
    /// Our SYN had the option.
    asked: bool,
    /// Payload of our SYN.
    pub sent_bytes: u64,
    /// When it left.
    sent_at: Nanos,
    /// The cookie that our SYN-ACK gives.
    answer: Option<Cookie>,
    /// The peer's SYN showed the right cookie: data flows before the handshake is complete.
    is_early: bool,
}

impl Connection {
    /// Whether data flows although our SYN-ACK is not acknowledged.
    pub(super) fn is_open_early(&self) -> bool {
        self.state == State::SynReceived && self.handshake.fast_open.is_early
    }

    /// The payload of the SYN or SYN-ACK that leaves, and its option. A SYN that is sent again is a
    /// plain one (RFC 7413 section 4.2.1). A program with nothing to say asks for a cookie.
    pub(super) fn fast_open_of_syn(
        &mut self,
        now: Nanos,
        is_answer: bool,
    ) -> (u64, Option<Cookie>) {
        let Some(fast_open) = self.config.fast_open else { return (0, None) };
        if is_answer {
            if self.is_open_early() {
                self.receiver.on_ack_sent();
            }
            return (0, self.handshake.fast_open.answer);
        }
        if self.handshake.sent > 0 {
            return (0, None);
        }
        self.handshake.fast_open.asked = true;
        let written = self.sender.buffer.end() - FIRST_BYTE;
        let Some(memory) = fast_open.memory.filter(|_| written > 0) else {
            return (0, Some(Cookie::Request));
        };
        let mss = u64::from(self.config.mss.min(memory.mss));
        let payload = written.min(mss.saturating_sub(OPTIONS_BYTES_MAX).max(1));
        self.handshake.fast_open.sent_bytes = payload;
        self.handshake.fast_open.sent_at = now;
        self.sender.counts.data_segments += 1;
        (payload, Some(Cookie::Value(memory.cookie)))
    }

    /// The peer's SYN-ACK arrived: its cookie is for the next connection. One that was not asked
    /// for is ignored.
    pub(super) fn note_cookie(&mut self, header: &TcpHeader) {
        let was_asked = self.handshake.fast_open.asked;
        if let Some(fast_open) = &mut self.config.fast_open
            && let Some(Cookie::Value(cookie)) = header.fast_open.filter(|_| was_asked)
        {
            fast_open.memory = Some(PeerMemory { cookie, mss: header.mss.unwrap_or(536) });
        }
    }

    /// The SYN-ACK says whether the data of the SYN arrived. Gives whether it leaves again: at
    /// once, and without a fall of cwnd (`tcp_rcv_fastopen_synack`).
    pub(super) fn settle_syn_data(&mut self, now: Nanos, header: &TcpHeader) -> bool {
        let Progress { sent_bytes, sent_at, .. } = self.handshake.fast_open;
        if sent_bytes == 0 {
            return false;
        }
        self.sender.adopt_syn_data(now, sent_bytes, sent_at);
        let acknowledgement = Acknowledgement {
            ack: widen(FIRST_BYTE, header.ack, self.iss),
            // A SYN's window is not scaled.
            window: u64::from(header.window_raw),
            seq: 0,
            // The SYN takes a position.
            has_data: true,
            ece: false,
            timestamp_rtt: None,
            echoed_at: None,
        };
        self.sender.on_ack(now, &acknowledgement, &header.sack, self.iss);
        let is_lost = self.sender.board.flight_size() > 0;
        if is_lost {
            self.sender.lose_all(now);
        }
        is_lost
    }

    /// The peer's SYN arrived. With the right cookie its data is taken and the connection is open;
    /// a request and a wrong cookie are answered with the right one (`tcp_try_fastopen`).
    pub(super) fn answer_fast_open(&mut self, now: Nanos, header: &TcpHeader) {
        let Some((fast_open, shown)) = self.config.fast_open.zip(header.fast_open) else { return };
        let issued = Cookie::Value(fast_open.issued);
        if shown != issued {
            self.handshake.fast_open.answer = Some(issued);
            return;
        }
        self.handshake.fast_open.is_early = true;
        self.settle(now, None, false);
        // The window that the peer did not know of when it sent.
        self.receiver.advertise(true);
        if header.payload_bytes > 0 {
            self.receiver.on_data(now, FIRST_BYTE, u64::from(header.payload_bytes), false);
        }
    }

    /// Our SYN-ACK is acknowledged, perhaps with data that followed it.
    pub(super) fn complete_fast_open(&mut self, now: Nanos, ack: Seq) {
        if let Some(rtt) = self.handshake_rtt(now) {
            if ack == self.iss + FIRST_BYTE as u32 {
                self.sender.rto.on_measurement(rtt);
            }
            self.receiver.tune.on_rtt(rtt);
        } else {
            self.sender.rto.after_handshake_loss();
        }
        self.sender.release_timers(now);
        let has_closed = self.sender.board.nxt > self.sender.buffer.end();
        let state = if has_closed { State::FinWait1 } else { State::Established };
        self.finish_handshake(now, state);
    }
}

impl Sender {
    /// The data of our SYN counts as sent, now that there is a connection to count in. It is cut
    /// as it would leave again.
    fn adopt_syn_data(&mut self, now: Nanos, bytes: u64, sent_at: Nanos) {
        let mut left = bytes;
        while left > 0 {
            let part = left.min(self.mss);
            let state = self.rate.on_sent(sent_at, self.board.pipe(), part);
            self.board.push(part as u32, false, sent_at, state);
            left -= part;
        }
        self.timers.retransmission = now + self.rto.timeout();
    }

    /// Before the SYN-ACK is acknowledged, nothing but it is sent again (`tcp_retransmit_timer`,
    /// `tcp_schedule_loss_probe`).
    pub(super) fn hold_timers(&mut self) {
        self.timers.retransmission = Nanos::MAX;
        self.timers.probe = Nanos::MAX;
    }

    /// From now on, what was sent is sent again when it is not acknowledged.
    fn release_timers(&mut self, now: Nanos) {
        if self.board.flight_size() > 0 {
            self.timers.retransmission = now + self.rto.timeout();
        }
    }
}

/// Room for options that the SYN leaves (`MAX_TCP_OPTION_SPACE`).
const OPTIONS_BYTES_MAX: u64 = 40;
