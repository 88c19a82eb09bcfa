"""Sources as a tool shows them to a model, each below a label that says where it is from and how to read on.

Nothing in a document can forge the fields of a label::

    [1] terms.md, line 5 (Refunds) · doc_id: terms · first: 2 · last: 2

A place is written as people read it, and a plain ``doc_id`` as it is. A place in which a field could begin, and any
other ``doc_id``, are written as a JSON string in which no field, no tag and no line can begin. `read_doc_id` reads a
``doc_id`` in either form.
"""

import json
import re
from collections.abc import Sequence

from langchain_core.documents import Document

from langchain_sentence_window.answering.citation_format import (
    INVISIBLE,
    disguised,
    escaped_offsets,
    looks,
    on_one_line,
    source_number,
    visible,
)
from langchain_sentence_window.answering.context import tagged
from langchain_sentence_window.answering.conversation import NumberedSource
from langchain_sentence_window.answering.locations import also_in, describe_location, doubt_about
from langchain_sentence_window.documents.indexed_documents import IndexedDocument
from langchain_sentence_window.documents.keys import DOC_ID, SENTENCES
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.source_metadata import page_of
from langchain_sentence_window.documents.window_documents import shown_text

MAX_DOC_ID_CHARS = 1_000
"""The most characters of a ``doc_id`` that a label shows. Around a source of a longer one, no more can be read."""

NOTHING_FOUND = "Nothing was found. Search again in other words."


def source_blocks(sources: Sequence[NumberedSource]) -> str:
    """Return the new ones of some sources between tags, below a doubt if any, and a line that names the others."""
    blocks = [tagged(each.number, label(each.document), shown_text(each.document)) for each in sources if each.is_new]
    if known := dict.fromkeys(source_number(each.number) for each in sources if not each.is_new):
        blocks.append(f"Also found: {', '.join(known)}. You have {'these' if len(known) > 1 else 'it'} already.")
    doubt = doubt_about([each.document for each in sources])
    return "\n\n".join([doubt, *blocks] if doubt else blocks) or NOTHING_FOUND


def list_line(document: IndexedDocument) -> str:
    """Return the line of a document in a list."""
    pages = f"{document.pages} pages" if document.pages else ""
    named = [_harmless(on_one_line(each or "", _MAX_LOCATION_CHARS)) for each in (document.title, document.source)]
    return _line(_doc_id_field(document.doc_id), f"{document.sentences} sentences", pages, *named)


def section_line(section: Sequence[StoredSentence]) -> str:
    """Return the line of a section in an outline."""
    first, page = section[0], page_of(section[0].source)
    place = "" if page is None else f"p. {page + 1}"
    heading = _harmless(on_one_line(first.heading, _MAX_LOCATION_CHARS)) or "(no heading)"
    return _line(f"first: {first.index}", f"last: {section[-1].index}", place, heading)


def _line(*fields: str) -> str:
    return f" {_SEPARATOR} ".join(filter(None, fields))


def _harmless(text: str) -> str:
    """Return a text of a document in which no field, no tag and no source's number can begin."""
    return _quote_as_json(text) if _field_ends(text) or escaped_offsets(text) else text


_MAX_LOCATION_CHARS = 300
_PLAIN_ID = re.compile(r"[\w./:@#+~=-]+")
_FIELD = re.compile(rf"(?:{disguised('doc')}[\W_]?\w\w|{disguised('first')}|{disguised('last')})\s*(?=:)")
_SEPARATOR = "·"
_UNSEEN_LOOKS = (" ", "\n", INVISIBLE)
"""The looks of characters that a model may drop, or replace by a plain space."""

_SUSPECT = re.compile(r"(?<= ) |[^ -~]")


def label(document: Document) -> str:
    """Return where a window is from, and the fields with which more around it can be read, if they are known."""
    if SENTENCES not in document.metadata:
        return _location(document)
    first, last = document.metadata[SENTENCES]
    doc_id = _doc_id_field(str(document.metadata[DOC_ID]))
    return _line(_location(document), doc_id, f"first: {first}", f"last: {last}")


def read_doc_id(given: str) -> str:
    """Return the ``doc_id`` that a label shows, either quoted or as it is."""
    if len(given) > 1 and given.startswith('"') and given.endswith('"'):
        try:
            return str(json.loads(given, strict=False))
        except ValueError:
            return given
    return given


def _doc_id_field(doc_id: str) -> str:
    """Return a doc_id as it is shown to a model, which may give it back: in quotes unless it is plain."""
    if len(doc_id) > MAX_DOC_ID_CHARS:
        return "doc_id too long to be read on"
    is_plain = _PLAIN_ID.fullmatch(doc_id) and not _field_ends(doc_id)
    return f"doc_id: {doc_id if is_plain else _quote_as_json(doc_id)}"


def _location(document: Document) -> str:
    location = describe_location(document)
    if len(location) > _MAX_LOCATION_CHARS:
        location = f"{location[:_MAX_LOCATION_CHARS]}…"
    others = also_in(document)
    location = _line(location, others and f"also in {others}")
    return _quote_as_json(location) if _field_ends(location) else location


def _quote_as_json(text: str) -> str:
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
