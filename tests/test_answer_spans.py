"""The text of an answer cut into spans: pieces or sentences, their markers, and what is around them."""

from __future__ import annotations

from answer_passages import passage

from kb.answer.pieces import Excerpt
from kb.answer.quoting import quote_excerpts
from kb.answer.spans import as_markdown, with_spans
from kb.domain.answers import Answer, AnswerCitation, Claim, RetrievalSummary, Written
from kb.domain.citations import LineCitation
from kb.domain.generation import ModelRef
from kb.domain.search import Sentence


def answer(text: str, claims: tuple[Claim, ...], provider: str = "extractive") -> Answer:
    """An answer that cites one place."""
    cited = AnswerCitation("[1]", LineCitation("a.md", 1, 9), "c", "A", "/a.md", None, 1.0)
    return with_spans(
        Answer(
            question="when?",
            search_query="when?",
            text=text,
            citations=(cited,),
            claims=claims,
            grounded=True,
            state="unsure",
            refusal_reason=None,
            retrieval=RetrievalSummary("ret_0", "hybrid", 5, 0.5, 1.0, 1, 1, "i"),
            written=Written(ModelRef("m", provider)),
            prompt_template_version="rag-v3",
            created_at="2026-01-01T00:00:00Z",
        )
    )


def painted(given: Answer) -> list[tuple[str, str, str]]:
    assert "".join(span.text for span in given.spans) == given.text
    return [(span.kind, span.form, span.text) for span in given.spans]


def quoted(text: str, *pieces: str) -> Answer:
    given = passage(1, text)
    marked = tuple(Sentence(1, text.index(words), text.index(words) + len(words), words) for words in pieces)
    made = quote_excerpts([Excerpt(given, marked, ((0, len(text)),), marked[0], 1.0)])
    return answer(made.text, made.claims)


def test_a_quoted_answer_is_its_pieces_and_what_is_beside_them() -> None:
    given = quoted("It hums. The valve is green [1]. It is new. See `[1]`.", "It is new.", "The valve is green [1].")
    assert painted(given) == [
        ("beside", "prose", "It hums. The valve is green ［1］. "),
        ("piece", "prose", "It is new."),
        ("beside", "prose", " See `[1]`. "),
        ("marker", "prose", "[1]"),
    ]
    assert as_markdown(given.spans) == "It hums. The valve is green ［1］. **It is new.** See `[1]`. [1]"


def test_lines_of_markup_within_a_piece_are_passed_over() -> None:
    text = "Take:\n- a tent\n<br>\n- a stove\nDone."
    given = quoted(text, "- a tent\n<br>\n- a stove")
    assert [each[2] for each in painted(given) if each[0] == "piece"] == ["- a tent", "- a stove"]


def test_rows_that_markup_parted_are_one_table() -> None:
    text = "| Part | Price |\n| --- | --- |\n\n\n| Seal | 12 |\n\n\n| Pin | 30 |\n\n| Other |\n| --- |\n| x |"
    given = quoted(text, "| Seal | 12 |\n\n\n| Pin | 30 |")
    rows = "| Part | Price |\n| --- | --- |\n| Seal | 12 |\n| Pin | 30 |\n\n| Other |"
    assert given.text.startswith(rows)
    assert [each[2] for each in painted(given) if each[0] == "piece"] == ["| Seal | 12 |\n| Pin | 30 |"]
    assert "\n\n\n" in quoted(f"```\n{text}\n```", "| Seal | 12 |").text


def test_code_and_tables_are_told_from_prose() -> None:
    given = quoted("Do:\n\n```\nrun [1]\n```\n\n| a | b |\n| - | - |\n| 1 | 2 |\n", "run [1]")
    assert painted(given)[:4] == [
        ("beside", "prose", "Do:\n\n"),
        ("beside", "code", "```\n"),
        ("piece", "code", "run [1]"),
        ("beside", "code", "\n```\n"),
    ]
    assert ("beside", "table", "| a | b |\n| - | - |\n| 1 | 2 | ") in painted(given)


def test_the_sentences_of_a_model_keep_their_claims() -> None:
    claims = (Claim("It is new.", (1,), "supported"), Claim("No.", (), "dropped"), Claim("It is red.", (1,), "weak"))
    given = answer("It is new. [1] It is red. [1]", claims, "ollama")
    assert [(span.kind, span.claim) for span in given.spans] == [
        ("claim", 0),
        ("plain", None),
        ("marker", None),
        ("plain", None),
        ("claim", 2),
        ("plain", None),
        ("marker", None),
    ]
