"""Expand hits to windows: decide how far, read ahead what that depends on, and read the sentences.

A hit is expanded by a fixed number of sentences, by as many as it needs, or as its kind of document asks for. What
windows will probably need is read in one call; another sentence stands for each that isn't read yet.
"""

import math
from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.documents.window_documents import window_document
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM, TABLE_ROW
from langchain_sentence_window.windows.assembly import NEAR
from langchain_sentence_window.windows.completion import (
    MIN_CHARS,
    Line,
    clear_best,
    complete,
    expand_forward,
    needs_nothing,
    strong_score,
)
from langchain_sentence_window.windows.geometry import Hit, Window, WindowSize, best_windows, expand, window_size

from .stored_sentences import fetch_available, fetch_lead_ins, fetch_sentences, wanted_lead_ins

MIN_HITS_TO_COMPARE = 10
"""The fewest hits that a search divides into strong and weak ones. With a smaller ``fetch_k``, all are strong."""

_FAR = 1_000_000_000

Sentences: TypeAlias = dict[SentenceKey, StoredSentence]
"""Sentences by document and index."""

Size: TypeAlias = tuple[int, int] | None
"""The number of sentences before and after a hit; ``None`` for as many after it as it needs, see `expand_forward`."""

WindowSetting: TypeAlias = WindowSize | Literal["auto"] | Mapping[Any, WindowSize | Literal["auto"]]
"""The number of sentences on each side of a hit, a pair ``(before, after)``, or ``auto`` for as many after it as it
needs; or a mapping to these by a value of the document's metadata, such as ``{"legal": (3, 5), "faq": 1}``."""


@dataclass(frozen=True, slots=True)
class ExpansionPolicy:
    """How far hits are expanded.

    Attributes:
        default: The size for all other documents.
        by_value: The sizes for documents whose metadata holds one of these values.
        key: The metadata key of the value; ``None`` for any key.
    """

    default: Size
    by_value: Mapping[Any, Size] = field(default_factory=dict)
    key: str | None = None

    def size_of(self, sentence: StoredSentence) -> Size:
        """Return how far a hit is expanded, by its sentence."""
        if not self.by_value:  # first, as the sentence's metadata may not be read yet
            return self.default
        metadata = sentence.source
        values = metadata.values() if self.key is None else [metadata.get(self.key)]
        scalars = (value for value in values if not isinstance(value, list | dict))
        return next((self.by_value[value] for value in scalars if value in self.by_value), self.default)

    def describe(self) -> WindowSetting:
        """Return the setting that this policy was read from."""
        if self.by_value:
            return {value: _setting(size) for value, size in self.by_value.items()}
        return _setting(self.default)


def read_expansion(window: WindowSetting, key: str | None = None) -> ExpansionPolicy:
    """Read the setting ``window``.

    Args:
        window: The setting. With a mapping, other documents get ``auto``.
        key: The metadata key that a mapping looks at; ``None`` for any key.

    Raises:
        InvalidInputError: The setting is of a wrong type, or a number is negative.
    """
    by_value = window if isinstance(window, Mapping) else {None: window}
    if not by_value:
        raise InvalidInputError("window is {}; a mapping must hold a window for at least one value, or be a number")
    sizes = {
        value: None if isinstance(size, str) and size == "auto" else window_size(size)
        for value, size in by_value.items()
    }
    return ExpansionPolicy(None, sizes, key) if isinstance(window, Mapping) else ExpansionPolicy(sizes[None], key=key)


