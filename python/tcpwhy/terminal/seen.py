"""Gathers what the overview shows, batch by batch: sums, and the directions at the top."""

from typing import TYPE_CHECKING

from tcpwhy._core import Batch, UsageError
from tcpwhy.terminal.overview import (
    SAVED,
    TRICKLE_BYTES,
    WEIGHT,
    Capture,
    Choice,
    Half,
    Seen,
    Share,
)

if TYPE_CHECKING:
    import duckdb

_RANKED = f"""coalesce(limitation, 'application') <> 'application' DESC,
    {SAVED} DESC, {WEIGHT} DESC, start_ns, src, src_port"""
"""Whatever a change of the network or of a host would speed up comes first."""

_TRICKLE = f"unique_bytes < {TRICKLE_BYTES} AND coalesce(limitation, 'application') = 'application'"

_SUMS = """
    CREATE TABLE captures (source VARCHAR, start_ns BIGINT, end_ns BIGINT, packets HUGEINT,
        payload_bytes HUGEINT, connections HUGEINT, refused HUGEINT, unanswered HUGEINT);
    CREATE TABLE shares (cause VARCHAR, directions HUGEINT, bytes HUGEINT, time_ns HUGEINT);
    CREATE TABLE totals (total HUGEINT, trickles HUGEINT)"""


class Gathering:
    """Takes the rows of `flows`; keeps sums and the top, and no more."""

    def __init__(self, connection: "duckdb.DuckDBPyConnection", choice: Choice) -> None:
        """Prepare tables in the connection.

        Raises:
            UsageError: for a condition or a column that there is not.

        """
        self._connection = connection
        self._choice = choice
        self._kept = False
        connection.execute(_SUMS)
        self._where = f"({choice.where})" if choice.where else "true"
        self._order = _order(choice.sort) if choice.sort else _RANKED
        self._small = "false" if choice.everything or choice.where else _TRICKLE
        if self._small != "false":
            self._order = f"({self._small}), {self._order}"

    def check(self, empty: object) -> None:
        """Try the condition and the order on no rows."""
        import duckdb

        self._connection.register("batch", empty)
        try:
            self._connection.execute(f"FROM batch WHERE {self._where} ORDER BY {self._order}")
        except duckdb.Error as error:
            message = str(error).partition("\n")[0]
            raise UsageError(f"--where or --sort: {message}") from error

    def add(self, batch: Batch) -> None:
        """Take a batch."""
        run = self._connection.execute
        self._connection.register("batch", batch)
        run("""INSERT INTO captures SELECT source, min(start_ns), max(end_ns), sum(packets),
            sum(payload_bytes), count(*) FILTER (direction = 'orig'),
            count(*) FILTER (direction = 'orig' AND conn_state = 'REJ'),
            count(*) FILTER (direction = 'orig' AND conn_state = 'S0')
            FROM batch GROUP BY source""")
        chosen = f"FROM batch WHERE data_packets > 0 AND {self._where}"
        run(f"""INSERT INTO shares SELECT coalesce(cause, limitation, 'unknown'), count(*),
            sum(unique_bytes), sum(end_ns - start_ns) {chosen} GROUP BY 1""")
        run(f"INSERT INTO totals SELECT count(*), count(*) FILTER ({_TRICKLE}) {chosen}")
        if not self._kept:
            run("CREATE TABLE top AS FROM batch LIMIT 0")
            self._kept = True
        run(f"INSERT INTO top {chosen}")
        # Once in a while, so that it stays small.
        run(f"""CREATE OR REPLACE TABLE top AS FROM top
            ORDER BY {self._order} LIMIT {self._choice.top}""")

    def seen(self, counters: dict[str, int]) -> Seen:
        """Give what was gathered."""
        run = self._connection.execute
        if not self._kept:
            return Seen((), 0, 0, (), (), counters)
        top = f"SELECT ({self._small}), {Half.columns()} FROM top ORDER BY {self._order}"
        rows = [(small, Half(*row)) for small, *row in run(top).fetchall()]
        # Small ones are better than nothing.
        large = [half for small, half in rows if not small]
        halves = large or [half for _, half in rows]
        captures = run("""SELECT source, min(start_ns), max(end_ns), sum(packets),
            sum(payload_bytes), sum(connections), sum(refused), sum(unanswered)
            FROM captures GROUP BY source ORDER BY 2, 1""").fetchall()
        shares = run("""SELECT cause, sum(directions), sum(bytes), sum(time_ns) FROM shares
            GROUP BY cause ORDER BY 4 DESC, 3 DESC, 1""").fetchall()
        [(total, trickles)] = run("SELECT sum(total), sum(trickles) FROM totals").fetchall()
        return Seen(
            halves,
            int(total),
            int(trickles) if large and self._small != "false" else 0,
            [Capture(source, *map(int, numbers)) for source, *numbers in captures],
            [Share(cause, *map(int, numbers)) for cause, *numbers in shares],
            counters,
        )


def _order(sort: str) -> str:
    """Write an order in SQL: the largest first, with + before the column the smallest."""
    column = sort.removeprefix("+").removeprefix("-")
    direction = "ASC" if sort.startswith("+") else "DESC"
    return f"{column} {direction} NULLS LAST, {WEIGHT} DESC, start_ns, src, src_port"
