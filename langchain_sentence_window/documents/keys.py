"""The metadata contract: its keys, and the ids of sentences and windows.

In a sentence Document, which a vector store holds, the values of these keys are strings and numbers, as some stores
refuse anything else. The keys of a window Document are in `langchain_sentence_window.documents.window_fields`.

====================  =====================================================
key                   meaning
====================  =====================================================
``doc_id``            the source document
``start_index``       first code point in the source
``end_index``         one past the last code point
``heading``           titles of the headings above, joined by `` > ``
``sentence_index``    index among the document's sentences, from 0
``section_start``     index of the section's first sentence
``section_end``       one past the index of its last sentence
``separator``         white space, or markup, up to the next sentence, if not one space
``kind``              the block's kind, if not prose
``lead_in``           index of the sentence that introduces it, if any
``pieces_start``      index of the first piece of a sentence that was cut
``pieces_end``        one past the index of its last piece
``heading_level``     1 to 6, of a heading of a document with parts
``start_line``        line that it starts on in its file, from 1, if that is text
``part_spans``        its places in the parts of the document, as JSON
``window_text``       its inline window, if the splitter writes one
``window_spans``      spans of that window's sentences, counted from it
``window_separator``  white space, or markup, after it, if not one space
``window_parts``      its places in the parts of the document, as JSON
``ingest_state``      of the first and last: what `ingest` made them of
====================  =====================================================

``heading`` is left out if there is none. All other metadata of a source document is carried along: lists, dicts and
``None`` too, if the store holds them, and dates as strings. What it can't hold is left out, with a warning.

If the metadata of a source document has a key of this table, that key is renamed: ``kind`` becomes ``source_kind``, or
``source_source_kind`` if the document has another ``source_kind`` too. So nothing is lost, and no value of a document
is taken for one of this package. Filter by the new name.

Three keys are read first. ``doc_id`` names the document if it has no id; it is left out if it is the document's name.
``start_index`` and ``end_index`` are left out if they cover the whole text.

Keys that a store adds to its Documents, such as an id, are removed.
"""

import uuid
from collections.abc import Iterable, Mapping
from hashlib import sha1

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import STORABLE_ID
from langchain_sentence_window.errors import InvalidInputError

DOC_ID = "doc_id"
SENTENCE_INDEX = "sentence_index"
START_INDEX = "start_index"
END_INDEX = "end_index"
SECTION_START = "section_start"
SECTION_END = "section_end"
SEPARATOR = "separator"
KIND = "kind"
LEAD_IN = "lead_in"
PIECES_START = "pieces_start"
PIECES_END = "pieces_end"
HEADING_LEVEL = "heading_level"
START_LINE = "start_line"
PART_SPANS = "part_spans"
HEADING = "heading"
WINDOW_TEXT = "window_text"
WINDOW_SPANS = "window_spans"
WINDOW_SEPARATOR = "window_separator"
WINDOW_PARTS = "window_parts"
INGEST_STATE = "ingest_state"
SOURCE = "source"

PER_SENTENCE_KEYS = frozenset(
    {
        SENTENCE_INDEX, START_INDEX, END_INDEX, SEPARATOR, KIND, LEAD_IN, PIECES_START, PIECES_END,
        HEADING_LEVEL, START_LINE, PART_SPANS, WINDOW_TEXT, WINDOW_SPANS, WINDOW_SEPARATOR,
        WINDOW_PARTS, INGEST_STATE,
    }
)  # fmt: skip
"""Keys whose values differ among the sentences of a section."""

PER_SECTION_KEYS = frozenset({SECTION_START, SECTION_END, HEADING})
"""Keys whose values differ among the sections of a document; other values rarely differ inside a document."""

RENAMED = "source_"
"""The prefix of a source document's key that is a key of the contract."""

SENTENCE_KEYS = PER_SENTENCE_KEYS | PER_SECTION_KEYS | {DOC_ID}
"""All keys in the table above."""


