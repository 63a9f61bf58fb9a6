"""Writes the vocabulary file that `kb/embed/installed/vocabulary.py` maps, with its map of replaced characters.

The map has the same form as in tokenizer files, SentencePiece's precompiled character map: a double-array trie over
UTF-8 bytes (Darts-clone) whose leaves point at NUL-terminated replacement texts.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from zlib import crc32

from kb.embed.installed.vocabulary import HEADER, MAGIC

_UNKNOWN_PENALTY = 10.0

_HAS_LEAF = 1 << 8
_LEAF = 1 << 31
_OFFSET_LIMIT = 1 << 21
_PAGE_UNITS = 256


def write_vocabulary(path: Path, pieces: Sequence[str], scores: Sequence[float], unknown: int, charsmap: bytes) -> None:
    """Write the vocabulary file of `pieces` in id order. `charsmap` is SentencePiece's precompiled character map."""
    texts = [piece.encode() for piece in pieces]
    slot_count = 1 << (2 * len(texts) - 1).bit_length()
    slots = [0] * slot_count
    for piece, text in enumerate(texts):
        slot = crc32(text) & (slot_count - 1)
        while slots[slot]:
            slot = (slot + 1) & (slot_count - 1)
        slots[slot] = piece + 1
    offsets = [0]
    for text in texts:
        offsets.append(offsets[-1] + len(text))
    (trie_bytes,) = struct.unpack_from("<I", charsmap)
    trie, replacements = charsmap[4 : 4 + trie_bytes], charsmap[4 + trie_bytes :]
    header = HEADER.pack(
        MAGIC,
        len(texts),
        slot_count,
        len(trie) // 4,
        len(replacements),
        offsets[-1],
        max(map(len, texts)),
        unknown,
        0,
        min(scores) - _UNKNOWN_PENALTY,
    )
    path.write_bytes(
        b"".join(
            [
                header,
                struct.pack(f"<{slot_count}I", *slots),
                struct.pack(f"<{len(offsets)}I", *offsets),
                struct.pack(f"<{len(scores)}f", *scores),
                trie,
                replacements,
                *texts,
            ]
        )
    )


@dataclass(slots=True)
class _Node:
    """A trie node: the children by byte, and the place of the replacement if a character ends here."""

    children: dict[int, _Node] = field(default_factory=dict)
    value: int | None = None


def precompiled_charsmap(replacements: Mapping[str, str]) -> bytes:
    """The map from single characters to their replacements (which may be empty)."""
    root, texts = _Node(), bytearray()
    positions: dict[bytes, int] = {}
    for source in sorted(replacements):
        text = replacements[source].encode() + b"\0"
        if text not in positions:
            positions[text] = len(texts)
            texts += text
        node = root
        for byte in source.encode():
            node = node.children.setdefault(byte, _Node())
        node.value = positions[text]
    units = _double_array(root)
    trie = struct.pack(f"<{len(units)}I", *units)
    return struct.pack("<I", len(trie)) + trie + bytes(texts)


def _double_array(root: _Node) -> list[int]:
    """The trie's units: a node's child by label is at `base ^ label`, its value at `base`."""
    units: dict[int, int] = {}
    used, bases = {0}, set()
    # Single units fill the gaps between branching nodes; neither search goes back, so both are linear.
    next_single, next_branch = 1, 1
    pending = [(0, 0, root)]
    while pending:
        position, label, node = pending.pop()
        labels = list(node.children) + ([0] if node.value is not None else [])
        base = next_single if len(labels) == 1 else next_branch
        while base in bases or any(base ^ child in used for child in labels):
            base += 1
        if len(labels) == 1:
            next_single = base + 1
        else:
            next_branch = base + 1
        bases.add(base)
        used.update(base ^ child for child in labels)
        offset = position ^ base
        if offset >= _OFFSET_LIMIT:
            raise ValueError("too many replacements for one character map")
        units[position] = offset << 10 | (_HAS_LEAF if node.value is not None else 0) | label
        if node.value is not None:
            units[base] = _LEAF | node.value
        pending += [(base ^ child, child, below) for child, below in node.children.items()]
    pages = max(units) // _PAGE_UNITS + 1
    return [units.get(position, 0) for position in range(pages * _PAGE_UNITS)]
