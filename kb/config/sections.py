"""The sections with their keys and defaults, and the configuration they make.

A default's type is the key's type. What else a value must satisfy, and what it means, stands in `kb.config.rules`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kb.config.variables import expand_variables
from kb.domain.kinds import KINDS

SCHEMA_VERSION = 1


class Section:
    """Values that cannot be changed. A plain class: six named tuples would cost a cold search four milliseconds."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be changed")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and all(getattr(self, key) == getattr(other, key) for key in keys(type(self)))

    __hash__ = None  # type: ignore[assignment]


def keys(section: type[Section]) -> tuple[str, ...]:
    """The keys of a section, in the order they are written."""
    return tuple(section.__annotations__)


class WorkspaceConfig(Section):
    """Where the notes lie and which of them are indexed (gitignore syntax; `.kbignore` adds to `exclude`)."""

    root: str = "~/KnowledgeBase"
    include: tuple[str, ...] = KINDS.include_patterns()
    exclude: tuple[str, ...] = (".git/**", "node_modules/**", ".obsidian/**")
    follow_outside: bool = True


class StorageConfig(Section):
    """Where kb keeps what it makes. Files above `copy_threshold_mb` are referenced, not copied."""

    data_dir: str = "${XDG_DATA_HOME:-~/.local/share}/kb"
    sqlite: str = "{data_dir}/kb.sqlite"
    vector_dir: str = "{data_dir}/lancedb"
    asset_dir: str = "{data_dir}/assets"
    artifact_dir: str = "{data_dir}/artifacts"
    model_dir: str = "{data_dir}/models"
    runs_dir: str = "{data_dir}/runs"
    cache_dir: str = "${XDG_CACHE_HOME:-~/.cache}/kb"
    log_dir: str = "${XDG_STATE_HOME:-~/.local/state}/kb/logs"
    copy_threshold_mb: int = 100
    cache_max_mb: int = 2000


class IndexingConfig(Section):
    """What one ingest may read, and what its engines may take: a file above these limits is a report item."""

    max_file_mb: int = 256
    max_markdown_mb: int = 3
    max_parallel_extractors: int = 2
    extract_timeout_s: int = 120
    extract_memory_mb: int = 1500


class ChunkingConfig(Section):
    """How documents are cut. Sizes are estimated tokens of the default embedder."""

    target_tokens: int = 500
    overlap_tokens: int = 80
    respect_markdown_headings: bool = True
    chunker_version: str = "md-heading-v1"


class EmbeddingConfig(Section):
    """The model that embeds, or `provider` none: then passages are found by their words alone.

    `tokens`: whether those of passages are kept. `dimensions` 0 = the model's own, `threads` 0 = all cores.
    """

    provider: str = "auto"
    model: str = "kb-encoder-1"
    tokens: bool = True
    dimensions: int = 0
    batch_size: int = 64
    threads: int = 0
    query_prefix: str = "auto"
    passage_prefix: str = "auto"
    pooling: str = "auto"


class LlmConfig(Section):
    """The model that writes answers. `gguf` may be empty: then llama.cpp has none. `threads` 0 = half the cores."""

    provider: str = "auto"
    model: str = "qwen2.5:14b-instruct"
    gguf: str = ""
    context_tokens: int = 32768
    endpoint: str = "http://127.0.0.1:11434"
    temperature: float = 0.0
    seed: int = 0
    threads: int = 0
    connect_timeout_seconds: float = 2.0
    silence_timeout_seconds: float = 120.0
    total_timeout_seconds: float = 600.0


class ExtractConfig(Section):
    """What opens encrypted PDFs: the passwords themselves, or a command that prints them, one per line."""

    pdf_passwords: tuple[str, ...] = ()
    pdf_passwords_command: str = ""


class OcrConfig(Section):
    """How text is read from pixels."""

    enabled: bool = True
    languages: str = "kor+eng"
    page_dpi: int = 300


class CaptionConfig(Section):
    """Whether a vision model on the Ollama server (`models.llm.endpoint`) describes images, and which."""

    enabled: bool = False
    model: str = "qwen2.5-vl:7b"


class AudioConfig(Section):
    """How speech is heard. `language` is a code such as `ko`, or `auto`: heard from each recording's first sound.

    Several are joined by +, `ko+en`; a file may have them as a list.
    """

    enabled: bool = True
    model: str = "whisper-base"
    language: str = "auto"


class SearchConfig(Section):
    """How hits are found and shown. benchmarks/RESULTS.md shows how `words_weight` was chosen."""

    default_k: int = 10
    mode: str = "hybrid"
    hybrid_fusion: str = "linear"
    words_weight: float = 0.4
    rrf_k: int = 60
    candidate_depth: int = 50
    snippet_chars: int = 220
    correct_typos: bool = True
    both_scripts: bool = True
    favour_days: bool = True
    lexicon: str = "lexicon.toml"


class RerankConfig(Section):
    """A cross-encoder that puts the first passages found in another order, where its `provider` is not none."""

    provider: str = "none"
    model: str = ""
    passages: int = 20


