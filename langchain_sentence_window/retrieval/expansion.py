"""How far each hit is opened, and reading what is needed for it.

A hit is opened by so many sentences, by as many as it needs, or as its kind of document wants.
"""

import math
from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.documents.window_documents import window_document
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.retrieval.neighbors import fetch_sentences
from langchain_sentence_window.windows.auto import MIN_CHARS, clear_best, expand_forward, strong_score
from langchain_sentence_window.windows.geometry import (
    Hit,
    Window,
    WindowSize,
    best_windows,
    expand,
    window_size,
)

MIN_HITS_TO_COMPARE = 10
"""Hits from which on a search tells strong from weak ones; with a ``fetch_k`` below it, all are strong."""

_FAR = 1_000_000_000


Sentences: TypeAlias = dict[SentenceKey, StoredSentence]
"""Sentences by document and index."""

Size: TypeAlias = tuple[int, int] | None
"""Sentences before and after a hit; ``None`` for as many after it as it needs, see `expand_forward`."""

WindowSetting: TypeAlias = WindowSize | Literal["auto"] | Mapping[Any, WindowSize | Literal["auto"]]
"""Sentences on each side of a hit, or ``(before, after)``, or ``auto`` for as many after it as it needs; or
these by a value of the source document's metadata, such as ``{"legal": (3, 5), "faq": 1}``."""


@dataclass(frozen=True, slots=True)
class ExpansionPolicy:
    """How far hits are opened.

    Attributes:
        usual: Where nothing else is said.
        by_value: For documents whose metadata holds one of these values.
        key: Where in the metadata the value stands; ``None`` for anywhere.
    """

    usual: Size
    by_value: Mapping[Any, Size] = field(default_factory=dict)
    key: str | None = None

    def size(self, metadata: Mapping[str, Any]) -> Size:
        """How far a hit of a document of this metadata is opened."""
        if not self.by_value:
            return self.usual
        values = metadata.values() if self.key is None else [metadata.get(self.key)]
        return next((self.by_value[value] for value in values if value in self.by_value), self.usual)

    def describe(self) -> WindowSetting:
        """The setting that it was read from."""
        if self.by_value:
            return {value: _setting(size) for value, size in self.by_value.items()}
        return _setting(self.usual)


def read_expansion(window: WindowSetting, key: str | None = None) -> ExpansionPolicy:
    """Read the setting ``window``.

    Args:
        window: See `WindowSetting`. Documents whose value a mapping doesn't hold are opened by ``auto``.
        key: The metadata's key for a mapping; ``None`` for any.

    Raises:
        InvalidInputError: It is nothing of the kind, or a number is negative.
    """
    if isinstance(window, Mapping):
        if not window:
            raise InvalidInputError("window is {}; a mapping must hold a window for at least one value, or be a number")
        return ExpansionPolicy(None, {value: _size(size) for value, size in window.items()}, key)
    return ExpansionPolicy(_size(window))


@dataclass(frozen=True, slots=True)
class Expansion:
    """Hits, and how far each is opened.

    Attributes:
        hits: Best first.
        policy: How far they are opened.
        answer: The hit that is taken for the answer, if one is.
        strong: The lowest score of a hit that may widen a window.
        sentences: The hits, and what was read for those that are opened as far as they need.
        read: What was read.
        barred: Where sentences stand that the filter may forbid; they end windows as sections do.
    """

    hits: Sequence[Hit]
    policy: ExpansionPolicy
    answer: Hit | None
    strong: float
    sentences: Sentences
    read: Sentences
    barred: Collection[SentenceKey] = ()

    def window(self, hit: Hit) -> Window:
        """The window of a hit alone."""
        return _open(hit, self._size(hit), self.sentences, is_answer=hit is self.answer)

    def unbounded(self, hit: Hit) -> Window:
        """The window that it would have if its section had no ends; its indexes may lie outside the document."""
        endless = replace(hit, section_start=hit.index - _FAR, section_end=hit.index + _FAR)
        return _open(endless, self._size(hit), self.sentences, is_answer=hit is self.answer)

    def best(self, k: int | None) -> list[Window]:
        """The ``k`` best windows, disjoint."""
        return best_windows(self.hits, k, self.window, self._widens)

    def without(self, barred: Collection[SentenceKey]) -> "Expansion":
        """The same, with windows that end before some sentences.

        Raises:
            IncompleteWindowError: A hit is among them.
        """
        if not barred:
            return self
        hits = _parted(self.hits, barred)
        answer = next((new for old, new in zip(self.hits, hits, strict=True) if old is self.answer), None)
        return replace(self, hits=hits, answer=answer, barred={*self.barred, *barred})

    def _widens(self, hit: Hit) -> bool:
        # One that was opened as far as it needs is not in want of more.
        return hit.score >= self.strong and self._size(hit) is not None

    def _size(self, hit: Hit) -> Size:
        return self.policy.size(self.sentences[hit.doc_id, hit.index].source)


