"""Runs the encoder's graph by ONNX Runtime's C library, through ctypes.

Importing the onnxruntime package (and numpy with it) takes 140 ms, loading this library 15. The wheels for Linux and
macOS contain it. Several threads may call it, and calls release the interpreter's lock.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias
from weakref import finalize

from kb.errors import ModelCorrupt, ModelError
from kb.private import unreported

if TYPE_CHECKING:
    from array import array

    import numpy as np
    from numpy.typing import NDArray

    _Place: TypeAlias = ctypes.Array[ctypes.c_char]
    Data: TypeAlias = bytes | bytearray | memoryview[Any] | array[Any] | NDArray[np.generic]

Element = Literal["float32", "uint8", "int64", "float16"]

# ONNXTensorElementDataType, and the bytes of an element.
_ELEMENTS: Mapping[Element, tuple[int, int]] = {"float32": (1, 4), "uint8": (2, 1), "int64": (7, 8), "float16": (10, 2)}
_FLOAT32, _FLOAT32_BYTES = _ELEMENTS["float32"]

_API_VERSION = 20  # ONNX Runtime 1.20
_P, _INT, _TEXT, _SIZE = ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t

# The used functions of OrtApi: the index of each, which no later version changes, and its parameters.
_FUNCTIONS: Mapping[str, tuple[int, Sequence[type[Any]]]] = {
    "CreateEnv": (3, (_INT, _TEXT, _P)),
    "DisableTelemetryEvents": (6, (_P,)),
    "CreateSession": (7, (_P, _TEXT, _P, _P)),
    "CreateSessionFromArray": (8, (_P, _P, _SIZE, _P, _P)),
    "Run": (9, (_P, _P, _P, _P, _SIZE, _P, _SIZE, _P)),
    "CreateSessionOptions": (10, (_P,)),
    "DisableMemPattern": (17, (_P,)),
    "SetSessionGraphOptimizationLevel": (23, (_P, _INT)),
    "SetIntraOpNumThreads": (24, (_P, _INT)),
    "SetInterOpNumThreads": (25, (_P, _INT)),
    "CreateTensorWithDataAsOrtValue": (49, (_P, _P, _SIZE, _P, _SIZE, _INT, _P)),
    "GetTensorMutableData": (51, (_P, _P)),
    "GetTensorElementType": (60, (_P, _P)),
    "GetDimensionsCount": (61, (_P, _P)),
    "GetDimensions": (62, (_P, _P, _SIZE)),
    "GetTensorTypeAndShape": (65, (_P, _P)),
    "CreateCpuMemoryInfo": (69, (_INT, _INT, _P)),
    "AddSessionConfigEntry": (130, (_P, _TEXT, _TEXT)),
}
_RELEASES = {"Status": 93, "Session": 95, "Value": 96, "TensorTypeAndShapeInfo": 99, "SessionOptions": 100}
_GET_ERROR_MESSAGE = 2

_ONLY_FATAL = 4  # errors are raised, not logged
_DEVICE_ALLOCATOR, _DEFAULT_MEMORY = 0, 0
_OPTIMISE_NOTHING, _OPTIMISE_ALL = 0, 99
# The fused operator takes four times as long as a sum and a normalisation.
_OPTIMISED = {b"optimization.disable_specified_optimizers": b"SkipLayerNormFusion"}
# Prepacking copies every weight; without it, weights in a file beside the graph are used as mapped.
_AS_IT_IS = {b"session.disable_prepacking": b"1"}


class _ApiBase(ctypes.Structure):
    _fields_ = (("get_api", ctypes.CFUNCTYPE(_P, ctypes.c_uint32)), ("get_version", ctypes.CFUNCTYPE(_TEXT)))


class Tensor(NamedTuple):
    """An input: the elements of `data` in C order, little-endian."""

    element: Element
    shape: Sequence[int]
    data: Data


class Output(NamedTuple):
    """float32[shape] in C order."""

    shape: tuple[int, ...]
    values: memoryview[float]


class Session:
    """A loaded graph, released with its last reference."""

    def __init__(self, library: _Library, handle: ctypes.c_void_p) -> None:
        self._library = library
        self._handle = handle
        finalize(self, library.release, "Session", handle).atexit = False

    def run(self, inputs: Mapping[str, Tensor], output: str) -> Output:
        """A copy of the output of that name. Raises: ModelError with ONNX Runtime's message."""
        return self.outputs(inputs, (output,))[0]

    def outputs(self, inputs: Mapping[str, Tensor], asked: Sequence[str]) -> list[Output]:
        """Copies of several outputs of one run. Raises: ModelError."""
        library = self._library
        values = (_P * len(inputs))()
        results = (_P * len(asked))()
        places = [_place(tensor.data) for tensor in inputs.values()]
        try:
            for at, (tensor, place) in enumerate(zip(inputs.values(), places, strict=True)):
                values[at] = library.value(tensor.element, tensor.shape, place)
            given, wanted = _names(inputs), _names(asked)
            library.call("Run", self._handle, None, given, values, len(given), wanted, len(wanted), results)
            return [library.output(result) for result in results]
        finally:
            for value in (*values, *results):
                library.release("Value", value)


