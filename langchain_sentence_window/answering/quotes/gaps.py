"""Quotations that say that they leave something out: by an ellipsis, or by words of the writer's in brackets.

The pieces must stand in one source, in order. What is left out may not turn the meaning: a negation in a sentence of
which something is kept, or one or a number that brackets put in, makes the quotation one that is put together.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_sentence_window.answering.quotes.boundaries import hides_negation, negates
from langchain_sentence_window.answering.quotes.sources import Found, Passage, Source, Wanted, find_exact, find_plain

_LETTER = re.compile(r"\[([^\W\d_])\](?=\w)")
_OWN = r"[^\W\d_][^\[\]\n]{0,80}|[^\[\]\n]{1,80}[^\W\d_]"
_GAP = re.compile(rf"[\[(]\s*(?:…|\.\s?\.\s?\.)\s*[\])]|…|\.(?:\.{{2,}}|(?: \.){{2,}})|\[(?P<own>{_OWN})\]")
_NEAR = 8
MIN_WORDS = 3
"""Words of the longest piece, and of each one if they don't stand in order."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a quotation that leaves something out.

    Attributes:
        pieces: At least one.
        is_sound: Whether nothing in brackets has a number or a negation, and the pieces aren't mere words.
        begins_own: Whether words in brackets stand before the first piece.
        ends_own: Whether words in brackets stand after the last one.
        are_stretches: Whether each piece is of three words or more.
    """

    pieces: tuple[Wanted, ...]
    is_sound: bool
    begins_own: bool = False
    ends_own: bool = False
    are_stretches: bool = False


@dataclass(frozen=True, slots=True)
class InOrder:
    """Where the pieces of a quotation stand, in order.

    Attributes:
        places: A place for each.
        is_exact: Whether each stands there character for character.
        is_sound: Whether what is left out doesn't turn the meaning.
    """

    places: tuple[Found, ...]
    is_exact: bool
    is_sound: bool


def pieces_of(text: str) -> Pieces | None:
    """Return the pieces of a quotation; ``None`` if it doesn't say that anything is left out."""
    whole = _LETTER.sub(r"\1", text)
    pieces = list[Wanted]()
    at = 0
    is_sound = True
    found = list(_GAP.finditer(whole))
    if not found and whole == text:
        return None
    for gap in found:
        own = gap["own"] or ""
        is_sound = is_sound and not (negates(own) or any(each.isnumeric() for each in own))
        _add(pieces, whole[at : gap.start()], is_piece=not own)
        at = gap.end()
    _add(pieces, whole[at:], is_piece=False)
    if not pieces:
        return None
    words = [len(each.text.split()) if " " in each.text else len(each.text) // 2 for each in pieces]
    is_long = len(pieces) == 1 or (max(words) >= MIN_WORDS and sum(words) >= 2 * len(words))
    begins_own = bool(found and found[0]["own"]) and not whole[: found[0].start()].strip()
    ends_own = bool(found and found[-1]["own"]) and not any(each.isalnum() for each in whole[found[-1].end() :])
    return Pieces(tuple(pieces), is_sound and is_long, begins_own, ends_own, min(words) >= MIN_WORDS)


def _add(pieces: list[Wanted], text: str, *, is_piece: bool) -> None:
    if any(each.isalnum() for each in text):
        pieces.append(Wanted(text.strip(), is_piece=is_piece))


def find_in_order(sources: Sequence[Source], pieces: Pieces) -> InOrder | None:
    """Find pieces in order in one text of a source; a sound finding first, then an exact one."""
    best: InOrder | None = None
    for source in sources:
        for passage in source.passages:
            found = _in_order(passage, pieces)
            if found and (best is None or (found.is_sound, found.is_exact) > (best.is_sound, best.is_exact)):
                best = found
    return best


def _in_order(passage: Passage, pieces: Pieces) -> InOrder | None:
    places = list[Found]()
    at = 0
    is_exact, is_own = True, False
    is_sound = pieces.is_sound
    for piece in pieces.pieces:
        found = find_exact(passage, piece, at)
        if found is None:
            is_exact = False
            found = find_plain(passage, piece, at)
        if found is None:
            return None
        if places:
            dropped = passage.text[at : found.start]
            # Where the source has brackets itself, those of the quotation aren't the writer's.
            if is_own and "[" in dropped:
                return None
            is_sound = is_sound and not hides_negation(dropped)
        is_own = not piece.is_piece
        places.append(found)
        at = found.end
    before, after = (
        passage.text[max(0, places[0].start - _NEAR) : places[0].start],
        passage.text[at : at + _NEAR].lstrip(),
    )
    if (pieces.begins_own and before.rstrip().endswith("]")) or (pieces.ends_own and after.startswith("[")):
        return None
    return InOrder(tuple(places), is_exact, is_sound)
