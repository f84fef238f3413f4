"""A stranger's walk over every command: no traceback, nothing cut off, no contradiction."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tcpwhy import _core
from tcpwhy.cli import tcpwhy as commands

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests" / "data"
CONTEXT = click.Context(commands, info_name="tcpwhy")
NAMES = commands.list_commands(CONTEXT)


def inside(name):
    """Name what is inside a group of commands."""
    command = commands.get_command(CONTEXT, name)
    if not isinstance(command, click.Group):
        return []
    return [(name, inner) for inner in command.list_commands(CONTEXT)]


PATHS = [*((name,) for name in NAMES), *(path for name in NAMES for path in inside(name))]
"""Every command, with those inside others."""

RUN = {
    "analyze": 0,
    "explain": 0,
    "graph": 0,
    "report": 0,
    "query": 0,
    "taps": 0,
    "doctor": 0,
    "model": 0,
    "simulate": 0,
    "man": 0,
    "completion": 0,
}
"""Commands whose examples are run here; others take root, real time or another host."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the files that examples name."""
    folder = tmp_path_factory.mktemp("walk")
    shutil.copy(DATA / "loss_sender.pcap", folder / "slow.pcap")
    shutil.copy(DATA / "loss_sender.pcap", folder / "before.pcap")
    shutil.copy(DATA / "loss_receiver.pcap", folder / "behind.pcap")
    shutil.copy(ROOT / "scenarios" / "policer_reno.toml", folder / "slow.toml")
    return folder


def found(path):
    command = commands
    for name in path:
        command = command.get_command(CONTEXT, name)
    return command


def examples(*path):
    return [line for line in found(path).examples if not line.startswith("#")]


def understood(words):
    """Parse a line as the command line does, and give the command that takes it."""
    command, context, name = commands, CONTEXT, ""
    while isinstance(command, click.Group):
        if command is not commands and (not words or words[0].startswith("-")):
            break
        name, *words = words
        command = command.get_command(context, name)
        assert command is not None, name
        context = click.Context(command, info_name=name, parent=context)
    # Raises a UsageError for what the command does not take.
    return command.make_context(name, list(words), parent=context.parent).command


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_command_has_help_with_examples_that_it_understands(path, tcpwhy):
    done = tcpwhy(*path, "--help")
    assert done.returncode == 0
    assert "Examples:" in done.stdout
    lines = examples(*path)
    assert lines
    for line in lines:
        assert line in done.stdout
        words = shlex.split(line.split("|")[0].split(">")[0].removeprefix("sudo "))
        if words[0] != "tcpwhy":
            continue
        taken = understood(words[1:])
        # A group shows what is in it, and a command may need another one first.
        assert len(path) == 1 or taken.name == path[-1], line


@pytest.mark.parametrize("name", [name for group, name in inside("model")])
def test_examples_of_models_run(name, tcpwhy, tmp_path):
    shutil.copy(DATA / "transfers.csv", tmp_path)
    for line in examples("model", name):
        done = tcpwhy(*shlex.split(line)[1:], cwd=tmp_path)
        assert done.returncode == 0, (line, done.stderr)
        assert done.stdout


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_help_names_what_an_option_takes(path):
    """INTEGER RANGE is a type, not what is to be given; counts are a COUNT, never a PERCENT."""
    context = click.Context(found(path))
    for option in found(path).get_params(context):
        metavar = option.make_metavar(context)
        assert "RANGE" not in metavar or option.name in ("width", "height", "losses", "seconds")
        assert "PERCENT" not in metavar or option.name == "loss"


@pytest.mark.parametrize("name", [name for name in NAMES if name in RUN])
def test_examples_run(name, tcpwhy, folder):
    if name == "query":
        tcpwhy("analyze", "slow.pcap", "-o", "store/", cwd=folder)
    for line in examples(name):
        if "|" in line or "$(" in line or ">" in line.partition("'")[0] or "~" in line:
            continue
        if "BROKER" in line:  # a server that is not there
            continue
        words = [word for word in shlex.split(line) if word != "*.pcap"]
        if "*.pcap" in line:
            words[2:2] = ["slow.pcap", "behind.pcap"]
        done = tcpwhy(*words[1:], cwd=folder, timeout=120)
        assert done.returncode == 0, (line, done.stderr)
        assert "Traceback" not in done.stderr
        assert "…" not in done.stdout, line


@pytest.mark.parametrize("capture", sorted(DATA.glob("*.pcap")), ids=lambda path: path.stem)
def test_overview_rows_and_argument_agree(capture, tcpwhy):
    text = tcpwhy("analyze", capture, "--all", "-v").stdout
    rows = json.loads(tcpwhy("analyze", capture, "--format", "json").stdout)
    for row in rows:
        if not row["data_packets"]:
            continue
        limit = row["cause"] or row["limitation"] or "unknown"
        ends = f"{row['src']}:{row['src_port']} → {row['dst']}:{row['dst_port']}"
        [line] = [line for line in text.splitlines() if ends in line]
        assert line.split()[0] == str(row["stream"])
        assert f"  {limit}" in line
        told = tcpwhy("explain", capture, "--flow", row["stream"], "--format", "jsonl")
        argued = {half["direction"]: half for half in json.loads(told.stdout)["directions"]}
        if row["direction"] in argued:
            half = argued[row["direction"]]
            assert (half["cause"], half["confidence"]) == (row["cause"], row["confidence"])


