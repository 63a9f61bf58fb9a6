"""Several folders in one knowledge base: how their files are named, found, cited, kept from readers and missed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import pytest
from conftest import NOTES, Kb, Vault, kb_in, make_vault, run_kb, write_notes
from fake_embedder import PRIMARY, FakeModels, fake_models
from media_fixtures import needs_tesseract

from kb.config import load
from kb.domain.filters import SearchFilters
from kb.domain.search import SearchQuery
from kb.domain.sources import KEPT_FROM, Source, Sources
from kb.mcp.server import build_server
from kb.operations.ingest.requests import extract_settings
from kb.operations.inspect.facets import count_facets
from kb.operations.inspect.listing import list_things
from kb.operations.inspect.view import note_named
from kb.operations.opening.base import open_base
from kb.operations.opening.exposure import Rules
from kb.operations.search.search import search

__all__ = ["fake_models"]

WORK = {
    "plan.md": "# Turbine plan\n\nThe turbine blade is balanced on Mondays. See [the log](log.md) and [[chunking]].\n",
    "log.md": "# Turbine log\n\nThe bearing of the turbine ran hot at noon.\n",
    "private/pay.md": "# Pay\n\nThe turbine bonus is paid in May.\n",
    "chunking.md": "# Chunking of turbines\n\nA blade is cut into chunks.\n",
}


def add(vault: Vault, name: str, root: str, more: str = "") -> None:
    """Adds a source to the configuration."""
    with vault.config.open("a", encoding="utf-8") as file:
        file.write(f'\n[[sources]]\nname = "{name}"\nroot = "{root}"\n{more}')


@pytest.fixture
def two(tmp_path: Path) -> Vault:
    """A vault with a second source, `work`, indexed by its words."""
    made = make_vault(tmp_path)
    write_notes(tmp_path / "job", WORK)
    add(made, "work", "job", 'about = "The turbine project"\n')
    assert kb_in(made)("ingest", "--no-embed").code == 0
    return made


def paths(kb: Kb) -> set[str]:
    return {each["doc_path"] for each in kb("list", "docs", "--json").lines}


def of_work(*names: str) -> set[str]:
    return {f"work:{name}" for name in names or WORK}


def test_files_of_a_further_source_are_found_and_cited_with_its_name(two: Vault) -> None:
    kb = kb_in(two)
    assert paths(kb) == {*NOTES, *of_work()}
    hit = kb("search", "bearing ran hot", "--json").json["hits"][0]
    assert (hit["doc_path"], hit["citation"]["uri"]) == ("work:log.md", "work:log.md#L1-L3")
    assert hit["title"] == "Turbine log"


@pytest.mark.parametrize(
    "place",
    [
        "work:log.md#L3",
        "work:log.md:3",
        "work:log.md, line 3",
        "`work:log.md#L3`",
        "[log](work:log.md#L3)",
        "kb://lines/3-3/work:log.md",
        "kb://citation/work%3Alog.md%23L3",
        "work%3Alog.md#L3",
        "log.md#L3",
        "{job}/log.md#L3",
    ],
)
def test_a_citation_of_a_further_source_is_fetched_in_every_spelling(two: Vault, place: str) -> None:
    shutil.rmtree(two.root / "projects/gateway")  # which has a log.md too
    kb = kb_in(two)
    kb("ingest", "--no-embed")
    ran = kb("fetch", place.format(job=two.root.parent / "job"))
    assert "ran hot at noon" in ran.stdout, ran.stderr


def test_a_citation_of_a_further_source_opens_its_file(two: Vault) -> None:
    env = {"EDITOR": "echo opened", "VISUAL": ""}
    for place in ("work:log.md#L3", "work:log.md", "work%3Alog.md#L3"):
        ran = kb_in(two)("open", "--print", place, env=env)
        assert str(two.root.parent / "job/log.md") in ran.stdout, ran.stderr


def test_what_is_in_the_workspace_is_as_it_was_without_further_sources(tmp_path: Path, two: Vault) -> None:
    alone = make_vault(tmp_path / "alone")
    kb_in(alone)("ingest", "--no-embed")

    def rows(vault: Vault) -> list[tuple[str, ...]]:
        with closing(sqlite3.connect(vault.sqlite)) as db:
            return db.execute(
                "SELECT d.workspace_path, d.doc_id, d.pipeline_version, c.chunk_id, c.name_text FROM documents AS d "
                "JOIN chunks AS c USING (doc_id) WHERE source = 'workspace' ORDER BY c.chunk_id"
            ).fetchall()

    assert rows(two) == rows(alone)


def test_a_file_of_the_workspace_that_is_called_like_a_source_is_told_apart(two: Vault) -> None:
    kb = kb_in(two)
    write_notes(two.root, {"work:log.md": "# Own\n\nA walrus.\n", "work:x/y.md": "# Deep\n\nA narwhal.\n"})
    assert kb("ingest", "--no-embed").code == 0
    assert {"workspace:work:log.md", "workspace:work:x/y.md"} <= paths(kb)
    assert "walrus" in kb("fetch", "workspace:work:log.md#L3").stdout
    assert "walrus" in kb("fetch", "./work:log.md#L3").stdout
    assert "ran hot" in kb("fetch", "work:log.md#L3").stdout
    (two.root / "work:log.md").unlink()
    kb("ingest", "--no-embed")
    assert paths(kb) & {"workspace:work:log.md", "work:log.md"} == {"work:log.md"}


def test_links_stay_in_their_source(two: Vault) -> None:
    ran = kb_in(two)("related", "work:plan.md", "--json")
    assert [each["target_path"] for each in ran.json["links"]] == ["work:log.md", "work:chunking.md"]
    into = kb_in(two)("related", "work:log.md", "--json").json["backlinks"]
    assert [each["doc_path"] for each in into] == ["work:plan.md"]
    assert kb_in(two)("doctor", "--links").code == 0


def test_a_link_may_name_a_source(two: Vault) -> None:
    write_notes(
        two.root,
        {
            "links.md": "# Links\n\n[[work:plan]] [[work:pay]] [p](work:private/pay.md#L3) ![[work:gone]]\n"
            "\n[[Work plan]] [[log-of-work]] [call](tel:plan) [site](work://log.md) [[tel:plan]]\n",
            "own.md": "# Own\n\n[[chunking]]\n",
        },
    )
    write_notes(
        two.root.parent / "job",
        {
            "log-of-work.md": "# One\n\n[[workspace:links]] [[links]] [[workspace:gone]] [[plan]]\n",
            "sub/plan.md": "---\naliases: [Work plan]\n---\n# Plan of a part\n",
        },
    )
    write_notes(two.root, {"chunking.md": "# Ours\n"})
    write_notes(
        two.root.parent / "third", {"plan.md": "# A plan too\n", "links/ours.md": "# Here\n\n[[pay]] [[plan]]\n"}
    )
    add(two, "third", "third")
    kb = kb_in(two)
    kb("ingest", "--no-embed")

    def links(path: str) -> list[tuple[str, str | None]]:
        return [(each["target"], each["target_path"]) for each in kb("inspect", "doc", path, "--json").json["links"]]

    assert links("links.md") == [
        ("work:plan", "work:plan.md"),
        ("work:pay", "work:private/pay.md"),
        ("work:private/pay.md", "work:private/pay.md"),
        ("work:gone", None),
        ("Work plan", "work:sub/plan.md"),
        ("log-of-work", "work:log-of-work.md"),
    ]
    assert links("own.md") == [("chunking", "chunking.md")]
    assert links("work:log-of-work.md") == [
        ("workspace:links", "links.md"),
        ("links", "links.md"),
        ("workspace:gone", None),
        ("plan", "work:plan.md"),
    ]
    assert links("third:links/ours.md") == [("pay", "work:private/pay.md"), ("plan", "third:plan.md")]
    into = kb("related", "work:plan.md", "--json").json["backlinks"]
    assert [each["doc_path"] for each in into] == ["links.md", "work:log-of-work.md"]
    broken = kb("doctor", "--links", "--json").json["links"]
    assert [each["link"]["target"] for each in broken] == ["work:gone", "workspace:gone"]
    (two.root.parent / "third/plan.md").unlink()
    kb("ingest", "--no-embed")
    assert links("third:links/ours.md")[1] == ("plan", None)  # two of the source work are called so
    with open_base(load(str(two.config))) as session:
        assert note_named(session, "work:pay", "links.md").workspace_path == "work:private/pay.md"


def test_a_link_into_another_source_indexes_no_file_twice(two: Vault) -> None:
    kb, job = kb_in(two), two.root.parent / "job"
    (two.root / "job").symlink_to(job)
    (two.root / "one.md").symlink_to(job / "log.md")
    (two.root / "above").symlink_to(two.root.parent)
    (job / "back").symlink_to(two.root)
    ran = kb("ingest", "--no-embed", "--json").lines[-1]
    assert ran["skip_examples"]["another source"] == ["job", "one.md", "above/job", "work:back"]
    assert not [each for each in paths(kb) if each.startswith(("job/", "above/job", "work:back", "one.md"))]
    assert of_work() <= paths(kb)
    for narrowed in ("job", "job/private", "one.md", "above/job/log.md"):
        assert kb("ingest", "--no-embed", str(two.root / narrowed), "--json").lines[-1]["new"] == 0, narrowed


def test_ocr_is_on_where_a_source_says_so(tmp_path: Path) -> None:
    made = make_vault(tmp_path, {"a.md": "# A\n"}, settings="[ocr]\nenabled = false\n")
    add(made, "scans", "scans", "ocr = true\n")
    add(made, "others", "others")
    add(made, "never", "never", "ocr = false\n")
    config = load(str(made.config))
    assert [each.name for each in config.sources.every if each.ocr] == ["scans"]
    assert extract_settings(config).ocr is not None
    on = load(str(made.config), ("ocr.enabled=true",))
    assert [each.name for each in on.sources.every if each.ocr] == ["workspace", "scans", "others"]
    assert "ocr = true" in run_kb("--config", str(made.config), "config", "show").stdout


@needs_tesseract
def test_pictures_of_such_a_source_are_read_and_no_others(tmp_path: Path) -> None:
    from PIL import Image, ImageDraw, ImageFont

    made = make_vault(tmp_path, {"a.md": "# A\n"}, settings="[ocr]\nenabled = false\n")
    picture = Image.new("L", (900, 120), 255)
    ImageDraw.Draw(picture).text((40, 40), "A turbine blade", font=ImageFont.load_default(36), fill=0)
    (tmp_path / "scans").mkdir()
    for folder in (made.root, tmp_path / "scans"):
        picture.save(folder / "scan.png")
    kb = kb_in(made)
    kb("ingest", "--no-embed")
    add(made, "scans", "scans", "ocr = true\n")
    ran = kb("ingest", "--no-embed", "--json").lines[-1]
    assert (ran["new"], ran["updated"]) == (1, 0)
    hits = kb("search", "turbine blade", "--mode", "lexical", "--json").json["hits"]
    assert [each["doc_path"] for each in hits] == ["scans:scan.png"]


def test_a_source_whose_folder_is_gone_keeps_its_documents_and_is_named(two: Vault) -> None:
    kb = kb_in(two)
    job = two.root.parent / "job"
    job.rename(two.root.parent / "away")
    (two.root / "hostile.md").unlink()
    ran = kb("ingest", "--no-embed")
    assert ran.code == 0
    assert "work" in ran.stderr + ran.stdout
    assert paths(kb) == {*NOTES, *of_work()} - {"hostile.md"}
    job.mkdir()  # the mount point, empty
    assert "4 documents" in kb("ingest", "--no-embed").stderr
    assert of_work() <= paths(kb)
    two.config.write_text(two.config.read_text().replace('"job"', '"away"'))
    report = kb("ingest", "--no-embed", "--json").lines[-1]
    assert (report["new"], report["moved"], report["updated"], report["removed"]) == (0, 0, 0, 0)
    assert "ran hot" in kb("fetch", "work:log.md#L3").stdout


def test_a_missing_workspace_keeps_its_documents_while_other_sources_go_on(two: Vault) -> None:
    kb = kb_in(two)
    two.root.rename(two.root.parent / "away")
    (two.root.parent / "job/log.md").unlink()
    assert kb("ingest", "--no-embed").code == 0
    assert paths(kb) == {*NOTES, *of_work()} - {"work:log.md"}


def test_a_source_that_the_configuration_no_longer_has_is_removed_with_the_next_ingest(two: Vault) -> None:
    kb = kb_in(two)
    text = two.config.read_text()
    two.config.write_text(text[: text.index("[[sources]]")])
    kb("ingest", "--no-embed")
    assert paths(kb) == set(NOTES)


def test_a_path_narrows_an_ingest_to_a_source_or_a_folder_of_it(two: Vault) -> None:
    kb = kb_in(two)
    job = two.root.parent / "job"
    write_notes(job, {"new.md": "# New\n", "private/new.md": "# New\n"})
    write_notes(two.root, {"new.md": "# New\n"})
    assert kb("ingest", "--no-embed", "work:private").code == 0
    assert {path for path in paths(kb) if path.endswith("new.md")} == {"work:private/new.md"}
    assert kb("ingest", "--no-embed", str(job)).code == 0
    assert {path for path in paths(kb) if path.endswith("new.md")} == {"work:private/new.md", "work:new.md"}
    assert kb("ingest", "--no-embed", str(two.root)).code == 0
    assert "new.md" in paths(kb)


@pytest.mark.parametrize("root", ["notes/projects", "notes", "."])
def test_nested_sources_are_refused(tmp_path: Path, root: str) -> None:
    vault = make_vault(tmp_path)
    add(vault, "inner", root)
    ran = kb_in(vault)("ingest", "--no-embed")
    assert (ran.code, "is in that of" in ran.stderr, "leave out one" in ran.stderr) == (2, True, True)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('name = "workspace"', "sources.name must be"),
        ('name = "a/b"', "sources.name must be"),
        ('name = "job"\nexposure = ["all"]', "a source can be kept from more readers, not from fewer"),
        ('name = "job"\ntrust = "high"', "sources.trust must be one of"),
        ('name = "job"\nincl = []', "did you mean sources.include"),
        ('name = "job"\nkinds = ["films"]', "films"),
    ],
)
def test_a_wrong_source_is_refused_with_what_is_right(tmp_path: Path, table: str, said: str) -> None:
    vault = make_vault(tmp_path)
    vault.config.write_text(f'{vault.config.read_text()}\n[[sources]]\nroot = "job"\n{table}\n')
    ran = kb_in(vault)("status")
    assert ran.code == 2
    assert said in " ".join(ran.stderr.split())


def test_two_sources_of_one_name_are_refused(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    add(vault, "job", "a")
    add(vault, "Job", "b")
    assert "two sources are called Job" in kb_in(vault)("status").stderr


def test_a_source_has_its_own_rules(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    texts = {
        "a.md": "# A\n\n---\n",
        "b.txt": "12 34\n",
        "c.md": "# C\n",
        "own.md": "---\ntrust_level: generated\n---\n# O\n",
    }
    write_notes(tmp_path / "job", texts)
    rules = 'include = ["*.md", "*.txt"]\nexclude = ["c.md"]\ntrust = "secondary"\nlanguage = "ko"\n'
    add(vault, "work", "job", rules)
    kb = kb_in(vault)
    kb("ingest", "--no-embed")

    def known() -> dict[str, tuple[str, str]]:
        listed = kb("list", "docs", "--json").lines
        return {
            each["doc_path"]: (each["trust_level"], each["lang"]) for each in listed if each["doc_path"][:5] == "work:"
        }

    assert known() == {
        "work:a.md": ("secondary", "en"),
        "work:b.txt": ("secondary", "ko"),
        "work:own.md": ("generated", "en"),
    }
    vault.config.write_text(vault.config.read_text().replace('"secondary"', '"primary"\nkinds = ["markdown"]'))
    kb("ingest", "--no-embed")
    assert known() == {"work:a.md": ("primary", "en"), "work:own.md": ("generated", "en")}


def test_a_rule_of_exposure_counts_from_the_root_of_each_source(tmp_path: Path) -> None:
    roots = tuple(Source(name, tmp_path, (), ()) for name in ("workspace", "work", "pay"))
    sources = Sources(roots[0], roots[1:])
    hidden = Rules((), ("private/**",), sources, ("pay",)).matches()
    assert all(map(hidden, ("private/a.md", "work:private/a.md", "pay:a.md")))
    assert not any(map(hidden, ("work:a.md", "a.md", "workspace:pay:a.md")))


def test_every_path_of_a_source_comes_back_from_its_stored_form(tmp_path: Path) -> None:
    roots = tuple(Source(name, tmp_path / name, (), ()) for name in ("workspace", "work"))
    sources = Sources(roots[0], roots[1:])
    names = (
        "a.md",
        "work:a.md",
        "workspace:a.md",
        "workspace:work:a.md",
        "workspace:workspace:work:",
        "x/work:a",
        "w:a",
    )
    stored = [(source, name, sources.stored(source, name)) for source in sources.every for name in names]
    assert len({path for *_, path in stored}) == len(stored)
    for source, name, path in stored:
        assert sources.place(path) == (source, name)
        assert sources.on_disk(path) == source.root / name
        assert sources.stored_at(str(source.root / name)) == path
    assert Sources(roots[0]).stored(roots[0], "work:a.md") == "work:a.md"


def test_a_filter_finds_in_the_named_sources_alone(two: Vault) -> None:
    kb = kb_in(two)

    def found(*words: str) -> set[str]:
        return {hit["doc_path"].partition(":")[0] for hit in kb("search", "chunking", "--json", *words).json["hits"]}

    assert found("--source", "work") == {"work"}
    assert found("--source", "workspace") == {"chunking.md", "projects/notes.md"}
    assert found("--source", "Work", "--source", "workspace") == {"work", "chunking.md", "projects/notes.md"}
    assert "the nearest is work" in kb("search", "chunking", "--source", "wrok").stderr
    bulk = kb("search", "--bulk", stdin='{"query": "chunking", "source": ["work"]}\n').lines[0]
    assert {hit["doc_path"] for hit in bulk["response"]["hits"]} == {"work:chunking.md", "work:plan.md"}


def test_values_of_sources_are_counted_only_where_there_are_several(two: Vault, tmp_path: Path) -> None:
    with open_base(load(str(two.config))) as base:
        counts = {each.value: each.documents for each in count_facets(base, SearchFilters()) if each.facet == "source"}
        assert counts == {"workspace": len(NOTES), "work": len(WORK)}
        narrowed = count_facets(base, SearchFilters(sources=("work",), media="markdown"))
        assert {each.value for each in narrowed if each.facet == "source"} == {"workspace", "work"}
        assert {each.documents for each in narrowed if each.facet == "media"} == {len(WORK)}
    alone = make_vault(tmp_path / "alone")
    kb_in(alone)("ingest", "--no-embed")
    with open_base(load(str(alone.config))) as base:
        assert not [each for each in count_facets(base, SearchFilters()) if each.facet == "source"]


def test_forget_takes_what_is_in_a_source(two: Vault) -> None:
    kb = kb_in(two)
    ran = kb("forget", "work:private", "--ignore", "--yes")
    assert ran.code == 0, ran.stderr
    assert (two.root.parent / "job/.kbignore").read_text() == "/private/pay.md\n"
    kb("ingest", "--no-embed")
    assert paths(kb) == {*NOTES, *of_work()} - {"work:private/pay.md"}


def test_a_quotation_stands_after_its_source_was_moved(two: Vault) -> None:
    kb = kb_in(two)
    question = "When did the bearing of the turbine run hot?"
    asked = run_kb(
        "--config", str(two.config), "--set", "rag.score_gate=0", "ask", question, "--provider", "extractive"
    )
    assert "work:log.md" in asked.stdout, asked.stderr
    os.rename(two.root.parent / "job", two.root.parent / "moved")
    two.config.write_text(two.config.read_text().replace('"job"', '"moved"'))
    checked = kb("verify", "--json").stdout
    assert '"standing":"stands"' in checked.replace(" ", ""), checked


def test_a_changelog_at_the_top_of_a_source_counts_less_as_one_of_the_workspace_does(tmp_path: Path) -> None:
    change = "# Changes\n\nThe retry of the uploader waits a minute.\n"
    guide = "# Guide\n\nAbout the retry of the uploader, and how long it waits: a minute, in all of its versions.\n"
    first = {}
    for name, root in (("alone", "notes"), ("two", "job")):
        vault = make_vault(tmp_path / name)
        add(vault, "work", "job")
        write_notes(vault.root.parent / root, {"CHANGELOG.md": change, "guide.md": guide})
        (vault.root.parent / "job").mkdir(exist_ok=True)
        write_notes(vault.root, {"up.py": "def retry():\n    return 60\n"})
        kb_in(vault)("ingest", "--no-embed")
        hits = kb_in(vault)("search", "retry of the uploader waits", "--k", "50", "--json").json["hits"]
        found = [hit["doc_path"].removeprefix("work:") for hit in hits]
        first[name] = [each for each in found if each in ("guide.md", "CHANGELOG.md")]
    assert first["alone"] == first["two"] == ["guide.md", "CHANGELOG.md"]


# --- kb source --------------------------------------------------------------------------------------------------------


def test_sources_are_added_and_listed_and_the_comments_of_the_configuration_stay(tmp_path: Path) -> None:
    vault = make_vault(tmp_path)
    vault.config.write_text(f"# mine\n{vault.config.read_text()}# the end")
    write_notes(tmp_path / "job", WORK)
    with ZipFile(tmp_path / "job" / "old.zip", "w") as archive:
        archive.writestr("plan.md", "# The plan of last year")
    kb = kb_in(vault)
    options = ("--about", 'The "turbine"', "--exclude", "private/", "--archives")
    added = kb("source", "add", "work", str(tmp_path / "job"), *options)
    assert added.code == 0, added.stderr
    assert kb("ingest", "--no-embed").code == 0
    assert paths(kb) == {*NOTES, *of_work(), "work:old.zip!/plan.md"} - {"work:private/pay.md"}
    text = vault.config.read_text()
    assert text.startswith("# mine")
    assert "# the end" in text
    states = {each["name"]: each for each in kb("source", "list", "--json").json["sources"]}
    assert (states["work"]["about"], states["work"]["documents"]) == ('The "turbine"', 4)
    assert states["workspace"]["documents"] == len(NOTES)
    assert "The" in kb("list", "sources").stdout
    assert "source work" in kb("status").stdout
    assert kb("status", "--json").json["sources"][0]["name"] == "work:"


def test_a_name_that_no_source_may_have_is_refused_without_a_default_that_none_may_have(tmp_path: Path) -> None:
    ran = kb_in(make_vault(tmp_path))("source", "add", "b", str(tmp_path))
    assert ran.code == 2
    assert "sources.name must be 2 to 40 letters" in ran.stderr
    assert ran.stderr.endswith("hint: it says what its files are called by: `NAME:path`\n")


def with_two_sources(tmp_path: Path) -> tuple[Vault, Kb]:
    """A workspace with one.md and a source `work` with two.md, ingested."""
    vault = make_vault(tmp_path, {"one.md": "# One\n"})
    write_notes(tmp_path / "job", {"two.md": "# Two\n"})
    kb = kb_in(vault)
    assert kb("source", "add", "work", str(tmp_path / "job")).code == 0
    assert kb("ingest", "--no-embed").code == 0
    return vault, kb


def test_the_folder_of_the_workspace_that_is_gone_is_told_with_what_helps(tmp_path: Path) -> None:
    vault, kb = with_two_sources(tmp_path)
    vault.root.rename(tmp_path / "elsewhere")
    ran = kb("ingest", "--no-embed")
    assert "1 document of it stays (is the folder mounted? in another place: set workspace.root, then kb ingest" in (
        " ".join(ran.stdout.split()) + " ".join(ran.stderr.split())
    )
    assert f"{vault.root}, the folder is not there" in kb("status").stdout
    assert paths(kb) == {"one.md", "work:two.md"}


def test_an_import_names_the_sources_that_the_configuration_lacks(tmp_path: Path) -> None:
    vault, kb = with_two_sources(tmp_path)
    assert kb("export", str(tmp_path / "kb.tar.gz")).code == 0
    there = kb_in(make_vault(tmp_path / "there"))
    ran = there("import", str(tmp_path / "kb.tar.gz"))
    assert "the configuration lacks the sources work: kb source add each" in ran.stderr
    assert there("source", "add", "work", str(tmp_path / "job")).code == 0
    assert there("--set", f"workspace.root={vault.root}", "ingest", "--no-embed", "--json").lines[-1]["unchanged"] == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("work", "{job}"), "there is a source work already"),
        (("inner", "{notes}/projects"), "is in that of workspace"),
        (("outer", "{notes}/.."), "is in that of outer"),
        (("other", "{notes}/nowhere"), "there is no folder"),
        (("http", "{other}"), "sources.name must be"),
        (("films", "{other}", "--kind", "films"), "is no kind of file"),
    ],
)
def test_a_source_that_cannot_be_added_changes_nothing(two: Vault, words: tuple[str, ...], said: str) -> None:
    places = {"job": two.root.parent / "job", "notes": two.root, "other": two.root.parent / "other"}
    places["other"].mkdir()
    before = two.config.read_text()
    ran = kb_in(two)("source", "add", *(word.format(**places) for word in words))
    assert (ran.code, said in " ".join(ran.stderr.split())) == (2, True), ran.stderr
    assert two.config.read_text() == before


def test_a_source_is_removed_with_all_that_is_stored_of_it(two: Vault) -> None:
    kb = kb_in(two)
    with two.config.open("a") as file:
        file.write('\n# about the next\n[[sources]]\nname = "next"\nroot = "next"\n')
    declined = kb("source", "remove", "work", stdin="n\n")
    assert (declined.code, "work:log.md" in declined.stdout) == (1, True)
    assert of_work() <= paths(kb)
    assert kb("source", "remove", "work", "--yes").code == 0
    assert paths(kb) == set(NOTES)
    assert '# about the next\n[[sources]]\nname = "next"' in two.config.read_text()
    assert 'name = "work"' not in two.config.read_text()
    assert (two.root.parent / "job/log.md").exists()
    assert kb("source", "remove", "work").code == 2
    assert "the workspace is the first source" in kb("source", "remove", "workspace").stderr


def test_a_renamed_source_is_cited_by_its_new_name_in_kept_answers_too(two: Vault) -> None:
    kb = kb_in(two)
    text = two.config.read_text().replace('name = "work"', 'name = "work"  # the job')
    two.config.write_text(text)
    question = "When did the bearing of the turbine run hot?"
    asked = run_kb(
        "--config", str(two.config), "--set", "rag.score_gate=0", "ask", question, "--provider", "extractive"
    )
    assert "work:log.md" in asked.stdout, asked.stderr
    ran = kb("source", "rename", "work", "turbine", "--no-embed")
    assert (ran.code, "4 documents moved" in ran.stdout) == (0, True), ran.stderr
    assert paths(kb) == {*NOTES, *(f"turbine:{name}" for name in WORK)}
    assert two.config.read_text() == text.replace('"work"', '"turbine"')
    shown = kb("answers", "show", "--json").stdout
    assert "turbine:log.md" in shown
    assert "work:log.md" not in shown
    assert '"standing":"stands"' in kb("verify", "--json").stdout.replace(" ", "")


def test_a_renamed_source_is_not_embedded_again(two: Vault, fake_models: FakeModels) -> None:
    text = two.config.read_text()
    table = text.index("[[sources]]")
    own = 'cache_dir = "cache"\nmodel_dir = "models"\n'
    two.config.write_text(f'{text[:table]}{own}[models.embedding]\nmodel = "{PRIMARY}"\n\n{text[table:]}')
    kb = kb_in(two)
    assert kb("ingest").code == 0
    embedded = fake_models.calls
    assert embedded
    assert kb("source", "rename", "work", "turbine").code == 0
    hits = kb("search", "turbine", "--mode", "vector", "--source", "turbine", "--json").json["hits"]
    assert {hit["doc_path"] for hit in hits} == {f"turbine:{name}" for name in WORK}
    assert fake_models.calls == embedded


def test_a_source_that_is_not_there_is_not_renamed(two: Vault) -> None:
    os.rename(two.root.parent / "job", two.root.parent / "away")
    before = two.config.read_text()
    ran = kb_in(two)("source", "rename", "work", "turbine")
    assert (ran.code, "while its files are there" in ran.stderr) == (2, True)
    assert two.config.read_text() == before


def test_a_moved_source_changes_nothing_but_the_configuration(two: Vault) -> None:
    kb = kb_in(two)
    os.rename(two.root.parent / "job", two.root.parent / "away")
    assert kb("source", "move", "work", str(two.root.parent / "away")).code == 0
    report = kb("ingest", "--no-embed", "--json").lines[-1]
    assert [report[name] for name in ("new", "updated", "moved", "removed")] == [0, 0, 0, 0]
    assert of_work() <= paths(kb)


def test_sources_written_in_another_way_are_left_to_their_owner(two: Vault) -> None:
    text = two.config.read_text()
    other = text[: text.index("[[sources]]")]
    two.config.write_text(f'sources = [{{name = "work", root = "job"}}]\n{other}')
    before = two.config.read_text()
    ran = kb_in(two)("source", "remove", "work", "--yes")
    assert (ran.code, "by hand" in ran.stderr) == (2, True)
    assert two.config.read_text() == before


# --- agents -----------------------------------------------------------------------------------------------------------


def test_agents_are_told_the_sources_and_see_nothing_of_one_that_is_kept_from_them(two: Vault) -> None:
    write_notes(two.root.parent / "pay", {"a.md": "# Turbine wages\n\nA turbine pays well.\n"})
    add(two, "pay", "pay", 'exposure = ["never_to_mcp"]\n')
    kb_in(two)("ingest", "--no-embed")
    with open_base(load(str(two.config)), audience="agent") as base:
        assert [each.name for each in list_things(base, "sources").items][:2] == ["work:", "workspace:"]
        told = str(build_server(base).instructions)
        assert "work 4 (The turbine project)" in told
        assert "pay" not in told
        hits = search(base, SearchQuery("turbine", "lexical", 50)).hits
        assert {hit.doc_path.partition(":")[0] for hit in hits} == {"work"}
    text = two.config.read_text()
    two.config.write_text(text[: text.index("[[sources]]")])  # before an ingest has removed the documents
    with open_base(load(str(two.config)), audience="agent") as base:
        assert not search(base, SearchQuery("turbine", "lexical", 50)).hits


def test_a_running_server_hides_a_source_that_is_added_meanwhile(two: Vault) -> None:
    with open_base(load(str(two.config)), audience="agent") as base:
        assert search(base, SearchQuery("turbine", "lexical", 50)).hits
        write_notes(two.root.parent / "pay", {"a.md": "# Walrus wages\n\nA walrus pays well.\n"})
        add(two, "pay", "pay", 'exposure = ["never_to_llm"]\n')
        kb_in(two)("ingest", "--no-embed")
        assert not search(base, SearchQuery("walrus", "lexical", 50)).hits


def test_a_source_is_kept_from_all_that_single_documents_are_kept_from(two: Vault, tmp_path: Path) -> None:
    (tmp_path / "diary").mkdir()
    options = [word for name in KEPT_FROM for word in ("--exposure", name)]
    added = kb_in(two)("source", "add", "diary", str(tmp_path / "diary"), *options)
    assert added.code == 0, added.stderr
    assert load(str(two.config)).sources.further[-1].kept_from == KEPT_FROM