@dataclass(frozen=True, slots=True)
class Expansion:
    """Hits, and how far each is expanded.

    Attributes:
        hits: The hits, best first.
        sizes: How far each is expanded, by its sentence.
        answer: The sentence of the hit that is clearly the best; ``None`` if there is none.
        strong: The lowest score of a hit that may widen a window.
        sentences: The sentences that were hit or read.
        read: The sentences that were read.
        asked: All that were asked for. Those that weren't read can't be.
        forbidden: The sentences that the filter may forbid. They end windows as sections do.
    """

    hits: Sequence[Hit]
    sizes: Mapping[SentenceKey, Size]
    answer: SentenceKey | None
    strong: float
    sentences: Sentences
    read: Sentences
    asked: Collection[SentenceKey] = ()
    forbidden: Collection[SentenceKey] = ()

    def window(self, hit: Hit) -> Window:
        """Return the window of a single hit."""
        return expand_hit(hit, self.sizes[hit.key], self.sentences, is_answer=hit.key == self.answer)

    def unbounded(self, hit: Hit) -> Window:
        """Return the window of a hit as if its section had no ends; its indexes may lie outside the document."""
        endless = replace(hit, section_start=hit.index - _FAR, section_end=hit.index + _FAR)
        return expand_hit(endless, self.sizes[hit.key], self.sentences, is_answer=hit.key == self.answer)

    def without(self, forbidden: Collection[SentenceKey]) -> "Expansion":
        """Return an expansion whose windows end before some sentences.

        Raises:
            IncompleteWindowError: One of the sentences is a hit.
        """
        if not forbidden:
            return self
        hits = _with_narrower_sections(self.hits, forbidden)
        return replace(self, hits=hits, forbidden={*self.forbidden, *forbidden})

    def widens(self, hit: Hit) -> bool:
        """Return whether a hit widens a window that it touches."""
        # A hit with size `None` has all the sentences that it needs.
        return hit.score >= self.strong and self.sizes[hit.key] is not None


@dataclass(frozen=True, slots=True)
class Wanted:
    """Sentences to read before hits are expanded.

    Attributes:
        answer: The sentence of the hit that is clearly the best; ``None`` if there is none.
        needed: The sentences that decide how far hits are expanded.
        asked: Those, and others that windows will probably need.
    """

    answer: SentenceKey | None
    needed: Sequence[SentenceKey]
    asked: Sequence[SentenceKey]


async def plan_expansion(
    io: IO,
    scope: Scope,
    policy: ExpansionPolicy,
    hits: Sequence[Hit],
    known: Sentences,
    *,
    wanted: Wanted,
    ahead: SentencesByKey | None,
    all_hits: bool,
) -> Expansion:
    """Decide how far each hit is expanded, and read the sentences that this depends on.

    Args:
        io: Makes the calls.
        scope: The store. Under a filter the windows are read here, as forbidden sentences end them.
        policy: How far hits are expanded.
        hits: The hits, best first.
        known: The sentences that were hit.
        wanted: What to read first.
        ahead: What the search has read of that already; ``None`` if it has read nothing.
        all_hits: Whether the store has no more hits.

    Raises:
        IncompleteWindowError: A hit may not be read any more.
    """
    read, is_complete = dict(ahead or {}), True
    if ahead is None:
        read, is_complete = await fetch_available(io, scope, wanted.asked, known)
    missing = [key for key in wanted.needed if key not in read]
    ends_at_inline = not is_complete and scope.filter is None and any(hit.window for hit in known.values())
    if missing and not ends_at_inline and (not read or not is_complete):
        read |= await fetch_sentences(io, scope, missing, known)
    # If only a few hits were asked for, all of them are wanted.
    strong = strong_score(hits) if all_hits or len(hits) >= MIN_HITS_TO_COMPARE else -math.inf
    sentences = known | read
    sizes = {hit.key: policy.size_of(sentences[hit.key]) for hit in hits}
    expansion = Expansion(hits, sizes, wanted.answer, strong, sentences, read, wanted.asked)
    if ends_at_inline:  # what a hit needs is taken as far as it can be read
        return expansion.without(missing)
    return (await _end_at_forbidden(io, scope, expansion, wanted.needed)) if scope.filter is not None else expansion


