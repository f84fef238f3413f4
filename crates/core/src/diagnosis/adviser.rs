//! The same advice for a sender whose own kernel was asked: TCP_INFO instead of packets.
//!
//! What limits such a sender the kernel's clocks tell. What to change, and what that would gain,
//! comes from the remedies and models that the analysis of captures has.

use super::headroom::{FARTHEST_GAIN, Headroom, LIFTED_WITH_LOSS};
use super::remedy::Advised;
use super::{Case, Cause, Context, Facts, Limitation};
use crate::model::Predict;
use crate::model::cubic::Cubic;
use crate::model::window::Window;
use crate::reason::GainUnknown;
use crate::record::Text;
use crate::units::Nanos;

/// What a kernel says of a connection on which its host sends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Socket {
    /// Time that it was watched, in s.
    pub seconds: f64,
    /// Bytes acknowledged in that time.
    pub acked_bytes: f64,
    /// Segments sent in that time.
    pub segments: f64,
    /// Segments sent again in that time.
    pub retransmits: f64,
    /// A round trip without the queue that goes with the limit, in ns.
    pub rtt_ns: f64,
    /// Least round trip in ns.
    pub rtt_min_ns: f64,
    /// Payload bytes of a full segment.
    pub mss_bytes: f64,
    /// Largest receiver window seen.
    pub window_bytes: f64,
    /// To what the receiver's window may grow, where it said so.
    pub window_max_bytes: Option<f64>,
    /// Payload that the send buffer may come to hold.
    pub buffer_bytes: f64,
    /// Rate of the path in bit/s, where it showed.
    pub link_bps: Option<f64>,
    /// Rate in bit/s to which the program or the socket is paced.
    pub pace_bps: Option<f64>,
}

/// What to change, and what that would gain or why nobody can say.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The remedy; `None` where none is known.
    pub remedy: Option<Text>,
    /// Its gain.
    pub gain: Result<Headroom, GainUnknown>,
}

/// Advice for a sender that was limited by `word`, a cause or a limitation. The ends are called
/// the sender and the receiver.
pub fn advise(word: &str, socket: &Socket) -> Advice {
    let limitation =
        Limitation::ALL.iter().find(|known| Some(known.name()) == word.split('/').next());
    let Some(&limitation) = limitation else {
        return Advice { remedy: None, gain: Err(GainUnknown::NothingMeasured) };
    };
    let cause = Cause::ALL.iter().copied().find(|cause| cause.name() == word);
    if cause.is_none() && limitation == Limitation::Application {
        return Advice { remedy: Some(HOST.into()), gain: Err(GainUnknown::HostLimit) };
    }
    let gain = socket.gain(limitation);
    let (src, dst) = (&"the sender", &"the receiver");
    let case = socket.case();
    let advised = |cause| Advised { case: &case, cause, headroom: gain.ok(), src, dst };
    let remedy = cause.map(|cause| advised(cause).remedy());
    Advice { remedy, gain }
}

impl Socket {
    fn rate_bps(&self) -> f64 {
        self.acked_bytes * 8.0 / self.seconds.max(1e-9)
    }

    fn loss(&self) -> f64 {
        self.retransmits / self.segments.max(1.0)
    }

    /// The least of the bounds that remain without this limitation.
    fn gain(&self, lifted: Limitation) -> Result<Headroom, GainUnknown> {
        if lifted.is_bottleneck() || lifted == Limitation::Policer {
            return Err(GainUnknown::OnlyThisLink);
        }
        let now_bps = self.rate_bps();
        let over_trip =
            |window_bytes: f64| Window { window_bytes, rtt_ns: self.rtt_ns }.rate_bps().ok();
        let cubic = Cubic {
            mss_bytes: self.mss_bytes,
            rtt_ns: self.rtt_min_ns,
            loss: self.loss(),
            ..Cubic::default()
        };
        let loss = cubic.rate_bps().ok().filter(|_| !LIFTED_WITH_LOSS.contains(&lifted));
        let window_bytes = self.window_max_bytes.unwrap_or(0.0).max(self.window_bytes);
        let bounds = [
            (over_trip(window_bytes), Limitation::ReceiverWindow),
            (over_trip(self.buffer_bytes), Limitation::SenderWindow),
            (self.link_bps, Limitation::UnsharedBottleneck),
            (self.pace_bps, Limitation::Application),
            (loss, Limitation::RandomLoss),
        ];
        let remain = bounds.into_iter().filter(|&(_, limitation)| limitation != lifted);
        let above = remain.filter_map(|(bound, next)| Some((bound?, next)));
        let above = above.filter(|&(bps, _)| bps > WITHIN * now_bps);
        let (bps, next) =
            above.min_by(|a, b| a.0.total_cmp(&b.0)).ok_or(GainUnknown::NoOtherBound)?;
        let is_window = matches!(next, Limitation::ReceiverWindow | Limitation::SenderWindow);
        if is_window && self.rtt_ns < SHORT_TRIP_NS {
            return Err(GainUnknown::HostBeforeWindow);
        }
        if lifted.is_of_network() && bps > FARTHEST_GAIN * self.link_bps.unwrap_or(0.0).max(now_bps)
        {
            return Err(GainUnknown::BeyondEvidence);
        }
        Ok(Headroom { bps, next: Some(next) })
    }

