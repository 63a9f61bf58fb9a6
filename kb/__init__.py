"""kb: one person's local knowledge base, in one SQLite file.

`open_knowledge_base` is the way in for programs (docs/python.md); it is imported when it is first asked for.
docs/adding.md says which files each kind of change takes.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from kb.api import (
        Added,
        Answer,
        AnswerCheck,
        AnswerCitation,
        AnswerSummary,
        AskEvent,
        BaseStatus,
        Citation,
        Conversation,
        Fetched,
        FetchedPlace,
        FetchTarget,
        IngestEvent,
        IngestReport,
        KnowledgeBase,
        Listed,
        RunHandle,
        RunReport,
        SearchFilters,
        SearchHit,
        SearchPage,
        SearchResult,
        StepProgress,
        open_knowledge_base,
        to_json,
    )

__version__ = "0.1.0"

__all__ = [
    "Added",
    "Answer",
    "AnswerCheck",
    "AnswerCitation",
    "AnswerSummary",
    "AskEvent",
    "BaseStatus",
    "Citation",
    "Conversation",
    "FetchTarget",
    "Fetched",
    "FetchedPlace",
    "IngestEvent",
    "IngestReport",
    "KnowledgeBase",
    "Listed",
    "RunHandle",
    "RunReport",
    "SearchFilters",
    "SearchHit",
    "SearchPage",
    "SearchResult",
    "StepProgress",
    "__version__",
    "open_knowledge_base",
    "to_json",
]

if not TYPE_CHECKING:  # with it, type checkers would take any name for one of kb

    def __getattr__(name: str) -> object:
        """Imports the names of `kb.api` on first use, so the command line does not load it."""
        if name.startswith("__") or name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        return getattr(import_module("kb.api"), name)
