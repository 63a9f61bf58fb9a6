"""Ids: the first 32 hex characters of the BLAKE3 hash of a tuple as canonical JSON (RFC 8785), its strings in NFC.

Equal input gives an equal id on every machine; a changed input changes exactly the ids that depend on it (asset →
document → block → chunk → embedding).
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import NewType, TypeAlias

AssetId = NewType("AssetId", str)
DocumentId = NewType("DocumentId", str)
BlockId = NewType("BlockId", str)
ChunkId = NewType("ChunkId", str)
EmbeddingId = NewType("EmbeddingId", str)

ID_CHARS = 32

# Before a leaf and before a node of a Merkle tree, so that no item can be taken for a node.
_LEAF, _NODE = b"\0", b"\1"

_MOST_EXACT = 2**53 - 1
_SURROGATE = re.compile("[\ud800-\udfff]")
# `default`: mappings that json does not know are written as it writes its own.
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=dict)
# A number that the canonical form may write otherwise: a fraction, a large one. In a string it only costs time.
_UNUSUAL_NUMBER = re.compile(r"[:\[,]-?(?:\d+[.eE]|\d{16}|NaN|Infinity)")

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"


def canonical_json(value: Json) -> bytes:
    """`value` as RFC 8785 canonical JSON, every string and key in NFC.

    Raises: ValueError for NaN, infinities and integers beyond 2**53 (RFC 8785 §3.2.2.3).
    """
    if isinstance(value, dict):
        text = _ENCODER.encode(value)
        # So are nearly all ids: what json writes for these is already the canonical form, and in NFC.
        if text.isascii() and not _UNUSUAL_NUMBER.search(text):
            return text.encode("ascii")
    normal = _nfc(value)
    if _is_plain(normal):
        return _ENCODER.encode(normal).encode("utf-8")
    import rfc8785

    return rfc8785.dumps(normal)


def _is_plain(value: Json) -> bool:
    """Whether a value has only strings, integers exact in JSON, true, false and null, and all its keys are ASCII."""
    if isinstance(value, str):
        return value.isascii() or not _SURROGATE.search(value)
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, int):
        return -_MOST_EXACT <= value <= _MOST_EXACT
    if isinstance(value, Mapping):
        return all(key.isascii() and _is_plain(item) for key, item in value.items())
    return isinstance(value, Sequence) and all(map(_is_plain, value))


def content_hash(data: bytes) -> str:
    """The full BLAKE3 digest of `data`, 64 hex characters."""
    import blake3

    return blake3.blake3(data).hexdigest()


def id_from(value: Json) -> str:
    """The 32-character id of a tuple."""
    return content_hash(canonical_json(value))[:ID_CHARS]


def asset_id(asset_blake3: str) -> AssetId:
    """The id of a file's bytes, from their full BLAKE3 digest."""
    return AssetId(_id("asset", asset_blake3=asset_blake3))


def document_id(workspace_path: str, asset: AssetId, parser_version: str) -> DocumentId:
    """The id of a file at a path, with its content and the version of the parser that read it."""
    return DocumentId(_id("doc", workspace_path=workspace_path, asset_id=asset, parser_version=parser_version))


def block_id(
    doc: DocumentId, block_kind: str, heading_path: Sequence[str], ordinal: int, source_span: Mapping[str, Json]
) -> BlockId:
    """The id of one block of a document; `ordinal` counts the document's blocks from 0."""
    place: dict[str, Json] = {"heading_path": list(heading_path), "ordinal": ordinal, "source_span": source_span}
    return BlockId(_id("block", doc_id=doc, block_kind=block_kind, **place))


def chunk_id(doc: DocumentId, chunker_version: str, block_ids: Sequence[BlockId], policy_hash: str) -> ChunkId:
    """The id of one chunk. Pieces of a split block salt `policy_hash` with the piece's start."""
    cut = {"chunker_version": chunker_version, "policy_hash": policy_hash}
    return ChunkId(_id("chunk", doc_id=doc, block_ids=list(block_ids), **cut))


def embedding_id(chunk: ChunkId, model_id: str, model_version: str, dimensions: int) -> EmbeddingId:
    """The id of one chunk's vector under one model."""
    model: dict[str, Json] = {"model_id": model_id, "model_version": model_version, "dimensions": dimensions}
    return EmbeddingId(_id("embedding", chunk_id=chunk, **model))


def _id(kind: str, **made_of: Json) -> str:
    return id_from({"kind": kind, **made_of})


def _nfc(value: Json) -> Json:
    if isinstance(value, str):
        return value if value.isascii() else unicodedata.normalize("NFC", value)
    if isinstance(value, Mapping):
        return {unicodedata.normalize("NFC", key): _nfc(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_nfc(item) for item in value]
    return value


def merkle_root(items: Iterable[bytes]) -> str:
    """The Merkle root of a sequence (RFC 6962 §2.1) by BLAKE3, 64 hex digits: it changes with any item, or their order.

    Memory grows with the logarithm of the number of items.
    """
    import blake3

    def digest(data: bytes) -> bytes:
        found: bytes = blake3.blake3(data).digest()
        return found

    whole: list[tuple[int, bytes]] = []  # of subtrees, with their heights: higher ones first
    for item in items:
        height, node = 0, digest(_LEAF + item)
        while whole and whole[-1][0] == height:
            node = digest(_NODE + whole.pop()[1] + node)
            height += 1
        whole.append((height, node))
    if not whole:
        return digest(b"").hex()
    _, root = whole.pop()
    while whole:
        root = digest(_NODE + whole.pop()[1] + root)
    return root.hex()
