"""The keys of the configuration, each with its default, its meaning and its rule, and the configuration they make.

A default's type is the key's type. Adding a key is adding its line here; docs/configuration.md follows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from kb.domain.kinds import KINDS
from kb.domain.sources import KEPT_FROM, NAME, RESERVED_NAMES, TRUST_LEVELS, WORKSPACE, Source, Sources
from kb.errors import ConfigError

if TYPE_CHECKING:
    from kb.domain.embeddings import VectorPlace

T = TypeVar("T")

SCHEMA_VERSION = 1


class Rule(NamedTuple):
    """A condition on a value beside its type, and its wording."""

    accepts: Callable[[Any], bool]
    wanted: str


class Key(NamedTuple):
    """One key. `meaning` is shown as the hint for a wrong value, and in docs/configuration.md."""

    default: Any
    meaning: str
    rule: Rule | None


def key(default: T, meaning: str, rule: Rule | None = None) -> T:
    """A key in the body of a section, where it becomes its default."""
    return Key(default, meaning, rule)  # type: ignore[return-value]


def at_least(least: int) -> Rule:
    """The rule for numbers with a lower bound."""
    return Rule(lambda value: value >= least, f"at least {least}")


def between(least: float, most: float, wanted: str = "") -> Rule:
    """The rule for numbers between two bounds, both included."""
    return Rule(lambda value: least <= value <= most, wanted or f"between {least} and {most}")


def above_0(most: int) -> Rule:
    """The rule for times: above 0, at most `most`."""
    return Rule(lambda value: 0 < value <= most, f"above 0, at most {most}")


def one_of(*choices: str) -> Rule:
    """The rule for a fixed set of names."""
    return Rule(lambda value: value in choices, "one of " + ", ".join(choices))


def given(wanted: str) -> Rule:
    """The rule for texts that must not be empty."""
    return Rule(lambda value: bool(value.strip()), wanted)


class ConfigSection:
    """Values that cannot be changed. A plain class: named tuples would cost a cold search four milliseconds."""

    KEYS: Mapping[str, Key]

    def __init_subclass__(cls) -> None:
        """Replaces the keys in the class body by their defaults."""
        cls.KEYS = {name: value for name, value in vars(cls).items() if isinstance(value, Key)}
        for name, value in cls.KEYS.items():
            setattr(cls, name, value.default)

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, name) == getattr(other, name) for name in self.KEYS)

    __hash__ = None  # type: ignore[assignment]


class WorkspaceConfig(ConfigSection):
    """The folder of the notes, and which of them are indexed (gitignore syntax; `.kbignore` adds to `exclude`)."""

    root = key(
        "~/KnowledgeBase",
        "the folder with your notes; a relative path starts at the configuration file's folder",
        given("a directory"),
    )
    include: tuple[str, ...] = key(KINDS.include_patterns(), "which files are read, as gitignore patterns")
    exclude: tuple[str, ...] = key(
        (".git/**", "node_modules/**", ".obsidian/**"),
        "which files and folders are left out, as gitignore patterns, beside .gitignore and .kbignore",
    )
    follow_outside = key(True, "whether links that lead out of the workspace are followed; the report names them")
    archives = key(False, "whether files in ZIP and tar archives are read; those that `include` names always are")
    about = key("", "one line that says what this folder holds, for agents and for kb list sources")


class SourceConfig(ConfigSection):
    """A further folder, one for each `[[sources]]` table; its files are stored and cited as `NAME:path`."""

    name = key(
        "",
        "what its files are called by: `NAME:path`",
        Rule(
            lambda value: bool(NAME.fullmatch(value)) and value.lower() not in RESERVED_NAMES,
            f"2 to 40 letters, digits, - or _, and none of {', '.join(sorted(RESERVED_NAMES))}",
        ),
    )
    root = key("", "the folder; a relative path starts at the configuration file's folder", given("a directory"))
    include: tuple[str, ...] = WorkspaceConfig.KEYS["include"]  # type: ignore[assignment]
    exclude: tuple[str, ...] = WorkspaceConfig.KEYS["exclude"]  # type: ignore[assignment]
    kinds: tuple[str, ...] = key((), "the kinds of files that are read, such as markdown and pdf; empty = all")
    trust = key(
        "primary",
        f"the most that its documents are trusted: {', '.join(TRUST_LEVELS[:-1])} or {TRUST_LEVELS[-1]}",
        one_of(*TRUST_LEVELS),
    )
    exposure: tuple[str, ...] = key(
        (),
        f"whom all of it is kept from, beside what [exposure] and [compute] say: {', '.join(KEPT_FROM)}",
        Rule(
            lambda value: set(value) <= set(KEPT_FROM),
            f"some of {', '.join(KEPT_FROM)}: a source can be kept from more readers, not from fewer",
        ),
    )
    language = key("", "the language (ko, en, …) of documents whose own cannot be told")
    ocr = key(
        True,
        "whether text is read from pixels of its files, as ocr.enabled says; where true is written, whatever that says",
    )
    archives: bool = WorkspaceConfig.KEYS["archives"]  # type: ignore[assignment]
    about = key("", "one line that says what this folder holds, for agents and for kb list sources")


class StorageConfig(ConfigSection):
    """Where kb stores its files."""

    data_dir = key("${XDG_DATA_HOME:-~/.local/share}/kb", "where kb keeps what it makes")
    sqlite = key("{data_dir}/kb.sqlite", "the one SQLite file with everything that is indexed")
    vector_dir = key(
        "{data_dir}/lancedb",
        "where Lance keeps the vectors, one table per model: a folder, or an address (s3://, gs://, az://), to which "
        "they leave this machine; an address is taken from the configuration file alone",
    )
    vector_options: tuple[str, ...] = key(
        (), "of an address: options of Lance's client, as NAME=VALUE (aws_region=…); credentials are in the environment"
    )
    mirror = key(
        "auto",
        "whether the SQLite file has a copy of the vectors: always, never (Lance alone finds; a single search takes a "
        "second longer), or auto: up to 1,000,000 passages",
        one_of("auto", "always", "never"),
    )
    allow_http = key(False, "of an address: whether another machine may be spoken to without TLS")
    asset_dir = key("{data_dir}/assets", "where copies of your files lie, each under the hash of its content")
    artifact_dir = key(
        "{data_dir}/artifacts", "where the text of pages, pictures and recordings lies, one folder per document"
    )
    model_dir = key("{data_dir}/models", "the folder where models are installed")
    runs_dir = key("{data_dir}/runs", "where kb eval run leaves a folder a run: per_query.jsonl and report.md")
    cache_dir = key(
        "${XDG_CACHE_HOME:-~/.cache}/kb", "where vectors and extracted text are cached by content; may be deleted"
    )
    log_dir = key("${XDG_STATE_HOME:-~/.local/state}/kb/logs", "where --debug writes its log, one file per day")
    copy_threshold_mb = key(100, "larger files, in megabytes, are referred to, not copied", at_least(0))
    cache_max_mb = key(
        2000, "the most megabytes of the cache of vectors, and of the cache of extracted text", at_least(0)
    )


class IndexingConfig(ConfigSection):
    """Limits of an ingest and of its engines; a file above them is an item of the report."""

    max_file_mb = key(256, "larger files, in megabytes, are reported, not read", at_least(1))
    max_markdown_mb = key(3, "the same for Markdown files, which take many times their size in memory", at_least(1))
    max_parallel_extractors = key(2, "how many files engines read at once, each in a separate process", between(1, 64))
    extract_timeout_s = key(
        120, "processor seconds an engine may take without progress; by the clock, ten times that", between(1, 86_400)
    )
    extract_memory_mb = key(1500, "the most megabytes of memory of such a process (Linux)", between(200, 1_000_000))


class ComputeConfig(ConfigSection):
    """The Dask cluster that embeds and runs engines, where `scheduler` names one."""

    scheduler = key(
        "",
        "where passages are embedded and engines run: empty = here; local = a Dask cluster of this machine; or the "
        "address of a Dask scheduler",
        Rule(
            lambda value: value in ("", "local") or value.startswith(("tcp://", "tls://")), "local, tcp://… or tls://…"
        ),
    )
    insecure = key(False, "whether text may go to other machines in clear: tcp:// instead of tls://")
    in_flight_mb = key(256, "the most megabytes that are at the cluster at once", between(8, 100_000))
    never_to_cluster: tuple[str, ...] = key(
        ("#never-to-cluster",), "what is never sent to the cluster, and worked on here: globs over paths, and tags"
    )

    @property
    def address(self) -> str:
        """The address to which texts and files are sent; "" without one."""
        return "" if self.scheduler == "local" else self.scheduler


class ChunkingConfig(ConfigSection):
    """How documents are cut. Sizes are estimated tokens of the default embedder."""

    target_tokens = key(
        500,
        "how long a passage may get, in estimated tokens; never beyond what an embedder reads",
        between(32, 100_000),
    )
    overlap_tokens = key(
        80, "how much two neighbouring passages of one long section share, in estimated tokens", at_least(0)
    )
    respect_markdown_headings = key(True, "whether a heading always begins a new passage")
    chunker_version = key(
        "md-heading-v1", "how documents are cut; another value indexes everything again", one_of("md-heading-v1")
    )


class EmbeddingConfig(ConfigSection):
    """The model that embeds; with `provider` none passages are found by their words alone."""

    provider = key(
        "auto",
        "who runs the model: auto (kb, else fastembed), or one of these; none: words alone",
        one_of("auto", "installed", "fastembed", "ollama", "llama_cpp", "plugin", "none"),
    )
    model = key(
        "kb-encoder-1",
        "what embeds: a name that kb models list or its provider knows, a GGUF file, or a plugin",
        given("the name of a model"),
    )
    tokens = key(
        True, "whether a passage's token vectors are kept too and rank it: some 6 KB each; false = its vector ranks"
    )
    dimensions = key(
        0,
        "the dimensions that the model's vectors must have; 0 = any",
        between(0, 8192, "between 0 (the model's own) and 8192"),
    )
    batch_size = key(
        64, "most passages in one step; fewer if they are long; kb's own encoder runs one at a time", between(1, 4096)
    )
    threads = key(0, "cores one model may use; 0 = all", between(0, 256, "between 0 (all cores) and 256"))
    query_prefix = key("auto", "the text before each question; auto = the prefix that the model was trained with")
    passage_prefix = key("auto", "the text before each passage; auto = the prefix that the model was trained with")
    pooling = key(
        "auto",
        "how llama.cpp makes one vector of a text: auto (by its family), mean, cls or last",
        one_of("auto", "mean", "cls", "last"),
    )


class LlmConfig(ConfigSection):
    """The model that writes answers."""

    provider = key(
        "auto",
        "who writes answers: auto (ollama, else llama_cpp, else extractive), or one of these; "
        "extractive switches the language model off",
        one_of("auto", "ollama", "llama_cpp", "extractive"),
    )
    model = key("qwen2.5:14b-instruct", "the model's name on the Ollama server", given("the name of a model"))
    gguf = key("", "the model llama.cpp runs: a GGUF file, or one that kb models list shows; empty = none")
    context_tokens = key(
        32768,
        "the most tokens of prompt and answer together; never more than the model was made for",
        between(128, 10_000_000),
    )
    endpoint = key(
        "http://127.0.0.1:11434",
        "where the Ollama server is",
        Rule(lambda value: value.startswith(("http://", "https://")), "a URL"),
    )
    temperature = key(0.0, "how freely the model words an answer; 0 = always the likeliest token", between(0, 2))
    seed = key(0, "the random seed for temperatures above 0", between(0, 4294967295))
    threads = key(
        0,
        "cores llama.cpp may use; 0 = half of what the system counts: the physical ones",
        between(0, 256, "between 0 (half the cores) and 256"),
    )
    connect_timeout_seconds = key(2.0, "how many seconds a connection to the server may take", above_0(3600))
    silence_timeout_seconds = key(
        120.0, "how many seconds the server may send nothing: loading a large model takes a while", above_0(86_400)
    )
    total_timeout_seconds = key(600.0, "how many seconds one answer may take in all", above_0(86_400))


class ExtractConfig(ConfigSection):
    """What opens encrypted PDFs: the passwords themselves, or a command that prints them, one per line."""

    pdf_passwords: tuple[str, ...] = key((), "the passwords of encrypted PDFs; never shown, logged or written anywhere")
    pdf_passwords_command = key("", "a command that prints them, one per line; run once, for an encrypted PDF")


class OcrConfig(ConfigSection):
    """Settings of OCR."""

    enabled = key(True, "whether text is read from pixels: of images and scanned pages")
    languages = key(
        "kor+eng",
        "the languages tesseract reads, in its names, joined by +",
        Rule(
            lambda value: all(part.replace("_", "").isalnum() for part in value.split("+")),
            "names of tesseract languages, joined by +",
        ),
    )
    page_dpi = key(300, "how fine a scanned page is rasterised for OCR, in dots an inch", between(72, 600))


class CaptionConfig(ConfigSection):
    """Whether a vision model on the Ollama server (`models.llm.endpoint`) describes images, and which."""

    enabled = key(False, "whether a vision model on the Ollama server describes images")
    model = key("qwen2.5-vl:7b", "that model's name on the server", given("the name of a model"))


class AudioConfig(ConfigSection):
    """Settings of speech recognition."""

    enabled = key(True, "whether speech in recordings is transcribed")
    model = key("whisper-base", "the speech model; kb models install brings it", given("the name of a model"))
    language = key(
        "auto",
        "the language spoken: a code such as ko, several (ko+en, or a list; what is heard in none of "
        "them is left out), or auto: heard from each recording's first sound",
        Rule(
            lambda value: value == "auto" or all(part.isalpha() and len(part) <= 3 for part in value.split("+")),
            "auto, a code such as ko, or a list of codes",
        ),
    )


class SearchConfig(ConfigSection):
    """How hits are found and shown. benchmarks/RESULTS.md shows how `words_weight` was chosen."""

    default_k = key(10, "how many hits are shown when --k does not say", between(1, 1000))
    mode = key(
        "hybrid",
        "how a question is answered when --mode does not say: hybrid, lexical or vector",
        one_of("hybrid", "lexical", "vector"),
    )
    hybrid_fusion = key("linear", "how words and meaning are joined: linear or rrf", one_of("linear", "rrf"))
    words_weight = key(
        0.4, "by linear, the score that a passage with all words gains over one with none", between(0, 10)
    )
    rrf_k = key(60, "rank constant of RRF", at_least(1))
    recency = key(
        0,
        "after how many days the weight of a document's date is half: one of today scores up to 15 % more; 0 = dates "
        "count nothing",
        between(0, 36_500),
    )
    candidate_depth = key(50, "candidates each channel gives to the fusion", between(10, 2000))
    snippet_chars = key(220, "how much of a passage a hit shows, in characters", between(20, 10_000))
    correct_typos = key(True, "whether a word that no document has is searched for as the nearest that one has")
    both_scripts = key(True, "whether a word is searched for in the other script too: 도커 and docker")
    favour_days = key(True, "whether documents of the days that a question names count more: 지난주, last week")
    lexicon = key("lexicon.toml", 'a file of your own synonyms: synonyms = [["k8s", "kubernetes"], ["연차", "휴가"]]')


class RerankConfig(ConfigSection):
    """A cross-encoder that puts the first passages found in another order, where its `provider` is not none."""

    provider = key(
        "judge",
        "what reorders the first passages: judge (kb's own, of the first two where they score nearly the same), a "
        "cross-encoder that fastembed, llama_cpp or a plugin runs; none: they keep their order",
        one_of("judge", "fastembed", "llama_cpp", "plugin", "none"),
    )
    model = key("", "the cross-encoder: a name that fastembed knows (BAAI/bge-reranker-base), a GGUF file, or a plugin")
    passages = key(20, "how many of the first passages the cross-encoder reads for each question", between(1, 200))

    @property
    def has_cross_encoder(self) -> bool:
        """Whether a cross-encoder of the owner's orders the first passages."""
        return self.provider not in ("judge", "none")


