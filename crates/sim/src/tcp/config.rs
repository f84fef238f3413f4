//! The settings of an endpoint. The default is a current general-purpose stack; [`Config::classic`]
//! is the TCP of the adaptivity study.

use super::rto::{BackoffReset, RtoConfig};
use crate::cc::{self, Registration};
use crate::endpoint::PeerMemory;
use tcpwhy_core::units::{Nanos, Seq};

/// How one endpoint behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// The congestion controller.
    pub controller: &'static Registration,
    /// How losses are found and repaired.
    pub recovery: Variant,
    /// The MSS option it announces, and the most payload it sends: 1460 bytes on Ethernet with
    /// IPv4 (RFC 9293 section 3.7.1). Options in a segment come out of it (RFC 6691).
    pub mss: u16,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window_segs: u32,
    /// Initial slow start threshold in bytes; `None` is infinite.
    pub initial_ssthresh_bytes: Option<u64>,
    /// Upper bound of cwnd in bytes, as `TCP_MAXSEG`-era stacks and Linux's `snd_cwnd_clamp` have.
    pub cwnd_clamp_bytes: Option<u64>,
    /// Whether SACK is offered (RFC 2018).
    pub sack: bool,
    /// Whether timestamps are offered (RFC 7323).
    pub timestamps: bool,
    /// The window scale that is offered (RFC 7323): `None` offers none, `Some(None)` the least with
    /// which the largest receive buffer fits.
    pub window_scale: Option<Option<u8>>,
    /// Whether ECN is offered and accepted (RFC 3168).
    pub ecn: bool,
    /// TCP Fast Open (RFC 7413); `None` neither asks for cookies nor gives any.
    pub fast_open: Option<FastOpen>,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// How classic Reno and NewReno count.
    pub reno_rules: RenoRules,
    /// What a partial acknowledgement does to the retransmission timer.
    pub partial_acks: PartialAcks,
    /// Limited transmit (RFC 3042).
    pub limited_transmit: bool,
    /// Proportional rate reduction (RFC 9937) in SACK-based recovery; without it, RFC 6675's pipe
    /// against ssthresh.
    pub prr: bool,
    /// Spurious timeouts are found by F-RTO (RFC 5682).
    pub frto: bool,
    /// Tail loss probes (RFC 8985 section 7); only with [`Variant::Rack`].
    pub tlp: bool,
    /// The acknowledgement of a SYN-ACK leaves by itself, also where data waits: in Linux whoever
    /// called connect() writes later (`tcp_rcv_synsent_state_process`). Otherwise data carries it.
    pub bare_third_packet: bool,
    /// Small segments.
    pub nagle: Nagle,
    /// `None` acknowledges every segment at once.
    pub delayed_ack: Option<DelayedAck>,
    /// What a sender may hold: written and not acknowledged.
    pub send_buffer: Buffer,
    /// How long a program that waited for room in it takes to write, on average; the time is
    /// exponential. The kernel marks it as ready, the scheduler runs it later.
    pub writer_delay: Nanos,
    /// What a receiver may hold: what the window is computed from.
    pub receive_buffer: Buffer,
    /// Upper bound of the advertised window in bytes.
    pub window_clamp_bytes: Option<u64>,
    /// The window that is advertised at first; what arrives opens it (Linux: 65,535 in whole
    /// segments). `None` advertises the buffer at once.
    pub first_window_bytes: Option<u64>,
    /// Whether and how fast segments are spaced.
    pub pacing: Pacing,
    /// How many segments of a connection leave before pacing begins: 10 in Linux
    /// (`tcp_update_skb_after_send`).
    pub unpaced_segs: u32,
    /// Most payload of a super-segment (segmentation offload, 64 KiB in Linux): as much leaves at
    /// one instant when pacing. Less than two segments means none.
    pub tso_max_bytes: u32,
    /// RFC 5681 section 4.1: fall back to the initial window after an idle time.
    pub slow_start_after_idle: bool,
    /// Keep-alive probes (RFC 9293 section 3.8.4).
    pub keep_alive: Option<KeepAlive>,
    /// How often one segment is sent again before the connection is given up; `None` never gives
    /// up.
    pub max_retries: Option<u32>,
    /// Initial sequence number.
    pub iss: Seq,
    /// What the endpoint draws at random comes from here.
    pub seed: u64,
}

