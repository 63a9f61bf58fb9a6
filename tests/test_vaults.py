"""Named knowledge bases: `kb vault`, and `--vault NAME` before any command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import make_vault, run_kb, write_notes
from watching import HAND_OVER, NOT_HANDED_OVER, wait_until_warm, watch

from kb.config.vaults import call_of, vaults
from kb.domain.search import Passage, SearchQuery, SearchResult
from kb.operations.search.vaults import search_vaults

TEA = {"tea.md": "# Tea\n\nA teapot holds a litre. The kettle is blue.\n"}
COFFEE = {"coffee.md": "# Coffee\n\nThe coffee pot holds two litres. The kettle is red.\n"}
WORDS = ("--set", "search.mode=lexical")


@pytest.fixture
def home(away_from_home: Path) -> Path:
    """A home directory with the usual knowledge base and the vault `work`, both indexed."""
    for name, notes in (("tea", TEA), ("coffee", COFFEE)):
        write_notes(away_from_home / name, notes)
    assert run_kb("init", "--root", str(away_from_home / "tea")).code == 0
    assert run_kb("vault", "add", "work", str(away_from_home / "coffee")).code == 0
    for vault in ("default", "work"):
        assert run_kb("--vault", vault, "ingest", "--no-embed").code == 0
    return away_from_home


def paths(*args: str, env: dict[str, str] | None = None) -> list[str]:
    return [each["doc_path"] for each in run_kb(*args, "list", "docs", "--json", env=env).lines]


def test_a_command_works_in_the_vault_that_is_named(home: Path) -> None:
    assert (paths(), paths("--vault", "work"), paths("--vault=default")) == (["tea.md"], ["coffee.md"], ["tea.md"])
    work = {"KB_VAULT": "work"}
    assert (paths(env=work), paths("--vault", "default", env=work)) == (["coffee.md"], ["tea.md"])
    config = str(home / ".config/kb/config.toml")
    assert paths("--config", config, env=work) == ["tea.md"], "an option counts more than the environment"
    assert run_kb("--vault", "work", "config", "path").stdout.strip().endswith("/vaults/work/config.toml")


def test_a_call_is_as_short_as_the_vault_allows(home: Path) -> None:
    known = vaults(os.environ)
    files = (None, known["default"], known["work"], home / "my notes.toml")
    said = [call_of(file, os.environ) for file in files]
    assert said == ["kb", "kb", "kb --vault work", f"kb --config '{home}/my notes.toml'"]


@pytest.mark.parametrize(
    ("args", "env"),
    [(("--config", "x.toml", "--vault", "work"), {}), ((), {"KB_CONFIG": "x.toml", "KB_VAULT": "work"})],
    ids=["options", "environment"],
)
def test_two_names_are_refused(home: Path, args: tuple[str, ...], env: dict[str, str]) -> None:
    ran = run_kb(*args, "status", env=env)
    assert (ran.code, "both name a knowledge base" in ran.stderr) == (2, True)


@pytest.mark.parametrize("name", ["wrok", "../../kb", "/etc", "w.", ""])
def test_an_unknown_name_is_an_error_with_the_nearest(home: Path, name: str) -> None:
    ran = run_kb("--vault", name, "status")
    if not name:
        assert ran.code == 0, "an empty one is none, as in KB_VAULT="
        return
    assert ran.code == 2
    assert "there is no vault" in ran.stderr
    assert ("did you mean work?" in ran.stderr) == (name == "wrok")


@pytest.mark.parametrize("name", ["default", "all", "a", "../x", "a b", "work"])
def test_a_name_that_cannot_be_is_refused(home: Path, name: str) -> None:
    ran = run_kb("vault", "add", name, str(home / "other"))
    assert (ran.code, (home / "other").exists()) == (2, False)


def test_a_configuration_that_is_there_gets_a_name(home: Path, tmp_path: Path) -> None:
    made = make_vault(tmp_path, COFFEE)
    assert run_kb("vault", "add", "old", str(made.config)).code == 0
    assert run_kb("--vault", "old", "ingest", "--no-embed").code == 0
    assert made.sqlite.exists(), "its relative paths count from its own folder"
    rows = {each["name"]: each for each in run_kb("--vault", "old", "vault", "list", "--json").lines}
    assert list(rows) == ["default", "old", "work"]
    assert (rows["old"]["config"], rows["old"]["is_chosen"]) == (str(made.config), True)
    made.config.write_text("[storage\n")
    shown = run_kb("vault", "list").stdout
    assert "→ default" in shown, "a broken one is a line of the list"
    assert "kb.toml" in shown


def test_removing_a_name_keeps_the_data_and_can_be_undone(home: Path) -> None:
    assert run_kb("vault", "remove", "work", "--dry-run").code == 0
    assert run_kb("vault", "remove", "work", stdin="n\n").code == 1
    assert paths("--vault", "work") == ["coffee.md"]
    ran = run_kb("vault", "remove", "work", "--yes")
    assert run_kb("--vault", "work", "status").code == 2
    subprocess.run(ran.stdout.partition("to undo: ")[2].split(), check=True)
    assert paths("--vault", "work") == ["coffee.md"]
    for _ in range(2):  # an earlier one that was removed is in nobody's way, and the data is found again
        assert run_kb("vault", "remove", "work", "--yes").code == 0
        assert run_kb("vault", "add", "work", str(home / "coffee")).code == 0
    assert paths("--vault", "work") == ["coffee.md"]


def test_the_data_goes_only_where_asked_and_that_of_no_other(home: Path) -> None:
    env = {"KB_STORAGE_DATA_DIR": str(home / ".local/share/kb")}  # that of the usual one
    ran = run_kb("vault", "remove", "work", "--data", "--dry-run", env=env)
    assert "vaults/work-" in ran.stdout
    assert paths("--vault", "work") == ["coffee.md"]
    assert run_kb("vault", "remove", "work", "--data", "--yes", env=env).code == 0
    assert not list(home.glob(".local/share/kb/vaults/*/kb.sqlite"))
    assert (paths(), (home / "coffee/coffee.md").exists()) == (["tea.md"], True)
    assert run_kb("vault", "remove", "default", "--yes").code == 2


def test_read_only_mode_changes_no_vault(home: Path) -> None:
    assert run_kb("--read-only", "vault", "add", "new", str(home / "new")).code == 2
    assert run_kb("--read-only", "vault", "remove", "work", "--yes").code == 2
    assert paths("--vault", "work") == ["coffee.md"]


@pytest.mark.slow
def test_kb_watch_answers_calls_of_its_vault(home: Path) -> None:
    config = home / ".config/kb/vaults/work/config.toml"
    with watch(config) as (_, env):
        wait_until_warm(config, env)

        def called(*args: str, **more: str) -> subprocess.CompletedProcess[str]:
            command = [sys.executable, "-c", HAND_OVER, *args]
            return subprocess.run(command, env={**env, **more}, capture_output=True, text=True, check=False)

        assert "coffee.md" in called("--vault", "work", *WORDS, "search", "kettle").stdout
        assert "coffee.md" in called(*WORDS, "search", "kettle", KB_VAULT="work").stdout
        assert called(*WORDS, "search", "kettle").returncode == NOT_HANDED_OVER
        assert called("--vault=default", *WORDS, "search", "kettle").returncode == NOT_HANDED_OVER


# --- all vaults at once ---------------------------------------------------------------------------------------------


def test_a_search_of_all_vaults_is_one_list(home: Path) -> None:
    ran = run_kb("--vault", "all", *WORDS, "search", "kettle holds litre", "--json")
    hits = ran.json["hits"]
    assert [(each["rank"], each["vault"], each["doc_path"]) for each in hits] == [
        (1, "default", "tea.md"),  # both score 0: words that each document has say nothing
        (2, "work", "coffee.md"),
    ]
    shown = run_kb(*WORDS, "search", "kettle", env={"KB_VAULT": "all"}).stdout
    assert "tea.md#L1-L3  [default]" in shown
    assert "coffee.md#L1-L3  [work]" in shown
    assert "vault" not in run_kb(*WORDS, "search", "kettle", "--json").json["hits"][0]


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("paths", "{home}/coffee/coffee.md\n"),
        ("vim", "{home}/coffee/coffee.md:3:5:[work] The coffee pot"),
        ("md", "(<coffee.md#L1-L3>) (work)"),
        ("csv", ",work\r\n"),
    ],
)
def test_every_form_tells_the_vault(home: Path, form: str, expected: str) -> None:
    ran = run_kb("--vault", "all", *WORDS, "search", "coffee pot", "--format", form)
    assert expected.format(home=home) in ran.stdout


def test_a_number_of_the_list_of_all_goes_to_its_vault(home: Path) -> None:
    hits = run_kb("--vault", "all", *WORDS, "search", "coffee", "--json").json["hits"]
    (number,) = [str(each["rank"]) for each in hits if each["vault"] == "work"]
    for vault in (("--vault", "all"), ()):
        assert "The coffee pot" in run_kb(*vault, "fetch", number).stdout
        ran = run_kb(*vault, "open", number, "--print", env={"EDITOR": "vi"})
        assert ran.stdout.split()[-1] == str(home / "coffee/coffee.md")
    run_kb("--vault", "all", *WORDS, "search", "kettle")
    assert "several vaults" in run_kb("fetch", "1", "2").stderr


def test_forgetting_in_a_vault_forgets_the_list_of_all(home: Path) -> None:
    run_kb("--vault", "all", *WORDS, "search", "coffee")
    kept = home / ".local/share/kb/last_shown.json"
    assert "coffee.md" in kept.read_text()
    assert run_kb("--vault", "work", "forget", "coffee.md", "--yes").code == 0
    assert not kept.exists()


def test_a_vault_that_cannot_be_searched_is_a_note(home: Path) -> None:
    (home / ".config/kb/vaults/work/config.toml").write_text("[storage\n")
    ran = run_kb("--vault", "all", *WORDS, "search", "kettle")
    assert (ran.code, "work was not searched" in ran.stderr) == (0, True)
    (home / ".config/kb/config.toml").write_text("[storage\n")
    assert run_kb("--vault", "work", "status").code == 2


def test_status_and_lists_of_all_are_below_the_names(home: Path) -> None:
    ran = run_kb("--vault", "all", "list", "docs")
    assert re.findall(r"^\w+$|\w+\.md", ran.stdout, re.MULTILINE) == ["default", "tea.md", "work", "coffee.md"]
    (home / ".config/kb/vaults/work/config.toml").write_text("[storage\n")
    ran = run_kb("--vault", "all", "status")
    assert (ran.code, str(home / "tea") in ran.stdout, "config.toml" in ran.stderr) == (2, True, True)
    assert run_kb("--vault", "all", "status", "--json").code == 2


@pytest.mark.parametrize(
    "args",
    [("ask", "kettle?"), ("ingest",), ("reset", "index"), ("mcp",), ("search", "x", "--max-tokens", "99"), ("init",)],
    ids=" ".join,
)
def test_what_is_of_one_vault_is_refused_for_all(home: Path, args: tuple[str, ...]) -> None:
    ran = run_kb("--vault", "all", *args)
    assert (ran.code, "--vault NAME" in ran.stderr) == (2, True)


def a_hit(score: float, **values: object) -> Passage:
    texts = ("chunk", "doc", "a.md", "/a.md", "A", "[]", None, "text", '[{"line_start":1,"line_end":1}]', "v1")
    return Passage(*texts)._replace(score=score, **{"score_kind": "late", "embedding_model": "m", **values})


def merged(
    *lists: list[Passage], ranking: Sequence[str] = ("r", "r"), note: str | None = None
) -> list[tuple[str | None, float]]:
    """What is listed of the hits of the vaults v0, v1, …, and of nothing else."""
    query = SearchQuery("q", "hybrid", 10)
    results = {
        f"v{at}": SearchResult(query, (), tuple(hits), "i", ranking_version=ranking[at])
        for at, hits in enumerate(lists)
    }

    class Opened:
        def __init__(self, name: str) -> None:
            self.name = name

        @contextmanager
        def snapshot(self) -> Iterator[Opened]:
            yield self

    found = search_vaults(results, Opened, query, lambda base: results[base.name])  # type: ignore[arg-type, attr-defined]
    assert [hit.rank for hit in found.hits] == list(range(1, len(found.hits) + 1))
    assert found.note == note
    return [(hit.vault, hit.score) for hit in found.hits]


def test_hits_of_one_model_are_ordered_by_score_and_keep_the_order_of_their_vault() -> None:
    one, other = [a_hit(0.5), a_hit(0.9), a_hit(0.2)], [a_hit(0.7), a_hit(0.3)]
    assert merged(one, other) == [("v0", 0.5), ("v0", 0.9), ("v1", 0.7), ("v1", 0.3), ("v0", 0.2)]


DIFFER = (
    "the scores of v0, v1 cannot be compared (models, settings or kinds of hits differ): their hits take turns by rank"
)


@pytest.mark.parametrize("other", [{"embedding_model": "n"}, {"ranking": ("r", "s")}], ids=["model", "ranking"])
def test_scores_that_cannot_be_compared_are_not_mixed(other: dict[str, object]) -> None:
    ranking = other.pop("ranking", ("r", "r"))
    listed = merged([a_hit(0.2), a_hit(0.1)], [a_hit(0.9, **other), a_hit(0.8, **other)], ranking=ranking, note=DIFFER)
    assert listed == [("v0", 0.2), ("v1", 0.9), ("v0", 0.1), ("v1", 0.8)]
