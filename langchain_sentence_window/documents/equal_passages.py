"""Equal text once: the best window of those that say the same, and where else that text stands.

Contracts, policies and manuals repeat their clauses word for word. A model that reads one twice learns nothing new, but
a reader may want to know that a second contract says it too.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._validation import as_integer
from langchain_sentence_window.documents.keys import DOC_ID, END_INDEX, HEADING, SOURCE, START_INDEX
from langchain_sentence_window.documents.lead_ins import shown_lead_ins
from langchain_sentence_window.documents.values import is_scalar
from langchain_sentence_window.documents.window_metadata import ALSO_IN, PAGES, SENTENCES

_WORDS = re.compile(r"[^\W_]+")
_BETWEEN_WORDS = re.compile(r"\W+")
_ASCII_BETWEEN_WORDS = bytes(code for code in range(128) if not chr(code).isalnum())
_MARKUP = frozenset("|~^`")
"""Symbols that draw tables and markup, and say nothing."""


def unite_equal(documents: Sequence[Document]) -> list[Document]:
    """Return windows of equal text once, each with the places of the others.

    Texts are equal if they differ in case, white space and punctuation only. Symbols count, such as ``<``, ``+`` and
    ``€``, and so does what belongs to a number, as in ``-1.5``. What leads a window in must be equal too, as the header
    row of a table. Windows without a single word or symbol are kept apart, and so are Documents that aren't windows.

    Args:
        documents: Window Documents, best first.

    Returns:
        The best of equal windows in its place, a copy whose metadata holds ``also_in``: where the others stand, and
        what their own ``also_in`` names, in order of rank. Documents that no other equals are the given ones.
    """
    better = better_of(documents)
    others: dict[int, list[Document]] = {}
    for position, best in better.items():
        others.setdefault(best, []).append(documents[position])
    return [
        with_places(document, others[position]) if position in others else document
        for position, document in enumerate(documents)
        if position not in better
    ]


def better_of(documents: Sequence[Document]) -> dict[int, int]:
    """Return the position of the best window of the same text, by the position of each other one."""
    found: dict[int, int] = {}
    known: dict[tuple[str, ...], int] = {}
    rough = [rough_key(document.page_content) if _is_window(document) else None for document in documents]
    counts = Counter(rough)
    for position, document in enumerate(documents):
        is_alone = rough[position] is None or counts[rough[position]] == 1
        key = "" if is_alone else text_key(document.page_content)
        if key:
            led = (text_key(text) for _, text in shown_lead_ins(document))
            best = known.setdefault((key, *led), position)
            if best != position:
                found[position] = best
    return found


def with_places(best: Document, others: Iterable[Document]) -> Document:
    """Return a copy of a window with the places of others of equal text, best first, in ``also_in``."""
    named = _places_in(best)
    for other in others:
        named += [_place_of(other), *_places_in(other)]
    own = best.metadata
    places = _each_once(named, own[DOC_ID], own[START_INDEX], own[END_INDEX])
    added = {ALSO_IN: places} if places else {}
    return best.model_copy(update={"metadata": {**own, **added}})


def rough_key(text: str) -> str:
    """Return the letters and digits of a text, which equal texts share, as others may; it is quickly made."""
    if text.isascii():
        return text.lower().encode().translate(None, _ASCII_BETWEEN_WORDS).decode()
    return "".join(_WORDS.findall(text.lower()))


def text_key(text: str) -> str:
    """Return what equal texts share: their words in lower case, with their symbols; empty if there are none."""
    return _BETWEEN_WORDS.sub(_symbols_of, text.lower()).strip(" =")


def joined_places(documents: Iterable[Document], doc_id: str, start: int, end: int) -> list[dict[str, Any]]:
    """Join what ``also_in`` of several windows names, each place once.

    Args:
        documents: The windows, best first.
        doc_id: The document of the window that they become. Places inside that window are left out.
        start: Its first code point.
        end: One past its last code point.
    """
    named = (place for document in documents for place in _places_in(document))
    return _each_once(named, doc_id, start, end)


def _symbols_of(between: re.Match[str]) -> str:
    """Return what stands between words without white space and punctuation; a space if nothing is left."""
    text, (start, end) = between[0], between.span()
    is_before_digit = between.string[end : end + 1].isdigit()
    if len(text) == 1 and is_before_digit and between.string[start - 1 : start].isdigit():
        return " " if text.isspace() else text
    kept = [each for each in text if each not in _MARKUP and unicodedata.category(each)[0] in "MS"]
    is_negative = text[-1] == "-" and is_before_digit and (len(text) > 1 or start == 0)
    return ("".join(kept) or " ") + ("-" if is_negative else "")


def _is_window(document: Document) -> bool:
    """Return whether a Document is a window whose text is a slice of its source."""
    metadata = document.metadata
    start, end = as_integer(metadata.get(START_INDEX)), as_integer(metadata.get(END_INDEX))
    is_slice = start is not None and end == start + len(document.page_content)
    return is_slice and SENTENCES in metadata and isinstance(metadata.get(DOC_ID), str)


def _place_of(window: Document) -> dict[str, Any]:
    metadata = window.metadata
    place = {DOC_ID: metadata[DOC_ID]} | {key: as_integer(metadata[key]) for key in (START_INDEX, END_INDEX)}
    place |= {key: metadata[key] for key in (HEADING, SOURCE) if is_scalar(metadata.get(key))}
    pages = metadata.get(PAGES)
    return place | ({PAGES: list(pages)} if isinstance(pages, list) else {})


def _places_in(document: Document) -> list[dict[str, Any]]:
    """Return copies of the places that ``also_in`` of a window names; none for what can't be places."""
    given = document.metadata.get(ALSO_IN)
    places = [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    return [
        {key: list(value) if isinstance(value, list) else value for key, value in each.items()}
        for each in places
        if isinstance(each.get(DOC_ID), str)
        and as_integer(each.get(START_INDEX)) is not None
        and as_integer(each.get(END_INDEX)) is not None
    ]


def _each_once(places: Iterable[dict[str, Any]], doc_id: str, start: int, end: int) -> list[dict[str, Any]]:
    """Return places that aren't inside a window, each once."""
    found: dict[tuple[str, int, int], dict[str, Any]] = {}
    for place in places:
        span = place[DOC_ID], place[START_INDEX], place[END_INDEX]
        if span[0] != doc_id or not start <= span[1] <= span[2] <= end:
            found.setdefault(span, place)
    return list(found.values())
