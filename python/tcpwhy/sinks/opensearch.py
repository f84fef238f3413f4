"""OpenSearch and Elasticsearch: a data stream per table, filled through `_bulk`.

    opensearch://HOST[:9200][/NAME]           with TLS; opensearch+http:// without
    elasticsearch://HOST[:9200][/NAME]        the same for the other

Streams are named NAME-flows, NAME-intervals and so on; NAME is tcpwhy unless given. A row's key is
the id of its document, and a document that is there is not written again.
"""

import json
import socket
from collections.abc import Iterable

from tcpwhy._core import Batch, UsageError
from tcpwhy.sinks import Opens, Run, Sink
from tcpwhy.sinks._buffered import Buffered, Refusal, UnavailableError
from tcpwhy.sinks._chunk import Chunk, Encoder, chunks
from tcpwhy.sinks._ecs import document, mapping
from tcpwhy.sinks._http import BULK_TIMEOUT_S, OPTIONS, Client
from tcpwhy.sinks._url import Url, url_of

_EXISTS = 409
_NO_STREAM = 404
_BUSY = {429, 503}


class _Search:
    """Speaks to one cluster."""

    def __init__(self, url: Url, tables: tuple[str, ...], run: Run) -> None:
        kind = url.scheme.partition("+")[0].upper()
        self._client = Client(url, tls=not url.scheme.endswith("+http"), kind=kind)
        self._url, self._run = url, run
        self._tables = tables
        self._name = url.path or "tcpwhy"
        self._keep = url.options.get("keep")
        self._encoder = Encoder()
        self._documents = {table: document(table, socket.gethostname()) for table in tables}

    def connect(self) -> None:
        """Ask who is there, and say what its documents look like."""
        version = self._client.ask("GET", "/").json().get("version", {})
        is_opensearch = version.get("distribution") == "opensearch"
        for table in self._tables:
            inner: dict[str, object] = {"mappings": mapping(table)}
            if self._keep and not is_opensearch:
                inner["lifecycle"] = {"data_retention": self._keep}
            template = {
                "index_patterns": [f"{self._name}-{table}"],
                "data_stream": {},
                "priority": 200,
                "template": inner,
                "_meta": {"made_by": "tcpwhy"},
            }
            self._insist("PUT", f"/_index_template/{self._name}-{table}", template)
            # A stream that an earlier version made gets the columns that are new.
            path = f"/{self._name}-{table}/_mapping"
            if self._client.ask("PUT", path, mapping(table)).status_code not in (200, _NO_STREAM):
                self._run.say(f"{self._url.text}: {path[1:]} differs: new rows may be refused")
        if self._keep and is_opensearch:
            self._set_policy(self._keep)

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        """Make documents."""
        return chunks(table, self._encoder.rows(table, batch, self._documents[table]))

    def held(self, *, final: bool) -> Iterable[Chunk]:
        """Give nothing: all is sent as it comes."""
        return ()

    def send(self, chunk: Chunk) -> Refusal | None:
        """Create the documents; those that are there already were sent before."""
        lines = []
        for key, value in zip(chunk.keys, chunk.values, strict=True):
            lines += [json.dumps({"create": {"_id": key}}).encode(), value]
        path = f"/{self._name}-{chunk.table}/_bulk?filter_path=errors,items.*.status,items.*.error"
        kind = {"Content-Type": "application/x-ndjson"}
        answer = self._client.ask(
            "POST",
            path,
            raw=b"\n".join([*lines, b""]),
            headers=kind,
            timeout_s=BULK_TIMEOUT_S,
        )
        if answer.status_code >= 400:
            raise UnavailableError(
                f"the server answers {answer.status_code}: {_short(answer.text)}"
            )
        told = answer.json()
        if not told["errors"]:
            return None
        items = [item["create"] for item in told["items"]]
        if any(item["status"] in _BUSY for item in items):
            raise UnavailableError("the server is busy (429)")
        bad = [item for item in items if item["status"] >= 400 and item["status"] != _EXISTS]
        return Refusal(len(bad), _reason(bad[0]["error"])) if bad else None

    def close(self) -> None:
        """Let go."""
        self._client.close()
        self._encoder.close()

    def _insist(self, method: str, path: str, body: object) -> None:
        answer = self._client.ask(method, path, body)
        if answer.status_code >= 400:
            raise UsageError(f"{self._url.text}: {path[1:]}: {_short(answer.text)}")

    def _set_policy(self, keep: str) -> None:
        """Have OpenSearch remove old data by a policy, if it has the plugin for that."""
        policy = {
            "description": "Removes what tcpwhy wrote once it is old.",
            "default_state": "kept",
            "states": [
                {
                    "name": "kept",
                    "actions": [{"rollover": {"min_index_age": "1d"}}],
                    "transitions": [{"state_name": "old", "conditions": {"min_index_age": keep}}],
                },
                {"name": "old", "actions": [{"delete": {}}], "transitions": []},
            ],
            "ism_template": [{"index_patterns": [f"{self._name}-*"], "priority": 200}],
        }
        path = f"/_plugins/_ism/policies/{self._name}"
        answer = self._client.ask("PUT", path, {"policy": policy})
        if answer.status_code >= 400 and answer.status_code != _EXISTS:
            self._run.say(f"{self._url.text}: the server keeps everything: it has no {path[1:]}")


def make(target: str, tables: tuple[str, ...], run: Run) -> Sink:
    """Open a cluster."""
    url = url_of(target, port=9200, options=(*OPTIONS, "keep"))
    return Buffered(_Search(url, tables, run), url, tables, run)


def _reason(error: dict[str, object]) -> str:
    return f"{error.get('type')}: {_short(str(error.get('reason')))}"


def _short(text: str) -> str:
    return " ".join(text.split())[:200]


_NAMES = ("opensearch", "elasticsearch")

OPENS = Opens(
    make,
    schemes=(*_NAMES, *(f"{name}+http" for name in _NAMES)),
    tables=("flows", "intervals", "counters"),
)
