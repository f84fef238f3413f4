//! What opening and closing a connection tell.

use crate::flow::entry::Entry;
use crate::units::{Nanos, Seq};
use crate::wire::{NO_WINDOW_SCALE, flags, marks};

/// The options of one side's SYN or SYN/ACK.
#[derive(Clone, Copy, Debug)]
pub struct Offer {
    /// Initial sequence number.
    pub iss: Seq,
    ip_id: u16,
    tsval: u32,
    ack: Seq,
    payload_len: u32,
    /// MSS option in bytes.
    pub mss: Option<u16>,
    /// Window scale option; shifts above 14 count as 14 (RFC 7323 section 2.3).
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// The options were cut by the snaplen.
    pub cut: bool,
}

/// Opening and closing of one flow. Sides: 0 is the low endpoint of the key, 1 the high one.
#[derive(Clone, Debug, Default)]
pub struct Handshake {
    /// Who opened: the sender of the first SYN, else who is seen first.
    pub orig: Option<usize>,
    offers: [Option<Offer>; 2],
    syn: Option<Nanos>,
    syn_ack: Option<Nanos>,
    syn_repeated: bool,
    syn_ack_repeated: bool,
    third: Option<Nanos>,
    third_waited: bool,
    fin: [bool; 2],
    rst: [bool; 2],
    /// The other side reset the connection before this one sent anything but SYN.
    rejected: bool,
}

impl Handshake {
    /// Whether `entry` opens another connection on the same 4-tuple: a SYN with another initial
    /// sequence number than the one known.
    pub fn is_reopened_by(&self, entry: &Entry, first_seq: Option<Seq>) -> bool {
        if !entry.has(flags::SYN) || entry.has(flags::ACK | flags::RST) {
            return false;
        }
        match &self.offers[side(entry)] {
            Some(offer) => offer.iss != entry.seq,
            // A SYN that overtook nothing but was overtaken itself belongs to what it opens.
            None => match first_seq {
                Some(first) => first != entry.seq + 1,
                None => self.offers[1 - side(entry)].is_none(),
            },
        }
    }

    /// Whether the SYN `entry` is a copy of the one known, from another place on its way: the same
    /// identification and timestamp, sooner than any host sends a SYN again.
    #[cold]
    pub fn is_copy(&self, entry: &Entry) -> bool {
        let seen = if entry.has(flags::ACK) { self.syn_ack } else { self.syn };
        let (Some(offer), Some(seen)) = (&self.offers[side(entry)], seen) else { return false };
        let numbers = (offer.iss, offer.ack, offer.payload_len);
        entry.ip_id != 0
            && (offer.ip_id, offer.tsval) == (entry.ip_id, entry.tsval)
            && numbers == (entry.seq, entry.ack, entry.payload_len)
            && entry.ts.since(seen) < FIRST_TIMEOUT
    }

    /// Takes what `entry` says about opening and closing.
    pub fn segment(&mut self, entry: &Entry) {
        let side = side(entry);
        if entry.has(flags::SYN) {
            self.opening(entry, side);
        } else if self.orig == Some(side) && self.third.is_none() {
            self.third_packet(entry, side);
        }
        if self.orig.is_none() {
            self.orig = Some(side);
        }
        if entry.has(flags::RST) {
            self.rejected |= self.orig != Some(side) && !self.established();
            self.rst[side] = true;
        }
        self.fin[side] |= entry.has(flags::FIN);
    }

    #[cold]
    fn opening(&mut self, entry: &Entry, side: usize) {
        let answer = entry.has(flags::ACK);
        let (seen, repeated) = match answer {
            true => (&mut self.syn_ack, &mut self.syn_ack_repeated),
            false => (&mut self.syn, &mut self.syn_repeated),
        };
        *repeated |= seen.is_some();
        *seen = Some(entry.ts);
        if self.orig.is_none() {
            self.orig = Some(if answer { 1 - side } else { side });
        }
        if self.third.is_some() && self.offers[side].is_some() {
            // A late SYN/ACK with another number must not move a connection that is under way.
            return;
        }
        self.offers[side] = Some(Offer {
            iss: entry.seq,
            ip_id: entry.ip_id,
            tsval: entry.tsval,
            ack: entry.ack,
            payload_len: entry.payload_len,
            mss: (entry.mss_option != 0).then_some(entry.mss_option),
            window_scale: (entry.window_scale != NO_WINDOW_SCALE)
                .then(|| entry.window_scale.min(14)),
            sack_permitted: entry.marks & marks::SACK_PERMITTED != 0,
            cut: entry.marks & marks::OPTIONS_CUT != 0,
        });
    }

