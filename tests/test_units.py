"""Quantities as people write and read them."""

from datetime import timedelta

import pytest

from tcpwhy import UsageError
from tcpwhy.units import (
    as_bytes,
    as_duration,
    as_quantity,
    as_rate,
    as_share,
    nanoseconds,
    quantity,
)


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


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("100ms", "ns", 100e6),
        ("0", "ns", 0),
        ("1.5 s", "ns", 1.5e9),
        ("64KiB", "bytes", 65_536),
        ("16 MiB", "bytes", 2**24),
        ("64Ki", "bytes", 65_536),
        ("10M", "bps", 1e7),
        ("1.5MB", "bytes", 1.5e6),
        ("1448", "bytes", 1448),
        ("10Mbit/s", "bps", 1e7),
        ("1.2Gbps", "bps", 1.2e9),
        ("2.5e6", "bps", 2.5e6),
        ("0.1%", "", 0.001),
        ("0.001", "", 0.001),
        ("10", "segs", 10),
        ("inf", "bytes", float("inf")),
    ],
)
def test_quantities_are_understood(text, unit, expected):
    assert quantity(text, unit) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("text", "unit"),
    [("100", "ns"), ("5 mb", "bytes"), ("3MB/s", "bps"), ("-1", ""), ("", "segs"), ("1%", "segs")],
)
def test_a_quantity_that_could_be_anything_is_refused(text, unit):
    with pytest.raises(UsageError, match="not understood"):
        quantity(text, unit)


def test_a_name_tells_how_its_value_is_shown():
    assert as_quantity(1448, "mss_bytes") == "1,448 B"
    assert as_quantity(0.001, "loss") == "0.1 %"
    assert as_quantity(38.73, "window_segs") == "38.7 segments"
    assert as_quantity(1.2247, "c") == "1.22"


@pytest.mark.parametrize(
    ("text", "unit", "expected"),
    [
        ("64K", "bytes", 64_000),
        ("64Ki", "bytes", 65_536),
        ("64KiB", "bytes", 65_536),
        ("10m", "bps", 10_000_000),
        ("10Mbit/s", "bps", 10_000_000),
        ("2.5G", "bps", 2_500_000_000),
    ],
)
def test_numbers_may_be_written_as_for_iperf3_or_with_units(text, unit, expected):
    assert quantity(text, unit) == expected
