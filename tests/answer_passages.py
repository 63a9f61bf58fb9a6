"""Passages for the tests of answers, without a knowledge base behind them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from kb.domain.answers import PassageReading
from kb.domain.citations import LineCitation
from kb.domain.generation import Done, GenerateRequest, Message, ModelRef, TokenChunk, TokenStream, TokenUsage
from kb.domain.search import Passage, RetrievalDetail, Sentence
from kb.errors import StreamBroken


def passage(number: int, text: str, *, lang: str = "en", headings: Sequence[str] = (), cosine: float = 0.85) -> Passage:
    """A passage of `notes/<number>.md` whose text begins on line 10."""
    return Passage(
        number=number,
        chunk_id=f"{number:032x}",
        doc_id=f"{number:032x}",
        workspace_path=f"notes/{number}.md",
        source_path=f"/vault/notes/{number}.md",
        title=headings[0] if headings else f"Note {number}",
        heading_path_json=json.dumps(list(headings)),
        section_label=headings[-1] if headings else None,
        lang=lang,
        text=text,
        source_spans_json="[]",
        chunker_version="",
        cited=LineCitation(f"notes/{number}.md", 10, 10 + text.count("\n")),
        score=1.0 / number,
        retrieval=RetrievalDetail("hybrid", 5.0, number, cosine, number),
    )


class ReadingJudge:
    """A judge that says of a passage or a sentence what it is told of a text; 0 of any other."""

    def __init__(self, logits: Mapping[str, float]) -> None:
        self.logits = logits
        self.read_texts: list[str] = []

    def read(self, question: str, passage: Passage, sentences: Sequence[Sentence]) -> PassageReading:
        self.read_texts.append(passage.text)
        of_sentences = tuple(self.logits.get(each.text, 0.0) for each in sentences)
        return PassageReading(self.logits.get(passage.text, 0.0), of_sentences)


class ScriptedModel:
    """Writes what it is told, word by word; a word counts as a token. `asked` is every request it was given."""

    def __init__(self, text: str, context_tokens: int = 4096) -> None:
        self.text = text
        self.asked: list[GenerateRequest] = []
        self._context_tokens = context_tokens

    @property
    def model_ref(self) -> ModelRef:
        return ModelRef("scripted", "llama_cpp")

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def count_prompt_tokens(self, messages: Sequence[Message]) -> int:
        return sum(3 + self.count_tokens(message.content) for message in messages)

    def stream(self, request: GenerateRequest) -> TokenStream:
        self.asked.append(request)
        pieces = self.text.split(" ")
        for at, piece in enumerate(pieces):
            yield TokenChunk(piece if at == 0 else f" {piece}")
        yield Done("stop", TokenUsage(self.count_prompt_tokens(request.messages), len(pieces), 1))


RETRY = "How often does the gateway retry a failed upload"


TWO = f"{RETRY} and what colour is the roof of Jupiter?"


class Replies(ScriptedModel):
    """A model that gives one reply after the other."""

    def __init__(self, *replies: str) -> None:
        super().__init__("")
        self.replies = list(replies)

    def stream(self, request: GenerateRequest) -> TokenStream:
        self.text = self.replies.pop(0)
        if self.text == "broken":
            raise StreamBroken("it broke off")
        return super().stream(request)
