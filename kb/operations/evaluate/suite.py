"""Makes golden sets: of a judged folder, `kb eval import`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kb.config import Config
from kb.errors import UsageError
from kb.eval.golden import GoldenSet
from kb.eval.golden_file import write_golden
from kb.eval.judged_folder import count_questions, read_judged_folder
from kb.private import make_folder_for_user, open_for_user
from kb.writable import require_writable


def suite_file(config: Config, named: str | None) -> Path:
    """The golden file that `--suite` names, or the configured one."""
    return Path(named).expanduser().absolute() if named else config.eval_suite


def import_suite(
    folder: Path, target: Path, *, queries: str, qrels: str, prefix: str, suite: str | None, force: bool
) -> tuple[GoldenSet, int]:
    """Writes the golden set of a judged folder to `target`; `qrels` may be missing where questions say `answerable`.

    Returns it, and how many questions were left out because nothing says what answers them.
    Raises: GoldenInvalid; UsageError where `target` exists.
    """
    require_writable("the golden set")
    if target.exists() and not force:
        raise UsageError(f"{target} exists already", "name another with --suite, or replace it with --force")
    judged = folder / qrels
    golden = read_judged_folder(
        folder / queries, judged if judged.exists() else None, suite=suite or folder.name, prefix=prefix
    )
    try:
        make_folder_for_user(target.parent)
        with open_for_user(target) as file:
            file.write(write_golden(golden))
    except OSError as error:
        raise UsageError(f"{target} cannot be written: {error.strerror}", "name another file with --suite") from error
    return golden, count_questions(folder / queries) - len(golden.questions)


def require_search_settings(settings: Sequence[str]) -> None:
    """Raises UsageError for a setting that a run cannot try out, because the index would have to be rebuilt."""
    for setting in settings:
        if not setting.startswith(("search.", "rerank.", "rag.", "models.llm.")):
            key = setting.partition("=")[0]
            raise UsageError(
                f"a run asks the index as it is: --set takes search.…, rerank.… and rag.…, not {key!r}",
                "change it in the configuration, run kb ingest, then kb eval run",
            )
