"""HTTP to services: TLS, credentials, and which answers are worth another attempt."""

import base64
import json
from typing import TYPE_CHECKING, Any

from tcpwhy._core import UsageError, __version__
from tcpwhy.extras import require
from tcpwhy.sinks._buffered import UnavailableError
from tcpwhy.sinks._url import Url, secret

if TYPE_CHECKING:
    import httpx

OPTIONS = ("ca", "credentials", "verify")
"""A file with the authority's certificate, one with credentials, `verify=off`."""

TIMEOUT_S = 8.0

BULK_TIMEOUT_S = 30.0
"""For many rows: a server that is busy or just started takes long, and would get them again."""

_AGAIN = {408, 425, 429, 500, 502, 503, 504}


class Client:
    """Talks to one server."""

    def __init__(self, url: Url, *, tls: bool, kind: str) -> None:
        """Prepare; `kind` is part of the name of the variable with credentials."""
        import ssl

        self._httpx = require("httpx", extra="http")
        self._url = url
        headers = {"User-Agent": f"tcpwhy/{__version__}"}
        if credentials := secret(url, kind):
            headers["Authorization"] = _authorization(credentials)
        verify: ssl.SSLContext | bool = True
        if url.options.get("verify") == "off":
            verify = False
        elif "ca" in url.options:
            try:
                verify = ssl.create_default_context(cafile=url.options["ca"])
            except OSError as error:
                raise UsageError(
                    f"{url.options['ca']}: no certificate: {error.strerror}"
                ) from error
        host = f"[{url.host}]" if ":" in url.host else url.host
        self._client: httpx.Client = self._httpx.Client(
            base_url=f"{'https' if tls else 'http'}://{host}:{url.port}",
            headers=headers,
            timeout=TIMEOUT_S,
            verify=verify,
            # A proxy of the environment is for the web, not for the servers of one's own network.
            trust_env=False,
        )

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        raw: bytes = b"",
        headers: dict[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> "httpx.Response":
        """Send a request; an answer that a server gives in passing is an UnavailableError.

        A `body` is sent as JSON, `raw` as it is, with the headers that say what it is.
        """
        content = raw or (json.dumps(body).encode() if body is not None else None)
        headers = headers or ({"Content-Type": "application/json"} if content else {})
        try:
            answer = self._client.request(
                method, path, content=content, headers=headers, timeout=timeout_s
            )
        except self._httpx.HTTPError as error:
            raise UnavailableError(_reason(error, self._url)) from error
        if answer.status_code in (401, 403):
            raise UsageError(
                f"{self._url.text}: the server refuses the credentials ({answer.status_code}):"
                " check the file or variable they come from (docs/outputs.md)"
            )
        if answer.status_code in _AGAIN:
            raise UnavailableError(f"the server answers {answer.status_code}")
        return answer

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _authorization(credentials: str) -> str:
    if credentials.startswith(("ApiKey ", "Bearer ")):
        return credentials
    return "Basic " + base64.b64encode(credentials.encode()).decode()


def _reason(error: Exception, url: Url) -> str:
    """Say in a few words what went wrong with a connection."""
    text = str(error)
    if "WRONG_VERSION_NUMBER" in text or "record layer" in text:
        return f"the server speaks no TLS: {url.scheme}+http:// is without"
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return "the certificate of the server cannot be verified: ?ca=FILE names its authority"
    if "Connection refused" in text:
        return "connection refused"
    if "disconnected without" in text:
        return "the server closed the connection: is it one with TLS?"
    return text.partition("] ")[2] or text or type(error).__name__
