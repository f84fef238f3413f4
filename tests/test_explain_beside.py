"""What other connections between the same hosts moved, in the argument for one."""

import os
import threading
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tcpwhy import simulate
from tcpwhy.explain import beside
from tcpwhy.explain.choice import Candidate
from tcpwhy.explain.connection import explain_connection
from tcpwhy.explain.doubts import doubts
from tcpwhy.explain.facts import Beside
from tcpwhy.explain.numbers import numbers
from tcpwhy.explain.reading import TABLES
from tcpwhy.report.contents import gather
from tcpwhy.report.source import open_source
from tcpwhy.simulation import find
from tcpwhy.web.flow import flow as page
from tcpwhy.web.reader import Reader

DATA = Path(__file__).parent / "data"
S = 10**9
BIGGEST = Candidate(7, "10.0.0.1", 80, "10.0.0.2", 4242, 3_000_000)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """Simulate two transfers between two hosts, and give the capture at the sender."""
    folder = tmp_path_factory.mktemp("two")
    simulate(find("shared_two_cubic"), captures=folder).to_arrow("truth")
    return folder / "shared_two_cubic.sender.pcap"


@pytest.fixture(scope="module")
def half():
    """Give a half that the network limits."""
    found = explain_connection(DATA / "loss_sender.pcap").sides[0].half
    return found._replace(
        flow_id=1, src="10.0.0.1", dst="10.0.0.2", tunnel=None, start_ns=10 * S, end_ns=20 * S
    )


def test_two_transfers_name_each_other(two):
    arguments = [explain_connection(two, flow=number) for number in (0, 1)]
    sides = [argued.sides[0] for argued in arguments]
    found = [argued.facts.beside["orig"] for argued in arguments]
    for mine, other, there in zip(sides, reversed(sides), found, strict=True):
        assert (there.connections, there.biggest.flow_id) == (1, other.half.flow_id)
        assert there.meanwhile_bytes == pytest.approx(other.half.unique_bytes, rel=0.02)
        assert mine.numbers["Beside"].startswith("Another connection moved about ")
    shares = [there.share(side.half) for side, there in zip(sides, found, strict=True)]
    assert sum(shares) == pytest.approx(1, abs=0.02)


def test_the_biggest_one_is_told_of_the_other_as_well(two):
    assert explain_connection(two).facts.beside["orig"].connections == 1


def test_a_store_a_report_and_a_page_say_the_same(two, tmp_path, tcpwhy):
    expected = explain_connection(two, flow=0)
    told = expected.sides[0].numbers["Beside"]
    flow_id = expected.sides[0].half.flow_id
    store = tmp_path / "store"
    tables = [word for table in TABLES for word in ("--table", table)]
    assert tcpwhy("analyze", two, *tables, "--output", store).returncode == 0
    assert explain_connection(store, flow=flow_id).facts.beside == expected.facts.beside
    with open_source(str(two)) as source:
        sides = [argued.sides[0] for argued in gather(source, graphs=0).flows]
    assert [side.numbers["Beside"] for side in sides if side.half.flow_id == flow_id] == [told]
    with closing(Reader(store)) as reader:
        assert told.partition(":")[0] in page(reader, flow_id)["html"]


def test_a_pipe_is_read_once(two, tmp_path, tcpwhy):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(two.read_bytes()), daemon=True)
    writer.start()
    run = tcpwhy("explain", pipe, "--flow", "10.0.0.2:40000", timeout=60)
    assert (run.returncode, run.stderr) == (0, "")
    assert "Beside" not in run.stdout


def test_a_connection_of_its_own_has_nobody_beside_it():
    argued = explain_connection(DATA / "loss_sender.pcap")
    assert argued.facts.beside == {}
    assert "Beside" not in argued.sides[0].numbers


ROWS = [
    # Others that way: half of its time is that of the flow, all of it, and none of it.
    (2, "10.0.0.1", "10.0.0.2", 15, 25, 1000),
    (3, "10.0.0.1", "10.0.0.2", 12, 13, 300),
    (4, "10.0.0.1", "10.0.0.2", 20, 30, 9000),
    # The other way, elsewhere, and without data.
    (5, "10.0.0.2", "10.0.0.1", 10, 20, 9000),
    (6, "10.0.0.1", "10.0.0.3", 10, 20, 9000),
    (7, "10.0.0.1", "10.0.0.2", 10, 20, 0),
    # The flow itself.
    (1, "10.0.0.1", "10.0.0.2", 10, 20, 2000),
]


def test_bytes_count_for_the_time_that_both_went_on(half):
    with duckdb.connect() as connection:
        connection.execute(
            "CREATE TABLE flows (flow_id UBIGINT, src VARCHAR, dst VARCHAR, start_ns BIGINT,"
            " end_ns BIGINT, unique_bytes UBIGINT, src_port USMALLINT, dst_port USMALLINT,"
            " tunnel VARCHAR)"
        )
        rows = [(i, src, dst, a * S, b * S, n, 1, 2, None) for i, src, dst, a, b, n in ROWS]
        connection.executemany("INSERT INTO flows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        found = beside.of_tables(connection, [half])[half.direction]
        assert (found.connections, found.meanwhile_bytes) == (2, 800)
        assert found.biggest == Candidate(2, "10.0.0.1", 1, "10.0.0.2", 2, 500)
        assert beside.of_tables(connection, [half._replace(limitation="application")]) == {}
        assert beside.of_tables(connection, [half._replace(tunnel="vlan 7")]) == {}


@pytest.mark.parametrize(
    ("connections", "moved", "said"),
    [
        (1, 1.0, "Another connection moved about 50 % of what went from 10.0.0.1 to 10.0.0.2"),
        (3, 3.0, "3 other connections moved about 75 % of what went from 10.0.0.1 to 10.0.0.2"),
        (2, 0.001, "2 other connections moved less than 1 % of what went from"),
    ],
)
def test_it_is_told_in_a_sentence(half, connections, moved, said):
    found = Beside(connections, moved * half.unique_bytes, BIGGEST)
    told = numbers(half, found)["Beside"]
    assert told.startswith(said)
    assert "7 (10.0.0.1:80 → 10.0.0.2:4242, 3.00 MB)" in told


def test_it_speaks_against_a_link_of_ones_own(half):
    own = half._replace(limitation="unshared_bottleneck", cause="unshared_bottleneck/queue")
    many, few = (Beside(1, part * half.unique_bytes, BIGGEST) for part in (1, 0.05))
    against = doubts(own, [], many)[0]
    assert against.startswith("Others between the same hosts moved about 50 % of the bytes")
    assert doubts(own, [], few) == doubts(own, [])
    assert doubts(half, [], many) == doubts(half, [])
