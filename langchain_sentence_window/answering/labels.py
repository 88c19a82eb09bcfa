"""The line that a tool writes above each source; nothing in a document can forge its fields.

    [1] terms.md:19-37 (Refunds) · doc_id: terms · first: 2 · last: 2

A place is written as people read it, and a plain ``doc_id`` as it is. A place in which a field could begin, and any
other ``doc_id``, are written as a JSON string in which no field, no tag and no line can begin. `read_doc_id` reads a
``doc_id`` in either form.
"""

import json
import re

from langchain_core.documents import Document

from langchain_sentence_window.answering.escaping import INVISIBLE, disguised, escaped_offsets, looks, visible
from langchain_sentence_window.answering.locations import describe_location
from langchain_sentence_window.documents.keys import DOC_ID
from langchain_sentence_window.documents.window_metadata import SENTENCES

MAX_DOC_ID_CHARS = 1_000
"""The most characters of a ``doc_id`` that a label shows. Around a source of a longer one, no more can be read."""

MAX_ARGUMENT_CHARS = 12 * MAX_DOC_ID_CHARS + 2
"""The most characters of such a ``doc_id`` as a JSON string."""

_MAX_LOCATION_CHARS = 300
_PLAIN_ID = re.compile(r"[\w./:@#+~=-]+")
_FIELD = re.compile(rf"(?:{disguised('doc')}[\W_]?\w\w|{disguised('first')}|{disguised('last')})\s*(?=:)")
_SEPARATOR = "·"
_UNSEEN_LOOKS = (" ", "\n", INVISIBLE)
"""The looks of characters that a model may drop, or replace by a plain space."""

_SUSPECT = re.compile(r"(?<= ) |[^ -~]")


def label(document: Document) -> str:
    """Return where a window is from, and the fields with which more around it can be read."""
    first, last = document.metadata[SENTENCES]
    doc_id = str(document.metadata[DOC_ID])
    field = f"doc_id: {_written(doc_id)}" if len(doc_id) <= MAX_DOC_ID_CHARS else "doc_id too long to be read on"
    return f"{_location(document)} {_SEPARATOR} {field} {_SEPARATOR} first: {first} {_SEPARATOR} last: {last}"


def read_doc_id(given: str) -> str:
    """Return the ``doc_id`` that a label shows, either quoted or as it is."""
    if len(given) > 1 and given.startswith('"') and given.endswith('"'):
        try:
            return str(json.loads(given, strict=False))
        except ValueError:
            return given
    return given


def _written(doc_id: str) -> str:
    return doc_id if _PLAIN_ID.fullmatch(doc_id) and not _field_ends(doc_id) else _quoted(doc_id)


def _location(document: Document) -> str:
    location = describe_location(document)
    if len(location) > _MAX_LOCATION_CHARS:
        location = f"{location[:_MAX_LOCATION_CHARS]}…"
    return _quoted(location) if _field_ends(location) else location


def _quoted(text: str) -> str:
    """Return a text as a JSON string on one line, with all escaped that a model may drop or `tagged` would change."""
    quoted = json.dumps(text, ensure_ascii=False)
    marks = _field_ends(quoted) | escaped_offsets(quoted)
    quoted = "".join(_escaped(each) if offset in marks else each for offset, each in enumerate(quoted))
    return _SUSPECT.sub(_unless_seen, quoted)


def _field_ends(text: str) -> set[int]:
    """Return the offsets of colons that follow something like a field's name."""
    look, offsets = visible(text)
    return {offsets[match.end()] for match in _FIELD.finditer(look)}


def _unless_seen(found: re.Match[str]) -> str:
    character = found[0]
    is_seen = character.isprintable() and character != " " and looks(character) not in _UNSEEN_LOOKS
    return character if is_seen else _escaped(character)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 126 else f"\\u{ord(character):04x}"  # noqa: PLR2004
