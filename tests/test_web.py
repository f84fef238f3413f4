"""The dashboard's server: what it answers is in the store, and nobody gets more than that."""

import csv
import io
import json
import threading
import time

import duckdb
import pytest

pytest.importorskip("starlette", reason="the dashboard needs the extra web")
pytest.importorskip("httpx2", reason="the client of these tests needs httpx2")

from starlette.testclient import TestClient

from tcpwhy import UsageError
from tcpwhy.report.pictures import NARROW
from tcpwhy.sinks.store import Sink
from tcpwhy.store import Store
from tcpwhy.web import reader as reading
from tcpwhy.web import slices
from tcpwhy.web.app import make
from tcpwhy.web.guard import POLICY, is_loopback
from tcpwhy.web.overview import SHORT_NS, Range, counts
from tcpwhy.web.reader import Reader
from tcpwhy.web.rollup import Rollup

SECOND = 10**9
BEGIN = 1_800_000_000 * SECOND
HOSTS = ("localhost", "127.0.0.1", "testserver")


def write(path, flows=(), intervals=(), batch_of=None):
    sink = Sink(str(path), ("flows", "intervals", "periods"))
    if flows:
        sink.write("flows", batch_of("flows", *flows))
    if intervals:
        sink.write("intervals", batch_of("intervals", *intervals))
    sink.close()


def row(n, **more):
    at = BEGIN + n * 60 * SECOND
    ends = {"start_ns": at, "end_ns": at + 10 * SECOND, "data_packets": 9, "unique_bytes": 1000 + n}
    known = {"flow_id": 2**63 + n, "direction": "orig", "src": f"10.0.0.{n}", "dst": "192.0.2.1"}
    return known | ends | {"src_port": 40000 + n, "dst_port": 443} | more


def stored(path, batch_of):
    words = ["policer", "application", None, "random_loss"]
    rows = [row(n, limitation=words[n % 4]) for n in range(120)]
    flows = [
        one | {"throughput_bps": 1e6 + n, "goodput_bps": 1e6, "payload_bytes": 1000}
        for n, one in enumerate(rows)
    ]
    write(path, flows, rows, batch_of)
    return path


@pytest.fixture
def changing(tmp_path, batch_of):
    """Make a store that the test may write to."""
    return stored(tmp_path / "s", batch_of)


@pytest.fixture(scope="module")
def store(tmp_path_factory, batch_of):
    """Make a store for reading."""
    return stored(tmp_path_factory.mktemp("web") / "s", batch_of)


@pytest.fixture(scope="module")
def client(store):
    with TestClient(make(store, hosts=HOSTS)) as made:
        until = time.monotonic() + 20
        while made.get("/api/meta").json()["store"]["done"] < 1:
            assert time.monotonic() < until, "the store is not read"
            time.sleep(0.05)
        yield made


def test_sums_over_minutes_are_those_over_rows(store):
    reader = Reader(store)
    rollup = Rollup(reader)
    assert rollup.refresh()
    assert not rollup.refresh()
    whole = "SELECT limitation, sum(size_bytes)::BIGINT FROM sums GROUP BY 1 ORDER BY 1"
    rows = "SELECT limitation, sum(unique_bytes)::BIGINT AS n FROM intervals GROUP BY 1 ORDER BY 1"
    assert rollup.ask(whole) == [tuple(one.values()) for one in reader.ask(rows)]
    assert rollup.span_ns() == (BEGIN, BEGIN + 119 * 60 * SECOND + 10 * SECOND)


def test_sums_follow_a_store_that_grows_and_shrinks(changing, batch_of):
    rollup = Rollup(Reader(changing))
    rollup.refresh()
    count = "SELECT sum(intervals)::BIGINT FROM sums"
    write(changing, (), [row(500, limitation="policer")], batch_of)
    assert rollup.refresh()
    assert rollup.ask(count) == [(121,)]
    parts = sorted(changing.glob("intervals/*/*.parquet"), key=lambda part: part.stat().st_mtime_ns)
    parts[-1].unlink()
    assert rollup.refresh()
    assert rollup.ask(count) == [(120,)]