class _Library:
    """The loaded library with the environment of its sessions, one per process."""

    def __init__(self, library: ctypes.CDLL) -> None:
        library.OrtGetApiBase.restype = ctypes.POINTER(_ApiBase)
        base = library.OrtGetApiBase().contents
        api = base.get_api(_API_VERSION)
        if not api:
            raise ModelError(f"ONNX Runtime {base.get_version().decode()} is too old", _reinstall())
        table = ctypes.cast(api, ctypes.POINTER(_P))
        self._functions = {name: ctypes.CFUNCTYPE(_P, *takes)(table[at]) for name, (at, takes) in _FUNCTIONS.items()}
        self._releases = {name: ctypes.CFUNCTYPE(None, _P)(table[at]) for name, at in _RELEASES.items()}
        self._message = ctypes.CFUNCTYPE(_TEXT, _P)(table[_GET_ERROR_MESSAGE])
        with unreported():
            self._environment = self.made("CreateEnv", _ONLY_FATAL, b"kb")
        self.call("DisableTelemetryEvents", self._environment)
        self._memory = self.made("CreateCpuMemoryInfo", _DEVICE_ALLOCATOR, _DEFAULT_MEMORY)

    def call(self, name: str, *arguments: object) -> None:
        """Calls a function of OrtApi. Raises: ModelError with its message."""
        status = self._functions[name](*arguments)
        if status:
            told = self._message(status)
            self.release("Status", status)
            raise ModelError(f"ONNX Runtime: {told.decode(errors='replace')}")

    def made(self, name: str, *arguments: object) -> ctypes.c_void_p:
        """The object that a function of OrtApi returns through its last parameter. Raises: ModelError."""
        pointer = _P()
        self.call(name, *arguments, ctypes.byref(pointer))
        return pointer

    def release(self, kind: str, pointer: object) -> None:
        """Releases an object of that kind; NULL is allowed."""
        self._releases[kind](pointer)

    def session(self, model: Path | bytes, *, optimised: bool) -> ctypes.c_void_p:
        """A session of one thread. Raises: ModelError."""
        with self._options(optimised=optimised) as options:
            if isinstance(model, bytes):
                return self.made("CreateSessionFromArray", self._environment, model, len(model), options)
            return self.made("CreateSession", self._environment, str(model).encode(), options)

    def value(self, element: Element, shape: Sequence[int], place: _Place) -> int | None:
        """An OrtValue over the data in a place, which must outlive it. Raises: ModelError, ValueError."""
        number, element_bytes = _ELEMENTS[element]
        size_bytes = ctypes.sizeof(place)
        if size_bytes != prod(shape) * element_bytes:
            raise ValueError(f"{size_bytes} bytes are no {element}{list(shape)}")
        sizes = (ctypes.c_int64 * len(shape))(*shape)
        where = (self._memory, place, size_bytes)
        return self.made("CreateTensorWithDataAsOrtValue", *where, sizes, len(sizes), number).value

    def output(self, value: int | None) -> Output:
        """The float32 tensor of an OrtValue, copied. Raises: ModelError."""
        info = self.made("GetTensorTypeAndShape", value)
        try:
            element, rank = _INT(), _SIZE()
            self.call("GetTensorElementType", info, ctypes.byref(element))
            self.call("GetDimensionsCount", info, ctypes.byref(rank))
            shape = (ctypes.c_int64 * rank.value)()
            self.call("GetDimensions", info, shape, rank)
        finally:
            self.release("TensorTypeAndShapeInfo", info)
        if element.value != _FLOAT32:
            raise ModelError(f"the graph's output is of ONNX's element type {element.value} instead of float32")
        size_bytes = prod(shape) * _FLOAT32_BYTES
        data = ctypes.string_at(self.made("GetTensorMutableData", value), size_bytes) if size_bytes else b""
        return Output(tuple(shape), memoryview(data).cast("f"))

    @contextmanager
    def _options(self, *, optimised: bool) -> Iterator[ctypes.c_void_p]:
        options = self.made("CreateSessionOptions")
        try:
            self.call("SetIntraOpNumThreads", options, 1)
            self.call("SetInterOpNumThreads", options, 1)
            # A memory pattern would be kept for each text length.
            self.call("DisableMemPattern", options)
            self.call("SetSessionGraphOptimizationLevel", options, _OPTIMISE_ALL if optimised else _OPTIMISE_NOTHING)
            for key, set_to in (_OPTIMISED if optimised else _AS_IT_IS).items():
                self.call("AddSessionConfigEntry", options, key, set_to)
            yield options
        finally:
            self.release("SessionOptions", options)


