//! TCP over virtual time: one side of one connection, without clock or I/O.
//!
//! Before working here read RFC 9293, 5681, 6298, 6675, 7323 and 8985. The files answer one
//! question each:
//!
//! | file | question |
//! |---|---|
//! | [`config`] | how is this endpoint set? |
//! | [`handshake`], [`input`], [`output`] | in what state are we, what arrives, what leaves? |
//! | [`fast_open`] | does the SYN carry data? |
//! | [`send`], [`pacing`], [`persist`] | what may I send, when? |
//! | [`limit`] | what stops me? |
//! | [`ack`], [`rto`] | what does an acknowledgement say? |
//! | [`recovery`] | what was lost, and what is done about it? |
//! | [`receiver`], [`window`] | what do I acknowledge, how much room is there? |
//!
//! Payload has no content: its position in the stream is its identity. Positions are 64-bit offsets
//! from the initial sequence number, where the SYN is 0 and the first byte 1; only headers carry
//! the 32-bit numbers of the wire.

mod ack;
pub mod config;
mod fast_open;
mod handshake;
mod input;
mod keep_alive;
mod limit;
mod output;
mod pacing;
mod persist;
mod ranges;
mod receiver;
mod recovery;
pub mod rto;
mod send;
mod send_buffer;
mod sender;
mod super_segment;
mod timestamps;
mod window;

pub use config::Config;

use crate::endpoint::{Endpoint, Limit, Outgoing, PeerMemory, Snapshot, Socket};
use crate::packet::{Ecn, TcpHeader};
use handshake::Handshake;
use keep_alive::KeepAliveTimer;
use receiver::Receiver;
use sender::{Negotiated, Sender};
use tcpwhy_core::units::{Nanos, Seq};
use timestamps::Timestamps;

/// One side of a TCP connection.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    state: State,
    sender: Sender,
    receiver: Receiver,
    handshake: Handshake,
    settled: Negotiated,
    timestamps: Timestamps,
    keep_alive: KeepAliveTimer,
    /// Initial send sequence number.
    iss: Seq,
    /// Initial receive sequence number, the peer's.
    irs: Seq,
    /// The peer is to be told of congestion marks until it sets CWR (RFC 3168 section 6.1.3).
    ece_pending: bool,
    /// A reset is due: its sequence number.
    reset_pending: Option<Seq>,
}

/// The states of RFC 9293 section 3.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// No connection.
    Closed,
    /// Waiting for a SYN.
    Listen,
    /// The SYN was sent.
    SynSent,
    /// The SYN was received, and ours was sent.
    SynReceived,
    /// Data flows.
    Established,
    /// Our FIN was sent.
    FinWait1,
    /// Our FIN was acknowledged.
    FinWait2,
    /// The peer's FIN arrived.
    CloseWait,
    /// Both FINs were sent, ours is not acknowledged.
    Closing,
    /// The peer's FIN arrived before ours was sent.
    LastAck,
    /// Both directions are closed; late segments are still answered.
    TimeWait,
}

impl State {
    /// Whether both sequence numbers are known.
    fn is_synchronized(self) -> bool {
        !matches!(self, State::Closed | State::Listen | State::SynSent | State::SynReceived)
    }

    /// Whether data or a FIN may leave.
    fn may_send(self) -> bool {
        use State::*;
        matches!(self, Established | CloseWait | FinWait1 | Closing | LastAck)
    }
}

impl Connection {
    /// An endpoint that listens until it is opened.
    pub fn new(config: &Config) -> Connection {
        Connection {
            state: State::Listen,
            sender: Sender::new(config),
            receiver: Receiver::new(config),
            handshake: Handshake::default(),
            settled: Negotiated::default(),
            timestamps: Timestamps::new(config.iss.0),
            keep_alive: KeepAliveTimer::default(),
            iss: config.iss,
            irs: Seq(0),
            ece_pending: false,
            reset_pending: None,
            config: config.clone(),
        }
    }

    /// The state of the connection.
    pub fn state(&self) -> State {
        self.state
    }

