"""What a plain configuration is read as, without the library: the same, or nothing."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kb.config import load
from kb.config.plain_toml import plain_tables
from kb.config.showing import starter_toml

NAMES = st.sampled_from(["a", "b", "a.b", "a.b.c", "é", "x-1", "", "a b", '"q"', "a..b"])
VALUES = st.one_of(
    st.sampled_from(
        'true|false|0|7|007|-1|+1|1_000|1.5|0x1f|1979-05-27|"" |"가"|"a\\tb"|"a\tb"|"a" # b|"a"b"|"|"""|\'x\'|'
        '"""x"""|["a"]|[|]|{a = 1}|"#"|999999999999999999|9999999999999999999|inf|True|nan|1 2'.split("|")
    ),
    st.text(max_size=4),
)
LINES = st.one_of(
    st.builds("{}{}={}{}".format, NAMES, st.sampled_from(["", " ", "\t"]), st.sampled_from(["", " "]), VALUES),
    st.builds("[{}]".format, NAMES),
    st.builds("# {}".format, st.text(max_size=4)),
    st.sampled_from(["", " ", "[[a]]", "[a] # b", "[a", "a]", '"""', "'''", "\x0b", "\r", "= 1", "a"]),
)


@given(st.lists(LINES, max_size=6))
@example(["a = 1", "[a]"])
@example(["[a.b]", "x = 1", "[a]", "b = 2"])
@example(["[a]", "[a]"])
@example(['a = "', "b = 1", '"'])
def test_it_is_read_as_the_library_reads_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    found = plain_tables(text)
    if found is not None:
        assert found == tomllib.loads(text)
        assert str(found) == str(tomllib.loads(text)), "true is no 1"


def test_a_configuration_as_kb_writes_it_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of its lines, those that stand as comments too; only lists and fractions are the library's."""
    monkeypatch.setenv("KB_WORKSPACE_ROOT", "/notes/노트")
    written = starter_toml(load(None))
    found = plain_tables(written)
    assert found == tomllib.loads(written)
    assert found is not None
    assert found["workspace"]["root"] == "/notes/노트"
    every = [line.removeprefix("# ").partition("  # ")[0] for line in written.splitlines()]
    plain = [line for line in every if plain_tables(line) is not None]
    assert len(plain) > len(every) / 2


@pytest.mark.parametrize("text", ['a = ["b"]', "a = 1.5", 'a = "\\t"', "a.b = 1", "[[a]]", "a = 1 # b", "a =", "[a]]"])
def test_other_lines_are_left_to_the_library(text: str) -> None:
    assert plain_tables(text) is None
