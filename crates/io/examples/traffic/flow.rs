//! One flow as a point in the middle of its path sees it, packet by packet.

use crate::packet::{ACK, Capture, FIN, Host, PSH, Packet, RST, SYN};
use crate::random::Random;
use std::io;

/// A packet to come. Ordered by time, then by flow, so that a run is the same every time.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    pub at: u64,
    pub slot: u32,
    index: u32,
    step: Step,
}

impl Event {
    /// The first packet of a flow.
    pub fn first(at: u64, slot: u32) -> Event {
        Event { at, slot, index: 0, step: Step::Open }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    Open,
    SynAck,
    HandshakeAck,
    Request,
    Data,
    Ack,
    Resend,
    Filled,
    Fin,
    FinAck,
    LastAck,
    Reset,
    Datagram,
}

/// What kind of conversation it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A handshake, a request unless the client is the data sender, data, a close.
    Transfer,
    /// A SYN, perhaps a second one, perhaps a refusal.
    Scan { syns: u8, refused: bool },
    /// Datagrams, most of them from the server.
    Udp,
}

/// How a transfer ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Close {
    Fin,
    Reset,
    Never,
}

/// A flow with its parameters (times in ns) and how far it has come.
pub struct Flow {
    pub kind: Kind,
    pub begin: u64,
    pub end: u64,
    pub v6: bool,
    /// Client and server.
    pub hosts: [Host; 2],
    /// Time from the monitor to that host and back.
    pub tau: [u64; 2],
    /// Who sends the data: an index into `hosts`.
    pub sender: usize,
    pub segments: u32,
    pub segment_len: u16,
    pub request_len: u16,
    /// Segments sent together, and the time from one such burst to the next.
    pub burst: u32,
    pub period: u64,
    pub loss: f64,
    pub timestamps: bool,
    /// Every burst is the answer to a request.
    pub asks: bool,
    pub close: Close,
    /// Only packets of this host pass the monitor.
    pub only: Option<usize>,
    pub random: Random,
    pub state: State,
    pub packets: u32,
    pub retransmissions: u32,
}

/// How far a flow has come, by host.
#[derive(Default)]
pub struct State {
    isn: [u32; 2],
    ip_id: [u16; 2],
    clock: [u32; 2],
    last_tsval: [u32; 2],
    /// Bytes of the request, once it was sent.
    requested: u32,
    /// Segments that the receiver has, the hole apart.
    highest: u32,
    hole: Option<u32>,
    events: u32,
}

impl State {
    /// Random initial numbers.
    pub fn new(random: &mut Random) -> State {
        let mut pair = || [random.bits() as u32, random.bits() as u32];
        let (isn, clock, ip_id) = (pair(), pair(), pair());
        State { isn, clock, ip_id: ip_id.map(|id| id as u16), ..State::default() }
    }
}

/// Between packets of one burst: 1500 bytes at 1 Gbit/s.
pub const LINE_GAP_NS: u64 = 12_000;
const WINDOW_SCALE: u8 = 7;
const MICROSECOND: u64 = 1_000;

impl Flow {
    /// Whether it is a TCP flow.
    pub fn is_tcp(&self) -> bool {
        self.kind != Kind::Udp
    }

    /// The same rate in bursts of so many segments.
    pub fn in_bursts(self, segments: u32) -> Flow {
        let period = self.period / u64::from(self.burst) * u64::from(segments);
        Flow { burst: segments, period, ..self }
    }

    /// Counts the event that brings the flow in.
    pub fn enter(mut self) -> Flow {
        self.state.events = 1;
        self
    }

    /// Whether its last packet has passed.
    pub fn leave(&self) -> bool {
        self.state.events == 0
    }

    /// Writes the packet that is due and announces those that follow from it.
    pub fn step(
        &mut self,
        event: Event,
        capture: &mut Capture,
        mut announce: impl FnMut(Event),
    ) -> io::Result<()> {
        self.state.events -= 1;
        if event.at >= self.end {
            return Ok(());
        }
        let mut events = 0;
        let mut then = |delay: u64, step: Step, index: u32| {
            events += 1;
            announce(Event { at: event.at + delay, slot: event.slot, index, step });
        };
        let written = match event.step {
            Step::Data => self.data(event, capture, &mut then),
            Step::Datagram => self.datagram(event, capture, &mut then),
            Step::Ack | Step::Resend | Step::Filled => self.recover(event, capture, &mut then),
            _ => self.open_or_close(event, capture, &mut then),
        };
        self.state.events += events;
        written
    }

