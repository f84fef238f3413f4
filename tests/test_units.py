"""Quantities as people write and read them."""

from datetime import timedelta

import pytest

from tcpwhy import UsageError
from tcpwhy.units import as_bytes, as_duration, as_rate, as_share, nanoseconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("3s", 3 * 10**9),
        ("500ms", 5 * 10**8),
        ("1.5 s", 15 * 10**8),
        ("250us", 250_000),
        ("7ns", 7),
        ("2m", 120 * 10**9),
        ("1h", 3600 * 10**9),
        ("3", 3 * 10**9),
        (0.25, 250 * 10**6),
        (180, 180 * 10**9),
        (1e-6, 1000),
        (timedelta(minutes=1), 60 * 10**9),
    ],
)
def test_durations_are_understood(written, expected):
    assert nanoseconds(written) == expected


@pytest.mark.parametrize("written", ["", "s", "3x", "-1s", 0, -2, "1e99", "nan", "3 4s", "0.1ns"])
def test_what_is_no_duration_is_refused(written):
    with pytest.raises(UsageError, match="duration"):
        nanoseconds(written)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (as_duration(102_345_678), "102 ms"),
        (as_duration(1_254_000_000), "1.25 s"),
        (as_duration(35_400), "35.4 µs"),
        (as_duration(5400e9), "1.5 h"),
        (as_duration(900e9), "15 min"),
        (as_duration(0), "0 ns"),
        (as_duration(None), "?"),
        (as_bytes(999), "999 B"),
        (as_bytes(1460), "1.46 kB"),
        (as_bytes(999_999), "1.00 MB"),
        (as_bytes(23_100_000), "23.1 MB"),
        (as_rate(9_414_000), "9.41 Mbit/s"),
        (as_rate(10_000_000_000), "10.0 Gbit/s"),
        (as_rate(None), "?"),
        (as_share(0.9876), "98.8 %"),
        (as_share(0.0028), "0.28 %"),
        (as_share(0.99999), "> 99.9 %"),
        (as_share(1.0), "100 %"),
        (as_share(0.0), "0 %"),
    ],
)
def test_quantities_are_shown_for_people(text, expected):
    assert text == expected
