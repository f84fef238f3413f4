"""Prometheus: counts by limitation, never by address, to be scraped or written to a file.

    prometheus://HOST[:9464]      an endpoint, as long as the run lasts
    FILE.prom                     the same text at the end, for the textfile collector

Every label is from a short list, so the number of series does not grow with the traffic.
"""

import threading
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from tcpwhy import _core
from tcpwhy._core import Batch
from tcpwhy.extras import require
from tcpwhy.sinks import Capabilities, Opens, Run, Sink, output
from tcpwhy.sinks._url import url_of
from tcpwhy.vocabulary import limitations

if TYPE_CHECKING:
    from prometheus_client.core import Metric

UNKNOWN = "unknown"
"""The label of what has no verdict: the evidence does not suffice."""

PORT = 9464
"""The port that exporters of this kind have by default."""

RTT_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
RATE_BYTES = tuple(125.0 * 10**power for power in range(3, 9))
"""1 Mbit/s to 100 Gbit/s."""

_INTERVALS = """SELECT coalesce(limitation, '') AS word, count(*), sum(unique_bytes)::DOUBLE,
    sum(retransmitted_bytes)::DOUBLE, sum((end_ns - start_ns) / 1e9)
    FROM batch WHERE data_packets > 0 GROUP BY ALL"""
_FLOWS = """SELECT coalesce(limitation, '') AS word, count(*), sum(unique_bytes)::DOUBLE
    FROM batch WHERE data_packets > 0 GROUP BY ALL"""


class _Histogram:
    """Counts of values by bucket, and their sum."""

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, values: Iterable[tuple[float]]) -> None:
        for (value,) in values:
            self.counts[bisect_left(self.bounds, value)] += 1
            self.sum += value

    def buckets(self) -> list[tuple[str, float]]:
        total, found = 0, []
        for bound, count in zip((*map(str, self.bounds), "+Inf"), self.counts, strict=True):
            total += count
            found.append((bound, float(total)))
        return found


class Totals:
    """What is exported, added up; batches come from one thread, questions from others."""

    def __init__(self, run: Run) -> None:
        """Begin with nothing."""
        import duckdb

        self._connection = duckdb.connect()
        self._run = run
        self._lock = threading.Lock()
        words = (*(limit.word for limit in limitations()), UNKNOWN)
        self._intervals = {word: [0.0] * 4 for word in words}
        self._flows = {word: [0.0] * 2 for word in words}
        self._rtt, self._rate = _Histogram(RTT_S), _Histogram(RATE_BYTES)
        self._counters: dict[str, int] = {}

    def add(self, table: str, batch: Batch) -> None:
        """Take a batch."""
        self._connection.register("batch", batch)
        if table == "counters":
            rows = self._connection.execute("SELECT name, value FROM batch").fetchall()
            with self._lock:
                self._counters.update(rows)
            return
        sums = self._connection.execute(_INTERVALS if table == "intervals" else _FLOWS).fetchall()
        values = "FROM batch WHERE data_packets > 0 AND"
        rtts = rates = []
        if table == "intervals":
            rtts = self._values(f"SELECT rtt_mean_ns / 1e9 {values} rtt_mean_ns IS NOT NULL")
            rates = self._values(f"SELECT throughput_bps / 8 {values} throughput_bps IS NOT NULL")
        with self._lock:
            into = self._intervals if table == "intervals" else self._flows
            for word, *numbers in sums:
                # A word that is not of the list would be a label nobody bounds.
                place = into[word if word in into else UNKNOWN]
                for at, number in enumerate(numbers):
                    place[at] += number or 0
            self._rtt.add(rtts)
            self._rate.add(rates)

    def collect(self) -> "Iterable[Metric]":
        """Give every metric."""
        core = require("prometheus_client.core", extra="prometheus")
        standing = self._run.standing() if self._run.standing else None
        with self._lock:
            counters = self._counters | (standing.counters if standing else {})
            yield from self._by_limitation(core)
            for name, told, histogram in (
                ("rtt_seconds", "Mean RTT of a direction in an interval.", self._rtt),
                ("throughput_bytes_per_second", "Throughput in an interval.", self._rate),
            ):
                made = core.HistogramMetricFamily(f"tcpwhy_{name}", told)
                made.add_metric([], histogram.buckets(), histogram.sum)
                yield made
        if standing:
            told = "Flows that are followed now."
            yield core.GaugeMetricFamily("tcpwhy_tracked_flows", told, value=standing.flows)
        for name, told in _core.counters():
            made = core.CounterMetricFamily(f"tcpwhy_run_{name}", told)
            made.add_metric([], counters.get(name, 0))
            yield made

    def close(self) -> None:
        """Let go."""
        self._connection.close()

    def _values(self, question: str) -> list[Any]:
        return self._connection.execute(question).fetchall()

    def _by_limitation(self, core: Any) -> "Iterable[Metric]":
        of_intervals = (
            ("intervals", "Intervals of a direction with data."),
            ("bytes", "Bytes of payload, each counted once, in intervals."),
            ("retransmitted_bytes", "Bytes that were sent again, in intervals."),
            ("seconds", "Time of directions in intervals."),
        )
        of_flows = (
            ("flow_directions", "Directions with data of flows that have ended."),
            ("flow_bytes", "Bytes of payload, each counted once, of flows that have ended."),
        )
        for named, table in (of_intervals, self._intervals), (of_flows, self._flows):
            for at, (name, told) in enumerate(named):
                made = core.CounterMetricFamily(
                    f"tcpwhy_{name}", f"{told[:-1]}, by what limited them.", labels=["limitation"]
                )
                for word, numbers in table.items():
                    made.add_metric([word], numbers[at])
                yield made


class _Exporter:
    """Either kind of output."""

    def __init__(self, tables: tuple[str, ...], run: Run) -> None:
        self._client = require("prometheus_client", extra="prometheus")
        wanted = dict.fromkeys((*tables, "intervals", "flows", "counters"))
        self.capabilities = Capabilities(
            tuple(table for table in wanted if table in ("intervals", "flows", "counters"))
        )
        self._totals = Totals(run)
        self._registry = self._client.CollectorRegistry()
        self._registry.register(self._totals)

    def write(self, table: str, batch: Batch) -> None:
        """Add up a batch."""
        self._totals.add(table, batch)

    def flush(self) -> None:
        """Do nothing: every scrape has all that came."""


class Endpoint(_Exporter):
    """Answers scrapes as long as the run lasts."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run) -> None:
        """Listen."""
        super().__init__(tables, run)
        url = url_of(target, port=PORT, options=(), buffers=False)
        try:
            start = self._client.start_http_server
            self._server, self._thread = start(url.port, url.host, self._registry)
        except OSError as error:
            raise OSError(error.errno, error.strerror, url.text) from error
        run.say(f"metrics: http://{url.host}:{url.port}/metrics")

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        self._totals.close()


class File(_Exporter):
    """Writes the text of a scrape at the end."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run) -> None:
        """Open the file."""
        super().__init__(tables, run)
        self._open = ExitStack()
        self._file = self._open.enter_context(output(target))

    def close(self) -> None:
        """Write it."""
        with self._open:
            self._file.write(self._client.generate_latest(self._registry))
        self._totals.close()


def make(target: str, tables: tuple[str, ...], run: Run) -> Sink:
    """Open the endpoint of a URL, or the file of a path."""
    return (Endpoint if target.startswith("prometheus:") else File)(target, tables, run)


OPENS = Opens(make, suffixes=(".prom",), schemes=("prometheus",), tables=("intervals", "flows"))
