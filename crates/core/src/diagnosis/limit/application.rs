//! The application: silent, slow, or writing little at a time.

use super::{Cause, Limitation};
use crate::diagnosis::evidence::quiet;
use crate::diagnosis::remedy::Advised;
use crate::diagnosis::sentence::Sentence;
use crate::diagnosis::words::{bytes, count, percent, rate, seconds};
use crate::diagnosis::{Case, Finding, brief, threshold};
use crate::record::Text;

/// Whether a queue that is not seen may hold what seems to be missing: far from the sender, without
/// timestamps, nothing tells how long an acknowledgement takes to bring the next segment.
pub fn is_blind(case: &Case, answer: Limitation) -> bool {
    let facts = &case.facts;
    let far = case.context.position.is_none_or(|position| position > threshold::HALF_WAY);
    let lossy = facts.losses > 0 || loses(answer);
    let brief = facts.pause_s.is_none_or(|pause| pause < threshold::LONGEST_QUEUE_S);
    // Where the program is the answer, nothing is missing but what it did not write.
    let of_others = answer != Limitation::Application;
    of_others && facts.raised.is_none() && far && lossy && brief
}

/// Whether it is an answer that shows by a loss now and then.
fn loses(answer: Limitation) -> bool {
    answer.is_bottleneck() || matches!(answer, Limitation::Policer | Limitation::RandomLoss)
}

/// Whether room that acknowledgements made was left unused by choice: a queue or losses explain it
/// better where they are.
pub fn is_paced(case: &Case, answer: Limitation) -> bool {
    let facts = &case.facts;
    // A controller that paces at the rate it finds (BBR) leaves room unused behind a policer.
    let policed = answer == Limitation::Policer && facts.loss_ratio >= threshold::STANDS_RATIO;
    if facts.marks > 0 || policed {
        return false;
    }
    // Beside the sender it is certain which acknowledgement let which segment out; elsewhere a
    // queue between the two blurs it.
    let beside = case.context.position.is_some_and(|position| position < threshold::BESIDE);
    let blurred = match facts.raised {
        Some(_) => facts.is_queued(),
        None => answer.is_bottleneck(),
    };
    let standing = facts.utilisation.filter(|_| facts.queued >= threshold::STANDING);
    let used = [facts.load, standing].into_iter().flatten().reduce(f64::max);
    if facts.is_queued() && used.is_some_and(|used| used >= threshold::LOADED) {
        return false;
    }
    let known = facts.idle + facts.dry >= threshold::WITHOUT_DATA;
    match blurred {
        true if !known => beside && facts.unused >= threshold::UNUSED_QUEUED,
        _ => facts.unused >= threshold::UNUSED,
    }
}

/// Whether a program that leaves room unused does so throughout: its flight does not grow, so that
/// no window holds it back either until the first acknowledgement after each write.
pub fn is_always_paced(case: &Case) -> bool {
    let facts = &case.facts;
    facts.losses == 0
        && facts.marks == 0
        && facts.growing - facts.shrinking < threshold::GROWING
        && !facts.is_queued()
}

/// Whether a shaper of the sending host (tbf, htb) would look the same: segments leave spread, and
/// what waits to be sent was never seen to run out. A
/// capture on the host sees what lies behind the host's own queue. There a pacing socket and a
/// shaper differ only by the little that TCP Small Queues let wait in the shaper.
fn may_be_shaped(case: &Case) -> bool {
    case.facts.idle + case.facts.dry < threshold::WITHOUT_DATA
}

/// Whether it sends when its peer's program says so. SSH, SFTP, HTTP/2 and SMB limit what may be on
/// its way, below what TCP would allow. Then its waits end right after a message of the other side.
/// Chance ends a fourth of those so in which some message comes, and most acknowledgements bring
/// none. In transfers that OpenSSH 9.2 held the share was 0.3 to 0.9 in nearly all intervals. Over
/// a full link, and without SSH behind a small send buffer, it was 0.02 and less.
pub fn waits_for_its_peer(case: &Case) -> bool {
    let facts = &case.facts;
    // With nothing on its way it answers one request after the other.
    let is_ahead = facts.heard >= WAITS.max(facts.idle);
    is_ahead && facts.asked >= ASKED.max(TALK * facts.talk)
}

/// Which of its habits.
pub fn cause(case: &Case) -> Cause {
    let facts = &case.facts;
    if waits_for_its_peer(case) {
        return Cause::ApplicationFlowControl;
    }
    if facts.answers >= threshold::ANSWERS {
        return Cause::ApplicationIdle;
    }
    if facts.smalls >= threshold::SMALL || facts.filling.is_some_and(|f| f < threshold::FILLING) {
        return Cause::ApplicationSmallWrites;
    }
    // Silence is time with nothing in flight; what is left unused meanwhile is pacing.
    let silent = facts.idle >= facts.dry + facts.unused;
    let pause = facts.pause_s.unwrap_or(0.0).max(facts.silence_s);
    if silent && pause >= threshold::SILENCE_S {
        return Cause::ApplicationIdle;
    }
    Cause::ApplicationPaced
}

