"""`kb completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kb.cli.call import Call, pass_call


@click.command(
    "completion",
    epilog="""\b
Examples:
  kb completion bash >> ~/.bashrc
  kb completion zsh >> ~/.zshrc
  kb completion fish > ~/.config/fish/completions/kb.fish
""",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@pass_call
def command(call: Call, shell: str) -> None:
    """Print the completion script of a shell."""
    from kb.cli.main import cli

    complete = get_completion_class(shell)
    if complete is not None:
        click.echo(complete(cli, {}, "kb", "_KB_COMPLETE").source())
