"""`kb doctor`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import click

from kb.cli.call import Call, json_option, pass_call, print_json
from kb.cli.interrupt import interruptible
from kb.cli.output.printing import BAD, GOOD, QUIET, Style, echo_folded, styled
from kb.cli.output.progress import show_stage
from kb.cli.output.terminal import plain_line
from kb.domain.checks import Diagnosis, State
from kb.operations.doctor.doctor import diagnose

_MARKS: Mapping[State, tuple[str, Style]] = {
    "ok": ("✓", GOOD),
    "failed": ("✗", BAD),
    "absent": ("–", QUIET),
    "unchecked": ("–", QUIET),
}


@click.command("doctor", epilog="\b\nExamples:\n  kb doctor\n  kb doctor --json | jq '.checks[] | select(.ok | not)'\n")
@click.option("--quick", is_flag=True, help="Leave out what reads the whole database: pages, indexes, references.")
@json_option("Print doctor.v1.")
@pass_call
def command(call: Call, quick: bool, as_json: bool) -> int:
    """Check the installation, the index and the models. Exit code 3 when a check fails.

    ✓ is in order, ✗ is a fault; – is optional and not here, or could not be checked.
    """
    with show_stage() as on_event, interruptible(on_event) as handle:
        checks = diagnose(call.config, quick=quick, handle=handle)
    states = Counter(check.state for check in checks)
    if as_json:
        print_json(Diagnosis(tuple(checks)))
    else:
        for check in checks:
            mark, style = _MARKS[check.state]
            echo_folded(plain_line(check.detail), head=f"{styled(mark, style)} {check.name:<18} ")
            if check.hint:
                echo_folded(check.hint, head="    hint: ")
        click.echo(_summary(states))
    return 3 if states["failed"] else 0


def _summary(states: Mapping[State, int]) -> str:
    failed, absent = states["failed"], states["absent"]
    words = f"{failed} check{'s' * (failed > 1)} failed" if failed else "all checks passed"
    return f"{words}; {absent} optional part{'s are' if absent > 1 else ' is'} not here (–)." if absent else f"{words}."
