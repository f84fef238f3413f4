"""Kafka: a topic per table, keyed by flow, so that one consumer sees all of a flow in its order.

    kafka://BROKER[:9092][/NAME]              topics NAME.flows, NAME.intervals and so on
        ?format=json                          a message is a row (the default)
        ?format=arrow                         a message is an Arrow IPC stream of rows
        ?brokers=HOST:PORT,HOST:PORT          others to begin with, should the first one be away
        ?properties=FILE                      settings of librdkafka, a `name=value` a line

NAME is tcpwhy unless given. Each message has the header `table`, and in JSON `id`, the key of its
row: whoever needs each row once drops what has been seen. In Arrow a message has the rows of some
flows, all of one key, and rows are told apart by the same columns.
"""

import io
import time
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcpwhy._core import Batch, UsageError
from tcpwhy.extras import require
from tcpwhy.sinks import Opens, Run, Sink
from tcpwhy.sinks._buffered import Buffered, Refusal, UnavailableError
from tcpwhy.sinks._chunk import Chunk, Encoder, chunks
from tcpwhy.sinks._url import Url, url_of

if TYPE_CHECKING:
    import logging

    from confluent_kafka import Producer

TIMEOUT_S = 8.0

PARTS = 32
"""Keys that messages in Arrow have: a flow has always the same one."""

_FLOW = 1
"""Where a key of `_chunk.KEYS` has the flow, between dashes."""

_LOST_FOR_GOOD = {"MSG_SIZE_TOO_LARGE", "INVALID_MSG", "INVALID_RECORD"}


class _Json:
    """A message is a row."""

    def __init__(self) -> None:
        self._encoder = Encoder()

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        return chunks(table, self._encoder.rows(table, batch))


class _Arrow:
    """A message is a stream of rows of some flows: always the same ones, so of one partition.

    A message of one flow would be little more than its schema.
    """

    def __init__(self) -> None:
        self._arrow = require("pyarrow", extra="arrow")
        self._encoder = Encoder()

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        rows = self._arrow.record_batch(batch)
        parts: dict[int, list[int]] = {}
        for at, key in enumerate(self._encoder.keys(table, batch)):
            parts.setdefault(zlib.crc32(_flow(table, key).encode()) % PARTS, []).append(at)
        for part, places in sorted(parts.items()):
            chosen = rows.take(self._arrow.array(places))
            file = io.BytesIO()
            with self._arrow.ipc.new_stream(file, chosen.schema) as stream:
                stream.write_batch(chosen)
            yield Chunk(table, (f"{table}-{part}",), (file.getvalue(),), len(places))