def open_session(model: Path | bytes, *, optimised: bool) -> Session:
    """Loads a graph from a file or its bytes. Raises: ModelCorrupt when it does not load; ModelError without a library.

    `optimised`: rewrites the graph and packs its weights for many runs, which takes longer than it saves in a few.
    """
    library = _library()
    try:
        return Session(library, library.session(model, optimised=optimised))
    except ModelError as error:
        name = "a graph" if isinstance(model, bytes) else model.name
        raise ModelCorrupt(f"{name} does not load: {error.message}") from error


def _reinstall() -> str:
    from kb.installation import reinstall_command  # rarely needed

    return reinstall_command("onnxruntime")


@cache
def _library() -> _Library:
    """The library of the installed onnxruntime. Raises: ModelError when it is not there or does not load."""
    package = find_spec("onnxruntime")
    if package is None or package.origin is None:
        raise ModelError("onnxruntime is not installed", _reinstall())
    directory = Path(package.origin).parent / "capi"
    pattern = "libonnxruntime.*.dylib" if sys.platform == "darwin" else "libonnxruntime.so.*"
    path = next(iter(sorted(directory.glob(pattern))), None)
    if path is None:
        raise ModelError(f"the installed onnxruntime has no library for C: no {pattern} in {directory}", _reinstall())
    try:
        return _Library(ctypes.CDLL(str(path)))
    except (OSError, AttributeError) as error:
        raise ModelError(f"the library of onnxruntime does not load: {error}", _reinstall()) from error


def _names(names: Collection[str]) -> ctypes.Array[ctypes.c_char_p]:
    return (_TEXT * len(names))(*(name.encode() for name in names))


def _place(data: Data) -> _Place:
    """A pointer to the data, or to a copy of read-only data."""
    held: Any = data  # numpy has the type of a buffer from Python 3.12 on
    view = memoryview(held)
    size = ctypes.c_char * view.nbytes
    return size.from_buffer_copy(view.cast("B")) if view.readonly else size.from_buffer(view.cast("B"))
