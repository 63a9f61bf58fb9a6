"""Configuration: defaults, then file, then environment, then flags; and every mistake named."""

from __future__ import annotations

import codecs
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import cpu_limited
from hypothesis import given
from hypothesis import strategies as st

from kb import config
from kb.config import Config, expand_variables, load
from kb.config.keys import WorkspaceConfig
from kb.config.reading import GONE_KEYS
from kb.config.writing import items, to_toml
from kb.errors import ConfigError, ConfigNotFound

Env = dict[str, str]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "kb.toml"
    path.write_text("[search]\ndefault_k = 20\nsnippet_chars = 300\n", encoding="utf-8")
    return path


def read(tmp_path: Path, text: str | bytes, **env: str) -> Config:
    path = tmp_path / "kb.toml"
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return load(str(path), (), env)


def message(caught: pytest.ExceptionInfo[ConfigError]) -> str:
    return f"{caught.value.message} | {caught.value.hint}"


def test_defaults() -> None:
    found = load(None, (), {"HOME": "/home/ada"})
    assert found == Config()
    assert {origin for _, _, origin in items(found)} == {"default"}


def test_each_source_overrides_the_ones_before(file: Path) -> None:
    env = {"KB_SEARCH_SNIPPET_CHARS": "100", "KB_CHUNKING_TARGET_TOKENS": "200"}
    found = load(str(file), ["chunking.target_tokens=300"], env)
    assert (found.search.default_k, found.search.snippet_chars, found.chunking.target_tokens) == (20, 100, 300)
    assert found.chunking.overlap_tokens == Config().chunking.overlap_tokens
    assert dict(found.origins) == {
        "search.default_k": "file",
        "search.snippet_chars": "env KB_SEARCH_SNIPPET_CHARS",
        "chunking.target_tokens": "flag",
    }


def test_the_last_flag_wins(file: Path) -> None:
    assert load(str(file), ["search.default_k=3", "search.default_k=4"], {}).search.default_k == 4


def test_kb_config_names_the_file_and_the_option_wins(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.toml"
    other.write_text("[search]\ndefault_k = 7\n", encoding="utf-8")
    env = {"KB_CONFIG": str(file)}
    assert load(None, (), env).search.default_k == 20
    assert load(str(other), (), env).search.default_k == 7


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_named_file_that_is_missing_is_an_error(how: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "nope.toml")
    with pytest.raises(ConfigNotFound) as caught:
        load(missing if how == "option" else None, (), {} if how == "option" else {"KB_CONFIG": missing})
    assert caught.value.code == "config_not_found"
    assert missing in message(caught)
    assert "init" in str(caught.value.hint)


def test_the_default_file_is_the_same_place_everywhere(tmp_path: Path) -> None:
    assert config.default_path({"HOME": "/h"}) == Path("/h/.config/kb/config.toml")
    assert config.default_path({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}) == Path("/x/kb/config.toml")
    place = tmp_path / "kb" / "config.toml"
    place.parent.mkdir()
    place.write_text("[search]\ndefault_k = 9\n", encoding="utf-8")
    assert load(None, (), {"XDG_CONFIG_HOME": str(tmp_path)}).search.default_k == 9


def test_a_byte_order_mark_is_no_matter(tmp_path: Path) -> None:
    assert read(tmp_path, codecs.BOM_UTF8 + b"[search]\ndefault_k = 9\n").search.default_k == 9


@pytest.mark.parametrize("text", ["[search\n", "default_k = \n", "x = 1\nx = 2\n", b"[search]\nlang = '\xff'\n"])
def test_a_file_that_is_not_toml(text: str | bytes, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert "kb.toml" in message(caught)
    assert "TOML" in str(caught.value.hint)


LONG_KEY = ".".join(["a"] * 100_000)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"[search]\n{LONG_KEY} = 1\n", "nested too deeply"),
        (f"[{LONG_KEY}]\n", "nested too deeply"),
        (f"search = {{ {LONG_KEY.replace('.', ' . ')} = 1 }}\n", "nested too deeply"),
        (".".join(['"a.b"'] * 50_000) + " = 1\n", "nested too deeply"),
        (".".join(["'#'"] * 50_000) + " = 1\n", "nested too deeply"),
        ("x = " + "[" * 100_000, "nested too deeply"),
        ("a" * 200_000, "kb.toml"),
        ('"\\"' * 60_000, "kb.toml"),
        ("a." * 500_000 + "a", "longer than 1,000,000 bytes"),
        (f"[search]\ndefault_k = {'1' * 5000}\n", "kb.toml"),
        (f"[search]\ndefault_k = 0x{'f' * 5000}\n", "beyond 64 bits"),
        (f"[workspace]\ninclude = [0x{'f' * 5000}]\n", "beyond 64 bits"),
    ],
)
def test_a_hostile_configuration_is_refused_in_bounded_memory(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "kb.toml"
    file.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "kb", "--config", str(file), "config", "show"]
    limited = ["sh", "-c", 'ulimit -v 1000000; exec "$@"', "sh", *cpu_limited(command, 20)]
    ran = subprocess.run(limited, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert says in ran.stderr
    assert "did not foresee" not in ran.stderr


@pytest.mark.parametrize(
    "line",
    [
        f'include = ["{LONG_KEY}"]',
        f"include = ['{LONG_KEY}']",
        f'include = ["""\n{LONG_KEY}"""]',
        f"include = ['x'] # {LONG_KEY}",
    ],
)
def test_dots_in_a_string_or_a_comment_make_no_long_key(line: str, tmp_path: Path) -> None:
    assert len(read(tmp_path, f"[workspace]\n{line}\n").workspace.include) == 1


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        load(str(tmp_path), (), {})


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="schema_version 2"):
        read(tmp_path, "schema_version = 2\n")
    assert read(tmp_path, "schema_version = 1\n") == Config(file=tmp_path / "kb.toml")


