"""A flood of SYNs beside ten connections whose limits are known.

The ten come from the simulator: tests/data/ten_limits.toml says what limits each. They are
replayed at their own timing while the flood comes from another sender on the same link.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import bench_live
from live_link import FAR, Link, send, watcher

SCENARIO = bench_live.ROOT / "tests" / "data" / "ten_limits.toml"
SECONDS = 21
MAX_FLOWS = 200_000
# SYNs a second: none, some, and as many as the sender can.
FLOODS = (0, 300_000, None)


def measure(net: Link) -> list[dict[str, Any]]:
    """Every flood, on a link made for this."""
    import tcpwhy

    wanted = [each["limitation"] for each in tomllib.loads(SCENARIO.read_text())["expect"]]
    with tempfile.TemporaryDirectory() as folder:
        tcpwhy.simulate(SCENARIO, captures=folder).to_polars("truth")
        (capture,) = Path(folder).glob("*.pcap")
        rows = []
        for pps in FLOODS:
            row = _flooded(net, capture, pps, Path(folder, f"store-{pps}"), wanted)
            asked = "as many as the sender can" if pps is None else f"{pps:,}/s"
            print(f"flood of {asked}: {row['syns']:,.0f}/s, {row['right']} of {len(wanted)} right")
            rows.append({"what": asked} | row)
    return rows


def _flooded(
    net: Link, capture: Path, pps: int | None, store: Path, wanted: list[str]
) -> dict[str, Any]:
    """One flood: what it cost, and how many of the ten are told right."""
    load = net.far_command(bench_live.LOAD, FAR)
    flood = [*load, "flood", "--seconds", str(SECONDS)]
    flood += ["--pps", str(pps)] if pps is not None else []
    # Their timing is what limits are told by, so the sender of the ten must not wait.
    ten = ["chrt", "--fifo", "10", *load, "replay", str(capture)]
    command = bench_live.monitor(net, store, "--max-flows", MAX_FLOWS)
    with watcher(command, "watching") as watched:
        with subprocess.Popen(ten, stdout=subprocess.PIPE, text=True) as beside:
            sent = send(flood, watched)
            out, _ = beside.communicate()
        cpu = watched.cpu_share()
        watched.end()
    counted = bench_live.counters(store)
    row = bench_live.row("monitor", sent, watched, cpu)
    of_ten = json.loads(out)["frames"]
    lost = {"lost": counted.get("kernel_drops", 0), "counters": counted}
    return (
        row
        | lost
        | {
            "syns": sent["frames"] / sent["seconds"],
            "sent": row["sent"] + of_ten,
            "seen": counted["packets_read"],
            "right": _right(store, wanted),
            "of": len(wanted),
        }
    )


def _right(store: Path, wanted: list[str]) -> int:
    """How many of the ten senders, whose ports count from 40,000 on, have the limit they have."""
    import tcpwhy

    query = """
        SELECT src_port - 40000, limitation FROM flows
        WHERE src = '10.0.0.2' AND dst_port = 5001 AND data_packets > 300
    """
    rows = tcpwhy.Store(store).connect().execute(query).fetchall()
    # A sender with two rows was cut in two, and is not right.
    numbers = [number for number, _ in rows]
    return sum(
        1
        for number, limitation in rows
        if numbers.count(number) == 1 and wanted[number] == limitation
    )
