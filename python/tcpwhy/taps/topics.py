"""Rows that were sent to Kafka, read back: all that its topics hold now, each row once."""

import io
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

from tcpwhy import _core
from tcpwhy._core import InputError, Rows, UsageError
from tcpwhy.extras import require
from tcpwhy.sinks._chunk import KEYS
from tcpwhy.sinks._url import Url, url_of
from tcpwhy.sinks.kafka import brokers, properties

PATIENCE_S = 20.0
"""Without a message, where there should be more."""

MOST_ROWS = 2_000_000
"""Rows of a table that are read: they are held in memory, some 3 kB each."""

MESSAGES = 1000
"""Messages that are asked for at once."""


def topics(name: str, tables: Iterable[str]) -> Any:
    """Read the topics NAME.<table> from their beginning to where they end now.

    Args:
        name: the URL that the rows were sent to, with the same options.
        tables: which; one without a topic is empty.

    Returns:
        A connection of DuckDB with the tables.

    Raises:
        InputError: where no broker answers, or a message is none of ours.
        UsageError: for options that make no sense, or more rows than fit.

    """
    import duckdb

    kafka = require("confluent_kafka", extra="kafka")
    arrow = require("pyarrow", extra="arrow")
    url = url_of(name, port=9092, options=("brokers", "format", "properties"), buffers=False)
    settings = {
        "bootstrap.servers": ",".join(brokers(url)),
        "group.id": "tcpwhy-taps",
        "enable.auto.commit": False,
        "enable.partition.eof": False,
        "auto.offset.reset": "earliest",
    }
    consumer = kafka.Consumer(settings | properties(url))
    connection = duckdb.connect()
    try:
        known = consumer.list_topics(timeout=PATIENCE_S).topics
        for table in tables:
            connection.register("empty", Rows(table, []))
            connection.execute(f"CREATE TABLE {table} AS FROM empty")
            topic = f"{url.path or 'tcpwhy'}.{table}"
            if topic not in known:
                continue
            places = [kafka.TopicPartition(topic, number) for number in known[topic].partitions]
            for batch in _batches(_messages(consumer, places, url), table, url, arrow):
                connection.register("batch", batch)
                connection.execute(f"INSERT INTO {table} BY NAME FROM batch")
            _once(connection, table)
    except kafka.KafkaException as error:
        raise InputError(f"{url.text}: {error.args[0].str()}") from error
    finally:
        consumer.close()
    return connection


def _messages(consumer: Any, places: list[Any], url: Url) -> Iterator[bytes]:
    """Give the messages of a topic that are there now."""
    ends = {}
    for place in places:
        first, beyond = consumer.get_watermark_offsets(place, timeout=PATIENCE_S)
        place.offset = first
        if beyond > first:
            ends[place.partition] = beyond
    consumer.assign([place for place in places if place.partition in ends])
    last = time.monotonic()
    while ends:
        for message in consumer.consume(MESSAGES, timeout=1.0):
            if message.error() is not None:
                raise InputError(f"{url.text}: {message.error().str()}")
            last = time.monotonic()
            yield message.value()
            if message.offset() + 1 >= ends.get(message.partition(), 0):
                ends.pop(message.partition(), None)
        # What a transaction or a compaction left out never comes.
        for place in consumer.position([p for p in places if p.partition in ends]):
            if place.offset >= ends[place.partition]:
                del ends[place.partition]
        if time.monotonic() - last > PATIENCE_S:
            raise InputError(f"{url.text}: the brokers have more, and send nothing: try again")


def _batches(messages: Iterable[bytes], table: str, url: Url, arrow: Any) -> Iterator[Any]:
    """Make batches of messages, JSON or Arrow, whichever they are."""
    schema = arrow.table(Rows(table, [])).schema
    numbers = {name for name, kind, *_ in dict(_core.schemas())[table] if kind == "UInt64"}
    rows: list[dict[str, Any]] = []
    count = 0
    for message in messages:
        try:
            if message[:1] == b"{":
                row = json.loads(message)
                # A flow_id is a text in JSON: 64 bits do not survive in every reader.
                rows.append({k: int(v) if k in numbers and v else v for k, v in row.items()})
                count += 1
            else:
                with arrow.ipc.open_stream(io.BytesIO(message)) as stream:
                    batch = stream.read_all()
                count += batch.num_rows
                yield batch
            if len(rows) >= MESSAGES:
                yield arrow.Table.from_pylist(rows, schema=schema)
                rows = []
        except (ValueError, TypeError, arrow.ArrowException) as error:
            raise InputError(f"{url.text}: a message of {table} is not ours: {error}") from error
        if count > MOST_ROWS:
            raise UsageError(f"{url.text}: more than {MOST_ROWS:,} rows of {table}: use a store")
    if rows:
        yield arrow.Table.from_pylist(rows, schema=schema)


def _once(connection: Any, table: str) -> None:
    """Drop what came again: a message is sent at least once."""
    keys = ", ".join(KEYS[table])
    connection.execute(
        f"CREATE OR REPLACE TABLE {table} AS SELECT DISTINCT ON ({keys}) * FROM {table}"
    )