@pytest.mark.parametrize(
    ("text", "named", "nearest"),
    [
        ("[search]\ndefault_q = 3\n", "search.default_q", "search.default_k"),
        ("[chunking]\ntarget_token = 3\n", "chunking.target_token", "chunking.target_tokens"),
        ("[serach]\ndefault_k = 3\n", "serach", "search"),
        ("default_k = 3\n", "default_k", "search.default_k"),
        ("[search]\nroot = 'x'\n", "search.root", "workspace.root"),
        ("[models]\nembedding = 'none'\n", "models.embedding", "did you mean models.embedding.model?"),
        ("[zzz]\na = 1\n", "zzz", "kb config show lists every key"),
    ],
)
def test_an_unknown_name_is_answered_with_the_nearest(text: str, named: str, nearest: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert named in caught.value.message
    assert nearest in str(caught.value.hint)


def test_unknown_names_in_environment_and_flags(file: Path) -> None:
    with pytest.raises(ConfigError, match="KB_SEARCH_DEFAULT_Q") as caught:
        load(str(file), (), {"KB_SEARCH_DEFAULT_Q": "3"})
    assert "search.default_k" in message(caught)
    with pytest.raises(ConfigError, match="--set") as caught:
        load(str(file), ["search.defaultk=3"], {})
    assert "search.default_k" in message(caught)
    with pytest.raises(ConfigError, match=r"section\.key=value"):
        load(str(file), ["search.default_k"], {})


def test_variables_that_are_not_keys_are_left_alone(file: Path) -> None:
    assert load(str(file), (), {"KB_HYPERLINKS": "1", "KB_DATA": "/x", "KB_ANYTHING": "y"}).search.default_k == 20


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("search.default_k", '"ten"'),
        ("search.default_k", "1.5"),
        ("search.default_k", "true"),
        ("search.default_k", "0"),
        ("search.default_k", "1001"),
        ("search.snippet_chars", "19"),
        ("workspace.root", "3"),
        ("workspace.root", '"  "'),
        ("workspace.include", '"**/*.md"'),
        ("workspace.include", "[1, 2]"),
        ("storage.copy_threshold_mb", "-1"),
        ("indexing.max_file_mb", "0"),
        ("chunking.target_tokens", "31"),
        ("chunking.overlap_tokens", "-1"),
        ("chunking.respect_markdown_headings", '"yes"'),
        ("chunking.chunker_version", '"md-heading-v9"'),
    ],
)
def test_a_wrong_value_is_named_with_what_it_must_be(key: str, wrong: str, tmp_path: Path) -> None:
    section, name = key.split(".")
    with pytest.raises(ConfigError, match=f"{key} must be ") as caught:
        read(tmp_path, f"[{section}]\n{name} = {wrong}\n")
    assert "kb.toml" in caught.value.message
    assert "default" in str(caught.value.hint)


def test_the_overlap_stays_below_the_target(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="overlap_tokens"):
        read(tmp_path, "[chunking]\ntarget_tokens = 64\noverlap_tokens = 64\n")


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("search.default_k", "7", 7),
        ("chunking.respect_markdown_headings", "false", False),
        ("chunking.respect_markdown_headings", "YES", True),
        ("workspace.include", "**/*.md, notes/** ,", ("**/*.md", "notes/**")),
        ("workspace.root", "~/a=b", "~/a=b"),
    ],
)
def test_words_are_read_as_the_keys_type(key: str, text: str, value: object, file: Path) -> None:
    section, name = key.split(".")
    by_flag = load(str(file), [f"{key}={text}"], {})
    by_env = load(str(file), (), {f"KB_{section}_{name}".upper(): text})
    assert getattr(getattr(by_flag, section), name) == getattr(getattr(by_env, section), name) == value


