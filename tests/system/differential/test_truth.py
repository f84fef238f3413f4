"""What tcpwhy says about our own captures against what the kernel said while they were recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from . import captures, tcpwhy
from .connection import Half

FACTS = json.loads((captures.OWN / "facts.json").read_text())
# What both mirrors saw: packets of the connection, and frames in the file.
MIRRORS = {"mirror_bridge": 1236, "mirror_router": 1632}
# Where a capture was made: its share of the round trip before the capture point.
POSITIONS = {"sender": 0.0, "middle": 1 / 3, "receiver": 1.0}


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    if not tcpwhy.available():
        pytest.skip(f"tcpwhy does not answer as: {' '.join(tcpwhy.command())}")


def scenario(path: Path) -> tuple[str, str]:
    """The name of a transfer and the place of its capture."""
    for place in POSITIONS:
        if path.stem.endswith(f"_{place}"):
            return path.stem.removesuffix(f"_{place}"), place
    return path.stem, "middle" if path.stem in MIRRORS else "sender"


def halves_by_role(path: Path) -> tuple[Half, Half]:
    """The data sender's half and the other one; there is one connection in each capture."""
    found = {half.dst[1] == 5001: half for half in tcpwhy.halves(path)}
    assert len(found) == 2
    return found[True], found[False]


@pytest.mark.parametrize("path", captures.own(), ids=captures.label)
def test_the_kernel_agrees(path: Path) -> None:
    name, place = scenario(path)
    kernel = FACTS[name]["sender"]
    data, _ = halves_by_role(path)
    assert data.facts["unique_bytes"] == kernel["bytes_sent"] - kernel["bytes_retrans"]
    assert data.facts["retransmitted_bytes"] == kernel["bytes_retrans"]
    assert data.facts["spurious_bytes"] == 0
    assert data.facts["reordered_packets"] == 0
    assert data.facts["rtt_min_ms"] == pytest.approx(kernel["min_rtt"] / 1e3, rel=0.05)
    if place != "receiver":
        assert data.facts["data_packets"] == kernel["data_segs_out"]
        assert data.facts["payload_bytes"] == kernel["bytes_sent"]
    assert data.facts["offload_seen"] is (name == "offload")


@pytest.mark.parametrize("path", captures.own(), ids=captures.label)
def test_the_position_is_found(path: Path) -> None:
    _, place = scenario(path)
    data, other = halves_by_role(path)
    assert data.facts["position"] == pytest.approx(POSITIONS[place], abs=0.05)
    assert other.facts["position"] == pytest.approx(1 - POSITIONS[place], abs=0.05)


@pytest.mark.parametrize("name", MIRRORS)
def test_copies_of_a_mirror_port_are_no_retransmissions(name: str) -> None:
    data, other = halves_by_role(captures.OWN / f"{name}.pcap")
    copies = (data.facts["duplicate_frames"] or 0) + (other.facts["duplicate_frames"] or 0)
    assert copies == MIRRORS[name]
    frames = sum(FACTS[name]["tcpdump"][tap]["captured"] for tap in FACTS[name]["tcpdump"])
    assert (data.facts["packets"] or 0) + (other.facts["packets"] or 0) + copies == frames


def test_the_window_closes_only_for_the_slow_reader() -> None:
    for path in captures.own():
        data, _ = halves_by_role(path)
        closed = data.facts["zero_window_events"]
        assert (closed or 0) > 10 if path.stem == "slow_reader" else closed == 0, path.stem
