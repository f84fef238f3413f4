"""The dashboard as a server: encrypted, by token, within its limits, whatever is asked."""

import http.client
import socket
import ssl
import subprocess
import threading
import time
from urllib.parse import quote, urlsplit

import pytest
from browser import analysed, served

pytest.importorskip("starlette", reason="the dashboard needs the extra web")
pytest.importorskip("uvicorn", reason="the dashboard needs the extra web")

TOKEN = "0123456789 is a token"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return analysed(tmp_path_factory.mktemp("guard") / "store", "slow_reader")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tls")
    key, cert = folder / "key.pem", folder / "cert.pem"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", key, "-out", cert]
    subprocess.run(["openssl", "req", "-x509", *made, *subject], check=True, capture_output=True)
    return cert, key


def connected(link, context=None):
    """Open a connection to a dashboard, which a test speaks to in its own words."""
    parts = urlsplit(link)
    if parts.scheme == "https":
        return http.client.HTTPSConnection(parts.hostname, parts.port, context=context, timeout=30)
    return http.client.HTTPConnection(parts.hostname, parts.port, timeout=30)


def asked(link, path, context=None, **headers):
    """Give the status, the headers and the text of an answer."""
    connection = connected(link, context)
    connection.request("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode("utf-8", "replace")
    connection.close()
    return answer.status, dict(answer.getheaders()), text


def test_it_listens_on_loopback_alone_unless_told(store):
    with served(store) as link:
        assert urlsplit(link).hostname == "127.0.0.1"
        port = urlsplit(link).port
        with (
            pytest.raises(ConnectionRefusedError),
            socket.create_connection(("127.0.0.2", port), 2),
        ):
            pass


def test_over_tls_the_cookie_stays_on_it_and_plain_text_is_not_answered(
    store, certificate, tmp_path
):
    cert, key = certificate
    file = tmp_path / "token"
    file.write_text(TOKEN)
    options = ("--token-file", file, "--certificate", cert, "--key", key)
    with served(store, *options) as link:
        assert link.startswith("https://")
        context = ssl.create_default_context(cafile=str(cert))
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        status, headers, _ = asked(link, "/api/meta", context, **bearer)
        assert status == 200
        assert "max-age" in headers["strict-transport-security"]
        assert asked(link, "/api/meta", context)[0] == 401
        status, headers, _ = asked(link, f"/login?token={quote(TOKEN)}", context)
        assert status == 303
        assert "Secure" in headers["set-cookie"]
        assert "HttpOnly" in headers["set-cookie"]
        with pytest.raises((http.client.HTTPException, OSError)):
            asked(link.replace("https", "http"), "/api/meta")
        stranger = ssl.create_default_context()
        with pytest.raises(ssl.SSLCertVerificationError):
            asked(link, "/api/meta", stranger)


def test_on_an_address_of_others_a_token_is_made(store):
    with served(store, "--host", "0.0.0.0") as link:
        token = link.split("token=")[1]
        assert len(token) >= 32
        here = link.replace("0.0.0.0", "127.0.0.1")
        for path in ("/api/meta", "/api/sql?q=SELECT+1", "/export/flows.csv", "/api/events"):
            assert asked(here, path)[0] == 401, path
            assert asked(here, path, Authorization=f"Bearer {token[:-1]}")[0] == 401, path
            assert asked(here, path, Cookie="tcpwhy=")[0] == 401, path
        assert asked(here, "/api/meta", Authorization=f"Bearer {token}")[0] == 200


BAD = (
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
    b"POST /login HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n",
    b"POST /api/sql HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /api/flow/%00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET /static/%2e%2e%2f%2e%2e%2fapp.py HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET //evil.example/api/meta HTTP/1.1\r\nHost: evil.example\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"\x00" * 1000,
)
"""What no browser sends."""


def test_what_no_browser_sends_harms_nothing(store):
    with served(store) as link:
        port = urlsplit(link).port
        for text in BAD:
            with socket.create_connection(("127.0.0.1", port), 5) as peer:
                peer.settimeout(3)
                peer.sendall(text)
                try:
                    answer = peer.recv(65536)
                except (TimeoutError, ConnectionResetError):
                    answer = b""
                assert b"Traceback" not in answer, text[:40]
                assert b" 200 " not in answer.split(b"\r\n")[0], text[:40]
        assert asked(link, "/api/meta")[0] == 200


def test_questions_end_at_their_limits_and_others_are_answered_meanwhile(store):
    endless = quote("SELECT count(*) FROM range(10000000000) a, range(100000) b")
    with served(store) as link:
        began, found = time.monotonic(), []
        slow = threading.Thread(target=lambda: found.append(asked(link, f"/api/sql?q={endless}")))
        slow.start()
        time.sleep(0.5)
        status, _, text = asked(link, "/api/sql?q=SELECT+count(*)+AS+n+FROM+range(5000)")
        assert (status, '"rows":[[5000]]' in text) == (200, True)
        assert time.monotonic() - began < 8, "one question does not hold up another"
        slow.join(40)
        status, _, text = found[0]
        assert status == 504
        assert "ended after 10 s" in text
        status, _, text = asked(link, "/api/sql?q=" + quote("SELECT i FROM range(5000) t(i)"))
        assert status == 200
        assert '"is_cut":true' in text
        assert asked(link, "/api/sql?q=" + quote("SELECT '" + "a" * 30_000 + "'"))[0] in (400, 431)


def test_no_more_pages_listen_than_may(store):
    with served(store) as link:
        held = []
        try:
            statuses = []
            for _ in range(70):
                connection = connected(link)
                connection.request("GET", "/api/events")
                answer = connection.getresponse()
                statuses.append(answer.status)
                held.append((connection, answer))
            assert statuses.count(200) == 64
            assert statuses.count(503) == 6
        finally:
            for connection, _ in held:
                connection.close()
        until = time.monotonic() + 30
        while asked(link, "/api/meta")[0] != 200:
            assert time.monotonic() < until
