"""What other packages bring: found when it is asked for, told by name where it fails, never the end of a run."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import Vault, cpu_limited, kb_in, make_vault
from ingest_fixtures import Workspace, analyse_by_word
from plugin_fixtures import CUES, EXAMPLE, install, install_example

from kb.embed.plugin_models import open_plugin_embedder, open_plugin_scorer
from kb.errors import ModelMissing, PluginFailed
from kb.operations.ingest import read


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what was imported from it is forgotten at the end."""
    folder = tmp_path / "packages"
    folder.mkdir()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(folder))
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith(("kb_example", "broken", "odd")):
            del sys.modules[name]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(read, "analyse", analyse_by_word)
    made = Workspace(tmp_path / "workspace")
    made.write("heron.sbv", CUES)
    made.write("note.md", "# Heron\n\nA heron is a bird.\n")
    return made


def configure(workspace: Workspace, tmp_path: Path, *settings: str) -> None:
    workspace.configure(f"storage.cache_dir={tmp_path / 'cache'}", *settings)


def test_an_extractor_reads_its_files_and_they_are_cited_by_their_lines(
    workspace: Workspace, packages: Path, tmp_path: Path
) -> None:
    install_example(packages)
    configure(workspace, tmp_path, "plugins.extractors=subtitles")
    report = workspace.ingest()
    assert (report.counts.new, report.notes) == (2, [])
    [hit, *_] = [hit for hit in workspace.search("lighthouse") if hit.doc_path.endswith(".sbv")]
    assert hit.citation.to_uri() == "heron.sbv#L2-L11"
    assert workspace.query("SELECT media_type FROM assets ORDER BY media_type") == [("markdown",), ("subtitles/sbv",)]
    assert workspace.ingest().counts.unchanged == 2


@pytest.mark.slow
def test_a_new_version_of_its_package_reads_the_files_again(
    workspace: Workspace, packages: Path, tmp_path: Path
) -> None:
    install_example(packages)
    configure(workspace, tmp_path, "plugins.extractors=subtitles")
    workspace.ingest()
    (packages / "kb_example-0.1.0.dist-info").rename(packages / "kb_example-0.2.0.dist-info")
    metadata = packages / "kb_example-0.2.0.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace("0.1.0", "0.2.0"))
    report = workspace.ingest()
    assert (report.counts.updated, report.counts.unchanged) == (1, 1)


@pytest.mark.slow
def test_what_an_extractor_read_stays_where_its_package_is_gone_and_goes_where_it_is_not_wanted(
    workspace: Workspace, packages: Path, tmp_path: Path
) -> None:
    install_example(packages)
    configure(workspace, tmp_path, "plugins.extractors=subtitles")
    workspace.ingest()
    info = packages / "kb_example-0.1.0.dist-info"
    info.rename(packages / "aside")
    report = workspace.ingest()
    assert workspace.paths() == ["heron.sbv", "note.md"]
    assert report.counts.removed == 0
    [note] = report.notes
    assert note.startswith("no extractor called subtitles is installed")
    (packages / "aside").rename(info)
    configure(workspace, tmp_path)
    assert workspace.ingest().counts.removed == 1


def test_a_chunker_says_where_passages_begin(workspace: Workspace, packages: Path, tmp_path: Path) -> None:
    install_example(packages)
    configure(workspace, tmp_path, "plugins.extractors=subtitles", "plugins.chunkers=subtitles=pauses")
    assert workspace.ingest().counts.errors == 0
    chunks = workspace.query("SELECT text, chunker_version FROM chunks WHERE text LIKE '%-->%' ORDER BY rowid")
    assert [text.count("-->") for text, _ in chunks] == [2, 1]
    assert {version for _, version in chunks} == {"pauses-0.1.0"}


