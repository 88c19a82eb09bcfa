"""What loaders and splitters write in metadata about the source of a Document, and its place in it.

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

The text of a file that is text itself has lines, which count from 1 as editors show them. Those of a page, a slide or a
table are made by its loader, and a reader doesn't find them again.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from langchain_sentence_window._validation import as_number
from langchain_sentence_window.splitting.source_code import name_of_file, syntax_of_source

from .keys import SOURCE
from .metadata_values import SCALARS

PAGE, PAGE_NUMBER, PAGE_LABEL, TOTAL_PAGES = "page", "page_number", "page_label", "total_pages"
ROW, SEQ_NUM = "row", "seq_num"
ELEMENT_ID = "element_id"
CUE_START, CUE_END, SPEAKER = "cue_start", "cue_end", "speaker"
SLIDE, SHEET = "slide", "sheet"
TITLE = "title"
FILE_STATE = "file_state"
CONTENT_TYPE = "content_type"
DOCLING = "dl_meta"
_FILE_PATH, _FILE_NAME, _FILE_DIRECTORY = "file_path", "filename", "file_directory"

IDENTITY_KEYS = (PAGE, PAGE_NUMBER, PAGE_LABEL, ROW, SEQ_NUM, ELEMENT_ID, CUE_START, CUE_END, SLIDE, SHEET)
"""Keys that distinguish a part from the others of its source."""

NAMING_KEYS = frozenset({SOURCE, FILE_STATE, _FILE_PATH, _FILE_NAME, _FILE_DIRECTORY, TOTAL_PAGES, *IDENTITY_KEYS})
"""Keys that say where a Document is from; only loaders write them, never a document's own text."""

MAX_NAME_CHARS = 300
"""The longest value of metadata that is a name; a longer one is a text."""

_MAX_DIGITS = 15
_BREAKS = re.compile(r"\r\n?|\n")
_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".log", ".srt", ".vtt", ".rst", ".adoc", ".asciidoc", ".org", ".tex")
_CONTENT_TYPES = frozenset({"application/x-subrip", "application/x-tex"})  # the others begin with "text/"
_TABLES_AND_PAGES = frozenset({"text/html", "text/csv", "text/tab-separated-values"})


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


def identity_in(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata that distinguishes a part from the others of its source, as loaders write it."""
    return {name: metadata[name] for name in IDENTITY_KEYS if name in metadata and isinstance(metadata[name], SCALARS)}


def page_of(metadata: Mapping[str, Any]) -> int | None:
    """Return the page that metadata names, from 0; ``None`` if it names none."""
    page = whole_number(metadata.get(PAGE))
    if page is not None:
        return page
    for name in (PAGE_NUMBER, SLIDE):
        if number := whole_number(metadata.get(name)):
            return number - 1
    return _docling_page(metadata) if DOCLING in metadata else None


def row_of(metadata: Mapping[str, Any]) -> int | None:
    """Return the number of a row that is a section of its own; ``None`` for a row of a sheet, which is in its table."""
    if SHEET in metadata:
        return None
    row = whole_number(metadata.get(ROW))
    return whole_number(metadata.get(SEQ_NUM)) if row is None else row


def time_of(metadata: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the time from which and to which a cue of subtitles is shown, in seconds; ``None`` for another part."""
    if CUE_START not in metadata:
        return None
    begins, ends = as_number(metadata[CUE_START]), as_number(metadata.get(CUE_END))
    return (begins, ends) if 0 <= begins <= ends < math.inf else None


def total_pages(metadata: Mapping[str, Any]) -> int | None:
    """Return how many pages the source has; ``None`` if metadata doesn't say."""
    return whole_number(metadata.get(TOTAL_PAGES))


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


def whole_number(value: Any) -> int | None:
    """Return a number of 0 or more, which may be written as text or with a decimal point."""
    if type(value) is int:  # the usual case, quickly
        return value if value >= 0 else None
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdigit() and len(value) <= _MAX_DIGITS else None
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        return None
    return int(value) if isinstance(value, int) or value.is_integer() else None


def _docling_page(metadata: Mapping[str, Any]) -> int | None:
    """Return the first page, from 0, that a chunk of docling is from; ``None`` if it doesn't say."""
    numbers = [
        place.get("page_no")
        for item in _list_at_key(metadata.get(DOCLING), "doc_items")
        for place in _list_at_key(item, "prov")
        if isinstance(place, Mapping)
    ]
    pages = [number - 1 for number in numbers if isinstance(number, int) and number > 0]
    return min(pages, default=None)


def docling_headings(metadata: Mapping[str, Any]) -> list[str]:
    """Return the headings, outermost first, that docling writes above the text of a chunk."""
    return [each for each in _list_at_key(metadata.get(DOCLING), "headings") if isinstance(each, str)]


def _list_at_key(value: object, key: str) -> Sequence[Any]:
    """Return the list under a key; an empty one if there is none."""
    values = value.get(key) if isinstance(value, Mapping) else None
    return values if isinstance(values, list | tuple) else ()
