"""What a tool writes above each source: one line of fields that nothing in a document can forge.

    [1] terms.md:19-37 (Refunds) · doc_id: terms · first: 2 · last: 2

What a document brings along stands as it is where it is plain, else as a JSON string in which no field and no line
can begin. `read_doc_id` takes a ``doc_id`` back in either form.
"""

import json
import re

from langchain_core.documents import Document

from langchain_sentence_window.answering.context import describe_place
from langchain_sentence_window.answering.disarming import NOTHING, disguised, looks, seen
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCES

LONGEST_DOC_ID = 1_000
"""Characters of a ``doc_id`` that a label shows; a longer one can't be read on."""

LONGEST_ARGUMENT = 12 * LONGEST_DOC_ID + 2
"""Characters of such a ``doc_id`` as a JSON string at most."""

_LONGEST_PLACE = 300
_PLAIN_ID = re.compile(r"[\w./:@#+~=-]+")
_FIELD = re.compile(rf"(?:{disguised('doc')}[\W_]?\w\w|{disguised('first')}|{disguised('last')})\s*(?=:)")
_SEPARATOR = "·"
_MARKS = ("[", "]", "<", "/", " ", "\n", NOTHING)
"""What characters look like with which a tag, a source's number or a line could begin."""


def label(document: Document) -> str:
    """Say where a window stands, and how it can be read on."""
    first, last = document.metadata[SENTENCES]
    doc_id = str(document.metadata[DOC_ID])
    named = f"doc_id: {_written(doc_id)}" if len(doc_id) <= LONGEST_DOC_ID else "doc_id too long to be read on"
    return f"{_place(document)} {_SEPARATOR} {named} {_SEPARATOR} first: {first} {_SEPARATOR} last: {last}"


def read_doc_id(given: str) -> str:
    """Read a ``doc_id`` as a label shows it, or as it is."""
    if len(given) > 1 and given.startswith('"') and given.endswith('"'):
        try:
            return str(json.loads(given, strict=False))
        except ValueError:
            return given
    return given


def _written(doc_id: str) -> str:
    return doc_id if _PLAIN_ID.fullmatch(doc_id) and not _field_ends(doc_id) else _quoted(doc_id)


def _place(document: Document) -> str:
    place = describe_place(document)
    if len(place) > _LONGEST_PLACE:
        place = f"{place[:_LONGEST_PLACE]}…"
    quoted = _quoted(place)
    return place if quoted == f'"{place}"' else quoted


def _quoted(text: str) -> str:
    """A text as a JSON string on one line, without what a reader may drop or take for a mark."""
    quoted = json.dumps(text, ensure_ascii=False)
    ends = _field_ends(quoted)
    quoted = "".join(_escaped(each) if at in ends else each for at, each in enumerate(quoted))
    return re.sub(r"(?<= ) |[^ -~]|[<>[]", _unless_plain, quoted)


def _field_ends(text: str) -> set[int]:
    """Where the colons are after what looks like the name of a field."""
    read, places = seen(text)
    return {places[match.end()] for match in _FIELD.finditer(read)}


def _unless_plain(found: re.Match[str]) -> str:
    character = found[0]
    is_mark = character in (" ", "<", ">", "[", _SEPARATOR) or looks(character) in _MARKS
    return character if character.isprintable() and not is_mark else _escaped(character)


def _escaped(character: str) -> str:
    return json.dumps(character)[1:-1] if ord(character) > 126 else f"\\u{ord(character):04x}"  # noqa: PLR2004
