"""`tcpwhy simulate`: scenarios in virtual time."""

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from tcpwhy import worlds
from tcpwhy._core import UsageError
from tcpwhy.analysis import TABLES as ANALYSED
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._help import Described
from tcpwhy.cli._options import COUNT, FORMAT, options
from tcpwhy.cli._progress import bar
from tcpwhy.cli._stopping import stopping
from tcpwhy.simulation import TABLES, Simulation, bundled, find, scenarios, simulate
from tcpwhy.sinks import Sink, open_sink, pour
from tcpwhy.terminal import grid, room

SECTION = "Models and simulations"
EXAMPLES = (
    "# a scenario that comes with tcpwhy",
    "tcpwhy simulate rwnd_buffer",
    "# one of your own, with captures",
    "tcpwhy simulate slow.toml --captures out/",
    "# a random world",
    "tcpwhy simulate --world 7",
)


@click.command("simulate", cls=Described)
@click.argument("paths", nargs=-1, metavar="SCENARIO...", type=click.Path(path_type=Path))
@click.option(
    "--list",
    "is_list",
    is_flag=True,
    help="Name the scenarios of folders, or those that come with tcpwhy.",
)
@click.option(
    "--world",
    "world",
    type=click.IntRange(0, 2**64 - 1),
    metavar="SEED",
    help="Simulate the random world of this seed instead of a file.",
)
@click.option(
    "--write",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="With --world: only write its scenario.",
)
@options("simulate", seed={"metavar": "SEED"})
@click.option(
    "--table",
    "tables",
    type=click.Choice([*TABLES, *(name for name in ANALYSED if name != "segments")]),
    multiple=True,
    help="Table to write; may be repeated. Those of the simulator unless given, with --tap also"
    " flows; a store takes all.",
)
@FORMAT
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    metavar="PATH|STORE|URL",
    help="Where to write; may be repeated. Of several scenarios each has its own: NAME goes into"
    " the name of a file, and becomes a store in a folder.",
)
@click.option("--workers", type=COUNT, help="Scenarios at once.  [default: all cores]")
def command(
    paths: tuple[Path, ...],
    is_list: bool,
    tables: tuple[str, ...],
    format: str | None,
    outputs: tuple[str, ...],
    workers: int | None,
    world: int | None,
    write: Path | None,
    **settings: Any,
) -> int:
    """Simulate scenarios: captures, the truth about every sender, drops and queues.

    SCENARIO is a TOML file with hosts, links, flows and taps, or the name of one in --list. The
    same seed gives the same bytes on any machine. The truth says what limited each sender at every
    instant, by the sender's own state.
    """
    if is_list:
        return _list(paths)
    if write is not None:
        return _write(world, write)
    paths = tuple(find(str(path)) for path in paths)
    with ExitStack() as stack:
        if world is not None:
            folder = stack.enter_context(TemporaryDirectory())
            paths = (*paths, worlds.write(world, Path(folder) / f"{worlds.name(world)}.toml"))
        if not paths:
            raise click.UsageError("no scenario given: name TOML files, --world, or --list")
        return _simulate(paths, tables, format, outputs, workers, settings)


def _write(world: int | None, path: Path) -> int:
    if world is None:
        raise UsageError("--write is for a random world: choose it with --world SEED")
    worlds.write(world, path)
    return 0


def _simulate(
    paths: Sequence[Path],
    tables: tuple[str, ...],
    format: str | None,
    outputs: tuple[str, ...],
    workers: int | None,
    settings: dict[str, Any],
) -> int:
    targets = outputs or ("-",)
    if len(paths) > 1 and "-" in targets and format not in (None, "table"):
        raise UsageError(f"several scenarios do not fit into one {format} file: choose --output")
    names = [path.stem for path in paths]
    twice = {name for name in names if names.count(name) > 1}
    if twice and (outputs or settings["captures"]):
        raise UsageError(f"two scenarios named {min(twice)} would share an output: one at a time")
    stop: list[int] = []
    # A fault in a scenario must not cost the results of an earlier run: outputs are opened later.
    wanted = [_wanted(target, tables, format, settings["tap"] is not None) for target in targets]
    union = dict.fromkeys(table for chosen in wanted for table in chosen)
    runs = [simulate(path, table=union, **settings) for path in paths]
    sinks: list[list[Sink]] = []
    try:
        for path in paths:
            sinks.append([])
            for target, chosen in zip(targets, wanted, strict=True):
                named = _named(target, path, several=len(paths) > 1)
                sinks[-1].append(open_sink(named, format=format, tables=chosen))
        with (
            stopping(lambda: _stop(runs)) as stop,
            bar(lambda: _progress(runs), unit="simulated s"),
            ThreadPoolExecutor(workers or os.cpu_count()) as pool,
        ):
            for _ in pool.map(pour, (run.batches() for run in runs), sinks):
                pass
    finally:
        for path, of_run in zip(paths, sinks, strict=False):
            if len(paths) > 1 and "-" in targets:
                click.echo(f"{path}:")
            for sink in of_run:
                sink.close()
    return INTERRUPTED if stop else 0


def _list(folders: Sequence[Path]) -> int:
    found = (row for folder in folders or [bundled()] for row in scenarios(folder))
    # Those that come with tcpwhy are found by their names alone.
    rows = [(str(path) if folders else path.stem, title) for path, title in found]
    for line in grid(("scenario", "what it shows"), rows, room(sys.stdout)):
        click.echo(line)
    return 0


def _named(target: str, scenario: Path, *, several: bool) -> str:
    """Give the output of one of several scenarios a name of its own."""
    if not several or target == "-" or "://" in target:
        return target
    path = Path(target)
    if path.suffix and not path.is_dir():
        return str(path.with_name(f"{path.stem}.{scenario.stem}{path.suffix}"))
    path.mkdir(parents=True, exist_ok=True)
    return str(path / scenario.stem) + "/"


def _wanted(
    target: str, tables: tuple[str, ...], format: str | None, analysed: bool
) -> tuple[str, ...]:
    """Give the tables of an output: those chosen, or as many of the usual ones as it can hold."""
    if tables:
        return tables
    path = Path(target)
    if target == "-" and format in (None, "table"):
        return (*TABLES, "flows") if analysed else TABLES
    if target != "-" and (path.is_dir() or not path.suffix):
        return (*TABLES, "flows", "intervals", "periods") if analysed else TABLES
    return ("truth",)


def _stop(runs: Sequence[Simulation]) -> None:
    for run in runs:
        run.stop()


def _progress(runs: Sequence[Simulation]) -> tuple[float, float]:
    states = [run.progress() for run in runs]
    return sum(s.now_ns for s in states) / 1e9, sum(s.duration_ns for s in states) / 1e9
