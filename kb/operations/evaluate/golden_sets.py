"""Makes golden sets: from a judged folder (`kb eval import`), and from judgements of hits (`kb eval judge`)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from kb.config import Config
from kb.domain.citations import Citation, cited_lines
from kb.errors import UsageError, write_errors
from kb.eval.golden import Expectation, GoldenSet, Question, parse_golden, question_yaml, read_golden, write_golden
from kb.eval.question_files import count_questions, read_judged_folder
from kb.language.detect import query_language
from kb.private import make_folder_for_user, open_for_user, require_writable


def suite_file(config: Config, named: str | None) -> Path:
    """The golden file that `--suite` names, or the configured one."""
    return Path(named).expanduser().absolute() if named else config.eval_suite


def import_suite(
    folder: Path, target: Path, *, queries: str, qrels: str, prefix: str, suite: str | None, force: bool
) -> tuple[GoldenSet, int]:
    """Writes the golden set of a judged folder to `target`; `qrels` may be missing if the questions have `answerable`.

    Returns the golden set and the number of questions that were left out because they have no judgement. Raises:
    GoldenInvalid; UsageError if `target` exists.
    """
    require_writable("the golden set")
    if target.exists() and not force:
        raise UsageError(f"{target} exists already", "name another with --suite, or replace it with --force")
    judged = folder / qrels
    golden = read_judged_folder(
        folder / queries, judged if judged.exists() else None, suite=suite or folder.name, prefix=prefix
    )
    _write(target, write_golden(golden))
    return golden, count_questions(folder / queries) - len(golden.questions)


def require_search_settings(settings: Sequence[str]) -> None:
    """Raises UsageError for a setting that a run cannot try, because the index would have to be rebuilt."""
    for setting in settings:
        if not setting.startswith(("search.", "rerank.", "rag.", "models.llm.")):
            key = setting.partition("=")[0]
            raise UsageError(
                f"a run asks the index as it is: --set takes search.…, rerank.… and rag.…, not {key!r}",
                "change it in the configuration, run kb ingest, then kb eval run",
            )


def judged_question(suite: Path, query: str, judged: Sequence[tuple[Citation, int]], category: str | None) -> Question:
    """A question that expects the places judged above 0, each by its lines; unanswerable if there are none.

    Its id is new in the golden set. Raises: GoldenInvalid.
    """
    taken = {question.id for question in read_golden(suite).questions} if suite.exists() else set()
    number = next(number for number in range(1, len(taken) + 2) if f"q{number:03}" not in taken)
    expected = tuple(
        Expectation(
            grade, 0, path=place.path, lines=(lines.start, lines.end) if (lines := cited_lines(place)) else None
        )
        for place, grade in judged
        if grade > 0
    )
    return Question(f"q{number:03}", query, 0, query_language(query), category, bool(expected), expected)


def append_question(suite: Path, question: Question) -> None:
    """Appends a question to the golden set; the rest of the file does not change.

    Raises: UsageError if the file cannot be written, or has something after its questions.
    """
    require_writable("the golden set")
    text = f"suite: {json.dumps(suite.stem, ensure_ascii=False)}\nquestions:\n"
    if suite.exists():
        text = suite.read_text(encoding="utf-8-sig")
    longer = text + ("" if text.endswith("\n") else "\n") + "\n" + question_yaml(question)
    if parse_golden(longer, suite).questions[-1].id != question.id:
        raise UsageError(f"{suite} does not end with its questions", "move 'questions:' to the end of the file")
    _write(suite, longer)


def _write(suite: Path, text: str) -> None:
    with write_errors(suite, "name another file with --suite", kind=UsageError):
        make_folder_for_user(suite.parent)
        with open_for_user(suite) as file:
            file.write(text)
