"""Find a quotation in windows and their lead-ins, whole or in pieces.

An ellipsis, or the writer's words in brackets, mark an omission. The pieces must be in one source, in order, and the
omission may not change the meaning: the quotation is stitched if a negation was omitted from a sentence that is partly
kept, or if the brackets add a negation or a number.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window.answering.locations import offsets_key
from langchain_sentence_window.documents.keys import SEPARATOR
from langchain_sentence_window.documents.window_documents import read_lead_ins
from langchain_sentence_window.documents.window_runs import source_span

from .normalized_text import (
    PlainText,
    agree_in_detail,
    broken_words,
    compounds_of,
    cuts_token,
    head_of_sentence,
    hides_negation,
    is_turned_after,
    is_unspaced,
    plain_text,
    rest_of_sentence,
    turns,
)

_FINAL = ".,;:!。，、；！"
"""Marks that a quotation may end with where the source has another one or goes on."""

_ENDS = ".!…。！"
_TRIMMED = " …"
_STOPS_AT = ".,;:!…)]}。，、；：！）」』"
_MIN_TRIES = 8
_MAX_HEAD = 16
_LINE_HEAD = re.compile(r"\n[ \t>#*+-]*(?:\d{1,3}[.)] +)?\Z")


class SourcePassage:
    """A text of a source: a window's own, a lead-in, or adjacent windows joined."""

    def __init__(
        self,
        number: int,
        document: Document,
        text: str,
        base: int | None,
        *,
        parts: Sequence["StitchedPart"] = (),
        is_scanned: bool = False,
    ) -> None:
        """Keep the text.

        Args:
            number: The number of the source, from 1.
            document: The source.
            text: The text.
            base: Where the text starts in the source document; ``None`` if it isn't known.
            parts: The passages that it is joined of; none if it is one of a source.
            is_scanned: Whether letters that OCR confuses count as equal.
        """
        self.number, self.document, self.text, self.base, self._parts = number, document, text, base, parts
        self.is_scanned = is_scanned
        self._broken: frozenset[str] | None = None
        self._plain: dict[frozenset[str], PlainText] = {}

    @cached_property
    def compounds(self) -> frozenset[str]:
        """The words of the text that have a hyphen."""
        return compounds_of(self.plain().text)

    def plain(self, compounds: Collection[str] = ()) -> PlainText:
        """Return the text as it is compared, with the hyphens at line ends that compounds have."""
        if self._broken is None:
            self._broken = broken_words(self.text)
        kept = self._broken.intersection(compounds) if self._broken else frozenset[str]()
        if kept not in self._plain:
            self._plain[kept] = plain_text(self.text, kept, is_scanned=self.is_scanned)
        return self._plain[kept]

    def pieces(self, start: int, end: int) -> list["Found"]:
        """Return a stretch as those of the passages that it is joined of."""
        if not self._parts:
            return [Found(self, start, end)]
        cut = ((each, max(start, each.start), min(end, each.end)) for each in self._parts)
        return [
            Found(each.passage, low - each.start + each.skipped, high - each.start + each.skipped)
            for each, low, high in cut
            if self.text[low:high].strip()
        ]


@dataclass(frozen=True, slots=True)
class Found:
    """A stretch of a passage."""

    passage: SourcePassage
    start: int
    end: int


class StitchedPart(NamedTuple):
    """A passage in a joined one: its span there, and how many of its characters the passage before it has too."""

    passage: SourcePassage
    start: int
    end: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Source:
    """A source as the texts that are searched.

    Attributes:
        numbers: The numbers of the sources that they are of.
        passages: The texts.
    """

    numbers: tuple[int, ...]
    passages: tuple[SourcePassage, ...]


def quote_source(number: int, document: Document, *, is_scanned: bool = False) -> Source:
    """Return a window with what leads in to it; its number counts from 1."""
    span, make = source_span(document), partial(SourcePassage, number, document, is_scanned=is_scanned)
    own = make(document.page_content, span[0] if span else None)
    led = [make(text, start) for (start, _), text in read_lead_ins(document)]
    return Source((number,), (*led, own))


_MAX_GAP = 2
"""Characters between two texts of one document that can only be white space."""


def touching(sources: Iterable[Source]) -> list[Source]:
    """Join the texts of a document that are adjacent or overlap, so that a quotation over both is found."""
    begun: dict[tuple[str, int], str] = {}
    by_text: dict[str, list[SourcePassage]] = {}
    for source in sources:
        own = source.passages[-1]
        if own.base is not None:
            by_text.setdefault(offsets_key(own.document, own.base, begun), []).extend(source.passages)
    joined = (_join_passages(chain) for passages in by_text.values() for chain in _chains(passages))
    return [Source(tuple(dict.fromkeys(each.number for each in chain)), (passage,)) for chain, passage in joined]


