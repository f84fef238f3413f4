//! What the event loop asks of a TCP endpoint: one side of one connection, without clock or I/O.
//!
//! The loop calls in this order at any instant: [`Endpoint::receive`] for what arrived and
//! [`Endpoint::timer`] when [`Endpoint::next_timer`] is due; then the application reads and writes
//! through [`Socket`]; then [`Endpoint::transmit`] until it gives `None`; then it reads
//! [`Endpoint::next_timer`] and, when the truth is recorded, [`Endpoint::snapshot`].
//! `now` never runs backwards. After `transmit` gave `None`, nothing more may leave at this
//! instant, so that the state it left behind says what the sender waits for.
//!
//! The implementation is in `tcp`. Its settings are one struct that scenario files give per host:
//! `serde::Deserialize` with `deny_unknown_fields`, a default for every field, `Clone`. A
//! connection is made of these settings and its initial sequence number.

use crate::packet::{Ecn, TcpHeader};
use tcpwhy_core::units::Nanos;

/// The side that an application uses.
pub trait Socket {
    /// Offers `bytes` more to send; gives how many the send buffer took. Taking fewer than offered
    /// means that the application waits for room: the endpoint remembers that until a later `write`
    /// is taken whole. Allowed before the connection is established.
    fn write(&mut self, now: Nanos, bytes: u64) -> u64;

    /// How many bytes `write` would take.
    fn writable(&self) -> u64;

    /// Bytes written but not yet acknowledged by the peer: an application that waits for its
    /// message to arrive waits for zero.
    fn unacknowledged(&self) -> u64;

    /// Nothing more will be written: a FIN follows the last byte.
    fn close(&mut self, now: Nanos);

    /// Bytes received in order and not yet read.
    fn readable(&self) -> u64;

    /// Takes up to `bytes` out of the receive buffer; gives how many there were. It may open the
    /// window, so that the next `transmit` gives a window update.
    fn read(&mut self, now: Nanos, bytes: u64) -> u64;

    /// Whether the handshake is complete.
    fn is_established(&self) -> bool;

    /// Whether the peer has closed its direction and everything before its FIN is in order.
    fn is_peer_closed(&self) -> bool;
}

/// One side of a TCP connection.
pub trait Endpoint: Socket {
    /// What the host remembers of earlier connections to this peer; before `open`.
    fn recall(&mut self, memory: PeerMemory) {
        let _ = memory;
    }

    /// What the host is to remember of this peer, once its SYN has arrived.
    fn memory(&self) -> Option<PeerMemory> {
        None
    }

    /// Starts the handshake. An endpoint that is never opened listens.
    fn open(&mut self, now: Nanos);

    /// A segment arrives. With GRO at this host `payload_bytes` may be many segments' worth, to be
    /// acknowledged as the kernel acknowledges one such super-segment.
    fn receive(&mut self, now: Nanos, header: &TcpHeader, ecn: Ecn);

    /// Something that [`Endpoint::next_timer`] announced is due. Calls when nothing is due are
    /// harmless.
    fn timer(&mut self, now: Nanos);

    /// When [`Endpoint::timer`] and then [`Endpoint::transmit`] want to be called next: the
    /// earliest of all timers and of the release time of a paced segment.
    fn next_timer(&self) -> Option<Nanos>;

    /// The next segment that leaves at `now`, one wire segment at a time, `None` when there is no
    /// further one. Segments with payload that continue each other within one instant are what
    /// segmentation offload hands down as one: the tap at the sender joins them.
    fn transmit(&mut self, now: Nanos) -> Option<Outgoing>;

    /// The state of the sender after the last `transmit`, for the truth table.
    fn snapshot(&self, now: Nanos) -> Snapshot;

    /// In-order payload bytes received so far, read or not.
    fn delivered_bytes(&self) -> u64;

    /// Whether the connection is over in both directions or was given up.
    fn is_finished(&self) -> bool;
}

/// What a host keeps of a peer from one connection to the next (RFC 7413 section 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerMemory {
    /// The cookie that the peer gave.
    pub cookie: u32,
    /// The MSS option of its SYN-ACK.
    pub mss: u16,
}

/// A segment on its way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// Its header; `payload_bytes` is at most one MSS.
    pub header: TcpHeader,
    /// ECN field of its IP header.
    pub ecn: Ecn,
    /// Why it was sent.
    pub kind: Kind,
}

/// Why a segment was sent: the truth behind the kinds of the `segments` table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// SYN, SYN-ACK, and their retransmissions.
    Handshake,
    /// Payload or FIN for the first time.
    New,
    /// Retransmission by fast retransmit or fast recovery, of any variant.
    Fast,
    /// Retransmission after the retransmission timer expired, and the go-back-N that follows it.
    Rto,
    /// Tail loss probe (RFC 8985 section 7), new data or old.
    Tlp,
    /// Zero-window probe (RFC 9293 section 3.8.6.1).
    WindowProbe,
    /// No payload: an acknowledgement.
    Ack,
    /// No payload and nothing new to acknowledge: the window opened.
    WindowUpdate,
    /// Keep-alive probe.
    KeepAlive,
    /// RST.
    Reset,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 10] = [
        Kind::Handshake,
        Kind::New,
        Kind::Fast,
        Kind::Rto,
        Kind::Tlp,
        Kind::WindowProbe,
        Kind::Ack,
        Kind::WindowUpdate,
        Kind::KeepAlive,
        Kind::Reset,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Handshake => "handshake",
            Kind::New => "new",
            Kind::Fast => "fast",
            Kind::Rto => "rto",
            Kind::Tlp => "tlp",
            Kind::WindowProbe => "window_probe",
            Kind::Ack => "ack",
            Kind::WindowUpdate => "window_update",
            Kind::KeepAlive => "keep_alive",
            Kind::Reset => "reset",
        }
    }
}

