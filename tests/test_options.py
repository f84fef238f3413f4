"""Options are declared once: signatures, types and the command line say the same."""

import inspect
import typing

import click
import pytest

import tcpwhy
from tcpwhy.cli import tcpwhy as commands
from tcpwhy.options import OPTIONS, keywords, options_of, settled

COMMANDS = ["analyze", "monitor", "simulate"]


@pytest.mark.parametrize("command", COMMANDS)
def test_signature_types_and_command_line_have_the_same_options(command):
    known = options_of(command)
    signature = inspect.signature(getattr(tcpwhy, command))
    written = {name for name, p in signature.parameters.items() if p.kind is p.KEYWORD_ONLY}
    assert written - {"table"} == set(known)
    typed = typing.get_type_hints(getattr(keywords, f"{command.title()}Options"))
    assert list(typed) == list(known)
    on_line = commands.get_command(click.Context(commands), command)
    words = {parameter.name: parameter for parameter in on_line.params}
    assert {name for name, option in known.items() if option.group} <= set(words)
    for name, option in known.items():
        if option.group:
            assert option.word in words[name].opts, option
            assert f"{name}: {option.help}" in getattr(tcpwhy, command).__doc__


def test_every_option_belongs_to_a_command():
    assert {name for option in OPTIONS for name in option.commands} == set(COMMANDS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"workers": 0}, "workers must be at least 1, not 0"),
        ({"compat": "yes"}, "compat must be one of seed, not 'yes'"),
        ({"interval": "3 parsecs"}, "not a duration"),
        ({"pace": 0.0}, "pace must be above 0"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused(given, message, tmp_path):
    with pytest.raises(tcpwhy.UsageError, match=message):
        tcpwhy.analyze(tmp_path / "none.pcap", **given)


def test_an_unknown_option_is_refused_as_of_any_function(tmp_path):
    with pytest.raises(TypeError, match="unexpected keyword argument 'worker'"):
        tcpwhy.analyze(tmp_path / "none.pcap", worker=1)


def test_values_are_converted_to_base_units():
    assert settled("analyze", {"interval": "500ms", "workers": None}) == {"interval": 500_000_000}
    assert settled("monitor", {"ring_bytes": "64MiB"}) == {"ring_bytes": 2**26}
