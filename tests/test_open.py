"""`kb open`: places in the viewers that a machine has; `kb open N` counts in what any command showed last."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Ran, Vault, indexed_vault, make_vault, run_kb

PLACES = {"manual.pdf": "page=13", "talk.mp3": "t=822.5,850", "photo.png": "xywh=10,20,300,40"}


@pytest.fixture
def shelf(tmp_path: Path) -> Vault:
    """A workspace with a file of every kind; none needs to be real to be opened."""
    made = make_vault(tmp_path, {"note.md": "one\n\ntwo\n"})
    for name in PLACES:
        (made.root / name).write_bytes(b"")
    return made


def programs(directory: Path, *names: str, code: int = 0) -> dict[str, str]:
    """An environment in which these programs are all there are; each prints its arguments, a line each."""
    path = directory / "bin"
    path.mkdir(exist_ok=True)
    for name in names:
        (path / name).write_text(
            f'#!/bin/sh\nprintf "%s\\n" {name} "$@" > "{directory}/ran"\nexit {code}\n', encoding="utf-8"
        )
        (path / name).chmod(0o755)
    return {"PATH": str(path), "VISUAL": "", "EDITOR": "", "PAGER": ""}


def opened(shelf: Vault, name: str, env: dict[str, str]) -> Ran:
    return run_kb("--config", str(shelf.config), "open", f"{name}#{PLACES[name]}", env=env)


@pytest.mark.parametrize(
    ("name", "program", "arguments"),
    [
        ("manual.pdf", "evince", ["--page-index=13"]),
        ("manual.pdf", "okular", ["-p", "13"]),
        ("manual.pdf", "zathura", ["-P", "13"]),
        ("talk.mp3", "mpv", ["--start=822.5"]),
        ("talk.mp3", "ffplay", ["-ss", "822.5"]),
        ("talk.mp3", "vlc", ["--start-time=822.5"]),
    ],
)
def test_a_viewer_is_run_at_the_place(name: str, program: str, arguments: list[str], shelf: Vault) -> None:
    base = shelf.root.parent
    ran = opened(shelf, name, programs(base, program, "xdg-open"))
    assert (ran.code, ran.stderr) == (0, "")
    assert (base / "ran").read_text().splitlines() == [program, *arguments, str(shelf.root / name)]


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("program", ["xdg-open", "open"])
def test_a_program_that_cannot_jump_is_given_the_file_and_the_place_is_told(
    name: str, program: str, shelf: Vault
) -> None:
    base = shelf.root.parent
    ran = opened(shelf, name, programs(base, program))
    assert ran.code == 0
    assert (base / "ran").read_text().splitlines() == [program, str(shelf.root / name)]
    assert f"{name}#{PLACES[name]}" in ran.stderr


def test_a_web_page_is_opened_in_a_browser_at_the_cited_words(tmp_path: Path) -> None:
    page = b"<title>Lock</title><h1>Lock</h1>\n<p>It opens.</p>\n<ol>\n<li>Close the well-kept valve, now.</ol>"
    vault = indexed_vault(tmp_path, {}, files={"a b.html": page})
    env = {**programs(tmp_path, "firefox", "less", "vim"), "DISPLAY": ":9"}

    def command(**more: str) -> list[str]:
        ran = run_kb("--config", str(vault.config), "open", "a b.html#L4", "--print", env=env | more)
        return shlex.split(ran.stdout)

    words = "Close%20the%20well%2Dkept%20valve%2C%20now."
    assert command() == ["firefox", f"{(vault.root / 'a b.html').as_uri()}#:~:text={words}"]
    assert command(EDITOR="vim")[:2] == ["vim", "+4"]
    assert command(DISPLAY="")[0] == "less"


def test_the_first_viewer_of_the_list_is_taken(shelf: Vault) -> None:
    base = shelf.root.parent
    opened(shelf, "manual.pdf", programs(base, "open", "okular", "zathura"))
    assert (base / "ran").read_text().startswith("okular\n")


@pytest.mark.parametrize("name", PLACES)
def test_without_a_viewer_the_place_is_told(name: str, shelf: Vault) -> None:
    ran = opened(shelf, name, programs(shelf.root.parent))
    assert ran.code == 2
    assert f"no program was found that shows {name}" in ran.stderr
    assert f"{name}#{PLACES[name]}" in ran.stderr


def test_a_viewer_that_fails_is_not_hidden(shelf: Vault) -> None:
    assert opened(shelf, "talk.mp3", programs(shelf.root.parent, "mpv", code=4)).code == 2


def test_what_is_printed_is_what_would_be_run(shelf: Vault) -> None:
    env = programs(shelf.root.parent, "evince")
    ran = run_kb("--config", str(shelf.config), "open", "manual.pdf#page=13", "--print", env=env)
    assert ran.stdout == f"evince --page-index=13 {shelf.root / 'manual.pdf'}\n"
    assert not (shelf.root.parent / "ran").exists()


@pytest.mark.parametrize(("name", "program"), [("manual.pdf", "xdg-open"), ("talk.mp3", "xdg-open"), ("a.txt", "vim")])
def test_a_file_named_without_a_place_is_shown_by_what_shows_its_kind(name: str, program: str, shelf: Vault) -> None:
    (shelf.root / "a.txt").write_text("words\n", encoding="utf-8")
    env = {**programs(shelf.root.parent, "xdg-open", "vim"), "EDITOR": "vim"}
    ran = run_kb("--config", str(shelf.config), "open", name, "--print", env=env)
    assert ran.stdout == f"{program} {shelf.root / name}\n"


def test_a_line_that_the_file_does_not_have_is_told_as_fetch_tells_it(shelf: Vault) -> None:
    ran = run_kb("--config", str(shelf.config), "open", "note.md#L999", "--print")
    assert (ran.code, ran.stdout) == (2, "")
    assert "note.md has 3 lines, and no line 999" in ran.stderr


@pytest.fixture
def notes(tmp_path: Path) -> Vault:
    return indexed_vault(tmp_path)


def kb(vault: Vault, *args: str) -> Ran:
    return run_kb("--config", str(vault.config), *args, env={"VISUAL": "vim"})


def printed(vault: Vault, *args: str) -> str:
    ran = kb(vault, "open", *args, "--print")
    assert (ran.code, ran.stderr) == (0, "")
    return ran.stdout.strip()


def test_the_nth_hit_of_the_last_search_is_opened(notes: Vault) -> None:
    hits = kb(notes, "search", "gateway retries", "--json").json["hits"]
    kb(notes, "search", "gateway retries")
    for number, hit in enumerate(hits, 1):
        start = hit["citation"]["start"]
        assert shlex.split(printed(notes, str(number))) == ["vim", f"+{start}", str(notes.root / hit["doc_path"])]


def test_what_was_shown_last_counts_search_or_ask(notes: Vault) -> None:
    kb(notes, "ask", "정전이 나면 배터리가 얼마나 버티나?", "--provider", "extractive")
    answered = printed(notes, "1")
    assert answered.endswith("projects/gateway/log.md")
    kb(notes, "search", "귤")
    assert printed(notes, "1").endswith("/projects/gateway/meeting #2.md'")
    kb(notes, "answers", "show")
    assert printed(notes, "1") == answered


def test_what_a_program_reads_counts_too_but_for_a_stream_of_questions(notes: Vault) -> None:
    kb(notes, "search", "귤")
    kb(notes, "search", "청킹", "--json")
    kb(notes, "search", "--bulk")
    assert printed(notes, "1").endswith("/chunking.md")
    kb(notes, "ask", "정전이 나면 배터리가 얼마나 버티나?", "--provider", "extractive", "--json")
    assert printed(notes, "1").endswith("projects/gateway/log.md")


def test_a_number_counts_in_the_lines_of_a_list_of_files(notes: Vault) -> None:
    files = kb(notes, "search", "gateway uploads 전원", "--format", "paths").stdout.splitlines()
    assert len(files) == len(set(files)) > 1
    for number, file in enumerate(files, 1):
        assert shlex.split(printed(notes, str(number)))[-1] == file


@pytest.mark.parametrize("asked", ["search 귤", "search 귤 --json", "ask 귤 상자는 어디에 있나 --provider extractive"])
def test_a_list_counts_whose_reader_went_away_before_it_was_printed(asked: str, notes: Vault) -> None:
    kb(notes, "search", "청킹")
    program = [sys.executable, "-m", "kb", "--config", str(notes.config)]
    script = f"{shlex.join(program)} {asked} | true"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "/projects/gateway/meeting #2.md" in printed(notes, "1")


def test_a_number_that_was_not_shown_names_the_question_and_what_there_is(notes: Vault) -> None:
    kb(notes, "search", "귤")
    ran = kb(notes, "open", "7")
    assert ran.code == 2
    assert "'귤'" in ran.stderr
    assert "it showed 1" in ran.stderr
    kb(notes, "search", "platypus")
    assert "it showed no place" in kb(notes, "open", "1").stderr


def test_the_nearest_places_of_a_refusal_open_by_the_numbers_they_show(notes: Vault) -> None:
    ran = kb(
        notes, "ask", "Which chapter of the tax law covers inherited gateway vineyards?", "--provider", "extractive"
    )
    assert ran.code == 1
    places = [line.removeprefix("1.  ") for line in ran.stdout.splitlines() if line.startswith("1.  ")]
    assert places
    assert places[0].partition("#L")[0] in printed(notes, "1").replace("'", "")


def test_without_anything_shown_the_last_answer_counts_and_without_one_it_is_said(notes: Vault) -> None:
    assert "no answer was given yet" in kb(notes, "open", "1").stderr
    kb(notes, "ask", "정전이 나면 배터리가 얼마나 버티나?", "--provider", "extractive", "--json")
    assert printed(notes, "1").endswith("projects/gateway/log.md")


def test_a_file_is_opened_by_its_path(notes: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    assert printed(notes, "chunking.md") == f"vim {notes.root / 'chunking.md'}"
    assert printed(notes, "projects/gateway/meeting #2.md") == f"vim '{notes.root}/projects/gateway/meeting #2.md'"
    assert printed(notes, str(notes.root / "chunking.md")) == f"vim {notes.root / 'chunking.md'}"
    monkeypatch.chdir(notes.root / "projects")
    assert printed(notes, "notes.md") == f"vim {notes.root / 'projects/notes.md'}"
    ran = kb(notes, "open", "nowhere.md")
    assert ran.code == 2
    assert "kb list docs" in ran.stderr


def test_a_list_that_cannot_be_kept_is_shown_and_says_so(notes: Vault) -> None:
    (notes.sqlite.parent / "last_shown.json").mkdir()
    ran = kb(notes, "search", "귤")
    assert ran.code == 0
    assert "meeting #2.md" in ran.stdout
    assert "kb open N cannot count in this list" in ran.stderr
    assert [path.name for path in notes.sqlite.parent.glob("*.tmp")] == []


def test_a_damaged_list_is_an_error_with_a_way_out(notes: Vault) -> None:
    (notes.sqlite.parent / "last_shown.json").write_text("{", encoding="utf-8")
    ran = kb(notes, "open", "1")
    assert ran.code == 2
    assert "search or ask again" in ran.stderr