BROKEN = """\
    import os

    class Raises:
        extensions = ("sbv",)
        kinds = ("markdown",)
        def extract(self, text, extension):
            raise ZeroDivisionError("nothing to divide by")
        def starts(self, text, blocks):
            raise ZeroDivisionError("nothing to divide by")

    class Ends(Raises):
        def extract(self, text, extension):
            os._exit(3)

    class Outside(Raises):
        def extract(self, text, extension):
            from kb.plugins import ExtractedText, TextBlock
            return ExtractedText([TextBlock(1, 400)])
        def starts(self, text, blocks):
            return [3, 1]

    class Greedy(Raises):
        extensions = ("md",)

    def absent():
        import not_there

    class Numberless:
        dimensions = 4
        def embed(self, texts, role):
            return [[1.0, 2.0]]
        def score(self, question, passages):
            return [float("nan")] * len(passages)
"""


def install_broken(folder: Path) -> None:
    named = {each: f"broken:{each}" for each in ("Raises", "Ends", "Outside", "Greedy", "absent", "Numberless")}
    groups = ("extractors", "chunkers", "embedders", "rerankers")
    install(folder, "broken", "1.0", {f"kb.{group}": named for group in groups}, BROKEN)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Raises", "the extractor Raises of broken 1.0 failed (ZeroDivisionError): nothing to divide by"),
        ("Ends", "the engine's process ended with code 3"),
        ("Outside", "the extractor Outside of broken 1.0 gave a block that cannot be: lines 1 to 400"),
    ],
)
def test_an_extractor_that_fails_costs_its_files_and_is_named(
    name: str, told: str, workspace: Workspace, packages: Path, tmp_path: Path
) -> None:
    install_broken(packages)
    configure(workspace, tmp_path, f"plugins.extractors={name.lower()}")
    entry_points = packages / "broken-1.0.dist-info/entry_points.txt"
    entry_points.write_text(f"[kb.extractors]\n{name.lower()} = broken:{name}\n")
    report = workspace.ingest()
    [error] = [item.error for item in report.items if item.error is not None]
    assert error.message.startswith(told.replace(f"extractor {name}", f"extractor {name.lower()}"))
    assert workspace.paths() == ["note.md"]


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("extractors=greedy", "asks for files that end in .md: not its own"),
        ("extractors=absent", "failed (ModuleNotFoundError): No module named 'not_there'"),
        ("extractors=nobody", "no extractor called nobody is installed"),
        ("chunkers=code=raises", "plugins.chunkers: 'code' is none of markdown"),
    ],
)
def test_a_plugin_that_cannot_be_used_is_a_note_of_the_report(
    setting: str, told: str, workspace: Workspace, packages: Path, tmp_path: Path
) -> None:
    lower = {"greedy": "broken:Greedy", "absent": "broken:absent", "raises": "broken:Raises"}
    install(packages, "broken", "1.0", {"kb.extractors": lower, "kb.chunkers": lower}, BROKEN)
    configure(workspace, tmp_path, f"plugins.{setting}")
    report = workspace.ingest()
    [note] = report.notes
    assert told in note
    assert workspace.paths() == ["note.md"]


@pytest.mark.parametrize(("name", "told"), [("raises", "ZeroDivisionError"), ("outside", "they begin at [3, 1]")])
def test_a_chunker_that_fails_costs_its_files_and_is_named(
    name: str, told: str, workspace: Workspace, packages: Path, tmp_path: Path
) -> None:
    install(packages, "broken", "1.0", {"kb.chunkers": {name: f"broken:{name.capitalize()}"}}, BROKEN)
    configure(workspace, tmp_path, f"plugins.chunkers=markdown={name}")
    report = workspace.ingest()
    [error] = [item.error for item in report.items if item.error is not None]
    assert f"the chunker {name} of broken 1.0" in error.message
    assert told in error.message


def test_files_whose_chunker_is_gone_stay_as_they_are(workspace: Workspace, packages: Path, tmp_path: Path) -> None:
    configure(workspace, tmp_path)
    workspace.ingest()
    configure(workspace, tmp_path, "plugins.chunkers=markdown=nobody")
    report = workspace.ingest()
    assert workspace.paths() == ["note.md"]
    assert (report.counts.updated, report.counts.removed) == (0, 0)
    assert "no chunker called nobody is installed" in report.notes[0]


