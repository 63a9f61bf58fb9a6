"""`kb doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import click

from kb.cli.session import Session, json_option, pass_session, print_json, use_color
from kb.cli.terminal import plain_line
from kb.operations.checks import State
from kb.operations.doctor import diagnose

_MARKS: Mapping[State, tuple[str, str]] = {
    "ok": ("✓", "green"),
    "failed": ("✗", "red"),
    "absent": ("–", "yellow"),
    "unchecked": ("–", "yellow"),
}


@click.command("doctor", epilog="\b\nExamples:\n  kb doctor\n  kb doctor --json | jq '.checks[] | select(.ok | not)'\n")
@json_option("Print doctor.v1.")
@pass_session
def command(session: Session, as_json: bool) -> int:
    """Check that everything kb stands on is as it should be. Exit code 3 when a check fails.

    ✓ is in order, ✗ is a fault; – is optional and not here, or could not be checked.
    """
    checks = diagnose(session.config)
    states = Counter(check.state for check in checks)
    if as_json:
        from kb.wire.doctor import doctor_v1

        print_json(doctor_v1(checks))
    else:
        color = use_color()
        for check in checks:
            mark, hue = _MARKS[check.state]
            shown = click.style(mark, fg=hue) if color else mark
            click.echo(f"{shown} {check.name:<18} {plain_line(check.detail)}")
            if check.hint:
                click.echo(f"    hint: {check.hint}")
        click.echo(_summary(states))
    return 3 if states["failed"] else 0


def _summary(states: Mapping[State, int]) -> str:
    failed, absent = states["failed"], states["absent"]
    words = f"{failed} check{'s' * (failed > 1)} failed" if failed else "all checks passed"
    return f"{words}; {absent} optional part{'s are' if absent > 1 else ' is'} not here (–)." if absent else f"{words}."
