"""How commands describe themselves: options under titles, examples, man pages."""

from collections.abc import Iterator, Mapping

import click

from tcpwhy.cli._options import Grouped

SECTIONS = ("Captures", "Live links", "Stores", "Hosts and tests", "Models and simulations", "Help")
"""Titles under which commands are listed; a module names its own in `SECTION`."""


class Described(click.Command):
    """A command with its section and its examples."""

    section = SECTIONS[-1]
    examples: tuple[str, ...] = ()
    """Lines to type, each with what it does before it as a comment."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options under their titles."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            # An argument stands in the line of usage, and the text says what it is.
            if record is not None and record[1]:
                title = parameter.group if isinstance(parameter, Grouped) else None
                groups.setdefault(title or "Options", []).append(record)
        # What every command has comes last.
        last = groups["Options"].pop() if groups["Options"] else None
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)
        if last:
            with formatter.section("Help"):
                formatter.write_dl([last])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Show the examples."""
        if self.examples:
            with formatter.section("Examples"):
                formatter.write("".join(f"  {line}\n" for line in self.examples))


class DescribedGroup(Described, click.Group):
    """A group of commands, likewise."""

    command_class = Described
    examples_of: Mapping[str, tuple[str, ...]] = {}
    """Examples by the name of a command in the group."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, with its examples."""
        found = super().get_command(ctx, cmd_name)
        if isinstance(found, Described):
            found.examples = self.examples_of.get(cmd_name, ())
        return found

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the options, then the commands."""
        Described.format_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with its whole line."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, one.get_short_help_str(limit=200)) for name, one in found if one]
            )


def man_pages(group: click.Group, version: str) -> Iterator[tuple[str, str]]:
    """Give the manual pages of a command and of those in it, by file name, as roff (man(7))."""
    context = click.Context(group, info_name="tcpwhy", max_content_width=78)
    yield "tcpwhy.1", _page(group, context, version)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None:
            inner = click.Context(command, info_name=name, parent=context)
            yield f"tcpwhy-{name}.1", _page(command, inner, version)


def _page(command: click.Command, context: click.Context, version: str) -> str:
    name = context.command_path.replace(" ", "-")
    short = command.get_short_help_str(limit=200).rstrip(".")
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [f'.TH "{name.upper()}" 1 "" "tcpwhy {version}" "tcpwhy"', ".SH NAME"]
    lines += [f"{_roff(name)} \\- {_roff(short)}", ".SH SYNOPSIS"]
    lines += [f".B {_roff(context.command_path)}", _roff(usage), ".SH DESCRIPTION"]
    for part in (command.help or "").split("\n\n"):
        lines += [".PP", _roff(" ".join(part.split()))]
    if isinstance(command, click.Group):
        lines.append(".SH COMMANDS")
        for inner_name in command.list_commands(context):
            inner = command.get_command(context, inner_name)
            summary = inner.get_short_help_str(limit=200) if inner else ""
            lines += [".TP", f".B {_roff(inner_name)}", _roff(summary)]
    lines.append(".SH OPTIONS")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and record[1]:
            lines += [".TP", f".B {_roff(record[0])}", _roff(" ".join(record[1].split()))]
    examples = getattr(command, "examples", ())
    if examples:
        lines += [".SH EXAMPLES", ".nf", *map(_roff, examples), ".fi"]
    if context.parent is not None:
        lines += [".SH SEE ALSO", ".BR tcpwhy (1)"]
    return "\n".join(lines) + "\n"


def _roff(text: str) -> str:
    """Escape what roff would take for its own."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped[:1] in (".", "'") else escaped