class RagConfig(ConfigSection):
    """How answers are made."""

    prompt_template_version = key(
        "rag-v3",
        "the prompt's wording: rag-v3 has the question's language, the others Korean",
        one_of("rag-v1", "rag-v2", "rag-v3"),
    )
    score_gate = key(
        0.5,
        "how likely the passages must hold an answer, 0 to 1, for a question not to be refused",
        between(0, 1, "between 0 (answers always) and 1"),
    )
    answer_precision = key(
        0.93, "the share of right ones among the answers kb is sure of; 0 = sure of all", between(0, 0.99)
    )
    explain_default = key(False, "whether kb ask explains itself without --explain")
    max_context_tokens = key(
        8000,
        "the most tokens of instructions, question and passages together, as the model counts",
        between(256, 1_000_000),
    )
    max_answer_tokens = key(512, "how long a generated answer may get, in the model's tokens", between(16, 32_768))
    claim_judge = key(
        "none",
        "what judges a model's sentences beside the rules: none, llm (the model itself), onnx, plugin",
        one_of("none", "llm", "onnx", "plugin"),
    )
    claim_model = key("", "for onnx the folder of an NLI model, for plugin its name")
    deep_steps = key(6, "how many searches kb ask --deep takes at most, the question itself counted", between(2, 20))
    deep_tokens = key(
        12000, "the most tokens that a model may read and write to plan the searches; the answer is extra", at_least(1)
    )
    deep_seconds = key(
        120, "after how many seconds no further search begins; it answers from what was found", between(1, 3600)
    )


