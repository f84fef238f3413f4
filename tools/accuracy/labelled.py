"""Captures of which their author, or the suite that they test, says what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import tcpwhy
from accuracy.judged import LIMITATIONS, Judged


class Label(NamedTuple):
    """What is known of a capture."""

    file: str
    allowed: tuple[str, ...]
    """What is right for the half with the most bytes; nothing when no limit is stated."""
    says: str


LOSSES = (
    "random_loss",
    "unshared_bottleneck/loss",
    "shared_bottleneck/loss",
    "transport/recovery",
)
NO_LOSS = tuple(word for word in LIMITATIONS if word not in ("random_loss", "policer"))

LABELS = (
    Label("b0381__dsack.dmp.gz", ("transport",), "cwnd grows slowly at 560 ms after few losses"),
    Label("b0386__sack_nasa_sim.dump.gz", ("transport",), "the same transfer, captured again"),
    Label("b0389__zwnd.dmp.gz", ("receiver_window",), "the receiver closes its window"),
    Label(
        "b0390__inconsistent_printer.pcapng",
        ("receiver_window", "transport/recovery"),
        "a printer stops acknowledging",
    ),
    Label("b0395__tcp_dupack.pcapng", LOSSES, "one segment is lost"),
    Label("b0397__tcp_zerowindowdead.pcapng", ("receiver_window",), "zero window, never reopened"),
    Label("b0402__challenge01_ooo_stream.pcapng.gz", NO_LOSS, "late segments, no loss"),
    Label(
        "b0421__206_example_b.pcap",
        ("receiver_window", "application", "transport/recovery"),
        "a throttled reader that falls silent: 80 of 82 s are timeouts",
    ),
    Label("b0382__fast_reuse.dmp.gz", (), "a port is used again at once"),
    Label("b0385__long_rtt.dmp.gz", (), "a very long round trip"),
    Label("b0392__latency2.pcapng", (), "latency somewhere"),
    Label("b0420__test1-out-of-order.pcap", (), "two packets in the wrong order"),
)


def run_all(folder: Path) -> list[tuple[Label, Judged | None]]:
    """Analyse the captures that are there. Those without a stated limit are not judged."""
    found: list[tuple[Label, Judged | None]] = []
    for label in LABELS:
        path = folder / "labelled" / label.file
        if path.exists():
            found.append((label, _judged(label, path) if label.allowed else None))
    return found


def _judged(label: Label, path: Path) -> Judged | None:
    result = tcpwhy.analyze(path, table="flows", workers=1)
    rows = [row for row in result.to_arrow("flows").to_pylist() if row["data_packets"]]
    if not rows:
        return None
    row = max(rows, key=lambda row: row["unique_bytes"])
    return Judged(
        group="labelled",
        name=label.file.split("__")[0],
        variant="",
        tap="",
        start_s=0.0,
        end_s=(row["end_ns"] - row["start_ns"]) / 1e9,
        expected=label.allowed[0],
        allowed=label.allowed,
        cause=row["cause"],
        paper=row["limitation_siekkinen"],
        confidence=row["confidence"],
        is_mixed=row["limitation"] == "mixed",
        evidence=row["evidence"] or "",
    )
