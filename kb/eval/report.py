"""Writes the report of a run into its folder, for programs and people, and a comparison of two runs as a page.

The page is one self-contained HTML file: figures, and the questions that changed most with both rankings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path

from kb.domain.results.evaluation import (
    PRIMARY,
    Answered,
    Comparison,
    EvalRun,
    GroupMetrics,
    MetricChange,
    MovedQuestion,
)
from kb.errors import write_errors
from kb.eval.comparison import LEVEL, METRICS, p_text
from kb.private import make_private_folder
from kb.store import queries


def write_run_files(folder: Path, run: EvalRun, results: Iterable[queries.ResultRow]) -> None:
    """Writes both files of a run. Raises: StoreReadOnly."""
    with write_errors(folder, "set storage.runs_dir"):
        make_private_folder(folder)
        (folder / "report.md").write_text(report_page(run), encoding="utf-8")
        with (folder / "per_query.jsonl").open("w", encoding="utf-8") as file:
            for result in results:
                line = {"query_id": result.query_id, **json.loads(result.result_json)}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def report_page(run: EvalRun) -> str:
    """The mean metrics of a run as Markdown, over all questions and for each group."""
    head = f"# {run.label}: {run.suite}\n\n{run.mode}, k = {run.k}, {run.created_at}\n\n"
    return head + markdown_table(run.groups) + f"\n\n```json\n{run.versions_json}\n{run.config_snapshot_json}\n```\n"


def markdown_table(groups: Sequence[GroupMetrics]) -> str:
    """A Markdown table with one row per group; metrics that no question has are left out."""
    shown = [metric for metric in METRICS if any(getattr(group, metric.name) is not None for group in groups)]
    columns = ["questions", *(metric.label for metric in shown), "p50 ms", "p95 ms"]
    lines = ["| | " + " | ".join(columns) + " |", "| --- |" + " ---: |" * len(columns)]
    for group in groups:
        values = [getattr(group, metric.name) for metric in shown]
        cells = [str(group.questions), *("" if value is None else f"{value:.4f}" for value in values)]
        cells += [f"{group.latency_p50_ms:.1f}", f"{group.latency_p95_ms:.1f}"]
        lines.append(f"| {group.label or group.grouping} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


MOVED_SHOWN = 12
HITS_SHOWN = 5

_VERDICTS = {
    "better": "Better",
    "worse": "Worse",
    "undecided": "No difference beyond the noise",
    "not_comparable": "Not comparable",
}

_STYLE = Path(__file__).with_name("report.css")


def comparison_page(comparison: Comparison) -> str:
    """The comparison as one HTML page."""
    before, after = comparison.before.run.label, comparison.after.run.label
    title = f"{before} → {after}"
    parts = [
        _head(comparison, title),
        _metrics(comparison),
        _groups(comparison),
        _moved(comparison),
        _provenance(comparison),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    style = _STYLE.read_text(encoding="utf-8")
    return f"<!doctype html>\n<html lang=en>{head}<style>{style}</style><main>{''.join(parts)}</main></html>\n"


def _head(comparison: Comparison, title: str) -> str:
    run = comparison.after.run
    asked = len(comparison.before.answered.keys() & comparison.after.answered.keys())
    return (
        f"<h1>{escape(title)}</h1>"
        f'<p class="soft">{escape(run.suite)} · {asked} questions · {run.k} hits each · {run.created_at[:10]}</p>'
        f'<div class="verdict {comparison.verdict}"><b>{_VERDICTS[comparison.verdict]}</b>'
        f"<span>{escape(verdict_reason(comparison))}</span></div>"
    )


def verdict_reason(comparison: Comparison) -> str:
    """The reason for the verdict, as a sentence."""
    if comparison.obstacles:
        return "; ".join(comparison.obstacles) + "."
    if comparison.regressed:
        fell = ", ".join(f"{change.metric.label} {change.difference:+.3f}" for change in comparison.regressed)
        return f"{fell}: beyond the tolerance of {comparison.tolerance:g}."
    primary = next((change for change in comparison.metrics if change.metric.name == PRIMARY), None)
    if primary is None:
        return "No question expects anything that could be ranked."
    said = f"nDCG@10 {primary.difference:+.3f}, {LEVEL:.0%} interval {_interval(primary)}, p {p_text(primary.p_value)}"
    if comparison.verdict == "better":
        return f"{said}; no metric fell beyond the tolerance of {comparison.tolerance:g}."
    if not comparison.moved:
        return "Every question is ranked as well as before."
    return f"{said}: other questions could as well show the opposite. No metric fell beyond {comparison.tolerance:g}."


def _metrics(comparison: Comparison) -> str:
    rows = "".join(
        f'<tr><td title="{escape(change.metric.meaning)}">{escape(change.metric.label)}</td>'
        f'<td class="figure">{change.before:.3f}</td><td class="figure">{change.after:.3f}</td>'
        f'<td class="figure {_direction(change)}">{change.difference:+.3f}</td>'
        f'<td class="figure soft">{_interval(change)}</td><td class="figure soft">{escape(p_text(change.p_value))}</td>'
        f'<td class="figure soft">{change.questions}</td></tr>'
        for change in comparison.metrics
    )
    note = "Paired bootstrap interval and randomisation p-value over questions."
    return (
        f'<section><h2>Metrics</h2><p class="note">{note}</p>'
        f"{_table(('metric', 'before', 'after', 'change', f'{LEVEL:.0%} interval', 'p', 'n'), rows)}</section>"
    )


def _direction(change: MetricChange) -> str:
    """`worse` or `better` if the change exceeds the noise, else ""."""
    return "worse" if change.regressed or change.high < 0 else "better" if change.low > 0 else ""


def _groups(comparison: Comparison) -> str:
    """The means of nDCG@10 of both runs by language and category."""
    old = {(group.grouping, group.label): group.ndcg_at_10 for group in comparison.before.run.groups}
    rows = "".join(
        f'<tr><td>{escape(group.label)}</td><td class="figure">{before:.3f}</td>'
        f'<td class="figure">{group.ndcg_at_10:.3f}</td><td class="figure soft">{group.questions}</td></tr>'
        for group in comparison.after.run.groups
        if group.label
        and group.ndcg_at_10 is not None
        and (before := old.get((group.grouping, group.label))) is not None
    )
    return (
        f"<section><h2>nDCG@10 by group</h2>{_table(('group', 'before', 'after', 'n'), rows)}</section>" if rows else ""
    )


def _table(heads: Sequence[str], rows: str) -> str:
    """A table whose columns after the first hold figures."""
    header = "".join(f"<th{' class=figure' if at else ''}>{head}</th>" for at, head in enumerate(heads))
    return f"<table><thead><tr>{header}</tr></thead><tbody>{rows}</tbody></table>"


def _moved(comparison: Comparison) -> str:
    shown = comparison.moved[:MOVED_SHOWN]
    note = f"{len(comparison.moved)} in all; the {len(shown)} that changed most. Relevant hits are marked."
    return (
        f'<section><h2>Questions that moved</h2><p class="note">{note if shown else "None."}</p>'
        + "".join(_question(moved, comparison) for moved in shown)
        + "</section>"
    )


def _question(moved: MovedQuestion, comparison: Comparison) -> str:
    sign = "gain" if moved.change > 0 else "loss"
    metrics = moved.after.metrics
    fell = (f"{change.metric.label} fell" for change in comparison.regressed if change.metric.name in moved.fell)
    about = " · ".join(filter(None, (moved.query_id, metrics.lang, metrics.category, *fell)))
    columns = "".join(
        f'<div class="card"><p class="note">{escape(measured.run.label)} · nDCG@10 '
        f"{answered.metrics.ndcg_at_10 or 0:.3f}</p><ol class=hits>{''.join(_hits(answered))}</ol></div>"
        for measured, answered in ((comparison.before, moved.before), (comparison.after, moved.after))
    )
    return (
        f'<div class="question"><h3><b class="{sign}">{moved.change:+.3f}</b> {escape(moved.after.query)}'
        f'<span>{escape(about)}</span></h3><div class="pair">{columns}</div></div>'
    )


def _hits(answered: Answered) -> Iterator[str]:
    shown = answered.shown_hits(HITS_SHOWN)
    if not shown:
        yield '<li class="soft">no hits</li>'
    for hit in shown:
        relevant = ' class="relevant"' if hit.grade else ""
        yield f"<li{relevant}><i>{hit.rank}</i><span>{escape(hit.citation)}</span></li>"


def _provenance(comparison: Comparison) -> str:
    rows = "".join(
        f"<tr><td>{side}</td><td>{escape(run.name or '–')}</td><td><code>{run.run_id}</code></td><td>{run.mode}</td>"
        f'<td class="figure">{group.latency_p50_ms:.1f}</td><td class="figure">{group.latency_p95_ms:.1f}</td>'
        f"<td>{escape(run.created_at[:19])} UTC</td></tr>"
        for side, measured in (("before", comparison.before), ("after", comparison.after))
        for run in (measured.run,)
        for group in measured.run.groups
        if group.grouping == "all"
    )
    heads = "".join(f"<th>{head}</th>" for head in ("", "name", "run", "mode", "p50 ms", "p95 ms", "when"))
    differs = "".join(f"<li><code>{escape(line)}</code></li>" for line in comparison.differs) or "<li>nothing</li>"
    corpus = escape(comparison.after.run.corpus_hash[:16])
    return (
        f"<section><h2>Runs</h2><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="note" style="margin-top:14px">Corpus <code>{corpus}</code>. What differs between the runs:</p>'
        f'<ul class="differs">{differs}</ul></section>'
    )


def _interval(change: MetricChange) -> str:
    return f"[{change.low:+.3f}, {change.high:+.3f}]".replace("-", "−")
