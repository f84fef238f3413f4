use super::*;
use crate::units::Nanos;
use crate::verdict::BURSTINESS_THRESHOLD;

/// A span of 10 s with a window of `rwnd` bytes over `rtt_ms` at `capacity_bps`.
fn span(rwnd: f64, rtt_ms: i64) -> Sums {
    Sums {
        first: Nanos(0).into(),
        last: Nanos::from_millis(10_000).into(),
        ip_bytes: 12_500_000,
        payload_bytes: 12_000_000,
        unique_bytes: 12_000_000,
        rwnd_known: 100,
        rwnd_limited: 70,
        rwnd_sum: rwnd * 100.0,
        rtt_samples: 10,
        rtt_sum_ns: 10 * rtt_ms as u64 * 1_000_000,
        ..Sums::default()
    }
}

fn scores(sums: &Sums, capacity_bps: f64) -> Scores {
    // The prototype counts no headers; without them both forms can be compared exactly.
    Scores::of(&Evidence {
        sums,
        gaps: None,
        capacity_bps: Some(capacity_bps),
        mss_bytes: 1460,
        headers_bytes: 0,
        prototype: Some(&SeedCount::default()),
    })
}

#[test]
fn burstiness_is_the_papers_on_both_scales() {
    // Both scales of the published thresholds (algorithms 7, the prototype's scale).
    for (rwnd, capacity, rtt_ms, seed, correct) in [
        (65_535.0, 1e9, 100, -60.0, 0.995),
        (65_535.0, 1e8, 50, -1_224.0, 0.897),
        (4_194_304.0, 1e9, 50, -7_840.0, 0.329),
        (16_777_216.0, 1e7, 10, -1.57e7, -1341.0),
    ] {
        let sums = span(rwnd, rtt_ms);
        let scores = scores(&sums, capacity);
        let near = |value: Option<f64>, expected: f64| {
            let value = value.unwrap();
            assert!((value - expected).abs() <= 0.01 * expected.abs(), "{value} {expected}");
        };
        near(scores.burstiness_seed, seed);
        near(scores.burstiness_score, correct);
    }
}

#[test]
fn the_thresholds_of_both_scales_are_one() {
    // A window for which the prototype's score is exactly -1000.
    let (capacity, rtt, mss) = (1e8, 0.05, 1460.0);
    let window_bits = 1001.0 * capacity * rtt / (mss * 8.0) + 1.0;
    let sums = span(window_bits / 8.0, 50);
    let scores = scores(&sums, capacity);
    assert!((scores.burstiness_seed.unwrap() + 1000.0).abs() < 1e-6);
    assert!((scores.burstiness_score.unwrap() - BURSTINESS_THRESHOLD).abs() < 0.003);
}

#[test]
fn scores_without_evidence_are_unknown_not_zero() {
    let nothing = Evidence {
        sums: &Sums::default(),
        gaps: None,
        capacity_bps: None,
        mss_bytes: 1448,
        headers_bytes: 52,
        prototype: None,
    };
    assert_eq!(Scores::of(&nothing), Scores::default());
    let sums = span(65_535.0, 50);
    let scores = Scores::of(&Evidence { sums: &sums, ..nothing });
    assert_eq!(scores.dispersion_score, None);
    assert_eq!(scores.retransmission_score, Some(0.0));
    assert_eq!(scores.rwnd_score, Some(0.7));
}

#[test]
fn dispersion_is_the_unused_share() {
    let sums = span(65_535.0, 50);
    let dispersion = scores(&sums, 4e7).dispersion_score.unwrap();
    assert!((dispersion - 0.75).abs() < 1e-9, "{dispersion}");
}