    fn third_packet(&mut self, entry: &Entry, side: usize) {
        let Some(answer) = &self.offers[1 - side] else { return };
        if entry.has(flags::ACK) && !entry.has(flags::RST) && entry.ack == answer.iss + 1 {
            self.third = Some(entry.ts);
            self.third_waited = entry.payload_len > 0;
        }
    }

    /// Whether only SYN, FIN and RST can change anything any more: the third packet was seen, or
    /// will not be known for it.
    #[inline]
    pub fn is_settled(&self) -> bool {
        self.orig.is_some_and(|orig| self.third.is_some() || self.offers[1 - orig].is_none())
    }

    /// Whether SYN, SYN/ACK and the ACK of it were all seen.
    pub fn complete(&self) -> bool {
        self.syn.is_some() && self.syn_ack.is_some() && self.third.is_some()
    }

    /// What `side` offered in its SYN or SYN/ACK.
    pub fn offer(&self, side: usize) -> Option<&Offer> {
        self.offers[side].as_ref()
    }

    /// Delay from the observer to the responder and back: SYN to SYN/ACK. `None` when either was
    /// sent more than once, since it is not known which one was answered.
    pub fn tau_resp(&self) -> Option<Nanos> {
        let repeated = self.syn_repeated || self.syn_ack_repeated;
        if repeated { None } else { Some(self.syn_ack?.since(self.syn?)) }
    }

    /// Delay from the observer to the originator and back: SYN/ACK to ACK. `None` when the SYN/ACK
    /// was sent more than once, or when the ACK carried data and came late, since the application
    /// may have waited.
    pub fn tau_orig(&self) -> Option<Nanos> {
        if self.syn_ack_repeated {
            return None;
        }
        let tau = self.third?.since(self.syn_ack?);
        let waited = self.third_waited && self.tau_resp().is_none_or(|resp| tau.0 > 3 * resp.0);
        (!waited).then_some(tau)
    }

    /// Whether both sides permitted SACK (RFC 2018 section 2); `None` where not both SYNs were seen
    /// whole.
    pub fn sack_agreed(&self) -> Option<bool> {
        match &self.offers {
            [Some(one), Some(other)] if !one.cut && !other.cut => {
                Some(one.sack_permitted && other.sack_permitted)
            }
            _ => None,
        }
    }

    /// Shift of the window that `receiver` advertises: `Some(0)` when scaling is off because only
    /// one side offers it (RFC 7323 section 2.2), `None` when that is not known.
    pub fn window_scale(&self, receiver: usize) -> Option<u8> {
        let (mine, theirs) = (self.offers[receiver].as_ref()?, self.offers[1 - receiver].as_ref());
        match theirs {
            Some(theirs) if mine.cut || theirs.cut => None,
            Some(theirs) => Some(match (mine.window_scale, theirs.window_scale) {
                (Some(shift), Some(_)) => shift,
                _ => 0,
            }),
            None if mine.window_scale.is_none() && !mine.cut => Some(0),
            None => None,
        }
    }

    fn established(&self) -> bool {
        match self.orig {
            Some(orig) => self.offers[1 - orig].is_some() && self.third.is_some(),
            None => false,
        }
    }

    /// Outcome in Zeek's terms (`conn_state` of conn.log).
    pub fn conn_state(&self) -> &'static str {
        let orig = self.orig.unwrap_or(0);
        let resp = 1 - orig;
        let answered = self.offers[resp].is_some();
        match (self.offers[orig].is_some(), answered) {
            (false, false) => "OTH",
            (false, true) if self.rst[resp] => "RSTRH",
            (false, true) if self.fin[resp] => "SHR",
            (false, true) => "OTH",
            (true, false) if self.rejected && self.rst[resp] => "REJ",
            (true, false) if self.rst[orig] => "RSTOS0",
            (true, false) if self.fin[orig] => "SH",
            (true, false) => "S0",
            (true, true) if self.rejected && self.third.is_none() => "REJ",
            (true, true) => {
                match (self.rst[orig], self.rst[resp], self.fin[orig], self.fin[resp]) {
                    (_, _, true, true) => "SF",
                    (true, _, _, _) => "RSTO",
                    (_, true, _, _) => "RSTR",
                    (_, _, true, _) => "S2",
                    (_, _, _, true) => "S3",
                    _ => "S1",
                }
            }
        }
    }
}

/// A SYN is sent again after a second at the earliest (RFC 6298 section 2.1).
const FIRST_TIMEOUT: Nanos = Nanos::SECOND;

/// Which side sent `entry`: 0 the low endpoint of the key, 1 the high one.
#[inline]
pub fn side(entry: &Entry) -> usize {
    usize::from(!entry.forward())
}
