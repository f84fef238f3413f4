"""A webhook: rows, or alerts, are posted as JSON, `{"table": …, "rows": […]}`.

    webhook+https://HOST/PATH     webhook+http:// without TLS

The header `Idempotency-Key` is the same when the same rows are posted again.
"""

import hashlib
from collections.abc import Iterable

from tcpwhy._core import Batch
from tcpwhy.sinks import Opens, Run
from tcpwhy.sinks._buffered import Buffered, Refusal
from tcpwhy.sinks._chunk import Chunk, Encoder, chunks
from tcpwhy.sinks._http import OPTIONS, Client
from tcpwhy.sinks._url import Url, url_of


class _Webhook:
    """Posts to one address."""

    def __init__(self, url: Url) -> None:
        self._client = Client(url, tls=url.scheme == "webhook+https", kind="WEBHOOK")
        self._path = f"/{url.path}"
        self._encoder = Encoder()

    def connect(self) -> None:
        """Do nothing: only a row is worth a request."""

    def encode(self, table: str, batch: Batch) -> Iterable[Chunk]:
        """Make objects."""
        return chunks(table, self._encoder.rows(table, batch))

    def held(self, *, final: bool) -> Iterable[Chunk]:
        """Give nothing: all is sent as it comes."""
        return ()

    def send(self, chunk: Chunk) -> Refusal | None:
        """Post the rows."""
        body = b'{"table": "%b", "rows": [%b]}' % (chunk.table.encode(), b",\n".join(chunk.values))
        key = hashlib.sha256("\n".join(chunk.keys).encode()).hexdigest()
        headers = {"Content-Type": "application/json", "Idempotency-Key": key}
        answer = self._client.ask("POST", self._path, raw=body, headers=headers)
        if answer.status_code >= 400:
            return Refusal(chunk.rows, f"the server answers {answer.status_code}")
        return None

    def close(self) -> None:
        """Let go."""
        self._client.close()
        self._encoder.close()


def make(target: str, tables: tuple[str, ...], run: Run) -> Buffered:
    """Open a webhook."""
    port = 443 if target.startswith("webhook+https:") else 80
    url = url_of(target, port=port, options=OPTIONS)
    return Buffered(_Webhook(url), url, tables, run)


OPENS = Opens(make, schemes=("webhook+https", "webhook+http"))