def _chains(passages: Iterable[SourcePassage]) -> Iterator[list[tuple[SourcePassage, str]]]:
    """Yield runs of two or more adjacent passages, each passage with the text between it and the one before."""
    chain = list[tuple[SourcePassage, str]]()
    end = 0
    for passage in sorted(passages, key=lambda each: each.base or 0):
        base, size = passage.base or 0, len(passage.text)
        if chain and base + size <= end:
            continue
        between = _text_between(chain[-1][0], passage, base - end) if chain else ""
        if between is None:
            if len(chain) > 1:
                yield chain
            chain, between = [], ""
        chain.append((passage, between))
        end = base + size
    if len(chain) > 1:
        yield chain


def _text_between(before: SourcePassage, after: SourcePassage, gap: int) -> str | None:
    """Return the text between two adjacent passages; ``None`` if they aren't adjacent."""
    if gap <= 0:
        return "" if before.text[len(before.text) + gap :] == after.text[:-gap] else None
    separator = before.document.metadata.get(SEPARATOR)
    if isinstance(separator, str) and len(separator) == gap:
        return separator
    is_spaced = not (is_unspaced(before.text[-1:]) or is_unspaced(after.text[:1]))
    return "\n" * gap if gap <= _MAX_GAP and is_spaced else None


def _join_passages(chain: Sequence[tuple[SourcePassage, str]]) -> tuple[list[SourcePassage], SourcePassage]:
    """Return passages that touch, and one passage of the text of all."""
    texts, parts, at = list[str](), list[StitchedPart](), 0
    base = chain[0][0].base or 0
    for passage, between in chain:
        skipped = max(0, base + at - (passage.base or 0))
        start = at + len(between)
        at = start + len(passage.text) - skipped
        texts += [between, passage.text[skipped:]]
        parts.append(StitchedPart(passage, start, at, skipped))
    first, text = chain[0][0], "".join(texts)
    joined = SourcePassage(first.number, first.document, text, base, parts=parts, is_scanned=first.is_scanned)
    return [each for each, _ in chain], joined


@dataclass(frozen=True)
class Wanted:
    """A text to search for.

    Attributes:
        text: The text, without white space around it.
        is_piece: Whether an ellipsis follows it, so that it doesn't end a sentence.
        is_claim: Whether it is a sentence in the answer's own words, which the source may not negate around it.
    """

    text: str
    is_piece: bool = False
    is_claim: bool = False

    @cached_property
    def plain(self) -> str:
        """The text as it is compared."""
        return plain_text(self.text).text.strip(_TRIMMED)

    @cached_property
    def _scanned(self) -> str:
        return plain_text(self.text, is_scanned=True).text.strip(_TRIMMED)

    @cached_property
    def compounds(self) -> frozenset[str]:
        """The words of the text that have a hyphen."""
        return compounds_of(self.plain) if "-" in self.plain else frozenset()

    @cached_property
    def _broken(self) -> frozenset[str]:
        return broken_words(self.text)

    def plain_in(self, passage: SourcePassage) -> str:
        """Return the text as it is compared with a passage, with the hyphens at line ends that the passage has."""
        kept = self._broken & passage.compounds if self._broken else None
        if kept:
            return plain_text(self.text, kept, is_scanned=passage.is_scanned).text.strip(_TRIMMED)
        return self._scanned if passage.is_scanned else self.plain


def find_exact(passage: SourcePassage, wanted: Wanted, start: int = 0) -> Found | None:
    """Find the characters of a text in a passage, not cut out of a word or a number."""
    size = len(wanted.text)
    for at in _find_starts(passage.text, wanted.text, start):
        if not cuts_token(passage.text, at) and not cuts_token(passage.text, at + size):
            found = Found(passage, at, at + size)
            if not wanted.is_claim or _is_unqualified(found):
                return found
    return None


def find_plain(passage: SourcePassage, wanted: Wanted, start: int = 0) -> Found | None:
    """Find a text in a passage as both are compared.

    The mark that ends it may be another one than the passage's. Where the passage goes on, or where it is in a sentence
    that the text claims to begin, the rest of that sentence has no negation.
    """
    plain = passage.plain(wanted.compounds)
    whole = wanted.plain_in(passage)
    core = whole.rstrip(_FINAL).rstrip(_TRIMMED)
    if core.endswith("-") and not core[-2:-1].isnumeric():
        core = core[:-1].rstrip(_TRIMMED)
    final = whole[len(core) :]
    for at in _find_starts(plain.text, core, 0):
        end = at + len(core)
        low, high = plain.span(at, end)
        if low < start or _is_cut(passage.text, plain, low, at) or _is_cut(passage.text, plain, high, end):
            continue
        if final and plain.text.startswith(final, end):
            high = plain.span(at, end + len(final))[1]
        elif final and not wanted.is_piece and not _may_end(passage.text, high, final):
            continue
        if _may_begin(passage.text, low, wanted.text) and agree_in_detail(wanted.text, passage.text, low, high):
            found = Found(passage, low, high)
            if not wanted.is_claim or _is_unqualified(found):
                return found
    return None


