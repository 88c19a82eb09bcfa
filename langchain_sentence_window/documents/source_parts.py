"""Which part of its source a Document is, and its blocks, as loaders and splitters write it in metadata.

====================================  ========================================================
keys                                  written by
====================================  ========================================================
``page`` (from 0)                     LangChain's loaders of PDFs
``page_number`` (from 1)              unstructured, Azure AI Document Intelligence
``page_label``                        PyPDFLoader: the number printed on the page
``row``, ``seq_num``                  CSVLoader, JSONLoader
``element_id``, ``category``          unstructured
``dl_meta``                           docling
``cue_start``, ``cue_end`` (seconds)  this package: cues of subtitles
``slide`` (from 1)                    this package: slides of presentations
``sheet`` with ``row`` (from 1)       this package: rows of spreadsheets and CSV, whose ``sheet`` is empty
``start_index``                       text splitters with ``add_start_index=True``
====================================  ========================================================

The blocks of a part's text are known for layouts, elements of unstructured, and chunks of docling. A layout holds the
blocks that a loader found, and whether the first one goes on::

heading:0:23:2 prose:25:400 list_item:402:455

Each item is ``KIND:START:END``, and ``heading:START:END:LEVEL`` for a heading; the ends count code points of the part's
text. Markup that isn't text is masked: the kind of a mask is the number of the character that the stretch reads as, see
`langchain_sentence_window.splitting.parsers`. A list item whose marker isn't text says where its text begins, and a row
of a table, by ``1`` or ``0``, whether it is the header. A sign before the first item says that its block began in the
part before: ``+`` if it goes on, ``~`` if even a word does. A string, because many stores hold only flat metadata.

The state of a file that was read is one string too, by which a later look finds out whether it has changed::

file_state = "5301 1760000000000000000 9f86d081884c7d65… 48"

That is the size in bytes, the time of the last change in nanoseconds since 1970, the SHA-256 of the bytes, and the
number of sentences. Who asks later whether the file has changed first compares the size and the time, and only then
the hash. Only loaders write it, never a document's own text.

The text of a file that is text itself has lines, which count from 1 as editors show them. Those of a page, a slide or a
table are made by its loader, and a reader doesn't find them again.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, TypeAlias, cast

from langchain_core.documents import Document

from langchain_sentence_window._validation import as_number
from langchain_sentence_window.splitting.blocks import (
    CODE,
    HEADING,
    LIST_ITEM,
    MAX_LEVEL,
    MAX_MARKED_HEADING_CHARS,
    PROSE,
    TABLE_ROW,
    Block,
    trim,
)
from langchain_sentence_window.splitting.html_tables import table_rows
from langchain_sentence_window.splitting.parsers import find_fault, is_mask, read_masks
from langchain_sentence_window.splitting.source_code import name_of_file, syntax_of_source

from .keys import END_INDEX, SOURCE, START_INDEX
from .metadata_values import SCALARS

PAGE, PAGE_NUMBER, PAGE_LABEL, TOTAL_PAGES = "page", "page_number", "page_label", "total_pages"
ROW, SEQ_NUM = "row", "seq_num"
ELEMENT_ID = "element_id"
CUE_START, CUE_END, SPEAKER = "cue_start", "cue_end", "speaker"
SLIDE, SHEET = "slide", "sheet"
_FILE_PATH, _FILE_NAME, _FILE_DIRECTORY = "file_path", "filename", "file_directory"
LAYOUT = "layout"
IDENTITY_KEYS = (PAGE, PAGE_NUMBER, PAGE_LABEL, ROW, SEQ_NUM, ELEMENT_ID, CUE_START, CUE_END, SLIDE, SHEET)


FILE_STATE = "file_state"


NAMING_KEYS = frozenset({SOURCE, FILE_STATE, _FILE_PATH, _FILE_NAME, _FILE_DIRECTORY, TOTAL_PAGES, *IDENTITY_KEYS})
"""Keys that say where a Document is from; only loaders write them, never a document's own text."""

TITLE = "title"
CONTENT_TYPE = "content_type"

PART = "part"
"""The key of a part's position, where nothing else distinguishes the parts of a source."""

_MAX_DIGITS = 15

Continuation: TypeAlias = Literal["", "+", "~"]
"""How the first block of a part begins: ``""`` in it; ``"+"`` in the part before; ``"~"`` inside a word of it."""

