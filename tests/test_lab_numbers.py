"""Numbers of the analysis beside the kernel's: what counts as the same, and what is compared."""

import pytest

from tcpwhy.lab.numbers import TOLERANCES, Comparison, counted_with_data, grown, summarize


@pytest.mark.parametrize(
    ("what", "found", "true", "is_within"),
    [
        ("share_receiver_window", 0.96, 0.91, True),
        ("share_receiver_window", 0.97, 0.91, False),
        ("rtt_min_ms", 40.4, 40.0, True),
        ("rtt_min_ms", 43.0, 40.0, False),
        ("capacity_mbps", 9.5, 9.9, True),
        ("capacity_mbps", 8.5, 9.9, False),
        ("capacity_mbps", None, 9.9, None),
        # A lost segment more or less is no error of a transfer that lost none.
        ("retransmitted_bytes", 1448, 0, True),
        ("retransmitted_bytes", 4344, 0, False),
    ],
)
def test_what_is_the_same(what, found, true, is_within):
    assert Comparison("sender", 0, what, found, true).is_within is is_within


def test_a_summary_counts_what_was_not_said_apart():
    given = [(9.9, 10.0), (5.0, 10.0), (None, 10.0)]
    listed = [Comparison("middle", 0, "capacity_mbps", *pair) for pair in given]
    listed.append(Comparison("sender", 0, "share_application", 0.5, 0.2))
    shares, capacity = summarize(listed)
    assert (shares.point, shares.what, shares.within, shares.said) == (
        "sender",
        "share_application",
        0,
        1,
    )
    assert shares.error_max == pytest.approx(0.3)
    assert (capacity.within, capacity.said, capacity.unsaid) == (1, 2, 1)
    assert capacity.error_median == pytest.approx(0.255)
    assert capacity.error_max == pytest.approx(0.5)


def test_every_number_has_a_tolerance_that_is_not_everything():
    assert all(0 < max(tolerance) < 2 * 1448 + 1 for tolerance in TOLERANCES.values())


def samples(sent, clock, states):
    """Samples of a connection: bytes sent, a clock of the kernel in ms, and its state."""
    return [
        {"bytes_sent": b, "rwnd_limited": c * 1000, "ca_state": s}
        for b, c, s in zip(sent, clock, states, strict=True)
    ]


def test_shares_are_of_the_time_from_the_first_data_to_the_last():
    given = samples([0, 0, 10, 20, 30, 30, 30], [0] * 7, [0] * 7)
    assert [s["bytes_sent"] for s in counted_with_data(given)] == [10, 20, 30]
    assert counted_with_data([]) == []


def test_a_clock_that_runs_on_during_a_repair_counts_for_the_repair():
    given = samples([1, 2, 3, 4], [0, 100, 200, 300], [0, 3, 4, 0])
    assert grown(given, "rwnd_limited") == 100_000
