"""The store: readable while it is written, a flow in it once, never written by a query."""

import json
import multiprocessing
import re
from pathlib import Path

import duckdb
import pytest

from tcpwhy import InputError, Store, UsageError
from tcpwhy.sinks import store as store_module
from tcpwhy.sinks.store import Sink
from tcpwhy.store import questions, ulid
from tcpwhy.store.files import write_answer

DAY = 86400 * 10**9
SPAN = {"start_ns": 20_000 * DAY, "end_ns": 20_000 * DAY + 10**9, "data_packets": 10}


def write(path, *batches, table="flows"):
    sink = Sink(str(path), (table,))
    for batch in batches:
        sink.write(table, batch)
    sink.close()


def ask(path, question):
    return Store(path).query(question).fetchall()


def test_layout(batch_of, tmp_path):
    yesterday = SPAN | {"start_ns": SPAN["start_ns"] - 1}
    flows = batch_of("flows", SPAN | {"flow_id": 1}, yesterday | {"flow_id": 2})
    write(tmp_path / "s", flows)
    parts = [part.relative_to(tmp_path / "s") for part in (tmp_path / "s").glob("flows/*/*")]
    dates = sorted(part.parts[1] for part in parts)
    assert dates == ["date=1970-01-01", "date=2024-10-03", "date=2024-10-04"]
    assert all(re.fullmatch(r"part-[0-9A-HJKMNP-TV-Z]{26}\.parquet", part.name) for part in parts)
    assert json.loads((tmp_path / "s" / "tcpwhy.json").read_text())["format"] == 1
    days = ask(tmp_path / "s", "SELECT flow_id, date::VARCHAR FROM flows ORDER BY flow_id")
    assert days == [(1, "2024-10-04"), (2, "2024-10-03")]


def test_analysing_again_replaces_the_rows_of_the_same_flows(batch_of, tmp_path):
    rows = [SPAN | {"flow_id": n, "payload_bytes": 1} for n in range(10)]
    write(tmp_path, batch_of("flows", *rows))
    again = [row | {"payload_bytes": 2} for row in rows[5:]]
    write(tmp_path, batch_of("flows", *again))
    sums = "SELECT count(*), count(DISTINCT flow_id), sum(payload_bytes) FROM flows"
    assert ask(tmp_path, sums) == [(10, 10, 15)]


def test_flows_of_one_run_may_come_in_several_parts(batch_of, tmp_path, monkeypatch):
    monkeypatch.setattr(store_module, "ROWS_PER_PART", 2)
    both = [SPAN | {"flow_id": 1, "direction": name} for name in ("orig", "resp")]
    one = [[half | {"flow_id": n}] for n in (1, 2) for half in both]
    write(tmp_path, *(batch_of("flows", *rows) for rows in one))
    assert ask(tmp_path, "SELECT count(*) FROM flows") == [(4,)]
    assert len(list(tmp_path.glob("flows/date=2024*/*.parquet"))) == 2


def test_an_empty_store_answers(tmp_path):
    write(tmp_path / "s")
    for question in questions():
        assert ask(tmp_path / "s", question) == []


def test_columns_that_an_older_store_lacks_are_null(tmp_path):
    write(tmp_path)
    seed = next(tmp_path.glob("flows/date=1970-01-01/*.parquet"))
    duckdb.sql(f"COPY (SELECT 5::UBIGINT AS flow_id, 9 AS data_packets) TO '{seed}'")
    assert ask(tmp_path, "SELECT flow_id, limitation FROM flows") == [(5, None)]
    assert len(ask(tmp_path, "worst_flows")) == 1


