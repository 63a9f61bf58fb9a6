"""`kb eval calibrate`."""

from __future__ import annotations

from pathlib import Path

import click

from kb.cli.call import Call, json_option, pass_call, print_json


@click.command(
    "calibrate",
    epilog="""\b
Examples:
  kb eval calibrate --answerable known.txt --unanswerable unknown.txt
  kb --set rag.score_gate=0.4 ask "when is it due?"
""",
)
@click.option("--answerable", type=click.Path(path_type=Path), metavar="FILE", help="Questions the notes answer.")
@click.option("--unanswerable", type=click.Path(path_type=Path), metavar="FILE", help="Questions they do not.")
@json_option("Print eval_calibration.v2.")
@pass_call
def command(call: Call, answerable: Path | None, unanswerable: Path | None, as_json: bool) -> None:
    """See what kb ask refuses and answers of your own questions, at each rag.score_gate and rag.answer_precision.

    A file has one question per line: plain text, or JSON. {"text": "when is it due?", "expected": "notes/a.md"} says
    where the answer is (a path, path#L3-L9, or a list of them), "must_contain": ["2 years"] what belongs in it: how
    often answers are right is counted of such lines, whether a question is refused of all. Nothing is changed.
    """
    from kb.cli.interrupt import interruptible
    from kb.cli.output.progress import show_count
    from kb.errors import UsageError
    from kb.operations.evaluate.calibrate import calibrate
    from kb.operations.session.session import open_session

    if not answerable or not unanswerable:
        raise UsageError("it takes questions of both kinds", "kb eval calibrate --answerable FILE --unanswerable FILE")
    many = open_session(call.config, many=True)
    with many as session, show_count() as on_event, interruptible(on_event) as handle:
        report = calibrate(session, answerable, unanswerable, handle)
    if as_json:
        print_json(report)
    else:
        from kb.cli.show.calibration import show_calibration

        show_calibration(report)
