"""Two brokers of Kafka, one killed in mid-stream; what probes sent is read back and compared."""

import time
from pathlib import Path

import pytest
from servers import Kafka
from test_sink_servers import BATCH, ROWS, flow, until

from tcpwhy import analyze, taps
from tcpwhy._core import InputError
from tcpwhy.sinks import Run, open_sink, pour

pytestmark = pytest.mark.system

DATA = Path(__file__).parent.parent / "data"


@pytest.fixture(scope="module")
def brokers(tmp_path_factory):
    """Start a cluster of two: the first one leads it."""
    first = Kafka(tmp_path_factory.mktemp("first"), is_cluster=True)
    second = Kafka(tmp_path_factory.mktemp("second"), first=first)
    try:
        yield first.start(), second.start()
    finally:
        second.kill()
        first.kill()


@pytest.fixture(autouse=True)
def state(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def joined(brokers):
    """Wait until both are known to each of them; the last test may have killed one."""
    admin = pytest.importorskip("confluent_kafka.admin")
    for broker in brokers:
        client = admin.AdminClient({"bootstrap.servers": f"127.0.0.1:{broker.port}"})
        until(lambda client=client: len(client.list_topics(timeout=10).brokers) == 2)


def test_the_other_broker_takes_over_and_no_row_is_lost(brokers, batch_of):
    """The one that the URL names is killed, and does not come back while rows are sent."""
    first, second = brokers
    joined(brokers)
    target = f"kafka://127.0.0.1:{second.port}/pair?brokers=127.0.0.1:{first.port}"
    sink = open_sink(
        target, format=None, tables=["flows"], run=Run(live=True, say=lambda line: None)
    )
    try:
        for start in range(0, ROWS, BATCH):
            if start == ROWS // 3:
                until(lambda: sink.rows_sent > 0)
                second.kill()
            began = time.monotonic()
            sink.write("flows", batch_of("flows", *map(flow, range(start, start + BATCH))))
            assert time.monotonic() - began < 5, "writing never waits for a broker"
        until(lambda: sink.rows_sent == ROWS)
        sink.close()
        # The topics of the whole are read from the one that is left, each row once.
        read = taps.point(f"kafka://127.0.0.1:{first.port}/pair").flows()
        assert len(read) == ROWS
        assert {row["flow_id"] for row in read} == {flow(n)["flow_id"] for n in range(ROWS)}
    finally:
        second.start()


@pytest.mark.parametrize("format", ["json", "arrow"])
def test_two_probes_are_compared_by_what_they_sent(brokers, tcpwhy, format):
    """Sent twice, as after a lost answer; the clocks and the place of the loss are found."""
    first, _ = brokers
    joined(brokers)
    names = {}
    for name in ("bulk_tbf_middle", "bulk_tbf_receiver"):
        url = f"kafka://127.0.0.1:{first.port}/{format}-{name}"
        for _ in range(2):
            sink = open_sink(f"{url}?format={format}", format=None, tables=["flows", "segments"])
            capture = DATA / f"{name}.pcap"
            pour(analyze(capture, table=["flows", "segments"], flow=0).batches(), [sink])
            sink.close()
        names[name] = url
    exact = next(taps.pairs(*(DATA / f"{name}.pcap" for name in names)))
    (pair,) = taps.pairs(*names.values())
    assert (pair.by_segments, pair.clocks) == (True, exact.clocks)
    assert pair.directions == exact.directions
    done = tcpwhy("taps", *names.values(), "--merge", "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    assert "loss arises between the two points" in done.stderr
    assert len(done.stdout.splitlines()) == 2


def test_a_topic_that_is_not_there_and_one_of_others_are_told(brokers):
    first, _ = brokers
    confluent_kafka = pytest.importorskip("confluent_kafka")
    with pytest.raises(InputError, match="no rows of flows"):
        taps.point(f"kafka://127.0.0.1:{first.port}/nobody").flows()
    producer = confluent_kafka.Producer({"bootstrap.servers": f"127.0.0.1:{first.port}"})
    producer.produce("strange.flows", b"{not json")
    assert producer.flush(60) == 0
    with pytest.raises(InputError, match="a message of flows is not ours"):
        taps.point(f"kafka://127.0.0.1:{first.port}/strange")
