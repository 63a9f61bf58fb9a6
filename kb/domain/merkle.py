"""The Merkle root of a sequence: one hash that changes with any of its items, or their order (RFC 6962 §2.1)."""

from __future__ import annotations

from collections.abc import Iterable

_LEAF, _NODE = b"\0", b"\1"  # so that no item can be taken for a node


def merkle_root(items: Iterable[bytes]) -> str:
    """The root by BLAKE3, 64 hex digits. Memory grows with the logarithm of the number of items."""
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