def _is_cut(text: str, plain: PlainText, at: int, plain_at: int) -> bool:
    """Return whether a place is inside a word or a number; next to markup, of the rendered text."""
    if (
        0 < plain_at < len(plain.text)
        and plain.span(plain_at - 1, plain_at)[1] != plain.span(plain_at, plain_at + 1)[0]
    ):
        return cuts_token(plain.text, plain_at)
    return cuts_token(text, at)


def _is_unqualified(found: Found) -> bool:
    """Return whether nothing else in its sentence negates or limits a stretch."""
    text = found.passage.text
    begins_line = _LINE_HEAD.search(text[max(0, found.start - _MAX_HEAD) : found.start]) is not None
    if not (begins_line and text[found.start].isupper()) and turns(head_of_sentence(text, found.start)):
        return False
    is_ended = text[found.end - 1] in ".!?。！？"
    return is_ended or not is_turned_after(text, found.end)


def _may_end(text: str, at: int, marks: str) -> bool:
    """Return whether a quotation may end with its own punctuation where the text has other punctuation or continues.

    It may not if the rest of the sentence reverses its meaning.
    """
    rest = text[at : at + 2].lstrip()
    if not rest or rest[0] in _ENDS or (rest[0] in _STOPS_AT and marks[0] not in _ENDS):
        return True
    if rest[0] in "?？":
        return False
    # A number that marks an item of a list goes on with nothing.
    is_over = rest[0] not in ";；" and not rest_of_sentence(text, at).strip()
    return is_over or not (rest[0].isnumeric() or is_turned_after(text, at))


def _may_begin(text: str, at: int, quote: str) -> bool:
    """Return whether a quotation may begin with a capital where a text has none."""
    first = next((each for each in quote if each.isalnum()), "")
    there = next((each for each in text[at : at + 8] if each.isalnum()), "")
    return first == there or not first.isupper() or not there.islower() or not turns(head_of_sentence(text, at))


def _find_starts(text: str, part: str, start: int) -> Iterator[int]:
    """Yield the offsets of a part in a text, at most as many as keep the work linear in the text."""
    if not part:
        return
    for _ in range(max(_MIN_TRIES, 4 * len(text) // len(part))):
        start = text.find(part, start)
        if start < 0:
            return
        yield start
        start += 1


def find_in(sources: Sequence[Source], wanted: Wanted, *, exact: bool) -> Found | None:
    """Find a text in the first of several sources that has it, exactly or as texts are compared."""
    find = find_exact if exact else find_plain
    for source in sources:
        for passage in source.passages:
            if found := find(passage, wanted):
                return found
    return None


_LETTER = re.compile(r"\[([^\W\d_])\](?=\w)")
_OWN = r"[^\W\d_][^\[\]\n]{0,80}|[^\[\]\n]{1,80}[^\W\d_]"
_GAP = re.compile(rf"[\[(]\s*(?:…|\.\s?\.\s?\.)\s*[\])]|…|\.(?:\.{{2,}}|(?: \.){{2,}})|\[(?P<own>{_OWN})\]")
_NEAR = 8
MIN_WORDS = 3
"""The least words of the longest piece; of each piece if they aren't in order."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a quotation that leaves something out.

    Attributes:
        pieces: At least one.
        is_sound: Whether nothing in brackets has a number or a negation, and the pieces aren't mere words.
        begins_own: Whether words in brackets precede the first piece.
        ends_own: Whether words in brackets follow the last one.
        are_stretches: Whether each piece is of three words or more.
    """

    pieces: tuple[Wanted, ...]
    is_sound: bool
    begins_own: bool = False
    ends_own: bool = False
    are_stretches: bool = False


@dataclass(frozen=True, slots=True)
class InOrder:
    """The places of a quotation's pieces, in order.

    Attributes:
        places: A place for each.
        is_exact: Whether each is there character for character.
        is_sound: Whether the omissions keep the meaning.
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
        is_sound = is_sound and not (turns(own) or any(each.isnumeric() for each in own))
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
            found = _find_pieces_in_order(passage, pieces)
            if found and (best is None or (found.is_sound, found.is_exact) > (best.is_sound, best.is_exact)):
                best = found
    return best


def _find_pieces_in_order(passage: SourcePassage, pieces: Pieces) -> InOrder | None:
    """Find the pieces of a quotation in a passage, each after the one before; ``None`` if one is missing."""
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