/// What held the sender back at its last opportunity to send: the first condition, in the order of
/// this list, that stopped it from sending one more segment of new data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Limit {
    /// The handshake is not complete.
    #[default]
    Handshake,
    /// Both directions are closed, or the connection was given up.
    Closed,
    /// The retransmission timer expired and what was outstanding then is not yet acknowledged
    /// (CA_Loss), or everything waits for that timer.
    RtoWait,
    /// Fast recovery: what may leave is decided by the recovery, not by cwnd alone.
    Recovery,
    /// Everything written was sent, and the application has not written more.
    Application,
    /// Everything written was sent; the application wants to write more, the send buffer is full.
    SendBuffer,
    /// Less than a segment is waiting and Nagle's algorithm holds it (RFC 9293 section 3.7.4).
    Nagle,
    /// The receiver's window is full or closed.
    ReceiverWindow,
    /// The pacing rate of the controller or of the socket: a segment waits for its release time.
    Pacing,
    /// The congestion window is full.
    Cwnd,
    /// The congestion window is full and stands at the clamp set on the socket.
    CwndClamp,
}

impl Limit {
    /// Every limit.
    pub const ALL: [Limit; 11] = [
        Limit::Handshake,
        Limit::Closed,
        Limit::RtoWait,
        Limit::Recovery,
        Limit::Application,
        Limit::SendBuffer,
        Limit::Nagle,
        Limit::ReceiverWindow,
        Limit::Pacing,
        Limit::Cwnd,
        Limit::CwndClamp,
    ];

    /// The name in the `truth` table.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Handshake => "handshake",
            Limit::Closed => "closed",
            Limit::RtoWait => "rto_wait",
            Limit::Recovery => "recovery",
            Limit::Application => "application",
            Limit::SendBuffer => "send_buffer",
            Limit::Nagle => "nagle",
            Limit::ReceiverWindow => "receiver_window",
            Limit::Pacing => "pacing",
            Limit::Cwnd => "cwnd",
            Limit::CwndClamp => "cwnd_clamp",
        }
    }
}

/// What congestion control is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Phase {
    /// cwnd below ssthresh; BBR's Startup.
    #[default]
    SlowStart,
    /// cwnd at or above ssthresh; BBR's ProbeBW, Drain and ProbeRTT.
    CongestionAvoidance,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout, until what was outstanding then is acknowledged.
    Loss,
}

impl Phase {
    /// The name in the `truth` table.
    pub fn name(self) -> &'static str {
        match self {
            Phase::SlowStart => "slow_start",
            Phase::CongestionAvoidance => "congestion_avoidance",
            Phase::Recovery => "recovery",
            Phase::Loss => "loss",
        }
    }
}

/// The sender's state at one instant. Counts run from the start of the connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// What held it back at its last opportunity to send.
    pub limit: Limit,
    /// Since when that has been so without a break.
    pub limit_since: Nanos,
    /// Whether neither the receiver's window nor the sender's has room for a full segment.
    pub both_windows: bool,
    /// The host's window that is nearly full: the receiver's, or the clamp of cwnd.
    pub nearly_full: Option<Limit>,
    /// No limit that shows later can have begun before this: when something last left or arrived.
    pub settled_until: Nanos,
    /// What congestion control is doing.
    pub phase: Phase,
    /// Congestion window.
    pub cwnd_bytes: u64,
    /// Slow start threshold; `None` while it is infinite or the controller has none.
    pub ssthresh_bytes: Option<u64>,
    /// Estimate of what is in the network (RFC 6675 `pipe`); without SACK the variant's own.
    pub pipe_bytes: u64,
    /// Sent and not cumulatively acknowledged (RFC 5681 FlightSize).
    pub flight_size_bytes: u64,
    /// The window that the peer advertises, scaled.
    pub rwnd_bytes: u64,
    /// Bytes in the send buffer, sent or not.
    pub send_buffer_bytes: u64,
    /// Bytes written and not yet sent.
    pub unsent_bytes: u64,
    /// Smoothed round-trip time (RFC 6298); `None` before the first measurement.
    pub srtt_ns: Option<Nanos>,
    /// Least round-trip time; `None` before the first measurement.
    pub min_rtt_ns: Option<Nanos>,
    /// Retransmission timeout, backed off.
    pub rto_ns: Nanos,
    /// Rate at which segments are paced; `None` without pacing.
    pub pacing_rate_bps: Option<u64>,
    /// Segments with payload sent, retransmissions included.
    pub data_segments: u64,
    /// Segments sent again.
    pub retransmitted_segments: u64,
    /// Expirations of the retransmission timer.
    pub timeouts: u64,
    /// Fast retransmissions: entries into fast recovery.
    pub fast_retransmits: u64,
    /// Tail loss probes sent.
    pub tail_loss_probes: u64,
    /// Recoveries or timeouts that were found to have been unneeded and undone.
    pub spurious_recoveries: u64,
}