def test_questions_answer(batch_of, tmp_path):
    def half(n, limitation, size, **more):
        known = {"limitation": limitation, "unique_bytes": size, "direction": "resp"}
        return SPAN | known | {"flow_id": n, "src_port": 443} | more

    flows = [
        half(1, "policer", 600, confidence="high", dispersion_score=0.105),
        half(2, "policer", 200, confidence="low", dispersion_score=0.995),
        half(3, None, 200, null_reason="too short", dispersion_score=-7.0),
        half(4, None, 0, data_packets=0),
    ]
    write(tmp_path, batch_of("flows", *flows))
    shares = "SELECT limitation, directions, share_of_bytes FROM shares"
    assert ask(tmp_path, shares) == [("policer", 2, 0.8), ("none: too short", 1, 0.2)]
    ports = "SELECT service_port, limitation, bytes FROM shares_by_port"
    assert ask(tmp_path, ports) == [(443, "policer", 800), (443, "none", 200)]
    coverage = "SELECT answer, flows, share_of_bytes FROM coverage ORDER BY answer"
    assert ask(tmp_path, coverage) == [("high", 1, 0.6), ("low", 1, 0.2), ("no verdict", 1, 0.2)]
    cdf = "SELECT round(value, 2), directions, round(cdf, 3) FROM score_cdf"
    assert ask(tmp_path, cdf) == [(-0.99, 1, 0.333), (0.11, 1, 0.667), (1.0, 1, 1.0)]
    assert [row[0] for row in ask(tmp_path, "SELECT flow_id FROM worst_flows")] == [1, 2, 3]


def test_limitation_over_time(batch_of, tmp_path):
    minute = 60 * 10**9
    rows = [
        {"start_ns": SPAN["start_ns"] + n * minute // 2, "flow_id": n, "unique_bytes": 100}
        for n in range(4)
    ]
    write(tmp_path, batch_of("intervals", *rows), table="intervals")
    answer = ask(
        tmp_path, "SELECT epoch(minute) // 60 % 2, directions, bytes FROM limitation_over_time"
    )
    assert answer == [(0, 2, 200), (1, 2, 200)]


@pytest.mark.parametrize(
    "question",
    [
        "DROP VIEW flows",
        "COPY flows TO 'copy.parquet'",
        "SELECT 1; SELECT 2",
        "SET threads = 1",
        "EXPLAIN ANALYZE COPY flows TO 'copy.parquet'",
        "SELECT * FROM read_csv('/etc/hostname')",
        "SELEKT 1",
        "no_such_question",
    ],
)
def test_queries_only_read_and_only_the_store(question, tmp_path):
    write(tmp_path)
    with pytest.raises(UsageError):
        ask(tmp_path, question)


def test_an_answer_has_the_format_that_its_file_names(tcpwhy, tmp_path):
    store = write(tmp_path) or tmp_path
    table, lines = tmp_path / "answer.csv", tmp_path / "answer.jsonl"
    for target in (table, lines):
        assert tcpwhy("query", store, "SELECT 1 AS one", "-o", target).returncode == 0
    assert table.read_text() == "one\n1\n"
    assert lines.read_text() == '{"one":1}\n'
    refused = tcpwhy("query", store, "SELECT 1", "-o", tmp_path / "answer.docx")
    assert (refused.returncode, "known are .csv" in refused.stderr) == (2, True)
    foreign = tcpwhy("query", store, "SELECT * FROM read_csv('/etc/hostname')")
    assert foreign.returncode == 2


def test_a_question_is_asked_once_for_its_file(tmp_path):
    with duckdb.connect() as connection:
        connection.execute("CREATE SEQUENCE asked")
        answer = connection.sql("SELECT nextval('asked') AS times")
        write_answer(answer, tmp_path / "answer.csv", format="csv")
    assert (tmp_path / "answer.csv").read_text() == "times\n1\n"


def test_a_wide_answer_of_few_rows_is_written_value_by_value(tcpwhy, tmp_path):
    write(tmp_path)
    text = "of many words " * 12
    done = tcpwhy("query", tmp_path, f"SELECT 1 AS n, '{text}' AS evidence, NULL AS remedy")
    first, *rest = done.stdout.splitlines()
    assert first == "n         1"
    assert " ".join(" ".join(rest).split()) == f"evidence {text.strip()}"
    many = tcpwhy("query", tmp_path, f"SELECT n, '{text}' AS evidence FROM range(21) t(n)")
    assert len(many.stdout.splitlines()) == 22


def test_a_part_that_cannot_be_written_leaves_nothing(batch_of, tmp_path):
    sink = Sink(str(tmp_path), ("flows",))
    (tmp_path / "flows" / "date=2024-10-04").write_text("in the way")
    sink.write("flows", batch_of("flows", SPAN))
    with pytest.raises(OSError, match="date=2024-10-04"):
        sink.close()
    assert not list(tmp_path.rglob("*.tmp"))


def test_errors_of_a_query_are_one_line(tcpwhy, tmp_path):
    write(tmp_path)
    (tmp_path / "flows" / "date=2024-01-01").mkdir()
    for question, code in {"SELECT 'x'::INTEGER": 2, "SELECT": 2, "flows": 0}.items():
        done = tcpwhy("query", tmp_path, question)
        assert (done.returncode, done.stderr.count("\n")) == (code, int(code > 0))
    (tmp_path / "flows" / "date=2024-01-01" / "part-1.parquet").write_text("not Parquet")
    done = tcpwhy("query", tmp_path, "shares")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1


def test_what_is_no_store_is_refused(tmp_path):
    with pytest.raises(InputError, match="not a store"):
        Store(tmp_path)
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UsageError, match="not empty"):
        Sink(str(tmp_path), ("flows",))
    with pytest.raises(UsageError, match="is a file"):
        Sink(str(tmp_path / "letter.txt"), ("flows",))