@pytest.mark.parametrize("text", ["maybe", "", "2"])
def test_words_that_are_not_of_the_keys_type(text: str, file: Path) -> None:
    with pytest.raises(ConfigError, match="must be true or false"):
        load(str(file), [f"chunking.respect_markdown_headings={text}"], {})


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("~", "/h"),
        ("~/a", "/h/a"),
        ("a/~/b", "a/~/b"),
        ("~ada/a", "~ada/a"),
        ("$X/a", "/x/a"),
        ("${X}a", "/xa"),
        ("${X:-/y}/a", "/x/a"),
        ("${NONE:-/y}/a", "/y/a"),
        ("${EMPTY:-/y}", "/y"),
        ("${NONE:-~/.local}/kb", "/h/.local/kb"),
        ("${NONE:-}", ""),
        ("a$", "a$"),
        ("5$-", "5$-"),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    assert expand_variables(text, {"HOME": "/h", "X": "/x", "EMPTY": ""}) == expanded


def test_a_variable_that_is_not_set_is_named() -> None:
    with pytest.raises(ConfigError, match="NONE") as caught:
        expand_variables("$NONE/a", {})
    assert "NONE" in str(caught.value.hint)


def test_paths_are_absolute_and_relative_ones_count_from_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    monkeypatch.setenv("XDG_STATE_HOME", "/state")
    found = read(
        tmp_path, '[workspace]\nroot = "../notes"\n[storage]\ndata_dir = "data"\nasset_dir = "{data_dir}/../copies"\n'
    )
    assert found.workspace_root == tmp_path.parent / "notes"
    assert found.data_dir == tmp_path / "data"
    assert found.sqlite == tmp_path / "data" / "kb.sqlite"
    assert found.asset_dir == tmp_path / "copies"
    assert found.log_dir == Path("/state/kb/logs")


def test_a_relative_config_file_counts_from_the_working_directory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(file.parent)
    found = load("kb.toml", ["workspace.root=notes"], {})
    assert (found.file, found.workspace_root) == (file, file.parent / "notes")


def values_of(found: Config) -> list[tuple[str, Any]]:
    return [(key, value) for key, value, _ in items(found)]


def test_what_is_shown_loads_to_the_same_values(file: Path, tmp_path: Path) -> None:
    found = load(str(file), ["workspace.exclude=a b,#c"], {"KB_WORKSPACE_ROOT": '한글 "dir"\\x'})
    shown = to_toml(found, with_origins=True)
    assert "default_k = 20  # file" in shown
    assert "# env KB_WORKSPACE_ROOT" in shown
    assert "data_dir = " in shown
    again = read(tmp_path, shown)
    assert values_of(again) == values_of(found)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_text_is_written_as_toml_reads_it(text: str) -> None:
    written = to_toml(Config(workspace=WorkspaceConfig(root=text, include=(text,))), with_origins=False)
    read_back = tomllib.loads(written)["workspace"]
    assert (read_back["root"], read_back["include"]) == (text, [text])


def test_every_key_is_shown_and_has_a_meaning() -> None:
    assert [key for key, _, _ in items(Config())] == list(config.KEYS)
    assert all(key.meaning for key in config.KEYS.values())


def test_the_defaults_obey_the_rules() -> None:
    assert load(None, [f"{key}={value}" for key, value in values_of(Config()) if isinstance(value, str | int)], {})


@pytest.mark.parametrize("written", ['["ko", "en"]', '"ko+en"'])
def test_languages_to_be_heard_are_a_list_or_joined(tmp_path: Path, written: str) -> None:
    file = tmp_path / "kb.toml"
    file.write_text(f"schema_version = 1\n[audio]\nlanguage = {written}\n", encoding="utf-8")
    assert load(str(file), (), {}).audio.language == "ko+en"


@pytest.mark.parametrize("written", ['["korean"]', '["ko", 3]', "[]", '"ko+"', '["auto", "ko"]'])
def test_what_is_no_language_to_be_heard_is_refused(tmp_path: Path, written: str) -> None:
    file = tmp_path / "kb.toml"
    file.write_text(f"schema_version = 1\n[audio]\nlanguage = {written}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match=r"audio\.language"):
        load(str(file), (), {})


@pytest.mark.parametrize("key", [*GONE_KEYS, "rerank.provider"])
def test_a_key_of_an_older_kb_is_told_with_the_reason_it_is_gone(key: str, tmp_path: Path) -> None:
    section, _, name = key.rpartition(".")
    file = tmp_path / "kb.toml"
    file.write_text(f'[{section}]\n{name} = "reading"\n', encoding="utf-8")
    with pytest.raises(ConfigError) as refused:
        load(str(file), env={})
    assert refused.value.details["key"] == key
    assert GONE_KEYS.get(key, "one of") in refused.value.message
