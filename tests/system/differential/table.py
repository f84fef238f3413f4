"""The committed table of differences: why each class exists, and how often each capture has it."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

PATH = Path(__file__).with_name("differences.toml")


def read() -> dict[str, dict[str, object]]:
    """Every class with `reason`, `counts` by capture, and `open` where it is a defect of ours."""
    with PATH.open("rb") as file:
        return tomllib.load(file)


def counts(table: dict[str, dict[str, object]], capture: str) -> Counter[str]:
    """What the table expects of a capture."""
    expected: Counter[str] = Counter()
    for name, entry in table.items():
        by_capture = entry.get("counts", {})
        assert isinstance(by_capture, dict)
        expected[name] = by_capture.get(capture, 0)
    return +expected


def write(table: dict[str, dict[str, object]], found: dict[str, Counter[str]]) -> None:
    """Writes the table again with new counts for the captures in `found`; reasons stay."""
    names = {*table, *(name for by_name in found.values() for name in by_name)}
    lines = [PATH.read_text().split("\n[", 1)[0].rstrip()] if PATH.exists() else []
    for name in sorted(names):
        entry = table.get(name, {"reason": "TODO"})
        merged = dict(entry.get("counts", {}))  # type: ignore[call-overload]
        for capture, by_name in found.items():
            merged[capture] = by_name[name]
        lines += ["", f"[{name}]", f'reason = """{entry["reason"]}"""']
        lines += ["open = true"] if entry.get("open") else []
        lines += [f"[{name}.counts]"]
        lines += [f"{capture} = {merged[capture]}" for capture in sorted(merged) if merged[capture]]
    PATH.write_text("\n".join(lines) + "\n")