def test_a_newer_format_is_refused(tmp_path):
    write(tmp_path)
    (tmp_path / "tcpwhy.json").write_text('{"format": 2}')
    with pytest.raises(InputError, match=r"format 2.*upgrade"):
        Store(tmp_path)
    (tmp_path / "tcpwhy.json").write_text("{")
    with pytest.raises(InputError, match="damaged"):
        Store(tmp_path)


def test_ulids_are_unique_and_sort_by_time():
    names = [ulid() for _ in range(1000)]
    assert len(set(names)) == 1000
    assert [name[:10] for name in names] == sorted(name[:10] for name in names)
    assert all(len(name) == 26 for name in names)


PARTS, ROWS = 40, 500


def _keep_reading(path, ready, finished, counts):
    """Count the rows again and again, in another process."""
    ready.set()
    while True:
        last = finished.is_set()
        [(rows,)] = duckdb.sql(f"SELECT count(*) FROM '{path}/flows/*/*.parquet'").fetchall()
        [(same,)] = Store(path).query("SELECT count(*) FROM flows").fetchall()
        counts.put((rows, same))
        if last:
            return


def test_another_process_reads_while_parts_are_written(batch_of, tmp_path):
    """Every read succeeds and sees whole parts: the first one even before the first part."""
    processes = multiprocessing.get_context("spawn")
    ready, finished, counts = processes.Event(), processes.Event(), processes.Queue()
    sink = Sink(str(tmp_path), ("flows",))
    reader = processes.Process(
        target=_keep_reading, args=(str(tmp_path), ready, finished, counts), daemon=True
    )
    reader.start()
    assert ready.wait(60)
    for part in range(PARTS):
        rows = [SPAN | {"flow_id": part * ROWS + n} for n in range(ROWS)]
        sink.write("flows", batch_of("flows", *rows))
        sink.flush()
    sink.close()
    finished.set()
    seen = []
    while not seen or seen[-1] != (PARTS * ROWS, PARTS * ROWS):
        seen.append(counts.get(timeout=60))
    reader.join(60)
    assert reader.exitcode == 0
    assert all(rows % ROWS == 0 for pair in seen for rows in pair)
    assert [pair[0] for pair in seen] == sorted(pair[0] for pair in seen)
    assert not list(Path(tmp_path).rglob("*.tmp"))


def test_times_stand_beside_nanoseconds_and_print_with_any_zone(batch_of, tmp_path, tcpwhy):
    write(tmp_path / "s", batch_of("flows", SPAN | {"flow_id": 1}))
    [(start, end)] = ask(tmp_path / "s", "SELECT start_time, end_time FROM flows")
    assert (f"{start:%Y-%m-%d %H:%M:%S}", (end - start).total_seconds()) == (
        "2024-10-04 00:00:00",
        1,
    )
    zoned = "SELECT to_timestamp(start_ns / 1e9) AS at FROM flows"
    done = tcpwhy("query", tmp_path / "s", zoned)
    assert (done.returncode, done.stderr) == (0, "")
    assert "2024-10-04" in done.stdout
