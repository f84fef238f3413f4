//! What was sent again, and why.

use super::*;

#[test]
fn three_duplicate_acknowledgements_make_a_fast_retransmission() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 1001
         81 > 4001:1000 1
         82 < 1:0 1001
         82 < 1:0 1001
         82 < 1:0 1001
         82 > 1001:1000 1
        122 < 1:0 5001",
    );
    assert_eq!(kinds, ["new", "fast_retransmission"]);
    let totals = &flow.halves[0].totals;
    assert_eq!((totals.retransmitted_bytes, totals.unique_bytes), (1000, 5000));
    assert_eq!((totals.duplicate_acks, totals.loss_events), (3, 1));
}

#[test]
fn silence_until_the_timer_makes_an_rto_and_what_follows_belongs_to_it() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 1001
        340 > 1001:1000 1
        380 < 1:0 2001
        381 > 2001:1000 1
        381 > 3001:1000 1",
    );
    assert_eq!(kinds, ["rto_retransmission", "rto_retransmission", "rto_retransmission"]);
    assert_eq!(flow.halves[0].totals.rto_events, 1);
}

#[test]
fn what_was_lost_again_is_sent_by_the_timer_though_others_are_acknowledged() {
    let lost = "81 < 1:0 1001
         82 < 1:0 1001 sack 2001-3001
         83 < 1:0 1001 sack 2001-4001
         84 > 1001:1000 1
        124 < 1:0 1001 sack 2001-5001";
    // Neither the acknowledgement nor its copy: duplicate acknowledgements kept coming.
    let late = format!("{lost}\n 200 > 5001:1000 1\n 240 < 1:0 1001 sack 2001-6001");
    let (flow, kinds) = after_opening(&format!("{late}\n 330 > 1001:1000 1"));
    assert_eq!(kinds, ["fast_retransmission", "new", "rto_retransmission"]);
    assert_eq!(flow.halves[0].totals.rto_events, 1);
    // RACK needs little more than a round trip, of 40 ms here.
    let (flow, kinds) = after_opening(&format!("{lost}\n 145 > 1001:1000 1"));
    assert_eq!(kinds, ["fast_retransmission"; 2]);
    assert_eq!(flow.halves[0].totals.rto_events, 0);
}

#[test]
fn a_hole_that_is_filled_much_later_was_lost_again_before_the_observer() {
    // The round trip is 40 ms. What opened the hole came at 42 ms; a timer takes 240 ms.
    let filled = |at_ms: u32, ts: &str, later: &str| {
        let script = format!(
            "0 > 0:0 0 {ts} syn
            40 < 0:0 1 {ts} syn
            40 > 1:0 1 {ts}
            41 > 1:1000 1 {ts}
            42 > 2001:1000 1 {ts}
            81 < 1:0 1001 {ts} sack 2001-3001
           200 > 3001:1000 1 {ts}
           240 < 1:0 1001 {ts} sack 2001-4001
           {at_ms} > 1001:1000 1 {later}"
        );
        let (flow, kinds) = play(&script);
        (kinds.last().cloned().unwrap_or_default(), flow.halves[0].totals.rto_events)
    };
    assert_eq!(filled(330, "ts 1/1", "ts 900/1"), ("rto_retransmission".to_owned(), 1));
    assert_eq!(filled(125, "ts 1/1", "ts 900/1"), ("fast_retransmission".to_owned(), 0));
    // Without timestamps the round trip may lack the queue before the observer.
    assert_eq!(filled(330, "", ""), ("fast_retransmission".to_owned(), 0));
}

#[test]
fn the_tail_sent_again_early_is_a_probe() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 3001
        165 > 3001:1000 1",
    );
    assert_eq!(kinds, ["tlp_retransmission"]);
    assert_eq!(flow.halves[0].totals.tlp_events, 1);
}

#[test]
fn what_was_acknowledged_before_is_sent_again_in_vain() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 4001
         82 > 2001:1000 1",
    );
    assert_eq!(kinds, ["spurious_retransmission"]);
    assert_eq!(flow.halves[0].totals.spurious_bytes, 1000);
}

#[test]
fn what_is_sent_again_after_the_timer_was_not_heard_of() {
    // The observer saw it acknowledged: that was lost later. Twice the timer runs, then new data.
    let (flow, kinds) = after_opening(
        "81 < 1:0 4001
        400 > 3001:1000 1
        400 < 1:0 4001
        450 > 3001:1000 1
       1400 > 3001:1000 1
       1401 < 1:0 4001
       1480 > 4001:1000 1",
    );
    assert_eq!(kinds, [["spurious_retransmission"; 3].as_slice(), &["new"]].concat());
    let totals = &flow.halves[0].totals;
    assert_eq!((totals.rto_events, totals.spurious_bytes), (2, 3000));
    assert_eq!(totals.loss_events, 0, "its data arrived");
}

#[test]
fn a_dsack_proves_a_retransmission_unneeded_afterwards() {
    let (flow, kinds) = after_opening(
        "81 < 1:0 1001 sack 2001-3001
         82 < 1:0 1001 sack 2001-4001
         83 > 1001:1000 1
         84 < 1:0 4001
        124 < 1:0 4001 sack 1001-2001",
    );
    assert_eq!(kinds, ["fast_retransmission"]);
    let totals = &flow.halves[0].totals;
    assert_eq!((totals.retransmitted_bytes, totals.spurious_bytes), (1000, 1000));
}
