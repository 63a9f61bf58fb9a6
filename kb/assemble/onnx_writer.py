"""Writes ONNX model files field by field: the part of the format that an encoder needs.

ONNX is a protocol-buffer format (onnx.proto3). A graph of a few hundred nodes needs four kinds of field, so writing
them here avoids the `onnx` package (17 MB, and one more protobuf version to agree on).
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Tensor: TypeAlias = NDArray[np.generic]

Attribute: TypeAlias = int | float | str | Sequence[int]

IR_VERSION = 10
# TensorProto.DataType
ELEMENT_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "float16": 10}
FLOAT, INT64 = ELEMENT_TYPES["float32"], ELEMENT_TYPES["int64"]

# Constants from this size on are large, and begin at a page boundary so that they can be mapped.
_LARGE_BYTES = 1 << 13
_ALIGNED_BYTES = 1 << 12

_VARINT, _LENGTH, _FIXED32 = 0, 2, 5  # wire types


class ExternalData(NamedTuple):
    """Where the bytes of a constant begin, in a file beside the model."""

    file: str
    offset: int


@dataclass(slots=True)
class GraphWriter:
    """Builds a graph: nodes in the order they are added, which must be topological."""

    beside: str | None = None
    """The file beside the model for large constants, which a runtime maps; None: in the model file."""
    external: bytearray = field(default_factory=bytearray)
    """The content of that file."""
    placed: dict[bytes, ExternalData] = field(default_factory=dict)
    """The file beside the model with the large constants of this graph and of earlier graphs in the same directory."""
    _nodes: list[bytes] = field(default_factory=list)
    _tensors: list[bytes] = field(default_factory=list)

    def tensor(self, name: str, values: Tensor) -> str:
        """Adds a constant to the graph and returns its name; `values` keeps its dtype and shape."""
        data = values.tobytes()
        self._tensors.append(
            b"".join(_integer(1, size) for size in values.shape)
            + _integer(2, ELEMENT_TYPES[values.dtype.name])
            + _text(8, name)
            + (_bytes(9, data) if self.beside is None or len(data) < _LARGE_BYTES else self._placed(data, self.beside))
        )
        return name

    def _placed(self, data: bytes, file: str) -> bytes:
        """Adds a tensor's data to the file beside the model, unless it stands in one; returns the fields that refer to
        it."""
        if data not in self.placed:
            self.external += bytes(-len(self.external) % _ALIGNED_BYTES)
            self.placed[data] = ExternalData(file, len(self.external))
            self.external += data
        found = self.placed[data]
        place = {"location": found.file, "offset": str(found.offset), "length": str(len(data))}
        return b"".join(_bytes(13, _text(1, key) + _text(2, value)) for key, value in place.items()) + _integer(14, 1)

    def node(self, op: str, inputs: Iterable[str], output: str, domain: str = "", **attributes: Attribute) -> str:
        """Adds a node to the graph and returns the name of its output."""
        self._nodes.append(
            b"".join(_text(1, name) for name in inputs)
            + _text(2, output)
            + _text(3, f"{output}:{op}")
            + _text(4, op)
            + b"".join(_bytes(5, _attribute(name, value)) for name, value in attributes.items())
            + _text(7, domain)
        )
        return output

    def model(
        self,
        inputs: Sequence[tuple[str, int, Sequence[str | int]]],
        outputs: Sequence[tuple[str, int, Sequence[str | int]]],
        opsets: dict[str, int],
    ) -> bytes:
        """The model file's bytes. Inputs and outputs are (name, element type, dimensions)."""
        graph = (
            b"".join(_bytes(1, node) for node in self._nodes)
            + _text(2, "encoder")
            + b"".join(_bytes(5, tensor) for tensor in self._tensors)
            + b"".join(_bytes(11, _value_info(*value)) for value in inputs)
            + b"".join(_bytes(12, _value_info(*value)) for value in outputs)
        )
        imports = b"".join(_bytes(8, _text(1, name) + _integer(2, version)) for name, version in opsets.items())
        return _integer(1, IR_VERSION) + _text(2, "kb") + imports + _bytes(7, graph)


def _attribute(name: str, value: Attribute) -> bytes:
    # AttributeProto: the value's field, then its type (FLOAT 1, INT 2, STRING 3, INTS 7).
    if isinstance(value, float):
        return _text(1, name) + _key(2, _FIXED32) + struct.pack("<f", value) + _integer(20, 1)
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, 2)
    if isinstance(value, str):
        return _text(1, name) + _text(4, value) + _integer(20, 3)
    return _text(1, name) + b"".join(_integer(8, item) for item in value) + _integer(20, 7)


def _value_info(name: str, element_type: int, dimensions: Sequence[str | int]) -> bytes:
    sizes = (_integer(1, size) if isinstance(size, int) else _text(2, size) for size in dimensions)
    shape = b"".join(_bytes(1, size) for size in sizes)
    return _text(1, name) + _bytes(2, _bytes(1, _integer(1, element_type) + _bytes(2, shape)))


def _key(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _integer(number: int, value: int) -> bytes:
    return _key(number, _VARINT) + _varint(value & 0xFFFF_FFFF_FFFF_FFFF)


def _text(number: int, value: str) -> bytes:
    return _bytes(number, value.encode())


def _bytes(number: int, value: bytes) -> bytes:
    return _key(number, _LENGTH) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)
