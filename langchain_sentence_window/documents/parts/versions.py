"""New parts of a document that is known: which of its old parts stay.

A source has one version. All of its parts given in one call replace it; a part given alone, such as a page within a
loop over pages, is added to it, in place of the same part.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window.documents.parts.numbering import Part, total_pages

_Name: TypeAlias = tuple[tuple[str, Any], ...]


def is_whole(parts: Sequence[Part]) -> bool:
    """Return whether parts are surely all that their source has, or aren't known to be parts.

    A Document with an id of its own is a whole document.
    """
    if parts[0].document.id is not None or not all(part.is_numbered for part in parts):
        return True
    total = total_pages(parts[0].document.metadata)
    return total is not None and {part.page for part in parts} >= set(range(total))


def has_first(parts: Sequence[Part]) -> bool:
    """Return whether the first part of the source is among some numbered parts."""
    return any(not part.page and (part.row is None or part.row <= 1) and not part.start for part in parts)


def with_stored(new: Sequence[Part], stored: Sequence[Part]) -> list[Part]:
    """Return the parts of a document after new ones were given.

    Args:
        new: Parts given in one call, which aren't known to be all.
        stored: The parts that the store holds.
    """
    if _is_new_version(new, stored):
        return list(new)
    total = total_pages(new[0].document.metadata)
    by_name: dict[_Name, list[Part]] = {}
    for part in new:
        by_name.setdefault(_name(part), []).append(part)
    merged: list[Part] = []
    for old in stored:
        if total is not None and old.page is not None and old.page >= total:
            continue
        same = by_name.pop(_name(old), [])
        if same and same[0].start is None:
            merged += same
        elif all(_is_in(chunk, old) for chunk in same):
            merged.append(old)
        elif any(chunk.start == 0 for chunk in same):  # a new version of the text that chunks are cut from
            merged += same
        else:
            merged += [*_outside(old, same), *same]
    return [*merged, *(part for parts in by_name.values() for part in parts)]


def _is_new_version(new: Sequence[Part], stored: Sequence[Part]) -> bool:
    """Return whether several new parts begin where the stored ones do, and so replace all of them."""
    if len(new) == 1 or not stored:
        return not stored
    if any(part.is_element for part in new):
        names = set(map(_name, new))
        return _name(stored[0]) in names or 2 * sum(_name(part) in names for part in stored) >= len(stored)
    return has_first(new) and total_pages(new[0].document.metadata) is None


def _is_in(chunk: Part, old: Part) -> bool:
    """Return whether a stored text holds a chunk where the chunk says that it stands."""
    at = (chunk.start or 0) - old.offset
    return at >= 0 and old.text.startswith(chunk.text, at)


def _outside(old: Part, chunks: Sequence[Part]) -> list[Part]:
    """Return what is left of a stored text where new chunks of it were given."""
    left = [replace(old, start=old.offset)]
    for chunk in chunks:
        left = [piece for part in left for piece in _cut(part, chunk.start or 0, chunk.end or 0)]
    return left


def _cut(part: Part, start: int, end: int) -> list[Part]:
    at, text = part.start or 0, part.text
    before, after = text[: max(0, start - at)], text[max(0, end - at) :]
    pieces = [(at, before), (at + len(text) - len(after), after)]
    if text in (before, after):
        return [part]
    return [
        replace(
            part,
            document=Document(page_content=kept, metadata=part.document.metadata),
            start=begin,
            offset=begin,
            blocks=None,
        )
        for begin, kept in pieces
        if kept.strip()
    ]


def _name(part: Part) -> _Name:
    return tuple(part.identity.items())
