"""A question, its passages and what was said before → the messages a language model is shown.

Each template is a file, `templates/<version>.txt`, and a version is never edited: another wording is another version.
The text of a source is behind a bar on each of its lines, so nothing in it can end the quotation or pass for a
source of its own.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from pathlib import Path

from kb.answer.markers import take_markers
from kb.answer.packing import pack
from kb.domain.answers.answer import Turn
from kb.domain.answers.generation import LanguageModel, Message
from kb.domain.passages import Passage
from kb.domain.text import stored_text
from kb.errors import PromptTooLong

TEMPLATE_VERSIONS = ("rag-v1", "rag-v2", "rag-v3")

_TEMPLATES = Path(__file__).with_name("templates")

# What a model writes, and only that, where the sources hold no answer.
REFUSALS = {"ko": "근거가 부족하다.", "en": "The sources do not answer this."}

_LANGUAGES = {"ko": "Korean (한국어)", "en": "English", "ja": "Japanese", "zh": "Chinese"}


def refusal_sentence(language: str) -> str:
    """What a model is told to write where the sources hold no answer."""
    return REFUSALS.get(language, REFUSALS["en"])


def build_prompt(
    version: str,
    question: str,
    language: str,
    passages: Sequence[Passage],
    history: Sequence[Turn],
    model: LanguageModel,
    budget_tokens: int,
) -> tuple[tuple[Message, ...], tuple[Passage, ...]]:
    """The messages, and the passages that found room in them.

    The instructions and the question always stand whole; then the passages, best first; then the newest turns of the
    conversation, as many as fit. Raises: PromptTooLong where not even the question and one passage fit.
    """
    bare = _messages(version, question, language, (), ())
    left = budget_tokens - model.count_prompt_tokens(bare)
    packed = pack(passages, left, lambda passage: model.count_tokens(show_passage(passage) + "\n\n"))
    if not packed:
        raise PromptTooLong(
            f"the question leaves {max(0, left)} of {budget_tokens} tokens for sources",
            "ask a shorter question, use a model with a larger context window, or answer with --provider extractive",
        )
    messages = _messages(version, question, language, packed, ())
    kept: tuple[Turn, ...] = ()
    for turn in reversed(history):
        longer = _messages(version, question, language, packed, (turn, *kept))
        if model.count_prompt_tokens(longer) > budget_tokens:
            break
        kept, messages = (turn, *kept), longer
    return messages, packed


def show_passage(passage: Passage) -> str:
    """A passage as the prompt shows it: number, place and heading, then its lines behind a bar."""
    heading = " › ".join(passage.heading_path) or passage.title
    place = " ".join(f"[#{passage.number}] {passage.citation.to_uri()} ({heading})".split())
    lines = stored_text(passage.text).splitlines()
    return "\n".join((place, *(f"| {line}" for line in lines)))


def _messages(
    version: str, question: str, language: str, passages: Sequence[Passage], history: Sequence[Turn]
) -> tuple[Message, ...]:
    system, user = template(version)
    values = {"refusal": refusal_sentence(language), "language": _LANGUAGES.get(language, "the question's language")}
    shown = "\n\n".join(map(show_passage, passages))
    turns = [message for turn in history for message in _said(turn)]
    asked = Message("user", filled(user, passages=shown, question=stored_text(question).strip()))
    return (Message("system", filled(system, **values)), *turns, asked)


def _said(turn: Turn) -> tuple[Message, Message]:
    """A turn on one line each: the old markers would name other passages now, and what was quoted begins no line."""
    answer = take_markers(stored_text(turn.answer)).text
    return Message("user", " ".join(stored_text(turn.question).split())), Message("assistant", " ".join(answer.split()))


@functools.cache
def template(version: str) -> tuple[str, str]:
    """The system and the user text of a template, with its places in braces."""
    text = (_TEMPLATES / f"{version}.txt").read_text(encoding="utf-8")
    system, _, user = text.removeprefix("[system]\n").partition("[user]\n")
    return system.strip(), user.strip()


def filled(text: str, **values: str) -> str:
    """`text` with its places filled at once: what is filled in is not looked at again."""
    parts: list[str] = []
    while True:
        found = [(at, name) for name in values if (at := text.find("{" + name + "}")) >= 0]
        if not found:
            return "".join((*parts, text))
        at, name = min(found)
        parts += [text[:at], values[name]]
        text = text[at + len(name) + 2 :]
