//! Timelines in virtual time: packetdrill's notation for one endpoint, with zero tolerance.
//!
//! ```text
//! # Comment: what the script shows, and which sentence of which RFC asks for it.
//! set recovery=sack controller=reno mss=1000     settings of the endpoint
//! peer mss=1000 sack wscale=0 win=60000          what the peer's SYN offers
//! +0   open 500                                  opens, with so much written before
//! connect .1                                     handshake with this round-trip time (or: accept)
//! +0   write 3000                                the application writes, reads, closes
//! +0   > . 1:3001(1000*3) ack 1                  three segments of 1000 bytes leave now
//! +.1  < . 1:1(0) ack 1001 <sack 2001:3001>      a segment of the peer arrives 0.1 s later
//! +.1  < S. 0:0(0) ack 1 <FO 77>                a cookie of Fast Open; <FO> asks for one
//! +.1  < . 1:1(0) ack 2001 echo 20              echoes a timestamp 20 ms before our last one
//! +0   assert cwnd=11 ssthresh=inf limit=application
//! ```
//!
//! Times are relative to the line before. Every segment that leaves must be announced by a line
//! with its very instant; numbers count from the initial sequence numbers. Windows are raw.

use super::settings;
use std::collections::VecDeque;
use tcpwhy_core::units::{Nanos, Seq};
use tcpwhy_core::wire::flags;
use tcpwhy_sim::endpoint::{Endpoint, Outgoing, Socket};
use tcpwhy_sim::packet::{Cookie, Ecn, TcpHeader};
use tcpwhy_sim::tcp::{Config, Connection};

/// Runs a script; the error names the line and what differed.
pub fn run(text: &str) -> Result<(), String> {
    let mut script = Script::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if !line.is_empty() {
            script.step(line).map_err(|error| format!("line {}: {line}\n  {error}", index + 1))?;
        }
    }
    script.expect_silence().map_err(|error| format!("at the end: {error}"))
}

/// What the peer's SYN offers.
#[derive(Clone, Debug)]
struct Peer {
    mss: u16,
    sack: bool,
    timestamps: bool,
    ecn: bool,
    window_scale: Option<u8>,
    window: u16,
    last_tsval: u32,
}

struct Script {
    config: Config,
    peer: Peer,
    connection: Option<Connection>,
    now: Nanos,
    left: VecDeque<(Nanos, Outgoing)>,
}

impl Script {
    fn new() -> Script {
        Script {
            // Scripts that are not about these have no segmentation offload, so that PSH is at the
            // ends of writes only, and no first window: the buffer is advertised at once.
            config: Config {
                iss: Seq(0xffff_f000),
                tso_max_bytes: 0,
                first_window_bytes: None,
                ..Config::default()
            },
            peer: Peer {
                mss: 1460,
                sack: false,
                timestamps: false,
                ecn: false,
                window_scale: None,
                window: 65_535,
                last_tsval: 0,
            },
            connection: None,
            now: Nanos(0),
            left: VecDeque::new(),
        }
    }

    fn step(&mut self, line: &str) -> Result<(), String> {
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match word {
            "set" => settings::apply(&mut self.config, rest),
            "peer" => self.set_peer(rest),
            "connect" => self.connect(seconds(rest.trim())?),
            "accept" => self.accept(seconds(rest.trim())?),
            _ => {
                let delta = word.strip_prefix('+').ok_or("a line starts with +TIME")?;
                self.advance(self.now + seconds(delta)?);
                self.event(rest.trim())
            }
        }
    }

    fn event(&mut self, event: &str) -> Result<(), String> {
        let (word, rest) = event.split_once(char::is_whitespace).unwrap_or((event, ""));
        let rest = rest.trim();
        if word != ">" && word != "assert" {
            self.expect_silence()?;
        }
        let now = self.now;
        match word {
            ">" => return self.expect_segments(rest),
            "assert" => return self.assert(rest),
            "<" => {
                let (header, ecn) = self.peer_segment(rest)?;
                self.end().receive(now, &header, ecn);
            }
            "write" => {
                let bytes = number(rest)?;
                self.end().write(now, bytes);
            }
            "read" => {
                let bytes = number(rest)?;
                self.end().read(now, bytes);
            }
            "open" => {
                let bytes = if rest.is_empty() { 0 } else { number(rest)? };
                let end = self.start();
                end.write(now, bytes);
                end.open(now);
            }
            "listen" => {
                self.start();
            }
            "close" => self.end().close(now),
            "nothing" => {}
            other => return Err(format!("unknown event {other:?}")),
        }
        self.collect();
        Ok(())
    }

