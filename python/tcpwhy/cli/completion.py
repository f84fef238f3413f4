"""`tcpwhy completion`: what a shell needs to complete commands, options and file names."""

import click
from click.shell_completion import get_completion_class

from tcpwhy.cli._help import Described

SECTION = "Help"
EXAMPLES = (
    "# in ~/.bashrc or ~/.zshrc",
    'eval "$(tcpwhy completion bash)"',
    "# for fish",
    "tcpwhy completion fish > ~/.config/fish/completions/tcpwhy.fish",
)


@click.command("completion", cls=Described)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print what a shell needs to complete commands, options and file names."""
    from tcpwhy.cli import tcpwhy

    made = get_completion_class(shell)
    assert made is not None
    click.echo(made(tcpwhy, {}, "tcpwhy", "_TCPWHY_COMPLETE").source())
