"""The extractors, by their names in the table of kinds (`kb.domain.kinds`).

An extractor is a function that builds a document. Without steps it gets the file's bytes, in this process. With steps,
engines first derive a result for each step in a separate process, and the function gets these results. Modules are
imported for their first file, so that a version check or a search loads no parser and no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple, cast

from kb.domain.derived import AskedStepModule, Assemble, Derived, DerivedName, Extract, ExtractWith, Results, StepModule
from kb.domain.documents import Document
from kb.domain.ids import AssetId
from kb.domain.kinds import KINDS, PLUGIN_EXTRACTOR, PLUGIN_VERSION, MediaFamily
from kb.domain.text import WorkspacePath
from kb.extract.code.grammars import parser_version


class Step(NamedTuple):
    """A result to derive from a file, and the module that derives it (`kb.domain.derived`).

    Without a result that `is_required` there is no document. One that `is_slow` takes seconds a page or picture.
    `plugin` is the name of the plugin's extractor whose step it is. `form` is bumped when more is kept of the same
    text: files are read again, and ids stay. The module of one that `is_asked` tells whether there is anything to do.
    """

    name: DerivedName
    module: str
    is_required: bool = False
    plugin: str | None = None
    is_slow: bool = False
    form: str = ""
    is_asked: bool = False

    def is_needed(self, earlier: Results) -> bool:
        """Whether there is anything to do, after the steps before it."""
        return not self.is_asked or cast(AskedStepModule, self.load()).is_needed(earlier)

    def load(self) -> StepModule:
        """Imports the module of the step, whose engine is imported when it derives."""
        if self.plugin is not None:
            from kb.extract.plugin import PluginStep  # not loaded by an ingest without plugins

            return PluginStep(self.plugin)
        return cast(StepModule, import_module(self.module))


@dataclass(frozen=True, slots=True)
class Extractor:
    """Reads one kind of files: the version of its documents, the module and name of its function, its steps in order.

    `text_function` is for files with markup that are cited by lines: it gives their readable text, line by line, from
    bytes and path (`kb.extract.laid`). `from_bytes`: the function gets the bytes too, and is called without results of
    steps where pictures are not read.
    """

    parser_version: str
    module: str
    function: str
    steps: tuple[Step, ...] = ()
    text_function: str | None = None
    from_bytes: bool = False

    @property
    def needs_steps(self) -> bool:
        """Whether no document is made without the results of steps."""
        return bool(self.steps) and not self.from_bytes

    def document(
        self,
        data: bytes,
        derived: Mapping[DerivedName, Derived],
        *,
        workspace_path: WorkspacePath,
        asset_id: AssetId,
    ) -> Document:
        """Builds the document from a file's bytes, or the results of its steps. Raises: ExtractFailed, FileTooLarge."""
        if self.from_bytes:
            return cast(ExtractWith, self.load())(data, derived, workspace_path=workspace_path, asset_id=asset_id)
        if self.steps:
            return cast(Assemble, self.load())(derived, workspace_path=workspace_path, asset_id=asset_id)
        return cast(Extract, self.load())(data, workspace_path=workspace_path, asset_id=asset_id)

    @property
    def form(self) -> str:
        """The forms of the results of all steps, as part of the pipeline version of its documents; "" for none."""
        return "".join(f"/{step.form}" for step in self.steps if step.form)

    def load(self) -> Extract | ExtractWith | Assemble:
        """Imports and returns the function that builds documents."""
        return cast(Extract | ExtractWith | Assemble, getattr(import_module(self.module), self.function))

    def laid_text(self) -> Callable[[bytes, str], str] | None:
        """The function that gives the readable text of a file; None if that is the file's own text."""
        if self.text_function is None:
            return None
        return cast(Callable[[bytes, str], str], getattr(import_module(self.module), self.text_function))


def extractor_of(family: MediaFamily) -> Extractor:
    """The extractor for files of that family."""
    name = KINDS.kind_of(family).extractor
    if name != PLUGIN_EXTRACTOR:
        return EXTRACTORS[name]
    step = Step("plugin-text", "kb.extract.plugin", is_required=True, plugin=family)
    return Extractor(PLUGIN_VERSION, "kb.extract.plugin", "assemble_plugin", (step,))


OF_PICTURES = Step("ocr", "kb.extract.pictures", is_slow=True, is_asked=True)
"""Reads the pictures in a file, each by its content."""


def _in_parts(module: str) -> Extractor:
    """The extractor of files in parts that may have pictures; `module` has the step that reads them."""
    steps = (Step("parts", module, is_required=True, form="pictures-1"), OF_PICTURES)
    return Extractor("parts-v1", "kb.extract.parts", "assemble_parts", steps)


def _lined(parser_version: str, module: str, function: str, text_function: str) -> Extractor:
    """The extractor of files that are cited by lines and may have pictures."""
    steps = (Step("parts", "kb.extract.lined_parts", is_required=True, form="pictures-1"), OF_PICTURES)
    return Extractor(parser_version, module, function, steps, text_function, from_bytes=True)


_TABLE = Step("parts", "kb.extract.office.delimited", is_required=True)

# Of steps of one name, the last one is what `kb doctor` checks: speech, not subtitles.
EXTRACTORS: dict[str, Extractor] = {
    "markdown": Extractor("markdown-it-4-v7", "kb.extract.markdown.document", "extract_markdown"),
    "text": Extractor("text-v1", "kb.extract.plain", "extract_text", text_function="text_of"),
    "notebook": _lined("notebook-v1", "kb.extract.notebook", "extract_notebook", "notebook_text"),
    "html": _lined("html-v3", "kb.extract.page", "extract_page", "page_text"),
    "pdf": Extractor(
        "pdf-v2",
        "kb.extract.pdf.document",
        "assemble_pdf",
        (
            Step("pdf-text", "kb.extract.pdf.text", is_required=True),
            Step("ocr", "kb.extract.pdf.document", is_slow=True, is_asked=True),
        ),
    ),
    "mail": _in_parts("kb.extract.mail"),
    "document": _in_parts("kb.extract.office.readers"),
    "slides": _in_parts("kb.extract.office.readers"),
    "hangul": _in_parts("kb.extract.office.hangul"),
    "sheet": _in_parts("kb.extract.office.sheets"),
    "table": Extractor("parts-v1", "kb.extract.parts", "assemble_parts", (_TABLE,)),
    "image": Extractor(
        "image-v2",
        "kb.extract.image",
        "assemble_image",
        (Step("ocr", "kb.extract.image", is_slow=True), Step("caption", "kb.llm.caption", is_slow=True)),
    ),
    "captions": Extractor(
        "audio-v1",
        "kb.extract.speech",
        "assemble_audio",
        (Step("transcript", "kb.extract.captions", is_required=True),),
    ),
    "audio": Extractor(
        "audio-v1",
        "kb.extract.speech",
        "assemble_audio",
        (Step("transcript", "kb.extract.speech", is_required=True, is_slow=True),),
    ),
    "code": Extractor(parser_version(), "kb.extract.code.document", "extract_code"),
}
