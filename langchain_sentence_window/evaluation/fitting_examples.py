"""Questions to fit a ranking to, each with the candidates that a search found for it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import SentenceKey, Span
from langchain_sentence_window.documents.sentence_documents import SentencesByKey, as_hit, by_key
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import CANDIDATES, LEXICAL_WEIGHT, Candidates, Numbers
from langchain_sentence_window.ranking.ranking import SIGNALS, Ranking, signals
from langchain_sentence_window.retrieval.expansion import ExpansionPolicy, expand_hit
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
from langchain_sentence_window.retrieval.search import find_sentences
from langchain_sentence_window.retrieval.stored_sentences import fetch_available
from langchain_sentence_window.windows.completion import MAX_FORWARD

from .fitting_objective import Stack
from .measurement import OnProgress, counted
from .metrics import covered, union
from .questions import Question

WindowSpan: TypeAlias = tuple[str, int, int]
"""The document of a window, and its half-open span there."""


@dataclass(frozen=True)
class FittingExample:
    """A question with gold spans, and the candidates that a search found for it.

    Attributes:
        question: The question.
        candidates: The candidates of a search, before they were reordered.
        windows: The window that each candidate opens.
        word_weight: Multiplies the signals that compare words, as `reorder` multiplies their weights.
    """

    question: Question
    candidates: Candidates
    windows: Sequence[WindowSpan]
    word_weight: float = 1.0

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            InvalidInputError: A field is of a wrong type, or there aren't as many windows as candidates.
        """
        if not isinstance(self.question, Question):
            raise InvalidInputError(f"question is {shown(self.question)}; give a Question")
        if not isinstance(self.candidates, Candidates):
            raise InvalidInputError(f"candidates is {shown(self.candidates)}; give the Candidates of a search")
        if len(self.windows) != len(self.candidates):
            raise InvalidInputError(
                f"there are {len(self.windows):,} windows and {len(self.candidates):,} candidates; give one for each"
            )

    @cached_property
    def signals(self) -> Numbers:
        """All signals of the candidates, of shape ``(candidates, signals)``."""
        factors = [self.word_weight if signal.is_of_words else 1.0 for signal in SIGNALS.values()]
        return signals(self.question.question, self.candidates, tuple(SIGNALS)) * factors

    @cached_property
    def pieces(self) -> list[tuple[float, list[int]]]:
        """The parts of the gold that windows hold: the share of the gold that each is, and the windows that hold it."""
        gold = union(self.question.spans)
        whole = sum(end - start for start, end in gold)
        mine = [
            (number, start, end)
            for number, (document, start, end) in enumerate(self.windows)
            if document == self.question.doc_id
        ]
        edges = {edge for _, start, end in mine for edge in (start, end)}
        found = []
        for first, last in gold:
            cuts = sorted({first, last, *(edge for edge in edges if first < edge < last)})
            for start, end in pairwise(cuts):
                holders = [number for number, opened, closed in mine if opened <= start and end <= closed]
                if holders:
                    found.append(((end - start) / whole, holders))
        return found

    def recalls(self, weights: Numbers, budgets: Sequence[int]) -> list[float]:
        """Return the share of the gold within each budget, if windows are read in the order of their weighted signals.

        A window that begins in one that was read is skipped, and no text is read again. The last window is cut.
        """
        order = np.lexsort((-self.candidates.dense, -np.einsum("nm,m->n", self.signals, weights)))
        limit = max(budgets)
        read: dict[str, list[Span]] = {}
        mine: list[tuple[Span, int]] = []
        used = 0
        for row in order.tolist():
            document, start, end = self.windows[row]
            known = read.setdefault(document, [])
            if any(opened <= start < closed for opened, closed in known):
                continue
            end = min([end, *(opened for opened, _ in known if opened > start)])
            known.append((start, end))
            if document == self.question.doc_id:
                mine.append(((start, end), used))
            used += end - start
            if used >= limit:
                break
        gold = union(self.question.spans)
        whole = sum(end - start for start, end in gold)
        return [
            covered(((start, min(end, start + budget - spent)) for (start, end), spent in mine if spent < budget), gold)
            / whole
            for budget in budgets
        ]


