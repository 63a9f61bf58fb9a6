"""What is printed on a terminal: lines folded at words, code kept, readable colours, local times, narrow screens."""

from __future__ import annotations

import io
import os
import re
import unicodedata
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from conftest import Kb, Vault, indexed_vault, kb_in, make_vault, run_kb
from hypothesis import given
from hypothesis import strategies as st
from on_terminal import on_a_terminal, shown_text

from kb.cli.main import main
from kb.cli.output import printing
from kb.cli.output.printing import Style, local_time
from kb.cli.output.terminal import Folding, end_within, fold, plain_start, width_cells
from kb.retrieve.snippet import make_snippet

WORDS = st.sampled_from(["a", "word", "gateway", "배터리", "네", "시간을", "[1].", "\n", "- item"])
CODE = """\
def backoff(attempt: int) -> float:
    delay = 0.5 * 2**attempt
    return delay
"""
NOTE = f"# Backoff\n\nThe gateway waits as long as this function says:\n\n```python\n{CODE}```\n"


def test_words_without_quotes_are_one_question(kb: Kb, tmp_path: Path) -> None:
    assert kb("search", "gateway", "retries", "--json").json["query"] == "gateway retries"
    vault = make_vault(tmp_path)
    kb_in(vault)("ingest", "--no-embed")
    kb_in(vault)("ask", "gateway", "retries", "--provider", "extractive")
    assert kb_in(vault)("answers", "list", "--json").json["query"] == "gateway retries"


def test_no_hits_names_what_was_typed(kb: Kb) -> None:
    ran = kb("search", "What", "is", "Zanzibar's", "capital?", "--mode", "lexical", "--lang", "ko")
    assert "no hits for: What is Zanzibar's capital?\n" in ran.stdout


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("list", "docs"), "nothing is indexed yet: kb ingest"),
        (("list", "docs", "--tag", "x"), "nothing is indexed yet: kb ingest"),
        (("answers", "list"), "no answer was given yet"),
        (("sessions", "list"), "no conversation was begun yet"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
)
def test_an_empty_list_says_so(command: tuple[str, ...], said: str, tmp_path: Path) -> None:
    config = str(make_vault(tmp_path, {}).config)
    assert run_kb("--config", config, "init").code == 0
    ran = run_kb("--config", config, *command)
    assert (ran.code, ran.stdout) == (1, "")
    assert said in ran.stderr
    assert run_kb("--config", config, *command, "--json").stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "question", ["Which chapter of the tax law covers inherited vineyards?", "상속 포도밭 세금은?"]
)
def test_a_refusal_is_folded_at_words_in_the_language_of_the_question(question: str, tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    kb_in(vault)("ingest", "--no-embed")
    shown = shown_text(on_a_terminal(vault.config, "ask", question, "--provider", "extractive"))
    heading = "nearest places:" if question.isascii() else "가장 가까운 곳:"
    lines = shown.splitlines()
    assert max(width_cells(line) for line in lines) <= 40
    piped = kb_in(vault)("ask", question, "--provider", "extractive").stdout
    assert (heading in lines) == ("1. " in piped)
    words = {word for line in piped.splitlines() for word in line.split()} - {"ms"}
    assert {word for word in words if not word.isdecimal()} <= {word for line in lines for word in line.split()}


def test_code_keeps_its_lines_in_hits(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"a.md": NOTE})
    kb_in(vault)("ingest", "--no-embed")
    lines = shown_text(on_a_terminal(vault.config, "search", "backoff", "attempt")).splitlines()
    for line in CODE.splitlines():
        assert f"   {line}" in lines
    piped = kb_in(vault)("search", "backoff attempt").stdout.splitlines()
    assert len(piped) == 4


def test_code_keeps_its_lines_in_answers(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"a.md": NOTE})
    kb_in(vault)("ingest", "--no-embed")
    asked = ("ask", "How long does the gateway wait?", "--provider", "extractive")
    shown = shown_text(on_a_terminal(vault.config, *asked, columns=20)).splitlines()
    for line in CODE.splitlines():
        assert line in shown


