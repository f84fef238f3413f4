//! The short way and the general one know the same in the end.

use super::*;
use crate::flow::connection::tests::parse;
use crate::wire::marks;
use proptest::prelude::*;

/// A transfer under way: what both sides have sent, and the segments that pass the observer.
struct Traffic {
    entries: Vec<Entry>,
    at: Nanos,
    sent: u32,
    received: u32,
    answered: u32,
    window_raw: u16,
    newest: [u32; 2],
    timestamps: bool,
}

impl Traffic {
    fn begin(opening: bool, timestamps: bool) -> Traffic {
        let lines: &[&str] = match opening {
            true => {
                &["0 > 0:0 0 syn", "3 < 0:0 1 syn", "20 > 1:0 1", "20 > 1:100 1", "24 < 1:0 101"]
            }
            false => &[],
        };
        let entries = lines.iter().map(|line| parse(line).0);
        let entries = entries.map(|segment| Entry::of(&segment, segment.ts)).collect();
        Traffic {
            entries,
            at: Nanos(1_030_000_000),
            sent: 101,
            received: 101,
            answered: 1,
            window_raw: 60_000,
            newest: [0; 2],
            timestamps,
        }
    }

    /// A segment of either side, with its number counted from where that side began.
    fn pass(&mut self, forward: bool, seq: u32, len: u32) -> &mut Entry {
        let (line, base) = if forward { ("0 > 0:0 0", 1000) } else { ("0 < 0:0 0", 5000) };
        let mut segment = parse(line).0;
        let acked = if forward { self.answered } else { self.received };
        (segment.seq, segment.ack) = (Seq(base + seq), Seq(6000 - base + acked));
        segment.payload_len = len;
        segment.ip_len = 52 + len;
        segment.wire_len = 66 + len;
        if !forward {
            segment.window_raw = self.window_raw;
        }
        if self.timestamps {
            segment.marks |= marks::TIMESTAMPS;
            segment.tsval = (self.at.0 / 1_000_000) as u32;
            segment.tsecr = self.newest[usize::from(forward)];
            self.newest[usize::from(!forward)] = segment.tsval;
        }
        self.entries.push(Entry::of(&segment, self.at));
        self.entries.last_mut().expect("just pushed")
    }

    /// What happens next, mostly what is plain: `count` tells how often, `wait_us` after what time.
    fn step(&mut self, what: u8, count: u32, wait_us: i64) {
        self.at += Nanos::from_micros(wait_us);
        let in_flight = (self.sent - self.received) / MSS;
        match what {
            // Data in order, of a window that is not too large.
            0..=9 if in_flight < 40 => {
                for _ in 0..count {
                    self.pass(true, self.sent, MSS);
                    (self.sent, self.at) = (self.sent + MSS, self.at + Nanos(wait_us * 10));
                }
            }
            0..=22 => {
                let segments = if what == 10 { in_flight } else { count.min(in_flight) };
                self.received += segments * MSS;
                self.pass(false, self.answered, 0);
            }
            23 => {
                self.pass(true, self.sent, 300).bits |= flags::PSH;
                self.sent += 300;
            }
            24 => self.sent += MSS,
            25 => {
                self.pass(true, self.received, MSS.min(self.sent - self.received));
            }
            26 => (0..count).for_each(|_| {
                self.pass(false, self.answered, 0);
            }),
            27 => self.window_raw = [60_000, 8_000, 0, 50_000][count as usize % 4],
            28 => {
                self.pass(false, self.answered, 200);
                self.answered += 200;
            }
            29 => self.pass(true, self.sent.saturating_sub(MSS), MSS).ip_id = count as u16,
            30 => self.at += Nanos::from_millis(i64::from(count) * 70),
            _ => {
                self.pass(true, self.sent, MSS * count).bits |= flags::PSH | 3 << 9;
                self.sent += MSS * count;
            }
        }
    }
}

fn flow_of(entries: &[Entry]) -> Flow {
    let first = &entries[0];
    Flow::new(parse("0 > 0:0 0").0.key, 1, first)
}

/// The first line in which the states of two flows differ, with some before it.
fn difference(one: &Flow, other: &Flow) -> Option<String> {
    let (one, other) = (format!("{one:#?}"), format!("{other:#?}"));
    let lines: Vec<&str> = one.lines().collect();
    let at = lines.iter().zip(other.lines()).position(|(a, b)| **a != *b)?;
    let instead = other.lines().nth(at).unwrap_or_default();
    Some(format!("{} instead of {instead}", lines[at.saturating_sub(12)..=at].join("\n")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn runs_of_plain_segments_say_the_same_as_one_after_the_other(
        steps in proptest::collection::vec((0u8..34, 1u32..6, 0i64..8_000), 1..300),
        (opening, timestamps, wraps) in (any::<bool>(), any::<bool>(), any::<bool>()),
        (burst, noise) in (1usize..70, 12u8..34),
    ) {
        let mut traffic = Traffic::begin(opening, timestamps);
        for (what, count, wait_us) in steps {
            // Some have nothing that is out of the ordinary.
            traffic.step(what % noise, count, wait_us / i64::from(noise % 5 + 1));
        }
        let mut entries = traffic.entries;
        prop_assume!(!entries.is_empty());
        for entry in entries.iter_mut().filter(|_| wraps) {
            (entry.seq, entry.ack) = (entry.seq + NEARLY_ALL, entry.ack + NEARLY_ALL);
        }
        let (mut one, mut other) = (flow_of(&entries), flow_of(&entries));
        for entry in &entries {
            one.segment(u64::from(entry.frame_low), entry, &[], INTERVAL);
        }
        for burst in entries.chunks(burst) {
            let mut rest = burst;
            while let [first, after @ ..] = rest {
                match other.take_plain(rest, INTERVAL) {
                    0 => {
                        other.segment(u64::from(first.frame_low), first, &[], INTERVAL);
                        rest = after;
                    }
                    taken => rest = &rest[taken..],
                }
            }
        }
        prop_assert_eq!(difference(&one, &other), None);
    }
}

#[test]
fn most_of_a_transfer_is_plain() {
    let mut traffic = Traffic::begin(true, true);
    for _ in 0..100 {
        traffic.step(0, 4, 500);
        traffic.step(11, 4, 500);
    }
    let mut flow = flow_of(&traffic.entries);
    let (mut rest, mut plain) = (&traffic.entries[..], 0);
    while let [first, after @ ..] = rest {
        let taken = flow.take_plain(rest, Nanos::SECOND);
        plain += taken;
        rest = if taken > 0 { &rest[taken..] } else { after };
        if taken == 0 {
            flow.segment(1, first, &[], Nanos::SECOND);
        }
    }
    assert!(plain * 10 > traffic.entries.len() * 9, "{plain} of {}", traffic.entries.len());
}

/// From here on sequence numbers soon start at 0 again.
const NEARLY_ALL: u32 = u32::MAX - 60_000;
const MSS: u32 = 1000;
const INTERVAL: Nanos = Nanos(200_000_000);