async def plan_expansion(
    io: IO,
    scope: Scope,
    policy: ExpansionPolicy,
    hits: Sequence[Hit],
    known: Sentences,
    *,
    k: int | None,
    all_hits: bool,
) -> Expansion:
    """See how far each hit is opened, and read what must be known for it.

    Args:
        io: Makes the calls.
        scope: Where the sentences are. Under a filter windows are read here, as what it forbids ends them.
        policy: How far.
        hits: Best first.
        known: The sentences that were hit.
        k: How many windows are wanted; ``None`` for all.
        all_hits: Whether the store has no more of them.

    Raises:
        IncompleteWindowError: A hit may not be read any more.
    """
    answer = clear_best(hits)
    ahead = list[SentenceKey]()
    for hit in hits:
        found = known[hit.doc_id, hit.index]
        needs_more = hit is answer or len(found.text) < MIN_CHARS
        if needs_more and policy.size(found.source) is None:
            # What isn't known yet counts as nothing, so this is as far as it may go.
            farthest = _open(hit, None, known, is_answer=hit is answer)
            ahead += _places(farthest) if farthest.first < farthest.last else []
    ahead = list(dict.fromkeys(ahead))
    read = await fetch_sentences(io, scope, ahead, known)
    # A few hits that were asked for as such are all meant.
    strong = strong_score(hits) if all_hits or len(hits) >= MIN_HITS_TO_COMPARE else -math.inf
    expansion = Expansion(hits, policy, answer, strong, known | read, read)
    return (await _kept_within(io, scope, expansion, ahead, k)) if scope.is_bound else expansion


async def _kept_within(
    io: IO, scope: Scope, expansion: Expansion, asked: Sequence[SentenceKey], k: int | None
) -> Expansion:
    """End windows before sentences that the filter forbids: those that are asked for and don't come back.

    The best windows are read first. Only where one is ended are others wanted, and those of all hits read.
    """
    expansion = expansion.without(set(asked) - expansion.read.keys())
    for windows in (expansion.best(k), map(expansion.window, expansion.hits)):
        places = [place for window in windows if window.first < window.last for place in _places(window)]
        wanted = [place for place in dict.fromkeys(places) if place not in expansion.read]
        read = await fetch_sentences(io, scope, wanted, expansion.sentences)
        expansion = replace(expansion, read=expansion.read | read, sentences=expansion.sentences | read)
        if read.keys() >= set(wanted):
            break
        expansion = expansion.without(set(wanted) - read.keys())
    return expansion


def _parted(hits: Sequence[Hit], barred: Collection[SentenceKey]) -> list[Hit]:
    """The hits, of sections that end where a sentence stands that may not be read."""
    indexes: dict[str, list[int]] = {}
    for doc_id, index in sorted(barred):
        indexes.setdefault(doc_id, []).append(index)
    parted = list[Hit]()
    for hit in hits:
        if (hit.doc_id, hit.index) in barred:
            raise _changed(hit)
        ends = indexes.get(hit.doc_id, [])
        at = bisect(ends, hit.index)
        first = max([hit.section_start, *(end + 1 for end in ends[:at][-1:])])
        last = min([hit.section_end, *ends[at:][:1]])
        parted.append(replace(hit, section_start=first, section_end=last))
    return parted


def _open(hit: Hit, size: Size, sentences: Sentences, *, is_answer: bool) -> Window:
    if size is not None:
        return expand(hit, *size)

    def text(index: int) -> str:
        sentence = sentences.get((hit.doc_id, index))
        return sentence.text if sentence else ""

    return expand_forward(hit, text, is_answer=is_answer)


async def read_windows(
    io: IO, scope: Scope, windows: Sequence[Window], known: Sentences, read: Sentences
) -> tuple[list[Document], Sentences]:
    """Make the windows' Documents, of sentences that were read in one call, as documents change meanwhile.

    Args:
        io: Makes the calls.
        scope: Where the sentences are, and which of them may be read.
        windows: What to read.
        known: The sentences that were found; a window of one sentence needs no more.
        read: What was read before.
    """
    alone = {(window.doc_id, window.first) for window in windows if window.first == window.last}
    places = [place for window in windows for place in _places(window) if place not in read and place not in alone]
    read = read | (await fetch_sentences(io, scope, places, known)) | {place: known[place] for place in alone}
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


def _places(window: Window) -> list[SentenceKey]:
    return [(window.doc_id, index) for index in range(window.first, window.last + 1)]


def _size(window: object) -> Size:
    return None if isinstance(window, str) and window == "auto" else window_size(window)


def _setting(size: Size) -> tuple[int, int] | Literal["auto"]:
    return "auto" if size is None else size