def test_the_overview_adds_up_whether_it_reads_sums_or_rows(client):
    whole = client.get("/api/overview").json()
    assert whole["to_ms"] - whole["from_ms"] > SHORT_NS // 10**6
    size = sum(1000 + n for n in range(120))
    assert sum(share["bytes"] for share in whole["shares"]) == size
    assert sum(column[3] for column in whole["columns"]) == size
    assert whole["counts"]["flows"] == 120
    assert whole["counts"]["judged_bytes"] == size - sum(1000 + n for n in range(2, 120, 4))
    ends = {"from": BEGIN // 10**6, "to": BEGIN // 10**6 + 600_000}
    short = client.get("/api/overview", params=ends).json()
    assert sum(share["intervals"] for share in short["shares"]) == 10
    assert {share["limitation"] for share in short["shares"]} == {
        "policer",
        "application",
        "none",
        "random_loss",
    }


def test_flows_are_counted_once_wherever_their_rows_lie(tmp_path, batch_of):
    sink = Sink(str(tmp_path / "s"), ("flows",))

    def part(*halves):
        rows = (row(n, direction=direction, limitation="policer") for n, direction in halves)
        sink.write("flows", batch_of("flows", *rows))
        sink.flush()

    part((1, "orig"), (1, "resp"), (2, "orig"), (3, "orig"))
    part((3, "resp"), (4, "orig"), (4, "resp"), (5, "resp"), (6, "resp"))
    part((5, "orig"), (7, "orig"))
    sink.close()
    reader = Reader(tmp_path / "s")
    for begin, end, flows in ((0, 9, 7), (2, 5, 3), (8, 9, 0)):
        span = Range(BEGIN + begin * 60 * SECOND, BEGIN + end * 60 * SECOND)
        assert counts(reader, span)["flows"] == flows


@pytest.mark.parametrize(
    ("filters", "total"),
    [
        ({}, 120),
        ({"limitation": "policer"}, 30),
        ({"limitation": "policer,none"}, 60),
        ({"q": "10.0.0.7:40007"}, 1),
        ({"q": "192.0.2.1"}, 120),
        ({"q": ":40011"}, 1),
        ({"q": str(2**63 + 5)}, 1),
        ({"q": "random_loss 10.0.0.3"}, 2 + 9),
        ({"port": "443", "least": "1100"}, 20),
        ({"q": "' OR true --"}, 0),
        ({"last": "600"}, 10),
    ],
)
def test_flows_are_found(client, filters, total):
    found = client.get("/api/flows", params=filters).json()
    if filters.get("q", "").startswith("random_loss"):
        names = [f"10.0.0.{n}" for n in range(3, 120, 4)]
        total = sum("10.0.0.3" in name for name in names)
    assert found["total"] == total
    assert len(found["rows"]) == min(total, found["page_rows"])


def test_flows_are_sorted_and_cut_into_pages(client):
    first = client.get("/api/flows", params={"sort": "bytes"}).json()
    third = client.get("/api/flows", params={"sort": "bytes", "page": "3"}).json()
    assert [one["unique_bytes"] for one in first["rows"]] == list(range(1119, 1069, -1))
    assert [one["unique_bytes"] for one in third["rows"]] == list(range(1019, 999, -1))
    rising = client.get("/api/flows", params={"sort": "bytes", "order": "asc"}).json()
    assert rising["rows"][0]["unique_bytes"] == 1000
    # 64 bits do not survive a browser's numbers.
    assert rising["rows"][0]["flow_id"] == str(2**63)


@pytest.mark.parametrize(
    "address",
    [
        "/api/flows?sort=no",
        "/api/flows?page=0",
        "/api/flows?page=101",
        "/api/flows?port=x",
        "/api/flows?limitation=no",
        "/api/overview?from=9&to=3",
        "/api/overview?from=x",
        "/api/flow/1",
        "/api/flow/12345678901234567890123",
        "/api/sql",
        "/export/flows.docx",
        "/export/secrets.csv",
    ],
)
def test_questions_without_sense_are_refused_in_a_sentence(client, address):
    answer = client.get(address)
    assert answer.status_code == 400
    assert "Traceback" not in answer.text
    assert len(answer.json()["error"]) > 10


def test_a_flow_has_its_argument_and_its_intervals(tmp_path, tcpwhy):
    done = tcpwhy("analyze", "tests/data/slow_reader.pcap", "-o", f"{tmp_path / 's'}/")
    assert done.returncode == 0
    with TestClient(make(tmp_path / "s", hosts=HOSTS)) as made:
        listed = made.get("/api/flows").json()["rows"]
        found = made.get(f"/api/flow/{listed[0]['flow_id']}").json()
        assert "Limited by" in found["html"]
        assert "<script" not in found["html"]
        assert {"receiver_window"} <= {one["limitation"] for one in found["intervals"]}
        text = made.get(f"/export/intervals.csv?flow={found['flow_id']}").text
        assert len(list(csv.DictReader(io.StringIO(text)))) == len(found["intervals"])


def test_a_flow_whose_segments_were_kept_has_its_graph(tmp_path, tcpwhy):
    path, capture = tmp_path / "s", "tests/data/slow_reader.pcap"
    assert tcpwhy("analyze", capture, "-o", f"{path}/").returncode == 0
    wanted = "SELECT flow_id FROM flows ORDER BY unique_bytes DESC LIMIT 1"
    ((flow_id,),) = Store(path).query(wanted).fetchall()
    with TestClient(make(path, hosts=HOSTS)) as made:
        assert made.get(f"/api/flow/{flow_id}").json()["has_graph"] is False
        assert made.get(f"/flow/{flow_id}/graph").status_code == 400
    more = ("--table", "segments", "--flow", flow_id, "-o", f"{path}/")
    assert tcpwhy("analyze", capture, *more).returncode == 0
    with TestClient(make(path, hosts=HOSTS)) as made:
        assert made.get(f"/api/flow/{flow_id}").json()["has_graph"] is True
        picture = made.get(f"/flow/{flow_id}/graph.svg")
        assert picture.headers["content-type"] == "image/svg+xml"
        assert "<svg" in picture.text
        dark = made.get(f"/flow/{flow_id}/graph.svg?theme=dark").text
        assert "prefers-color-scheme" in picture.text
        assert "prefers-color-scheme" not in dark
        assert made.get(f"/flow/{flow_id}/graph.svg?theme=</style>").status_code == 400
        narrow = made.get(f"/flow/{flow_id}/graph.svg?size=narrow").text
        assert f'viewBox="0 0 {NARROW[0]} ' in narrow
        assert made.get(f"/flow/{flow_id}/graph.svg?size=9").status_code == 400
        page = made.get(f"/flow/{flow_id}/graph")
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert "script-src 'sha256-" in page.text.replace("&#x27;", "'")


def test_medians_are_those_of_the_rows(client):
    rates = sorted(1e6 + n for n in range(120))
    found = client.get("/api/overview").json()["counts"]
    assert found["median_throughput_bps"] == pytest.approx(rates[60], rel=0.006)
    assert found["median_rtt_ns"] is None


def test_only_a_watched_link_is_watched(client, store):
    listed = client.get("/api/flows").json()["rows"][0]["flow_id"]
    assert client.get(f"/flow/{listed}/graph/live").status_code == 400
    assert client.get("/api/overview").json()["now"] == []
    with TestClient(make(store, hosts=HOSTS, live="nolink")) as made:
        for seconds in ("0", "61", "-1", "x", "1e9"):
            address = f"/flow/{listed}/graph/live?seconds={seconds}"
            assert made.get(address).status_code == 400, seconds
        assert made.get("/flow/1/graph/live?seconds=1").status_code == 400
        foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
        address = f"/flow/{listed}/graph/live?seconds=1"
        assert made.get(address, headers=foreign).status_code == 403


def test_who_sends_now_is_listed_of_a_watched_link(store):
    with TestClient(make(store, hosts=HOSTS, live="nolink")) as made:
        until = time.monotonic() + 20
        while made.get("/api/meta").json()["store"]["done"] < 1:
            assert time.monotonic() < until, "the store is not read"
            time.sleep(0.05)
        found = made.get("/api/overview").json()["now"]
        assert [(one["src"], one["bytes"]) for one in found] == [("10.0.0.119", 1119)]
        assert found[0]["goodput_bps"] == pytest.approx(1119 * 8 / 10)


def test_ranges_are_compared(client):
    middle = BEGIN // 10**6 + 30 * 60_000
    ends = {"from_a": BEGIN // 10**6, "to_a": middle, "from_b": middle, "to_b": middle + 3_600_000}
    found = client.get("/api/compare", params=ends).json()
    assert [side["counts"]["flows"] for side in found["sides"]] == [30, 60]
    points = found["sides"][0]["distributions"]["throughput_bps"]
    assert points[-1][1] == 1.0


def test_files_have_all_rows_of_the_choice(client, tmp_path):
    answer = client.get("/export/flows.csv?limitation=policer")
    assert answer.headers["content-disposition"] == 'attachment; filename="flows.csv"'
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert len(rows) == 30
    assert {one["limitation"] for one in rows} == {"policer"}
    path = tmp_path / "answer.parquet"
    question = "SELECT count(*) AS n FROM flows"
    path.write_bytes(client.get("/export/sql.parquet", params={"q": question}).content)
    assert duckdb.sql(f"SELECT n FROM '{path}'").fetchall() == [(120,)]


def test_questions_of_ones_own(client):
    found = client.get("/api/sql", params={"q": "SELECT src, flow_id FROM flows ORDER BY 2"}).json()
    assert (found["names"], found["rows"][0]) == (["src", "flow_id"], ["10.0.0.0", str(2**63)])
    many = client.get("/api/sql", params={"q": "SELECT 1 FROM range(5000)"}).json()
    assert (len(many["rows"]), many["is_cut"]) == (1000, True)
    assert client.get("/api/sql", params={"q": "shares"}).json()["names"][0] == "limitation"
    odd = client.get(
        "/api/sql", params={"q": "SELECT 'nan'::DOUBLE, [1], DATE '2026-01-02'"}
    ).json()
    assert odd["rows"] == [["nan", "[1]", "2026-01-02"]]


@pytest.mark.parametrize("at_once", [1, 7, 50, 10**6])
@pytest.mark.parametrize("is_read", [True, False])
def test_a_question_over_time_is_the_same_by_spans(
    changing, batch_of, monkeypatch, at_once, is_read
):
    """Also with minutes that the sums leave out, and halves with many intervals in a minute."""
    silent = {"data_packets": 0, "unique_bytes": 0, "limitation": None}
    again = [row(n // 3, limitation="policer", start_ns=BEGIN + n * SECOND) for n in range(300)]
    write(changing, (), [row(n, **silent) for n in (-1, 200, 300)] + again, batch_of)
    monkeypatch.setattr(slices, "ROWS_AT_ONCE", at_once)
    reader = Reader(changing)
    rollup = Rollup(reader)
    if is_read:
        rollup.refresh()
    expected = sorted(Store(changing).query("limitation_over_time").fetchall())
    with slices.sliced(reader, rollup, "limitation_over_time", most=10**6) as answer:
        assert sorted(answer.fetchall()) == expected
    with slices.sliced(reader, rollup, "limitation_over_time", most=20) as answer:
        first = answer.fetchall()
    assert len(first) == 20
    assert {one[0] for one in first} <= {one[0] for one in expected[:30]}


def test_a_question_over_time_is_answered_on_the_page_and_as_a_file(client, store, tmp_path):
    asked = {"q": "limitation_over_time"}
    found = client.get("/api/sql", params=asked).json()
    expected = Store(store).query("limitation_over_time")
    assert (found["names"], len(found["rows"])) == (expected.columns, 120)
    path = tmp_path / "answer.parquet"
    path.write_bytes(client.get("/export/sql.parquet", params=asked).content)
    assert duckdb.sql(f"SELECT sum(bytes)::BIGINT FROM '{path}'").fetchall() == [
        (sum(1000 + n for n in range(120)),)
    ]
    assert client.get("/export/sql.odt", params=asked).status_code == 400


@pytest.mark.parametrize(
    "question",
    [
        "DROP VIEW flows",
        "CREATE TABLE x AS FROM flows",
        "COPY flows TO 'x.csv'",
        "SELECT 1; DROP VIEW flows",
        "ATTACH 'x.db'",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "PRAGMA database_list",
        "EXPLAIN ANALYZE COPY flows TO 'x.csv'",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "SELECT * FROM read_blob('/proc/self/environ')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM read_parquet('http://192.0.2.1/x.parquet')",
        "SELECT getenv('HOME')",
        "SELECT * FROM query('COPY flows TO ''x.csv''')",
        "WITH x AS (DELETE FROM flows RETURNING *) FROM x",
        "SELEKT",
    ],
)
def test_sql_cannot_write_and_reads_no_file_but_the_store(client, store, question):
    before = sorted(path.name for path in store.rglob("*"))
    for address in ("/api/sql", "/export/sql.csv"):
        answer = client.get(address, params={"q": question})
        assert answer.status_code == 400, answer.text
    assert sorted(path.name for path in store.rglob("*")) == before


def test_a_question_that_takes_too_long_is_ended(store):
    reader = Reader(store)
    began = time.monotonic()
    with pytest.raises(reading.TooLongError, match=r"ended after 0\.3 s"):
        reader.free("SELECT count(*) FROM range(1000000000) a, range(1000) b", most=1, limit_s=0.3)
    assert time.monotonic() - began < 10
    assert reader.free("SELECT 1", most=1).rows == [(1,)]


def test_closing_ends_what_is_asked(store):
    reader = Reader(store)
    ended = []

    def ask():
        with pytest.raises(reading.ClosedError):
            reader.free("SELECT count(*) FROM range(1000000000) a, range(1000) b", most=1)
        ended.append(time.monotonic())

    asking = threading.Thread(target=ask)
    asking.start()
    until = time.monotonic() + 5
    while not reader._asking and time.monotonic() < until:
        time.sleep(0.001)
    began = time.monotonic()
    reader.close()
    asking.join()
    assert ended[0] - began < 5
    with pytest.raises(reading.ClosedError, match="is ending"):
        reader.free("SELECT 1", most=1)


def test_the_watch_has_ended_when_the_app_has(store):
    with TestClient(make(store, hosts=HOSTS)) as client:
        watch = client.app.state.dashboard.watch
        assert watch._thread.is_alive()
    assert not watch._thread.is_alive()


def test_a_question_that_needs_too_much_memory_is_refused(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"more than the 256MB .* tcpwhy query"):
        Reader(store).free("SELECT list(i) FROM range(300000000) t(i)", most=1, limit_s=60)
    assert list(tmp_path.iterdir()) == [], "nothing is put on disk"


def test_every_answer_has_a_strict_policy(client):
    for address in ("/", "/flows", "/api/meta", "/static/app.js", "/limits.css", "/nowhere"):
        headers = client.get(address).headers
        assert headers["content-security-policy"] == POLICY
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers
    assert "unsafe" not in POLICY


@pytest.mark.parametrize(
    "address",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/export/..%2f..%2fetc%2fpasswd.csv",
    ],
)
def test_paths_do_not_leave_their_folder(client, address):
    answer = client.get(address)
    assert answer.status_code in (400, 404)
    assert "import" not in answer.text
    assert "root:" not in answer.text


def test_names_and_pages_of_others_are_refused(client):
    assert client.get("/", headers={"host": "evil.example"}).status_code == 421
    assert client.get("/", headers={"host": "127.0.0.1:8080"}).status_code == 200
    foreign = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client.get("/api/sql?q=SELECT+1", headers=foreign).status_code == 403
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/flows", headers=link).status_code == 200
    assert client.get("/export/flows.csv", headers=link).status_code == 403
    assert client.post("/api/sql").status_code == 405


def test_without_the_token_nothing_is_told(store):
    token = "a token of some length"
    with TestClient(make(store, token=token), follow_redirects=False) as made:
        for address in ("/api/meta", "/api/sql?q=SELECT+1", "/export/flows.csv", "/api/events"):
            assert made.get(address).status_code == 401
            wrong = {"Authorization": "Bearer wrong"}
            assert made.get(address, headers=wrong).status_code == 401
        assert "flows" not in made.get("/").text
        assert made.get("/static/base.css").status_code == 200
        held = {"Authorization": f"Bearer {token}"}
        assert made.get("/api/meta", headers=held).status_code == 200
        assert made.post("/login", data={"token": "wrong"}).status_code == 401
        welcome = made.post("/login", data={"token": token})
        assert (welcome.status_code, welcome.headers["location"]) == (303, "/")
        cookie = welcome.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert made.get("/api/meta").status_code == 200


def test_what_is_loopback():
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "192.0.2.1", "localhost.example", "")))


def test_json_has_no_number_that_a_browser_cannot_read(client):
    text = client.get("/api/overview").text
    json.loads(text, parse_constant=lambda name: pytest.fail(name))
