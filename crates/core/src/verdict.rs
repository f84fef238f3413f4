//! From scores to one answer: the decision tree of Siekkinen et al. 2008 as IM 2021 uses it.

use crate::diagnosis::limit::Limitation;
use crate::flow::time::period::PeriodKind;
use crate::score::Scores;

/// The tree's answer for a period of this kind, or why it has none.
pub(crate) fn siekkinen(kind: PeriodKind, scores: &Scores) -> Result<Limitation, &'static str> {
    match kind {
        PeriodKind::Alp => return Ok(Limitation::Application),
        PeriodKind::Stp => return Err("short transfer: fewer than 130 packets"),
        PeriodKind::Btp => {}
    }
    let retransmission = scores.retransmission_score.ok_or("no data")?;
    // Without a capacity the tree begins at its second test (algorithms 8).
    if scores.dispersion_score.is_some_and(|dispersion| dispersion < DISPERSION_THRESHOLD) {
        return Ok(Limitation::UnsharedBottleneck);
    }
    if retransmission > RETRANSMISSION_THRESHOLD {
        return Ok(Limitation::SharedBottleneck);
    }
    // By the packet or by the time: a window that stays closed stops the packets that would show
    // it.
    let rwnd = [scores.rwnd_score, scores.rwnd_time_score].into_iter().flatten().reduce(f64::max);
    let rwnd = rwnd.ok_or("receiver window unknown")?;
    if rwnd > RWND_THRESHOLD {
        // A window of less than two packets leaves nothing to spread: it is the limit itself.
        return match scores.burstiness_score {
            Some(burstiness) if burstiness <= BURSTINESS_THRESHOLD => {
                Ok(Limitation::SharedBottleneck)
            }
            _ => Ok(Limitation::ReceiverWindow),
        };
    }
    if rwnd == 0.0 && retransmission == 0.0 {
        return Ok(Limitation::Transport);
    }
    Ok(Limitation::Mixed)
}

/// th1 (IM 2021, section IV.C): below it the narrow link is filled by this half.
pub const DISPERSION_THRESHOLD: f64 = 0.2;
/// th2 (IM 2021): above it losses come from a full link.
pub const RETRANSMISSION_THRESHOLD: f64 = 0.01;
/// th3 (IM 2021): above it the window is full most of the time.
pub const RWND_THRESHOLD: f64 = 0.5;
/// th4. The paper's -1000 is on the prototype's scale, where the window counts in bits; at an MSS
/// of 1460 bytes that is 1 - 1001 / (8 * 1460) = 0.914 on the correct one (algorithms 7).
pub const BURSTINESS_THRESHOLD: f64 = 0.914;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_decides_as_published() {
        let rows = [
            // d, r, w, b, answer
            (0.19, 0.5, 1.0, 0.0, "unshared_bottleneck"),
            (0.2, 0.011, 1.0, 1.0, "shared_bottleneck"),
            (0.9, 0.01, 0.51, 0.95, "receiver_window"),
            (0.9, 0.01, 0.51, 0.914, "shared_bottleneck"),
            (0.9, 0.0, 0.0, 0.5, "transport"),
            (0.9, 0.001, 0.0, 0.5, "mixed"),
            (0.9, 0.0, 0.5, 0.99, "mixed"),
        ];
        for (dispersion, retransmission, rwnd, burstiness, answer) in rows {
            let scores = Scores {
                dispersion_score: Some(dispersion),
                retransmission_score: Some(retransmission),
                rwnd_score: Some(rwnd),
                burstiness_score: Some(burstiness),
                ..Scores::default()
            };
            assert_eq!(siekkinen(PeriodKind::Btp, &scores).unwrap().name(), answer);
        }
    }

    #[test]
    fn without_evidence_there_is_a_reason_and_no_answer() {
        let none = Scores::default();
        assert_eq!(siekkinen(PeriodKind::Alp, &none), Ok(Limitation::Application));
        assert!(siekkinen(PeriodKind::Stp, &none).unwrap_err().contains("130"));
        assert_eq!(siekkinen(PeriodKind::Btp, &none), Err("no data"));
        let lossless = Scores { retransmission_score: Some(0.0), ..none };
        assert_eq!(siekkinen(PeriodKind::Btp, &lossless), Err("receiver window unknown"));
    }
}