SENTENCES = "sentences"
HITS = "hits"
SCORE = "score"
SIMILARITY = "similarity"
WINDOW_ID = "window_id"
LEAD_INS = "lead_ins"
ALSO_IN = "also_in"
TEXT = "text"
RELEVANCE = "relevance"
RELEVANCE_SCORE = "relevance_score"
PARTS = "parts"
PAGES = "pages"
PAGE_LABELS = "page_labels"
TIMES = "times"
LINES = "lines"
SENTENCE_SPANS = "sentence_spans"
TOKENS = "tokens"
CITATION_NUMBER = "citation_number"

WINDOW_KEYS = frozenset(
    {
        DOC_ID, START_INDEX, END_INDEX, HEADING, SEPARATOR, SENTENCES, HITS, SCORE, WINDOW_ID, LEAD_INS,
        ALSO_IN, RELEVANCE, RELEVANCE_SCORE, PARTS, PAGES, PAGE_LABELS, TIMES, LINES, SENTENCE_SPANS, TOKENS,
        CITATION_NUMBER,
    }
)  # fmt: skip
"""The keys of a window Document; see `langchain_sentence_window.documents.window_fields`."""

SEARCH_KEYS = frozenset({HITS, SCORE, RELEVANCE, RELEVANCE_SCORE, CITATION_NUMBER})
"""Keys of a window that say how it was found, so they aren't true of a text that is only read."""

CONTRACT_KEYS = SENTENCE_KEYS | WINDOW_KEYS
"""The keys of sentence Documents and window Documents. A source document's own keys among them are renamed."""


ID_LENGTH = 36
"""Characters of the id of a sentence or a window."""

MAX_ID_CHARS = 4_096
"""Characters of the longest id of a source document, which each of its sentences carries."""


_NAMESPACE = uuid.UUID("3b1d5a52-7f0e-5c54-9a4e-0d1f6c0e8a11").bytes


def checked_id(value: object) -> str:
    """Return the id of a source document as text.

    Raises:
        InvalidInputError: Stores can't keep it.
    """
    name = storable_text(value)
    if name is None:
        raise InvalidInputError(f"the doc_id is {shown(value)}; give the document a string as its id, or none")
    if len(name) > MAX_ID_CHARS:
        raise InvalidInputError(
            f"a doc_id of {len(name)} characters ({name[:40]!r}…) is too long, because each sentence stores it; "
            f"give the document an id of at most {MAX_ID_CHARS} characters, or none"
        )
    if not STORABLE_ID.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} can't be a doc_id, as it is empty or holds a NUL or a lone surrogate, which stores can't keep; "
            "give the document another id, or none"
        )
    return name


def storable_text(value: object) -> str | None:
    """Return a value as text; ``None`` if its ``str`` fails, as for too many digits."""
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - what a type makes of itself may raise anything
        return None


def checked_ids(ids: object) -> list[str]:
    """Return ids as a list.

    Raises:
        InvalidInputError: They are a single string, aren't a list, or hold something other than strings.
    """
    if isinstance(ids, str | bytes | bytearray | memoryview | Mapping) or not isinstance(ids, Iterable):
        raise InvalidInputError(f"documents are named by a list of ids, not {shown(ids)}; write ['id', ...]")
    listed = list[str]()
    for index, id_ in enumerate(ids):
        if not isinstance(id_, str):
            raise InvalidInputError(
                f"id {index} is {shown(id_)}; documents are named by strings, as add_documents returns them"
            )
        listed.append(id_)
    return listed


def sentence_id(doc_id: str, index: int) -> str:
    """Return the id of a document's sentence: a UUID, as some stores take no other ids."""
    return _uuid5(f"sentence\n{index}\n{doc_id}")


def window_id(doc_id: str, first: int, last: int) -> str:
    """Return the id of the window of the sentences ``first`` to ``last``, both included."""
    return _uuid5(f"window\n{first}\n{last}\n{doc_id}")


def _uuid5(name: str) -> str:
    """Return what `uuid.uuid5` does in the namespace of this package, of lone surrogates too."""
    digest = sha1(_NAMESPACE + name.encode("utf-8", "surrogatepass"), usedforsecurity=False).digest()
    return str(uuid.UUID(bytes=digest[:16], version=5))
