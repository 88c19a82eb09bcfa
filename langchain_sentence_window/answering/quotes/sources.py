"""The windows that quotations are looked for in: their texts, and the texts that lead in to them."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from langchain_core.documents import Document

from langchain_sentence_window.answering.quotes.boundaries import (
    cuts_token,
    head_of_sentence,
    negates,
    rest_of_sentence,
    units,
)
from langchain_sentence_window.answering.quotes.plain_text import PlainText, broken_words, compounds_of, plain_text
from langchain_sentence_window.documents.lead_ins import read_lead_ins
from langchain_sentence_window.documents.window_slices import source_span

_FINAL = ".,;:!。，、；！"
"""Marks that a quotation may end with where the source has another one or goes on."""

_TRIMMED = " …"
_STOPS_AT = ".,;:!…)]}。，、；：！）」』"
_MIN_TRIES = 8
_MAX_HEAD = 16
_LINE_HEAD = re.compile(r"\n[ \t>#*+-]*(?:\d{1,3}[.)] +)?\Z")


class Passage:
    """A text of a source: a window's own, or one that leads in to it."""

    def __init__(self, number: int, document: Document, text: str, base: int) -> None:
        """Keep the text.

        Args:
            number: The number of the source, from 1.
            document: The source.
            text: The text.
            base: Where the text starts in the source document.
        """
        self.number, self.document, self.text, self.base = number, document, text, base
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
            self._plain[kept] = plain_text(self.text, kept)
        return self._plain[kept]


class Source:
    """A window with what leads in to it."""

    def __init__(self, number: int, document: Document) -> None:
        """Read the window; its number counts from 1."""
        self.number = number
        span = source_span(document)
        own = Passage(number, document, document.page_content, span[0] if span else 0)
        led = [Passage(number, document, text, start) for (start, _), text in read_lead_ins(document)]
        self.passages = (*led, own)


@dataclass(frozen=True, slots=True)
class Found:
    """A stretch of a passage."""

    passage: Passage
    start: int
    end: int


@dataclass(frozen=True)
class Wanted:
    """A text that is looked for.

    Attributes:
        text: The text, without white space around it.
        is_piece: Whether an ellipsis follows it, so that it doesn't end a sentence.
        is_claim: Whether it is a sentence of the answer's own, which no negation around it in the source may turn.
    """

    text: str
    is_piece: bool = False
    is_claim: bool = False

    @cached_property
    def plain(self) -> str:
        """The text as it is compared."""
        return plain_text(self.text).text.strip(_TRIMMED)

    @cached_property
    def compounds(self) -> frozenset[str]:
        """The words of the text that have a hyphen."""
        return compounds_of(self.plain) if "-" in self.plain else frozenset()

    @cached_property
    def _broken(self) -> frozenset[str]:
        return broken_words(self.text)

    def plain_in(self, passage: Passage) -> str:
        """Return the text as it is compared with a passage, with the hyphens at line ends that the passage has."""
        kept = self._broken & passage.compounds if self._broken else None
        return plain_text(self.text, kept).text.strip(_TRIMMED) if kept else self.plain


def find_exact(passage: Passage, wanted: Wanted, start: int = 0) -> Found | None:
    """Find the characters of a text in a passage, not cut out of a word or a number."""
    size = len(wanted.text)
    for at in _places(passage.text, wanted.text, start):
        if not cuts_token(passage.text, at) and not cuts_token(passage.text, at + size):
            found = Found(passage, at, at + size)
            if not wanted.is_claim or _stands_alone(found):
                return found
    return None


def find_plain(passage: Passage, wanted: Wanted, start: int = 0) -> Found | None:
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
    for at in _places(plain.text, core, 0):
        end = at + len(core)
        low, high = plain.span(at, end)
        if low < start or cuts_token(passage.text, low) or cuts_token(passage.text, high):
            continue
        if final and plain.text.startswith(final, end):
            high = plain.span(at, end + len(final))[1]
        elif final and not wanted.is_piece and not _may_end(passage.text, high):
            continue
        if _may_begin(passage.text, low, wanted.text) and units(passage.text[low:high]) == units(wanted.text):
            found = Found(passage, low, high)
            if not wanted.is_claim or _stands_alone(found):
                return found
    return None


def _stands_alone(found: Found) -> bool:
    """Return whether nothing else in its sentence negates a stretch."""
    text = found.passage.text
    begins_line = _LINE_HEAD.search(text[max(0, found.start - _MAX_HEAD) : found.start]) is not None
    if not (begins_line and text[found.start].isupper()) and negates(head_of_sentence(text, found.start)):
        return False
    is_ended = text[found.end - 1] in ".!?。！？"
    return is_ended or not negates(rest_of_sentence(text, found.end))


def _may_end(text: str, at: int) -> bool:
    """Return whether a quotation may end with a full stop where a text goes on."""
    rest = text[at : at + 2].lstrip()
    if not rest or rest[0] in _STOPS_AT:
        return True
    if rest[0] in "?？" or rest[0].isnumeric():
        return False
    return not negates(rest_of_sentence(text, at))


def _may_begin(text: str, at: int, quote: str) -> bool:
    """Return whether a quotation may begin with a capital where a text has none."""
    first = next((each for each in quote if each.isalnum()), "")
    there = next((each for each in text[at : at + 8] if each.isalnum()), "")
    return first == there or not first.isupper() or not there.islower() or not negates(head_of_sentence(text, at))


def _places(text: str, part: str, start: int) -> Iterator[int]:
    """Yield where a part stands in a text, as many as can be looked at in time linear in the text."""
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
