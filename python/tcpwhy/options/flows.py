"""Which connections `--flow` means: a number, an end, a pair, a flow_id, a Community ID."""

import re
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

from tcpwhy import _core
from tcpwhy._core import InputError, UsageError

NUMBERS = 2**32
"""Numbers below this count the connections of a capture; a `flow_id` is larger."""

_END = r"(\d+\.\d+\.\d+\.\d+|\[[0-9a-fA-F:.]+\]):(\d+)"
_PAIR = rf"{_END}(?:\s*[-→↔]\s*{_END})?"
_SAME_FLOWS = ("idle_timeout", "half_open_timeout", "closed_timeout", "filter")
"""Options that decide which connections there are, and where they begin and end."""


def check_flow(flow: int | str) -> None:
    """Raise a UsageError for what cannot name a flow."""
    if not re.fullmatch(rf"\d+(,\d+)*|1:[\w+/]{{27}}=|{_PAIR}", str(flow)):
        known = "a flow_id, a number, HOST:PORT, HOST:PORT-HOST:PORT, nor a Community ID, 1:…="
        raise UsageError(f"{flow!r} is neither {known}")


def is_number(flow: int | str) -> bool:
    """Whether a flow is named by its number in the capture."""
    return str(flow).isdigit() and int(flow) < NUMBERS


def where(flow: int | str) -> tuple[str, list[Any]]:
    """Write the condition for the rows of `flows` in SQL, with its parameters."""
    text = str(flow)
    if is_number(flow):
        return "stream = ?", [int(text)]
    if re.fullmatch(r"\d+(,\d+)*", text):
        ids = [min(int(each), 2**64 - 1) for each in text.split(",")]
        return f"flow_id IN ({', '.join('?' * len(ids))})", ids
    if pair := re.fullmatch(_PAIR, text):
        one, other = [pair[1].strip("[]"), int(pair[2])], pair[3] and pair[3].strip("[]")
        if other is None:
            return "((src, src_port) = (?, ?) OR (dst, dst_port) = (?, ?))", [*one, *one]
        both = [*one, other, int(pair[4])]
        backwards = [*both[2:], *both[:2]]
        same = "(src, src_port, dst, dst_port) = (?, ?, ?, ?)"
        return f"({same} OR {same})", [*both, *backwards]
    return "community_id = ?", [text]


def numbered(
    inputs: Sequence[str | PathLike[str]], number: int, options: Mapping[str, Any]
) -> tuple[list[int], int]:
    """Find the flow_ids of the connection with a number; give the count of connections too.

    The captures are read once for it. Several flows may have one number: parts of a connection that
    paused for longer than --idle-timeout.

    Raises:
        UsageError: for a pipe, which cannot be read again.

    """
    import duckdb

    if any(str(path) == "-" for path in inputs):
        raise UsageError(f"a pipe is read once: choose by HOST:PORT, not by the number {number}")
    kept = {name: value for name, value in options.items() if name in _SAME_FLOWS}
    stream = _core.analyze(inputs, tables=["flows"], options=kept)
    ids: list[int] = []
    count = 0
    with duckdb.connect() as connection:
        while True:
            try:
                item = next(stream, None)
            except InputError:
                continue
            if item is None:
                break
            table, batch = item
            if table != "flows":
                continue
            connection.register("batch", batch)
            [(last,)] = connection.execute("SELECT max(stream) FROM batch").fetchall()
            count = max(count, 0 if last is None else last + 1)
            found = "SELECT DISTINCT flow_id FROM batch WHERE stream = ?"
            ids += (flow_id for (flow_id,) in connection.execute(found, [number]).fetchall())
    return sorted(set(ids)), count
