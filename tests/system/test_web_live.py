"""A link that is watched: pages follow by events, and a connection that goes on is drawn."""

import os
import shutil
import socket
import threading
import time
from contextlib import contextmanager

import pytest
from browser import opened, served

pytest.importorskip("starlette", reason="the dashboard needs the extra web")
pytest.importorskip("uvicorn", reason="the dashboard needs the extra web")


@pytest.fixture(autouse=True)
def privileged():
    if os.geteuid():
        pytest.skip("watching a link takes root")
    if shutil.which("tcpdump") is None:
        pytest.skip("tcpdump is not installed")


@contextmanager
def transfer():
    """Keep a connection on the loopback busy; give the port of who sends."""
    over = threading.Event()

    def swallow(server):
        peer, _ = server.accept()
        with peer:
            while peer.recv(65536):
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        reader = threading.Thread(target=swallow, args=(server,))
        reader.start()
        with socket.create_connection(server.getsockname()) as sender:

            def send():
                while not over.is_set():
                    sender.sendall(bytes(20_000))
                    time.sleep(0.02)

            writer = threading.Thread(target=send)
            writer.start()
            try:
                yield sender.getsockname()[1]
            finally:
                over.set()
                writer.join(10)
                sender.shutdown(socket.SHUT_RDWR)
                reader.join(10)


def test_pages_follow_monitor_and_a_connection_under_way_is_drawn(browser, tmp_path):
    with (
        transfer() as port,
        served(tmp_path / "store", "--live", "lo") as link,
    ):
        seen = opened(browser, link)
        web = seen.page
        row = web.locator("#now tr", has_text=f"127.0.0.1:{port}")
        row.wait_for(timeout=60_000)
        # Nothing is clicked and nothing reloaded: events bring what monitor wrote since.
        state = web.locator(".state")
        before = state.inner_text()
        assert before.startswith("data to ")
        loaded = web.evaluate("performance.timeOrigin")
        moved = web.locator(".tile", has_text="moved").locator("b")
        amount = moved.inner_text()
        web.wait_for_function(
            "([a, b]) => document.querySelector('.state').textContent !== a"
            " && ![...document.querySelectorAll('.tile b')].some(e => e.textContent === b)",
            arg=[before, amount],
            timeout=60_000,
        )
        assert web.evaluate("performance.timeOrigin") == loaded
        assert any(address.endswith("/api/events") for address in seen.requests)
        watch = row.get_by_role("link", name="Watch").get_attribute("href")
        web.goto(f"{link.rstrip('/')}{watch.replace('seconds=10', 'seconds=2')}")
        web.wait_for_function("globalThis.tcpwhy")
        count = web.evaluate("async () => (await tcpwhy).trace.series.data.t.length")
        assert count > 20
        assert str(port) in web.locator("h1").inner_text()
        assert seen.complaints == []


def test_a_link_is_watched_and_drawn(tcpwhy, tmp_path):
    path = tmp_path / "live.svg"
    with transfer() as port:
        done = tcpwhy("graph", "lo", "--live", "1s", "--filter", f"port {port}", "-o", path)
    assert done.returncode == 0, done.stderr
    assert f"127.0.0.1:{port}" in path.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nolink", "--live", "1s"), "nolink: No such device"),
        (("lo", "--live", "1s", "--filter", "prot 5"), "syntax error"),
        (("lo", "--live", "500ms", "--filter", "port 9 and port 10"), "no packet of"),
        (("lo", "--filter", "port 9"), "--filter is of a link"),
        (("-x", "--live", "1s"), "No such option"),
    ],
)
def test_a_link_that_cannot_be_watched_is_told(tcpwhy, tmp_path, arguments, said):
    done = tcpwhy("graph", *arguments, "-o", tmp_path / "g.svg")
    assert done.returncode in (1, 2, 4)
    assert said.lower() in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())
