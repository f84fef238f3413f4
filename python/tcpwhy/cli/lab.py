"""`tcpwhy lab`: scenarios on the kernel's TCP, in network namespaces of their own."""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tcpwhy._core import TcpwhyError
from tcpwhy.cli import INTERRUPTED
from tcpwhy.cli._help import DescribedGroup
from tcpwhy.cli._options import COUNT
from tcpwhy.terminal import Style, grid, room

if TYPE_CHECKING:
    from tcpwhy.lab.check import Scores
    from tcpwhy.lab.numbers import Comparison
    from tcpwhy.lab.run import Run
    from tcpwhy.lab.scenario import Scenario

FOLDER = Path("lab-runs")
ATTEMPTS = 3

SECTION = "Models and simulations"
EXAMPLES = (
    "# what there is",
    "tcpwhy lab list",
    "# one of them on this machine's TCP",
    "sudo tcpwhy lab run policer_reno",
)
EXAMPLES_OF = {
    "list": (
        "# the scenarios, and which of them the kernel can run",
        "tcpwhy lab list",
        "# the same for programs",
        "tcpwhy lab list --format jsonl",
    ),
    "run": (
        "# a policer on this machine's TCP; captures and facts in lab-runs/policer_reno",
        "sudo tcpwhy lab run policer_reno",
        "# the same with the kernel's own disciplines as the path",
        "sudo tcpwhy lab run policer_reno --emulator kernel",
        "# two random worlds",
        "sudo tcpwhy lab run --world 7 --world 8 -o worlds/",
    ),
    "check": (
        "# whether the analysis finds the policer at each capture point",
        "sudo tcpwhy lab check policer_reno",
        "# every scenario that was run before, as JSON lines",
        "tcpwhy lab check all --no-again --format jsonl",
    ),
}


@click.group("lab", cls=DescribedGroup)
def command() -> None:
    """Run scenarios on the kernel's TCP, and check the analysis against the truth.

    Hosts are network namespaces that have no name and end with this command, however it ends.
    The path between them is emulated by the simulator's own elements in real time.
    """


@command.command("list")
@click.option(
    "--format",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Format of standard output.",
)
def list_(format: str) -> None:
    """Name the scenarios, and say which of them the kernel can run."""
    from tcpwhy.lab import scenario

    rows = []
    for path in scenario.every():
        one = scenario.load(path)
        rows.append((one.name, one.duration_s, one.title, "; ".join(one.obstacles())))
    if format == "jsonl":
        for name, duration_s, title, obstacles in rows:
            row = {"name": name, "duration_s": duration_s, "title": title}
            click.echo(json.dumps({**row, "obstacles": obstacles}, ensure_ascii=False))
        return
    for line in grid(("scenario", "s", "what it shows", "simulator only"), rows, room(sys.stdout)):
        click.echo(line)


_names = click.argument("names", nargs=-1, required=True, metavar="NAME...")
_output = click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    default=FOLDER,
    show_default=True,
    help="Folder for the runs, one folder in it for each.",
)
_attempts = click.option(
    "--attempts",
    type=COUNT,
    default=ATTEMPTS,
    show_default=True,
    help="Tries before a scenario whose runs do not count has failed.",
)


_emulator = click.option(
    "--emulator",
    type=click.Choice(["tcpwhy", "kernel"]),
    default="tcpwhy",
    show_default=True,
    help="Who makes the path: the simulator's elements in real time, or netem, tbf and others of "
    "the kernel. What the kernel lacks is an error.",
)


@command.command("run")
@click.argument("names", nargs=-1, metavar="NAME...")
@click.option(
    "--world",
    "seeds",
    type=click.IntRange(0, 2**64 - 1),
    metavar="SEED",
    multiple=True,
    help="Run the random world of this seed too; may be repeated. Its scenario is written beside"
    " the run.",
)
@_output
@_attempts
@_emulator
def run_(
    names: tuple[str, ...], seeds: tuple[int, ...], output: Path, attempts: int, emulator: str
) -> int:
    """Run scenarios; each run leaves captures, samples of TCP_INFO, a log of drops, and facts.

    NAME is a scenario of `tcpwhy lab list`, a file, or `all`. A run counts only when the machine
    kept time and the intended limit really bound; else it is repeated.
    """
    if not names and not seeds:
        raise click.UsageError("no scenario given: name some, or give --world SEED")
    chosen = [*(_chosen(names) if names else ()), *(_chosen(_worlds(seeds, output)))]
    failed = [one.name for one in chosen if _run(one, output, attempts, emulator) is None]
    return _verdict(failed)


def _worlds(seeds: Sequence[int], folder: Path) -> tuple[str, ...]:
    """Write the scenarios of random worlds; give their names."""
    from tcpwhy import worlds

    if seeds:
        folder.mkdir(parents=True, exist_ok=True)
    return tuple(str(worlds.write(seed, folder / f"{worlds.name(seed)}.toml")) for seed in seeds)


