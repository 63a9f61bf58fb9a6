"""Questions about source code: the definition that is named stands first, with its lines; notes stay as they are."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import apsw
import pytest
from conftest import Vault, indexed_vault, kb_in, make_vault, run_kb

from kb.config import load
from kb.domain.search import SearchQuery
from kb.operations.opening.base import open_base
from kb.operations.search.search import search
from kb.retrieve.code_search import merged, weight
from kb.store import queries

FILES = {
    "notes/upload.md": "# Uploads\n\nAn upload that fails is retried three times before anybody is told.\n",
    "notes/pack.md": "# Packing\n\nParcels are packed on Mondays.\n",
    "src/upload.py": '''"""Sends files."""

LIMIT_BYTES = 1_000


class Uploader:
    """Sends one file after the other."""

    def send(self, path: str) -> None:
        """Sends a file, again where the network fails, with a pause that doubles."""
        pack(path)
        retryUpload(path)


def pack(path: str) -> bytes:
    """The bytes of a file behind its length."""
    return path.encode()
''',
    "src/retry.ts": """// Calls again until it works, waiting longer each time.
export function retryUpload(path: string): void {
  while (!send(path)) wait();
}
""",
    "src/store.rs": """/// A place for rows.
pub struct Store { rows: Vec<Row> }