def test_code_that_streams_in_is_not_folded() -> None:
    folding = Folding(12)
    text = f"It waits as long as\n```python\n{CODE}```\nsays it is"
    shown = "".join(folding.feed(text[at : at + 3]) for at in range(0, len(text), 3)) + folding.end()
    assert CODE in shown
    assert shown.startswith("It waits as \nlong as\n")
    assert shown.endswith("says it is")


def test_a_snippet_keeps_code_lines_and_its_matches_fit() -> None:
    snippet = make_snippet(NOTE, ["attempt"], 220)
    assert CODE in snippet.text
    assert [snippet.text[start:end] for start, end in snippet.matches] == ["attempt", "attempt"]
    assert "\n" not in make_snippet("one\n\ntwo\nthree", ["two"], 220).text


# xterm's colours; the eight dark ones are those that kb's styles name.
PALETTE = {
    "black": (0, 0, 0),
    "red": (205, 0, 0),
    "green": (0, 205, 0),
    "yellow": (205, 205, 0),
    "blue": (0, 0, 238),
    "magenta": (205, 0, 205),
    "cyan": (0, 205, 205),
    "white": (229, 229, 229),
}


def contrast(one: tuple[int, int, int], other: tuple[int, int, int]) -> float:
    """The contrast of two colours, from 1 to 21 (WCAG 2.2, 1.4.3)."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(color: tuple[int, int, int]) -> float:
    parts = [part / 255 for part in color]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


STYLES = {name: value for name, value in vars(printing).items() if name.isupper() and isinstance(value, dict)}


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
@pytest.mark.parametrize("background", [(0, 0, 0), (255, 255, 255)], ids=["dark", "light"])
def test_colours_can_be_read_on_a_dark_and_on_a_light_background(
    style: Style, background: tuple[int, int, int]
) -> None:
    assert set(style) <= {"fg", "bold", "dim", "underline"}
    if "fg" in style:
        # 4.5 for running text, 3 for what is bold.
        assert contrast(PALETTE[style["fg"]], background) >= (3 if style.get("bold") else 4.4)


@pytest.mark.parametrize(
    ("zone", "shown"),
    [
        ("UTC", "2026-04-27 15:42 +00:00"),
        ("Asia/Seoul", "2026-04-28 00:42 +09:00"),
        ("America/New_York", "2026-04-27 11:42 -04:00"),
    ],
)
def test_times_are_local_and_say_so(zone: str, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import time

    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert local_time("2026-04-27T15:42:11.123456Z") == shown
    finally:
        monkeypatch.undo()
        time.tzset()


def test_the_list_of_answers_has_local_times(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    kb_in(vault)("ingest", "--no-embed")
    kb_in(vault)("ask", "gateway retries", "--provider", "extractive")
    shown = on_a_terminal(vault.config, "answers", "list", columns=120, TZ="Asia/Seoul")
    assert " +09:00  " in shown
    narrow = on_a_terminal(vault.config, "answers", "list", columns=60).splitlines()
    assert narrow[1] == "    gateway retries"


@pytest.mark.parametrize(
    ("width", "shown"), [(20, "notes/게이트.md"), (15, "notes/게이트.md"), (9, "…이트.md"), (0, "")]
)
def test_a_path_is_cut_at_its_start(width: int, shown: str) -> None:
    assert end_within("notes/게이트.md", width) == shown
    assert width_cells(shown) <= width


def test_errors_and_hints_are_folded_and_indented(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    shown = on_a_terminal(vault.config, "search", "gateway", codes=(2,)).splitlines()
    assert shown[0].startswith("error: ")
    hint = next(at for at, line in enumerate(shown) if line.startswith("  hint: "))
    assert all(line.startswith("       ") for line in shown[1:hint])


def folded(pieces: list[str], width: int) -> str:
    folding = Folding(width)
    return "".join(folding.feed(piece) for piece in pieces) + folding.end()


@given(st.lists(WORDS, max_size=30), st.integers(1, 7), st.integers(12, 40))
def test_lines_fit_and_no_word_is_cut(words: list[str], size: int, width: int) -> None:
    text = " ".join(words)
    shown = folded([text[at : at + size] for at in range(0, len(text), size)], width)
    assert shown.split() == text.split()
    assert all(width_cells(line.rstrip()) <= width for line in shown.split("\n"))


def test_a_word_is_shown_as_soon_as_it_is_whole() -> None:
    folding = Folding(20)
    assert folding.feed("The gate") == "The "
    assert folding.feed("way retries a") == "gateway retries "
    assert folding.feed("gain") == ""
    assert folding.end() == "\nagain"


def test_a_text_without_spaces_still_comes() -> None:
    folding = Folding(10)
    assert folding.feed("x" * 12) == "x" * 12
    assert folded(["가" * 40], 10) == "가" * 40


def test_the_beginning_of_a_long_text_on_one_line() -> None:
    assert plain_start("a\nb \x1b[31m") == "a b \ufffd[31m"
    assert plain_start("x" * 500) == "x" * 99 + "…"


NARROW = 60

LONG_NAMED = {
    "프로젝트/gateway-operations/2026 상반기/배터리 교체 일정과 담당자(초안, 검토 전).md": (
        "# 배터리 교체 일정\n\n겨울에는 배터리를 석 달마다 바꾼다. 담당자는 회의에서 정한다.\n"
    ),
    "projects/transforming-the-gateway-into-a-dependable-machine.md": (
        "# Transforming the gateway into a dependable machine\n\n" + "The gateway retries an upload. " * 12 + "\n"
    ),
    **{f"battery {number}.md": f"# Battery {number}\n\nThe battery of unit {number} is old.\n" for number in range(12)},
    **{f"empty {number}.md": "\n" for number in range(5)},
}

COMMANDS = [
    ("init",),
    ("ingest", "--no-embed"),
    ("search", "배터리 교체"),
    ("search", "gateway", "--explain"),
    ("ask", "How often does the gateway retry?", "--provider", "extractive"),
    ("ask", "How often does the gateway retry?", "--provider", "extractive", "--explain"),
    ("ask", "상속받은 포도밭의 세금은?", "--provider", "extractive"),
    ("answers", "list"),
    ("answers", "show"),
    ("verify", "--all"),
    ("list", "docs"),
    ("inspect", "doc", "projects/transforming-the-gateway-into-a-dependable-machine.md"),
    ("schema",),
    ("models", "list"),
    ("cache", "stats"),
    ("sessions", "list"),
    ("eval", "list"),
    ("doctor", "--quick"),
    ("search", "gateway", "--mode", "raw"),
    ("search", "gateway", "--no-such-option"),
    ("open", "999"),
]


class Screen(io.StringIO):
    """What a terminal receives."""

    def isatty(self) -> bool:
        return True


def on_screen(
    vault: Vault, args: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch, *, errors_too: bool = False
) -> str:
    """What a terminal of so many columns shows of one call of kb."""
    return shown_of(("--config", str(vault.config), *args), columns, monkeypatch, errors_too=errors_too)


def shown_of(args: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch, *, errors_too: bool = False) -> str:
    """The same of a call that needs no vault."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    out, err = Screen(), io.StringIO()
    err.isatty = lambda: False  # type: ignore[method-assign]
    with redirect_stdout(out), redirect_stderr(out if errors_too else err):
        main(list(args))
    return shown_text(out.getvalue())


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    made = indexed_vault(tmp_path_factory.mktemp("width"), LONG_NAMED)
    ran = kb_in(made)("ask", "How often does the gateway retry?", "--provider", "extractive")
    assert ran.code in (0, 1), ran.stderr
    return made


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_no_line_runs_over_the_edge(args: tuple[str, ...], named: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_screen(named, args, NARROW, monkeypatch)
    assert [line for line in shown.splitlines() if width_cells(line) > NARROW] == []


@pytest.mark.parametrize("args", [("list", "docs"), ("schema",), ("verify", "--all")], ids=" ".join)
def test_folding_loses_nothing(args: tuple[str, ...], named: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow = (on_screen(named, args, columns, monkeypatch) for columns in (1000, NARROW))
    assert "".join(narrow.split()) == "".join(wide.split())
    assert len(narrow.splitlines()) > len(wide.splitlines())


def test_the_tenth_hit_has_a_space_before_its_score(named: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = on_screen(named, ("search", "battery", "--k", "12"), 100, monkeypatch)
    places = [line for line in shown.splitlines() if re.match(r"\d+\.", line)]
    assert len(places) == 12
    assert all(re.match(r"\d+\. +\d\.\d\d  \S", place) for place in places), places
    assert len({place.index("  battery") for place in places}) == 1


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("notes/projects/gateway/log.md", 20, ["notes/projects/", "gateway/log.md"]),
        ("transforming-the-gateway", 20, ["transforming-the-", "gateway"]),
        ("see notes/projects/gateway/log.md", 24, ["see", "notes/projects/gateway/", "log.md"]),
        ("/verylongnamewithoutanyjoint", 20, ["/verylongnamewithout", "anyjoint"]),
        ("배터리 교체 일정과 담당자", 12, ["배터리 교체", "일정과", "담당자"]),
    ],
)
def test_a_word_longer_than_a_line_is_broken_behind_a_slash_or_a_mark(text: str, width: int, lines: list[str]) -> None:
    assert [text[start:end] for start, end in fold(text, width)] == lines


@pytest.mark.parametrize(
    "args", [("index",), ("verify",), ("sql",), ("models",), ("eval",), ("eval", "run"), ()], ids=" ".join
)
def test_help_fits_a_narrow_terminal(args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    shown = shown_of((*args, "--help"), NARROW, monkeypatch)
    assert [line for line in shown.splitlines() if width_cells(line) > NARROW] == []
    assert "..." not in shown.replace("]...", "").replace("[ARGS]...", "")


def test_a_long_example_can_be_copied_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = shown_of(("verify", "--help"), NARROW, monkeypatch)
    joined = re.sub(r" \\\n +", " ", shown)
    assert "kb verify --all --json | jq -r 'select(.holds | not) | .trace_id'" in joined


def test_an_option_of_kb_itself_behind_the_command_is_told_where_it_goes() -> None:
    ran = run_kb("search", "gateway", "--config", "kb.toml")
    assert ran.code == 2
    assert "--config goes before the command: kb --config … search" in ran.stderr
    assert "kb search --help shows how it is called" in run_kb("search", "gateway", "--k", "0").stderr


def test_files_without_text_are_one_line_in_words(named: Vault, tmp_path: Path) -> None:
    fresh = make_vault(tmp_path, LONG_NAMED)
    ran = kb_in(fresh)("ingest", "--no-embed", "--summary-only")
    said = "  ! empty file: no text in 5 files: empty 0.md, empty 1.md, empty 2.md and 2 more"
    assert said in " ".join(ran.stderr.split("\n     "))
    assert "empty_file" not in ran.stderr


def test_a_first_ingest_tells_on_a_screen_what_was_read_and_what_was_not(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {f"n{number}.md": f"# Note {number}\n" for number in range(25)})
    for number in range(30):
        (vault.root / f"a{number:02}.ipynb").write_bytes(b"{%d" % number)
        (vault.root / f"b{number:02}.html").write_bytes(b"<!--" + b"x" * number)
        (vault.root / f"c{number:02}.canvas").write_text('{"nodes": ' + "[" * number, encoding="utf-8")
        (vault.root / f"d{number:02}.dwg").touch()
    ran = kb_in(vault)("ingest", "--no-embed")
    said = " ".join(ran.stderr.split())
    assert "! empty file: no text in 30 files: b00.html, b01.html, b02.html and 27 more" in said
    assert "✗ not a notebook: it names no nbformat in 30 files: a00.ipynb, a01.ipynb, a02.ipynb and 27 more" in said
    assert "✗ its JSON is damaged in 30 files" in said
    assert "read: 30 html, 25 markdown\n" in ran.stdout
    assert "not read: 30 .dwg\n" in ran.stdout
    assert ran.stdout.count("\n") + ran.stderr.count("\n") < 24


def _troubled(tmp_path: Path) -> Vault:
    """A folder with something of every kind of trouble, and files of many kinds that kb does not read."""
    vault = make_vault(tmp_path, {f"n{number}.md": f"# Note {number}\n" for number in range(25)})
    for number in range(40):
        (vault.root / f"{number:02}.ics").write_bytes(b"\xff" * (number + 1) + b"BEGIN:VEVENT\nSUMMARY:a")
        (vault.root / f"{number:02}.canvas").write_text('{"nodes": ' + "[" * number, encoding="utf-8")
        (vault.root / f"{number:02}.eml").write_bytes(
            b"Subject: a\nContent-Disposition: attachment; filename=%d.pdf\n\nx" % number
        )
        (vault.root / f"{number:02}.docx").write_bytes(b"PK%d" % number)
        (vault.root / f"{number:02}.html").touch()
        (vault.root / f"data.x{number:02}").touch()
    for number in range(3):
        (vault.root / f"locked{number}.pptx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(number))
        (vault.root / f"gone{number}.md").symlink_to("/nowhere/gone.md")
        os.mkfifo(vault.root / f"pipe{number}.md")
    return vault


def test_very_many_different_errors_are_told_by_their_kind(tmp_path: Path) -> None:
    vault = _troubled(tmp_path)
    ran = kb_in(vault)("ingest", "--no-embed", "--summary-only")
    assert ran.stderr.splitlines()[:4] == [
        "  ✗ 80 damaged, or not of their kind: 00.canvas and 79 more; open it in its program and save it again",
        "  ✗ 3 links to nowhere: gone0.md and 2 more; repair or delete it",
        "  ✗ 3 encrypted: locked0.pptx and 2 more; save a copy without a password",
        "  ✗ 3 no regular files: pipe0.md and 2 more; a folder, FIFO, socket or device has no content of its own to "
        "index",
    ]
    assert "  … each file with its reason: kb ingest --retry --json\n" in ran.stderr
    assert "left out by rules: 40 empty (00.html)\n" in ran.stdout
    shown = kb_in(vault)("status").stdout
    assert "not read     80 damaged, or not of their kind: 00.canvas and 79 more; open it in its program" in shown
    assert "left out     40 empty (00.html)\n" in shown


def test_status_names_each_file_once_and_gives_the_hint_that_holds_for_most(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {"note.md": "# Note\n"})
    for name in ("a.docx", "b.epub", "c.pptx", "d.eml"):
        (vault.root / name).write_bytes(b"nothing of the kind\n")
    (vault.root / "gone.md").symlink_to("nowhere.md")
    (vault.root / "loop.md").symlink_to("loop.md")
    (vault.root / "e.zip").write_bytes(b"PK")
    for form in ("NFC", "NFD"):
        (vault.root / f"{unicodedata.normalize(form, '회의록')}.md").write_text("# 회의\n", encoding="utf-8")
    kb_in(vault)("ingest", "--no-embed")
    rows = [line.removeprefix("not read").strip() for line in kb_in(vault)("status").stdout.splitlines()]
    for row in (
        "4 damaged, or not of their kind: a.docx and 3 more; open it in its program and save it again",
        "2 links to nowhere: gone.md and 1 more; repair or delete it",
        "1 archives: e.zip; archives = true in [workspace] reads them",
        f"1 called as another file is: {unicodedata.normalize('NFC', '회의록')}.md; rename one of the two",
    ):
        assert row in rows


@pytest.mark.parametrize("width", [80, 100])
def test_the_report_and_the_status_of_a_troubled_folder_fit_a_terminal(
    width: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = _troubled(tmp_path)
    for command in (("ingest", "--no-embed"), ("ingest", "--no-embed"), ("status",)):
        shown = on_screen(vault, command, width, monkeypatch, errors_too=True)
        assert "40 empty (00.html)" in " ".join(shown.split())
        assert len(shown.rpartition("\r")[2].strip().splitlines()) < 24, shown


def test_errors_are_told_before_warnings_and_places_in_files_make_no_other_warning(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {})
    for number in range(40):
        (vault.root / f"{number:02}.md").write_bytes(b"x" * number + b" \xff and more\n")
    (vault.root / "gone.md").symlink_to("/nowhere/gone.md")
    ran = kb_in(vault)("ingest", "--no-embed", "--summary-only")
    said = " ".join(ran.stderr.split())
    assert said.startswith("✗ gone.md: the link ")
    assert "! encoding fallback: not valid utf-8 at byte …; " in said
    assert "in 40 files: 00.md, 01.md, 02.md and 37 more" in said


def test_a_title_that_is_the_file_name_is_not_repeated(named: Vault) -> None:
    listed = kb_in(named)("list", "docs").stdout
    (line,) = [line for line in listed.splitlines() if "empty 3" in line]
    assert line.endswith("  empty 3.md")


def test_init_names_what_to_do_next(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nText.\n")
    config = tmp_path / "own.toml"
    ran = run_kb("--config", str(config), "init", str(notes))
    steps = [line.removeprefix("next    ") for line in ran.stdout.splitlines() if line.startswith("next")]
    assert [step.split("  ")[0] for step in steps] == [
        f"kb --config {config} models install",
        f"kb --config {config} ingest",
    ]
    (notes / "a.md").unlink()
    empty = run_kb("--config", str(config), "init").stdout
    assert f"put notes into {notes}, then: kb --config {config} ingest" in empty


def test_a_kind_of_file_that_kb_does_not_read_is_an_error_and_not_an_empty_result(named: Vault) -> None:
    ran = kb_in(named)("search", "gateway", "--media", "film")
    assert ran.code == 2
    assert "'film' is no kind of file that kb reads (markdown, text, " in " ".join(ran.stderr.split())
    assert kb_in(named)("search", "gateway", "--media", "markdown").code == 0
    ran = kb_in(named)("search", "gateway", "--media", "markdown", "--media", "pdf")
    assert ran.code == 2
    assert "it takes one value, and got 2: markdown, pdf" in " ".join(ran.stderr.split())


def test_what_has_no_room_beside_its_head_comes_below_it(named: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = "상속받은 포도밭의 세금은 얼마나 되나요?"
    on_screen(named, ("ask", refused, "--provider", "extractive"), NARROW, monkeypatch)
    shown = on_screen(named, ("answers", "list", "--limit", "1"), NARROW, monkeypatch).splitlines()
    assert shown[0].startswith("ret_")
    assert " no answer: " in " ".join(shown[:-1])
    assert shown[-1] == f"    {refused}"


def test_a_refusal_has_nothing_to_verify_and_says_so(named: Vault) -> None:
    kb_in(named)("ask", "상속받은 포도밭의 세금은?", "--provider", "extractive")
    ran = kb_in(named)("verify")
    assert (ran.code, ran.stdout) == (0, "nothing to check: this answer quotes nothing\n")


@pytest.mark.parametrize(("scheduler", "is_told"), [("tls://far.example:8786", True), ("local", False), ("", False)])
def test_texts_that_an_ingest_sends_elsewhere_are_told(scheduler: str, is_told: bool, vault: Vault) -> None:
    for command in ("status", "doctor"):
        said = kb_in(vault)("--set", f"compute.scheduler={scheduler}", command).stdout
        assert (f"an ingest sends texts and files to {scheduler}" in " ".join(said.split())) is is_told
