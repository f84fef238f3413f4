"""Who may ask: by address, by token; and what a browser may do with the answers."""

import hmac
import ipaddress
from collections.abc import Iterable
from contextlib import suppress
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from h11 import LocalProtocolError
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "tcpwhy"

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

INLINE = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:;"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Of a page that holds all it needs and, in itself, a policy that names it by hashes."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}

LOGIN_BYTES = 4096
"""Of a form with a token; more is not read."""

_FORM = """<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>tcpwhy</title>
<link rel="stylesheet" href="/static/base.css"><link rel="stylesheet" href="/static/app.css">
</head><body><main class="login"><form method="post" action="/login" class="card"><h1>tcpwhy</h1>
<p>{message}</p><label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" autofocus required>
<button type="submit">Open</button></form></main></body></html>"""


class Guard:
    """Refuses requests before anything else sees them."""

    def __init__(
        self, app: ASGIApp, *, token: str | None, hosts: Iterable[str], is_secure: bool
    ) -> None:
        """Guard an app.

        Args:
            app: what is guarded.
            token: without it nobody but this host may ask, and nobody needs one.
            hosts: names that a browser may call this host by; all, where there are none. A page
                elsewhere could have its own name mean this host, and read what a link to it says.
            is_secure: whether the connection is encrypted, so that the cookie stays on such.

        """
        self._app = app
        self._token = token
        self._hosts = frozenset(hosts)
        self._is_secure = is_secure

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self._is_secure:
                    headers.setdefault("Strict-Transport-Security", "max-age=31536000")
            # The server has answered 400 where a body turned out malformed after its head. It
            # then takes no second answer; the peer of this one gets what a peer that left gets.
            with suppress(LocalProtocolError):
                await send(message)

        refusal = self._refusal(scope) or await self._login(scope, receive)
        answer = self._app if refusal is None else refusal
        return await answer(scope, receive, with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if self._hosts and _name(headers.get("host", "")) not in self._hosts:
            return PlainTextResponse("this host is not known by that name", 421)
        # A page elsewhere must not make this host work, even where it cannot read the answer.
        if headers.get("sec-fetch-site") in ("cross-site", "same-site"):
            is_link = scope["method"] == "GET" and headers.get("sec-fetch-mode") == "navigate"
            works = scope["path"].startswith(("/api/", "/export/")) or "/graph" in scope["path"]
            if not is_link or works:
                return PlainTextResponse("only pages of this host may ask", 403)
        return None

    async def _login(self, scope: Scope, receive: Receive) -> Response | None:
        """Ask for the token; the cookie that it gives is sent to this host alone."""
        if self._token is None or scope["path"].startswith("/static/"):
            return None
        headers = Headers(scope=scope)
        if scope["path"] == "/login":
            given = parse_qs(scope.get("query_string", b"").decode("latin-1"))
            if scope["method"] == "POST":
                given = parse_qs((await _body(receive)).decode("utf-8", "replace"))
            if self._is_right(given.get("token", [""])[0]):
                return self._welcome()
            return HTMLResponse(_FORM.format(message="That is not the token."), 401)
        cookies = SimpleCookie(headers.get("cookie", ""))
        kind, _, bearer = headers.get("authorization", "").partition(" ")
        held = cookies[COOKIE].value if COOKIE in cookies else ""
        if self._is_right(bearer if kind.lower() == "bearer" else held):
            return None
        if scope["path"].startswith(("/api/", "/export/")):
            return PlainTextResponse("a token is needed", 401, {"WWW-Authenticate": "Bearer"})
        return HTMLResponse(_FORM.format(message="This dashboard needs a token."), 401)

    def _is_right(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), (self._token or "").encode())

    def _welcome(self) -> Response:
        response = RedirectResponse("/", 303)
        response.set_cookie(
            COOKIE,
            self._token or "",
            httponly=True,
            samesite="strict",
            secure=self._is_secure,
            max_age=30 * 86400,
        )
        return response


def is_loopback(host: str) -> bool:
    """Say whether an address is of this host alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


async def _body(receive: Receive) -> bytes:
    body = b""
    while len(body) <= LOGIN_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body[:LOGIN_BYTES]


def _name(host: str) -> str:
    """Take the port off."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0].lower()