_ITEM = re.compile(r"([a-z_]{1,20}|[0-9]{1,6}):([0-9]{1,12}):([0-9]{1,12})(?::([0-9]{1,12}))?")
_SIGNS = ("+", "~")


def write_layout(blocks: Sequence[Block], continues: Continuation = "") -> str:
    """Write the blocks of a part as a string.

    Args:
        blocks: In order and disjoint, but for masks.
        continues: How the first block begins.

    Returns:
        The string; an empty one if there are no blocks.
    """
    items = [_item(block) for block in blocks]
    return continues + " ".join(items) if items else ""


def _item(block: Block) -> str:
    detail = block.body
    if block.kind == HEADING:
        detail = block.level
    elif block.kind == TABLE_ROW and block.is_header is not None:
        detail = int(block.is_header)
    kind = str(ord(block.kind)) if is_mask(block) else block.kind
    return f"{kind}:{block.start}:{block.end}" + ("" if detail is None else f":{detail}")


def read_layout(layout: object, length: int) -> tuple[list[Block], Continuation] | None:
    """Read the blocks of a part.

    Args:
        layout: The value in the part's metadata; it may be anything.
        length: Code points of the part's text.

    Returns:
        The blocks, in order, disjoint but for masks, none empty, within the text; and how the first one begins.
        ``None`` if the string isn't one that `write_layout` makes.
    """
    if not isinstance(layout, str):
        return None
    if not layout:
        return [], ""
    sign = layout[0] if layout.startswith(_SIGNS) else ""
    blocks: list[Block] = []
    for item in layout[len(sign) :].split(" "):
        match = _ITEM.fullmatch(item)
        block = match and _block(match)
        if block is None:
            return None
        blocks.append(block)
    return None if find_fault(blocks, length) else (blocks, cast("Continuation", sign))


def _block(match: "re.Match[str]") -> Block | None:
    """Return the block of an item of a layout; ``None`` if there is none of that kind."""
    kind, start, end, detail = match[1], int(match[2]), int(match[3]), None if match[4] is None else int(match[4])
    if kind.isdecimal():
        return Block(start, end, chr(int(kind))) if detail is None else None
    if kind == HEADING:
        return Block(start, end, kind, detail) if detail else None
    if kind == TABLE_ROW:
        return Block(start, end, kind, is_header=None if detail is None else bool(detail))
    return Block(start, end, kind, body=detail)


CATEGORY = "category"
CATEGORY_DEPTH = "category_depth"
TEXT_AS_HTML = "text_as_html"
DOCLING = "dl_meta"

ELEMENT_KINDS = {
    "Title": HEADING,
    "NarrativeText": PROSE,
    "UncategorizedText": PROSE,
    "ListItem": LIST_ITEM,
    "Table": TABLE_ROW,
    "TableChunk": TABLE_ROW,
    "CodeSnippet": CODE,
}
"""Block kinds of the elements of unstructured, by their ``category``."""

PAGE_FURNITURE = frozenset({"Header", "Footer", "PageNumber", "PageBreak"})
"""Categories of what is printed around the text of a page, which no sentence holds."""

_OTHER_CATEGORIES = frozenset(
    {"Address", "CheckBox", "EmailAddress", "FigureCaption", "Footnote", "Form", "Formula", "Image", "Text"}
)
_MARKS = frozenset({"element_id", "parent_id", "coordinates", "filetype", "page_number"})
"""Keys of which unstructured writes one at least; a user's own ``category`` comes without them."""


