"""Evaluation for the page: runs, two of them compared, what cites lines that changed."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kb.domain.results.comparison import ExplainedComparison
from kb.domain.results.measured import EvalRun
from kb.eval.report_html import verdict_reason
from kb.operations.evaluate.compare import compare_runs
from kb.operations.evaluate.impact import impact_now
from kb.operations.evaluate.runs import list_runs
from kb.operations.evaluate.suite import suite_file
from kb.operations.session.session import Session
from kb.wire.derive import to_wire

_TOLERANCE = 0.01  # as that of kb eval compare
_MOST_MOVED = 2_000


def evaluation_routes(session: Session) -> list[Route]:
    """The addresses of evaluation runs."""

    def runs(request: Request) -> Response:
        return JSONResponse([to_wire(EvalRun(row, row.kept_groups)) for row in list_runs(session)])

    def comparison(request: Request) -> Response:
        before, after = request.query_params.get("before"), request.query_params.get("after")
        found = compare_runs(session, before, after, tolerance=_TOLERANCE)
        return JSONResponse(to_wire(ExplainedComparison(found, verdict_reason(found), found.moved[:_MOST_MOVED])))

    def impact(request: Request) -> Response:
        found = impact_now(session, suite_file(session.config, None))
        return JSONResponse([to_wire(each) for each in found])

    return [
        Route("/api/impact", impact),
        Route("/api/runs", runs),
        Route("/api/comparison", comparison),
    ]
