"""The program that runs a world, from ns-3's wheel and `world.cc`."""

from __future__ import annotations

import subprocess
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
SOURCE = HERE / "world.cc"
BUILT = Path(__file__).parents[2] / "target/ns3_world"
MODULES = (
    "core",
    "network",
    "internet",
    "point-to-point",
    "traffic-control",
    "applications",
    "bridge",
    "stats",
)


def home() -> Path | None:
    """Find where ns-3's wheel lies; nothing where it is not installed."""
    found = find_spec("ns3")
    places = list(found.submodule_search_locations or ()) if found else []
    return next((Path(place) for place in places if (Path(place) / "include").is_dir()), None)


def built() -> Path:
    """Give the program, compiled if a source is newer."""
    ns3 = home()
    if ns3 is None:
        raise SystemExit("ns-3 is not installed here: pip install ns3")
    newest = max(path.stat().st_mtime for path in (SOURCE, *HERE.glob("*.h")))
    if not BUILT.exists() or BUILT.stat().st_mtime < newest:
        libraries = [str(_library(ns3, name)) for name in MODULES]
        BUILT.parent.mkdir(parents=True, exist_ok=True)
        command = ["g++", "-std=c++20", "-O1", f"-I{ns3}/include", str(SOURCE), "-o", str(BUILT)]
        allowed = [f"-Wl,-rpath,{ns3}/lib64", "-Wl,--allow-shlib-undefined"]
        subprocess.run([*command, *libraries, *allowed], check=True)
    return BUILT


def _library(ns3: Path, name: str) -> Path:
    found = list((ns3 / "lib64").glob(f"libns3*-{name}.so"))
    if not found:
        raise SystemExit(f"{ns3}/lib64 has no library {name}: world.cc is for ns-3.44")
    return found[0]