class PluginsConfig(ConfigSection):
    """What other packages bring, by their entry points: who reads files, and who cuts which (KIND=NAME)."""

    extractors: tuple[str, ...] = key(
        (), "the readers of text files from other packages that are used, by name; kb doctor lists them"
    )
    chunkers: tuple[str, ...] = key(
        (), "the chunkers from other packages that are used, as KIND=NAME: markdown=by_topic"
    )


class EvalConfig(ConfigSection):
    """What `kb eval` measures against."""

    suite = key(
        "{data_dir}/golden.yaml",
        "the golden set that kb eval measures against when --suite names no other",
        given("a file"),
    )


class ExposureConfig(ConfigSection):
    """What is kept from whom, though it is indexed: globs over paths (gitignore syntax), and tags with their `#`."""

    never_to_mcp: tuple[str, ...] = key(
        ("#never-to-mcp",), "what agents never see: globs over paths (private/**) and tags (#secret)"
    )
    never_to_llm: tuple[str, ...] = key(
        ("#never-to-llm",), "what no language model is given to read, agents included: globs and tags"
    )
    never_to_web: tuple[str, ...] = key(("#never-to-web",), "what the page of kb web never shows: globs and tags")
    images_to_mcp = key(False, "whether agents that ask for them are given pictures, of what they may see at all")
    structured_to_mcp = key(
        False, "whether tools also give results as objects, for programs: their texts have no marks and no line numbers"
    )