async def _end_at_forbidden(io: IO, scope: Scope, expansion: Expansion, asked: Sequence[SentenceKey]) -> Expansion:
    """End windows before sentences that the filter forbids: those that are asked for and don't come back.

    If a window ends early, it may be read otherwise, so the windows of all hits are read then.
    """
    expansion = expansion.without(set(asked) - expansion.read.keys())
    for windows in (
        best_windows(expansion.hits, None, expansion.window, expansion.widens),
        map(expansion.window, expansion.hits),
    ):
        keys = [key for window in windows if window.first < window.last for key in window.keys]
        wanted = [key for key in dict.fromkeys(keys) if key not in expansion.read]
        read = await fetch_sentences(io, scope, wanted, expansion.sentences)
        expansion = replace(expansion, read=expansion.read | read, sentences=expansion.sentences | read)
        if read.keys() >= set(wanted):
            break
        expansion = expansion.without(set(wanted) - read.keys())
    return expansion


def _with_narrower_sections(hits: Sequence[Hit], forbidden: Collection[SentenceKey]) -> list[Hit]:
    """Return the hits with sections that end before forbidden sentences."""
    indexes: dict[str, list[int]] = {}
    for doc_id, index in sorted(forbidden):
        indexes.setdefault(doc_id, []).append(index)
    narrowed = list[Hit]()
    for hit in hits:
        if (hit.doc_id, hit.index) in forbidden:
            raise _changed(hit)
        ends = indexes.get(hit.doc_id, [])
        after = bisect(ends, hit.index)
        first = max([hit.section_start, *(end + 1 for end in ends[:after][-1:])])
        last = min([hit.section_end, *ends[after:][:1]])
        narrowed.append(replace(hit, section_start=first, section_end=last))
    return narrowed


def expand_hit(hit: Hit, size: Size, sentences: SentencesByKey, *, is_answer: bool) -> Window:
    """Return the window of a hit by its size; a sentence that isn't known counts as empty."""
    if size is not None:
        return expand(hit, *size)

    def text(index: int) -> str:
        sentence = sentences.get((hit.doc_id, index))
        return sentence.text if sentence else ""

    return expand_forward(hit, text, is_answer=is_answer)


async def read_windows(
    io: IO, scope: Scope, windows: Sequence[Window], known: Sentences, read: Sentences
) -> tuple[list[Document], Sentences]:
    """Read windows and return a Document for each, and all sentences that were read.

    The sentences are read in one call, as documents may change in between. Lead-ins that aren't known until then take
    another.

    Args:
        io: Makes the calls.
        scope: The store, and what may be read of it.
        windows: The windows to read.
        known: The sentences that were found. A window all of whose sentences were hit needs no reading.
        read: The sentences that were read before.

    Raises:
        IncompleteWindowError: The store lacks a sentence, or a document changed since the search.
    """
    found_whole: set[SentenceKey] = set()
    for window in windows:
        keys, hits = window.keys, {hit.key for hit in window.hits}
        if len(keys) == 1 or (hits >= set(keys) and not read.keys() & keys):
            found_whole.update(keys)  # all that it needs came from the search, so it is of one state of the store
    missing = [key for window in windows for key in window.keys if key not in read and key not in found_whole]
    fetched: Sentences = {}
    if missing:
        also = wanted_lead_ins(windows, known | read)
        fetched = await fetch_sentences(io, scope, missing, known, also=also)
    read = read | fetched | {key: known[key] for key in found_whole}
    read |= await fetch_lead_ins(io, scope, windows, known | read)
    while led := [key for key in wanted_lead_ins(windows, read) if key in known and known[key].kind]:
        read |= {key: known[key] for key in led}
    documents = [window_document(window, read) for window in windows]
    for window in windows:
        for hit in window.hits:
            if known[hit.doc_id, hit.index].text != read[hit.doc_id, hit.index].text:
                raise _changed(hit)
    return documents, read


def _changed(hit: Hit) -> IncompleteWindowError:
    return IncompleteWindowError(
        f"sentence {hit.index} of document {hit.doc_id!r} changed between search and reading; ask again"
    )


def _setting(size: Size) -> tuple[int, int] | Literal["auto"]:
    return "auto" if size is None else size


UNREAD = Line("A sentence of the usual length stands for one that isn't read yet, as its text decides about little.")


