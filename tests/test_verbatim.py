"""What is shown as a quotation stands in its source, character for character, or an ellipsis marks what is left out.

White space is folded, and a source's own `[1]` is in wide brackets where it would read as a place of the answer.
KB_DATA adds the notes found there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import make_vault, run_kb

from kb.answer.quoting import Piece, show_excerpts
from kb.chunk.chunkers import cut_document
from kb.domain.documents import ChunkPolicy
from kb.domain.ids import AssetId
from kb.domain.kinds import kind_of, media_type_of
from kb.domain.passages import Passage, Sentence
from kb.domain.text import WorkspacePath, stored_text
from kb.extract.registry import EXTRACTORS
from kb.language.sentences import sentences
from kb.retrieve.snippet import below_headings, make_snippet
from tests.answer_passages import passage

CHECKOUT = Path(__file__).resolve().parents[1]
DATA = os.environ.get("KB_DATA")
FOLDERS = [CHECKOUT / "fixtures", *([Path(DATA) / "notes-ko"] if DATA else [])]

ODD = """\
# Pumps

Buy it at [the shop](https://shop.example.org/a_(b)), see [[People/Ann Lee|Ann]] and `matrix[[1]]`, or matrix[[1]] [1].

> **Note** that it <b>leaks</b>,
> twice.\\
> So it is.

| size | price |
| ---- | ----: |
| small | 10 |
| large \\| wide | 90 |

<Card
  title="no text"
/>

- [ ] oil it
- clean it <!-- not said --> well

```r
DF[order(DF$a, DF[["b"]]), ]
```
"""


def folded(text: str) -> str:
    return " ".join(stored_text(text).translate({0xFF3B: "[", 0xFF3D: "]"}).split())


def stands_in(shown: str, source: str) -> bool:
    """Whether what is between the ellipses stands in a source, in this order."""
    source, at = folded(source), 0
    for part in folded(shown).split("…"):
        found = source.find(part.strip(), at)
        if found < 0:
            return False
        at = found + len(part.strip())
    return True


def passages() -> Iterator[Passage]:
    """The passages of the notes of this checkout, of those in KB_DATA, and of an odd one."""
    texts = [("odd.md", ODD.encode())]
    for folder in FOLDERS:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        texts += [(path.name, path.read_bytes()) for path in files if media_type_of(path.name) == "markdown"]
    for name, data in texts:
        kind = kind_of(media_type_of(name) or "markdown")
        document = EXTRACTORS[kind.extractor].document(
            data, {}, workspace_path=WorkspacePath(name), asset_id=AssetId("0" * 32)
        )
        for chunk in cut_document(document, kind.family, ChunkPolicy(200, 0, True, "md-heading-v1")):
            yield passage(1, chunk.text, headings=list(chunk.heading_path))


def test_snippets_and_answers_stand_in_their_source() -> None:
    count = 0
    for each in passages():
        count += 1
        words = re.findall(r"\w{3,}", each.text)[3::7][:3]
        for chars in (80, 220, 2000):
            snippet = make_snippet(below_headings(each.text, each.heading_path), words, chars).text
            assert stands_in(snippet, each.text), snippet
        found = sentences(each)
        for sentence in (*found[:4], Sentence(1, 0, len(each.text), each.text)):
            shown = show_excerpts([Piece(each, sentence, 1)])
            assert stands_in(without_frame(shown, sentence.text), each.text), shown
    assert count > 20


def without_frame(shown: str, source: str) -> str:
    """An answer of one piece without its marker and the fences that kb put around code that begins or ends in it."""
    lines = shown.removesuffix("[1]").rstrip().split("\n")
    if lines[0] in ("```", "~~~") and not source.startswith(lines[0]):
        del lines[0]
    while lines[-1].strip(" >") in ("```", "~~~") and "\n".join(lines).count(lines[-1]) > source.count(lines[-1]):
        lines.pop()
    return "\n".join(lines)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where to buy it?", "Buy it at [the shop](https://shop.example.org/a_(b)), see [[People/Ann Lee|Ann]]"),
        ("Is it DF order?", 'DF[order(DF$a, DF[["b"]]), ]'),
        ("price of large pumps", "| large \\| wide | 90 |"),
    ],
)
def test_links_brackets_and_code_lose_no_character(tmp_path: Path, question: str, said: str) -> None:
    vault = make_vault(tmp_path, {"odd.md": ODD})
    config = ("--config", str(vault.config))
    assert run_kb(*config, "ingest", "--no-embed").code == 0
    (found,) = run_kb(*config, "--set", "search.snippet_chars=2000", "search", question, "--json").lines
    assert any(said in hit["snippet"] for hit in found["hits"])
    assert folded(said) in folded(run_kb(*config, "--set", "search.snippet_chars=2000", "search", question).stdout)
    answer = run_kb(*config, "ask", question, "--json").json
    assert said in answer["answer"] + "".join(filter(None, (each["quote"] for each in answer["citations"])))
    assert [claim for claim in answer["claims"] if claim["quote"] not in ODD] == []
    assert said in run_kb(*config, "fetch", "odd.md").stdout
