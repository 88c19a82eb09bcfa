"""How far hits expand to windows, and which sentences decide that.

A hit expands by a fixed number of sentences, by as many as it needs, or as its kind of document asks for. What windows
will probably need is known from the hits alone, so that it can be read in one call.
"""

import math
from bisect import bisect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, StoredSentence
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError
from langchain_sentence_window.ranking.questions import Needs, manuals
from langchain_sentence_window.splitting.blocks import HEADING, LIST_ITEM, MESSAGE, TABLE_ROW
from langchain_sentence_window.windows.assembly import MAX_JOINED, NEAR, TIGHT_FIRST, WIDENING
from langchain_sentence_window.windows.completion import (
    MAX_FORWARD,
    MAX_FORWARD_OF_ANSWER,
    MIN_CHARS,
    MIN_CHARS_OF_ANSWER,
    NO_GROWTH,
    Growth,
    Line,
    clear_best,
    expand_forward,
    needs_nothing,
    strong_score,
)
from langchain_sentence_window.windows.geometry import Hit, Window, WindowSize, expand, window_size

MIN_HITS_TO_COMPARE = 10
"""The fewest hits that a search divides into strong and weak ones. With a smaller ``fetch_k``, all are strong."""

WIDE_TOKENS = 100
"""About the tokens of a window that a budget widened, to estimate how many windows a budget will hold."""

REACH = 16
"""Sentences on each side of a hit that are read if it is in a list or table, or needs what is next to it.

Rules go from row to row and from item to item. Read one at a time, manuals took six calls a question, and their long
lists were still cut.
"""

EXCHANGE = Growth(min_chars=1_000)
"""The talk around a hit, if the question asks what was said. See the benchmarks page."""

PROCEDURE = Growth(max_section_chars=600)
"""The section of a hit in a manual, if the question asks how something is done. See the benchmarks page."""

LATER_PROCEDURE = Growth(min_chars=400, max_section_chars=600)
"""The same for windows from `LATER_FROM` on, so that many windows fill a long context."""

LATER_FROM = 16

TURN_REACH = 6
"""Sentences that are read after one of talk; most turns end there."""

