"""What runs the embedding models that kb does not assemble itself: plain values, read from the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kb.embed.model_files import GGUF_SUFFIX, HUB, LLAMA_CPP, OLLAMA, PLUGIN
from kb.embed.providers.families import AS_FAMILY, TextForm, text_form
from kb.records import NamedTuple

if TYPE_CHECKING:
    from kb.runtimes.ollama_http import OllamaServer


class Provider(NamedTuple):
    """`name`: installed, fastembed, ollama, llama_cpp or plugin; auto is fastembed for what is not installed.

    The prefixes and the pooling are those of the configured `model`; any other has those of its family. `endpoint` and
    the times are those of the Ollama server; `gguf_places` are the folders where GGUF files are looked for.
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
        """The one that made vectors of that version, whatever is configured now."""
        made_by = version.partition(":")[0]
        return self._replace(name=made_by if made_by in (HUB, OLLAMA, LLAMA_CPP, PLUGIN) else "auto")

    def form(self, name: str) -> TextForm:
        """How texts are given to the model called `name`."""
        if _bare(name) != _bare(self.model):
            return text_form(name)
        return text_form(name, self.query_prefix, self.passage_prefix, self.pooling)

    def server(self) -> OllamaServer:
        """The Ollama server; nothing is asked of it yet."""
        from kb.runtimes.ollama_http import OllamaServer, Timeouts

        return OllamaServer(self.endpoint, Timeouts(self.connect_seconds, self.silence_seconds, self.total_seconds))


def _bare(name: str) -> str:
    """A name without its owner (`intfloat/`) or folder, and without the ending of its file: both may be left out."""
    return name.rpartition("/")[2].removesuffix(GGUF_SUFFIX).casefold()
