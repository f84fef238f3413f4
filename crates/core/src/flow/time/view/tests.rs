//! What the sender knew, and whose time it was.

use super::prompt::Acknowledged;
use super::*;
use crate::wire::marks;

fn entry(ts: i64, tsval: u32, tsecr: u32) -> Entry {
    let ts = Nanos::from_millis(ts);
    let marks = marks::TIMESTAMPS;
    Entry { ts, tsval, tsecr, marks, window_raw: 1, ..Entry::default() }
}

/// Sends a segment up to `next`, outside of a repair.
fn send<'a>(view: &'a mut SenderView, entry: &Entry, next: u64, mss: u32, dry: bool) -> After<'a> {
    let sending = view.at(entry, next);
    view.send(sending, Sent { next, mss, dry, recovery_point: None })
}

#[test]
fn acknowledgements_take_effect_after_the_way_to_the_sender_and_back() {
    let mut view = SenderView::default();
    let tau = Nanos::from_millis(10);
    view.acknowledgement(&entry(0, 50, 0), 1_000, Some(5_000), tau);
    view.acknowledgement(&entry(5, 55, 0), 2_000, Some(5_000), tau);
    assert_eq!(view.at(&entry(9, 0, 49), 0).known, None);
    assert_eq!(
        view.at(&entry(10, 0, 50), 0).known,
        Some(SenderState { una: 1_000, edge: Some(6_000) })
    );
    assert_eq!(view.at(&entry(11, 0, 55), 0).known.map(|known| known.una), Some(2_000), "echoed");
}

#[test]
fn what_is_not_echoed_was_not_known_for_a_while() {
    let mut view = SenderView::default();
    view.acknowledgement(&entry(0, 50, 0), 1_000, Some(5_000), Nanos(0));
    view.acknowledgement(&entry(5, 55, 0), 2_000, Some(5_000), Nanos(0));
    let mut una = |entry: Entry| view.at(&entry, 0).known.map(|known| known.una);
    assert_eq!(una(entry(40, 0, 50)), Some(1_000), "a queue delays the data");
    assert_eq!(una(Entry { marks: 0, ..entry(41, 0, 0) }), Some(2_000), "nothing is echoed");
    let mut view = SenderView::default();
    view.acknowledgement(&entry(0, 50, 0), 1_000, Some(5_000), Nanos(0));
    view.acknowledgement(&entry(5, 55, 0), 2_000, Some(5_000), Nanos(0));
    let known = view.at(&entry(206, 0, 50), 0).known;
    assert_eq!(known.map(|known| known.una), Some(2_000), "an echo that stands still");
}

#[test]
fn a_repair_ends_where_the_sender_learns_of_its_end() {
    let mut view = SenderView::default();
    let tau = Nanos::from_millis(10);
    view.acknowledgement(&entry(0, 0, 0), 0, None, tau);
    let repairs = |view: &mut SenderView, ms, recovery_point| {
        let sending = view.at(&entry(ms, 0, 0), 5_000);
        let sent = Sent { next: 5_000, mss: 1_000, dry: false, recovery_point };
        let pieces = view.send(sending, sent).0.iter();
        pieces.map(|piece| (piece.reason, piece.end.since(piece.start).0 / 1_000_000)).collect()
    };
    let _: Vec<_> = repairs(&mut view, 20, Some(5_000));
    view.acknowledgement(&Entry { marks: 0, ..entry(21, 0, 0) }, 5_000, None, tau);
    // Nothing is missing here any more. The sender hears of it at 31.
    let pieces: Vec<_> = repairs(&mut view, 25, None);
    assert_eq!(pieces, [(WaitReason::Recovery, 5)]);
    let pieces: Vec<_> = repairs(&mut view, 33, None);
    assert_eq!(pieces, [(WaitReason::Recovery, 6), (WaitReason::Idle, 2)]);
}

#[test]
fn data_beyond_a_window_proves_that_a_newer_one_was_known() {
    let mut view = SenderView::default();
    let known = |view: &mut SenderView, ms, end| {
        view.at(&entry(ms, 0, 0), end).known.map(|known| known.una)
    };
    view.acknowledgement(&entry(0, 0, 0), 0, Some(3_000), Nanos(0));
    view.acknowledgement(&entry(1, 90, 0), 2_000, Some(3_000), Nanos::from_millis(900));
    assert_eq!(known(&mut view, 2, 3_000), Some(0));
    assert_eq!(known(&mut view, 3, 3_001), Some(0), "a probe");
    assert_eq!(known(&mut view, 4, 4_000), Some(2_000), "it fits no older window");
}