@dataclass(frozen=True, slots=True)
class Part:
    """A Document that may be a part of its source.

    Attributes:
        document: The Document.
        identity: Metadata that distinguishes it from the other parts of its source; empty for a chunk of a text.
        page: The page, from 0.
        row: The number of the row.
        start: Where its text starts in the text that it was cut from: its page, or its source.
        offset: Code points of that text, or of its own, that stand before its text.
        time: When it is shown, from and to, in seconds, of a cue of subtitles.
        order: The value of the key that the user chose to number parts.
        is_element: Whether it is one block of a page, such as a title or a paragraph.
        is_furniture: Whether it is a running head, a foot, a page number or a page break.
        blocks: The blocks of its text, if its loader says them.
        continues: How its first block begins, if its loader says the blocks.
    """

    document: Document
    identity: Mapping[str, Any]
    page: int | None = None
    row: int | None = None
    start: int | None = None
    offset: int = 0
    time: tuple[float, float] | None = None
    order: Any = None
    is_element: bool = False
    is_furniture: bool = False
    blocks: tuple[Block, ...] | None = None
    continues: Continuation = ""

    @property
    def text(self) -> str:
        """The text of the Document."""
        return self.document.page_content

    @property
    def end(self) -> int | None:
        """Where its text ends in the text that it was cut from."""
        return None if self.start is None else self.start + len(self.text)

    @property
    def carried(self) -> Document:
        """The Document without metadata that only says how to join it."""
        used = {LAYOUT} if self.blocks is not None else set[str]()
        if self.is_element and self.blocks and len(self.blocks) > 1:  # each of them would hold all of its table
            used.add(TEXT_AS_HTML)
        if self.start is not None:
            used.add(START_INDEX)
        if used.isdisjoint(self.document.metadata):
            return self.document
        metadata = {key: value for key, value in self.document.metadata.items() if key not in used}
        return Document(id=self.document.id, page_content=self.text, metadata=metadata)

    @property
    def is_numbered(self) -> bool:
        """Whether its metadata says which part it is."""
        return bool(self.identity) or self.start is not None


def source_of(metadata: Mapping[str, Any]) -> str | None:
    """Return what a loader calls the source: a path or an address; ``None`` if it doesn't say."""
    values = [metadata.get(key) for key in (SOURCE, _FILE_PATH, _FILE_NAME, _FILE_DIRECTORY)]
    texts = [str.__str__(value) if isinstance(value, str) else "" for value in values]
    source, path, name, folder = [text if text.strip() else "" for text in texts]
    return source or path or (f"{folder}/{name}" if name and folder else name) or None


def filter_of_source(source: str) -> dict[str, Any]:
    """Return a filter that matches the metadata of which `source_of` gives a source."""
    folder, _, name = source.rpartition("/")
    is_absent = {"$exists": False}
    named: list[dict[str, Any]] = [
        {_FILE_NAME: source, _FILE_DIRECTORY: is_absent},
        {_FILE_NAME: name, _FILE_DIRECTORY: folder},
    ]
    return {
        "$or": [
            {SOURCE: source},
            {_FILE_PATH: source, SOURCE: is_absent},
            *({**each, SOURCE: is_absent, _FILE_PATH: is_absent} for each in named),
        ]
    }


def part_of(document: Document, key: str | None = None) -> Part:
    """Read which part of its source a Document is.

    Args:
        document: A Document from any loader or splitter.
        key: A key of the user's own that numbers the parts of a source; the others are then ignored.
    """
    metadata, text = document.metadata, document.page_content
    category, is_block, is_furniture = metadata.get(CATEGORY), False, False
    if isinstance(category, str):  # as unstructured writes it
        has_marks = not _MARKS.isdisjoint(metadata)
        is_furniture = category in PAGE_FURNITURE and has_marks
        is_block = category in ELEMENT_KINDS or is_furniture or (category in _OTHER_CATEGORIES and has_marks)
    if key is not None:
        value = metadata.get(key)
        identity = {key: value} if isinstance(value, SCALARS) else {}
        return Part(document, identity, order=value, is_furniture=is_furniture)
    layout = metadata.get(LAYOUT)
    read = None if layout is None else _fitting_layout(text, layout)
    blocks: tuple[Block, ...] | None = None
    if read is not None:
        blocks = read[0]
    elif is_block:
        blocks = element_blocks(text, metadata)
    elif DOCLING in metadata:
        blocks = docling_blocks(text, metadata)
    # Splitters write no end; a Document with both is a window, or one that `get` returned.
    start = None if END_INDEX in metadata else _whole_number(metadata.get(START_INDEX))
    return Part(
        document,
        identity_in(metadata),
        page=page_of(metadata),
        row=_row_of(metadata),
        start=start,
        offset=start or 0,
        time=time_of(metadata),
        is_element=is_block,
        is_furniture=is_furniture,
        blocks=blocks,
        continues=read[1] if read else "",
    )


