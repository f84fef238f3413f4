"""The options of runs, as the core declares them: checked, converted, and put into signatures.

`crates/io/src/option/declared.rs` is the one place where an option is declared.
"""

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from tcpwhy import _core
from tcpwhy._core import UsageError
from tcpwhy.units import as_bytes, nanoseconds, quantity

Function = TypeVar("Function", bound=Callable[..., Any])


class Option(NamedTuple):
    """An option."""

    name: str
    commands: list[str]
    group: str | None
    """Under which title help lists it; an option of the Python interface alone has none."""
    kind: str
    """duration, count, bytes, factor, text, path, choice or flag."""
    least: int | None
    choices: list[str]
    metavar: str | None
    default: int | str | bool | None
    """In the base unit; None where something else happens, which `unless` says."""
    unless: str | None
    help: str

    @property
    def word(self) -> str:
        """The word on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def shown_default(self) -> str:
        """The default as people write it."""
        if self.default is None:
            return str(self.unless)
        if self.kind == "duration":
            return _short(int(self.default))
        if self.kind == "bytes" and int(self.default) >= 2**20:
            return f"{int(self.default) >> 20}MiB"
        if self.kind == "count":
            return f"{int(self.default):,}"
        return str(self.default)

    def settled(self, value: Any) -> Any:
        """Check a value, and convert it to what the core takes.

        Raises:
            UsageError: for a value that makes no sense.

        """
        if self.kind == "duration":
            return nanoseconds(value)
        if self.kind == "flag":
            return bool(value)
        if self.kind == "factor":
            return float(value)
        if self.kind == "bytes":
            value = int(quantity(str(value), "bytes"))
        if self.kind in ("bytes", "count"):
            if self.least is not None and value < self.least:
                least = as_bytes(self.least) if self.least >= 2**20 else f"{self.least}"
                raise UsageError(f"{self.name} must be at least {least}, not {value}")
            return int(value)
        if self.kind == "choice" and value not in self.choices:
            known = ", ".join(self.choices)
            raise UsageError(f"{self.name} must be one of {known}, not {value!r}")
        return os.fspath(value) if self.kind == "path" else str(value)


def _short(ns: int) -> str:
    """Write a span of time as options have it: 3s, 100ms."""
    for unit, size in (("s", 10**9), ("ms", 10**6), ("us", 10**3)):
        if ns % size == 0:
            return f"{ns // size}{unit}"
    return f"{ns}ns"


OPTIONS = tuple(Option(**entry) for entry in _core.options())
"""Every option, in the order of help."""


def options_of(command: str) -> dict[str, Option]:
    """Give the options of a command by name."""
    return {option.name: option for option in OPTIONS if command in option.commands}


def settled(command: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check the options that are given, and convert them to base units; None is the default.

    Raises:
        TypeError: for an option that the command does not have, as of any function.
        UsageError: for a value that makes no sense.

    """
    known = options_of(command)
    for name in given:
        if name not in known:
            raise TypeError(f"{command}() got an unexpected keyword argument {name!r}")
    return {name: known[name].settled(value) for name, value in given.items() if value is not None}


def takes_options(function: Function) -> Function:
    """Write the options of a command into the signature and the description of its function."""
    options = options_of(function.__name__)
    signature = inspect.signature(function)
    kept = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    added = [
        inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=None)
        for option in options.values()
    ]
    written: Any = function
    written.__signature__ = signature.replace(parameters=kept + added)
    lines = [
        f"        {option.name}: {option.help} Unless given: {option.shown_default}.\n"
        for option in options.values()
    ]
    place = "        **options: "
    function.__doc__ = (function.__doc__ or "").replace(place, f"{''.join(lines)}{place}")
    return function
