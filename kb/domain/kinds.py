"""The kinds of files that kb reads, in one table: how each is recognised by its name, read, cut and cited.

Everything that depends on the kind of a file is looked up in `KINDS`: which files a walk takes, the default of
`workspace.include`, the values of `--media`, and the extractor and chunker of a file. Each extractor named here has an
entry in `extract/registry.py`, each chunker one in `chunk/chunkers.py`. The extractor of a plugin reads a separate
family, which has the extractor's name.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, NewType, cast

MediaType = NewType("MediaType", str)
"""What `assets.media_type` holds: a family alone (`markdown`, `pdf`), or with a format (`text/org`, `code/rust`)."""

MediaFamily = Literal[
    "markdown",
    "text",
    "notebook",
    "html",
    "mail",
    "pdf",
    "document",
    "slides",
    "hangul",
    "sheet",
    "table",
    "image",
    "audio",
    "captions",
    "code",
]
"""The part of a media type before its slash: one extractor and one `--media` for each."""

PLUGIN_EXTRACTOR, PLUGIN_VERSION = "plugin", "plugin-v1"

CitationKind = Literal["line", "page", "region", "time", "code", "part"]

PDF = MediaType("pdf")
PNG = MediaType("image/png")

# What follows the last dot, where it looks like a kind: `notes 1.5 old` and `.bashrc` have none.
_EXTENSION = r"(?<=[^/])\.(?!\d+\Z)\w{1,12}\Z"


class FileType(NamedTuple):
    """The names of files of one media type.

    `extensions` are in lower case, without the dot. `names` are whole names, such as `Dockerfile`, as they are spelled;
    one `*` in a name stands for anything. `language` is the programming language of a source file.
    """

    media_type: MediaType
    extensions: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    language: str | None = None


class Kind(NamedTuple):
    """One family of files: its types, extractor, chunker and kind of citation.

    `citation` is how passages of such files are cited, by the names of `citation.v1`; an editor opens what is cited by
    lines. `extra` is the optional part of kb that must be installed to read such files.
    """

    family: MediaFamily
    types: tuple[FileType, ...]
    extractor: str
    chunker: str
    citation: CitationKind
    extra: str | None = None


class Kinds:
    """A table of kinds, with lookups by name and family."""

    def __init__(self, *kinds: Kind) -> None:
        self.kinds = kinds
        self.families = tuple(kind.family for kind in kinds)
        self._kind_of_family = {kind.family: kind for kind in kinds}
        types = [each for kind in kinds for each in kind.types]
        self._of_extension = {extension: each for each in types for extension in each.extensions}
        self._of_name = {name: each for each in types for name in each.names}
        self._of_pattern = {tuple(name.split("*")): each for name, each in self._of_name.items() if "*" in name}
        self._pattern_ends = tuple({end for _, end in self._of_pattern})

    def type_of(self, name: str) -> FileType | None:
        """The type of the file called `name` (a bare name or a path); None if kb does not read it."""
        bare = name.rpartition("/")[2]
        stem, _, extension = bare.rpartition(".")  # a hidden file like ".md" has no stem
        named = self._of_name.get(bare)
        if named is None and bare.endswith(self._pattern_ends):
            named = next((each for ends, each in self._of_pattern.items() if _is_so(bare, *ends)), None)
        return named or (self._of_extension.get(extension.lower()) if stem else None)

    def media_type_of(self, name: str) -> MediaType | None:
        """The media type of the file called `name` (a bare name or a path); None if kb does not read it."""
        found = self.type_of(name)
        return found.media_type if found else None

    def kind_of(self, family: MediaFamily) -> Kind:
        """The kind of a family; a family that is not in the table is taken for that of a plugin, installed or not."""
        return self._kind_of_family.get(family) or plugin_kind(family, ())

    def and_kind(self, kind: Kind) -> Kinds:
        """A new table with one more kind."""
        return Kinds(*self.kinds, kind)

    def spellings(self) -> tuple[str, ...]:
        """How file names of these kinds end (`*.md`), or what they are (`Dockerfile`)."""
        return (*(f"*.{extension}" for extension in self._of_extension), *self._of_name)

    def include_patterns(self) -> tuple[str, ...]:
        """Patterns, as in .gitignore, that match every file of these kinds."""
        return tuple(f"**/{spelling}" for spelling in self.spellings())


def _is_so(name: str, start: str, end: str) -> bool:
    return name.startswith(start) and name.endswith(end)


def plugin_kind(name: str, extensions: tuple[str, ...]) -> Kind:
    """The kind of text files that the extractor called `name` reads: `subtitles/sbv`."""
    types = tuple(FileType(MediaType(f"{name}/{extension}"), (extension,)) for extension in extensions)
    family = cast(MediaFamily, name)
    return Kind(family, types, extractor=PLUGIN_EXTRACTOR, chunker="headings", citation="line")


def _files(media_type: str, extensions: str) -> FileType:
    return FileType(MediaType(media_type), tuple(extensions.split()))


def _source(language: str, extensions: str, names: str = "") -> FileType:
    """The type of the source files of one language or format, with the media type `code/<language>`."""
    return FileType(MediaType(f"code/{language}"), tuple(extensions.split()), tuple(names.split()), language)


# How Maildir names messages that have been seen; their flags are in this order.
_MAILDIR = tuple(f"*:2,{flags}" for flags in ("", "S", "RS", "FS", "FRS", "PS", "R", "F", "T", "ST", "RST"))

KINDS = Kinds(
    Kind(
        "markdown",
        (_files("markdown", "md markdown mdown mkd mdx"),),
        extractor="markdown",
        chunker="headings",
        citation="line",
    ),
    Kind(
        "text",
        (
            _files("text/plain", "txt text"),
            _files("text/org", "org"),
            _files("text/rst", "rst"),
            _files("text/asciidoc", "adoc"),
            _files("text/bibtex", "bib"),
            _files("text/ris", "ris"),
            _files("text/icalendar", "ics"),
            _files("text/vcard", "vcf"),
        ),
        extractor="text",
        chunker="headings",
        citation="line",
    ),
    Kind("notebook", (_files("notebook", "ipynb"),), extractor="notebook", chunker="headings", citation="line"),
    Kind("html", (_files("html", "html htm xhtml xht"),), extractor="html", chunker="headings", citation="line"),
    Kind(
        "mail",
        (FileType(MediaType("mail/eml"), ("eml",), _MAILDIR), _files("mail/mbox", "mbox")),
        extractor="mail",
        chunker="parts",
        citation="part",
    ),
    Kind("pdf", (_files("pdf", "pdf"),), extractor="pdf", chunker="pages", citation="page", extra="pdf"),
    Kind(
        "document",
        (
            _files("document/docx", "docx docm"),
            _files("document/odt", "odt"),
            _files("document/rtf", "rtf"),
            _files("document/epub", "epub"),
            _files("document/mhtml", "mhtml mht"),
            _files("document/canvas", "canvas"),
            _files("document/excalidraw", "excalidraw"),
            _files("document/drawio", "drawio"),
        ),
        extractor="document",
        chunker="parts",
        citation="part",
    ),
    Kind(
        "slides",
        (_files("slides/pptx", "pptx pptm ppsx"), _files("slides/odp", "odp")),
        extractor="slides",
        chunker="parts",
        citation="part",
    ),
    Kind(
        "hangul",
        (_files("hangul/hwpx", "hwpx"), _files("hangul/hwp", "hwp")),
        extractor="hangul",
        chunker="parts",
        citation="part",
        extra="office",
    ),
    Kind(
        "sheet",
        tuple(_files(f"sheet/{each}", each) for each in ("xlsx", "xlsm", "xlsb", "xls", "ods")),
        extractor="sheet",
        chunker="parts",
        citation="part",
        extra="office",
    ),
    Kind(
        "table",
        (_files("table/csv", "csv"), _files("table/tsv", "tsv tab")),
        extractor="table",
        chunker="parts",
        citation="part",
    ),
    Kind(
        "image",
        (
            _files("image/png", "png"),
            _files("image/jpeg", "jpg jpeg"),
            _files("image/webp", "webp"),
            _files("image/gif", "gif"),
            _files("image/tiff", "tif tiff"),
            _files("image/bmp", "bmp"),
            _files("image/avif", "avif"),
            _files("image/heic", "heic heif"),
        ),
        extractor="image",
        chunker="places",
        citation="region",
        extra="ocr",
    ),
    Kind(
        "audio",
        (
            _files("audio/wav", "wav"),
            _files("audio/mp3", "mp3"),
            _files("audio/m4a", "m4a m4b"),
            _files("audio/flac", "flac"),
            _files("audio/ogg", "ogg opus"),
            _files("audio/aiff", "aif aiff"),
            _files("audio/webm", "webm"),
            _files("audio/mp4", "mp4 m4v"),
            _files("audio/quicktime", "mov"),
            _files("audio/matroska", "mkv mka"),
        ),
        extractor="audio",
        chunker="places",
        citation="time",
        extra="audio",
    ),
    Kind(
        "captions",
        (_files("captions/srt", "srt"), _files("captions/vtt", "vtt")),
        extractor="captions",
        chunker="places",
        citation="time",
    ),
    Kind(
        "code",
        (
            _source("rust", "rs"),
            _source("python", "py pyi"),
            _source("typescript", "ts mts cts"),
            _source("tsx", "tsx"),
            _source("javascript", "js jsx mjs cjs"),
            _source("go", "go"),
            _source("java", "java"),
            _source("kotlin", "kt"),
            _source("c", "c h"),
            _source("cpp", "cc cpp cxx hpp hh hxx"),
            _source("sql", "sql"),
            _source("shell", "sh bash zsh"),
            _source("yaml", "yaml yml base"),
            _source("toml", "toml"),
            _source("dockerfile", "dockerfile", "Dockerfile Containerfile"),
            _source("json", "", "package.json tsconfig.json"),
            _source("gomod", "", "go.mod"),
            _source("requirements", "", "requirements*.txt"),
            _source("xml", "", "pom.xml"),
            _source("gradle", "gradle kts"),
            _source("cmake", "cmake", "CMakeLists.txt"),
            _source("make", "mk", "Makefile makefile GNUmakefile"),
        ),
        extractor="code",
        chunker="units",
        citation="code",
        extra="code",
    ),
)
"""Every kind that kb reads. One joins here together with its extractor."""

ARCHIVES = (_files("archive/zip", "zip"), _files("archive/tar", "tar tar.gz tgz tar.bz2 tbz2 tar.xz txz"))
"""Archives whose members kb reads, each as a file of its own kind, where it is asked to."""

_ARCHIVE_ENDS = [(tuple(f".{extension}" for extension in each.extensions), each.media_type) for each in ARCHIVES]

MEMBER = "!/"
"""What is between the path of an archive and that of a member: `x.zip!/notes/a.md`."""


def archive_type(name: str) -> MediaType | None:
    """The media type of an archive with that name (a bare name or a path), which is not hidden; None for others."""
    lowered = name.lower()
    found = next((media_type for ends, media_type in _ARCHIVE_ENDS if lowered.endswith(ends)), None)
    return None if name.rpartition("/")[2].startswith(".") else found


def media_type_of(name: str) -> MediaType | None:
    """The media type of the file called `name` (a bare name or a path); None if kb does not read it by itself."""
    return KINDS.media_type_of(name)


def extension_of(name: str) -> str:
    """The extension of a file name, in lower case: `.docx` for `Report.DOCX`; empty if the name has none."""
    import re  # a search knows no file

    match = re.search(_EXTENSION, name)
    return match[0].lower() if match else ""


def family_of(media_type: MediaType) -> MediaFamily:
    """The family of a media type: `image` for `image/png`."""
    return cast(MediaFamily, media_type.partition("/")[0])


def kind_of(media_type: MediaType) -> Kind:
    """The kind of a media type: how its files are read, cut and cited."""
    return KINDS.kind_of(family_of(media_type))
