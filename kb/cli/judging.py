"""One key per hit: 1 to 3 for how relevant, n or 0 for not, s to stop there, q to keep nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence

import click

from kb.cli.output.terminal import plain, plain_line
from kb.domain.search import SearchHit

_GRADES = {"y": 1, "1": 1, "2": 2, "3": 3, "n": 0, "0": 0}
_HANGUL_KEYS = {"ㅛ": "y", "ㅜ": "n", "ㄴ": "s", "ㅂ": "q"}  # the same keys where the keyboard is set to Korean
_KEYS = "y/1 relevant, 2 very, 3 it is this, n not, s stop here, q keep nothing"


def judge_hits(hits: Sequence[SearchHit]) -> list[tuple[SearchHit, int]]:
    """The hits with their grades, as far as they were judged.

    Raises: click.Abort for q, and where the input ends before anything is judged.
    """
    click.echo(_KEYS, err=True)
    next_key = keys_typed()
    judged: list[tuple[SearchHit, int]] = []
    for hit in hits:
        _show(hit)
        key = _valid(next_key)
        if key == "q" or (key == "" and not judged):
            raise click.Abort
        if key in ("s", ""):
            break
        judged.append((hit, _GRADES[key]))
    return judged


def _show(hit: SearchHit) -> None:
    click.echo(f"\n{hit.rank}. {plain_line(hit.citation.to_uri())}", err=True)
    click.echo(f"   {plain(hit.snippet)}", err=True)


def _valid(next_key: Callable[[], str]) -> str:
    """The next key that means something; empty where the input has ended."""
    while True:
        click.echo(" ? ", err=True, nl=False)
        key = next_key().lower()
        click.echo(plain_line(key), err=True)
        if key in ("", "s", "q") or key in _GRADES:
            return key
        click.echo(f"   {_KEYS}", err=True)


def keys_typed() -> Callable[[], str]:
    """A function that gives one key at a time: pressed on a terminal, else the characters of stdin; spaces never."""
    typed = _pressed() if sys.stdin.isatty() else (char for line in sys.stdin for char in line)
    keys = (_HANGUL_KEYS.get(char, char) for char in typed if not char.isspace())
    return lambda: next(keys, "")


def _pressed() -> Iterator[str]:
    """What is pressed on the terminal, also where several come at once; an arrow is one key, which means nothing."""
    while True:
        pressed = click.getchar()
        yield from [pressed] if pressed.startswith("\x1b") else pressed
