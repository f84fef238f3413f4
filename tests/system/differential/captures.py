"""Which captures are compared, and where they are."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[3]
OWN = ROOT / "tests" / "data"
REAL = Path(os.environ.get("TCPWHY_CAPTURES", ROOT.parent / "shared" / "captures"))
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# One capture of each family of the policing study (the name says what limited it), and those that
# show something of their own: copies of a router, inferred window scales, reordering.
POLICING = (
    "*C=5-L=2000000-CD=1000-PCIR=500000-PBC=2000000*",
    "*CD2=1000-ID=0-PCIR=1500000-PBC=8000*LOSS=0%-TCP*CP1=16385*",
    "*XT=1*CP1=16737*",
    "*SCIR=500000-SBC=1000000-RTT*CP=10807*",
    "*SCIR=10000000-SBC=8000-RTT*",
    "*SCIR=10000000-RTT=100*LOSS=2%*",
    "*SCIR=10000000-RTT=100*XT=1*",
    "b0004__*",
    "b0025__*",
    "b0028__*",
    "b0359__*",
)


def own() -> list[Path]:
    """The captures that ship with the repository."""
    return sorted(OWN.glob("*.pcap"))


def real() -> list[Path]:
    """The real captures that are compared; none when the folder is missing."""
    if not REAL.is_dir():
        return []
    files = [path for folder in ("bulk", "labelled") for path in sorted((REAL / folder).iterdir())]
    for pattern in POLICING:
        files += sorted((REAL / "policing").glob(pattern))[:1]
    return files


def label(path: Path) -> str:
    """A short name: the number of a real capture, or the name of an own one."""
    number, separator, _ = path.name.partition("__")
    return number if separator else path.stem


@contextmanager
def plain(path: Path) -> Iterator[Path]:
    """The capture without compression, since not every tool reads every kind."""
    opener = OPENERS.get(path.suffix)
    if opener is None:
        yield path
        return
    with TemporaryDirectory() as folder:
        target = Path(folder) / path.stem
        with opener(path) as source, target.open("wb") as sink:
            shutil.copyfileobj(source, sink)
        yield target


@contextmanager
def classic(path: Path) -> Iterator[Path]:
    """The capture as an uncompressed pcap file, for tools that know only these."""
    with plain(path) as source, TemporaryDirectory() as folder:
        target = Path(folder) / "classic.pcap"
        command = ["editcap", "-F", "pcap", str(source), str(target)]
        # editcap fails at a damaged end, but has then written what stands before it.
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
        if not target.exists():
            raise RuntimeError(f"editcap: {done.stderr.decode().strip()}")
        yield target
