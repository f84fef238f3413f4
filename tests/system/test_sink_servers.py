"""Real servers, killed and started again in mid-stream: rows in are rows out, by their keys."""

import json
import time
import urllib.request
from collections import Counter
from pathlib import Path

import pyarrow
import pytest
from servers import Kafka, OpenSearch

from tcpwhy.sinks import Run, open_sink

pytestmark = pytest.mark.system

DATA = Path(__file__).parent.parent / "data"

ROWS, BATCH = 12_000, 500
PATIENCE_S = 120


@pytest.fixture(scope="module")
def opensearch(tmp_path_factory):
    server = OpenSearch(tmp_path_factory.mktemp("opensearch"))
    yield server.start()
    server.kill()


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    server = Kafka(tmp_path_factory.mktemp("kafka"))
    yield server.start()
    server.kill()


def ask(server, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{server.url}/{path}", data=data)
    request.add_header("Content-Type", "application/json")
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def flow(number):
    start = 1_790_000_000_000_000_000 + number
    place = {"src": f"10.0.{number % 250}.1", "src_port": 1 + number % 60_000, "dst": "2001:db8::1"}
    verdict = {"limitation": ("receiver_window", "application")[number % 2], "throughput_bps": 1e6}
    times = {"start_ns": start, "end_ns": start + 10**9}
    return {"flow_id": 2**64 - 1 - number, "direction": "orig", **times, **place, **verdict}


def stream_through_a_crash(server, target, batch_of, monkeypatch, tmp_path):
    """Write rows to a sink of a live run while its server is killed and started again."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    said = []
    run = Run(live=True, say=said.append)
    sink = open_sink(f"{target}memory=500000", format=None, tables=["flows"], run=run)
    for first in range(0, ROWS, BATCH):
        if first == ROWS // 3:
            until(lambda: sink.rows_sent > 0)
            server.kill()
        sink.write("flows", batch_of("flows", *map(flow, range(first, first + BATCH))))
        if first == 2 * ROWS // 3:
            until(lambda: sink.retries > 1)
            assert list(tmp_path.rglob("*.chunk")), "memory does not hold so many"
            server.start()
    until(lambda: sink.rows_sent == ROWS)
    sink.close()
    assert not list(tmp_path.rglob("*.chunk"))
    assert len(said) >= 2, said
    return said


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_opensearch_has_every_row_once(opensearch, batch_of, monkeypatch, tmp_path):
    target = f"opensearch+http://127.0.0.1:{opensearch.port}/crash?"
    stream_through_a_crash(opensearch, target, batch_of, monkeypatch, tmp_path)
    ask(opensearch, "crash-flows/_refresh", {})
    question = {
        "size": 0,
        "track_total_hits": True,
        "aggs": {
            "flows": {"cardinality": {"field": "tcpwhy.flow_id", "precision_threshold": 40_000}},
            "limits": {"terms": {"field": "tcpwhy.limitation"}},
            "networks": {"ip_range": {"field": "source.ip", "ranges": [{"mask": "10.0.0.0/8"}]}},
        },
    }
    found = ask(opensearch, "crash-flows/_search", question)
    assert found["hits"]["total"]["value"] == ROWS
    assert {b["doc_count"] for b in found["aggregations"]["limits"]["buckets"]} == {ROWS // 2}
    assert found["aggregations"]["networks"]["buckets"][0]["doc_count"] == ROWS


def test_opensearch_documents_have_the_names_of_the_schema(
    opensearch, tcpwhy, monkeypatch, tmp_path
):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    capture = DATA / "bulk_tbf_middle.pcap"
    target = f"opensearch+http://127.0.0.1:{opensearch.port}/names?keep=30d"
    for _ in range(2):
        done = tcpwhy("analyze", capture, "-o", target)
        assert done.returncode == 0, done.stderr
    ask(opensearch, "names-*/_refresh", {})
    (stream,) = ask(opensearch, "_data_stream/names-flows")["data_streams"]
    assert stream["template"] == "names-flows"
    hits = ask(opensearch, "names-flows/_search")["hits"]["hits"]
    assert len(hits) == 2, "the same rows again are the same documents"
    first = min((hit["_source"] for hit in hits), key=lambda row: row["tcpwhy"]["direction"])
    assert first["source"]["ip"] == first["tcpwhy"]["src"]
    assert first["event"]["end"] == first["@timestamp"]
    assert first["event"]["duration"] == first["tcpwhy"]["end_ns"] - first["tcpwhy"]["start_ns"]
    assert first["network"]["community_id"].startswith("1:")


def test_opensearch_names_what_it_refuses(opensearch, batch_of, monkeypatch, tmp_path):
    """A row that the mapping forbids is counted; the others are there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    target = f"opensearch+http://127.0.0.1:{opensearch.port}/refused"
    sink = open_sink(target, format=None, tables=["flows"])
    rows = [flow(1), flow(2) | {"src": "no address"}, flow(3)]
    sink.write("flows", batch_of("flows", *rows))
    with pytest.raises(OSError, match=r"1 rows were refused: mapper_parsing_exception"):
        sink.close()
    ask(opensearch, "refused-flows/_refresh", {})
    assert ask(opensearch, "refused-flows/_count")["count"] == 2


def consume(server, topic, rows, decode):
    """Read a topic until as many different rows were seen, and give all of them with their keys."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": f"127.0.0.1:{server.port}",
            "group.id": f"test-{topic}",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([topic])
    seen, places = Counter(), {}
    end = time.monotonic() + PATIENCE_S
    while len(seen) < rows and time.monotonic() < end:
        message = consumer.poll(1)
        if message is None or message.error():
            continue
        for row in decode(message):
            seen[row] += 1
            places.setdefault(row, set()).add(message.partition())
    consumer.close()
    return seen, places


def test_kafka_has_every_row_and_a_flow_in_one_partition(kafka, batch_of, monkeypatch, tmp_path):
    target = f"kafka://127.0.0.1:{kafka.port}/crash?"
    stream_through_a_crash(kafka, target, batch_of, monkeypatch, tmp_path)

    def decode(message):
        row = json.loads(message.value())
        assert dict(message.headers())["id"].decode().split("-")[1] == row["flow_id"]
        return [row["flow_id"]]

    seen, places = consume(kafka, "crash.flows", ROWS, decode)
    assert set(seen) == {str(flow(number)["flow_id"]) for number in range(ROWS)}
    assert {len(found) for found in places.values()} == {1}
    assert len({place for found in places.values() for place in found}) == 2, "both are used"


def test_kafka_takes_rows_as_arrow(kafka, batch_of, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    target = f"kafka://127.0.0.1:{kafka.port}/arrow?format=arrow"
    sink = open_sink(target, format=None, tables=["flows"])
    sink.write("flows", batch_of("flows", *map(flow, range(1000))))
    sink.write("flows", batch_of("flows", *map(flow, range(1000))))
    sink.close()

    def decode(message):
        return pyarrow.ipc.open_stream(message.value()).read_all()["flow_id"].to_pylist()

    seen, places = consume(kafka, "arrow.flows", 1000, decode)
    assert set(seen) == {flow(number)["flow_id"] for number in range(1000)}
    assert {len(found) for found in places.values()} == {1}
