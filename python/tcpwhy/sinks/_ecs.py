"""Rows as documents with the names of the Elastic Common Schema; all columns are under `tcpwhy`."""

import json
from typing import Any, NamedTuple

from tcpwhy import _core

VERSION = "8.11"
"""Of the schema."""

_TYPES = {"Utf8": "keyword", "Boolean": "boolean", "Float64": "double"}
_OF_COLUMN = {"flow_id": "keyword", "evidence": "text", "remedy": "text"}
"""Columns whose type is not that of their kind: no server has integers of 64 bits without sign."""


class _Field(NamedTuple):
    """A field of the schema: its type, the column that it needs, and the SQL that fills it."""

    name: str
    type: str
    column: str
    sql: str


def _time(column: str) -> str:
    """Write a time in nanoseconds as text. The `%n` of DuckDB gives wrong texts for some."""
    seconds = f"make_timestamp(({column} // 1000000000)::BIGINT * 1000000)"
    return f"strftime({seconds}, '%Y-%m-%dT%H:%M:%S.') || printf('%09dZ', {column} % 1000000000)"


_FIELDS = (
    _Field("@timestamp", "date_nanos", "end_ns", _time("end_ns")),
    _Field("@timestamp", "date_nanos", "ts_ns", _time("ts_ns")),
    _Field("@timestamp", "date_nanos", "at_ns", _time("at_ns")),
    _Field("event.start", "date_nanos", "start_ns", _time("start_ns")),
    _Field("event.end", "date_nanos", "end_ns", _time("end_ns")),
    _Field("event.duration", "long", "end_ns", "end_ns - start_ns"),
    _Field("source.ip", "ip", "src", "src"),
    _Field("source.port", "long", "src_port", "src_port"),
    _Field("source.bytes", "long", "wire_bytes", "wire_bytes"),
    _Field("source.packets", "long", "packets", "packets"),
    _Field("destination.ip", "ip", "dst", "dst"),
    _Field("destination.port", "long", "dst_port", "dst_port"),
    _Field("network.community_id", "keyword", "community_id", "community_id"),
    _Field("network.type", "keyword", "src", "if(contains(src, ':'), 'ipv6', 'ipv4')"),
)

_CONSTANTS = {
    "ecs.version": VERSION,
    "event.kind": "event",
    "event.category": ["network"],
    "event.module": "tcpwhy",
    "network.transport": "tcp",
    "observer.product": "tcpwhy",
    "observer.version": _core.__version__,
}


def document(table: str, host: str) -> str:
    """Write the SQL of the document of a row."""
    columns = {name: kind for name, kind, *_ in dict(_core.schemas())[table]}
    parts: dict[str, Any] = {}
    _put(parts, "@timestamp", _time("epoch_ns(now()::TIMESTAMP)"))
    for name, value in (_CONSTANTS | {"event.dataset": f"tcpwhy.{table}"}).items():
        _put(parts, name, _literal(value))
    _put(parts, "observer.hostname", _literal(host))
    for field in _fields(table):
        _put(parts, field.name, field.sql)
    parts["tcpwhy"] = {
        name: f'"{name}"::VARCHAR' if _type(name, kind) == "keyword" else f'"{name}"'
        for name, kind in columns.items()
    }
    return f"to_json({_struct(parts)})"


def mapping(table: str) -> dict[str, Any]:
    """Give the mapping of an index of a table: every field, and no others."""
    properties: dict[str, Any] = {}
    _map(properties, "@timestamp", "date_nanos")
    for name in (*_CONSTANTS, "event.dataset", "observer.hostname"):
        _map(properties, name, "keyword")
    for field in _fields(table):
        _map(properties, field.name, field.type)
    for name, kind, *_ in dict(_core.schemas())[table]:
        _map(properties, f"tcpwhy.{name}", _type(name, kind))
    return {"dynamic": "strict", "properties": properties}


def _fields(table: str) -> list[_Field]:
    columns = {name for name, *_ in dict(_core.schemas())[table]}
    return [field for field in _FIELDS if field.column in columns]


def _type(name: str, kind: str) -> str:
    return _OF_COLUMN.get(name) or _TYPES.get(kind, "long")


def _put(parts: dict[str, Any], name: str, sql: str) -> None:
    *path, last = name.split(".")
    for part in path:
        parts = parts.setdefault(part, {})
    parts[last] = sql


def _map(properties: dict[str, Any], name: str, kind: str) -> None:
    *path, last = name.split(".")
    for part in path:
        properties = properties.setdefault(part, {"properties": {}})["properties"]
    properties[last] = {"type": kind}


def _struct(parts: dict[str, Any]) -> str:
    items = (
        f'"{name}" := {_struct(part) if isinstance(part, dict) else part}'
        for name, part in parts.items()
    )
    return f"struct_pack({', '.join(items)})"


def _literal(value: Any) -> str:
    text = json.dumps(value) if isinstance(value, list) else str(value)
    quoted = "'" + text.replace("'", "''") + "'"
    return f"{quoted}::JSON" if isinstance(value, list) else quoted
