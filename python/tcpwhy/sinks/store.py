"""Writes a store: each part appears whole, and a flow is there once.

`tcpwhy.store` describes the layout, and reads it.
"""

import errno
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tcpwhy import _core
from tcpwhy._core import Batch, Rows
from tcpwhy.sinks import BATCH, Capabilities, Opens, RowsLostError, Run
from tcpwhy.store import explained, make_store, ulid
from tcpwhy.store.files import GROUP_ROWS, STEADY_GROUP_ROWS, quoted, steady, write_file
from tcpwhy.store.upkeep import SMALL_BYTES, Upkeep, size_bytes

ROWS_PER_PART = 2**19
"""Rows of a table held back before a part is written: some 250 MB, twice that while they grow."""

_SEED = "part-" + "0" * 26
_TIME_COLUMN = {"flows": "start_ns", "intervals": "start_ns", "periods": "start_ns"}
_TIME_COLUMN |= {"stalls": "start_ns", "segments": "ts_ns"}
_WHOLE = {"truth", "events", "queues"}
"""Tables of one simulation: another one replaces them."""


class Sink:
    """Writes the tables of a run into a store, which it makes where there is none."""

    def __init__(self, target: str, tables: Sequence[str], run: Run = BATCH) -> None:
        """Open the store; its parts appear while the run goes on and at its end."""
        import duckdb

        self.capabilities = Capabilities(
            tuple(dict.fromkeys((*tables, "counters"))), retention=True
        )
        self.path = Path(target.removesuffix("/"))
        self._connection = duckdb.connect()
        self._staged = dict.fromkeys(self.capabilities.tables, 0)
        self._earlier: dict[str, list[str]] = {}
        self._run = run
        self._upkeep: Upkeep | None = None
        self._group_rows = GROUP_ROWS
        self._written: list[Path] = []
        make_store(self.path)
        for name, _ in _core.schemas():
            self._connection.register("batch", Rows(name, []))
            self._connection.execute(f"CREATE TABLE {name} AS FROM batch")
            self._earlier[name] = [str(part) for part in (self.path / name).glob("*/*.parquet")]
            folder = self.path / name / "date=1970-01-01"
            folder.mkdir(parents=True, exist_ok=True)
            if not os.access(folder.parent, os.W_OK | os.X_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder.parent))
            if not (folder / f"{_SEED}.parquet").exists():
                write_file(self._connection, f"FROM {name}", folder / f"{_SEED}.parquet")
        if run.live:
            self._keep_up()

    def write(self, table: str, batch: Batch) -> None:
        """Take a batch; a part is written when enough rows wait, or else the batch is refused."""
        if self._staged[table] >= ROWS_PER_PART:
            self._flush(table)
        self._connection.register("batch", batch)
        self._connection.execute(f"INSERT INTO {table} FROM batch")
        self._staged[table] += len(batch)

    def flush(self) -> None:
        """Write everything that waits."""
        for table, rows in self._staged.items():
            if rows:
                self._flush(table)
        if self._upkeep:
            self._upkeep.join(self._written)
            self._upkeep.remove()
            small = (part for part in self._written if 0 < size_bytes(part) < SMALL_BYTES)
            self._written = list(small)

    def close(self) -> None:
        """Write the rest; an error says how many rows could not be written."""
        with self._connection:
            try:
                self.flush()
            except OSError as error:
                raise RowsLostError(error, self._waiting()) from error
        if self._upkeep and self._upkeep.removed_parts:
            removed = f"{self._upkeep.removed_parts:,} parts were removed (--keep, --keep-size)"
            self._run.say(f"{self.path}/: {removed}")

    def _waiting(self) -> int:
        """Count the rows that are not in a part yet."""
        counts = (f"SELECT count(*) AS rows FROM {table}" for table in self._staged)
        total = f"SELECT sum(rows)::BIGINT FROM ({' UNION ALL '.join(counts)})"
        [(rows,)] = self._connection.execute(total).fetchall()
        return int(rows)

    def _keep_up(self) -> None:
        """Prepare for a long run: join small parts, and keep no more than is said.

        Its flows are new, so that no part of an earlier run is looked through for them.
        """
        steady(self._connection)
        self._group_rows = STEADY_GROUP_ROWS
        keep_ns, keep_bytes = self._run.keep_ns, self._run.keep_bytes
        self._upkeep = Upkeep(self.path, keep_ns=keep_ns, keep_bytes=keep_bytes)
        self._earlier = {name: [] for name in self._earlier}

    def _flush(self, table: str) -> None:
        if table in _TIME_COLUMN:
            self._supersede(table)
        for date, where in self._dates(table):
            if table in _WHOLE:
                for part in self._earlier[table]:
                    Path(part).unlink(missing_ok=True)
            # Whoever removes a store while it is written gets a new one.
            make_store(self.path)
            folder = self.path / table / f"date={date}"
            folder.mkdir(parents=True, exist_ok=True)
            order = " ORDER BY flow_id" if table in _TIME_COLUMN else ""
            rows = f"FROM {table} WHERE {where}{order}"
            target = folder / f"part-{ulid()}.parquet"
            write_file(self._connection, rows, target, group_rows=self._group_rows)
            # Date by date, so that a full disk leaves what is not written yet, and only that.
            self._connection.execute(f"DELETE FROM {table} WHERE {where}")
            if self._upkeep:
                self._written.append(target)
        # A table whose rows were deleted still holds their memory; a new one does not.
        self._connection.execute(f"CREATE OR REPLACE TABLE {table} AS FROM {table} LIMIT 0")
        self._staged[table] = 0

    def _supersede(self, table: str) -> None:
        """Take the flows that wait out of the parts of earlier runs."""
        earlier = [part for part in self._earlier[table] if Path(part).exists()]
        if not earlier:
            return
        with explained(self.path):
            self._take_out(table, earlier)

    def _take_out(self, table: str, earlier: Sequence[str]) -> None:
        parts = f"read_parquet([{', '.join(map(quoted, earlier))}], filename = true)"
        again = f"SELECT DISTINCT filename FROM {parts} SEMI JOIN {table} USING (flow_id)"
        for (part,) in self._connection.execute(again).fetchall():
            kept = f"FROM read_parquet({quoted(part)}, hive_partitioning = false)"
            rows = f"{kept} ANTI JOIN {table} USING (flow_id) ORDER BY flow_id"
            write_file(self._connection, rows, Path(part))

    def _dates(self, table: str) -> list[tuple[str, str]]:
        """Give the dates of the rows that wait, each with the condition that selects its rows."""
        column = _TIME_COLUMN.get(table)
        if column is None:
            return [(datetime.now(UTC).date().isoformat(), "true")]
        day = f"(DATE '1970-01-01' + ({column} // {24 * 3600 * 10**9})::INTEGER)"
        dates = self._connection.execute(f"SELECT DISTINCT {day}::VARCHAR FROM {table}").fetchall()
        return [(date, f"{day} = DATE {quoted(date)}") for (date,) in dates]


OPENS = Opens(Sink, tables=("flows", "intervals", "periods", "stalls"))
