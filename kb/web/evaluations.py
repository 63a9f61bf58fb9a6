"""Evaluation for the page: runs, two of them compared, what cites lines that changed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kb.eval.report_html import verdict_reason
from kb.operations.evaluate.compare import compare_runs
from kb.operations.evaluate.impact import impact_now
from kb.operations.evaluate.runs import list_runs
from kb.operations.evaluate.suite import suite_file
from kb.operations.session.session import Session
from kb.wire.evaluate.eval_comparison import eval_comparison_v1
from kb.wire.evaluate.eval_impact import eval_impact_v1
from kb.wire.evaluate.eval_run import eval_run_v1, kept_groups

_TOLERANCE = 0.01  # as that of kb eval compare
_MOST_MOVED = 2_000


def evaluation_routes(session: Session) -> list[Route]:
    """The addresses of evaluation runs."""

    def runs(request: Request) -> Response:
        return JSONResponse([eval_run_v1(row, kept_groups(row)) for row in list_runs(session)])

    def comparison(request: Request) -> Response:
        before, after = request.query_params.get("before"), request.query_params.get("after")
        found = compare_runs(session, before, after, tolerance=_TOLERANCE)
        return JSONResponse(eval_comparison_v1(found, verdict_reason(found), moved=_MOST_MOVED))

    def impact(request: Request) -> Response:
        found = impact_now(session, suite_file(session.config, None))
        return JSONResponse([eval_impact_v1(each) for each in found])

    return [
        Route("/api/impact", impact),
        Route("/api/runs", runs),
        Route("/api/comparison", comparison),
    ]
