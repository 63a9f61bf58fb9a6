"""The models outside the catalogue, who runs them, and how each reads a text: plain values.

An encoder's prefix and pooling follow from its family, which is part of its name (`data/families.tsv`), or are
configured. A model of no family reads the text alone and pools as its file says.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args
from zlib import crc32

from kb.domain.embeddings import Role
from kb.embed.text import encoder_text

if TYPE_CHECKING:
    from kb.runtimes.ollama_http import OllamaServer

# Providers of models that kb does not assemble: the versions of their models begin with these names.
HUB, OLLAMA, LLAMA_CPP, PLUGIN = "fastembed", "ollama", "llama_cpp", "plugin"

GGUF_SUFFIX = ".gguf"

Pooling = Literal["", "mean", "cls", "last"]

AS_FAMILY = "auto"
"""The configured value that leaves a setting to the family."""

_FAMILIES = Path(__file__).parent / "data" / "families.tsv"


class TextForm(NamedTuple):
    """How an encoder reads a text. `pooling` empty: as the model's file says."""

    family: str = "plain"
    query_prefix: str = ""
    passage_prefix: str = ""
    pooling: Pooling = ""

    def text(self, text: str, role: Role) -> str:
        """The text behind the prefix of its role, as the encoder reads it."""
        return (self.query_prefix if role == "query" else self.passage_prefix) + encoder_text(text)

    @property
    def label(self) -> str:
        """The family and a hash of the whole form, `e5-1a2b3c4d`: vectors with another label are not comparable."""
        done = "\0".join((self.query_prefix, self.passage_prefix, self.pooling))
        return f"{self.family}-{crc32(done.encode()):08x}"


def family_form(name: str) -> TextForm:
    """The form of the family in a model's name."""
    plain = name.casefold().replace("_", "-")
    return next((form for sign, form in _families() if sign in plain), TextForm())


@cache
def _families() -> tuple[tuple[str, TextForm], ...]:
    """A part of the model's name, and the form, for each line of the table."""
    found = []
    for line in _FAMILIES.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            family, sign, query, passage, pooling = line.replace("\\n", "\n").split("\t")
            found.append((sign, TextForm(family, query, passage, _pooling(pooling))))
    return tuple(found)


def _pooling(name: str) -> Pooling:
    return next(known for known in get_args(Pooling) if known == name)


class Provider(NamedTuple):
    """`name`: installed, fastembed, ollama, llama_cpp or plugin; auto is fastembed for models that are not installed.

    The prefixes and the pooling are for the configured `model`; any other has those of its family. `endpoint` and the
    times are for the Ollama server; `gguf_places` are the folders to search for GGUF files.
    """

    name: str = "auto"
    model: str = ""
    query_prefix: str = AS_FAMILY
    passage_prefix: str = AS_FAMILY
    pooling: str = AS_FAMILY
    endpoint: str = ""
    connect_seconds: float = 2.0
    silence_seconds: float = 120.0
    total_seconds: float = 600.0
    gguf_places: tuple[Path, ...] = ()

    def of_version(self, version: str) -> Provider:
        """The provider of stored vectors of that version, whatever is configured now."""
        made_by = version.partition(":")[0]
        return self._replace(name=made_by if made_by in (HUB, OLLAMA, LLAMA_CPP, PLUGIN) else "auto")

    def form(self, name: str) -> TextForm:
        """How the model called `name` reads texts."""
        form = family_form(name)
        if _bare(name) != _bare(self.model):
            return form
        if self.query_prefix != AS_FAMILY:
            form = form._replace(query_prefix=self.query_prefix)
        if self.passage_prefix != AS_FAMILY:
            form = form._replace(passage_prefix=self.passage_prefix)
        return form if self.pooling == AS_FAMILY else form._replace(pooling=_pooling(self.pooling))

    def server(self) -> OllamaServer:
        """The Ollama server; sends no request yet."""
        from kb.runtimes.ollama_http import OllamaServer, Timeouts

        return OllamaServer(self.endpoint, Timeouts(self.connect_seconds, self.silence_seconds, self.total_seconds))


AUTO = Provider()


def _bare(name: str) -> str:
    """A name without its owner (`intfloat/`) or folder, and without its file extension: both are optional."""
    return name.rpartition("/")[2].removesuffix(GGUF_SUFFIX).casefold()
