"""Builds a language model's messages from a question, passages and earlier turns, and parses the model's plans.

Each template is a file, `templates/<version>.txt`, and a version is never edited: another wording is another version.
Each line of a source begins with a bar, so no text in it can end the quotation or pass for another source.
A reply about the steps of a deep answer is parsed as questions to search for, and as nothing else.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from kb.answer.generated_text import take_markers, without_thoughts
from kb.domain.answers import Turn
from kb.domain.generation import LanguageModel, Message
from kb.domain.search import Passage
from kb.domain.text import stored_text
from kb.errors import PromptTooLong
from kb.language.sentences import sentences

_TEMPLATES = Path(__file__).with_name("templates")

# A model's whole reply where the sources contain no answer.
REFUSALS = {"ko": "근거가 부족하다.", "en": "The sources do not answer this."}

_LANGUAGES = {"ko": "Korean (한국어)", "en": "English", "ja": "Japanese", "zh": "Chinese"}


def refusal_sentence(language: str) -> str:
    """The sentence a model must write where the sources contain no answer."""
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
    """The messages for the model, and the passages that fit into them.

    The instructions and the question are always whole. Then come the passages, best first, and as many of the newest
    turns of the conversation as fit. Raises: PromptTooLong if the question and one passage do not fit.
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
    """A passage as the prompt shows it: number, place and heading, then its lines, each after a bar."""
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
    """The messages of an earlier turn, each on one line, without markers, which would name other passages now."""
    answer = take_markers(stored_text(turn.answer)).text
    return Message("user", " ".join(stored_text(turn.question).split())), Message("assistant", " ".join(answer.split()))


@functools.cache
def template(version: str) -> tuple[str, str]:
    """The system text and the user text of a template, with placeholders in braces."""
    text = (_TEMPLATES / f"{version}.txt").read_text(encoding="utf-8")
    system, _, user = text.removeprefix("[system]\n").partition("[user]\n")
    return system.strip(), user.strip()


def filled(text: str, **values: str) -> str:
    """`text` with its placeholders replaced in one pass, so that inserted text is not searched for placeholders."""
    parts: list[str] = []
    while True:
        found = [(at, name) for name in values if (at := text.find("{" + name + "}")) >= 0]
        if not found:
            return "".join((*parts, text))
        at, name = min(found)
        parts += [text[:at], values[name]]
        text = text[at + len(name) + 2 :]


# A passage cut to less than this says too little to be worth its heading.
_LEAST_CHARS = 80


def pack(passages: Sequence[Passage], budget_tokens: int, cost_tokens: Callable[[Passage], int]) -> tuple[Passage, ...]:
    """The passages that fit the budget, numbered from 1 in their order.

    A passage that does not fit is skipped, and the next one is tried. As long as none has fitted, it is cut after a
    sentence if enough remains. If no passage fits in either way, any whole sentence is taken. `cost_tokens` counts a
    passage as the prompt shows it.
    """
    packed: list[Passage] = []
    cut: list[Passage] = []
    left = budget_tokens
    for passage in passages:
        numbered = passage._replace(number=len(packed) + 1)
        cost = cost_tokens(numbered)
        if cost > left and not packed and (shortened := _shortened(numbered, left, cost_tokens)):
            if len(shortened.text) >= _LEAST_CHARS:
                return (shortened,)
            cut.append(shortened)
        if cost <= left:
            packed.append(numbered)
            left -= cost
    return tuple(packed or cut[:1])


def _shortened(passage: Passage, budget_tokens: int, cost_tokens: Callable[[Passage], int]) -> Passage | None:
    """A passage cut to as many first sentences as fit; None where not even one does."""
    best: Passage | None = None
    for sentence in sentences(passage):
        shorter = passage._replace(text=passage.text[: sentence.end])
        if cost_tokens(shorter) > budget_tokens:
            break
        best = shorter
    return best


MOST_REPLY_TOKENS = 300
"""The most tokens of a reply; a longer one is no list of questions."""

_LONGEST_CHARS = 300
_LIST_MARK = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.):])\s+")
_DONE = re.compile(r"\W*DONE\b", re.IGNORECASE)
_SAYS = re.compile(r"[^\W_]")


def plan_messages(question: str, most: int) -> tuple[Message, ...]:
    """The prompt that asks for the parts of a question, at most `most`."""
    system, user = template("plan-v1")
    return (
        Message("system", filled(system, most=str(most))),
        Message("user", filled(user, question=stored_text(question).strip())),
    )


def read_plan(reply: str, most: int) -> tuple[str, ...]:
    """The questions in a model's reply, without repetitions; empty if the reply has another form."""
    return tuple(dict.fromkeys(_questions(reply)))[:most]


def next_messages(
    question: str, asked: Sequence[str], passages: Sequence[Passage], model: LanguageModel, budget_tokens: int
) -> tuple[Message, ...]:
    """The prompt that asks what else to search for, with as many passages as the budget allows."""
    system, user = template("next-v1")
    bare = {"asked": "\n".join(f"- {each}" for each in asked), "question": stored_text(question).strip()}

    def messages(packed: Sequence[Passage]) -> tuple[Message, ...]:
        shown = "\n\n".join(map(show_passage, packed))
        return Message("system", system), Message("user", filled(user, passages=shown, **bare))

    left = budget_tokens - model.count_prompt_tokens(messages(()))
    return messages(pack(passages, left, lambda passage: model.count_tokens(show_passage(passage) + "\n\n")))


def read_next(reply: str) -> str | None:
    """The question in a model's reply; None if the reply says that nothing is needed, or contains no question."""
    said = without_thoughts(reply)
    return None if _DONE.match(said) else next(iter(_questions(reply)), None)


def _questions(reply: str) -> list[str]:
    lines = (_LIST_MARK.sub("", line).strip().strip('"“”') for line in without_thoughts(reply).splitlines())
    said = (" ".join(stored_text(line).split()) for line in lines)
    return [line for line in said if _SAYS.search(line) and len(line) <= _LONGEST_CHARS and not line.endswith(":")]