class _Kafka:
    """Speaks to one cluster."""

    def __init__(self, url: Url, tables: tuple[str, ...]) -> None:
        kafka = require("confluent_kafka", extra="kafka")
        self._url, self._error = url, kafka.KafkaException
        self._name = url.path or "tcpwhy"
        self._format = url.options.get("format", "json")
        if self._format not in ("json", "arrow"):
            raise UsageError(f"{url.text}: no format {self._format!r}: there are json and arrow")
        self._rows = _Json() if self._format == "json" else _Arrow()
        self._trouble = ""
        known = brokers(url)
        self._has_others = len(known) > 1
        settings: dict[str, Any] = {
            "bootstrap.servers": ",".join(known),
            "client.id": "tcpwhy",
            "enable.idempotence": True,
            "compression.type": "zstd",
            "linger.ms": 5,
            "message.timeout.ms": int(TIMEOUT_S * 1000),
            "reconnect.backoff.ms": 250,
            "reconnect.backoff.max.ms": 5000,
            "error_cb": self._note,
            "logger": _logger(),
        }
        settings |= properties(url)
        try:
            self._producer: Producer = kafka.Producer(settings)
        except self._error as error:
            raise UsageError(f"{url.text}: {error.args[0].str()}") from error

    def connect(self) -> None:
        """Ask who is there: often, since the library waits although it knows of trouble."""
        self._trouble = ""
        until = time.monotonic() + TIMEOUT_S
        while True:
            try:
                self._producer.list_topics(timeout=1)
                return
            except self._error as error:
                self._producer.poll(0)
                # Where one of several is away, another one may answer.
                told = self._trouble and not self._has_others
                if told or time.monotonic() > until:
                    raise UnavailableError(self._trouble or error.args[0].str()) from error

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        """Make messages."""
        return self._rows.encode(table, batch)

    def held(self, *, final: bool) -> Iterable[Chunk]:
        """Give nothing: all is sent as it comes."""
        return ()

    def send(self, chunk: Chunk) -> Refusal | None:
        """Send the messages, and wait until all are stored."""
        failed: list[Any] = []

        def delivered(error: Any, _: Any) -> None:
            if error is not None:
                failed.append(error)

        topic = f"{self._name}.{chunk.table}"
        for key, value in zip(chunk.keys, chunk.values, strict=True):
            headers: dict[str, str | bytes | None] = {"table": chunk.table}
            if self._format == "json":
                headers["id"] = key
            flow = _flow(chunk.table, key)
            try:
                self._producer.produce(
                    topic, value, key=flow, headers=headers, on_delivery=delivered
                )
            except (BufferError, self._error) as error:
                self._forget()
                raise UnavailableError(str(error)) from error
        if self._producer.flush(2 * TIMEOUT_S):
            self._forget()
            raise UnavailableError(self._trouble or "the brokers do not answer")
        again = [error for error in failed if error.name() not in _LOST_FOR_GOOD]
        if again:
            raise UnavailableError(self._trouble or again[0].str())
        rows = chunk.rows * len(failed) // len(chunk.values)
        return Refusal(rows, failed[0].str()) if failed else None

    def close(self) -> None:
        """Let go."""
        self._forget()

    def _forget(self) -> None:
        """Drop what waits inside the library: it is sent again from where it waits here."""
        self._producer.purge()
        self._producer.flush(1)

    def _note(self, error: Any) -> None:
        """Keep the last error; the library adds where in itself, and after how long."""
        # That all brokers are down is told after the reason why.
        if self._trouble and error.name() == "_ALL_BROKERS_DOWN":
            return
        self._trouble = error.str().rpartition("failed: ")[2].partition(" (after")[0]


def make(target: str, tables: tuple[str, ...], run: Run) -> Sink:
    """Open a cluster."""
    url = url_of(target, port=9092, options=("brokers", "format", "properties"))
    return Buffered(_Kafka(url, tables), url, tables, run)


def brokers(url: Url) -> list[str]:
    """Name the brokers that are asked which there are."""
    others = filter(None, url.options.get("brokers", "").split(","))
    found = [f"[{url.host}]:{url.port}" if ":" in url.host else f"{url.host}:{url.port}"]
    for broker in others:
        host, colon, port = broker.strip().rpartition(":")
        if not colon or not port.isdigit() or not host:
            raise UsageError(f"{url.text}: brokers: {broker!r} is not HOST:PORT")
        found.append(broker.strip())
    return found


def _logger() -> "logging.Logger":
    """Give what takes the log of the library: it repeats what the buffer says, every second."""
    import logging

    logger = logging.getLogger("tcpwhy.kafka")
    logger.propagate = False
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    return logger


def _flow(table: str, key: str) -> str:
    """Give the flow of a key: what messages are keyed by. Rows without one go by table."""
    parts = key.split("-")
    return parts[_FLOW] if parts[_FLOW].isdigit() else table


def properties(url: Url) -> dict[str, str]:
    """Read settings of librdkafka, credentials among them, from a file."""
    if not (path := url.options.get("properties")):
        return {}
    found = {}
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, equals, value = line.partition("=")
        if not equals:
            raise UsageError(f"{path}:{number}: not name=value")
        found[name.strip()] = value.strip()
    return found


OPENS = Opens(make, schemes=("kafka",), tables=("flows", "intervals"))
