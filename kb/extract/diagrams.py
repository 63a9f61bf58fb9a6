"""Drawings as text, a part for each node: Obsidian's canvas, Excalidraw and drawio."""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from kb.domain.citations import part_name
from kb.errors import ExtractFailed, FileTooLarge
from kb.extract.decode import decode
from kb.extract.flowing import page_parts
from kb.extract.hypertext import read_hypertext
from kb.extract.office.package import parse_xml
from kb.extract.parts import Part, PartBlock, Parts, distinct

_MOST_PAGE_BYTES = 50_000_000
_HINT = "open it in its program and save it again"
_BETWEEN = re.compile(r"\n\s*\n")


def read_canvas(data: bytes) -> Parts:
    """The cards, groups and labelled arrows of a canvas. Raises: ExtractFailed."""
    tree = _tree(data)
    nodes = [node for node in _listed(tree, "nodes") if str(node.get("id", ""))]
    taken: dict[str, int] = {}
    parts = [part for node in nodes if (part := _node(node["id"], _card(node), taken)) is not None]
    names = {str(node["id"]): (_card(node).split("\n") or [""])[0] for node in nodes}
    for edge in _listed(tree, "edges"):
        if label := str(edge.get("label", "")).strip():
            ends = [names.get(str(edge.get(end)), "") for end in ("fromNode", "toNode")]
            part = _node(edge.get("id", ""), f"{ends[0]} → {label} → {ends[1]}", taken)
            parts += [part] if part is not None else []
    return Parts(tuple(parts))


def _card(node: Mapping[str, Any]) -> str:
    return str(node.get("text") or node.get("label") or node.get("file") or node.get("url") or "").strip()


def read_excalidraw(data: bytes) -> Parts:
    """The texts of a drawing. Raises: ExtractFailed."""
    elements = [each for each in _listed(_tree(data), "elements") if not each.get("isDeleted")]
    texts = ((each.get("id", ""), str(each.get("originalText") or each.get("text") or "")) for each in elements)
    taken: dict[str, int] = {}
    return Parts(tuple(part for key, text in texts if (part := _node(key, text, taken)) is not None))


def read_drawio(data: bytes) -> Parts:
    """The labels of all pages of a diagram, packed or not. Raises: ExtractFailed, FileTooLarge."""
    parts = []
    taken: dict[str, int] = {}
    for diagram in parse_xml(data).iter("diagram"):
        page = diagram.get("name", "")
        for cell in _unpacked(diagram).iter():
            label = cell.get("value") or cell.get("label") or ""
            text = "\n".join(block.text for part in page_parts(read_hypertext(label)).parts for block in part.blocks)
            key = f"{page}/{cell.get('id', '')}" if page else cell.get("id", "")
            part = _node(key, text, taken, (page,) if page else ())
            parts += [part] if part is not None else []
    return Parts(tuple(parts))


def _unpacked(diagram: Element) -> Element:
    """A page's tree; drawio packs it as Base64 of deflated, percent-encoded XML."""
    packed = "".join((diagram.text or "").split())
    if len(diagram) or not packed:
        return diagram
    try:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        unpacked = unpacker.decompress(base64.b64decode(packed), _MOST_PAGE_BYTES)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ExtractFailed("a page of the diagram cannot be unpacked", _HINT) from error
    if unpacker.unconsumed_tail:
        raise FileTooLarge(f"unpacked a page has more than {_MOST_PAGE_BYTES // 1_000_000} MB", "split it")
    return parse_xml(unquote(unpacked.decode("utf-8", "replace")).encode())


def _node(key: object, text: str, taken: dict[str, int], path: tuple[str, ...] = ()) -> Part | None:
    paragraphs = tuple(PartBlock("paragraph", each.strip()) for each in _BETWEEN.split(text) if each.strip())
    if not paragraphs or not str(key):
        return None
    return Part(part_name(node=distinct(str(key), taken)), paragraphs, path)


def _tree(data: bytes) -> Mapping[str, Any]:
    try:
        tree = json.loads(decode(data).text or "{}")
    except (ValueError, RecursionError) as error:
        raise ExtractFailed("its JSON is damaged", _HINT) from error
    if not isinstance(tree, dict):
        raise ExtractFailed("not a drawing: it is no JSON object", _HINT)
    return tree


def _listed(tree: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    found = tree.get(key)
    return (each for each in (found if isinstance(found, list) else []) if isinstance(each, dict))