    fn start(&mut self) -> &mut Connection {
        self.connection.insert(Connection::new(&self.config))
    }

    fn end(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("the script opens or listens first")
    }

    /// The endpoint opens; the peer answers after `rtt`; the handshake's segments are not checked.
    fn connect(&mut self, rtt: Nanos) -> Result<(), String> {
        self.event("open")?;
        self.left.clear();
        self.advance(self.now + rtt);
        self.event("< S. 0:0(0) ack 1")?;
        self.left.clear();
        Ok(())
    }

    /// The peer opens and completes the handshake after `rtt`.
    fn accept(&mut self, rtt: Nanos) -> Result<(), String> {
        self.event("listen")?;
        self.event("< S 0:0(0)")?;
        self.left.clear();
        self.advance(self.now + rtt);
        self.event("< . 1:1(0) ack 1")
    }

    fn advance(&mut self, until: Nanos) {
        while let Some(next) = self.connection.as_ref().and_then(|end| end.next_timer())
            && next <= until
        {
            self.now = self.now.max(next);
            let now = self.now;
            self.end().timer(now);
            self.collect();
        }
        self.now = until;
    }

    fn collect(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        while let Some(outgoing) = connection.transmit(self.now) {
            if let Some((tsval, _)) = outgoing.header.timestamps {
                self.peer.last_tsval = tsval;
            }
            self.left.push_back((self.now, outgoing));
        }
    }

    fn expect_silence(&self) -> Result<(), String> {
        match self.left.front() {
            None => Ok(()),
            Some((at, outgoing)) => {
                let shown = self.show(outgoing);
                Err(format!("unexpected at {:.6}: > {shown}", at.as_secs_f64()))
            }
        }
    }

    /// `> FLAGS start:end(len) [ack N] [win N] [<options>] [ect|ce] [kind NAME]`, or with
    /// `(len*count)` that many.
    fn expect_segments(&mut self, text: &str) -> Result<(), String> {
        let wanted = Wanted::parse(text)?;
        for part in 0..wanted.count {
            let Some((at, outgoing)) = self.left.pop_front() else {
                return Err(format!("nothing left, at segment {} of {}", part + 1, wanted.count));
            };
            if at != self.now {
                let (at, now) = (at.as_secs_f64(), self.now.as_secs_f64());
                return Err(format!("left at {at:.9}, not at {now:.9}: {}", self.show(&outgoing)));
            }
            let is_last = part + 1 == wanted.count;
            self.compare(&wanted, part, is_last, &outgoing)
                .map_err(|what| format!("{what} differs in > {}", self.show(&outgoing)))?;
        }
        Ok(())
    }

    fn compare(&self, wanted: &Wanted, part: u64, last: bool, out: &Outgoing) -> Result<(), &str> {
        let header = &out.header;
        let start = wanted.start + part * wanted.len;
        let same = |holds: bool, what| if holds { Ok(()) } else { Err(what) };
        same(header.seq == self.config.iss + start as u32, "sequence number")?;
        same(u64::from(header.payload_bytes) == wanted.len, "length")?;
        // PSH and FIN belong to the last of several segments.
        let flags = if last { wanted.flags } else { wanted.flags & !(flags::PSH | flags::FIN) };
        same(header.flags == flags, "flags")?;
        same(wanted.ack.is_none_or(|ack| header.ack == Seq(ack as u32)), "ack")?;
        same(wanted.window.is_none_or(|window| u64::from(header.window_raw) == window), "window")?;
        let sack: Vec<_> = header.sack.iter().map(|block| (block.0.0, block.1.0)).collect();
        same(sack == wanted.sack, "sack")?;
        same(wanted.mss.is_none_or(|mss| header.mss == Some(mss)), "mss")?;
        same(wanted.scale.is_none_or(|scale| header.window_scale == Some(scale)), "wscale")?;
        same(!wanted.sack_permitted || header.sack_permitted, "sackOK")?;
        same(!wanted.timestamps || header.timestamps.is_some(), "TS")?;
        same(wanted.fast_open == header.fast_open, "Fast Open")?;
        same(wanted.ecn.is_none_or(|ecn| out.ecn == ecn), "ECN field")?;
        same(wanted.kind.as_deref().is_none_or(|kind| out.kind.name() == kind), "kind")
    }

