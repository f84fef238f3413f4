"""The command line. A command is a module here with a click command named `command`.

Modules are imported when they are asked for, and import what is heavy when they run.
"""

import difflib
import errno
import importlib
import os
import pkgutil
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import click

from tcpwhy._core import TcpwhyError, __version__

INTERRUPTED = 130
"""Exit code after Ctrl-C, SIGTERM or SIGHUP: everything finished so far is written."""


class ReaderGoneError(Exception):
    """Whoever read standard output has seen enough. click takes a BrokenPipeError for a fault."""


class Commands(click.Group):
    """Finds the commands in this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands."""
        names = (module.name for module in pkgutil.iter_modules(__path__))
        return sorted(name for name in names if not name.startswith("_"))

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one command, with its section and its examples."""
        if cmd_name not in self.list_commands(ctx):
            return None
        module = importlib.import_module(f"{__name__}.{cmd_name}")
        command: click.Command = module.command
        vars(command).update(section=module.SECTION, examples=module.EXAMPLES)
        if isinstance(command, click.Group):
            vars(command)["examples_of"] = module.EXAMPLES_OF
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Understand what people type who know other commands: a file alone, -r FILE, help."""
        first, *rest = args or [""]
        if first == "help":
            args = [*rest, "--help"]
        elif first == "-r" or (first not in self.list_commands(ctx) and _is_input(first)):
            args = ["analyze", *args]
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; of a misspelt name say what may be meant."""
        name = args[0]
        known = self.list_commands(ctx)
        if name not in known and not name.startswith("-"):
            alike = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            meant = f"did you mean {' or '.join(alike)}" if alike else "tcpwhy --help lists them"
            what = "no file and no command" if "." in name or "/" in name else "no command"
            raise click.UsageError(f"{what} {name!r}: {meant}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by section."""
        from tcpwhy.cli._help import SECTIONS

        found = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        for section in SECTIONS:
            rows = [
                (name, command.get_short_help_str(limit=200))
                for name, command in found.items()
                if command is not None and vars(command)["section"] == section
            ]
            with formatter.section(section):
                formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error


def _is_input(name: str) -> bool:
    return name == "-" or Path(name).is_file()


def _columns() -> int:
    """Give the width of help: that of the terminal."""
    return min(shutil.get_terminal_size((100, 24)).columns, 120)


@click.command(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": _columns()},
    epilog="Start with: tcpwhy CAPTURE.  tcpwhy COMMAND --help has examples.",
)
@click.version_option(__version__, "-V", "--version", message="%(prog)s %(version)s")
def tcpwhy() -> None:
    """Find out what limits every TCP connection, how sure that is, and how to fix it.

    Standard output is data, standard error is progress and log. Exit codes: 0 ok; 1 output that
    cannot be written; 2 usage; 3 input unreadable or damaged (rows found so far are written);
    4 missing privilege; 130 interrupted (everything finished so far is written).
    """


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line, and exit with the code of the contract."""
    from tcpwhy.cli._stopping import interrupt

    came = interrupt()
    if sys.stdout is None:
        _refuse_output()
    try:
        code = tcpwhy.main(arguments, prog_name="tcpwhy", standalone_mode=False) or 0
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        code = error.exit_code
    except click.UsageError as error:
        usage = error.ctx.command_path if error.ctx else "tcpwhy"
        code = _complain(f"{error.format_message().rstrip('.')} (see {usage} --help)", 2)
    except TcpwhyError as error:
        code = _complain(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except (ReaderGoneError, BrokenPipeError):
        _give_up_output()
        code = 0
    except OSError as error:
        named = error.filename or _STANDARD_OUTPUT.get(error.errno or 0)
        where = f"{named}: " if named else ""
        code = _complain(f"{where}{error.strerror or error}", 1)
        _give_up_output()
    except Exception:
        # DuckDB makes errors of its own of an interruption.
        if not came:
            raise
        code = INTERRUPTED
    sys.exit(code)


_STANDARD_OUTPUT = dict.fromkeys((errno.EBADF, errno.ENOSPC), "standard output")
"""What an error of writing without a file's name was about."""


def _refuse_output() -> None:
    """Have writing to a standard output that was closed before the start (>&-) fail."""
    sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")


def _give_up_output() -> None:
    """Keep Python from complaining when it flushes standard output at its exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str, code: int) -> int:
    click.echo(f"tcpwhy: {message}", err=True)
    return code