impl Store {
    /// Puts a row at the end.
    pub fn push_row(&mut self, row: Row) { self.rows.push(row) }
}
""",
    "deploy/Dockerfile": "FROM python AS build\nRUN pip wheel .\n\nFROM debian AS runtime\nCOPY --from=build /w .\n",
    "deploy/compose.yaml": "services:\n  web:\n    image: web\n  cache:\n    image: valkey\nvolumes:\n  data: {}\n",
    "deploy/app.yaml": (
        "apiVersion: v1\nkind: Service\nmetadata:\n  name: front\n---\n"
        "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: back\nspec:\n  replicas: 2\n"
    ),
    "db/schema.sql": "-- People.\nCREATE TABLE people (\n  name TEXT\n);\n\nCREATE INDEX idx_name ON people (name);\n",
    "bin/run.sh": "#!/bin/sh\nset -eu\n\nclean() {\n  rm -rf build\n}\n\nclean\n",
    "pyproject.toml": '[project]\nname = "sender"\n\n[tool.ruff]\nline-length = 120\n',
}


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return indexed_vault(tmp_path_factory.mktemp("code"), FILES)


def found(vault: Vault, *words: str) -> list[dict[str, object]]:
    ran = kb_in(vault)("search", "--json", *words)
    return [] if ran.code else list(ran.lines[-1]["hits"])


def uris(vault: Vault, *words: str) -> list[str]:
    return [hit["citation"]["uri"] for hit in found(vault, *words)]  # type: ignore[index]


@pytest.mark.parametrize(
    ("question", "uri"),
    [
        ("Where is retryUpload defined?", "src/retry.ts#L1-L4"),
        ("retry_upload", "src/retry.ts#L1-L4"),
        ("retryUpload는 어디에 정의돼 있나?", "src/retry.ts#L1-L4"),
        ("push_row", "src/store.rs#L5-L6"),
        ("Store::push_row", "src/store.rs#L5-L6"),
        ("Store", "src/store.rs#L1-L2"),
        ("Uploader", "src/upload.py#L6-L7"),
        ("LIMIT_BYTES", "src/upload.py#L3"),
        ("where is pack defined", "src/upload.py#L15-L17"),
        ('File "/build/src/upload.py", line 12, in send', "src/upload.py#L9-L12"),
        ("    at send (src/retry.ts:3:9)", "src/retry.ts#L1-L4"),
        ("Deployment back", "deploy/app.yaml#L5-L11"),
    ],
)
def test_the_definition_that_is_asked_for_stands_first(kept: Vault, question: str, uri: str) -> None:
    assert uris(kept, question)[0] == uri


def test_of_names_that_differ_in_their_marks_the_one_that_is_spelled_stands_first(tmp_path: Path) -> None:
    files = {"a.py": "def retryUpload():\n    pass\n", "b.py": "def retry_upload():\n    pass\n"}
    vault = indexed_vault(tmp_path, files)
    assert [uris(vault, name)[0] for name in ("retryUpload", "retry_upload")] == ["a.py#L1-L2", "b.py#L1-L2"]


def test_who_calls_a_name_is_told_before_where_it_is_defined(kept: Vault) -> None:
    assert uris(kept, "who calls retryUpload?")[:2] == ["src/upload.py#L9-L12", "src/retry.ts#L1-L4"]
    assert uris(kept, "retryUpload를 어디서 부르나")[0] == "src/upload.py#L9-L12"


def test_a_citation_says_what_is_defined_there(kept: Vault) -> None:
    hit = found(kept, "push_row")[0]
    citation = hit["citation"]
    assert isinstance(citation, dict)
    assert (citation["kind"], citation["symbol"], citation["symbol_kind"]) == ("code", "Store.push_row", "method")
    assert (citation["line_start"], citation["line_end"], citation["lang"]) == (5, 6, "rust")
    assert hit["signature"] == "pub fn push_row(&mut self, row: Row)"
    shown = kb_in(kept)("search", "push_row").stdout
    assert "Store.push_row (method, rust)" in shown


def test_notes_are_found_as_if_there_were_no_code(kept: Vault, tmp_path: Path) -> None:
    alone = indexed_vault(tmp_path, {path: text for path, text in FILES.items() if path.endswith(".md")})
    for question in ("parcels on Mondays", "an upload that fails is told", "Packing"):
        mine = [hit["retrieval"] for hit in found(kept, "--media", "markdown", question)]
        assert mine == [hit["retrieval"] for hit in found(alone, question)]


def test_what_notes_say_themselves_stays_first(kept: Vault) -> None:
    assert uris(kept, "parcels are packed on Mondays")[0] == "notes/pack.md#L1-L3"


def test_an_answer_is_from_notes_however_much_code_is_found(kept: Vault) -> None:
    question = "Uploader.send retryUpload: how often is an upload that fails retried?"
    assert uris(kept, "--k", "1", question)[0].startswith("src/")
    asked = kb_in(kept)("ask", "--provider", "extractive", "--k", "1", "--json", question)
    assert [each["citation"]["path"] for each in asked.json["citations"]] == ["notes/upload.md"]


def test_the_label_of_a_ranking_names_what_ordered_the_code(kept: Vault) -> None:
    def label(question: str) -> str:
        return str(kb_in(kept)("search", question, "--json").json["ranking_version"])

    assert re.search(r"/search_code-\d+/code-\d+/code-[0-9a-f]{8}$", label("retryUpload"))
    assert "search_code" not in label("Mondays")


@pytest.mark.parametrize(
    ("filters", "paths"),
    [
        (("--code-lang", "rust"), {"src/store.rs"}),
        (("--symbol", "retry*"), {"src/retry.ts"}),
        (("--kind", "class"), {"src/upload.py"}),
        (("--media", "code/dockerfile"), {"deploy/Dockerfile"}),
    ],
)
def test_filters_of_code_keep_what_passes_them(kept: Vault, filters: tuple[str, ...], paths: set[str]) -> None:
    hits = found(kept, *filters, "retryUpload send rows sends file build")
    assert {hit["doc_path"] for hit in hits} == paths


def test_a_name_is_inspected_with_its_definitions_and_uses(kept: Vault) -> None:
    (told,) = kb_in(kept)("inspect", "symbol", "pack", "--json").lines
    assert [each["citation"]["uri"] for each in told["definitions"]] == ["src/upload.py#L15-L17"]
    assert [(each["citation"]["uri"], each["from_symbol"]) for each in told["uses"]] == [
        ("src/upload.py#L11", "src.upload.Uploader.send")
    ]
    assert "pack (function, python, public)" in kb_in(kept)("inspect", "symbol", "pack").stdout
    assert kb_in(kept)("inspect", "symbol", "nowhere").code == 2


def test_definitions_are_listed_by_path_and_kind(kept: Vault) -> None:
    listed = kb_in(kept)("list", "symbols", "--path", "src/**", "--kind", "method", "--json")
    assert [each["qualified_name"] for each in listed.lines] == ["Store.push_row", "src.upload.Uploader.send"]
    assert kb_in(kept)("list", "symbols", "--kind", "stage").stdout.split()[0] == "build"


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("deploy/Dockerfile", ["build", "python", "runtime", "debian"]),
        ("deploy/compose.yaml", ["web", "cache", "volumes"]),
        ("deploy/app.yaml", ["front", "back"]),
        ("db/schema.sql", ["people", "idx_name"]),
        ("bin/run.sh", ["clean"]),
        ("pyproject.toml", ["project", "sender", "tool.ruff"]),
    ],
)
def test_files_around_code_are_cut_by_their_parts(kept: Vault, path: str, names: list[str]) -> None:
    listed = kb_in(kept)("list", "symbols", "--path", path, "--json")
    assert [each["name"] for each in listed.lines] == names


@pytest.fixture
def vault(kept: Vault, tmp_path: Path) -> Vault:
    """The same, to change."""
    return make_vault(tmp_path, FILES)


def test_what_no_person_wrote_is_left_out_and_named(vault: Vault) -> None:
    odd = {
        "vendor/lib.py": "def theirs():\n    pass\n",
        "gen/a.go": "// Code generated by a tool. DO NOT EDIT.\npackage a\n",
        "web/app.min.js": "function a(){}\n",
        "web/bundle.js": "x" * 10_000_000,
        "raw.py": "\0\1",
        "big.py": "x = 1\n" * 300_000,
        "node_modules/lib.js": "function a(){}\n",
    }
    for name, text in odd.items():
        (vault.root / name).parent.mkdir(exist_ok=True)
        (vault.root / name).write_text(text)
    report = kb_in(vault)("ingest", "--no-embed", "--json").lines[-1]
    assert report["skip_examples"] == {
        "vendored": ["vendor/lib.py"],
        "generated": ["gen/a.go"],
        "minified": ["web/app.min.js", "web/bundle.js"],
        "binary": ["raw.py"],
        "size_exceeded": ["big.py"],
        "builtin_blacklist": ["node_modules"],
    }
    counts = {name: report[f"skipped_{name}"] for name in ("generated", "size_exceeded", "builtin_blacklist")}
    assert counts == {"generated": 1, "size_exceeded": 1, "builtin_blacklist": 1}
    assert all((item["warnings"], item["error"]) == ([], None) for item in report["items"])
    (vault.root / "src/retry.ts").write_text("/* @generated */\nexport const a = 1;\n")
    again = kb_in(vault)("ingest", "--no-embed", "--json").lines[-1]
    assert again["removed"] == 1, "what has become generated goes"


def test_a_grammar_that_is_not_installed_is_said_once(vault: Vault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.extract.code.document.lacking_module", lambda lang: f"tree_sitter_{lang}")
    ran = kb_in(vault)("ingest", "--no-embed")
    assert "tree_sitter_python is not installed, python is cut by paragraphs: 1 file" in ran.stdout + ran.stderr
    assert uris(vault, "retryUpload")[0].startswith("src/")


def test_a_changed_file_gives_up_its_old_definitions(vault: Vault) -> None:
    kb_in(vault)("ingest", "--no-embed")
    (vault.root / "src/retry.ts").write_text("export function tryAgain(): void {}\n")
    kb_in(vault)("ingest", "--no-embed")
    assert kb_in(vault)("inspect", "symbol", "retryUpload").code == 2
    assert uris(vault, "tryAgain")[0] == "src/retry.ts#L1"
    shutil.rmtree(vault.root / "src")
    kb_in(vault)("ingest", "--no-embed")
    listed = kb_in(vault)("list", "symbols", "--path", "src/**", "--json")
    assert listed.code == 1
    checks = json.loads(kb_in(vault)("doctor", "--json").stdout)["checks"]
    sound = {check["name"]: check["ok"] for check in checks}
    assert all(sound[name] for name in ("fts_consistent", "index_version", "sqlite_integrity", "references"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "bomb.yaml",
            "a: &a [x]\n"
            + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)},*{chr(97 + n)}]\n" for n in range(20)),
        ),
        ("chart.yaml", "apiVersion: v1\nkind: {{ .Values.kind }}\nmetadata:\n  name: {{ .Release.Name }}\n"),
        ("deep.py", "x = (\n" + "(\n" * 10_000 + ")\n" * 10_001),
        ("crlf.py", "def crlf():\r\n\treturn 1\r\n"),
    ],
)
def test_odd_files_are_indexed_and_found(vault: Vault, name: str, text: str) -> None:
    (vault.root / name).write_bytes(text.encode())
    report = kb_in(vault)("ingest", "--no-embed", "--json").lines[-1]
    assert report["errors"] == 0
    found = uris(vault, "--path-glob", name, "x apiVersion crlf")
    assert [uri for uri in found if not uri.startswith(name)] == []
    assert found != []


def test_notes_are_searched_by_meaning_however_much_code_there_is_without_vectors(vault: Vault) -> None:
    config = str(vault.config)
    run_kb("--config", config, "ingest", "--no-embed")
    db = apsw.Connection(str(vault.sqlite))
    db.execute("INSERT INTO embedding_slots VALUES ('primary', 'm', '1', 4, 't', 'now')")
    db.execute("CREATE TABLE vec_primary_rowids AS SELECT chunk_rowid FROM chunks WHERE symbol_text IS NULL")
    assert queries.select_incomplete(db) is None
    db.execute("DELETE FROM vec_primary_rowids WHERE rowid = 1")
    assert queries.select_incomplete(db) == (2, 1), "the two notes"
    db.close()


def test_where_a_method_is_called_is_told_of_its_own_type(tmp_path: Path) -> None:
    files = {
        "base.py": "class KnowledgeBase:\n    def refresh(self):\n        pass\n",
        "session.py": "from base import Base\n\n\ndef reading(base: Base):\n    base.refresh()\n",
        "screen.py": "class Screen:\n    def show(self):\n        self.refresh()\n        self.refresh()\n",
        "bench.py": "def main():\n    with knowledge_base() as base:\n        pass\n",
        "made.py": "def knowledge_base():\n    pass\n",
    }
    vault = indexed_vault(tmp_path, files)
    assert uris(vault, "Base.refresh를 어디서 부르나")[0] == "session.py#L4-L5"
    asked = kb_in(vault)("ask", "--provider", "extractive", "--json", "who calls Base.refresh")
    assert [each["citation"]["uri"] for each in asked.json["citations"]] == ["session.py#L5"]


def test_uses_are_found_by_the_name_of_a_file_and_by_which_functions_call_what(tmp_path: Path) -> None:
    files = {
        "sql/load_rows.sql": "SELECT 1 AS one;\n",
        "binding.py": "def sql(file):\n    return file\n\n\n@sql('load_rows.sql')\ndef load_rows(db): ...\n",
        "other.py": "from binding import sql\n\n\n@sql('other.sql')\ndef load_others(db): ...\n",
        "use.py": "from binding import load_rows\n\n\ndef used(db):\n    return load_rows(db)\n",
        "engine.py": "class Engine:\n    def ts(self):\n        return 1\n",
        "clock.py": "def ticking(engine):\n    return engine.ts()\n",
        "a.py": "def _load_rows():\n    pass\n\n\ndef inner():\n    _load_rows()\n    _load_rows()\n",
    }
    vault = indexed_vault(tmp_path, files)
    assert uris(vault, "Where is load_rows.sql called from?")[0].startswith("use.py")
    assert uris(vault, "Where is Engine.ts called from?")[0] == "clock.py#L1-L2"
    assert uris(vault, "Which functions call load_rows?")[0].startswith("use.py")


SPELLED = {
    "kb_eval/metrics.py": ("def compute_mrr(hits):\n    return 1\n", "kb_eval.metrics.compute_mrr"),
    "pkg/__init__.py": ("class Root:\n    def go(self): ...\n", "pkg.Root.go"),
    "src/Foo.ts": ("export class Foo {\n  search(): void {}\n}\n", "src/Foo.Foo.search"),
    "chunk/chunk.go": ("package chunk\n\nfunc (c *Chunker) Chunk() {}\n", "chunk.(*Chunker).Chunk"),
    "chunk/value.go": ("package chunk\n\nfunc (c Cutter) Chunk() {}\n", "chunk.Cutter.Chunk"),
    "java/Foo.java": ("package com.foo;\n\nclass Foo {\n  void bar() {}\n}\n", "com.foo.Foo.bar"),
    "kt/Foo.kt": ("package com.other\n\nclass Foo {\n  fun bar() {}\n}\n", "com.other.Foo.bar"),
    "k.cpp": ("namespace ns {\nclass Klass {\n  void grow() {}\n};\n}\n", "ns::Klass::grow"),
    "plain.c": ("int shrink(int a)\n{\n  return a;\n}\n", "shrink"),
}


def test_a_name_is_qualified_as_its_language_does_and_found_however_it_is_spelled(tmp_path: Path) -> None:
    vault = make_vault(tmp_path, {path: text for path, (text, _) in SPELLED.items()})
    config = str(vault.config)
    assert run_kb("--config", config, "ingest", "--no-embed").code == 0
    listed = run_kb("--config", config, "list", "symbols", "--json").lines
    assert {each["qualified_name"] for each in listed} >= {name for _, name in SPELLED.values()}
    for path, (_, name) in SPELLED.items():
        hit = found(vault, f"where is {name} defined")[0]
        assert (hit["doc_path"], hit["citation"]["symbol"]) == (path, name)  # type: ignore[index]
    spellings = {
        "metrics.compute_mrr": "kb_eval/metrics.py",
        "Chunker.Chunk": "chunk/chunk.go",
        "(*Chunker).Chunk": "chunk/chunk.go",
        "Cutter.Chunk": "chunk/value.go",
        "Foo::search": "src/Foo.ts",
        "Klass::grow": "k.cpp",
        "ns.Klass.grow": "k.cpp",
    }
    assert {name: found(vault, name)[0]["doc_path"] for name in spellings} == spellings
    for name, path in spellings.items():
        (told,) = run_kb("--config", config, "inspect", "symbol", name, "--json").lines
        assert [each["citation"]["path"] for each in told["definitions"]] == [path]
    assert "Chunker" in run_kb("--config", config, "list", "symbols", "--symbol", "Chunker.*").stdout
    shown = run_kb("--config", config, "search", "compute_mrr").stdout
    assert "compute_mrr (function, python)" in shown
    assert "kb_eval.metrics.compute_mrr" not in shown, "the path says the module"


def test_a_function_inside_of_another_is_found_before_its_namesake(tmp_path: Path) -> None:
    files = {
        "lib/hash.js": (
            "(function (root) {\n  // The digest of a text.\n  function sha512_utf8(text) {\n    return text;\n  }\n"
            "  root.hash = sha512_utf8;\n})(this);\n"
        ),
        "hash.go": "package hash\n\n// Sha512Utf8 is the sha512_utf8 of a text.\nfunc Sha512Utf8() {}\n",
        "README.md": "# Hashes\n\nWhere is the function sha512_utf8 defined? It is defined in lib.\n",
        "wrap.py": "def cached(call):\n    def wrapper(*args):\n        return call(*args)\n    return wrapper\n",
        "other.py": "def wrapper():\n    pass\n",
    }
    vault = indexed_vault(tmp_path, files)
    assert uris(vault, "Where is the function sha512_utf8 defined?")[0] == "lib/hash.js#L2-L5"
    assert uris(vault, "where is cached.wrapper defined")[0] == "wrap.py#L2-L3"
    asked = kb_in(vault)("ask", "--provider", "extractive", "--json", "where is wrapper defined")
    assert {each["citation"]["uri"] for each in asked.json["citations"]} == {"wrap.py#L2-L3", "other.py#L1-L2"}


def test_a_definition_is_told_from_its_namesakes_by_what_the_question_says_of_it(tmp_path: Path) -> None:
    files = {
        "README.md": (
            "# Sums\n\nHow does join_all join all the tables of a run? The function add adds two numbers of a run.\n"
        ),
        "docs/join.md": "# Joins\n\nHow does it join all tables of a run: by key.\n",
        "sums.py": "def add(a, b):\n    return a + b\n\n\ndef join_all(tables):\n    return tables\n",
        "sums.pyi": "def add(a: int, b: int) -> int: ...\n",
        "other/sums.py": "def join_all(tables):\n    return None\n",
    }
    vault = indexed_vault(tmp_path, files)
    first = {
        "Where is the function add that adds two numbers of a run?": "sums.py#L1-L2",
        "두 수를 더하는 add 함수는 어디에 있나": "sums.py#L1-L2",
        "How does join_all join all the tables of a run?": "docs/join.md#L1-L3",
        "Where is join_all in other/sums.py?": "other/sums.py#L1-L2",
        "the stub of the function add": "sums.pyi#L1",
        "add": "sums.py#L1-L2",
    }
    assert {question: uris(vault, question)[0] for question in first} == first
    ranked = [uri.partition("#")[0] for uri in uris(vault, "How does join_all join all the tables of a run?")]
    assert ranked.index("README.md") > ranked.index("sums.py")
    assert "sums.pyi#L1" in uris(vault, "add"), "a stub is found beside what it declares"


def test_a_plain_word_is_a_name_only_where_it_can_be_one(tmp_path: Path) -> None:
    files = {
        "notes/rows.md": "# Rows\n\nSQLite and Lance are kept consistent.\n\n## A unit\n\nA unit is a row.\n",
        "config.py": "class Config:\n    def sqlite(self):\n        return 1\n\n\ndef unit(index):\n    return index\n",
    }
    vault = indexed_vault(tmp_path, files)
    assert uris(vault, "how are SQLite and Lance kept consistent")[0].startswith("notes/")
    assert uris(vault, "what is a unit")[0].startswith("notes/")
    assert uris(vault, "where is unit defined")[0] == "config.py#L6-L7"


def test_a_name_that_merely_ends_in_test_is_no_test(tmp_path: Path) -> None:
    files = dict.fromkeys(("src/latest.py", "src/other.py"), 'def fetch():\n    """Seals of tanks."""\n')
    vault = indexed_vault(tmp_path, {**files, "tests/fetched.py": files["src/other.py"]})
    assert [uri.partition("#")[0] for uri in uris(vault, "fetch")] == [*files, "tests/fetched.py"]


def test_what_is_asked_of_a_kind_of_files_how_to_do_or_of_an_acronym_is_found_where_that_is_said(
    tmp_path: Path,
) -> None:
    files = {
        "docs/tanks.md": "# Tanks\n\nThe seals of full tanks are tried by hand.\n",
        "docs/pdf.md": "# PDF\n\n잠긴 PDF 암호.\n",
        "docs/release.md": "# Releases\n\nRun the release script, then push the tag by hand.\n",
        "src/patterns.py": 'def ignored():\n    """Whether seals of full tanks cover a path."""\n\n\nPDF = 1\n',
        "tests/test_names.py": 'def test_one():\n    """Seals of full tanks cover folders."""\n',
        "src/other.py": "def covers(path):\n    return path\n",
        "src/release.py": 'def run():\n    """Runs a release."""\n    # run a release, release it, run it\n',
    }
    vault = indexed_vault(tmp_path, files)
    first = {
        "Which tests cover seals of full tanks?": "tests/test_names.py",
        "what covers seals of full tanks": "src/patterns.py",
        "Which module covers seals?": "src/patterns.py",
        "How do I run a release?": "docs/release.md",
        "Why run a release?": "docs/release.md",
        "Which setting runs a release?": "docs/release.md",
        "run a release": "src/release.py",
        "잠긴 PDF 암호는 무엇인가": "docs/pdf.md",
        "PDF는 어디에 정의되어 있나": "src/patterns.py",
    }
    assert {question: uris(vault, question)[0].partition("#")[0] for question in first} == first


def test_beside_code_a_changelog_comes_after_what_explains_unless_changes_are_asked_for(tmp_path: Path) -> None:
    files = {
        "CHANGELOG.md": "# Changelog\n\nThe gateway refuses a batch when the tank is full. Batches, gateway, tank.\n",
        "docs/b.md": "# Refusals\n\nWhen it has to, the gateway refuses a batch: the tank of it may be full.\n",
        "gateway.py": "def gateway():\n    pass\n",
    }
    vault = indexed_vault(tmp_path, files)
    first = {"why does the gateway refuse a batch": "docs/b.md", "the changed gateway refuses a batch": "CHANGELOG.md"}
    assert {question: uris(vault, question)[0].partition("#")[0] for question in first} == first


def test_what_is_asked_when_or_how_is_found_in_the_note_that_says_more_of_it_than_what_is_named(tmp_path: Path) -> None:
    files = {
        "docs/versions.md": "# Versions\n\nBump `chunker_version` when passages are cut elsewhere.\n",
        "policy.py": "class Policy:\n    chunker_version: str\n",
        "notice.py": "LOCK_NOTICE = 'a file that changed'\n",
        "docs/changes.md": "# Changes\n\nIt compares sizes, and so notices every file that changed.\n",
    }
    vault = indexed_vault(tmp_path, files)
    first = {
        "When must I bump chunker_version?": "docs/versions.md",
        "How does it notice that a file changed?": "docs/changes.md",
        "Where is chunker_version defined?": "policy.py",
        "How does chunker_version work?": "policy.py",
    }
    assert {question: uris(vault, question)[0].partition("#")[0] for question in first} == first


def test_a_note_in_another_language_counts_as_if_it_had_words_of_the_question(kept: Vault) -> None:
    with open_base(load(str(kept.config), ())) as session:
        result = search(session, SearchQuery("upload that fails is retried", "lexical", 3))
    assert result.code is not None
    note, code = result.among_notes[0], result.code.hits[0].passage
    held = weight("margin") + weight("other_language") / 2
    by_words = result.code.hits[0]._replace(share=held, found_by="words")
    found = result.code._replace(hits=(by_words,), searched_share=1.0)
    abroad = note._replace(retrieval=note.retrieval._replace(is_own=False))
    assert merged([note], [0.0], found) == [code, note]
    assert merged([abroad], [0.0], found) == [abroad, code]


def test_beside_code_a_page_that_was_generated_comes_after_one_that_was_written(tmp_path: Path) -> None:
    written = "# Refusals\n\nThe gateway refuses a batch when the tank is full or the seal is broken.\n"
    listed = "---\ntrust_level: generated\n---\n# Tools\n\nThe gateway refuses a batch. A batch the gateway refuses.\n"
    vault = indexed_vault(tmp_path, {"docs/a.md": listed, "docs/b.md": written})
    question = "when does the gateway refuse a batch"
    assert [uri.partition("#")[0] for uri in uris(vault, question)] == ["docs/a.md", "docs/b.md"]
    (vault.root / "gateway.py").write_text("def gateway():\n    pass\n")
    assert kb_in(vault)("ingest", "--no-embed").code == 0
    notes = [uri.partition("#")[0] for uri in uris(vault, question) if ".md" in uri]
    assert notes == ["docs/b.md", "docs/a.md"]


def test_words_that_only_say_that_code_is_asked_for_count_for_notes(tmp_path: Path) -> None:
    files = {
        "notes/units.md": "# How code is cut\n\nA unit of source code is a definition with its comment.\n",
        "units.py": 'class KnownUnit:\n    """A unit."""\n\n\ndef unit_of_a_unit():\n    """The unit."""\n',
    }
    vault = indexed_vault(tmp_path, files)
    assert uris(vault, "what is a unit of source code")[0].startswith("notes/")


def test_of_passages_with_the_same_words_the_one_that_words_it_as_asked_stands_first(tmp_path: Path) -> None:
    files = {
        "a.py": 'def first():\n    """Signed sessions: the base of a class for cookies."""\n',
        "b.py": 'def second():\n    """The base class for all kinds of sessions based on signed cookies."""\n',
    }
    vault = indexed_vault(tmp_path, files)
    assert uris(vault, "base class for sessions based on signed cookies")[0].startswith("b.py")