/// How losses are found and repaired. The SACK-based ones fall back to [`Variant::NewReno`] when
/// the peer does not offer SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Variant {
    /// Three duplicate ACKs retransmit one segment and start slow start anew (4.3BSD-Tahoe).
    Tahoe,
    /// Fast recovery that ends with the first ACK that advances (RFC 2581).
    Reno,
    /// Fast recovery that lasts until everything outstanding is acknowledged (RFC 6582).
    NewReno,
    /// RFC 6675's scoreboard.
    Sack,
    /// Losses by time instead of counts (RFC 8985).
    Rack,
}

impl Variant {
    /// Every variant.
    pub const ALL: [Variant; 5] =
        [Variant::Tahoe, Variant::Reno, Variant::NewReno, Variant::Sack, Variant::Rack];

    /// The name in scenarios and options.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Tahoe => "tahoe",
            Variant::Reno => "reno",
            Variant::NewReno => "newreno",
            Variant::Sack => "sack",
            Variant::Rack => "rack",
        }
    }

    /// Whether it reads SACK blocks.
    pub fn is_selective(self) -> bool {
        matches!(self, Variant::Sack | Variant::Rack)
    }
}

/// How recovery without SACK counts: the tables of the adaptivity study come from ns-3, and its
/// rules show in short queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RenoRules {
    /// RFC 5681 section 3.2: ssthresh is half of FlightSize, and cwnd is inflated by the three
    /// segments that the duplicate acknowledgements say have left.
    Rfc5681,
    /// As ns-3's `TcpSocketBase` (3.37, 3.44), by its own comments, differs from RFC 5681:
    ///
    /// - `EnterRecovery`: "One segment has left the network, PLUS the head is lost", and "still
    ///   consider the head as 'in flight'": ssthresh is half of FlightSize less one segment, and of
    ///   the three duplicate acknowledgements one gives room to send. What its traces show as the
    ///   inflated window is not what limits sending.
    /// - `ProcessAck`: with the acknowledgement that ends the recovery from a timeout, only the
    ///   segments "from m_recover to ackNumber" let cwnd grow.
    /// - `ReTxTimeout`: which segments were sent again is forgotten before it is asked whether the
    ///   oldest was. So every timeout, repeated ones too, sets ssthresh to half of what is in
    ///   flight. RFC 5681 section 3.1 holds ssthresh constant for the same segment.
    Ns3,
}

impl RenoRules {
    /// Both.
    pub const ALL: [RenoRules; 2] = [RenoRules::Rfc5681, RenoRules::Ns3];

    /// The name in scenarios and options.
    pub fn name(self) -> &'static str {
        match self {
            RenoRules::Rfc5681 => "rfc5681",
            RenoRules::Ns3 => "ns3",
        }
    }
}

/// What happens to a segment smaller than the MSS at the end of what was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Nagle {
    /// It leaves at once (TCP_NODELAY).
    Off,
    /// It waits while anything is unacknowledged (RFC 896, RFC 9293 section 3.7.4).
    On,
    /// It waits while a small segment is unacknowledged (draft-minshall-nagle-01; Linux).
    Minshall,
}

/// When an acknowledgement may wait (RFC 1122 section 4.2.3.2, RFC 5681 section 4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// The longest wait; RFC 1122 allows less than 0.5 s, Linux waits 40 ms at least.
    pub timeout: Nanos,
    /// How many full segments are acknowledged together; RFC 1122: at least every second one.
    pub segments: u32,
    /// How many segments at the start are acknowledged at once (Linux's quick ACKs: 16).
    pub quick: u32,
}

/// A buffer that may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its size at the start in bytes.
    pub initial_bytes: u64,
    /// The size up to which it tunes itself; equal to `initial_bytes` for a fixed one.
    pub max_bytes: u64,
}

impl Buffer {
    /// A buffer that does not grow.
    pub const fn fixed(bytes: u64) -> Buffer {
        Buffer { initial_bytes: bytes, max_bytes: bytes }
    }
}

/// TCP Fast Open: data in the SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FastOpen {
    /// The cookie that this host gives to the peer's address (RFC 7413 section 4.1.2).
    pub issued: u32,
    /// What the host remembers of the peer.
    pub memory: Option<PeerMemory>,
}