    /// What the remedies need to know, as a capture would say it.
    fn case(&self) -> Case {
        let facts = Facts {
            span_s: self.seconds,
            unique_bytes: self.acked_bytes as u64,
            packets: self.segments as u64,
            losses: self.retransmits as u64,
            loss_ratio: self.loss(),
            genuine: 1.0,
            inflation: Some(self.rtt_ns / self.rtt_min_ns.max(1.0)),
            // Its kernel says what it waited for: no shaper hides behind its pace.
            idle: 1.0,
            ..Facts::default()
        };
        let context = Context {
            mss_bytes: self.mss_bytes as u32,
            rtt_min: Some(Nanos(self.rtt_ns as i64)),
            rwnd_max: Some(self.window_bytes as u64),
            capacity_bps: self.link_bps,
            sack_agreed: Some(true),
            ..Context::default()
        };
        Case { facts, context, ..Case::default() }
    }
}

const HOST: &str = "on the sender, more streams (--parallel) or a faster processor";
/// A bound this near to what was reached did not hold.
const WITHIN: f64 = 1.02;
/// In a shorter round trip a window is no bound: copying and scheduling take as long.
const SHORT_TRIP_NS: f64 = 1e6;

#[cfg(test)]
mod tests {
    use super::*;

    const SOCKET: Socket = Socket {
        seconds: 1.0,
        acked_bytes: 1e6,
        segments: 700.0,
        retransmits: 0.0,
        rtt_ns: 40e6,
        rtt_min_ns: 40e6,
        mss_bytes: 1448.0,
        window_bytes: 41_000.0,
        window_max_bytes: None,
        buffer_bytes: 500_000.0,
        link_bps: None,
        pace_bps: None,
    };

    #[test]
    fn a_gain_is_the_next_bound_and_the_remedy_is_sized_for_it() {
        let advice = advise("receiver_window/buffer", &SOCKET);
        let gain = advice.gain.expect("the send buffer");
        assert_eq!((gain.bps.round(), gain.next), (100e6, Some(Limitation::SenderWindow)));
        let remedy = advice.remedy.expect("one");
        assert!(remedy.contains("on the receiver to at least 1.00 MB"), "{remedy}");
        let narrow = Socket { link_bps: Some(2e7), ..SOCKET };
        let gain = advise("receiver_window/buffer", &narrow).gain.expect("the link");
        assert_eq!(gain.next, Some(Limitation::UnsharedBottleneck));
    }

    #[test]
    fn reasons_say_why_there_is_no_gain() {
        let gain = |word: &str, socket: &Socket| advise(word, socket).gain;
        let near = Socket { rtt_ns: 2e5, ..SOCKET };
        assert_eq!(gain("receiver_window/buffer", &near), Err(GainUnknown::HostBeforeWindow));
        assert_eq!(gain("unshared_bottleneck/queue", &SOCKET), Err(GainUnknown::OnlyThisLink));
        assert_eq!(gain("application", &SOCKET), Err(GainUnknown::HostLimit));
        assert_eq!(gain("-", &SOCKET), Err(GainUnknown::NothingMeasured));
        let far = Socket { window_bytes: 1e8, buffer_bytes: 1e8, ..SOCKET };
        assert_eq!(gain("random_loss", &far), Err(GainUnknown::BeyondEvidence));
        let full = Socket { buffer_bytes: 10_000.0, window_bytes: 10_000.0, ..SOCKET };
        assert_eq!(gain("application/idle", &full), Err(GainUnknown::NoOtherBound));
    }

    #[test]
    fn every_cause_has_a_remedy() {
        for cause in Cause::ALL {
            let remedy = advise(cause.name(), &SOCKET).remedy.expect("one");
            assert!(!remedy.contains("shaper"), "{cause:?}: {remedy}");
        }
        assert!(advise("sender_window/cwnd_clamp", &SOCKET).remedy.expect("one").contains("lock"));
        assert_eq!(advise("mixed", &SOCKET).remedy, None);
    }
}
