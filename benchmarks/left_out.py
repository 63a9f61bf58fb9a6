"""Questions of which it is known whether the index answers them, because a part of the articles was left out of it."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.embedded_base import embedded
from benchmarks.judged_set import JudgedSet, load_judged_set
from benchmarks.knowledge_base import KnowledgeBase
from benchmarks.progress import step
from kb.domain.results.calibration import JudgedMode
from kb.domain.run_handle import RunHandle
from kb.eval.answerable_file import Labelled
from kb.eval.calibration import Judged
from kb.operations.evaluate.calibrate import judge_questions
from kb.operations.session.session import open_session

LEFT_OUT = 0.3
MANUAL = "xling-fastapi"
ARTICLES = {"ko": "korquad-dev", "en": "squad2-dev"}
_ARTICLE_PAGES = 120
_PAGE_STATES = {"out": 0.35, "ko": 0.2, "en": 0.2, "both": 0.25}

Asked = Mapping[JudgedMode, Sequence[Judged]]


def ask_judged(base: KnowledgeBase, name: str, questions: Sequence[Labelled]) -> Asked:
    """What every channel sees of these questions, by search mode."""
    with (
        step(f"{name}: {len(questions)} questions"),
        open_session(base.config, many=True) as session,
        session.reading() as opened,
    ):
        return judge_questions(opened, questions, RunHandle())


def ask_with_articles_left_out(
    folder: Path, seed: int, most: int, *, strangers: Sequence[str] = ()
) -> tuple[Asked, Asked]:
    """A set's questions over an index without 30 % of its articles, at most so many of each kind.

    And `strangers`, questions in another language, none of which the index answers.
    """
    judged = load_judged_set(folder)
    generator = random.Random(seed)
    articles = sorted({_article(path) for path in _documents(judged.corpus)})
    generator.shuffle(articles)
    left_out = set(articles[: round(LEFT_OUT * len(articles))])
    questions: dict[bool, list[Labelled]] = {True: [], False: []}
    for asked, text in judged.questions.items():
        found = {_article(path) not in left_out for path in judged.judgements[asked]}
        if len(found) == 1:
            is_answerable = found.pop()
            questions[is_answerable].append(Labelled(text, is_answerable))
    for group in questions.values():
        generator.shuffle(group)
    name = f"{folder.name} without {len(left_out)} of {len(articles)} articles, seed {seed}"
    kept = [path for path in _documents(judged.corpus) if _article(path) not in left_out]
    with _links({path: judged.corpus / path for path in kept}) as root, embedded(root, name) as base:
        own = ask_judged(base, name, [*questions[True][:most], *questions[False][:most]])
        other = ask_judged(base, name, [Labelled(text, False) for text in strangers]) if strangers else {}
    return own, other


def ask_refusal_set(corpus: Path, file: Path) -> Asked:
    """The questions of `file`, which says of each whether the documents in `corpus` answer it."""
    with file.open(encoding="utf-8") as lines:
        questions = [Labelled(item["text"], item["answerable"]) for item in map(json.loads, lines)]
    with embedded(corpus, file.parent.name) as base:
        return ask_judged(base, f"{file.parent.name}/{file.name}", questions)


def ask_manual(data: Path, seed: int) -> Asked:
    """Questions over a manual whose pages are left out, or kept in Korean, in English or in both.

    Articles in both languages stand beside it: the languages' means are not those of one manual.
    """
    judged = load_judged_set(data / MANUAL)
    generator = random.Random(seed)
    pages = sorted({path.partition("/")[2] for path in _documents(judged.corpus)})
    drawn = generator.choices(list(_PAGE_STATES), list(_PAGE_STATES.values()), k=len(pages))
    state = dict(zip(pages, drawn, strict=True))
    files = {
        path: judged.corpus / path
        for path in _documents(judged.corpus)
        if state[path.partition("/")[2]] in (path.partition("/")[0], "both")
    }
    for lang, name in ARTICLES.items():
        corpus = data / name / "corpus"
        for path in generator.sample(_documents(corpus), _ARTICLE_PAGES):
            files[f"articles/{lang}/{path}"] = corpus / path
    questions = [
        _manual_question(judged, asked, lang=asked[:2], stands_in=state[_page_of(judged, asked)])
        for asked in judged.questions
    ]
    name = f"{MANUAL}, seed {seed}"
    with _links(files) as root, embedded(root, name) as base:
        return ask_judged(base, name, questions)


def _manual_question(judged: JudgedSet, asked: str, *, lang: str, stands_in: str) -> Labelled:
    if stands_in == "out":
        return Labelled(judged.questions[asked], False)
    return Labelled(judged.questions[asked], True, lang if stands_in == "both" else stands_in)


def _page_of(judged: JudgedSet, asked: str) -> str:
    return next(iter(judged.judgements[asked])).partition("/")[2]


def _documents(corpus: Path) -> list[str]:
    return sorted(path.relative_to(corpus).as_posix() for path in corpus.rglob("*.md"))


def _article(path: str) -> str:
    return path.rpartition("/")[0]


@contextmanager
def _links(files: Mapping[str, Path]) -> Iterator[Path]:
    """A folder with links to these files, by the path they have in it."""
    with tempfile.TemporaryDirectory(prefix="kb-benchmark-") as folder:
        for path, file in files.items():
            link = Path(folder, path)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(file.resolve())
        yield Path(folder)