def test_encoders_and_rerankers_are_checked_at_the_door(packages: Path) -> None:
    install_example(packages)
    install_broken(packages)
    embedder = open_plugin_embedder("letters")
    vectors = embedder.embed(["heron", "heron"], "passage")
    assert vectors.shape == (2, 256)
    assert vectors[0] @ vectors[1] == pytest.approx(1.0)
    scorer = open_plugin_scorer("near_words")
    near, far = scorer.score("grey heron", ["a grey heron", "grey is the sky where no heron flies"])
    assert (near > far, scorer.label) == (True, "plugin:near_words:0.1.0")
    with pytest.raises(PluginFailed, match=r"the embedder Numberless of broken 1\.0 gave no 1 vectors of 4 numbers"):
        open_plugin_embedder("Numberless").embed(["a"], "query")
    with pytest.raises(PluginFailed, match=r"the reranker Numberless of broken 1\.0 gave no 2 numbers"):
        open_plugin_scorer("Numberless").score("a", ["b", "c"])
    with pytest.raises(ModelMissing, match="no reranker called nobody is installed"):
        open_plugin_scorer("nobody")


def test_doctor_lists_what_is_there_and_what_is_used(packages: Path, tmp_path: Path) -> None:
    install_example(packages)
    kb = kb_in(make_vault(tmp_path))
    ran = kb("--set", "plugins.extractors=subtitles,nobody", "doctor", "--json")
    told = {(each["name"], each["ok"], each["detail"]) for each in ran.json["checks"] if "plugin" in each["name"]}
    assert ("plugin_extractor", True, "subtitles of kb_example 0.1.0") in told
    assert ("plugin_extractor", False, "no extractor called nobody is installed") in told
    [reranker] = [detail for name, _, detail in told if name == "plugin_reranker"]
    assert reranker.startswith("near_words of kb_example 0.1.0: installed, not used (rerank.provider")


def test_nothing_is_looked_for_that_no_configuration_names(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**given: object) -> None:
        raise AssertionError(f"looked for {given}")

    monkeypatch.setattr("kb.plugins.entry_points", refuse)
    assert kb_in(vault)("search", "gateway").code == 0
    assert kb_in(vault)("ingest", "--no-embed", "--dry-run").code == 0


def test_media_takes_the_names_of_configured_extractors(vault: Vault) -> None:
    kb = kb_in(vault)
    assert kb("search", "gateway", "--media", "subtitles").code == 2
    assert kb("--set", "plugins.extractors=subtitles", "search", "gateway", "--media", "subtitles").code == 1


@pytest.mark.slow
def test_the_example_is_installed_by_pip_and_used(tmp_path: Path) -> None:
    target = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(cpu_limited([*pip, "--target", str(target), str(EXAMPLE)]), check=True)
    made = make_vault(tmp_path / "vault")
    (made.root / "heron.sbv").write_text(f"\n\n{CUES}", encoding="utf-8")
    path = os.pathsep.join([str(target), *(each for each in sys.path if each)])
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PYTHONPATH": path}
    settings = {
        "plugins.extractors": "subtitles",
        "plugins.chunkers": "subtitles=pauses",
        "models.embedding.provider": "plugin",
        "models.embedding.model": "letters",
        "rerank.provider": "plugin",
        "rerank.model": "near_words",
        "search.mode": "hybrid",
    }
    flags = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]

    def kb(*args: str) -> str:
        command = [sys.executable, "-m", "kb", "--config", str(made.config), *flags, *args]
        done = subprocess.run(cpu_limited(command), env=env, text=True, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    kb("ingest")
    found = kb("search", "when was the lighthouse built", "--json")
    assert '"heron.sbv#L12-L13"' in found
    assert "plugin:near_words:0.1.0" in found
    assert "letters of kb-example 0.1.0" in kb("doctor")
