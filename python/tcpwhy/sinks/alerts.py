"""Alerts: rules about shares of limitations, told when they begin and end to hold.

    alerts:RULES.toml

    notify = ["syslog://127.0.0.1", "webhook+https://example.org/hook"]

    [[rule]]
    name = "small receive buffers"
    limitation = "receiver_window"    # or cause = "receiver_window/buffer"
    of = "bytes"                      # or "time", or "intervals"
    above = 0.2
    network = "10.1.0.0/16"           # either end; every network unless given
    for = "5m"

Time is that of the packets, so a capture gives the alerts that its link would have given.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple

from tcpwhy._core import Batch, UsageError
from tcpwhy.sinks import Capabilities, Opens, Run, syslog, webhook
from tcpwhy.sinks._buffered import Buffered
from tcpwhy.sinks._chunk import Chunk
from tcpwhy.store.files import quoted
from tcpwhy.units import nanoseconds, quantity
from tcpwhy.vocabulary import causes, limitations

STEP_NS = 30 * 10**9
"""A share is that of a step of this length, unless a rule has another `step`."""

STEPS = 100_000
"""Steps of a rule that are held for a run whose rows come in any order."""

LATE_STEPS = 2
"""Steps that a live run waits for rows that come late."""

_WEIGHTS = {"bytes": "unique_bytes", "time": "(end_ns - start_ns)", "intervals": "1"}
_KEYS = {"name", "limitation", "cause", "of", "above", "network", "for", "step", "min_bytes"}


class Rule(NamedTuple):
    """A share that should not stay above a bound."""

    name: str
    column: str
    word: str
    of: str
    above: float
    network: IPv4Network | IPv6Network | None
    for_ns: int
    step_ns: int
    min_bytes: float
    """Steps with less than this say nothing."""

    def sums(self) -> str:
        """Write the SQL of the sums of a batch: by step, of what is limited so and of all."""
        weight = f"{_WEIGHTS[self.of]}::DOUBLE"
        limited = f"sum({weight}) FILTER ({self.column} = {quoted(self.word)})"
        inside = " AND (list_contains($1, src) OR list_contains($1, dst))" if self.network else ""
        return f"""SELECT ((end_ns - 1) // {self.step_ns})::BIGINT, coalesce({limited}, 0),
            sum({weight}), sum(unique_bytes)::DOUBLE
            FROM batch WHERE data_packets > 0{inside} GROUP BY 1"""


class _Watch:
    """A rule, and what it has seen."""

    def __init__(self, rule: Rule) -> None:
        self.rule = rule
        self.steps_forgotten = 0
        self._steps: dict[int, list[float]] = {}
        self._since: int | None = None
        self._firing = False
        self._newest = 0

    def add(self, connection: Any, addresses: list[str]) -> None:
        """Add up a batch."""
        rule = self.rule
        inside = [name for name in addresses if _is_inside(name, rule.network)]
        rows = connection.execute(rule.sums(), [inside] if rule.network else []).fetchall()
        for step, *sums in rows:
            place = self._steps.setdefault(step, [0.0] * 3)
            for at, number in enumerate(sums):
                place[at] += number
            self._newest = max(self._newest, step)
        while len(self._steps) > STEPS:
            del self._steps[min(self._steps)]
            self.steps_forgotten += 1

    def events(self, *, final: bool) -> Iterator[dict[str, Any]]:
        """Give what changed in steps that are complete: in a live run all but the last ones."""
        rule = self.rule
        for step in sorted(self._steps):
            if not final and step > self._newest - LATE_STEPS:
                return
            limited, total, size = self._steps.pop(step)
            if size < rule.min_bytes or not total:
                continue
            share = limited / total
            if share <= rule.above:
                if self._firing:
                    yield self._event("resolved", step, share)
                self._since, self._firing = None, False
                continue
            if self._since is None:
                self._since = step
            lasted_ns = (step + 1 - self._since) * rule.step_ns
            if lasted_ns >= rule.for_ns and not self._firing:
                self._firing = True
                yield self._event("firing", step, share)

    def _event(self, state: str, step: int, share: float) -> dict[str, Any]:
        rule = self.rule
        where = f" on {rule.network}" if rule.network else ""
        held = f"{share:.0%} of {rule.of} limited by {rule.word}{where}, bound {rule.above:.0%}"
        return {
            "alert": rule.name,
            "state": state,
            "at": _time((step + 1) * rule.step_ns),
            "since": _time((self._since or step) * rule.step_ns),
            rule.column: rule.word,
            "network": str(rule.network) if rule.network else None,
            "of": rule.of,
            "share": round(share, 4),
            "above": rule.above,
            "text": f"{rule.name}: {state}: {held}",
        }


class Sink:
    """Judges intervals by rules, and tells whom the rules name."""

    def __init__(self, target: str, tables: tuple[str, ...], run: Run) -> None:
        """Read the rules, and reach whom they name."""
        import duckdb

        self.capabilities = Capabilities(("intervals",))
        path = target.removeprefix("alerts:")
        rules, notify = read(path)
        self._run = run
        self._connection = duckdb.connect()
        self._watches = [_Watch(rule) for rule in rules]
        self._told = [notifier(to, run) for to in notify]

    def write(self, table: str, batch: Batch) -> None:
        """Add up the rows; a live run is told at once."""
        self._connection.register("batch", batch)
        names = "SELECT src FROM batch UNION SELECT dst FROM batch"
        addresses = [name for (name,) in self._connection.execute(names).fetchall()]
        for watch in self._watches:
            watch.add(self._connection, addresses)
        if self._run.live:
            self._judge(final=False)

    def flush(self) -> None:
        """Do nothing: alerts are told when they come."""

    def close(self) -> None:
        """Judge the rest."""
        try:
            self._judge(final=True)
        finally:
            for watch in self._watches:
                if watch.steps_forgotten:
                    what = f"{watch.steps_forgotten:,} of its oldest steps were not judged"
                    self._run.say(f"alerts: {watch.rule.name}: {what}")
            self._connection.close()
            for told in self._told:
                told.close()

    def _judge(self, *, final: bool) -> None:
        for watch in self._watches:
            for event in watch.events(final=final):
                self._run.say(f"alert: {event['text']}")
                key = f"alerts-{event['alert']}-{event['state']}-{event['at']}"
                for told in self._told:
                    told.put([Chunk("alerts", (key,), (json.dumps(event).encode(),), 1)])


def read(path: str) -> tuple[list[Rule], list[str]]:
    """Read a file of rules; an error names the rule and the key."""
    import tomllib

    try:
        found = tomllib.loads(Path(path).read_text("utf-8"))
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: {error}") from error
    notify = found.pop("notify", [])
    rules = found.pop("rule", [])
    if found:
        raise UsageError(f"{path}: no key {min(found)!r}: there are notify and [[rule]]")
    if not rules:
        raise UsageError(f"{path}: no [[rule]] in it (docs/outputs.md has one)")
    return [_rule(f"{path}: rule {at}", rule) for at, rule in enumerate(rules, 1)], notify


def notifier(target: str, run: Run) -> Buffered:
    """Open whom an alert is told."""
    scheme = target.partition(":")[0]
    for module in (syslog, webhook):
        if scheme in module.OPENS.schemes:
            made: Buffered = module.make(target, ("alerts",), run)
            return made
    known = ", ".join((*syslog.OPENS.schemes, *webhook.OPENS.schemes))
    raise UsageError(f"alerts are not told to {target!r}: the schemes for that are {known}")


def _rule(where: str, given: dict[str, Any]) -> Rule:
    """Check a rule."""
    where = f"{where} ({given['name']})" if isinstance(given.get("name"), str) else where
    if unknown := given.keys() - _KEYS:
        raise UsageError(f"{where}: no key {min(unknown)!r}: there are {', '.join(sorted(_KEYS))}")
    for key in ("name", "above", "for"):
        if key not in given:
            raise UsageError(f"{where}: the key {key!r} is missing")
    column = "cause" if "cause" in given else "limitation"
    words = [cause.word for cause in causes()] if column == "cause" else _limitations()
    if given.get(column) not in words:
        raise UsageError(f"{where}: {column}: one of {', '.join(words)}")
    of = given.get("of", "bytes")
    if of not in _WEIGHTS:
        raise UsageError(f"{where}: of: one of {', '.join(_WEIGHTS)}")
    above = given["above"]
    if isinstance(above, bool) or not isinstance(above, int | float) or not 0 <= above < 1:
        raise UsageError(f"{where}: above: a share from 0 to below 1, such as 0.2")
    try:
        network = ip_network(given["network"]) if "network" in given else None
        step_ns = nanoseconds(given["step"]) if "step" in given else STEP_NS
        for_ns = nanoseconds(given["for"])
        min_bytes = quantity(str(given.get("min_bytes", 0)), "bytes")
    except (ValueError, UsageError) as error:
        raise UsageError(f"{where}: {error}") from error
    bounds = (float(above), network, for_ns, step_ns, min_bytes)
    return Rule(given["name"], column, given[column], of, *bounds)


def _limitations() -> list[str]:
    return [limit.word for limit in limitations()]


@lru_cache(2**16)
def _is_inside(address: str, network: IPv4Network | IPv6Network | None) -> bool:
    try:
        return network is not None and ip_address(address) in network
    except ValueError:
        return False


def _time(at_ns: int) -> str:
    return datetime.fromtimestamp(at_ns / 1e9, UTC).isoformat().replace("+00:00", "Z")


OPENS = Opens(Sink, schemes=("alerts",), tables=("intervals",))
