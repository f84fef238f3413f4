"""What is said of real captures, against what the kernel and others say of them."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tcpwhy

DATA = Path(__file__).parent / "data"
FACTS = json.loads((DATA / "facts.json").read_text(encoding="utf-8"))

TRANSFERS = {
    "bulk_tbf_sender": "bulk_tbf",
    "bulk_tbf_middle": "bulk_tbf",
    "bulk_tbf_receiver": "bulk_tbf",
    "receiver_window": "receiver_window",
    "application": "application",
    "loss_sender": "loss",
    "loss_middle": "loss",
    "loss_receiver": "loss",
    "slow_reader": "slow_reader",
    "offload": "offload",
    "mirror_router": "mirror_router",
    "mirror_bridge": "mirror_bridge",
}
"""The shipped captures, and the transfer that each shows."""

POSITIONS = {"sender": 0.0, "middle": 1 / 3, "receiver": 1.0}
"""Share of the round trip between the data sender and the place of capture."""


def heaviest(path: Path | list[Path], **options: Any) -> dict[str, Any]:
    """Give the row of the half that moved most data."""
    query = "SELECT * FROM flows ORDER BY payload_bytes DESC LIMIT 1"
    cursor = tcpwhy.analyze(path, **options).to_duckdb().execute(query)
    (row,) = cursor.fetchall()
    return dict(zip((column[0] for column in cursor.description), row, strict=True))


@pytest.fixture(params=TRANSFERS)
def name(request: pytest.FixtureRequest) -> str:
    """Name one shipped capture after another."""
    return request.param


def test_bytes_are_those_that_the_kernel_counted(name: str) -> None:
    row, sender = heaviest(DATA / f"{name}.pcap"), FACTS[TRANSFERS[name]]["sender"]
    assert row["unique_bytes"] == sender["bytes_sent"] - sender["bytes_retrans"]
    assert row["retransmitted_bytes"] == sender["bytes_retrans"]
    assert row["spurious_bytes"] == 0
    assert row["reordered_packets"] == 0
    assert row["effective_mss"] == sender["snd_mss"]
    assert row["missed_bytes"] == 0


def test_round_trips_are_those_that_the_kernel_measured(name: str) -> None:
    row, sender = heaviest(DATA / f"{name}.pcap"), FACTS[TRANSFERS[name]]["sender"]
    # The kernel's is its minimum as well; a wire away from it the capture sees a little less.
    assert row["rtt_min_ns"] / 1e3 == pytest.approx(sender["min_rtt"], rel=0.02)
    assert row["handshake_rtt_ns"] / 1e3 == pytest.approx(sender["min_rtt"], rel=0.05)


@pytest.mark.parametrize("place", POSITIONS)
@pytest.mark.parametrize("transfer", ["bulk_tbf", "loss"])
def test_the_place_of_capture_is_found(transfer: str, place: str) -> None:
    row = heaviest(DATA / f"{transfer}_{place}.pcap")
    assert row["position"] == pytest.approx(POSITIONS[place], abs=0.03)


@pytest.mark.parametrize("place", POSITIONS)
def test_capacity_is_the_rate_of_the_token_bucket(place: str) -> None:
    row = heaviest(DATA / f"bulk_tbf_{place}.pcap")
    # tbf counts Ethernet frames, the capacity is of IP packets: 14 bytes of 1514.
    assert row["capacity_bps"] == pytest.approx(4e6 * 1500 / 1514, rel=0.05)
    assert row["limitation_siekkinen"] == "unshared_bottleneck"


def test_capacity_is_found_at_a_host_that_merges_packets() -> None:
    row = heaviest(DATA / "offload.pcap")
    assert row["offload_seen"]
    assert row["data_packets"] == FACTS["offload"]["sender"]["data_segs_out"]
    assert row["capacity_bps"] == pytest.approx(40e6 * 1500 / 1514, rel=0.05)


@pytest.mark.parametrize("name", ["mirror_bridge", "mirror_router"])
def test_frames_that_a_mirror_port_doubles_are_no_retransmissions(name: str) -> None:
    counters = tcpwhy.analyze(DATA / f"{name}.pcap").counters
    copies = {"mirror_bridge": 1236, "mirror_router": 1632}[name]
    assert counters["duplicate_frames"] == copies


def test_a_slow_reader_is_seen_by_time_as_the_kernel_sees_it() -> None:
    sender = FACTS["slow_reader"]["sender"]
    row = heaviest(DATA / "slow_reader.pcap")
    span = row["payload_bytes"] * 8 / row["throughput_bps"]
    share = sender["rwnd_limited"] / 1e6 / span
    assert row["rwnd_time_score"] == pytest.approx(share, abs=0.02)
    assert row["zero_window_events"] > 0
    assert row["limitation"] == "receiver_window"


def test_an_application_that_pauses_is_found() -> None:
    row = heaviest(DATA / "application.pcap")
    assert row["limitation"] == "application"
    assert row["capacity_bps"] is None


def test_a_closed_window_of_another_tools_test_suite_is_the_limit(shared: Path) -> None:
    row = heaviest(shared / "captures" / "labelled" / "b0389__zwnd.dmp.gz")
    assert row["limitation"] == "receiver_window"
    assert row["zero_window_probes"] == 6
    # The clock of the capture ticks every 10 ms, and the handshake lies within one tick.
    assert row["handshake_rtt_ns"] is None
    assert row["rtt_min_ns"] is None
    assert "RTT below a tick of the capture's clock" in row["evidence"]
    assert row["rwnd_time_score"] == pytest.approx(0.91, abs=0.02)


def test_a_router_that_shows_the_syn_twice_does_not_hide_the_handshake(shared: Path) -> None:
    (capture,) = (shared / "captures" / "policing").glob("b0359__*")
    row = heaviest(capture)
    # The emulated path has 100 ms, and the capture both sides of what delays it by half of that.
    assert row["handshake_rtt_ns"] == pytest.approx(101e6, rel=0.01)


def test_scaling_that_one_side_offers_is_off(shared: Path) -> None:
    row = heaviest(shared / "captures" / "bulk" / "a0047__exe_download.pcap")
    assert (row["window_scale"], row["window_scale_source"]) == (0, "handshake")
    assert row["rwnd_max"] <= 65535


@pytest.mark.parametrize("packets", [1, 2, 3, 100, 1000, 1486])
def test_a_capture_split_anywhere_gives_the_same_rows(
    packets: int, tmp_path: Path, tool: Callable[[str], str]
) -> None:
    whole, last = DATA / "slow_reader.pcap", 1487
    parts = [tmp_path / "a.pcap", tmp_path / "b.pcap"]
    for part, frames in zip(parts, [f"1-{packets}", f"{packets + 1}-{last}"], strict=True):
        subprocess.run([tool("editcap"), "-r", whole, part, frames], check=True)
    found, expected = heaviest(parts[::-1], workers=1), heaviest(whole, workers=1)
    assert (found.pop("source"), expected.pop("source")) == (str(parts[0]), str(whole))
    assert found == expected