    fn open_or_close(
        &mut self,
        event: Event,
        capture: &mut Capture,
        then: &mut impl FnMut(u64, Step, u32),
    ) -> io::Result<()> {
        let (sender, receiver) = (self.sender, 1 - self.sender);
        let end = self.data_bytes();
        match event.step {
            Step::Open => {
                match self.kind {
                    Kind::Transfer => then(self.tau[1], Step::SynAck, 0),
                    Kind::Udp => return self.datagram(event, capture, then),
                    Kind::Scan { syns, refused } => {
                        if refused {
                            then(self.tau[1], Step::Reset, 0);
                        } else if event.index + 1 < u32::from(syns) {
                            then(1_000_000_000 << event.index, Step::Open, event.index + 1);
                        }
                    }
                }
                self.syn(event.at, 0, capture)
            }
            Step::SynAck => {
                then(self.tau[0], Step::HandshakeAck, 0);
                self.syn(event.at, 1, capture)
            }
            Step::HandshakeAck => {
                let next = if sender == 0 { Step::Data } else { Step::Request };
                then(50 * MICROSECOND, next, 0);
                self.send(event.at, 0, (0, 0), Packet::default(), capture)
            }
            Step::Request => {
                let think = self.random.below(5_000 * MICROSECOND);
                then(self.tau[1] + think, Step::Data, event.index);
                let request =
                    Packet { flags: PSH, payload_len: self.request_len, ..Packet::default() };
                let seen = self.sequence(event.index);
                self.send(event.at, 0, (0, seen), request, capture)?;
                self.state.requested += u32::from(self.request_len);
                Ok(())
            }
            Step::Fin => {
                then(self.tau[receiver], Step::FinAck, 0);
                let fin = Packet { flags: FIN, ..Packet::default() };
                self.send(event.at, sender, (end, 0), fin, capture)
            }
            Step::FinAck => {
                then(self.tau[sender], Step::LastAck, 0);
                let fin = Packet { flags: FIN, ..Packet::default() };
                self.send(event.at, receiver, (0, end + 1), fin, capture)
            }
            Step::LastAck => self.send(event.at, sender, (end + 1, 1), Packet::default(), capture),
            _ if self.kind == Kind::Transfer => {
                let reset = Packet { flags: RST, ..Packet::default() };
                self.send(event.at, receiver, (0, end), reset, capture)
            }
            _ => {
                let ack = self.state.isn[0].wrapping_add(1);
                self.emit(
                    event.at,
                    1,
                    Packet { flags: RST | ACK, ack, ..Packet::default() },
                    capture,
                )
            }
        }
    }

    fn data(
        &mut self,
        event: Event,
        capture: &mut Capture,
        then: &mut impl FnMut(u64, Step, u32),
    ) -> io::Result<()> {
        let index = event.index;
        let receiver = 1 - self.sender;
        let last = index + 1 >= self.segments;
        let lost = self.state.hole.is_none()
            && self.loss > 0.0
            && index + 4 < self.segments
            && self.random.chance(self.loss);
        if lost {
            self.state.hole = Some(index);
            then(self.rtt() + self.period, Step::Resend, index);
        } else if last || index % 2 == 1 || self.state.hole.is_some() {
            then(self.tau[receiver] + MICROSECOND, Step::Ack, index);
        }
        if !last {
            let spread = self.period / 16 + 1;
            let pause = (index + 1).is_multiple_of(self.burst);
            let gap = if pause {
                self.period - spread / 2 + self.random.below(spread)
            } else {
                LINE_GAP_NS
            };
            let next = if pause && self.asks { Step::Request } else { Step::Data };
            then(gap, next, index + 1);
        } else {
            let patience = if self.state.hole.is_some() { 2 * self.rtt() + self.period } else { 0 };
            match self.close {
                Close::Fin => then(patience + 20 * MICROSECOND, Step::Fin, 0),
                Close::Reset => then(patience + self.rtt(), Step::Reset, 0),
                Close::Never => {}
            }
        }
        // Half of the losses are before the monitor, which then sees the hole only.
        if lost && self.random.chance(0.5) {
            Ok(())
        } else {
            self.segment(event.at, index, capture)
        }
    }