#[test]
fn time_counts_as_the_windows_while_no_full_segment_fits() {
    let mut view = SenderView::default();
    let tau = Nanos::from_millis(10);
    view.acknowledgement(&entry(0, 0, 0), 0, Some(3_000), tau);
    let times = |view: &mut SenderView, ms, next| {
        let times = send(view, &entry(ms, 0, 0), next, 1_000, false).0.iter();
        let times = times.map(|piece| (piece.reason, piece.end.since(piece.start).0 / 1_000_000));
        times.collect::<Vec<_>>()
    };
    assert_eq!(times(&mut view, 20, 1_000), []);
    assert_eq!(times(&mut view, 21, 2_500), [(WaitReason::Network, 1)]);
    view.acknowledgement(&entry(40, 0, 0), 2_500, Some(3_000), tau);
    assert_eq!(times(&mut view, 70, 3_500), [(WaitReason::Receiver, 29), (WaitReason::Idle, 20)]);
}

#[test]
fn one_byte_fills_no_window_that_a_full_segment_would() {
    // Loopback: the largest segment is as large as the window.
    let reason = |next: u64| {
        let mut view = SenderView::default();
        view.acknowledgement(&entry(0, 0, 0), 0, Some(65_483), Nanos(0));
        send(&mut view, &entry(1, 0, 0), next, 65_483, false);
        let times = send(&mut view, &entry(9, 0, 0), next, 65_483, false).0.iter();
        times.map(|piece| piece.reason).collect::<Vec<_>>()
    };
    assert_eq!(reason(1), [WaitReason::Network]);
    assert_eq!(reason(65_000), [WaitReason::Receiver]);
}

#[test]
fn a_writer_is_woken_by_the_last_of_several_acknowledgements() {
    // Of 9,000 bytes in flight, three acknowledgements free some; the next segment leaves so
    // many microseconds after the last of them, 30 ms after the one before it.
    let woken = |freed: u64, after_us: i64| {
        let mut view = SenderView::default();
        view.acknowledgement(&entry(0, 0, 0), 0, None, Nanos(0));
        send(&mut view, &entry(1, 0, 0), 9_000, 1_000, true);
        for (i, ms) in [10, 20, 30].into_iter().enumerate() {
            view.acknowledgement(&entry(ms, 0, 0), freed * (i as u64 + 1) / 3, None, Nanos(0));
        }
        let ts = Nanos::from_millis(30) + Nanos(after_us * 1_000);
        let freed = send(&mut view, &Entry { ts, ..entry(30, 0, 0) }, 10_000, 1_000, true).1;
        freed.map(|freed| freed.woken)
    };
    assert_eq!(woken(3_000, 100), Some(true), "a third is free");
    assert_eq!(woken(3_000, 2_000), Some(false), "the program's own time");
    assert_eq!(woken(600, 100), None, "hardly anything");
    assert_eq!(woken(8_000, 100), None, "nearly all");
}