@command.command("check")
@_names
@_output
@_attempts
@_emulator
@click.option("--again/--no-again", default=True, help="Run anew, or use the runs that are there.")
@click.option(
    "--min-share",
    type=float,
    default=0.95,
    show_default=True,
    help="Least share of right answers at each capture point.",
)
@click.option(
    "--format",
    type=click.Choice(["table", "jsonl"]),
    default="table",
    show_default=True,
    help="Format of standard output.",
)
def check_(
    names: tuple[str, ...],
    output: Path,
    attempts: int,
    emulator: str,
    again: bool,
    min_share: float,
    format: str,
) -> int:
    """Run scenarios, analyse the captures, and compare the verdicts with the truth."""
    from tcpwhy.lab import check

    total: Scores = {}
    numbers: list[Comparison] = []
    failed = []
    interrupted = False
    try:
        for one in _chosen(names):
            folder = output / one.name
            run = _run(one, output, attempts, emulator) if again else check.load(folder, one)
            if run is None:
                failed.append(one.name)
                continue
            scores, comparisons = check.check(run)
            for key, score in scores.items():
                sum_ = total.setdefault(key, check.Score())
                sum_.right += score.right
                sum_.all += score.all
            numbers += comparisons
            _show(one, scores, format)
            _show_numbers(one, comparisons, format)
    except KeyboardInterrupt:
        # What was finished still makes a table.
        interrupted = True
    _summary(total, numbers, format)
    low = [
        f"{point} {table}"
        for (point, table, column), score in total.items()
        if column == "limitation" and (score.share or 0) < min_share
    ]
    verdict = _verdict(failed + low)
    return INTERRUPTED if interrupted else verdict


def _chosen(names: Sequence[str]) -> Iterator["Scenario"]:
    from tcpwhy.lab import scenario
    from tcpwhy.simulation import find

    if list(names) != ["all"]:
        yield from (scenario.load(find(name)) for name in names)
        return
    for path in scenario.every():
        one = scenario.load(path)
        if obstacles := list(one.obstacles()):
            click.echo(f"{one.name}: for the simulator: {obstacles[0]}", err=True)
        else:
            yield one


def _run(one: "Scenario", output: Path, attempts: int, emulator: str) -> "Run | None":
    """Run until a run counts."""
    from tcpwhy.lab.run import run
    from tcpwhy.lab.verify import verify

    style = Style.of(sys.stderr)
    for attempt in range(1, attempts + 1):
        try:
            done = run(one, output / one.name, emulator=emulator)
        except TcpwhyError as error:
            if error.exit_code != 1:
                raise
            click.echo(f"{one.name}: {style.warn(str(error))}", err=True)
            continue
        wrong = list(done.problems)
        held = []
        for expect in one.expect if not wrong else ():
            label = f"{expect.cause or expect.limitation} of flow {expect.flow}"
            checks = verify(done, expect)
            held += [f"{label}: {check}" for check in checks if check.holds]
            wrong += [f"{label}: {check}" for check in checks if not check.holds]
        for line in wrong:
            click.echo(f"{one.name}: attempt {attempt}: {style.warn(line)}", err=True)
        if not wrong:
            click.echo(f"{one.name}: {held[0] if held else 'nothing expected'}", err=True)
            return done
    return None


def _show(one: "Scenario", scores: "Scores", format: str) -> None:
    for (point, table, column), score in sorted(scores.items()):
        row: dict[str, object] = {"scenario": one.name, "point": point, "table": table}
        row = {
            **row,
            "column": column,
            "right": score.right,
            "all": score.all,
            "wrong": score.wrong,
        }
        if format == "jsonl":
            click.echo(json.dumps(row))
        elif score.wrong and column == "limitation":
            # What the paper's tree says is in the totals alone: it is not what is checked.
            wrong = ", ".join(f"{given} in {count}" for given, count in score.wrong.items())
            of = f"{score.all - score.right} of {score.all} {table} wrong"
            click.echo(f"{one.name}, capture at the {point}: {of}: {wrong}")


def _show_numbers(one: "Scenario", comparisons: "Sequence[Comparison]", format: str) -> None:
    for item in comparisons:
        if format == "jsonl":
            row = {"scenario": one.name, **vars(item), "is_within": item.is_within}
            click.echo(json.dumps(row))
        elif item.is_within is False:
            where = f"{one.name}, capture at the {item.point}"
            text = f"{item.what} of flow {item.flow} is {item.found:.4g}, in truth {item.true:.4g}"
            click.echo(f"{where}: {text}")


def _summary(total: "Scores", numbers: "Sequence[Comparison]", format: str) -> None:
    from tcpwhy.lab.numbers import summarize

    summaries = list(summarize(numbers))
    if format == "jsonl":
        for (point, table, column), score in sorted(total.items()):
            row = {"summary": table, "point": point, "column": column}
            click.echo(json.dumps({**row, "right": score.right, "all": score.all}))
        for summary in summaries:
            click.echo(json.dumps({"summary": "numbers", **summary._asdict()}))
        return
    names = ("capture", "table", "column", "right", "of", "share")
    scores = [
        (*key, score.right, score.all, f"{(score.share or 0) * 100:.1f} %")
        for key, score in sorted(total.items())
    ]
    click.echo("\nRight answers; limitation_siekkinen is the paper's tree, to compare with:")
    for line in grid(names, scores, room(sys.stdout)):
        click.echo(line)
    heads = ("capture", "number", "within", "of", "unsaid", "median error", "largest")
    rows = [
        (
            *(s.point, s.what, s.within, s.said, s.unsaid),
            *(_error(s.what, error) for error in (s.error_median, s.error_max)),
        )
        for s in summaries
    ]
    click.echo("\nNumbers within their tolerance of what kernel and links say:")
    for line in grid(heads, rows, room(sys.stdout)):
        click.echo(line)


def _error(what: str, error: float | None) -> str:
    """An error as text: in percentage points for shares of time, else in percent."""
    unit = "points" if what.startswith("share_") else "%"
    return "" if error is None else f"{error * 100:.1f} {unit}"


def _verdict(failed: Sequence[str]) -> int:
    if failed:
        click.echo(f"tcpwhy: not good: {', '.join(failed)}", err=True)
    return 1 if failed else 0
