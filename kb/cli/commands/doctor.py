"""`kb doctor`."""

from __future__ import annotations

import click

from kb.cli.session import Session, json_option, pass_session, print_json, use_color
from kb.cli.terminal import plain_line
from kb.operations.doctor import diagnose


@click.command("doctor", epilog="\b\nExamples:\n  kb doctor\n  kb doctor --json | jq '.checks[] | select(.ok | not)'\n")
@json_option("Print doctor.v1.")
@pass_session
def command(session: Session, as_json: bool) -> int:
    """Check that everything kb stands on is as it should be. Exit code 3 when a check fails."""
    checks = diagnose(session.config)
    failed = sum(not check.ok for check in checks)
    if as_json:
        from kb.wire.doctor import doctor_v1

        print_json(doctor_v1(checks))
    else:
        color = use_color()
        for check in checks:
            mark = "✓" if check.ok else "✗"
            shown = click.style(mark, fg="green" if check.ok else "red") if color else mark
            click.echo(f"{shown} {check.name:<18} {plain_line(check.detail)}")
            if check.hint:
                click.echo(f"    hint: {check.hint}")
        click.echo("all checks passed." if not failed else f"{failed} check{'s' * (failed > 1)} failed.")
    return 3 if failed else 0
