"""`tcpwhy serve`: the dashboard over a store, or over a link while it is watched."""

import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click

from tcpwhy._core import TcpwhyError, UsageError
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import INPUT
from tcpwhy.cli._stopping import stopping
from tcpwhy.extras import require
from tcpwhy.store import Store

START_S = 20.0
"""How long a watched link has to make the store."""

STOP_S = 15.0

SECTION = "Live links"
EXAMPLES = (
    "# the dashboard of a store, on http://127.0.0.1:8080",
    "tcpwhy serve store/",
)


@click.command("serve", cls=Described)
@click.argument("store", required=False, metavar="[STORE]", type=INPUT)
@click.option("--live", metavar="IFACE", help="Watch this link meanwhile; its rows go to STORE.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    default=8080,
    show_default=True,
    help="Port to listen on; 0 is any that is free.",
)
@click.option(
    "--token-file",
    type=click.Path(dir_okay=False, exists=True, path_type=Path),
    help="File with the token that readers need. Without it, one is made and printed where other"
    " hosts can reach the address.",
)
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False, exists=True),
    help="TLS certificate in PEM; then the connection is encrypted.",
)
@click.option("--key", type=click.Path(dir_okay=False, exists=True), help="Its private key.")
def command(
    store: str | None,
    live: str | None,
    host: str,
    port: int,
    token_file: Path | None,
    certificate: str | None,
    key: str | None,
) -> int:
    """Show a store in a browser: what limited what, flow by flow, as it comes.

    It listens on this host alone unless --host says otherwise. It reads the store and never
    writes it. Its pages load nothing from elsewhere. While `tcpwhy monitor` writes the store,
    pages follow.
    """
    require("starlette", extra="web")
    uvicorn = require("uvicorn", extra="web")
    from tcpwhy.web.app import make
    from tcpwhy.web.guard import is_loopback

    if store is None and live is None:
        raise UsageError("nothing to serve: name a STORE, or a link with --live")
    if (certificate is None) != (key is None):
        raise UsageError("--certificate and --key go together")
    token = _token(token_file, needed=not is_loopback(host))
    hosts = ("localhost", "127.0.0.1", "[::1]", host) if is_loopback(host) else ()
    with ExitStack() as stack:
        path = Path(store or stack.enter_context(tempfile.TemporaryDirectory(prefix="tcpwhy-")))
        if live:
            stack.enter_context(_watched(live, path))
        Store(path)
        app = make(path, token=token, hosts=hosts, is_secure=certificate is not None, live=live)
        stack.callback(app.state.dashboard.close)
        config = uvicorn.Config(
            app,
            host=host,
            port=port,
            log_level="warning",
            access_log=False,
            server_header=False,
            ssl_certfile=certificate,
            ssl_keyfile=key,
            http="h11",
            timeout_graceful_shutdown=2,
        )
        server = _ending(uvicorn.Server)(config)
        _serve(server, host, is_secure=certificate is not None, token=token)
    return 0


def _ending(base: type) -> type:
    """Give a server that ends the streams of its app before it waits for connections to close.

    It would cancel them else, and show each as an error with a traceback.
    """

    class Server(base):  # type: ignore[misc]
        async def shutdown(self, sockets: list[Any] | None = None) -> None:
            self.config.app.state.dashboard.watch.stop()
            await super().shutdown(sockets)

    return Server


def _serve(server: object, host: str, *, is_secure: bool, token: str | None) -> None:
    """Listen, say where, and serve until stopped."""
    import socket

    config = server.config  # type: ignore[attr-defined]
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, config.port), family=family)
    except OSError as error:
        message = f"{host}, port {config.port}: {error.strerror or error}"
        raise UsageError(f"{message}: choose another with --host or --port") from error
    port = listener.getsockname()[1]
    scheme = "https" if is_secure else "http"
    shown = f"[{host}]" if ":" in host else host
    link = f"{scheme}://{shown}:{port}/"
    if token:
        link += f"login?token={token}"
        if not is_secure:
            _say("the token goes over the network unencrypted: --certificate and --key change that")

    def end() -> None:
        server.should_exit = True  # type: ignore[attr-defined]

    # uvicorn looks after signals only once its loop runs; one that comes earlier would cut its
    # start in two, with a traceback.
    with stopping(end) as came:
        _say(f"the dashboard is at {link} (Ctrl-C ends it)")
        server.run(sockets=[listener])  # type: ignore[attr-defined]
    if came:
        raise KeyboardInterrupt


def _token(file: Path | None, *, needed: bool) -> str | None:
    if file is None:
        return secrets.token_urlsafe(24) if needed else None
    token = file.read_text("utf-8").strip()
    if len(token) < SHORTEST_TOKEN:
        raise UsageError(f"{file}: a token has at least {SHORTEST_TOKEN} characters")
    return token


SHORTEST_TOKEN = 16


@contextmanager
def _watched(interface: str, path: Path) -> Iterator[None]:
    """Run `monitor` beside this process, so that neither's memory nor privileges are the other's.

    Raises a TcpwhyError when it ends before there is a store.
    """
    arguments = ["monitor", interface, "--output", f"{path}/", "--no-status"]
    process = subprocess.Popen(
        [sys.executable, "-m", "tcpwhy", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
        process_group=0,
    )
    try:
        until = time.monotonic() + START_S
        while not (path / "tcpwhy.json").exists() or not list(path.glob("intervals/*/*.parquet")):
            code = process.poll()
            if code is not None:
                # What was wrong stands above, in its own words.
                raise SystemExit(code)
            if time.monotonic() > until:
                raise TcpwhyError(f"{interface}: no store was made in {START_S:g} s")
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()


def _say(message: str) -> None:
    click.echo(f"tcpwhy: {message}", err=True)