class UiConfig(ConfigSection):
    """The colours and the language of `kb ui`."""

    theme = key(
        "auto",
        "light or dark; auto = as the terminal's background is, where it says (OSC 11), else by COLORFGBG",
        one_of("auto", "light", "dark"),
    )
    language = key("auto", "what kb ui is labelled in: en or ko; auto = the locale's", one_of("auto", "en", "ko"))


class _Place:
    """The absolute path that a key of `[storage]` names."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, config: Config, owner: type[Config]) -> Path:
        return config.path(getattr(config.storage, self._name))


class _Below:
    """The path of a file below one of the folders of the configuration."""

    def __init__(self, folder: str, name: str) -> None:
        self._folder, self._name = folder, name

    def __get__(self, config: Config, owner: type[Config]) -> Path:
        folder: Path = getattr(config, self._folder)
        return folder / self._name


class Config(ConfigSection):
    """All sections, and where the values came from. Paths are absolute."""

    workspace: WorkspaceConfig = WorkspaceConfig()
    storage: StorageConfig = StorageConfig()
    indexing: IndexingConfig = IndexingConfig()
    compute: ComputeConfig = ComputeConfig()
    chunking: ChunkingConfig = ChunkingConfig()
    models_embedding: EmbeddingConfig = EmbeddingConfig()
    models_llm: LlmConfig = LlmConfig()
    extract: ExtractConfig = ExtractConfig()
    ocr: OcrConfig = OcrConfig()
    image_caption: CaptionConfig = CaptionConfig()
    audio: AudioConfig = AudioConfig()
    search: SearchConfig = SearchConfig()
    rerank: RerankConfig = RerankConfig()
    rag: RagConfig = RagConfig()
    plugins: PluginsConfig = PluginsConfig()
    eval: EvalConfig = EvalConfig()
    exposure: ExposureConfig = ExposureConfig()
    ui: UiConfig = UiConfig()
    further_sources: tuple[SourceConfig, ...] = ()
    file: Path | None = None
    owner: Path | None = None  # the user's own file, which may not exist, where `file` is that of a project
    origins: Mapping[str, str] = {}  # "search.default_k" → "file" | "env KB_…" | "flag" | "project"; absent = default

    def with_file(self, file: Path) -> Config:
        """A configuration with these values, as if read from `file`."""
        return Config(**{**self.__dict__, "file": file})

    def with_search(self, **values: Any) -> Config:
        """A configuration with other values for the given keys of `[search]`."""
        return Config(**{**self.__dict__, "search": SearchConfig(**{**self.search.__dict__, **values})})

    sqlite = _Place("sqlite")
    asset_dir = _Place("asset_dir")
    artifact_dir = _Place("artifact_dir")
    model_dir = _Place("model_dir")
    runs_dir = _Place("runs_dir")
    cache_dir = _Place("cache_dir")  # losing it costs time only
    log_dir = _Place("log_dir")
    vector_cache = _Below("cache_dir", "vectors.sqlite")  # by text and model
    derived_cache = _Below("cache_dir", "derived.sqlite")  # what engines read from files
    audit = _Below("data_dir", "audit.sqlite")  # the calls of agents
    snapshot_manifest = _Below("data_dir", "kb.json")  # what was exported, if the data directory is a snapshot
    last_shown = _Below("data_dir", "last_shown.json")  # the list that the last search or answer printed
    mcp_token = _Below("data_dir", "mcp-token")  # of the agents' server over HTTP

    @property
    def workspace_root(self) -> Path:
        """The workspace root."""
        return self.path(self.workspace.root)

    @property
    def sources(self) -> Sources:
        """The workspace and the further sources, with absolute roots."""
        own = self.workspace
        first = Source(
            WORKSPACE,
            self.workspace_root,
            own.include,
            own.exclude,
            ocr=self.ocr.enabled,
            about=own.about,
            archives=own.archives,
        )
        return Sources(first, tuple(self._source(each) for each in self.further_sources))

    def _source(self, given: SourceConfig) -> Source:
        return Source(
            given.name,
            self.path(given.root),
            given.include,
            given.exclude,
            given.kinds,
            given.trust,  # type: ignore[arg-type]  # its rule has checked it
            given.language,
            given.ocr and (self.ocr.enabled or "ocr" in vars(given)),
            given.exposure,
            given.about,
            given.archives,
        )

    @property
    def vector_dir(self) -> VectorPlace:
        """Where Lance's tables are. Raises: ConfigError for an address that may not be used."""
        if ":/" not in self.storage.vector_dir:
            return self.path(self.storage.vector_dir)
        from kb.config.addresses import vector_address

        return vector_address(self.storage)

    @property
    def data_dir(self) -> Path:
        """The data directory."""
        return self._absolute(expand_variables(self.storage.data_dir))

    @property
    def eval_suite(self) -> Path:
        """The golden set that is measured unless another is named."""
        return self.path(self.eval.suite)

    @property
    def cache_bytes(self) -> int:
        """The size that each cache is trimmed to."""
        return self.storage.cache_max_mb * 1_000_000

    @property
    def logs(self) -> list[Path]:
        """The existing logs of `--debug`."""
        return sorted(self.log_dir.glob("kb-*.log"))

    def path(self, text: str) -> Path:
        """The file that a value names, absolute; a relative one counts from the user's configuration file."""
        return self._absolute(self.expand(text))

    def expand(self, text: str) -> str:
        """`text` with `~`, `$VAR`, `${VAR:-default}` and `{data_dir}` replaced."""
        return expand_variables(text.replace("{data_dir}", str(self.data_dir)) if "{data_dir}" in text else text)

    def _absolute(self, text: str) -> Path:
        file = self.owner or self.file
        base = file.parent if file else Path.cwd()
        return Path(os.path.abspath(base / text))