    /// The name of the controller's state, such as `slow_start` or `ProbeBW_UP`.
    pub fn controller_state(&self) -> &'static str {
        self.sender.cc.state_name()
    }

    /// Most payload in a segment, once established.
    pub fn effective_mss(&self) -> u64 {
        self.sender.mss
    }

    /// The size of the receive buffer as it is tuned now.
    pub fn receive_buffer_bytes(&self) -> u64 {
        self.receiver.capacity
    }

    fn enter(&mut self, now: Nanos, state: State) {
        self.state = state;
        if matches!(state, State::Closed | State::TimeWait) {
            self.sender.limit.set(now, Limit::Closed);
        }
    }

    /// The connection is given up or reset: nothing happens any more.
    fn abort(&mut self, now: Nanos) {
        self.enter(now, State::Closed);
        self.handshake.timer = Nanos::MAX;
        self.keep_alive.stop();
        self.sender.stop();
    }
}

impl Socket for Connection {
    fn write(&mut self, _now: Nanos, bytes: u64) -> u64 {
        if self.state.is_synchronized() {
            self.sender.check_app_limited();
        }
        self.sender.buffer.write(bytes, self.sender.mss)
    }

    fn writable(&self) -> u64 {
        self.sender.buffer.room()
    }

    fn unacknowledged(&self) -> u64 {
        self.sender.buffer.held()
    }

    fn close(&mut self, _now: Nanos) {
        self.sender.buffer.close();
    }

    fn readable(&self) -> u64 {
        self.receiver.readable()
    }

    fn read(&mut self, now: Nanos, bytes: u64) -> u64 {
        self.receiver.read(now, bytes)
    }

    fn is_established(&self) -> bool {
        self.state.is_synchronized() || self.is_open_early()
    }

    fn is_peer_closed(&self) -> bool {
        self.receiver.is_closed()
    }
}

impl Endpoint for Connection {
    fn recall(&mut self, memory: PeerMemory) {
        if let Some(fast_open) = &mut self.config.fast_open {
            fast_open.memory = Some(memory);
        }
    }

    fn memory(&self) -> Option<PeerMemory> {
        self.config.fast_open?.memory
    }

    fn open(&mut self, now: Nanos) {
        if self.state == State::Listen {
            self.enter(now, State::SynSent);
            self.handshake.is_due = true;
        }
    }

    fn receive(&mut self, now: Nanos, header: &TcpHeader, ecn: Ecn) {
        self.segment_arrives(now, header, ecn);
    }

    fn timer(&mut self, now: Nanos) {
        self.handshake_timer(now);
        self.sender_timers(now);
        self.receiver.on_timer(now);
        self.keep_alive_timer(now);
    }

    fn next_timer(&self) -> Option<Nanos> {
        let next = self
            .sender
            .timers
            .next()
            .min(self.receiver.deadline())
            .min(self.handshake.timer)
            .min(self.keep_alive.next());
        (next != Nanos::MAX).then_some(next)
    }

    fn transmit(&mut self, now: Nanos) -> Option<Outgoing> {
        self.segment_leaves(now)
    }

    fn snapshot(&self, _now: Nanos) -> Snapshot {
        self.sender.snapshot()
    }

    fn delivered_bytes(&self) -> u64 {
        self.receiver.delivered()
    }

    fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed | State::TimeWait)
    }
}

impl Connection {
    fn sender_timers(&mut self, now: Nanos) {
        if self.sender.timers.writer <= now {
            self.sender.timers.writer = Nanos::MAX;
            self.sender.buffer.set_late(false);
        }
        if self.sender.timers.next() > now {
            return;
        }
        self.sender.check_app_limited();
        if self.sender.timers.reorder <= now {
            self.sender.on_reordering_timeout(now);
        }
        if self.sender.timers.probe <= now {
            self.sender.on_probe_timeout(now);
        }
        if self.sender.timers.retransmission <= now && !self.sender.on_retransmission_timeout(now) {
            self.abort(now);
        }
        if self.sender.timers.persist <= now {
            self.sender.on_persist_timeout();
        }
        if self.sender.timers.pacing <= now {
            // What is due leaves with the next `transmit`.
            self.sender.timers.pacing = Nanos::MAX;
        }
    }
}
