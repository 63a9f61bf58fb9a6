"""A narrow terminal: no line runs over its edge, no word is cut where a space or a slash was near, nothing is lost."""

from __future__ import annotations

import io
import re
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest
from conftest import Vault, indexed_vault, kb_in, make_vault, run_kb
from on_terminal import shown_text

from kb.cli.main import main
from kb.cli.output.terminal import fold, width_cells

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


def on_screen(vault: Vault, args: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """What a terminal of so many columns shows of one call of kb."""
    return shown_of(("--config", str(vault.config), *args), columns, monkeypatch)


def shown_of(args: tuple[str, ...], columns: int, monkeypatch: pytest.MonkeyPatch) -> str:
    """The same of a call that needs no vault."""
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm-256color")
    out, err = Screen(), io.StringIO()
    err.isatty = lambda: False  # type: ignore[method-assign]
    with redirect_stdout(out), redirect_stderr(err):
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
    lines = ["empty file: no text in 5 files:", "empty 0.md", "empty 1.md", "empty 2.md", "and 2 more"]
    assert "\n      ".join(lines) in ran.stderr
    assert "empty_file" not in ran.stderr


def test_a_title_that_is_the_file_name_is_not_repeated(named: Vault) -> None:
    listed = kb_in(named)("list", "docs").stdout
    (line,) = [line for line in listed.splitlines() if "empty 3" in line]
    assert line.endswith("  empty 3.md")


def test_init_names_what_to_do_next(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "a.md").write_text("# A\n\nText.\n")
    config = tmp_path / "own.toml"
    ran = run_kb("--config", str(config), "init", "--root", str(notes))
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
    assert "'film' is no kind of file that kb reads (markdown, text, pdf, " in " ".join(ran.stderr.split())
    assert kb_in(named)("search", "gateway", "--media", "markdown").code == 0


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
