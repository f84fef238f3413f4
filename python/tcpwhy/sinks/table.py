"""Text for a person: an overview of the flows, other tables as lines.

On a terminal it is as wide as that; in a file or a pipe no address and no verdict is cut.
"""

import sys
from collections.abc import Iterable
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING

from tcpwhy import _core
from tcpwhy._core import Batch, Rows
from tcpwhy.sinks import BATCH, Capabilities, Opens, Run, named, output
from tcpwhy.terminal import Style, grid, room, width
from tcpwhy.terminal.overview import Choice, overview
from tcpwhy.terminal.seen import Gathering
from tcpwhy.terminal.simulated import Summary

if TYPE_CHECKING:
    import duckdb

_PAIR = """format(CASE WHEN contains(src, ':') THEN '[{}]:{} → ' ELSE '{}:{} → ' END, src, src_port)
    || format(CASE WHEN contains(dst, ':') THEN '[{}]:{}' ELSE '{}:{}' END, dst, dst_port)
    AS "src → dst" """
_TIME = "strftime(make_timestamp_ns(start_ns), '%H:%M:%S.%g') AS time"
_VERDICT = """round(throughput_bps / 1e6, 3) AS "Mbit/s", round(rtt_mean_ns / 1e6, 1) AS "RTT ms",
    coalesce(cause, limitation, '–') AS "limited by" """

# What a person looks at first; every column is in the other formats.
_LINES = {
    "intervals": f"SELECT {_TIME}, {_PAIR}, {_VERDICT} FROM batch",
    "periods": f"""SELECT {_TIME}, {_PAIR}, kind, round((end_ns - start_ns) / 1e9, 3) AS s,
        {_VERDICT} FROM batch""",
    "stalls": f"""SELECT {_TIME}, {_PAIR}, rank, round((end_ns - start_ns) / 1e9, 3) AS s,
        frame_before AS "from", frame_after AS "to", flight_size AS flight, ended_by,
        coalesce(stall_cause, '–') AS cause, stall_events AS "of" FROM batch""",
    "segments": """SELECT frame, strftime(make_timestamp_ns(ts_ns), '%H:%M:%S.%f') AS time,
        CASE direction WHEN 'orig' THEN '→' ELSE '←' END AS dir, flags, seq_start, seq_end, ack,
        rwnd, flight_size AS flight, kind
        FROM batch""",
    "adaptivity": """PIVOT (
            SELECT round(frequency_hz, 4) AS "1/s", norm_goodput,
                coalesce(printf('%.3f', second_frequency_hz), series) AS curve FROM batch
        ) ON curve USING round(avg(norm_goodput), 3) GROUP BY "1/s" ORDER BY "1/s" """,
    "adaptivity_series": """SELECT floor(at_ns / 5e8) / 2 AS s,
            round(avg(tcp_bps) / 1e6, 3) AS "TCP Mbit/s",
            round(avg(udp_bps) / 1e6, 3) AS "UDP Mbit/s",
            max(in_network_packets) AS "in network", max(tcp_queue_packets) AS "TCP waiting",
            max(udp_queue_packets) AS "UDP waiting", max(timeouts) AS timeouts,
            max(fast_retransmits) AS "fast retransmits"
        FROM batch GROUP BY 1 ORDER BY 1""",
    "adaptivity_segments": """SELECT floor(at_ns / 1e9) AS s, min(segment) AS "from",
            max(segment) AS "to", count(*) FILTER (kind = 'new') AS new,
            count(*) FILTER (kind = 'fast') AS fast, count(*) FILTER (kind = 'rto') AS rto
        FROM batch GROUP BY 1 ORDER BY 1""",
}


class Sink:
    """Writes text; the overview comes at the end, other tables come as they are found."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run = BATCH) -> None:
        """Open the target."""
        self._target = target
        self._wanted = tables
        # The counters are the foot of the overview.
        self.capabilities = Capabilities(tuple(dict.fromkeys((*tables, "counters"))))
        self._open = ExitStack()
        self._choice = run.choice or Choice()
        if self._choice.where or self._choice.sort:
            # A wrong condition must not cost what an earlier run wrote.
            self._gathering.check(Rows("flows", []))
        self._out = self._open.enter_context(output(target))
        stream = sys.stdout if target == "-" else None
        self._width, self._room = width(stream), room(stream)
        self._style = Style.of(sys.stdout) if target == "-" else Style(colour=False)
        self._live = run.live
        self._last: str | None = None
        self._counters: dict[str, int] = {}

    @cached_property
    def _connection(self) -> "duckdb.DuckDBPyConnection":
        """DuckDB, from the first row on: packets are read before it is there."""
        import duckdb

        return self._open.enter_context(duckdb.connect())

    @cached_property
    def _gathering(self) -> Gathering:
        return Gathering(self._connection, self._choice)

    @cached_property
    def _summary(self) -> Summary:
        return Summary(self._connection)

    def write(self, table: str, batch: Batch) -> None:
        """Take a batch."""
        self._connection.register("batch", batch)
        if table == "flows":
            self._gathering.add(batch)
        elif table in Summary.tables:
            self._summary.add(table)
        elif table == "counters":
            rows = self._connection.execute("SELECT name, value FROM batch").fetchall()
            self._counters.update(rows)
        else:
            lines = self._connection.execute(_LINES[table])
            names = [column[0] for column in lines.description or ()]
            self._print(grid(names, lines.fetchall(), self._room), table)

    def flush(self) -> None:
        """Do nothing: lines are written when they come, and the overview is of all flows."""

    def close(self) -> None:
        """Print the overview, and close the target."""
        with self._open:
            self._print(self._summary.lines(self._width))
            if "flows" in self._wanted:
                lines = overview(
                    self._gathering.seen(self._counters),
                    self._choice,
                    width=self._width,
                    room=self._room,
                    style=self._style,
                    live=self._live,
                )
                self._print(lines, "flows")
            if "counters" in self._wanted:
                meaning = dict(_core.counters())
                rows = [(name, n, meaning.get(name)) for name, n in self._counters.items()]
                self._print(grid(["name", "value", "meaning"], rows, self._room), "counters")

    def _print(self, lines: Iterable[str], table: str | None = None) -> None:
        text = "".join(f"{line}\n" for line in lines)
        if table and self._last not in (None, table):
            text = f"\n{text}"
        self._last = table or self._last
        with named(self._target):
            self._out.write(text.encode())
            self._out.flush()


OPENS = Opens(Sink, suffixes=(".txt",))