def stacked(examples: Sequence[FittingExample]) -> Stack:
    """Stack examples that have gold among their candidates, at least one."""
    size = max(len(example.candidates) for example in examples)
    matrices = np.zeros((len(examples), size, len(SIGNALS)))
    present = np.zeros((len(examples), size), dtype=np.bool_)
    lengths = np.zeros((len(examples), size))
    questions, shares, holders = [], [], []
    for number, example in enumerate(examples):
        count = len(example.candidates)
        matrices[number, :count] = example.signals
        present[number, :count] = True
        lengths[number, :count] = [end - start for _, start, end in example.windows]
        for share, windows in example.pieces:
            row = np.zeros(size, dtype=np.bool_)
            row[windows] = True
            questions.append(number)
            shares.append(share)
            holders.append(row)
    return Stack(matrices, present, lengths, np.array(questions), np.array(shares), np.array(holders))


_NO_WINDOW = ("", 0, 0)


def check_fittable(retriever: object) -> None:
    """Check that a retriever has a ranking that can be fitted.

    Raises:
        InvalidInputError: It isn't a `SentenceWindowRetriever`.
    """
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(
            f"the retriever is {shown(retriever)}; give a SentenceWindowRetriever, whose ranking can be fitted"
        )


async def find_examples(
    io: IO,
    retriever: SentenceWindowRetriever,
    questions: Iterable[Question],
    *,
    show_progress: bool,
    on_progress: OnProgress | None = None,
) -> list[FittingExample]:
    """Search the candidates of questions as a retriever does before it reorders them.

    Raises:
        InvalidInputError: The retriever isn't a `SentenceWindowRetriever`.
    """
    check_fittable(retriever)
    asked, found = list(questions), list[FittingExample]()
    with counted(len(asked), "Searching", show_progress=show_progress, on_progress=on_progress) as step:
        for question in asked:
            found.append(await _example(io, retriever, question))
            step()
    return found


async def _example(io: IO, retriever: SentenceWindowRetriever, question: Question) -> FittingExample:
    request = retriever._request(question.question, {})
    search = replace(request.search, ranking=Ranking({}), names=False, min_relevance=None)
    found = await find_sentences(io, request.scope, search, max(request.fetch_k, CANDIDATES))
    candidates = found.candidates[-1][0] if found.candidates else _nothing()
    keys = dict.fromkeys(
        key for number in range(len(candidates)) for key in _around(candidates, number, request.policy)
    )
    read, _ = await fetch_available(io, request.scope, keys, by_key(found.sentences))
    windows = [_window(key, request.policy, read) for key in candidates.keys]
    return FittingExample(question, candidates, windows, search.lexical_weight / LEXICAL_WEIGHT)


def _around(candidates: Candidates, number: int, policy: ExpansionPolicy) -> list[SentenceKey]:
    """Return all sentences that the window of a candidate may hold, whatever the metadata of its document says."""
    reaches = [(0, MAX_FORWARD) if size is None else size for size in (policy.default, *policy.by_value.values())]
    before, after = (max(sides) for sides in zip(*reaches, strict=True))
    document, index = candidates.keys[number]
    start = max(int(candidates.section_starts[number]), index - before)
    end = min(int(candidates.section_ends[number]), index + after + 1)
    return [(document, near) for near in range(start, end)]


def _window(key: SentenceKey, policy: ExpansionPolicy, read: SentencesByKey) -> WindowSpan:
    """Return the window that a sentence opens, as far as its neighbors could be read."""
    if key not in read:  # it was deleted just now
        return _NO_WINDOW
    document, index = key
    sentence = read[key]
    first = last = index
    while first > sentence.section_start and (document, first - 1) in read:
        first -= 1
    while last < sentence.section_end - 1 and (document, last + 1) in read:
        last += 1
    hit = replace(as_hit(sentence, 0.0), section_start=first, section_end=last + 1)
    window = expand_hit(hit, policy.size_of(sentence), read, is_answer=False)
    return document, read[document, window.first].start, read[document, window.last].end


def _nothing() -> Candidates:
    indexes, numbers = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Candidates([], indexes, indexes, numbers, numbers, [], indexes, indexes, [], [])
