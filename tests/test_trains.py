"""The path's rate from trains of acknowledgements, on made-up looks at a connection."""

import pytest

from tcpwhy.active.trains import Look, path_bps

RTT_S = 0.1


def looks(rates_bps, window_bytes=500_000, pacing_bps=1e6, seconds=1.0):
    """Look every millisecond at windows that are acknowledged in trains, one each round trip."""
    return [
        Look(i / 1000, _acked(i / 1000, rates_bps, window_bytes), pacing_bps)
        for i in range(round(seconds * 1000))
    ]


def _acked(at_s, rates_bps, window_bytes):
    number, within_s = divmod(at_s, RTT_S)
    rate = rates_bps[int(number) % len(rates_bps)]
    grown = min(window_bytes, int(rate / 8 * within_s) // 2896 * 2896)
    return int(number) * window_bytes + grown


def test_a_train_has_the_rate_of_the_path():
    found = looks([200e6])
    whole_bps = found[-1].acked_bytes * 8
    assert whole_bps < 50e6
    assert path_bps(found, RTT_S) == pytest.approx(200e6, rel=0.03)


def test_trains_that_frayed_do_not_count():
    assert path_bps(looks([200e6, 200e6, 120e6]), RTT_S) == pytest.approx(200e6, rel=0.03)


def test_only_slow_start_counts():
    """Two seconds, of which all but the first ten trips are slower."""
    rates = [200e6] * 10 + [100e6] * 10
    assert path_bps(looks(rates, seconds=2), RTT_S) == pytest.approx(200e6, rel=0.03)


def test_a_full_path_has_no_trains():
    assert path_bps(looks([40e6]), RTT_S) is None


def test_what_the_kernel_paces_says_nothing_of_the_path():
    assert path_bps(looks([80e6], pacing_bps=82e6), RTT_S) is None
    # But one train that is faster proves that nothing paces.
    both = looks([80e6, 200e6], pacing_bps=82e6)
    assert path_bps(both, RTT_S) == pytest.approx(200e6, rel=0.03)


@pytest.mark.parametrize("seconds", [0, 0.005, 0.009])
def test_too_little_to_see(seconds):
    assert path_bps(looks([200e6], seconds=seconds), RTT_S) is None


def test_short_round_trips_show_nothing():
    """Trains of a millisecond have no shape at one look a millisecond."""
    found = [Look(i / 1000, i * 50_000, 1e6) for i in range(500)]
    assert path_bps(found, 0.001) is None
