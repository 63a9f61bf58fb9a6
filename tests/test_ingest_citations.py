"""Every chunk's citation names exactly the lines that hold its text, whatever the file's encoding and line ends."""

from __future__ import annotations

from pathlib import Path

import pytest
from ingest_fixtures import Workspace

NOTE = """\
---
title: Gateway
tags: [infra]
---

# Gateway

The gateway retries a failed upload five times.
It waits longer each time.


## 전원 관리

정전이 나면 배터리가 네 시간을 버틴다. 그 뒤에는 꺼진다.

```python
def wait(attempt):

    return 2 ** attempt
```

| part | price |
|------|-------|
| fan  | 3     |

- one
  - nested

> quoted
lazily continued

Setext heading
==============

Last line without an end"""

LONG_PARAGRAPH = " ".join(
    f"Sentence number {number} says a little more than the one before it." for number in range(400)
)
LONG_KOREAN = " ".join(f"{number}번째 문장은 앞의 문장보다 조금 더 길게 이어진다." for number in range(300))
LONG_CODE = "```\n" + "\n".join(f"line_{number} = {number}" for number in range(900)) + "\n```\n"

ENCODINGS = {
    "utf-8": lambda text: text.encode("utf-8"),
    "byte order mark": lambda text: text.encode("utf-8-sig"),
    "utf-16": lambda text: text.encode("utf-16"),
    "cp949": lambda text: text.encode("cp949"),
    "crlf": lambda text: text.replace("\n", "\r\n").encode("utf-8"),
    "cr": lambda text: text.replace("\n", "\r").encode("utf-8"),
}
TEXTS = {
    "note": NOTE,
    "long paragraph": f"# Long\n\n{LONG_PARAGRAPH}\n\nEnd.\n",
    "long Korean lines": "# 긴 글\n\n" + LONG_KOREAN.replace(". ", ".\n") + "\n",
    "long code": f"# Code\n\n{LONG_CODE}\nAfter.\n",
    "plain": "no heading at all\n\n\n\nsecond paragraph\n",
    "form feeds and separators": "# Odd\n\none\x0ctwo\u2028three\x85four\n\nfive\x0bsix\n",
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_cited_lines_hold_the_chunk(tmp_path: Path, encoding: str) -> None:
    workspace = Workspace(tmp_path / "workspace")
    texts = {f"{name}.md": text for name, text in TEXTS.items() if encoding != "cp949" or "separators" not in name}
    for name, text in texts.items():
        workspace.write(name, ENCODINGS[encoding](text))
    workspace.ingest()
    chunks = workspace.query(
        "SELECT d.workspace_path, c.text, s.value ->> 'start', s.value ->> 'end', "
        "json_array_length(c.source_spans_json) "
        "FROM chunks AS c JOIN documents AS d USING (doc_id), json_each(c.source_spans_json) AS s"
    )
    assert {path for path, *_ in chunks} == set(texts)
    for path, chunk, start, end, spans in chunks:
        cited = texts[path].split("\n")[start - 1 : end]
        assert spans == 1
        assert chunk in "\n".join(cited)
        assert cited[0].strip()
        assert cited[-1].strip()
        assert chunk.split("\n")[0] in cited[0]
        assert chunk.split("\n")[-1] in cited[-1]
