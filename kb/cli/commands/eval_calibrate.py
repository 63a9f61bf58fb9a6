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
  kb eval calibrate --answerable known.jsonl --unanswerable unknown.txt --apply
  kb eval calibrate --reset
""",
)
@click.option("--answerable", type=click.Path(path_type=Path), metavar="FILE", help="Questions the notes answer.")
@click.option("--unanswerable", type=click.Path(path_type=Path), metavar="FILE", help="Questions they do not.")
@click.option("--apply", "applies", is_flag=True, help="Switch to the refit, unless it does worse.")
@click.option("--reset", is_flag=True, help="Go back to the calibration that kb came with.")
@json_option("Print eval_calibration.v1.")
@pass_call
def command(
    call: Call, answerable: Path | None, unanswerable: Path | None, applies: bool, reset: bool, as_json: bool
) -> None:
    """Fit what kb ask answers and refuses to your own questions, and see what changes before anything does.

    A file has one question per line: plain text, or JSON. {"text": "when is it due?", "expected": "notes/a.md"} says
    where the answer is (a path, path#L3-L9, or a list of them), "must_contain": ["2 years"] what belongs in it: how
    often answers are right is fitted to such lines, whether a question is refused to all. It takes 30 questions of each
    kind. What moving rag.score_gate and rag.answer_precision would do is in the tables.

    Where passages are not read, the older gate is fitted; {"text": …, "target_lang": "en"} says there that the answer
    is in another language. kb doctor shows what is in use.
    """
    from kb.cli.interrupt import interruptible
    from kb.cli.output.printing import echo_folded
    from kb.cli.output.progress import show_count
    from kb.errors import UsageError
    from kb.operations.evaluate.calibrate import apply_calibration, reset_calibration
    from kb.operations.evaluate.calibrate import calibrate as fit_gate
    from kb.operations.session.session import open_session

    if reset:
        if answerable or unanswerable or applies or as_json:
            raise UsageError("--reset goes alone", "kb eval calibrate --reset")
        removed = reset_calibration(call.config)
        click.echo(f"as shipped; forgotten: {', '.join(removed)}" if removed else "as shipped: nothing was fitted")
        return
    if not answerable or not unanswerable:
        raise UsageError("it takes questions of both kinds", "kb eval calibrate --answerable FILE --unanswerable FILE")
    many = open_session(call.config, many=True)
    with many as session, show_count() as on_event, interruptible(on_event) as handle:
        report = fit_gate(session, answerable, unanswerable, handle)
    if not as_json:
        from kb.cli.show.calibration import show_calibration

        show_calibration(report)
    if report.note:
        echo_folded(report.note, head="note: ", err=True)
    applied = apply_calibration(call.config, report) if applies else ()
    if as_json:
        from kb.wire.evaluate.eval_calibration import eval_calibration_v1

        print_json(eval_calibration_v1(report, applied))
    elif applied:
        click.echo(f"now in force: {', '.join(applied)}; kb eval calibrate --reset goes back", err=True)
