"""How long the files that are left will take: by how long files of their kinds took, or nothing at all."""

from __future__ import annotations

from kb.domain.files_left import FilesLeft
from kb.domain.ingest_events import AssetFinished, AssetStarted, EmbedProgress, ScanCompleted


class Run:
    """A run that is told to the estimate, with a clock that the test sets forward."""

    def __init__(self, **kinds: int) -> None:
        self.now_s = 0.0
        self.left = FilesLeft(lambda: self.now_s)
        self.done, self.total = 0, sum(kinds.values())
        self.left.note(ScanCompleted(self.total, 0, kinds))

    def read(self, media: str, files: int, each_s: float) -> float | None:
        for _ in range(files):
            self.done += 1
            self.now_s += each_s
            self.left.note(AssetStarted(self.done, self.total, "a", media))
            self.left.note(AssetFinished(self.done, self.total, "a", "new", 1))
        return self.left.seconds()


def test_files_that_are_read_fast_say_nothing_about_those_that_are_read_slowly() -> None:
    run = Run(markdown=300, image=30)
    assert run.read("markdown", 100, 0.01) is None
    assert run.read("markdown", 200, 0.01) is None
    assert run.read("image/png", 2, 6) is None, "of two read side by side the first takes the time of both"
    assert run.read("image/png", 1, 6) == 27 * 6
    assert run.read("image/jpeg", 9, 2) == 18 * (3 * 6 + 9 * 2) / 12
    assert run.read("image/png", 18, 2) is None


def test_each_kind_counts_with_its_own_time() -> None:
    run = Run(markdown=10, image=10, audio=4)
    run.read("markdown", 5, 1)
    run.read("image/png", 5, 10)
    assert run.read("audio/mp3", 3, 100) == 5 * 1 + 5 * 10 + 100


def test_embedding_in_between_is_not_the_time_of_files() -> None:
    run = Run(image=10)
    run.read("image/png", 3, 6)
    run.now_s += 1000
    run.left.note(EmbedProgress("a model", 10, 10))
    assert run.read("image/png", 3, 6) == 4 * 6


def test_documents_whose_pictures_are_read_later_are_read_twice() -> None:
    run = Run(document=10)
    run.total += 6
    assert run.read("document/docx", 10, 0.1) is None
    assert run.read("document/docx", 3, 20) == 3 * 20
