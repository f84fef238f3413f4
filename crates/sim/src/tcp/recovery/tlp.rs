//! Tail loss probes (RFC 8985 section 7): a segment after two quiet round trips, to draw the
//! acknowledgement that lets recovery see a loss at the end of a flight.

use tcpwhy_core::units::Nanos;

/// The state of section 7.1.
#[derive(Debug, Default)]
pub struct Tlp {
    /// "TLP.end_seq": SND.NXT when the probe left; `None` without an outstanding probe.
    end_seq: Option<u64>,
    /// "TLP.is_retrans": whether the probe was a retransmission.
    is_retrans: bool,
}

/// What an acknowledgement says about the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing, or there is none outstanding.
    Pending,
    /// The probe was not needed, or it was new data: nothing was lost.
    Unneeded,
    /// The probe repaired a loss: it is to be answered like one (section 7.4.2).
    RepairedLoss,
}

impl Tlp {
    /// Whether a probe is outstanding: then no further one is scheduled.
    pub fn is_outstanding(&self) -> bool {
        self.end_seq.is_some()
    }

    /// Section 7.3 TLP_send_probe: the probe left.
    pub fn on_probe(&mut self, snd_nxt: u64, is_retrans: bool) {
        self.end_seq = Some(snd_nxt);
        self.is_retrans = is_retrans;
    }

    /// The retransmission timer expired, or recovery began: the episode is over.
    pub fn reset(&mut self) {
        self.end_seq = None;
    }

    /// Section 7.4.2 TLP_process_ack.
    pub fn on_ack(&mut self, ack: u64, dsack_of_probe: bool, has_sack: bool, dup: bool) -> Verdict {
        let Some(end_seq) = self.end_seq.filter(|&end_seq| ack >= end_seq) else {
            return Verdict::Pending;
        };
        let verdict = match () {
            () if !self.is_retrans || dsack_of_probe => Verdict::Unneeded,
            () if ack > end_seq => Verdict::RepairedLoss,
            // "ACK is a DupAck without any SACK option": the probe arrived in duplicate.
            () if dup && !has_sack => Verdict::Unneeded,
            () => return Verdict::Pending,
        };
        self.end_seq = None;
        verdict
    }
}

/// Section 7.2 TLP_calc_PTO: the probe timeout. `one_outstanding` adds the delay of an
/// acknowledgement that waits for a second segment.
pub fn probe_timeout(srtt: Option<Nanos>, one_outstanding: bool) -> Nanos {
    match srtt {
        None => Nanos::SECOND,
        Some(srtt) if one_outstanding => Nanos(2 * srtt.0) + MAX_ACK_DELAY,
        Some(srtt) => Nanos(2 * srtt.0),
    }
}

/// Section 7.2: "the sender MAY inflate the PTO by TLP.max_ack_delay to accommodate a potentially
/// delayed acknowledgment"; 200 ms is what Linux takes.
const MAX_ACK_DELAY: Nanos = Nanos::from_millis(200);