MAX_REACH = 256
"""The most sentences on each side that are read at once, after windows asked for more again and again."""

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
        if not self.by_value:
            return self.default
        metadata = sentence.source
        values = metadata.values() if self.key is None else [metadata.get(self.key)]
        scalars = (value for value in values if not isinstance(value, list | dict))
        return next((self.by_value[value] for value in scalars if value in self.by_value), self.default)


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
        raise InvalidInputError("window is {}; give a number, or a mapping with a window for at least one value")
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
        sentences: The sentences that were hit or read, whose lengths decide about ``auto``.
        needs: What the question needs.
        manuals: The documents that consist of short lines.
    """

    hits: Sequence[Hit]
    sizes: Mapping[SentenceKey, Size]
    answer: SentenceKey | None
    strong: float
    sentences: SentencesByKey
    needs: Needs
    manuals: Collection[str] = ()

    def window(self, hit: Hit) -> Window:
        """Return the window of a single hit."""
        size, is_answer = self.sizes[hit.key], hit.key == self.answer
        if size is not None:
            return expand(hit, *size)
        if not is_answer and len(self.sentences[hit.key].text) >= MIN_CHARS:  # it says enough alone, as most do
            return Window(hit.doc_id, hit.index, hit.index, (hit,))

        def text(index: int) -> str:
            sentence = self.sentences.get((hit.doc_id, index))
            return sentence.text if sentence else ""

        return expand_forward(hit, text, is_answer=is_answer)

    def growth(self, hit: Hit, rank: int) -> Growth:
        """Return how much of its section the window of a hit takes in.

        Args:
            hit: The best hit of the window.
            rank: The position of the window, from 0.
        """
        sentence = self.sentences[hit.key]
        in_manual = hit.doc_id in self.manuals
        passage = self.needs.passage_around(sentence.kind, sentence.heading, in_manual=in_manual)
        if passage == "exchange":
            return EXCHANGE
        if passage == "procedure":
            return PROCEDURE if rank < LATER_FROM else LATER_PROCEDURE
        return NO_GROWTH

    def without(self, forbidden: Collection[SentenceKey]) -> "Expansion":
        """Return an expansion whose windows end before some sentences.

        Raises:
            IncompleteWindowError: One of the sentences is a hit.
        """
        return replace(self, hits=_with_narrower_sections(self.hits, forbidden))

    def widens(self, hit: Hit) -> bool:
        """Return whether a hit widens a window that it touches."""
        # A hit with size `None` has all the sentences that it needs.
        return hit.score >= self.strong and self.sizes[hit.key] is not None


def expand_hits(
    hits: Sequence[Hit], policy: ExpansionPolicy, sentences: SentencesByKey, needs: Needs, *, are_all: bool
) -> Expansion:
    """Decide how far each hit is expanded.

    Args:
        hits: The hits, best first.
        policy: How far hits are expanded.
        sentences: Their sentences, and others that may be read later.
        needs: What the question needs.
        are_all: Whether the store has no more hits.
    """
    best = clear_best(hits)
    # If only a few hits were asked for, all of them are wanted.
    strong = strong_score(hits) if are_all or len(hits) >= MIN_HITS_TO_COMPARE else -math.inf
    sizes = {hit.key: policy.size_of(sentences[hit.key]) for hit in hits}
    in_manuals = manuals((each.doc_id, each.text) for each in sentences.values()) if needs.procedure else ()
    return Expansion(hits, sizes, None if best is None else best.key, strong, sentences, needs, in_manuals)


def _with_narrower_sections(hits: Sequence[Hit], forbidden: Collection[SentenceKey]) -> list[Hit]:
    """Return the hits with sections that end before forbidden sentences."""
    indexes: dict[str, list[int]] = {}
    for doc_id, index in sorted(forbidden):
        indexes.setdefault(doc_id, []).append(index)
    narrowed = list[Hit]()
    for hit in hits:
        if (hit.doc_id, hit.index) in forbidden:
            raise changed(hit)
        ends = indexes.get(hit.doc_id, [])
        after = bisect(ends, hit.index)
        first = max([hit.section_start, *(end + 1 for end in ends[:after][-1:])])
        last = min([hit.section_end, *ends[after:][:1]])
        narrowed.append(replace(hit, section_start=first, section_end=last))
    return narrowed


def changed(hit: Hit) -> IncompleteWindowError:
    """Return the error about a sentence that another writer changed during a query."""
    return IncompleteWindowError(
        f"sentence {hit.index} of document {hit.doc_id!r} changed between search and reading; ask again"
    )


def line_of(sentence: StoredSentence) -> Line:
    """Return what matters of a sentence for the windows around it."""
    kind = sentence.kind
    turn = (sentence.index if sentence.lead_in is None else sentence.lead_in) if kind == MESSAGE else None
    return Line(
        sentence.text,
        kind == HEADING,
        kind == LIST_ITEM,
        kind == TABLE_ROW,
        sentence.lead_in is not None,
        sentence.pieces,
        turn,
        "\n" in sentence.separator,
    )


def surroundings(
    expansion: Expansion, k: int, max_tokens: int | None
) -> tuple[Sequence[SentenceKey], Sequence[SentenceKey]]:
    """Say which sentences to read around hits before windows are assembled.

    Args:
        expansion: The hits, of which only the sentences that were hit are known.
        k: The most windows.
        max_tokens: The most tokens of all windows; ``None`` for no limit.

    Returns:
        Those that decide how far hits are expanded, and others that windows will probably need, such as the rest of a
        list.
    """
    known, answer = expansion.sentences, expansion.answer
    needed: dict[SentenceKey, None] = {}
    open_hits = [hit for hit in expansion.hits if expansion.sizes[hit.key] is None]
    for hit in open_hits:
        min_chars, max_forward = (
            (MIN_CHARS_OF_ANSWER, MAX_FORWARD_OF_ANSWER) if hit.key == answer else (MIN_CHARS, MAX_FORWARD)
        )
        if len(known[hit.key].text) < min_chars and hit.index + 1 < hit.section_end:
            needed |= _range(hit, 0, max_forward)
    # Twice ``k``, as some windows are left out: those of equal texts, and those of headings alone.
    windows, before, after = 2 * k, 0, 0
    if max_tokens is not None:
        windows = min(windows, max(2 * TIGHT_FIRST, max_tokens // WIDE_TOKENS))
        before, after = (side + NEAR + 1 for side in WIDENING)
    elif k > MAX_JOINED:  # such windows aren't joined, and only turns, growth and answers complete them
        around = [_range(hit, *_structure_around(expansion, hit, line_of(known[hit.key]))) for hit in open_hits[:k]]
        return list(needed), [key for keys in around if len(keys) > 1 for key in keys]
    return list(needed), list(_keys_around_hits(expansion, open_hits, windows, before, after))


def _keys_around_hits(
    expansion: Expansion, hits: Sequence[Hit], windows: int, before: int, after: int
) -> dict[SentenceKey, None]:
    """Return the sentences around the hits of the first windows.

    Args:
        expansion: How far they are expanded.
        hits: The hits, best first.
        windows: The number of windows. Hits near a better one are read around as well, but don't count.
        before: Sentences before each hit, regardless of its text.
        after: Sentences after each hit, likewise.
    """
    keys: dict[SentenceKey, None] = {}
    near: dict[SentenceKey, None] = {}
    taken = list[Hit]()
    for hit in hits:
        windows -= hit.key not in near
        if windows < 0:
            break
        taken.append(hit)
        sentence = expansion.sentences[hit.key]
        line = line_of(sentence)
        around = _structure_around(expansion, hit, line) if needs_nothing(line, line) else (REACH, REACH)
        near |= _range(hit, NEAR + 1, NEAR + 1)
        keys |= _range(hit, max(before, around[0]), max(after, around[1]))
        if sentence.lead_in is not None:
            keys[hit.doc_id, sentence.lead_in] = None
    for hit, following in pairwise(sorted(taken, key=lambda hit: hit.key)):
        is_one_section = (hit.doc_id, hit.section_start) == (following.doc_id, following.section_start)
        if is_one_section and following.index - hit.index <= 2 * (NEAR + 1):  # they may come into one window
            keys |= dict.fromkeys((hit.doc_id, index) for index in range(hit.index + 1, following.index))
    return keys


def _structure_around(expansion: Expansion, hit: Hit, line: Line) -> tuple[int, int]:
    """Return how many sentences before and after a hit its growth, its turn or its answer probably takes."""
    if expansion.growth(hit, LATER_FROM) is not NO_GROWTH:
        return REACH, REACH
    if line.turn is not None:
        return min(hit.index - line.turn, REACH), TURN_REACH
    return (0, TURN_REACH) if line.asks else (0, 0)


def _range(hit: Hit, before: int, after: int) -> dict[SentenceKey, None]:
    first, end = max(hit.index - before, hit.section_start), min(hit.index + after + 1, hit.section_end)
    return {(hit.doc_id, index): None for index in range(first, end)}