_REACH = NEAR + 1
"""Sentences on each side of a hit within which other hits are in the same window, as a rule."""


def line_of(sentence: StoredSentence) -> Line:
    """Return what matters of a sentence for the windows around it."""
    return Line(
        sentence.text,
        sentence.kind == HEADING,
        sentence.kind == LIST_ITEM,
        sentence.kind == TABLE_ROW,
        sentence.lead_in is not None,
        sentence.pieces,
    )


@dataclass(frozen=True, slots=True)
class ReadAhead:
    """Say what to read around hits in advance, by the hits alone: what the windows around them will probably need.

    Attributes:
        policy: How far hits are expanded.
        windows: The number of windows, best first. Hits near a better one are read around as well, but don't count.
        before: Sentences before each hit, beside those that complete it or join it with others.
        after: Sentences after each hit, likewise.
    """

    policy: ExpansionPolicy
    windows: int
    before: int = 0
    after: int = 0

    def wanted(self, hits: Sequence[Hit], known: SentencesByKey) -> Wanted:
        """Return what to read around hits, best first, whose sentences are known."""
        best = clear_best(hits)
        answer = None if best is None else best.key
        needed: dict[SentenceKey, None] = {}
        open_hits: list[Hit] = []
        for hit in hits:
            found = known[hit.key]
            if self.policy.size_of(found) is not None:
                continue
            open_hits.append(hit)
            if hit.key == answer or len(found.text) < MIN_CHARS:
                # Unknown sentences count as empty, so this is the farthest possible expansion.
                farthest = expand_hit(hit, None, known, is_answer=hit.key == answer)
                needed |= dict.fromkeys(farthest.keys if farthest.first < farthest.last else [])
        return Wanted(answer, list(needed), list(needed | self._around(open_hits, known)))

    def _around(self, hits: Sequence[Hit], known: SentencesByKey) -> dict[SentenceKey, None]:
        """Return the sentences that the windows of hits will probably need: of some that are known as well."""
        if not self.windows:
            return {}
        keys: dict[SentenceKey, None] = {}
        near: dict[SentenceKey, None] = {}
        windows, others = 0, hits[:0]
        for rank, hit in enumerate(hits):
            windows += hit.key not in near
            if windows > self.windows:
                hits, others = hits[:rank], hits[rank:]
                break
            needs_more = bool(_completing([hit], known))
            least = _REACH if needs_more else 0
            for found, before, after in (
                (near, _REACH, _REACH),
                (keys, max(self.before, least), max(self.after, least)),
            ):
                first, end = max(hit.index - before, hit.section_start), min(hit.index + after + 1, hit.section_end)
                found |= dict.fromkeys((hit.doc_id, index) for index in range(first, end))
            lead_in = known[hit.key].lead_in
            keys |= {} if lead_in is None else {(hit.doc_id, lead_in): None}
        for hit, following in pairwise(sorted(hits, key=lambda hit: hit.key)):
            is_one_section = (hit.doc_id, hit.section_start) == (following.doc_id, following.section_start)
            if is_one_section and following.index - hit.index <= 2 * _REACH:  # they may come into one window
                keys |= dict.fromkeys((hit.doc_id, index) for index in range(hit.index + 1, following.index))
        return keys | _completing(others, known)


def _completing(hits: Sequence[Hit], known: SentencesByKey) -> dict[SentenceKey, None]:
    """Return the unknown sentences that may complete hits."""
    wanted: dict[SentenceKey, None] = {}

    def line(key: SentenceKey) -> Line:
        if key in known:
            return line_of(known[key])
        wanted[key] = None
        return UNREAD

    for hit in hits:
        own = line_of(known[hit.doc_id, hit.index])
        if not needs_nothing(own, own):
            first, end = hit.pieces or (hit.index, hit.index + 1)
            first, last = max(first, hit.section_start), min(end, hit.section_end) - 1
            complete(Window(hit.doc_id, first, last, (hit,)), line)
    return wanted
