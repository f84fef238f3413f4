"""What search engines are told before rows come, over TLS too. System tests have real ones."""

import http.server
import json
import ssl
import subprocess
import threading

import pytest

from tcpwhy import UsageError, _core
from tcpwhy.sinks import Run, open_sink
from tcpwhy.sinks._ecs import document, mapping

pytest.importorskip("httpx")


@pytest.fixture(autouse=True)
def state(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


class Engine:
    """Notes what it is asked, and answers as it is told."""

    def __init__(self, version, context=None):
        engine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                size = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(size)
                engine.asked.append((self.command, self.path, self.headers, body))
                code, told = 200, {"version": version, "errors": False, "items": []}
                if self.path.startswith("/_plugins") or self.path.endswith("/_mapping"):
                    code = 404
                data = json.dumps(told).encode()
                self.send_response(code)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                self.answer()

            do_PUT, do_POST = do_GET, do_GET  # noqa: N815

            def log_message(self, *_):
                pass

        self.asked = []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    def bodies(self, method, path):
        return [
            json.loads(b) for m, p, _, b in self.asked if (m, p.partition("?")[0]) == (method, path)
        ]


def opened(scheme, version, options="", said=lambda _: None):
    engine = Engine(version)
    try:
        target = f"{scheme}://127.0.0.1:{engine.port}/net?{options}"
        open_sink(target, format=None, tables=["flows"], run=Run(say=said)).close()
    finally:
        engine.close()
    return engine


def test_elasticsearch_is_told_how_long_to_keep_rows():
    engine = opened("elasticsearch+http", {"number": "8.17.0"}, "keep=30d")
    (template,) = engine.bodies("PUT", "/_index_template/net-flows")
    assert template["index_patterns"] == ["net-flows"]
    assert template["data_stream"] == {}
    assert template["template"]["lifecycle"] == {"data_retention": "30d"}
    assert template["template"]["mappings"] == mapping("flows")
    assert engine.bodies("PUT", "/_plugins/_ism/policies/net") == []


def test_opensearch_is_told_by_a_policy_and_named_when_it_has_none():
    said = []
    version = {"number": "2.19.1", "distribution": "opensearch"}
    engine = opened("opensearch+http", version, "keep=30d", said.append)
    (template,) = engine.bodies("PUT", "/_index_template/net-flows")
    assert "lifecycle" not in template["template"]
    (policy,) = engine.bodies("PUT", "/_plugins/_ism/policies/net")
    conditions = policy["policy"]["states"][0]["transitions"][0]["conditions"]
    assert conditions == {"min_index_age": "30d"}
    assert len(said) == 1
    assert "keeps everything" in said[0]


def test_credentials_go_over_tls_to_a_server_whose_authority_is_known(tmp_path, monkeypatch, tool):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    request = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1".split()
    names = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate]
    subprocess.run([tool("openssl"), *request, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    monkeypatch.setenv("TCPWHY_OPENSEARCH_CREDENTIALS", "me:word")
    engine = Engine({"distribution": "opensearch"}, context)
    target = f"opensearch://127.0.0.1:{engine.port}/net"
    try:
        with pytest.raises(OSError, match=r"certificate .* cannot be verified: \?ca=FILE"):
            open_sink(target, format=None, tables=None)
        assert engine.asked == []
        open_sink(f"{target}?ca={certificate}", format=None, tables=None).close()
        open_sink(f"{target}?verify=off", format=None, tables=None).close()
        with pytest.raises(UsageError, match="no certificate"):
            open_sink(f"{target}?ca={tmp_path / 'none'}", format=None, tables=None)
    finally:
        engine.close()
    given = {headers["Authorization"] for _, _, headers, _ in engine.asked}
    assert given == {"Basic bWU6d29yZA=="}


def leaves(value, path=""):
    """Name the fields of a document."""
    if not isinstance(value, dict):
        yield path
        return
    for name, part in value.items():
        yield from leaves(part, f"{path}.{name}" if path else name)


def fields(properties, path=""):
    """Name the fields of a mapping."""
    for name, part in properties.items():
        inner = f"{path}.{name}" if path else name
        yield from fields(part["properties"], inner) if "properties" in part else (inner,)


@pytest.mark.parametrize("table", [name for name, _ in _core.schemas()])
def test_a_document_has_exactly_the_fields_of_its_mapping(table, batch_of):
    """The mapping is strict: a field that is not there would cost the row."""
    import duckdb

    with duckdb.connect() as connection:
        connection.register("batch", batch_of(table, {}))
        question = f"SELECT {document(table, 'probe')}::VARCHAR FROM batch"
        [(text,)] = connection.execute(question).fetchall()
    assert set(leaves(json.loads(text))) == set(fields(mapping(table)["properties"]))
