"""What a page says of itself: in its head, in JSON-LD, and in the comment of the program that saved it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kb.extract.markdown.frontmatter import timestamp

_MOST_JSON_CHARS = 200_000

_SAVED_FROM = re.compile(r"\s*(?:saved from url=\(\d+\)|Page saved with SingleFile\s+url:\s*)(\S+)")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?![A-Za-z])")

_OF_AUTHOR = frozenset("author article:author dc.creator dcterms.creator citation_author".split())
_OF_DATE = frozenset("article:published_time date dc.date dcterms.date dcterms.created datepublished pubdate".split())


@dataclass(slots=True)
class PageMetadata:
    """Metadata of a page. `date` is RFC 3339; `address` is where the page came from."""

    title: str | None = None
    author: str | None = None
    date: str | None = None
    address: str | None = None
    language: str | None = None

    def take_comment(self, text: str) -> None:
        """Takes the address from the comment of a browser that saved the page."""
        if saved := _SAVED_FROM.match(text):
            self.address = self.address or saved[1]

    def take_element(self, name: str, attributes: Mapping[str, str]) -> None:
        """Takes what a `meta`, `link`, `html` or `time` element says."""
        content = " ".join(attributes.get("content", "").split())
        said = (attributes.get("name") or attributes.get("property") or attributes.get("itemprop") or "").lower()
        if name == "html":
            language = _LANGUAGE.match(attributes.get("lang") or attributes.get("xml:lang") or "")
            self.language = language[0].lower() if language else None
        elif name == "link" and "canonical" in attributes.get("rel", "").lower().split():
            self.address = attributes.get("href") or self.address
        elif name == "time" and "pubdate" in attributes:
            self.date = self.date or timestamp(attributes.get("datetime", ""))
        elif said in _OF_AUTHOR:
            if content and "://" not in content:
                self.author = self.author or content
        elif said in _OF_DATE:
            self.date = self.date or timestamp(content)
        elif said == "og:title":
            self.title = content or self.title
        elif said == "og:url":
            self.address = self.address or content or None

    def take_linked_data(self, written: str) -> None:
        """Takes author and date from JSON-LD (schema.org)."""
        if '"@context"' not in written[:_MOST_JSON_CHARS] or len(written) > _MOST_JSON_CHARS:
            return
        try:
            value = json.loads(written)
        except (ValueError, RecursionError):
            return
        graph = value.get("@graph", value) if isinstance(value, dict) else value
        for each in graph if isinstance(graph, list) else [graph]:
            if isinstance(each, dict) and isinstance(each.get("datePublished"), str):
                self.date = self.date or timestamp(each["datePublished"])
                self.author = self.author or _person(each.get("author"))


def _person(value: Any) -> str | None:
    value = value[0] if isinstance(value, list) and value else value
    name = value.get("name") if isinstance(value, dict) else value
    return " ".join(name.split()) or None if isinstance(name, str) else None
