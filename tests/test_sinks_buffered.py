"""Services that go away and come back: rows wait in memory and on disk, and none is lost."""

import os
import threading
import time
from pathlib import Path

import pytest

from tcpwhy import UsageError
from tcpwhy.sinks import RowsLostError, Run, _buffered
from tcpwhy.sinks._buffered import Buffered, Refusal, UnavailableError
from tcpwhy.sinks._chunk import Chunk
from tcpwhy.sinks._spill import Spill
from tcpwhy.sinks._url import secret, state_folder, url_of

PATIENCE_S = 30


class Service:
    """A server that may be away, and may lose its answer."""

    def __init__(self):
        self.up, self.deaf = True, False
        self.taken, self.connects = [], 0
        self.refuse = None

    def connect(self):
        self.connects += 1
        if not self.up:
            raise UnavailableError("connection refused")

    def encode(self, table, batch):
        yield Chunk(table, tuple(map(str, batch)), tuple(b"%08d" % n for n in batch), len(batch))

    def held(self, *, final):
        return ()

    def send(self, chunk):
        if not self.up:
            raise UnavailableError("connection refused")
        self.taken += map(int, chunk.values)
        if self.deaf:
            raise UnavailableError("the answer did not come")
        return self.refuse

    def close(self):
        pass


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(_buffered, "LONGEST_PAUSE_S", 0.05)
    monkeypatch.setattr(_buffered, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(_buffered, "GRACE_S", 0.3)


@pytest.fixture
def sink(tmp_path):
    """Open a sink of a service; its messages are in `said`."""

    def make(service, *, live=True, memory=1000, spill_size=10_000):
        said = []
        options = f"memory={memory}&spill_size={spill_size}&spill={tmp_path / 'spill'}"
        url = url_of(f"x://host:1/y?{options}", port=1, options=())
        made = Buffered(service, url, ("flows",), Run(live=live, say=said.append))
        made.said = said
        return made

    return make


def until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_what_is_written_is_sent_in_order(sink):
    service = Service()
    made = sink(service)
    for first in range(0, 100, 10):
        made.write("flows", range(first, first + 10))
    made.close()
    assert service.taken == list(range(100))
    assert (made.rows_sent, made.said) == (100, [])


@pytest.mark.parametrize("live", [True, False])
def test_a_service_that_was_away_gets_every_row_in_order(sink, live, tmp_path):
    service = Service()
    made = sink(service, live=live, memory=3000, spill_size=100_000)
    service.up = False
    for first in range(0, 100, 10):
        made.write("flows", range(first, first + 10))
    until(lambda: made.retries > 2)
    assert list((tmp_path / "spill").glob("*/*.chunk")), "memory does not hold all of them"
    service.up = True
    made.close()
    assert service.taken == list(range(100))
    assert not (tmp_path / "spill").exists()
    assert made.said == [
        f"x://host:1/y: connection refused; rows wait in memory, then in {tmp_path / 'spill'}",
        "x://host:1/y: works again",
    ]


def test_an_answer_that_is_lost_gives_the_same_rows_twice(sink):
    service = Service()
    made = sink(service)
    service.deaf = True
    made.write("flows", range(3))
    until(lambda: made.retries > 1)
    service.deaf = False
    made.close()
    assert set(service.taken) == {0, 1, 2}
    assert len(service.taken) > 3


def test_a_live_run_starts_without_its_service_and_another_does_not(sink):
    service = Service()
    service.up = False
    with pytest.raises(OSError, match="connection refused; nothing is sent"):
        sink(service, live=False)
    made = sink(service, live=True)
    made.write("flows", [1])
    service.up = True
    made.close()
    assert service.taken == [1]


def test_what_is_not_sent_waits_for_the_next_run(sink, tmp_path):
    service = Service()
    made = sink(service)
    service.up = False
    made.write("flows", range(5))
    told = rf"connection refused; 5 rows wait in {tmp_path / 'spill'}: the next run sends them"
    with pytest.raises(RowsLostError, match=told) as raised:
        made.close()
    assert raised.value.rows == 0
    service.up = True
    later = sink(service)
    later.write("flows", [5])
    later.close()
    assert sorted(service.taken) == list(range(6))
    assert later.said == ["x://host:1/y: sends 5 rows of an earlier run first"]
    assert not (tmp_path / "spill").exists()


def test_rows_of_a_run_that_still_goes_on_are_left_alone(sink):
    service, other = Service(), Service()
    made = sink(service, memory=1)
    service.up = False
    made.write("flows", range(5))
    second = sink(other)
    second.close()
    assert other.taken == []
    service.up = True
    made.close()
    assert service.taken == list(range(5))


def test_bounds_of_memory_and_disk_are_kept_and_counted(sink, tmp_path):
    service = Service()
    made = sink(service, memory=3500, spill_size=4000)
    service.up = False
    lost, told = 0, set()
    for first in range(0, 200, 10):
        try:
            made.write("flows", range(first, first + 10))
        except RowsLostError as error:
            told.add(error.strerror)
            lost += error.rows
        assert made._memory_bytes <= 3500
        assert made._spill.bytes <= 4000
    assert 0 < lost < 200
    assert all("are full" in what for what in told)
    service.up = True
    made.close()
    assert len(service.taken) == 200 - lost
    assert made.rows_sent == 200 - lost


def test_nobody_waits_for_a_service_in_a_live_run(sink):
    class Stuck(Service):
        def __init__(self):
            super().__init__()
            self.free = threading.Event()

        def send(self, chunk):
            self.free.wait()
            return super().send(chunk)

    service = Stuck()
    made = sink(service, memory=2000, spill_size=2000)
    refused = 0
    for number in range(100):
        try:
            made.write("flows", [number])
        except RowsLostError:
            refused += 1
    assert refused
    service.free.set()
    made.close()
    assert len(service.taken) == 100 - refused


def test_a_run_over_captures_waits_for_room(sink, monkeypatch):
    service = Service()
    made = sink(service, live=False, memory=2500, spill_size=1500)
    service.up = False
    threading.Timer(0.3, lambda: setattr(service, "up", True)).start()
    for first in range(0, 200, 10):
        made.write("flows", range(first, first + 10))
    made.close()
    assert service.taken == list(range(200))


def test_a_full_disk_costs_what_does_not_fit_in_memory(sink, monkeypatch):
    service = Service()
    made = sink(service, memory=2500)
    service.up = False

    def full(self, chunk):
        raise OSError(28, os.strerror(28), "/spill")

    with monkeypatch.context() as patch:
        patch.setattr(Spill, "put", full)
        made.write("flows", range(10))
        made.write("flows", range(10, 20))
        with pytest.raises(RowsLostError, match="No space left") as raised:
            made.write("flows", range(20, 30))
    assert raised.value.rows == 10
    service.up = True
    made.close()
    assert service.taken == list(range(20))


def test_refused_rows_are_told_and_counted(sink):
    service = Service()
    service.refuse = Refusal(2, "no such field")
    made = sink(service)
    made.write("flows", range(5))
    with pytest.raises(RowsLostError, match="2 rows were refused: no such field") as raised:
        made.close()
    assert raised.value.rows == 2
    assert (made.rows_sent, made.rows_refused) == (3, 2)


def test_a_damaged_chunk_is_set_aside(tmp_path):
    spill = Spill(tmp_path / "s", 10_000)
    for number in range(2):
        assert spill.put(Chunk("flows", ("k",), (b"%d" % number,), 1))
    first, _ = sorted((tmp_path / "s").glob("*/*.chunk"))
    first.write_bytes(first.read_bytes()[:-1] + b"x")
    assert spill.first().values == (b"1",)
    assert spill.damaged == 1
    spill.drop()
    spill.close()
    assert list((tmp_path / "s").glob("*/*.damaged"))


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("x://user:word@host/y", "no credentials in the URL"),
        ("x://host/y?colour=red", "no option 'colour': there are memory"),
        ("x:///y", "names no host"),
        ("x://host:99999/y", "port is no number"),
        ("x://host/y?memory=lots", "memory: "),
    ],
)
def test_wrong_urls_are_told(target, told):
    with pytest.raises(UsageError, match=told) as raised:
        url_of(target, port=1, options=()).size("memory", 1)
    assert "word" not in str(raised.value)


def test_credentials_are_of_a_file_or_the_environment(tmp_path, monkeypatch):
    path = tmp_path / "secret"
    path.write_text("me:word\n")
    given = url_of(f"x://host?credentials={path}", port=1, options=("credentials",))
    assert secret(given, "X") == "me:word"
    monkeypatch.setenv("TCPWHY_X_CREDENTIALS", "ApiKey abc")
    assert secret(url_of("x://host", port=1, options=()), "X") == "ApiKey abc"
    path.write_text("word")
    with pytest.raises(UsageError, match="neither USER:PASSWORD"):
        secret(given, "X")


def test_a_folder_that_cannot_be_read_is_told_when_it_is_needed(sink, tmp_path):
    (tmp_path / "spill").write_text("no folder")
    service = Service()
    made = sink(service)
    made.write("flows", range(3))
    until(lambda: made.rows_sent == 3)
    service.up = False
    made.write("flows", range(5))
    with pytest.raises(RowsLostError, match=r"spill.*: (Not a directory|File exists)") as raised:
        made.close()
    assert raised.value.rows == 5


def test_a_user_without_a_home_has_a_place(monkeypatch):
    def nowhere():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", nowhere)
    assert str(os.getuid()) in str(state_folder())
