"""Outputs that are services: what goes in comes out at the other end, here a socket or a folder."""

import http.server
import json
import socket
import subprocess
import threading
import urllib.request
from pathlib import Path

import duckdb
import pytest

from tcpwhy import UsageError
from tcpwhy.analysis import Standing
from tcpwhy.sinks import Run, open_sink, schemes

S = 10**9
START = 1_790_000_000 * S


@pytest.fixture(autouse=True)
def state(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def interval(at_s, limitation=None, size=1000, src="10.1.2.3", **more):
    times = {"start_ns": START + (at_s - 3) * S, "end_ns": START + at_s * S}
    place = {"flow_id": 7, "direction": "orig", "src": src, "dst": "192.0.2.1"}
    found = {"limitation": limitation, "unique_bytes": size, "data_packets": 5}
    return times | place | found | more


class Listener:
    """Takes what is sent to a socket."""

    def __init__(self, family=socket.AF_INET, address=("127.0.0.1", 0), kind=socket.SOCK_STREAM):
        self.socket = socket.socket(family, kind)
        self.socket.bind(address)
        self.data = b""
        self._stream = kind == socket.SOCK_STREAM
        if self._stream:
            self.socket.listen()
        self.address = self.socket.getsockname()
        self.thread = threading.Thread(target=self._take, daemon=True)
        self.thread.start()

    def _take(self):
        if not self._stream:
            self.data = self.socket.recv(65536)
            return
        connection, _ = self.socket.accept()
        with connection:
            while part := connection.recv(65536):
                self.data += part

    def taken(self):
        self.thread.join(30)
        self.socket.close()
        return self.data


@pytest.fixture
def posted():
    """Take what is posted to a server."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.path, dict(self.headers), body))
            self.send_response(answers.pop() if answers else 204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self):
            self.send_response(answers.pop() if answers else 204)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    taken, answers = [], []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_port, taken, answers
    server.shutdown()
    server.server_close()
    thread.join()


def write(target, batch_of, *batches, tables=None, **run):
    sink = open_sink(target, format=None, tables=tables, run=Run(**run))
    for table, *rows in batches:
        if table in sink.capabilities.tables:
            sink.write(table, batch_of(table, *rows))
    return sink


def test_every_service_has_its_scheme():
    expected = "alerts csv elasticsearch jsonl kafka opensearch parquet prometheus syslog zeek"
    assert set(schemes()) >= set(expected.split())


def test_lines_go_to_a_socket(batch_of, tmp_path):
    listener = Listener()
    port = listener.address[1]
    rows = [("flows", {"flow_id": 1, "src": "a,b"}), ("flows", {"flow_id": 2})]
    write(f"csv:tcp://127.0.0.1:{port}", batch_of, *rows).close()
    head, first, second = listener.taken().decode().splitlines()
    assert head.startswith("flow_id,direction,")
    assert first.startswith('1,"","a,b"')
    assert second.startswith("2,")
    path = tmp_path / "reader"
    listener = Listener(socket.AF_UNIX, str(path))
    write(f"jsonl:unix://{path}", batch_of, *rows).close()
    taken = [json.loads(line) for line in listener.taken().splitlines()]
    assert [int(row["flow_id"]) for row in taken] == [1, 2]


def test_a_scheme_names_the_format_of_a_file(batch_of, tmp_path):
    write(f"jsonl:{tmp_path}/rows.data", batch_of, ("flows", {"flow_id": 1})).close()
    assert int(json.loads((tmp_path / "rows.data").read_text())["flow_id"]) == 1


def test_parquet_parts_go_to_a_folder(batch_of, tmp_path):
    pytest.importorskip("fsspec")
    target = f"parquet:{tmp_path}/rows"
    rows = [interval(at) for at in range(3, 90_000, 30_000)]
    batches = ("intervals", *rows), ("flows", {"flow_id": 2**64 - 1, "end_ns": START})
    write(target, batch_of, *batches, tables=["flows", "intervals"]).close()
    found = duckdb.sql(f"FROM '{tmp_path}/rows/intervals/*/*.parquet'").fetchall()
    assert len(found) == 3
    assert len(list((tmp_path / "rows" / "intervals").iterdir())) == 2, "a folder for each day"
    question = f"SELECT flow_id FROM '{tmp_path}/rows/flows/*/*.parquet'"
    assert duckdb.sql(question).fetchall() == [(2**64 - 1,)]
    assert not list((tmp_path / "rows").rglob("*.tmp"))


def test_parquet_parts_go_to_an_object_store(batch_of):
    fsspec = pytest.importorskip("fsspec")
    write("parquet:memory://bucket/rows", batch_of, ("flows", {"flow_id": 5})).close()
    (name,) = fsspec.filesystem("memory").glob("/bucket/rows/flows/*/*.parquet")
    assert fsspec.filesystem("memory").cat(name).startswith(b"PAR1")


def test_a_live_run_waits_for_rows_of_a_part_but_not_forever(batch_of, tmp_path, monkeypatch):
    pytest.importorskip("fsspec")
    from tcpwhy.sinks import _objects

    sink = write(f"parquet:{tmp_path}/r", batch_of, ("flows", {"flow_id": 5}), live=True)
    sink.flush()
    assert not list(tmp_path.rglob("*.parquet"))
    monkeypatch.setattr(_objects, "PART_S", 0.0)
    sink.flush()
    sink.close()
    assert len(list(tmp_path.rglob("*.parquet"))) == 1


def test_syslog_by_udp_and_tcp(batch_of):
    datagram = Listener(kind=socket.SOCK_DGRAM)
    row = ("flows", {"flow_id": 2**64 - 1, "src": "10.0.0.1"})
    target = f"syslog://127.0.0.1:{datagram.address[1]}?facility=local0"
    write(target, batch_of, row).close()
    head, _, text = datagram.taken().partition(b" - ")
    assert head.startswith(b"<133>1 2")
    assert head.endswith(b" flows")
    assert json.loads(text)["flow_id"] == str(2**64 - 1)
    stream = Listener()
    write(f"syslog+tcp://127.0.0.1:{stream.address[1]}", batch_of, row, row).close()
    data, texts = stream.taken(), []
    while data:
        length, _, data = data.partition(b" ")
        texts.append(data[: int(length)])
        data = data[int(length) :]
    assert [json.loads(text.partition(b" - ")[2])["src"] for text in texts] == ["10.0.0.1"] * 2


def test_a_webhook_is_posted_to_again_with_the_same_key(batch_of, posted, monkeypatch):
    pytest.importorskip("httpx")
    port, taken, answers = posted
    answers.append(503)
    monkeypatch.setenv("TCPWHY_WEBHOOK_CREDENTIALS", "Bearer abc")
    write(f"webhook+http://127.0.0.1:{port}/in", batch_of, ("flows", {"flow_id": 3})).close()
    (path, first, body), (_, second, again) = taken
    assert (path, body) == ("/in", again)
    assert first["Idempotency-Key"] == second["Idempotency-Key"]
    assert first["Authorization"] == "Bearer abc"
    told = json.loads(body)
    assert (told["table"], told["rows"][0]["flow_id"]) == ("flows", "3")


def test_refused_credentials_are_one_line(batch_of, posted):
    pytest.importorskip("httpx")
    port, _, answers = posted
    answers.extend([401] * 100)
    sink = write(f"webhook+http://127.0.0.1:{port}/in", batch_of, ("flows", {"flow_id": 3}))
    with pytest.raises(OSError, match=r"refuses the credentials \(401\).*1 rows wait in"):
        sink.close()


def scrape(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return answer.read().decode()


def samples(text):
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}


def test_prometheus_has_counts_by_limitation_and_no_address(batch_of, tool):
    pytest.importorskip("prometheus_client")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    standing = Standing(42, {"kernel_drops": 5})
    said = []
    run = {"standing": lambda: standing, "say": said.append}
    rows = [
        interval(3, "receiver_window", 700, rtt_mean_ns=30_000_000, throughput_bps=8e6),
        interval(6, "receiver_window", 300, rtt_mean_ns=300_000_000),
        interval(6, None, 50, src="10.9.9.9"),
        interval(6, "a word that nobody knows", 1),
    ]
    sink = write(f"prometheus://127.0.0.1:{port}", batch_of, ("intervals", *rows), **run)
    text = scrape(port)
    found = samples(text)
    assert found['tcpwhy_bytes_total{limitation="receiver_window"}'] == 1000
    assert found['tcpwhy_bytes_total{limitation="unknown"}'] == 51
    assert found['tcpwhy_seconds_total{limitation="receiver_window"}'] == 6
    assert found['tcpwhy_bytes_total{limitation="policer"}'] == 0
    assert found['tcpwhy_rtt_seconds_bucket{le="0.05"}'] == 1
    assert found["tcpwhy_rtt_seconds_count"] == 2
    assert found["tcpwhy_tracked_flows"] == 42
    assert found["tcpwhy_run_kernel_drops_total"] == 5
    assert "10." not in "".join(found), "no address is a label"
    checked = subprocess.run(
        [tool("promtool"), "check", "metrics"], input=text, text=True, capture_output=True
    )
    assert (checked.returncode, checked.stderr) == (0, "")
    sink.close()
    with pytest.raises(OSError, match="refused"):
        scrape(port)
    assert said == [f"metrics: http://127.0.0.1:{port}/metrics"]


def test_prometheus_writes_a_file_and_names_a_port_that_is_taken(batch_of, tmp_path):
    pytest.importorskip("prometheus_client")
    write(str(tmp_path / "f.prom"), batch_of, ("intervals", interval(3, "policer", 9))).close()
    found = samples((tmp_path / "f.prom").read_text())
    assert found['tcpwhy_bytes_total{limitation="policer"}'] == 9
    with socket.create_server(("127.0.0.1", 0)) as taken:
        target = f"prometheus://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(OSError, match="in use") as raised:
            open_sink(target, format=None, tables=None)
    assert raised.value.filename == target


RULES = """
notify = [{notify}]
[[rule]]
name = "small receive buffers"
limitation = "receiver_window"
above = 0.2
network = "10.1.0.0/16"
for = "5m"
"""


def alerts(tmp_path, batch_of, rows, notify=""):
    path = tmp_path / "rules.toml"
    path.write_text(RULES.format(notify=notify))
    said = []
    sink = write(f"alerts:{path}", batch_of, *(("intervals", row) for row in rows), say=said.append)
    sink.close()
    return [line for line in said if line.startswith("alert")]


def traffic(minutes, share, first=0, src="10.1.2.3"):
    """Give a share of bytes that a window limits, for a time."""
    for at in range(first * 60 + 3, (first + minutes) * 60, 15):
        yield interval(at, "receiver_window", int(1000 * share), src=src)
        yield interval(at, "application", 1000 - int(1000 * share), src=src)


def test_an_alert_needs_its_share_for_its_time(batch_of, tmp_path):
    held = "bytes limited by receiver_window on 10.1.0.0/16, bound 20%"
    assert alerts(tmp_path, batch_of, traffic(4, 0.5)) == []
    assert alerts(tmp_path, batch_of, traffic(9, 0.2)) == []
    assert alerts(tmp_path, batch_of, traffic(9, 0.9, src="10.2.0.1")) == []
    assert alerts(tmp_path, batch_of, traffic(6, 0.25)) == [
        f"alert: small receive buffers: firing: 25% of {held}"
    ]
    interrupted = [*traffic(3, 0.5), *traffic(1, 0.1, 3), *traffic(4, 0.5, 4)]
    assert alerts(tmp_path, batch_of, interrupted) == []
    ended = [*traffic(7, 0.5), *traffic(1, 0.1, 7)]
    assert [line.split()[4] for line in alerts(tmp_path, batch_of, ended)] == [
        "firing:",
        "resolved:",
    ]
    assert alerts(tmp_path, batch_of, reversed(ended)) == alerts(tmp_path, batch_of, ended)


def test_an_alert_is_told_to_syslog_and_a_webhook(batch_of, tmp_path, posted):
    pytest.importorskip("httpx")
    port, taken, _ = posted
    datagram = Listener(kind=socket.SOCK_DGRAM)
    log = f"syslog://127.0.0.1:{datagram.address[1]}"
    notify = f'"webhook+http://127.0.0.1:{port}/alert", "{log}"'
    alerts(tmp_path, batch_of, traffic(6, 0.5), notify)
    (row,) = json.loads(taken[0][2])["rows"]
    assert (row["state"], row["share"], row["network"]) == ("firing", 0.5, "10.1.0.0/16")
    assert datagram.taken().startswith(b"<28>1 ")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (('"receiver_window"', '"slow"'), "limitation: one of application"),
        (("above = 0.2", "above = 20"), "above: a share"),
        (("10.1.0.0/16", "10.1.0.0/40"), "does not appear to be"),
        (('for = "5m"', 'for = "long"'), "is not a duration"),
        (('for = "5m"', ""), "the key 'for' is missing"),
        (("above", "over"), "no key 'over'"),
        (("notify = []", 'notify = ["mail:me"]'), "schemes for that are syslog"),
    ],
)
def test_wrong_rules_are_told(tmp_path, change, told):
    path = tmp_path / "rules.toml"
    path.write_text(RULES.format(notify="").replace(*change))
    with pytest.raises(UsageError, match=told) as raised:
        open_sink(f"alerts:{path}", format=None, tables=None)
    assert "mail" in told or "schemes" in told or str(path) in str(raised.value)


def test_conn_log_has_the_columns_of_zeek_and_ours(batch_of, tmp_path):
    place = {"src": "10.0.0.1", "src_port": 40_000, "dst": "2001:db8::1", "dst_port": 443}
    back = dict(zip(place, [*list(place.values())[2:], *list(place.values())[:2]], strict=True))
    common = {"flow_id": 62, "start_ns": START + 1_500_000, "end_ns": START + S, "conn_state": "SF"}
    orig = common | place | {"direction": "orig", "packets": 9, "limitation": "policer"}
    resp = common | back | {"direction": "resp", "payload_bytes": 77}
    alone = common | back | {"direction": "resp", "flow_id": 5}
    target = str(tmp_path / "conn.log")
    write(target, batch_of, ("flows", orig), ("flows", resp, alone)).close()
    lines = (tmp_path / "conn.log").read_text().splitlines()
    names, kinds = (line.split("\t")[1:] for line in lines[6:8])
    assert len(names) == len(kinds)
    rows = [dict(zip(names, line.split("\t"), strict=True)) for line in lines[8:-1]]
    both, one = rows
    assert both["ts"] == "1790000000.001500"
    assert (both["uid"], both["id.orig_h"], both["id.resp_p"]) == ("C10", "10.0.0.1", "443")
    assert (both["orig_pkts"], both["resp_bytes"]) == ("9", "77")
    assert (both["orig_limitation"], both["resp_limitation"]) == ("policer", "-")
    assert (one["id.orig_h"], one["orig_bytes"]) == ("10.0.0.1", "0")
    assert lines[-1].startswith("#close\t")


def test_an_output_that_fails_costs_the_others_nothing(tcpwhy, tmp_path):
    """The device that is always full fails with its first row."""
    capture = Path(__file__).parent / "data" / "bulk_tbf_middle.pcap"
    good, alone = tmp_path / "good.jsonl", tmp_path / "alone.jsonl"
    assert tcpwhy("analyze", capture, "-o", alone).returncode == 0
    done = tcpwhy("analyze", capture, "-o", "jsonl:/dev/full", "-o", good)
    assert (done.returncode, done.stderr) == (1, "tcpwhy: /dev/full: No space left on device\n")
    assert good.read_text() == alone.read_text()


@pytest.mark.parametrize(
    ("answer", "code", "told"),
    [
        (401, 2, "the server refuses the credentials (401): check the file or variable"),
        (503, 1, "the server answers 503; nothing is sent"),
    ],
)
def test_a_server_that_refuses_is_told_before_anything_is_computed(
    tcpwhy, tmp_path, posted, answer, code, told
):
    pytest.importorskip("httpx")
    port, _, answers = posted
    answers.extend([answer] * 10)
    capture = Path(__file__).parent / "data" / "bulk_tbf_middle.pcap"
    done = tcpwhy("analyze", capture, "-o", f"opensearch+http://127.0.0.1:{port}/x")
    assert (done.returncode, done.stderr.count("\n")) == (code, 1), done.stderr
    assert told in done.stderr