/// Whether and how fast segments are spaced. A controller that has a pacing rate always paces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// As fast as the windows allow.
    Off,
    /// By cwnd and round-trip time: twice cwnd/srtt in slow start, 1.2 times afterwards, as Linux
    /// does (`tcp_pacing_ss_ratio`, `tcp_pacing_ca_ratio`).
    Window,
    /// Never faster than this many bit/s (SO_MAX_PACING_RATE).
    Rate(u64),
}

/// The two variants of NewReno's retransmission timer (RFC 6582 section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartialAcks {
    /// Only the first partial acknowledgement of a recovery restarts it: many losses in a window
    /// end in a timeout. So does ns-3.
    Impatient,
    /// Every one restarts it, and one segment is repaired per round trip. So does Linux.
    SlowButSteady,
}

/// Keep-alive probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeepAlive {
    /// Idle time before the first probe.
    pub idle: Nanos,
    /// Time between probes.
    pub interval: Nanos,
    /// Unanswered probes after which the connection is given up.
    pub count: u32,
}

impl Default for Config {
    /// What a current Linux host does: CUBIC, RACK-TLP, initial window 10, timestamps, window
    /// scaling, delayed ACKs of 40 ms, minimum RTO 200 ms, buffers that tune themselves.
    fn default() -> Config {
        Config {
            controller: cc::find("cubic").expect("cubic is registered"),
            recovery: Variant::Rack,
            mss: 1460,
            initial_window_segs: 10,
            initial_ssthresh_bytes: None,
            cwnd_clamp_bytes: None,
            sack: true,
            timestamps: true,
            window_scale: Some(None),
            ecn: false,
            fast_open: None,
            rto: RtoConfig::default(),
            reno_rules: RenoRules::Rfc5681,
            partial_acks: PartialAcks::SlowButSteady,
            limited_transmit: true,
            prr: true,
            frto: true,
            tlp: true,
            bare_third_packet: true,
            nagle: Nagle::Minshall,
            delayed_ack: Some(DelayedAck {
                timeout: Nanos::from_millis(40),
                segments: 2,
                quick: 16,
            }),
            // Linux's tcp_wmem 16 kB to 4 MB and tcp_rmem 128 kB to 6 MB; of the first 128 kB, full
            // segments fill 168/256 with payload (`tcp_measure_rcv_mss`: 1,514 of 2,304 bytes).
            send_buffer: Buffer { initial_bytes: 87_040, max_bytes: 4_194_304 },
            writer_delay: Nanos(0),
            receive_buffer: Buffer { initial_bytes: 86_016, max_bytes: 6_291_456 },
            window_clamp_bytes: None,
            first_window_bytes: Some(65_535),
            pacing: Pacing::Off,
            unpaced_segs: 10,
            tso_max_bytes: 65_536,
            slow_start_after_idle: true,
            keep_alive: None,
            max_retries: Some(15),
            iss: Seq(0),
            seed: 0,
        }
    }
}

impl Config {
    /// The TCP of the adaptivity study: Reno of the given variant that counts acknowledgements,
    /// with an initial window of 2. Every segment is acknowledged at once; there are no options but
    /// MSS and no super-segments. The RTO is 1 s at least and 60 s at most, and the receive window
    /// never binds. SACK is offered when the variant needs it.
    pub fn classic(recovery: Variant, mss: u16) -> Config {
        Config {
            controller: cc::find("reno_per_ack").expect("reno_per_ack is registered"),
            recovery,
            mss,
            initial_window_segs: 2,
            sack: recovery.is_selective(),
            timestamps: false,
            rto: RtoConfig {
                initial: Nanos::SECOND,
                min: Nanos::SECOND,
                max: Nanos(60 * Nanos::SECOND.0),
                granularity: Nanos::MILLISECOND,
                tick: None,
                backoff_reset: BackoffReset::AnyAck,
            },
            partial_acks: PartialAcks::Impatient,
            limited_transmit: false,
            prr: false,
            frto: false,
            tlp: false,
            bare_third_packet: false,
            nagle: Nagle::Off,
            delayed_ack: None,
            send_buffer: Buffer::fixed(u64::MAX / 4),
            receive_buffer: Buffer::fixed(2_000 * mss as u64),
            first_window_bytes: None,
            tso_max_bytes: 0,
            slow_start_after_idle: false,
            max_retries: None,
            ..Config::default()
        }
    }
}
