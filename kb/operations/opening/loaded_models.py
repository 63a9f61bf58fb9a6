"""Caches what a base has loaded, for all its threads: encoders, language models, the table of an ANN index.

Loading may take seconds, so each object is kept until the file or setting it came from changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeVar

from kb.errors import ModelError

if TYPE_CHECKING:
    from kb.domain.answers import PassageJudge
    from kb.domain.embeddings import EncodedQuestion, QueryEncoder
    from kb.embed.provider import Provider

T = TypeVar("T")


class LoadedModels:
    """Loaded objects by name, each with a mark that identifies the file or settings it came from."""

    def __init__(self, model_dir: Path, *, many: bool = False) -> None:
        self.model_dir = model_dir
        self._many = many
        self._loaded: dict[str, tuple[object, Any]] = {}
        self._in_turn: dict[str, Lock] = {}
        self._lock = Lock()

    def kept(self, name: str, mark: object, load: Callable[[], T]) -> T:
        """The object of that name; calls `load` if there is none, or if its mark differs."""
        with self._lock:
            held = self._loaded.pop(name, None)
            if held is None or held[0] != mark:
                held = (mark, load())
            self._loaded[name] = held
            found: T = held[1]
            return found

    @contextmanager
    def one_at_a_time(self, name: str) -> Iterator[None]:
        """Lets only one thread at a time into the block for a name."""
        with self._lock:
            turn = self._in_turn.setdefault(name, Lock())
        with turn:
            yield

    def encoding_spent(self) -> tuple[int, float]:
        """How many texts the loaded encoders have encoded, and how many seconds that took."""
        held = [each for _, each in self._loaded.values() if isinstance(each, SharedEncoder)]
        return sum(each.encoded for each in held), sum(each.spent_s for each in held)

    def query_encoder(self, name: str, provider: Provider) -> SharedEncoder:
        """The encoder of the model that is now installed as `name`, or that the provider has.

        Raises: ModelMissing, ModelCorrupt, and errors of the provider.
        """
        from kb.embed.encoders import query_encoder  # a search by words alone does without
        from kb.models.manifest import manifest_bytes

        installed = manifest_bytes(self.model_dir, name)
        return self.kept(
            f"encoder {name}",
            installed or provider,
            lambda: SharedEncoder(
                query_encoder(self.model_dir, name, provider, many=self._many),
                lambda: manifest_bytes(self.model_dir, name) == installed,
            ),
        )

    @property
    def judge_hash(self) -> int | None:
        """A checksum of what is installed with kb's encoder, the judge included; None if it is not installed."""
        from zlib import crc32

        from kb.models.manifest import ENCODER, manifest_bytes

        installed = manifest_bytes(self.model_dir, ENCODER)
        return None if installed is None else crc32(installed)

    def judge(self) -> PassageJudge | None:
        """The judge that is installed with kb's encoder; None if there is none, which a search by meaning reports."""
        from kb.embed.installed.judge import open_installed_judge
        from kb.models.manifest import ENCODER, manifest_bytes, read_installed

        try:
            read_installed(self.model_dir, ENCODER)
            mark = manifest_bytes(self.model_dir, ENCODER)
            return self.kept("judge", mark, lambda: open_installed_judge(self.model_dir / ENCODER))
        except ModelError:
            return None


# Somebody who types returns to an earlier text: by Backspace, in another mode, with a filter, asking what was searched.
_TEXTS_KEPT = 64


class SharedEncoder:
    """A query encoder that encodes one text at a time for all threads, and caches recent texts."""

    def __init__(self, encoder: QueryEncoder, is_installed: Callable[[], bool]) -> None:
        """`is_installed` tells whether the installed model is still the one that was loaded."""
        self.is_installed = is_installed
        self.model, self.provider = encoder.model, encoder.provider
        self.encoded = 0
        self.spent_s = 0.0
        self._encoder = encoder
        self._lock = Lock()
        self._kept: dict[str, EncodedQuestion] = {}

    def encode(self, text: str) -> EncodedQuestion:
        """Encodes a question: its vector, and its tokens if the encoder gives them."""
        with self._lock:
            encoded = self._kept.pop(text, None)
            if encoded is None:
                began = perf_counter()
                encoded = self._encoder.encode(text)
                self.encoded += 1
                self.spent_s += perf_counter() - began
                if len(self._kept) >= _TEXTS_KEPT:
                    del self._kept[next(iter(self._kept))]
            self._kept[text] = encoded
            return encoded
