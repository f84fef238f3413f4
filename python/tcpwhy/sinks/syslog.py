"""Syslog (RFC 5424): a row, or an alert, is a message whose text is JSON.

syslog://HOST[:514]           by UDP: nobody says whether it came
syslog+tcp://HOST[:601]       by TCP, each message with its length before it (RFC 6587)
    ?facility=local0
"""

import os
import socket
from collections.abc import Iterable
from datetime import UTC, datetime

from tcpwhy._core import Batch, UsageError
from tcpwhy.sinks import Opens, Run
from tcpwhy.sinks._buffered import Buffered, Refusal
from tcpwhy.sinks._chunk import Chunk, Encoder, chunks
from tcpwhy.sinks._socket import Stream
from tcpwhy.sinks._url import Url, url_of

_FACILITIES = {"user": 1, "daemon": 3, **{f"local{number}": 16 + number for number in range(8)}}
_NOTICE, _WARNING = 5, 4
_LONGEST_BYTES = 60_000
"""Of a datagram: a longer text is cut, and no longer JSON."""


class _Syslog:
    """Speaks to one server."""

    def __init__(self, url: Url) -> None:
        facility = url.options.get("facility", "daemon")
        if facility not in _FACILITIES:
            known = ", ".join(_FACILITIES)
            raise UsageError(f"{url.text}: no facility {facility!r}: there are {known}")
        self._facility = _FACILITIES[facility]
        self._stream = Stream(url, datagrams=url.scheme == "syslog")
        self._is_datagram = url.scheme == "syslog"
        self._encoder = Encoder()
        self._origin = f"{socket.gethostname()} tcpwhy {os.getpid()}"

    def connect(self) -> None:
        """Reach the server; by UDP only its name is looked up."""
        self._stream.connect()

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        """Make texts."""
        return chunks(table, self._encoder.rows(table, batch))

    def held(self, *, final: bool) -> Iterable[Chunk]:
        """Give nothing: all is sent as it comes."""
        return ()

    def send(self, chunk: Chunk) -> Refusal | None:
        """Send the messages."""
        severity = _WARNING if chunk.table == "alerts" else _NOTICE
        now = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
        head = f"<{8 * self._facility + severity}>1 {now} {self._origin} {chunk.table} - ".encode()
        if self._is_datagram:
            for value in chunk.values:
                self._stream.send((head + value)[:_LONGEST_BYTES])
        else:
            texts = [head + value for value in chunk.values]
            self._stream.send(b"".join(b"%d %b" % (len(text), text) for text in texts))
        return None

    def close(self) -> None:
        """Let go."""
        self._stream.close()
        self._encoder.close()


def make(target: str, tables: tuple[str, ...], run: Run) -> Buffered:
    """Open a server."""
    port = 601 if target.startswith("syslog+tcp:") else 514
    url = url_of(target, port=port, options=("facility",))
    return Buffered(_Syslog(url), url, tables, run)


OPENS = Opens(make, schemes=("syslog", "syslog+tcp"))