class PluginsConfig(Section):
    """What other packages bring, by their entry points: who reads files, and who cuts which (KIND=NAME)."""

    extractors: tuple[str, ...] = ()
    chunkers: tuple[str, ...] = ()


class EvalConfig(Section):
    """What `kb eval` measures against."""

    suite: str = "{data_dir}/golden.yaml"


class ExposureConfig(Section):
    """What is kept from whom, though it is indexed: globs over paths (gitignore syntax), and tags with their `#`."""

    never_to_mcp: tuple[str, ...] = ("#never-to-mcp",)
    never_to_llm: tuple[str, ...] = ("#never-to-llm",)
    never_to_web: tuple[str, ...] = ("#never-to-web",)
    images_to_mcp: bool = False


class RagConfig(Section):
    """How answers are made. `score_gate` is the evidence, 0 to 1, below which a question is refused.

    `claim_*`: who judges what a model wrote, beside the rules. `deep_*` bound the steps of kb ask --deep.
    """

    prompt_template_version: str = "rag-v3"
    score_gate: float = 0.5
    answer_precision: float = 0.9
    explain_default: bool = False
    max_context_tokens: int = 8000
    max_answer_tokens: int = 512
    claim_judge: str = "none"
    claim_model: str = ""
    deep_steps: int = 6
    deep_tokens: int = 12000
    deep_seconds: int = 120


class Config(Section):
    """All sections, and where the values came from."""

    workspace: WorkspaceConfig = WorkspaceConfig()
    storage: StorageConfig = StorageConfig()
    indexing: IndexingConfig = IndexingConfig()
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
    file: Path | None = None
    origins: Mapping[str, str] = {}  # "search.default_k" → "file" | "env KB_…" | "flag"; absent = default

    def with_file(self, file: Path) -> Config:
        """The same values, as if `file` held them."""
        return Config(**{**self.__dict__, "file": file})

    def with_snippets(self, chars: int) -> Config:
        """The same values, but snippets of so many characters."""
        return Config(**{**self.__dict__, "search": SearchConfig(**{**self.search.__dict__, "snippet_chars": chars})})

    def without_widening(self) -> Config:
        """The same values, but a question is searched by its own words alone."""
        alone = {"correct_typos": False, "both_scripts": False}
        return Config(**{**self.__dict__, "search": SearchConfig(**{**self.search.__dict__, **alone})})

    @property
    def workspace_root(self) -> Path:
        """The workspace root, absolute; a relative one counts from the configuration file's directory."""
        base = self.file.parent if self.file else Path.cwd()
        return Path(os.path.abspath(base / self.expand(self.workspace.root)))

    @property
    def data_dir(self) -> Path:
        """The data directory, absolute."""
        return self._path(expand_variables(self.storage.data_dir))

    @property
    def sqlite(self) -> Path:
        """The one SQLite file, absolute."""
        return self._path(self.expand(self.storage.sqlite))

    @property
    def asset_dir(self) -> Path:
        """Where content-addressed copies of the sources lie, absolute."""
        return self._path(self.expand(self.storage.asset_dir))

    @property
    def artifact_dir(self) -> Path:
        """Where what engines derived from each document lies, absolute."""
        return self._path(self.expand(self.storage.artifact_dir))

    @property
    def vector_dir(self) -> Path:
        """Where Lance keeps the vectors, absolute."""
        return self._path(self.expand(self.storage.vector_dir))

    @property
    def model_dir(self) -> Path:
        """Where models are installed, absolute."""
        return self._path(self.expand(self.storage.model_dir))

    @property
    def runs_dir(self) -> Path:
        """Where evaluation runs leave their files, absolute."""
        return self._path(self.expand(self.storage.runs_dir))

    @property
    def eval_suite(self) -> Path:
        """The golden set that is measured unless another is named, absolute."""
        return self._path(self.expand(self.eval.suite))

    @property
    def cache_dir(self) -> Path:
        """Where derived work is cached, absolute; losing it costs time only."""
        return self._path(self.expand(self.storage.cache_dir))

    @property
    def log_dir(self) -> Path:
        """Where `--debug` writes its log, absolute."""
        return self._path(self.expand(self.storage.log_dir))

    def path(self, text: str) -> Path:
        """The file that a value names, absolute; a relative one counts from the configuration file's directory."""
        return self._path(self.expand(text))

    def expand(self, text: str) -> str:
        """`text` with `~`, `$VAR`, `${VAR:-default}` and `{data_dir}` replaced."""
        return expand_variables(text.replace("{data_dir}", str(self.data_dir)))

    def _path(self, text: str) -> Path:
        base = self.file.parent if self.file else Path.cwd()
        return Path(os.path.abspath(base / text))


# `models.embedding` and its kin by the fields of Config, in their order.
SECTIONS: Mapping[str, Any] = {
    field.replace("_", "."): type(value) for field, value in vars(Config).items() if isinstance(value, Section)
}


def field_of(section: str) -> str:
    """The field of Config that holds a section: `models.embedding` → `models_embedding`."""
    return section.replace(".", "_")
