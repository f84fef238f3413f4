"""Every fact of every half is equal to the references', or the difference is named and counted."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from . import captures, table, tcptrace, tcpwhy, tshark
from .compare import compare

FILES = [*captures.own(), *captures.real()]
# The counts hold for these versions: what tshark calls a retransmission changes between releases.
VERSIONS = {"tshark": "TShark (Wireshark) 4.0.", "tcptrace": "version 6.6.7"}


@pytest.fixture(scope="module", autouse=True)
def _tools() -> None:
    missing = [
        name
        for name, tool in (("tshark", tshark), ("tcptrace and editcap", tcptrace))
        if not tool.available()
    ]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")
    if not tcpwhy.available():
        pytest.skip(f"tcpwhy does not answer as: {' '.join(tcpwhy.command())}")


def known_versions() -> bool:
    """Whether the counts of the table hold for the tools of this machine."""
    return all(
        words in subprocess.run([name, "-v"], capture_output=True, text=True, check=False).stdout
        for name, words in VERSIONS.items()
    )


@pytest.mark.parametrize("path", FILES, ids=captures.label)
def test_every_difference_is_named_and_counted(path: Path) -> None:
    result = compare(path)
    assert result.halves, "tcpwhy found no connection"
    assert [str(item) for item in result.unexplained()] == []
    if known_versions():
        expected = table.counts(table.read(), captures.label(path))
        assert result.counts() == expected, "renew differences.toml when this is meant"


def test_real_captures_are_there() -> None:
    if not captures.real():
        pytest.skip(f"no real captures in {captures.REAL}")


def test_every_class_has_a_reason_and_occurs() -> None:
    for name, entry in table.read().items():
        assert len(str(entry["reason"])) > 40, name
        assert entry.get("counts"), f"{name} explains nothing any more: remove it"
