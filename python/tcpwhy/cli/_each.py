"""Many captures, each on its own: what `tcpwhy analyze --each` prints and gives back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import click

from tcpwhy.archive import analyze_each, find
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._progress import bar
from tcpwhy.cli._stopping import stopping
from tcpwhy.sinks.store import OPENS

DAMAGED = 3
MEGA = 1e6


def run(
    captures: Sequence[str],
    store: str,
    *,
    tables: Sequence[str],
    processes: int | None,
    cluster: str | None,
    split: int,
    options: Mapping[str, Any],
) -> int:
    """Analyse each capture into the store, and say in the end what became of them."""
    total = sum(capture.size_bytes for capture in find(captures))
    read = 0
    counted: Counter[str] = Counter()
    damaged: dict[str, None] = {}
    done = before = 0
    with ExitStack() as stack:
        outcomes = analyze_each(
            captures,
            store,
            tables=tables or OPENS.tables,
            processes=processes,
            cluster=cluster,
            split=split,
            options=options,
        )
        stack.callback(outcomes.close)
        stopped = stack.enter_context(stopping(lambda: None))
        stack.enter_context(bar(lambda: (read / MEGA, total / MEGA), unit="MB"))
        for outcome in outcomes:
            read += outcome.size_bytes
            # Of a split capture the first part stands for it.
            done += outcome.part == 0
            before += outcome.done_before and outcome.part == 0
            counted.update(outcome.counters)
            if outcome.damage:
                damaged[outcome.damage] = None
            if stopped:
                break
    for message in damaged:
        click.echo(f"tcpwhy: {message}", err=True)
    flows, packets = counted["flows"], counted["packets_read"]
    click.echo(f"{done:,} captures, {packets:,} packets, {flows:,} flows in {store}", err=True)
    if before:
        click.echo(f"{before:,} of them were done by an earlier run", err=True)
    if stopped:
        click.echo("interrupted: the same command goes on where this one stopped", err=True)
        return INTERRUPTED
    return DAMAGED if damaged else 0