    fn show(&self, outgoing: &Outgoing) -> String {
        let header = &outgoing.header;
        let start = header.seq.distance(self.config.iss);
        let end = start + header.payload_bytes as i32;
        let mut names = String::new();
        for (bit, name) in FLAGS {
            if header.flags & bit != 0 {
                names.push(name);
            }
        }
        let sack: Vec<_> =
            header.sack.iter().map(|block| format!("{}:{}", block.0.0, block.1.0)).collect();
        format!(
            "{names} {start}:{end}({}) ack {} win {} <sack {}> {:?} {:?} kind {}",
            header.payload_bytes,
            header.ack.0,
            header.window_raw,
            sack.join(" "),
            header.fast_open,
            outgoing.ecn,
            outgoing.kind.name()
        )
    }

    fn set_peer(&mut self, text: &str) -> Result<(), String> {
        for item in text.split_whitespace() {
            let (key, value) = item.split_once('=').unwrap_or((item, ""));
            match key {
                "mss" => self.peer.mss = number(value)? as u16,
                "sack" => self.peer.sack = true,
                "ts" => self.peer.timestamps = true,
                "ecn" => self.peer.ecn = true,
                "wscale" => self.peer.window_scale = Some(number(value)? as u8),
                "win" => self.peer.window = number(value)? as u16,
                _ => return Err(format!("unknown peer option {key:?}")),
            }
        }
        Ok(())
    }

    /// `< FLAGS start:end(len) [ack N] [win N] [<sack ...>] [ce]`: win holds until the next one.
    fn peer_segment(&mut self, text: &str) -> Result<(TcpHeader, Ecn), String> {
        let wanted = Wanted::parse(text)?;
        if let Some(window) = wanted.window {
            self.peer.window = window as u16;
        }
        let is_syn = wanted.flags & flags::SYN != 0;
        let iss = self.config.iss;
        let mut header = TcpHeader {
            seq: Seq(wanted.start as u32),
            ack: wanted.ack.map_or(Seq(0), |ack| iss + ack as u32),
            flags: wanted.flags,
            window_raw: self.peer.window,
            payload_bytes: wanted.len as u32,
            fast_open: wanted.fast_open,
            sack: wanted.sack.iter().map(|&(l, r)| (iss + l, iss + r)).collect(),
            ..TcpHeader::default()
        };
        if self.peer.timestamps {
            let clock = (self.now.0 / 1_000_000) as u32 + 1 - wanted.older_ms;
            let echo = self.peer.last_tsval.wrapping_sub(wanted.echo_older_ms);
            header.timestamps = Some((clock, echo));
        }
        if is_syn {
            header.mss = Some(self.peer.mss);
            header.sack_permitted = self.peer.sack;
            header.window_scale = self.peer.window_scale;
            if self.peer.ecn {
                let is_answer = wanted.flags & flags::ACK != 0;
                header.flags |= if is_answer { flags::ECE } else { flags::ECE | flags::CWR };
            }
        }
        Ok((header, wanted.ecn.unwrap_or(Ecn::NotEct)))
    }

    fn assert(&mut self, text: &str) -> Result<(), String> {
        let end = self.connection.as_ref().ok_or("nothing is open")?;
        for item in text.split_whitespace() {
            let (key, wanted) = item.split_once('=').ok_or("an assertion is key=value")?;
            let found = settings::observe(end, self.now, key)?;
            if found != wanted {
                return Err(format!("{key} is {found}, not {wanted}"));
            }
        }
        Ok(())
    }
}