#[test]
fn among_dense_acknowledgements_a_writer_is_known_by_what_is_left() {
    // Every 30 ms acknowledgements come 0.1 ms apart; the next write comes right after one of
    // them, when so much of 90,000 bytes is still in flight.
    let woken = |left: [u64; 4]| {
        let mut view = SenderView::default();
        let us = |us: i64| Entry { ts: Nanos(us * 1_000), ..entry(0, 0, 0) };
        view.acknowledgement(&us(0), 0, None, Nanos(0));
        let mut una = 0;
        left.into_iter()
            .zip(1..)
            .map(move |(left, round)| {
                let at = us(round * 30_000);
                let woken = send(&mut view, &at, una + 90_000, 1_000, true).1.map(|f| f.woken);
                let freed = 90_000 - left;
                for i in 0..250 {
                    let at = us(round * 30_000 + 4_950 + i * 100);
                    view.acknowledgement(&at, una + freed * (i as u64 + 1) / 250, None, Nanos(0));
                }
                una += freed;
                woken
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(woken([60_000, 60_400, 59_000, 60_000])[2..], [Some(true), Some(true)]);
    assert_eq!(woken([60_000, 40_000, 70_000, 30_000])[2..], [Some(false), Some(false)]);
}

#[test]
fn the_right_edge_retreats_only_when_told_twice() {
    let mut view = SenderView::default();
    let edges: Vec<u64> = [(0, 9_000), (1_000, 7_000), (2_000, 6_000), (3_000, 9_000)]
        .into_iter()
        .enumerate()
        .map(|(i, (una, rwnd))| {
            view.acknowledgement(&entry(i as i64, 0, 0), una, Some(rwnd), Nanos(0));
            view.at(&entry(i as i64, 0, 0), 0).known.unwrap().edge.unwrap()
        })
        .collect();
    assert_eq!(edges, [9_000, 9_000, 8_000, 12_000]);
}

#[test]
fn a_wait_ends_with_an_acknowledgement_or_at_the_senders_own_time() {
    // 20,000 bytes are in flight; acknowledgements come 10 ms apart.
    let after = |acknowledged: &[i64], sent_us: i64, dry: bool| {
        let mut view = SenderView::default();
        view.acknowledgement(&entry(0, 0, 0), 0, Some(60_000), Nanos(0));
        send(&mut view, &entry(1, 0, 0), 20_000, 1_000, dry);
        for (i, &ms) in acknowledged.iter().enumerate() {
            let una = 1_000 * (i as u64 + 1);
            view.acknowledgement(&entry(ms, 0, 0), una, Some(60_000), Nanos(0));
        }
        let sent = Entry { ts: Nanos(sent_us * 1_000), ..entry(0, 0, 0) };
        send(&mut view, &sent, 21_000, 1_000, false).2
    };
    let acknowledged = |waited_us: u64, clocked, at_once, early| {
        let waited_ns = waited_us * 1_000;
        let asked = false;
        Some(Prompt::Acknowledged(Acknowledged { waited_ns, clocked, at_once, early, asked }))
    };
    assert_eq!(after(&[11], 11_040, false), acknowledged(10_040, true, true, true));
    assert_eq!(
        after(&[11, 21], 21_200, false),
        acknowledged(20_200, true, false, true),
        "a program"
    );
    assert_eq!(after(&[11], 13_000, false), acknowledged(12_000, false, false, true), "woken late");
    assert_eq!(after(&[11], 15_000, false), acknowledged(14_000, false, false, false));
    assert_eq!(after(&[11, 21], 24_000, false), acknowledged(23_000, false, false, false));
    assert_eq!(
        after(&[11], 11_050, true),
        acknowledged(10_050, false, false, true),
        "nothing to send"
    );
    assert_eq!(after(&[], 11_000, false), Some(Prompt::Unprompted(10_000_000)));
    assert_eq!(after(&[], 2_000, false), None, "acknowledgements come as densely by chance");
    assert_eq!(after(&[], 11_000, true), None, "there was nothing to send");
}

#[test]
fn a_wait_that_data_of_the_other_side_ends_was_for_its_program() {
    // Acknowledgements come each 10 ms, and behind some of them data.
    let asked = |with_data_ms: &[i64], tau_ms: i64, sent_ms: i64| {
        let tau = Nanos::from_millis(tau_ms);
        let mut view = SenderView::default();
        view.acknowledgement(&entry(0, 0, 0), 0, Some(60_000), Nanos(0));
        send(&mut view, &entry(1, 0, 0), 20_000, 1_000, false);
        for step in 1..=4 {
            let ms = 1 + 10 * step - tau_ms;
            view.acknowledgement(&entry(ms, 0, 0), 1_000 * step as u64, Some(60_000), tau);
            if with_data_ms.contains(&(ms + tau_ms)) {
                view.note_data(Nanos::from_millis(ms));
            }
        }
        match send(&mut view, &entry(sent_ms, 0, 0), 21_000, 1_000, false).2 {
            Some(Prompt::Acknowledged(prompt)) => prompt.asked,
            other => panic!("{other:?}"),
        }
    };
    for tau_ms in [0, 9] {
        assert!(asked(&[41], tau_ms, 42));
        assert!(!asked(&[], tau_ms, 42));
        assert!(!asked(&[21], tau_ms, 42), "long before");
        assert!(asked(&[11, 21, 31, 41], tau_ms, 42));
        assert!(!asked(&[11, 21, 31, 41], tau_ms, 44), "they come as densely");
    }
}

#[test]
fn a_wait_with_room_begins_where_the_window_opens() {
    // 20,000 bytes fill the window. Acknowledgements of no new data open it 500 ms later.
    let after_opening = |ms: i64| {
        let mut view = SenderView::default();
        view.acknowledgement(&entry(0, 0, 0), 0, Some(20_000), Nanos(0));
        send(&mut view, &entry(1, 0, 0), 20_000, 1_000, false);
        view.acknowledgement(&entry(501, 0, 0), 0, Some(60_000), Nanos(0));
        send(&mut view, &entry(501 + ms, 0, 0), 21_000, 1_000, false).2
    };
    assert_eq!(after_opening(0), None, "the window let it out");
    assert_eq!(after_opening(10), Some(Prompt::Unprompted(10_000_000)));
}

#[test]
fn a_closed_window_prompts_nothing() {
    let mut view = SenderView::default();
    view.acknowledgement(&entry(0, 0, 0), 0, Some(1_000), Nanos(0));
    send(&mut view, &entry(1, 0, 0), 1_000, 1_000, false);
    assert_eq!(send(&mut view, &entry(900, 0, 0), 1_001, 1_000, false).2, None, "a probe");
}
