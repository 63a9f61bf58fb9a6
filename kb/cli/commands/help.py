"""`kb help` and `kb completion`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from kb.cli.call import HelpContext


@click.command(
    "help",
    epilog="""\b
Examples:
  kb help search            # as kb search --help
  kb help models install
""",
)
@click.argument("words", nargs=-1, metavar="[COMMAND]...")
@click.pass_context
def help_command(ctx: click.Context, words: tuple[str, ...]) -> None:
    """Show how kb, or one of its commands, is called: what --help shows."""
    shown = ctx.find_root()
    for word in words:
        group = shown.command
        if not isinstance(group, click.Group):
            ctx.fail(f"{shown.command_path} has no commands.")
        name, found, _ = group.resolve_command(shown, [word])
        assert found is not None  # it fails where there is none
        shown = HelpContext(found, parent=shown, info_name=name)
    click.echo(shown.get_help(), color=ctx.color)


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
@click.pass_context
def completion_command(ctx: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    complete = get_completion_class(shell)
    assert complete is not None  # click has one for each choice
    click.echo(complete(ctx.find_root().command, {}, "kb", "_KB_COMPLETE").source())