SECTIONS: Mapping[str, Any] = {
    field.replace("_", "."): type(value) for field, value in vars(Config).items() if isinstance(value, ConfigSection)
}
"""The sections by their names in the file, in order: `models.embedding`."""

KEYS: Mapping[str, Key] = {
    f"{name}.{key}": found for name, section in SECTIONS.items() for key, found in section.KEYS.items()
}
"""All keys by their full names, in order: `search.default_k`."""

SOURCE_KEYS: Mapping[str, Key] = {f"sources.{name}": found for name, found in SourceConfig.KEYS.items()}
"""The keys of a `[[sources]]` table."""

JOINED = frozenset({"audio.language", "ocr.languages"})
"""Keys whose value is names joined by +; a file may use a list."""

SECRETS = frozenset({"extract.pdf_passwords", "extract.pdf_passwords_command"})
"""Keys whose values are secret."""


def field_of(section: str) -> str:
    """The field of Config that holds a section: `models.embedding` → `models_embedding`."""
    return section.replace(".", "_")


def expand_variables(text: str, env: Mapping[str, str] | None = None) -> str:
    """`text` with a leading `~`, `$VAR`, `${VAR}` and `${VAR:-default}` replaced, as a shell would.

    Raises: ConfigError for a variable that is not set and has no default.
    """
    env = os.environ if env is None else env

    def value(match: re.Match[str]) -> str:
        name = match["plain"] or match["braced"]
        found = env.get(name, "")
        if found or match["default"] is not None:
            return found or match["default"]
        raise ConfigError(f"the environment variable {name} in {text!r} is not set", f"set it, or write ${{{name}:-…}}")

    if "$" in text:
        names = r"\$(?:(?P<plain>[A-Za-z_]\w*)|\{(?P<braced>[A-Za-z_]\w*)(?::-(?P<default>[^}]*))?\})"
        text = re.sub(names, value, text)
    if text == "~" or text.startswith("~/"):
        home = env.get("HOME")
        return (home + text[1:]) if home else os.path.expanduser(text)
    return text
