"""What the page is tested with in each browser: its views and dialogs, a vault for them, and one of hostile notes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from answer_passages import RETRY
from conftest import NOTES, Vault, indexed_vault, kb_in
from hostile_documents import HOSTILE
from media_fixtures import MEDIA

FORMATS = MEDIA.parent / "formats"
LOCK = "When is the lock at Alder Weir open?"
GOLDEN = """\
questions:
  - {id: retry, query: gateway retries, expected: ["projects/gateway/log.md#L8-L12"]}
"""


class View(NamedTuple):
    """A view: its address, what is there once it is whole, and a word that stands in it, also printed."""

    address: str
    there: tuple[str, ...]
    word: str


SHEET = ".sheet[data-page='{}'][data-drawn=yes]"
COUNTED = "#count:has-text('places')"

NOTE = "projects/gateway/log.md%23L8-L12"
VIEWS = {
    "start": View("/", (".choice-of",), "documents"),
    "hits": View("/?q=gateway", ("a.hit mark", COUNTED, "#reader .cited"), "gateway"),
    "no hits": View("/?q=gateway&path_glob=nowhere/**", (".nothing",), "Nothing"),
    "note": View(f"/?q=gateway&at={NOTE}", ("#reader .note .cited", COUNTED), "exponential"),
    "both": View(f"/?at={NOTE}&view=both", ("#reader .line.cited",), "exponential"),
    "lines": View("/?at=chunking.md&view=raw", ("#reader .line",), "청킹"),
    "calendar": View("/?at=house.ics%23L20-L23", ("#reader .line.cited",), "보일러"),
    "paragraphs": View("/?at=manual-en.docx%23para=9:12", ("#reader .in-parts .cited",), "Idris"),
    "sheet": View("/?at=stock-en.ods", ("#reader table",), "Nordhaven"),
    "captions": View("/?q=pump&at=talk.vtt%23t=4,6", ("#reader li.cited", COUNTED), "watts"),
    "subtitles": View("/?at=talk.vtt", ("#reader .said",), "watts"),
    "pdf": View("/?at=handbook-en.pdf%23page=2", (SHEET.format(2), SHEET.format(1)), "inspected"),
    "answer": View(f"/?ask=1&q={RETRY}", ("#further", "#reader .cited"), "five times"),
    "table": View("/?ask=1&q=How much is the seal ring", ("#further", "#reader .cited"), "Seal ring"),
    "refused": View("/?ask=1&q=zebras on the moon&path_glob=nowhere/**", ("#further",), "do not seem to answer"),
    "conversation": View(f"/?ask=1&turn={RETRY}&q=And why?", ("#further", "#reader .cited"), "And why?"),
    "answers": View("/?page=answers", (".earlier a.hit",), LOCK),
    "vault": View("/?page=vault", (".months",), "Hangul"),
    "changes": View("/?page=changes", (".vault .quiet-line",), "as it was"),
    "runs": View("/?page=runs", (".figures",), "nDCG"),
    "error": View("/?q=gateway&mode=vector", ("[role=alert]",), "Meaning needs a model"),
}

# The buttons that open a menu.
BUTTONS = (
    "#modes",
    "#chip-media",
    "#chip-path_glob",
    "#chip-tag",
    "#chip-lang",
    "#chip-dated",
    "#chip-more",
    "#more",
    "#citing",
)


def views_vault(directory: Path, notes: Mapping[str, str] = NOTES) -> Vault:
    """A vault in which each view has something to show."""
    files = {
        **{name: MEDIA / "office" / name for name in ("manual-en.docx", "stock-en.ods", "hangul-en.hwpx")},
        **{name: FORMATS / name for name in ("talk.vtt", "house.ics")},
        "handbook-en.pdf": MEDIA / "pdf" / "handbook-en.pdf",
    }
    vault = indexed_vault(directory, notes, files=files)
    kb = kb_in(vault)
    (vault.sqlite.parent / "golden.yaml").write_text(GOLDEN, encoding="utf-8")
    for run in (("eval", "run"), ("eval", "run"), ("--set", "rag.score_gate=0", "ask", LOCK)):
        ran = kb(*run)
        assert ran.code in (0, 1), ran.stderr
    return vault


HOSTILE_NAME = "x<img src=y onerror=alert(1)>.md"
_HOSTILE_NOTE = """\
---
title: <img src=x onerror=alert(1)>
tags: ['<script>alert(1)</script>']
---
# <b onclick=alert(1)>zebra</b>
"""


def hostile_vault(directory: Path) -> Vault:
    """A vault whose notes, titles, tags and names try to run scripts and to reach others."""
    zebras = "\n\n".join(f"zebra {index} {text}" for index, text in enumerate(HOSTILE))
    return indexed_vault(directory, {**NOTES, HOSTILE_NAME: _HOSTILE_NOTE, "all.md": f"# zebra\n\n{zebras}"})


REACH_OUT = """async () => {
    const told = [];
    addEventListener("securitypolicyviolation", (event) => told.push(event.effectiveDirective));
    await fetch("http://127.0.0.1:9/").catch(() => null);
    const script = document.createElement("script");
    script.textContent = "document.documentElement.dataset.wasRun = true";
    document.body.append(script);
    await new Promise((done) => setTimeout(done));
    return [told, document.documentElement.dataset.wasRun ?? false];
}"""
"""Asks for another address and adds a script; returns what rules of the content policy refused, and whether it ran."""