def _fitting_layout(text: str, layout: object) -> tuple[tuple[Block, ...], Continuation] | None:
    """Return the blocks that a loader found; ``None`` if it found none, or if the text has changed since."""
    read = read_layout(layout, len(text))
    if read is None:
        return None
    blocks = tuple(
        block if is_mask(block) else replace(block, start=start, end=end)
        for block in read[0]
        for start, end in [trim(text, block.start, block.end)]
    )
    reading, plain = read_masks(text, blocks)
    edges = [0, *(edge for block in plain for edge in (block.start, block.end)), len(text)]
    are_apart = all(not reading[end:start].strip() for end, start in zip(edges[::2], edges[1::2], strict=True))
    return (blocks, read[1]) if are_apart and all(block.start < block.end for block in blocks) else None


def identity_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that distinguishes a part from the others of its source, as loaders write it."""
    return {name: metadata[name] for name in IDENTITY_KEYS if name in metadata and isinstance(metadata[name], SCALARS)}


def page_of(metadata: Mapping[str, Any]) -> int | None:
    """Return the page that metadata names, from 0; ``None`` if it names none."""
    page = _whole_number(metadata.get(PAGE))
    if page is not None:
        return page
    for name in (PAGE_NUMBER, SLIDE):
        if number := _whole_number(metadata.get(name)):
            return number - 1
    return docling_page(metadata) if DOCLING in metadata else None


def _row_of(metadata: Mapping[str, Any]) -> int | None:
    """Return the number of a row that is a section of its own; ``None`` for a row of a sheet, which is in its table."""
    if SHEET in metadata:
        return None
    row = _whole_number(metadata.get(ROW))
    return _whole_number(metadata.get(SEQ_NUM)) if row is None else row


def time_of(metadata: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the time from which and to which a cue of subtitles is shown, in seconds; ``None`` for another part."""
    if CUE_START not in metadata:
        return None
    begins, ends = as_number(metadata[CUE_START]), as_number(metadata.get(CUE_END))
    return (begins, ends) if 0 <= begins <= ends < math.inf else None


_BREAKS = re.compile(r"\r\n?|\n")
_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".log", ".srt", ".vtt", ".rst", ".adoc", ".asciidoc", ".org", ".tex")
_CONTENT_TYPES = frozenset({"application/x-subrip", "application/x-tex"})  # the others begin with "text/"
_TABLES_AND_PAGES = frozenset({"text/html", "text/csv", "text/tab-separated-values"})


def is_text_file(metadata: Mapping[str, Any]) -> bool:
    """Return whether a document is the text of a file, by what its loader says it is, else by the file's name."""
    source, content_type = metadata.get(SOURCE), metadata.get(CONTENT_TYPE)
    if isinstance(content_type, str) and content_type:
        kind = content_type.partition(";")[0].strip().lower()
        return kind in _CONTENT_TYPES or (kind.startswith("text/") and kind not in _TABLES_AND_PAGES)
    if not isinstance(source, str):
        return False
    return syntax_of_source(source) is not None or name_of_file(source).endswith(_SUFFIXES)


def line_breaks(text: str, start: int, end: int) -> int:
    """Return the number of line breaks in a stretch of a text; a carriage return and a line feed are one."""
    return len(_BREAKS.findall(text, start, end))


def total_pages(metadata: Mapping[str, Any]) -> int | None:
    """Return how many pages the source has; ``None`` if metadata doesn't say."""
    return _whole_number(metadata.get(TOTAL_PAGES))


MAX_NAME_CHARS = 300
"""The longest value of metadata that is a name; a longer one is a text."""


def names_in(metadata: Mapping[str, Any], keys: Iterable[str] = ()) -> list[str]:
    """Return the names in a document's metadata, each once.

    They are its title, its file name, the folder of the file, which often says more than a name such as ``index.md``,
    and values of other keys.

    Args:
        metadata: The document's metadata.
        keys: Keys whose values are names too: strings or numbers, or lists of these.
    """
    source = source_of(metadata) or ""
    folders, _, file_name = source.replace("\\", "/").rstrip("/").rpartition("/")
    stem, _, ending = file_name.rpartition(".")
    folder = folders.rpartition("/")[2] if file_name.strip() else ""
    values = [metadata.get(TITLE), file_name, stem if ending.isalnum() else "", folder]
    for key in keys:
        value = metadata.get(key)
        values += value if isinstance(value, list | tuple) else [value]
    names = [str(name) for name in values if isinstance(name, str | int | float) and not isinstance(name, bool)]
    return [name for name in dict.fromkeys(names) if name.strip() and len(name) <= MAX_NAME_CHARS]


