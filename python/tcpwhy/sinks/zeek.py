"""Zeek's conn.log, with what limits each direction added: `-o conn.log`.

The columns up to `tunnel_parents` are those of Zeek, in its order and with its types, so that what
reads its logs reads this one. `service` and `history` are unset, since nobody looks into payload
here, and so are `orig_ip_bytes` and `resp_ip_bytes`: rows have bytes with the link layer.
"""

from collections.abc import Iterable
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any

from tcpwhy._core import Batch
from tcpwhy.sinks import Capabilities, Opens, Run, named, output
from tcpwhy.sinks._text import append

FLOWS_HELD = 10_000
"""Flows that wait for their other direction; the oldest goes out without it."""

_UNSET = "-"
_STATES = {"S0", "S1", "SF", "REJ", "S2", "S3", "RSTO", "RSTR", "RSTOS0", "RSTRH", "SH", "SHR"}

_ZEEK = (
    ("ts", "time"),
    ("uid", "string"),
    ("id.orig_h", "addr"),
    ("id.orig_p", "port"),
    ("id.resp_h", "addr"),
    ("id.resp_p", "port"),
    ("proto", "enum"),
    ("service", "string"),
    ("duration", "interval"),
    ("orig_bytes", "count"),
    ("resp_bytes", "count"),
    ("conn_state", "string"),
    ("local_orig", "bool"),
    ("local_resp", "bool"),
    ("missed_bytes", "count"),
    ("history", "string"),
    ("orig_pkts", "count"),
    ("orig_ip_bytes", "count"),
    ("resp_pkts", "count"),
    ("resp_ip_bytes", "count"),
    ("tunnel_parents", "set[string]"),
)

_ADDED = (
    ("limitation", "string"),
    ("cause", "string"),
    ("confidence", "string"),
    ("throughput_bps", "double"),
    ("rtt_min", "interval"),
    ("retransmitted_bytes", "count"),
    ("headroom_bps", "double"),
)
"""Of each direction, after `orig_` or `resp_`."""

_SELECT = """SELECT flow_id, direction, src, src_port, dst, dst_port, start_ns, end_ns, packets,
    payload_bytes, missed_bytes, conn_state, community_id, limitation, cause,
    confidence, throughput_bps, rtt_min_ns / 1e9 AS rtt_min, retransmitted_bytes, headroom_bps
    FROM batch"""


class Sink:
    """Joins the directions of each flow to a line."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run) -> None:
        """Open the file."""
        import duckdb

        self.capabilities = Capabilities(("flows",))
        self._target = target.removeprefix("zeek:")
        self._open = ExitStack()
        self._file = self._open.enter_context(output(self._target))
        self._connection = self._open.enter_context(duckdb.connect())
        self._waiting: dict[int, dict[str, Any]] = {}
        self._write([_head()])

    def write(self, table: str, batch: Batch) -> None:
        """Write the flows of which both directions are there."""
        self._connection.register("batch", batch)
        rows = self._connection.execute(_SELECT)
        names = [column[0] for column in rows.description or ()]
        lines = []
        for values in rows.fetchall():
            row = dict(zip(names, values, strict=True))
            other = self._waiting.pop(row["flow_id"], None)
            if other is None:
                self._waiting[row["flow_id"]] = row
            elif other["direction"] == row["direction"]:
                # The same flow again, after it was silent for long: two lines.
                lines.append(_line([other]))
                self._waiting[row["flow_id"]] = row
            else:
                lines.append(_line([other, row]))
        while len(self._waiting) > FLOWS_HELD:
            lines.append(_line([self._waiting.pop(next(iter(self._waiting)))]))
        self._write(lines)

    def flush(self) -> None:
        """Do nothing: every batch is written when it comes."""

    def close(self) -> None:
        """Write what has one direction, and the end."""
        with self._open:
            lines = [_line([row]) for row in self._waiting.values()]
            self._write([*lines, f"#close\t{_now()}"])

    def _write(self, lines: Iterable[str]) -> None:
        with named(self._target):
            append(self._file, "".join(f"{line}\n" for line in lines).encode())


def _head() -> str:
    fields = [*_ZEEK, ("community_id", "string")]
    fields += [(f"{side}_{name}", kind) for side in ("orig", "resp") for name, kind in _ADDED]
    lines = [
        "#separator \\x09",
        "#set_separator\t,",
        "#empty_field\t(empty)",
        f"#unset_field\t{_UNSET}",
        "#path\tconn",
        f"#open\t{_now()}",
        "\t".join(("#fields", *(name for name, _ in fields))),
        "\t".join(("#types", *(kind for _, kind in fields))),
    ]
    return "\n".join(lines)


def _line(rows: list[dict[str, Any]]) -> str:
    """Write a flow; a direction that was not seen has sent nothing, and of it nothing is known."""
    sides = {row["direction"]: row for row in rows}
    orig, resp = sides.get("orig"), sides.get("resp")
    ends = ("src", "src_port", "dst", "dst_port")
    place = [orig[end] for end in ends] if orig else [rows[0][e] for e in (*ends[2:], *ends[:2])]
    start_ns = min(row["start_ns"] for row in rows)
    duration_ns = max(row["end_ns"] for row in rows) - start_ns
    state = rows[0]["conn_state"]
    missed = [row["missed_bytes"] for row in rows if row["missed_bytes"] is not None]
    values = [
        f"{start_ns // 10**9}.{start_ns % 10**9 // 1000:06}",
        uid(rows[0]["flow_id"]),
        *place,
        "tcp",
        None,
        f"{duration_ns / 1e9:.6f}",
        *(_of(side, "payload_bytes") for side in (orig, resp)),
        state if state in _STATES else "OTH",
        None,
        None,
        sum(missed) if missed else None,
        None,
        _of(orig, "packets"),
        None,
        _of(resp, "packets"),
        None,
        None,
        rows[0]["community_id"],
        *(side and side[name] for side in (orig, resp) for name, _ in _ADDED),
    ]
    return "\t".join(_text(value) for value in values)


def uid(flow_id: int) -> str:
    """Write a flow's number as Zeek writes its own: C and digits of 62 kinds."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    text = ""
    while flow_id:
        flow_id, digit = divmod(flow_id, 62)
        text = digits[digit] + text
    return f"C{text or '0'}"


def _of(side: dict[str, Any] | None, name: str) -> int:
    return int(side[name]) if side else 0


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6f}"
    return _UNSET if value is None else str(value)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d-%H-%M-%S")


OPENS = Opens(Sink, suffixes=(".log",), schemes=("zeek",))
