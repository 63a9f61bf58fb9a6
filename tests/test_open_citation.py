"""`kb open`: pages and seconds in the viewers a machine has, each told in its own words; run as a person runs it."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Ran, Vault, make_vault, run_kb

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