/// A segment in the notation of scripts.
#[derive(Debug, Default)]
struct Wanted {
    flags: u16,
    start: u64,
    len: u64,
    count: u64,
    ack: Option<u64>,
    window: Option<u64>,
    sack: Vec<(u32, u32)>,
    mss: Option<u16>,
    scale: Option<u8>,
    sack_permitted: bool,
    timestamps: bool,
    fast_open: Option<Cookie>,
    older_ms: u32,
    echo_older_ms: u32,
    ecn: Option<Ecn>,
    kind: Option<String>,
}

impl Wanted {
    fn parse(text: &str) -> Result<Wanted, String> {
        let (text, options) = match text.split_once('<') {
            Some((before, after)) => {
                let (inside, behind) = after.split_once('>').ok_or("options end with >")?;
                (format!("{before} {behind}"), inside.to_string())
            }
            None => (text.to_string(), String::new()),
        };
        let mut wanted = Wanted { count: 1, ..Wanted::default() };
        let mut words = text.split_whitespace();
        for name in words.next().ok_or("a segment starts with flags")?.chars() {
            let known = FLAGS.iter().find(|(_, known)| *known == name);
            wanted.flags |= known.ok_or(format!("unknown flag {name:?}"))?.0;
        }
        wanted.parse_range(words.next().ok_or("start:end(len) is missing")?)?;
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word {
                "ack" => wanted.ack = Some(number(value()?)?),
                "win" => wanted.window = Some(number(value()?)?),
                "kind" => wanted.kind = Some(value()?.to_string()),
                "older" => wanted.older_ms = number(value()?)? as u32,
                "echo" => wanted.echo_older_ms = number(value()?)? as u32,
                "ect" => wanted.ecn = Some(Ecn::Ect0),
                "noect" => wanted.ecn = Some(Ecn::NotEct),
                "ce" => wanted.ecn = Some(Ecn::Ce),
                other => return Err(format!("unknown word {other:?}")),
            }
        }
        wanted.parse_options(&options)?;
        Ok(wanted)
    }

    fn parse_range(&mut self, text: &str) -> Result<(), String> {
        let (range, len) =
            text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or("start:end(len)")?;
        let (start, end) = range.split_once(':').ok_or("start:end")?;
        let (len, count) = len.split_once('*').unwrap_or((len, "1"));
        (self.start, self.len, self.count) = (number(start)?, number(len)?, number(count)?);
        let end = number(end)?;
        if end != self.start + self.len * self.count {
            return Err(format!("{text}: the end does not fit the length"));
        }
        Ok(())
    }

    fn parse_options(&mut self, text: &str) -> Result<(), String> {
        for option in text.split(',').map(str::trim).filter(|option| !option.is_empty()) {
            let (name, values) = option.split_once(' ').unwrap_or((option, ""));
            match name {
                "mss" => self.mss = Some(number(values)? as u16),
                "wscale" => self.scale = Some(number(values)? as u8),
                "sackOK" => self.sack_permitted = true,
                "TS" => self.timestamps = true,
                "FO" if values.is_empty() => self.fast_open = Some(Cookie::Request),
                "FO" => self.fast_open = Some(Cookie::Value(number(values)? as u32)),
                "sack" => {
                    for block in values.split_whitespace() {
                        let (left, right) = block.split_once(':').ok_or("a block is left:right")?;
                        self.sack.push((number(left)? as u32, number(right)? as u32));
                    }
                }
                other => return Err(format!("unknown option {other:?}")),
            }
        }
        Ok(())
    }
}

/// Letters of the flags, as tcpdump has them.
const FLAGS: [(u16, char); 7] = [
    (flags::SYN, 'S'),
    (flags::FIN, 'F'),
    (flags::RST, 'R'),
    (flags::PSH, 'P'),
    (flags::ECE, 'E'),
    (flags::CWR, 'W'),
    (flags::ACK, '.'),
];

/// A decimal number of seconds, exactly.
pub fn seconds(text: &str) -> Result<Nanos, String> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let whole = if whole.is_empty() { 0 } else { number(whole)? };
    let part = number(&format!("{part:0<9}"))?;
    Ok(Nanos((whole * 1_000_000_000 + part) as i64))
}

/// A whole number.
pub fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text:?} is not a number"))
}