def test_a_file_alone_and_r_are_analyze(tcpwhy):
    capture = DATA / "slow_reader.pcap"
    expected = tcpwhy("analyze", capture).stdout
    assert expected
    assert tcpwhy(capture).stdout == tcpwhy("-r", capture).stdout == expected
    assert tcpwhy("analyze", "-r", capture).stdout == expected


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (["analyse"], "did you mean analyze"),
        (["explian"], "did you mean explain"),
        (["nothing.pcap"], "no file and no command"),
        (["xyzzy"], "tcpwhy --help lists them"),
    ],
)
def test_what_is_mistyped_is_answered(typed, told, tcpwhy):
    done = tcpwhy(*typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert told in done.stderr


def test_help_and_version_as_people_type_them(tcpwhy):
    assert tcpwhy("help", "analyze").stdout == tcpwhy("analyze", "--help").stdout
    assert tcpwhy("-V").stdout == tcpwhy("--version").stdout
    text = tcpwhy("--help").stdout
    assert "..." not in text.replace("[ARGS]...", "")
    assert all(f"  {name}" in text for name in NAMES)


def every_command(group=commands, path=()):
    """Give all commands with their words, those of groups as well."""
    context = click.Context(group, info_name="tcpwhy")
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield (*path, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))


@pytest.mark.parametrize(("path", "command"), list(every_command()), ids=lambda part: str(part))
def test_help_says_of_every_option_what_it_is_and_cuts_no_line(path, command):
    context = click.Context(command, info_name=path[-1], terminal_width=80)
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            assert (option.help or "").partition("  [")[0], option.name
    text = command.get_help(context)
    # Commands are listed with whole sentences, and arguments are no options.
    listed = text.partition("Commands:")[2].partition("Examples:")[0]
    assert "..." not in listed
    assert not re.search(r"^  [A-Z|]+(\.\.\.)?$", text, re.M)
    # A condition of a model is one line, as is a list of choices.
    lines = text.partition("Examples:")[0].splitlines()
    assert all(len(line) <= 80 or re.match(r"  (- |--)", line) for line in lines)


@pytest.mark.parametrize(
    "line",
    [
        "--help",
        "analyze slow_reader.pcap",
        "analyze slow_reader.pcap --format jsonl",
        "explain slow_reader.pcap",
        "model mathis --rtt 10ms --loss 1%",
        "taps loss_sender.pcap loss_receiver.pcap",
        "simulate --list",
    ],
)
@pytest.mark.parametrize("closed", [">&-", ">/dev/full"])
def test_an_output_that_takes_nothing_is_named(line, closed):
    command = f"{shlex.quote(sys.executable)} -m tcpwhy {line} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=DATA, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("tcpwhy: standard output: ")
    assert len(done.stderr.splitlines()) == 1


def test_what_users_read_says_direction(tcpwhy):
    names = [name for name, _ in _core.counters()]
    capture = DATA / "slow_reader.pcap"
    record = json.loads(tcpwhy("explain", capture, "--format", "jsonl").stdout)
    names += [*record, *record["directions"][0]]
    names += re.findall(r"AS (\w+)", (ROOT / "python/tcpwhy/store/views.sql").read_text())
    assert not [name for name in names if re.search(r"hal(f|ves)(?!_open)", name)]


def test_scenarios_are_named_and_found_from_anywhere(tcpwhy, tmp_path):
    listed = tcpwhy("simulate", "--list", cwd=tmp_path).stdout.splitlines()[1:]
    assert len(listed) == len(list((ROOT / "scenarios").glob("*.toml")))
    name = listed[1].split()[0]
    done = tcpwhy("simulate", name, "--duration", "1s", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "no scenario 'xyzzy'" in tcpwhy("simulate", "xyzzy", cwd=tmp_path).stderr


def test_flows_are_chosen_by_number_end_pair_and_id(tcpwhy):
    capture = DATA / "slow_reader.pcap"
    rows = json.loads(tcpwhy("analyze", capture, "--format", "json").stdout)
    pair = "192.0.2.10:60924-198.51.100.20:5001"
    names = ["0", "192.0.2.10:60924", "198.51.100.20:5001", pair, rows[0]["flow_id"]]
    found = {tcpwhy("explain", capture, "--flow", name).stdout.split("\n\n")[1] for name in names}
    assert len(found) == 1
    for name in names:
        done = tcpwhy("analyze", capture, "--flow", name, "--format", "jsonl")
        assert len(done.stdout.splitlines()) == len(rows)
    assert "no flow 7: they are 0 to 0" in tcpwhy("analyze", capture, "--flow", "7").stderr


def test_rows_come_in_order_of_time_and_the_same_on_every_run(tcpwhy):
    captures = sorted(DATA.glob("*.pcap"))
    for table in ("flows", "intervals", "periods", "stalls"):
        texts = [tcpwhy("analyze", *captures, "--table", table, "--format", "jsonl").stdout]
        texts += [
            tcpwhy("analyze", *captures, "--table", table, "--format", "jsonl", *more).stdout
            for more in ([], ["--workers", "1"], ["--workers", "5"])
        ]
        assert len(set(texts)) == 1, table
        starts = [json.loads(line)["start_ns"] for line in texts[0].splitlines()]
        assert starts == sorted(starts)


def test_man_pages_and_completion(tcpwhy, tmp_path):
    assert tcpwhy("man", "-o", tmp_path).returncode == 0
    pages = {path.name for path in tmp_path.iterdir()}
    assert pages == {"tcpwhy.1", *(f"tcpwhy-{name}.1" for name in NAMES)}
    assert ".SH EXAMPLES" in (tmp_path / "tcpwhy-analyze.1").read_text()
    assert re.search(r"complete.*tcpwhy", tcpwhy("completion", "bash").stdout)
