"""The query encoder of a fresh process: the weight file's own C runtime, called directly.

Through ctypes, without numpy: mapping the weights and building the vocabulary takes 10 ms, a question 16 ms, where
importing an ONNX runtime alone takes 140. It runs on Linux x86-64 with AVX2; elsewhere `onnx_query` answers.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

from kb.domain.embeddings import EmbeddingModel
from kb.embed.text import encoder_text
from kb.errors import ModelCorrupt, ModelError
from kb.records import NamedTuple

ENGINE_DIRECTORY = "engine"
WEIGHTS_FILE = "weights.bin"
LIBRARY_FILE = "engine.so"
OPENMP_FILE = "libgomp.so"

_IS_QUERY = 1
_PROCESSOR_FILE = Path("/proc/cpuinfo")
_PROCESSOR_BYTES = 4096
_NEEDED_FLAGS = {"avx2", "fma", "f16c"}


class NativeQueryEncoder(NamedTuple):
    """The native encoder, loaded."""

    model: EmbeddingModel
    openmp: ctypes.CDLL
    library: ctypes.CDLL
    weights: int

    @property
    def provider(self) -> str:
        """The weight file's own C runtime."""
        return "native"

    def encode(self, text: str) -> bytes:
        """float32[dimensions], L2 = 1, as little-endian bytes. Raises: ModelError when the engine fails."""
        # One thread: its threads wait spinning, and with the other core busy a question took 1.6 s instead of 16 ms.
        # OpenMP remembers it for the thread that says so alone.
        self.openmp.omp_set_num_threads(1)
        vector = (ctypes.c_float * self.model.dimensions)()
        if self.library.e5_embed(self.weights, encoder_text(text).encode(), _IS_QUERY, vector) != 0:
            raise ModelError(f"the native encoder of {self.model.name} failed")
        return bytes(vector)


def native_engine_usable(directory: Path) -> bool:
    """Whether the model in `directory` has the engine and this processor has the instructions it was compiled for."""
    if not (directory / ENGINE_DIRECTORY / LIBRARY_FILE).is_file() or not _PROCESSOR_FILE.is_file():
        return False
    with _PROCESSOR_FILE.open(encoding="ascii", errors="replace") as file:
        described = file.read(_PROCESSOR_BYTES)
    return _NEEDED_FLAGS.issubset(described.split())


def open_native_query_encoder(directory: Path, model: EmbeddingModel) -> NativeQueryEncoder:
    """The native encoder of the model in `directory`. Raises: ModelCorrupt when library or weights do not load."""
    engine = directory / ENGINE_DIRECTORY
    try:
        # Loaded first, under the name the engine asks for: the engine then need not find it.
        openmp = ctypes.CDLL(str(engine / OPENMP_FILE))
        library = ctypes.CDLL(str(engine / LIBRARY_FILE))
    except OSError as error:
        raise ModelCorrupt(f"the native encoder of {model.name} does not load: {error}") from error
    openmp.omp_set_num_threads(1)
    library.e5_load.restype = ctypes.c_void_p
    library.e5_load.argtypes = [ctypes.c_char_p]
    library.e5_embed.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int, ctypes.POINTER(ctypes.c_float)]
    weights = library.e5_load(str(engine / WEIGHTS_FILE).encode())
    if not weights:
        raise ModelCorrupt(f"the weights of {model.name} do not load")
    return NativeQueryEncoder(model, openmp, library, weights)