    fn recover(
        &mut self,
        event: Event,
        capture: &mut Capture,
        then: &mut impl FnMut(u64, Step, u32),
    ) -> io::Result<()> {
        let receiver = 1 - self.sender;
        match event.step {
            Step::Resend => {
                then(self.tau[receiver] + MICROSECOND, Step::Filled, event.index);
                self.retransmissions += 1;
                return self.segment(event.at, event.index, capture);
            }
            Step::Filled => self.state.hole = None,
            _ => self.state.highest = self.state.highest.max(event.index + 1),
        }
        let hole = self.state.hole.filter(|&hole| hole < self.state.highest);
        let acked = self.sequence(hole.unwrap_or(self.state.highest));
        let edge = |index| self.position(self.sender, self.sequence(index));
        let sack = hole.map(|hole| (edge(hole + 1), edge(self.state.highest)));
        self.send(event.at, receiver, (0, acked), Packet { sack, ..Packet::default() }, capture)
    }

    fn datagram(
        &mut self,
        event: Event,
        capture: &mut Capture,
        then: &mut impl FnMut(u64, Step, u32),
    ) -> io::Result<()> {
        let index = event.index;
        if index + 1 < self.segments {
            let gap = if index == 0 { self.rtt() } else { self.period };
            then(gap / 2 + self.random.below(gap + 1), Step::Datagram, index + 1);
        }
        let from = usize::from(!index.is_multiple_of(8));
        let payload_len = if from == 1 { self.segment_len } else { self.request_len };
        self.emit(event.at, from, Packet { udp: true, payload_len, ..Packet::default() }, capture)
    }

    fn syn(&mut self, at: u64, from: usize, capture: &mut Capture) -> io::Result<()> {
        let ack = if from == 0 { 0 } else { self.state.isn[0].wrapping_add(1) };
        let syn = Packet {
            flags: if from == 0 { SYN } else { SYN | ACK },
            seq: self.state.isn[from],
            ack,
            window: 64_240,
            timestamps: self.clock(at, from),
            syn_options: Some((if self.v6 { 1440 } else { 1460 }, WINDOW_SCALE)),
            ..Packet::default()
        };
        self.emit(at, from, syn, capture)
    }

    /// Writes data segment number `index` of the data sender.
    fn segment(&mut self, at: u64, index: u32, capture: &mut Capture) -> io::Result<()> {
        let flags = if index + 1 == self.segments { PSH } else { 0 };
        let data = Packet { flags, payload_len: self.segment_len, ..Packet::default() };
        self.send(at, self.sender, (self.sequence(index), 0), data, capture)
    }

    /// Writes a packet of an established connection. `relative`: its sequence and acknowledgement
    /// numbers, counted from the first byte after the handshake and the request.
    fn send(
        &mut self,
        at: u64,
        from: usize,
        relative: (u32, u32),
        packet: Packet,
        capture: &mut Capture,
    ) -> io::Result<()> {
        let seq = self.position(from, relative.0);
        let ack = self.position(1 - from, relative.1);
        let packet = Packet {
            seq,
            ack,
            flags: packet.flags | ACK,
            window: 0x7fff,
            timestamps: self.clock(at, from),
            ..packet
        };
        self.emit(at, from, packet, capture)
    }

    fn emit(
        &mut self,
        at: u64,
        from: usize,
        packet: Packet,
        capture: &mut Capture,
    ) -> io::Result<()> {
        self.state.ip_id[from] = self.state.ip_id[from].wrapping_add(1);
        if self.only.is_some_and(|host| host != from) {
            return Ok(());
        }
        self.packets += 1;
        let packet = Packet { ip_id: self.state.ip_id[from], ..packet };
        capture.write(at, self.v6, &self.hosts[from], &self.hosts[1 - from], &packet)
    }

    /// The timestamps option of a packet, in milliseconds of the host's clock.
    fn clock(&mut self, at: u64, from: usize) -> Option<(u32, u32)> {
        if !self.timestamps {
            return None;
        }
        let value = self.state.clock[from].wrapping_add((at / 1_000_000) as u32);
        self.state.last_tsval[from] = value;
        Some((value, self.state.last_tsval[1 - from]))
    }

    fn position(&self, host: usize, bytes: u32) -> u32 {
        let before = if host == 0 { 1 + self.state.requested } else { 1 };
        self.state.isn[host].wrapping_add(before).wrapping_add(bytes)
    }

    fn sequence(&self, index: u32) -> u32 {
        index.wrapping_mul(u32::from(self.segment_len))
    }

    fn data_bytes(&self) -> u32 {
        self.sequence(self.segments)
    }

    fn rtt(&self) -> u64 {
        self.tau[0] + self.tau[1]
    }
}