/// The numbers that decided.
pub fn evidence(case: &Case, finding: &Finding, say: &mut Sentence) {
    let facts = &case.facts;
    let (cause, share) = (finding.cause, percent(finding.shares.application));
    match cause {
        Cause::ApplicationPaced if facts.unused < threshold::UNUSED && case.context.own_pace => {
            let even = "segments leave evenly, independent of acknowledgements and of free window";
            say.part().add(&[even])
        }
        Cause::ApplicationFlowControl => say.part().add(&[
            &percent(facts.asked),
            " of its waits ended right after a message of the other side, of which ",
            &percent(facts.talk),
            " of the acknowledgements brought one",
        ]),
        Cause::ApplicationPaced => {
            say.part().add(&["for ", &share, " of the time it could have sent more and did not"])
        }
        _ => say.part().add(&["nothing to send for ", &share, " of ", &seconds(facts.span_s)]),
    };
    if cause == Cause::ApplicationSmallWrites {
        let segments = count(facts.packets, "segment");
        say.part().add(&[&percent(facts.smalls), " of ", &segments, " small"]);
    }
    if let Some(pause) = facts.pause_s {
        say.part().add(&["typical pause ", &seconds(pause)]);
    }
    if facts.answers >= 0.5 {
        say.part().add(&[&percent(facts.answers), " of the pauses ended with a request"]);
    }
    if brief::fits(case) {
        let sent = count(case.so_far.packets, "segment");
        say.part().add(&["all that was sent so far, ", &sent, ", fits an initial window"]);
    }
    quiet(case, say);
    if cause == Cause::ApplicationPaced && may_be_shaped(case) {
        say.part().add(&["a shaper of the sending host would look the same"]);
    }
}

/// What to change.
pub fn remedy(advised: &Advised) -> Text {
    match advised.cause {
        // Most flows of a link: no text is made for each.
        Cause::ApplicationIdle => Text::Borrowed(IDLE),
        Cause::ApplicationSmallWrites => write_more(advised).into(),
        Cause::ApplicationFlowControl => allow_more(advised).into(),
        _ => write_faster(advised).into(),
    }
}

fn write_more(Advised { case, src, .. }: &Advised) -> String {
    let mean = case.facts.unique_bytes as f64 / case.facts.packets.max(1) as f64;
    format!(
        "let the application on {src} write more at a time: a segment carries {} on average and \
         has room for {}; if it waits for answers to small writes, TCP_NODELAY",
        bytes(mean),
        bytes(f64::from(case.context.mss_bytes))
    )
}

fn allow_more(Advised { case, dst, .. }: &Advised) -> String {
    let flight = case.facts.flight_segments * case.mss();
    format!(
        "let the program on {dst} allow more on its way than {} (the window of SSH or HTTP/2, \
         requests of SFTP, credits of SMB), or several connections",
        bytes(flight)
    )
}

fn write_faster(Advised { case, src, .. }: &Advised) -> Sentence {
    let mut say = Sentence::default();
    write!(say, "raise the rate at which the application on {src} writes");
    if let Some(bps) = case.facts.rate_bps() {
        say.add(&[" (", &rate(bps), " now)"]);
    }
    say.add(&[", or its pacing limit (SO_MAX_PACING_RATE, maxrate of the fq queue)"]);
    if may_be_shaped(case) {
        write!(say, "; or that of a shaper on {src} (tbf, htb: tc qdisc show)");
    }
    say
}

/// Share of the time in waits with acknowledgements from which these tell something. This number
/// and the next two were chosen on those transfers, and on 120 worlds with such programs.
const WAITS: f64 = 0.1;
/// Share of these waits from which messages ended them, and how many times as large as the share of
/// acknowledgements that come with one.
const ASKED: f64 = 0.3;
const TALK: f64 = 1.5;
const IDLE: &str = "nothing in the network: let the sending application send sooner (requests \
                    ahead of time, data ready when the connection is)";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::Facts;

    #[test]
    fn who_sends_when_the_other_program_says_so_waits_for_it() {
        let facts = |idle, heard, asked, talk| {
            let facts = Facts { idle, heard, asked, talk, ..Facts::default() };
            Case { facts, ..Case::default() }
        };
        let window_of_ssh = facts(0.0, 0.6, 0.6, 0.03);
        assert!(waits_for_its_peer(&window_of_ssh));
        assert_eq!(cause(&window_of_ssh), Cause::ApplicationFlowControl);
        assert!(!waits_for_its_peer(&facts(0.9, 0.1, 1.0, 0.05)), "answers one request at a time");
        assert!(!waits_for_its_peer(&facts(0.0, 0.6, 0.2, 0.03)), "by chance");
        assert!(!waits_for_its_peer(&facts(0.0, 0.6, 0.6, 1.0)), "data goes both ways");
        assert!(!waits_for_its_peer(&facts(0.0, 0.05, 0.6, 0.03)), "it hardly ever waited");
    }
}
