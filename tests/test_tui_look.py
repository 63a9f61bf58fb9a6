"""How `kb ui` looks: contrast in both themes, notes and answers as they read, both languages, the mouse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault, indexed_vault
from rich.color import Color
from rich.console import Console, RenderableType
from rich.text import Text

pytest.importorskip("textual")

from screens_played import played, rows, shown, typed, until
from textual.pilot import Pilot

from kb.domain.citations import LineCitation, PartCitation, TimeCitation
from kb.domain.derived import TranscriptSegment
from kb.domain.results.answers import AnswerSummary
from kb.domain.results.viewing import DocumentView
from kb.domain.search import Passage, Snippet
from kb.tui.app import SearchApp
from kb.tui.look import styles
from kb.tui.rows import answer_row, hit_row, place_label
from kb.tui.strings import in_language, strings
from kb.tui.styled import note_lines, rendered
from kb.tui.widgets import cited_text, shown_lines

LEAST_CONTRAST = 4.5
ENGLISH = in_language("en")

ANSWER = """Push it by `trainer`:

```python
def push(model):
    return "hub"
```

| dough | hydration |
|:---|---:|
| rye | **80 %** |

- [ ] then [tag](https://example.org) it

```
plain | text
```"""


def as_lines(shown: RenderableType, width: int = 60) -> list[str]:
    console = Console(width=width, theme=styles(is_dark=True))
    with console.capture() as captured:
        console.print(shown)
    return [line.rstrip() for line in captured.get().splitlines()]


def luminance(colour: Color) -> float:
    """The relative luminance of WCAG 2.2."""
    parts = (each / 255 for each in colour.get_truecolor())
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def found(path: str, snippet: str, match: tuple[int, int]) -> Passage:
    """A hit with a match in its snippet."""
    hit = Passage("c", "d", path, path, "T", "[]", None, snippet, "[]", "v", cited=LineCitation(path, 3, 4))
    return hit._replace(shown=Snippet(snippet, False, (match,)))


def pale(app: SearchApp) -> Iterator[tuple[str, float]]:
    """The texts on the screen with less contrast than they need."""
    dialog = next(iter(app.screen.query(".dialog")), app.screen).region  # what a dialog covers is dimmed
    for line in app.screen._compositor.render_strips()[dialog.y : dialog.bottom]:
        for segment in line.crop(dialog.x, dialog.right):
            style = segment.style
            if style is None or not re.search(r"[^\W_]", segment.text):
                continue
            assert not style.dim, segment.text
            assert style.color is not None, segment.text
            assert style.bgcolor is not None, segment.text
            front, back = sorted(map(luminance, (style.color, style.bgcolor)))
            if (back + 0.05) / (front + 0.05) < LEAST_CONTRAST:
                yield segment.text, (back + 0.05) / (front + 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("is_dark", [True, False], ids=["dark", "light"])
def test_every_text_has_enough_contrast(is_dark: bool, tmp_path: Path) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.pause()
        assert list(pale(app)) == []
        await typed(pilot, "gateway retries")
        await until(pilot, lambda: rows(app) > 1 and "five times" in app._document.shown_text)
        await pilot.press("down", "ctrl+g")
        await until(pilot, lambda: "1 good" in shown(app))
        assert list(pale(app)) == []
        for key, wanted in (("f1", "Find"), ("ctrl+f", "Folder"), ("f2", "documents"), ("f3", "fault"), ("f5", "run")):
            await pilot.press(key)
            await until(pilot, lambda wanted=wanted: len(app.screen_stack) == 2 and wanted in shown(app))  # type: ignore[misc]
            assert (key, list(pale(app))) == (key, [])
            await pilot.press("escape")
            await until(pilot, lambda: len(app.screen_stack) == 1)
        await pilot.press("ctrl+u")
        await typed(pilot, "?How often does the gateway retry a failed upload")
        await pilot.press("enter")
        await until(pilot, lambda: "Perhaps" in shown(app))
        assert list(pale(app)) == []

    played(indexed_vault(tmp_path), play, "rag.score_gate=0", is_dark=is_dark)


@pytest.mark.slow
def test_every_key_can_be_read_in_a_short_terminal(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("f1")
        await until(pilot, lambda: "Ctrl-C" in shown(app))
        assert "Esc back" in shown(app)
        assert "F5" not in shown(app)
        await pilot.press("end")
        await until(pilot, lambda: "F5" in shown(app))

    played(vault, play, size=(80, 20))


@pytest.mark.slow
def test_filters_keep_their_keys_in_a_short_terminal_and_have_names(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await pilot.press("ctrl+f")
        await until(pilot, lambda: "Folder" in shown(app))
        assert "Ctrl-X" in shown(app)
        await pilot.press(*"korean", "enter")
        await until(pilot, lambda: "language Korean" in shown(app))

    played(vault, play, size=(80, 20))


@pytest.mark.slow
def test_a_click_marks_and_a_double_click_opens(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        opened: list[str | None] = []
        monkeypatch.setattr(app._row, "open", lambda: opened.append(app._row.place))
        await typed(pilot, "gateway retries")
        await until(pilot, lambda: rows(app) > 1)
        second = app._found._rows[1].place
        await pilot.click("#rows", offset=(10, 4))
        await until(pilot, lambda: app._row.place == second)
        assert opened == []
        await pilot.click("#rows", offset=(10, 4), times=2)
        await until(pilot, lambda: opened == [second])

    played(vault, play)


@pytest.mark.slow
def test_an_earlier_answer_comes_with_its_question(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "?How often does the gateway retry a failed upload")
        await pilot.press("enter")
        await until(pilot, lambda: app._found.answer is not None)
        await pilot.press("escape", "escape")
        await typed(pilot, "battery")
        await pilot.press("ctrl+r")
        await until(pilot, lambda: "earlier answer" in shown(app))
        await pilot.press("enter")
        await until(pilot, lambda: app._found.answer is not None)
        assert app._line == "?How often does the gateway retry a failed upload"
        await pilot.press("s")  # typing goes on from its end
        assert app._line == "?How often does the gateway retry a failed uploads"

    played(vault, play, "rag.score_gate=0")


@pytest.mark.slow
def test_it_speaks_korean_and_its_keys_fit(vault: Vault) -> None:
    async def play(pilot: Pilot[None], app: SearchApp) -> None:
        await typed(pilot, "gateway")
        await until(pilot, lambda: rows(app) > 1)
        assert re.search(r"결과 \d개 · 단어", shown(app))
        assert "F1 모든 키" in shown(app)
        assert not re.search(r"\b(hits|words|back)\b", shown(app))
        await pilot.press("escape")
        await typed(pilot, "'gateway AND'")
        await until(pilot, lambda: "검색식을 읽을 수 없습니다" in shown(app).splitlines()[-2])

    played(vault, play, "ui.language=ko", size=(80, 24))


@pytest.mark.parametrize("name", sorted(strings()))
def test_a_sentence_says_the_same_in_both_languages(name: str) -> None:
    english, korean = (sorted(re.findall(r"\{[^s}]*\}", text)) for text in strings()[name])
    assert english == korean


def test_an_answer_is_shown_as_it_reads() -> None:
    lines = as_lines(rendered(Text(ANSWER)))
    assert lines[0] == "Push it by trainer:"
    assert "  def push(model):" in lines
    assert "  plain | text" in lines
    assert any(re.fullmatch(r" *rye +80 %", line) for line in lines)
    assert "☐ then tag it" in lines
    assert [mark for mark in ("```", "**", "|:") if mark in "\n".join(lines)] == []


def test_a_paragraph_that_was_wrapped_is_one_and_items_are_not() -> None:
    torque = "The torque of the\nscrews is 2.5 Nm and\nnot more."
    prose = f"# Torque\n{torque}\n1. one\n2. two\n- three\n\nShort.\nLine of its own."
    assert as_lines(rendered(Text(prose)), 80) == [
        "Torque",
        "The torque of the screws is 2.5 Nm and not more.",
        "1. one",
        "2. two",
        "• three",
        "",
        "Short.",
        "Line of its own.",
    ]


def test_a_wrapped_item_goes_on_below_its_words_and_a_wrapped_quotation_with_its_bar() -> None:
    said = "- the left pump runs first\n12. the right one runs then\n> nobody stops both of them\n\nA line \nof two."
    assert as_lines(rendered(Text(said)), 20) == [
        "• the left pump runs",
        "  first",
        "12. the right one",
        "    runs then",
        "┃ nobody stops both",
        "┃ of them",
        "",
        "A line of two.",
    ]


def test_a_hit_below_one_of_its_document_has_no_second_title() -> None:
    first = found("a.md", "torque", (0, 6))
    second = first._replace(heading_path_json='["T", "Part"]')
    assert as_lines(hit_row(second, " ", shows_path=True, say=ENGLISH))[0].split() == ["T", "›", "Part", "L3–4"]
    below = as_lines(hit_row(second, " ", shows_path=True, say=ENGLISH, is_below=True))
    assert [line.split() for line in below] == [["›", "Part", "L3–4"], ["torque"]]
    assert as_lines(hit_row(first, " ", shows_path=True, say=ENGLISH, is_below=True))[0].split() == ["T", "L3–4"]


def test_a_fence_that_is_still_open_is_code() -> None:
    assert as_lines(rendered(Text("so:\n```python\na | b = **c**"))) == ["so:", "  a | b = **c**"]


def test_the_lines_of_a_note_stay_as_they_are_in_the_file() -> None:
    lines = ["---", "# A **bold** heading", "```python", "def f(): ...", "```", "> [!danger] Hot", "a [[link]] | b"]
    styled = note_lines(lines)
    assert [each.plain for each in styled] == lines
    assert ("keyword" in {span.style for span in styled[3].spans}, styled[1].spans != []) == (True, True)


@pytest.mark.parametrize(
    ("snippet", "shown"),
    [
        ("- [ ] buy **torque** drivers", "buy torque drivers"),
        ("```python def push ``` <Youtube id=x /> ## Next", "def push Next"),
        ("[!warning] see [the log](log.md)", " see the log"),
        ("- [[projects/log|The log]]: see [[plan]]", "The log: see plan"),
        ("> [!note] mind > [!tip] this", "mind this"),
        ("> [!note] Pump > It runs. a > b", "Pump It runs. a b"),
        ("| pump | litres | … | small | 40 |", "pump · litres · small · 40"),
        ("|공리|규칙| … |반사성 (R)|X → Y|", "공리 · 규칙 · 반사성 (R) · X → Y"),
        ("ls | wc and a || b", "ls | wc and a || b"),
        ("- Date: a > b", "Date: a > b"),
        ("Read [the **guide**](a.md), **[[plan]]**, [`x`](b.md), `**y**`", "Read the guide, plan, x, **y**"),
        ("mode > >AES pads \\ >10 blocks", "mode AES pads >10 blocks"),
    ],
)
def test_a_snippet_is_without_marks(snippet: str, shown: str) -> None:
    hit = found("a/b.md", snippet, (0, 0))
    row = hit_row(hit, " ", shows_path=True, say=ENGLISH)
    assert as_lines(row)[2].strip() == shown.strip()
    assert [line.strip() for line in as_lines(row)[:2]] == ["T" + " " * 52 + "L3–4", "a/b.md"]


def test_a_snippet_is_shown_around_its_first_match() -> None:
    snippet = "앞말 " * 40 + "토크 드라이버" + " 뒷말" * 40
    hit = found("a.md", snippet, (120, 127))
    for width in (40, 42):
        line = as_lines(hit_row(hit, " ", shows_path=False, say=ENGLISH), width)[1]
        assert "토크 드라이버" in line
        assert line.strip().startswith("…앞말 ")


@pytest.mark.parametrize(
    ("answer", "refusal", "state", "said"),
    [
        ("Not in your notes.", "no_chunks", "refused", "Not in your notes."),
        ("Log in:\n\n```sh\nlogin\n```", None, "unsure", "Perhaps · Log in: login"),
    ],
)
def test_an_earlier_answer_is_one_line_that_says_its_state_once(
    answer: str, refusal: str | None, state: str, said: str
) -> None:
    summary = AnswerSummary("ret_1", "2026-11-28T10:00:00Z", "Q?", answer, 1, refusal, "m", "p", None, state)
    assert as_lines(answer_row(summary, ENGLISH))[1].strip() == said


@pytest.mark.parametrize(
    ("part", "section", "english", "korean"),
    [
        ("section=1&para=14:18", "Ports", "section 1 paragraphs 14–18", "1구역 14–18문단"),
        ("sheet=Price%20list&cells=A2:D9", None, "Price list A2:D9", "Price list A2:D9"),
        ("sheet=Price%20list&cells=A2:D9", "Price list", "A2:D9", "A2:D9"),
        ("slide=3", None, "slide 3", "슬라이드 3"),
    ],
)
def test_a_part_of_a_file_is_named_in_both_languages(part: str, section: str | None, english: str, korean: str) -> None:
    citation = PartCitation("a.docx", part, section)
    assert [place_label(citation, in_language(each)) for each in ("en", "ko")] == [english, korean]


def test_of_a_recording_only_the_cited_sentences_are_marked() -> None:
    said = tuple(TranscriptSegment(start, start + 1000, f"at {start}") for start in (0, 1000, 2000, 3000))
    document = type("Document", (), {"media_type": "audio/mpeg", "workspace_path": "a.mp3"})
    view = DocumentView(document, TimeCitation("a.mp3", 1000, 3000), None, True, speech=said)  # type: ignore[arg-type]
    assert cited_text(shown_lines(view, ENGLISH)) == "0:01  at 1000\n0:02  at 2000"
