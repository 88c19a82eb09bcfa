"""Questions to fit a ranking to, each with the candidates that a search found for it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Span
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.evaluation.fitting_objective import Stack
from langchain_sentence_window.evaluation.metrics import covered, union
from langchain_sentence_window.evaluation.questions import Question
from langchain_sentence_window.ranking.candidates import Candidates, Numbers
from langchain_sentence_window.ranking.signals import SIGNALS, signals

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
        order = np.lexsort((-self.candidates.dense, -(self.signals @ weights)))
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
