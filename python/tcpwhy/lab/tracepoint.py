"""The congestion window at every acknowledgement, from the kernel's tracepoint `tcp:tcp_probe`.

TCP_INFO is asked ten times a second; the tracepoint speaks whenever a segment arrives. Several labs
at once have the same addresses: whose socket it was is known by its cookie, which no two share.
"""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

END_TIMEOUT_S = 20.0

Cookies = Mapping[int, tuple[int, str]]
"""Flow and side by the cookie of the socket."""


class Tracepoint:
    """A recording that runs; `None` as `failure` when it does."""

    def __init__(self, target: Path, ports: Sequence[int]) -> None:
        self._target = target
        command = [sys.executable, "-m", "tcpwhy.lab.tracer", str(target.resolve())]
        self._process = subprocess.Popen(
            [*command, *map(str, sorted(set(ports)))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.failure = self._hear().get("failure")

    def stop(self) -> dict[str, Any]:
        """End it: `lost` events, or why there are none under `failure`."""
        if self.failure:
            self.close()
            return {"failure": self.failure}
        assert self._process.stdin is not None
        self._process.stdin.close()
        said = self._hear()
        self.close()
        return said

    def close(self) -> None:
        """End it whatever its state; it clears up by itself."""
        for end in (self._process.stdin, self._process.stdout):
            if end is not None:
                end.close()
        self._process.wait(END_TIMEOUT_S)

    def _hear(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        said: dict[str, Any] = json.loads(line) if line else {"failure": "the tracer ended"}
        return said


def obstacle() -> str | None:
    """Say why the tracepoint cannot be had here; None when it can."""
    command = [sys.executable, "-m", "tcpwhy.lab.tracer", "/dev/null"]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    except OSError as error:
        return f"{command[0]} cannot be started: {error}"
    said: dict[str, str] = json.loads(done.stdout or '{"failure": "the tracer does not start"}')
    return said.get("failure")


def keep(text: Path, target: Path, cookies: Cookies, wall_minus_mono_ns: int) -> int:
    """Turn the kernel's lines into a table of the sockets that are ours; how many rows.

    Columns: `flow`, `side`, `at_ns` on the wall clock, `cwnd_segs`, `ssthresh_segs` (NULL while
    infinite), `snd_wnd_bytes`, `srtt_ns`, `flight_bytes`.
    """
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE ours (cookie UBIGINT, flow INTEGER, side VARCHAR)")
        rows = [(cookie, *end) for cookie, end in cookies.items()]
        if rows:
            connection.executemany("INSERT INTO ours VALUES (?, ?, ?)", rows)
        connection.execute(_READ, {"file": str(text), "offset": wall_minus_mono_ns})
        path = str(target).replace("'", "''")
        connection.execute(f"COPY traced TO '{path}' (COMPRESSION zstd)")
        count = connection.execute("SELECT count(*) FROM traced").fetchone()
    return int(count[0]) if count else 0


# 32-bit sequence numbers wrap; 2^31-1 is TCP_INFINITE_SSTHRESH of linux/tcp.h.
_READ = r"""
CREATE TABLE traced AS
WITH lines AS (
    SELECT column0 AS line
    FROM read_csv($file, header = false, delim = '\x01', quote = '', escape = '',
                  columns = {'column0': 'VARCHAR'}, auto_detect = false)
    WHERE line LIKE '%: tcp_probe: %'
), fields AS (
    SELECT regexp_extract(line, '\s(\d+)\.(\d{6}): tcp_probe', 1)::BIGINT AS s,
           regexp_extract(line, '\s(\d+)\.(\d{6}): tcp_probe', 2)::BIGINT AS us,
           ('0x' || regexp_extract(line, 'snd_nxt=0x([0-9a-f]+)', 1))::BIGINT AS nxt,
           ('0x' || regexp_extract(line, 'snd_una=0x([0-9a-f]+)', 1))::BIGINT AS una,
           regexp_extract(line, 'snd_cwnd=(\d+)', 1)::BIGINT AS cwnd,
           regexp_extract(line, 'ssthresh=(\d+)', 1)::BIGINT AS ssthresh,
           regexp_extract(line, 'snd_wnd=(\d+)', 1)::BIGINT AS wnd,
           regexp_extract(line, 'srtt=(\d+)', 1)::BIGINT AS srtt,
           ('0x' || regexp_extract(line, 'sock_cookie=([0-9a-f]+)', 1))::UBIGINT AS cookie
    FROM lines
)
SELECT flow, side, (s * 1000000 + us) * 1000 + $offset AS at_ns, cwnd AS cwnd_segs,
       CASE WHEN ssthresh < 2147483647 THEN ssthresh END AS ssthresh_segs,
       wnd AS snd_wnd_bytes, srtt * 1000 AS srtt_ns,
       (nxt - una + 4294967296) % 4294967296 AS flight_bytes
FROM fields JOIN ours USING (cookie) ORDER BY at_ns
"""
