"""Evaluation for the page: runs, two of them compared, a fusion rule tried on one, what cites lines that changed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kb.errors import UsageError
from kb.eval.report_html import verdict_reason
from kb.operations.evaluate.compare import compare_runs
from kb.operations.evaluate.impact import impact_now
from kb.operations.evaluate.runs import list_runs
from kb.operations.evaluate.suite import suite_file
from kb.operations.evaluate.trial import try_rule
from kb.operations.session.session import Session
from kb.wire.evaluate.eval_comparison import eval_comparison_v1
from kb.wire.evaluate.eval_impact import eval_impact_v1
from kb.wire.evaluate.eval_run import eval_run_v1, kept_groups
from kb.wire.evaluate.eval_trial import eval_trial_v1

_TOLERANCE = 0.01  # as that of kb eval compare
_MOST_MOVED = 2_000

_NUMBERS = {"lexical_weight": float, "rrf_k": int, "rrf_lexical_weight": float, "depth": int}


def evaluation_routes(session: Session) -> list[Route]:
    """The addresses of evaluation runs."""

    def runs(request: Request) -> Response:
        return JSONResponse([eval_run_v1(row, kept_groups(row)) for row in list_runs(session)])

    def comparison(request: Request) -> Response:
        before, after = request.query_params.get("before"), request.query_params.get("after")
        found = compare_runs(session, before, after, tolerance=_TOLERANCE)
        return JSONResponse(eval_comparison_v1(found, verdict_reason(found), moved=_MOST_MOVED))

    def trial(request: Request) -> Response:
        return JSONResponse(eval_trial_v1(try_rule(session, request.query_params.get("run"), _changes(request))))

    def impact(request: Request) -> Response:
        found = impact_now(session, suite_file(session.config, None))
        return JSONResponse([eval_impact_v1(each) for each in found])

    return [
        Route("/api/impact", impact),
        Route("/api/runs", runs),
        Route("/api/comparison", comparison),
        Route("/api/trial", trial),
    ]


def _changes(request: Request) -> dict[str, str | float | int]:
    """What of the run's rule is to be another. Raises: UsageError."""
    changes: dict[str, str | float | int] = {}
    if rule := request.query_params.get("rule"):
        changes["rule"] = rule
    for name, kind in _NUMBERS.items():
        if (written := request.query_params.get(name)) is None:
            continue
        try:
            changes[name] = kind(written)
        except ValueError as error:
            raise UsageError(f"{name}: {written!r} is no number", "as kb eval tune shows them") from error
    return changes