def _whole_number(value: object) -> int | None:
    """Return a number of 0 or more, which may be written as text or with a decimal point."""
    if type(value) is int:  # the usual case, quickly
        return value if value >= 0 else None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS:
        return int(value)
    if isinstance(value, float) and value.is_integer() and value >= 0:
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def element_blocks(text: str, metadata: Mapping[str, Any]) -> tuple[Block, ...]:
    """Return an element as a block, a table as one for each recognized row, or nothing if it has no text."""
    kind = ELEMENT_KINDS.get(metadata.get(CATEGORY, ""), PROSE)
    start, end = trim(text, 0, len(text))
    if start == end:
        return ()
    table = metadata.get(TEXT_AS_HTML) if kind == TABLE_ROW else None
    if isinstance(table, str) and (rows := table_rows(text, table)):
        return tuple(rows)
    if kind != HEADING:
        return (Block(start, end, kind),)
    depth = metadata.get(CATEGORY_DEPTH)
    level = depth + 1 if isinstance(depth, int) and depth >= 0 else 1
    is_short = end - start <= MAX_MARKED_HEADING_CHARS
    return (Block(start, end, HEADING, min(level, MAX_LEVEL)) if is_short else Block(start, end),)


def docling_blocks(text: str, metadata: Mapping[str, Any]) -> tuple[Block, ...] | None:
    """Return the headings above the text of a chunk of docling, and the rest as a paragraph.

    Returns:
        The blocks; ``None`` if the text doesn't begin with headings.
    """
    at, blocks = 0, list[Block]()
    for level, heading in enumerate(docling_headings(metadata), 1):
        start, end = trim(text, at, len(text))
        if not heading.strip() or not text.startswith(heading.strip(), start):
            break
        at = start + len(heading.strip())
        blocks.append(Block(start, at, HEADING, min(level, MAX_LEVEL)))
    start, end = trim(text, at, len(text))
    return (*blocks, *([Block(start, end)] if start < end else [])) if blocks else None


def docling_page(metadata: Mapping[str, Any]) -> int | None:
    """Return the first page, from 0, that a chunk of docling is from; ``None`` if it doesn't say."""
    numbers = [
        place.get("page_no")
        for item in _listed(metadata.get(DOCLING), "doc_items")
        for place in _listed(item, "prov")
        if isinstance(place, Mapping)
    ]
    pages = [number - 1 for number in numbers if isinstance(number, int) and number > 0]
    return min(pages, default=None)


def docling_headings(metadata: Mapping[str, Any]) -> list[str]:
    """Return the headings, outermost first, that docling writes above the text of a chunk."""
    return [each for each in _listed(metadata.get(DOCLING), "headings") if isinstance(each, str)]


def _listed(value: object, key: str) -> Sequence[Any]:
    values = value.get(key) if isinstance(value, Mapping) else None
    return values if isinstance(values, list | tuple) else ()


_UNKNOWN = "-"
_WRITTEN = re.compile(r"([0-9]{1,18}) (-|[0-9]{1,20}) ([0-9a-f]{64})(?: ([0-9]{1,12}))?")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileState:
    """The state of a file when it was read.

    Attributes:
        size: Its size in bytes.
        modified_ns: The time of its last change, in nanoseconds since 1970; ``None`` if it changed so shortly before
            that a later change may have the same time.
        sha256: The SHA-256 of its bytes, in hexadecimal digits.
        sentences: The number of sentences of the document that was made of it; ``None`` if it isn't known. A store
            that holds fewer was interrupted.
    """

    size: int
    modified_ns: int | None
    sha256: str
    sentences: int | None = None

    @classmethod
    def read(cls, metadata: Mapping[str, Any]) -> Self | None:
        """Read the state from a document's metadata; return ``None`` if there is none, or it can't be read."""
        written = metadata.get(FILE_STATE)
        match = _WRITTEN.fullmatch(written) if isinstance(written, str) else None
        if match is None:
            return None
        size, modified, sha256, sentences = match.groups()
        return cls(
            size=int(size),
            modified_ns=None if modified == _UNKNOWN else int(modified),
            sha256=sha256,
            sentences=None if sentences is None else int(sentences),
        )

    def __str__(self) -> str:
        """Write the state as `read` reads it."""
        modified = _UNKNOWN if self.modified_ns is None else str(self.modified_ns)
        sentences = "" if self.sentences is None else f" {self.sentences}"
        return f"{self.size} {modified} {self.sha256}{sentences}"
