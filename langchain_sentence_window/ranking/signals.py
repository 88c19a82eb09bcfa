"""Signals: what each says about a candidate of a search, computed for all candidates at once.

A reader can check each signal, such as the share of the query's words around a candidate. No signal needs a vector, so
they are the same for every embedder and store.
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import ENDS_OF_SENTENCES
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import CONTENTS
from langchain_sentence_window.windows.completion import MAX_LABEL_CHARS, MIN_CHARS, is_label

from .candidates import CANDIDATES, Candidates, Indexes, Numbers, standardized
from .word_matches import Flags, QueryTerms, WordMatches, find_words, inverse_document_frequency, query_terms

BEST = 3
"""How many of the best scores of a document or a section count for it."""

_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|old|often)|when|what (?:year|date|century)|which (?:year|date)|percent|percentage|"
    r"number of|amount|rate)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_ENDS_OF_SENTENCES = frozenset(ENDS_OF_SENTENCES)
_LOG_CHARS = 5.0  # about the logarithm of an average sentence's characters


class CandidateFacts:
    """What signals are computed from: facts about ``n`` candidates of a query.

    Facts that several signals need are computed once, when the first signal asks for them. Each array has ``n``
    numbers, unless it says otherwise.

    Attributes:
        query: The query.
        terms: The words of the query.
        candidates: The candidates.
        dense: Scores by meaning, divided by one number so that their sums are finite.
        indexes: Indexes of the sentences in their documents.
        lengths: Characters of all texts of the candidates, which may be more than ``n``; then 0 for `NO_TEXT`.
    """

    def __init__(self, query: str, candidates: Candidates) -> None:
        """Look at candidates.

        Raises:
            InvalidInputError: A score isn't finite.
        """
        if not (np.isfinite(candidates.dense).all() and np.isfinite(candidates.lexical).all()):
            raise InvalidInputError(
                f"a score of {shown(query)} is not finite; give an embedder and a store with finite scores"
            )
        self.query: str = query
        self.terms: QueryTerms = query_terms(query)
        self.candidates: Candidates = candidates
        self.dense: Numbers = candidates.dense / np.abs(candidates.dense).max(initial=1.0)
        self.indexes: Indexes = np.array([index for _, index in candidates.keys], dtype=np.int64)
        self.lengths: Indexes = np.array([*map(len, candidates.texts), 0], dtype=np.int64)

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.candidates.keys)

    @cached_property
    def matches(self) -> WordMatches:
        """The query's words in all texts of the candidates, then in each different heading, then in `NO_TEXT`."""
        return find_words(self.terms, [*self.candidates.texts, *dict.fromkeys(self.candidates.headings), ""])

    @cached_property
    def rarity(self) -> Numbers:
        """How rare each word of the query is in the collection; among the candidates if only these are known."""
        count, words = self.candidates.document_frequency, self.terms.words
        if count is None or not words:
            return inverse_document_frequency(self.matches.words[: len(self)].sum(axis=0), len(self))
        return inverse_document_frequency(*count(words))

    @cached_property
    def coverage(self) -> Numbers:
        """The share of the query's words in a sentence, its neighbors or its heading path; rare ones count more."""
        words, candidates = self.matches.words, self.candidates
        headings = dict.fromkeys(candidates.headings)
        first = len(candidates.texts)
        rows = dict(zip(headings, range(first, first + len(headings)), strict=True))
        of_headings = words[[rows[heading] for heading in candidates.headings]]
        around = words[candidates.before] | words[candidates.after] | of_headings
        return self.share_of_words(words[: len(self)] | around)

    @cached_property
    def labels(self) -> Numbers:
        """1 for a sentence that only names what follows, else 0."""
        texts = self.candidates.texts
        labels = np.zeros(len(self))
        short = np.flatnonzero(self.lengths[: len(self)] < MAX_LABEL_CHARS).tolist()
        # Most sentences end as sentences do, so most calls of `is_label` are saved.
        unfinished = [at for at in short if texts[at][-1:] not in _ENDS_OF_SENTENCES]
        labels[unfinished] = [is_label(texts[at]) for at in unfinished]
        return labels

    def share_of_words(self, held: Flags) -> Numbers:
        """Return the share of the query's words that each candidate holds; rare ones count more.

        Args:
            held: Of shape ``(n, words)``, whether a candidate holds a word.
        """
        total = float(self.rarity.sum())
        return np.asarray(np.einsum("ij,j->i", held, self.rarity) / total) if total > 0 else np.zeros(len(held))


def _dense_rank(facts: CandidateFacts) -> Numbers:
    """Compare by ranks, as embedders differ in how far the best score is above the next."""
    better = np.searchsorted(np.sort(-facts.dense), -facts.dense, side="left")
    return -np.log1p(better.astype(np.float64))


def _document_mean(facts: CandidateFacts) -> Numbers:
    """Prefer documents in which several sentences are close to the query."""
    return _best_mean(facts.dense, [document for document, _ in facts.candidates.keys])


def _section(facts: CandidateFacts) -> Numbers:
    """Prefer sections in which several sentences are close to the query."""
    starts = facts.candidates.section_starts.tolist()
    return _best_mean(
        facts.dense, [(document, start) for (document, _), start in zip(facts.candidates.keys, starts, strict=True)]
    )


def _coverage_own(facts: CandidateFacts) -> Numbers:
    """Prefer sentences that hold the query's words themselves."""
    return facts.share_of_words(facts.matches.words[: len(facts)])


def _coverage(facts: CandidateFacts) -> Numbers:
    """Prefer sentences near the query's words, as an answer often doesn't repeat them."""
    return facts.coverage


def _bigrams(facts: CandidateFacts) -> Numbers:
    """Prefer sentences that hold words of the query in its order, as in a name or a term of several words."""
    pairs = facts.matches.pairs[: len(facts)]
    return np.asarray(np.einsum("ij,j->i", pairs, inverse_document_frequency(pairs.sum(axis=0), len(facts))))


def _place_in_section(facts: CandidateFacts) -> Numbers:
    """Prefer the first sentences of a section, which usually state its subject."""
    return np.asarray(np.exp(-(facts.indexes - facts.candidates.section_starts) / 3))


def _early(facts: CandidateFacts) -> Numbers:
    """Prefer the first sentences of a document, which usually summarize it."""
    return np.exp(-facts.indexes / 5)


def _window_length(facts: CandidateFacts) -> Numbers:
    """Measure roughly the window that `auto` makes, where a short sentence and a label open to the next one."""
    own, after = facts.lengths[: len(facts)], facts.candidates.after
    opens = ((own < MIN_CHARS) | (facts.labels > 0)) & (after >= 0)
    lengths = np.where(opens, own + 1 + facts.lengths[after], own)
    return np.asarray(np.log(np.maximum(lengths, 1)) - _LOG_CHARS)


def _label(facts: CandidateFacts) -> Numbers:
    """Prefer labels, whose windows open to what they name."""
    return facts.labels


def _digit_asked(facts: CandidateFacts) -> Numbers:
    """Prefer sentences with a number if the query asks for one."""
    if not _ASKS_NUMBER.search(facts.query):
        return np.zeros(len(facts))
    digits = map(_DIGIT.search, facts.candidates.texts[: len(facts)])
    return np.array([digit is not None for digit in digits], dtype=np.float64)


def _contents(facts: CandidateFacts) -> Numbers:
    """Mark lines of a table of contents, which hold the words of every section and answer nothing."""
    return np.array([kind == CONTENTS for kind in facts.candidates.kinds], dtype=np.float64)


def _best_mean(scores: Numbers, groups: Sequence[Hashable]) -> Numbers:
    """Return for each score the mean of the best scores of its group, `BEST` or fewer."""
    different = dict.fromkeys(groups)
    numbers_of = dict(zip(different, range(len(different)), strict=True))
    numbers = np.array([numbers_of[group] for group in groups], dtype=np.int64)
    order = np.lexsort((-scores, numbers))
    starts = np.searchsorted(numbers[order], numbers[order], side="left")
    best = order[np.arange(len(order)) - starts < BEST]
    sums = np.bincount(numbers[best], weights=scores[best])
    return np.asarray((sums / np.bincount(numbers[best]))[numbers])


@dataclass(frozen=True, slots=True)
class Signal:
    """The meaning of a signal, and how it is computed.

    Attributes:
        meaning: Its meaning, in a line.
        compute: Computes it for all candidates.
        is_standardized: Whether it counts by its distance from the mean of the candidates, in standard deviations.
        is_of_words: Whether it compares words of the query with words of the text.
        outweighs_others: Whether it is to outweigh all others where it is set. Then it isn't smaller among few
            candidates, and the scale of the scores doesn't follow its weight.
    """

    meaning: str
    compute: Callable[[CandidateFacts], Numbers]
    is_standardized: bool = False
    is_of_words: bool = False
    outweighs_others: bool = False


SIGNALS: Mapping[str, Signal] = MappingProxyType(
    {
        "dense_rank": Signal(
            "minus the logarithm of 1 + the number of better scores by meaning", _dense_rank, is_standardized=True
        ),
        "document": Signal("mean of its document's three best scores by meaning", _document_mean, is_standardized=True),
        "section": Signal("mean of its section's three best scores by meaning", _section, is_standardized=True),
        "coverage_own": Signal(
            "share of the query's words in it; rare ones count more",
            _coverage_own,
            is_standardized=True,
            is_of_words=True,
        ),
        "coverage": Signal(
            "share of the query's words in it, its neighbors or its heading path; rare ones count more",
            _coverage,
            is_standardized=True,
            is_of_words=True,
        ),
        "bigrams": Signal(
            "pairs of adjacent query words in it; rare ones count more",
            _bigrams,
            is_standardized=True,
            is_of_words=True,
        ),
        "place": Signal(
            "1 for the first sentence of a section, less by a factor of e every three sentences", _place_in_section
        ),
        "early": Signal("1 for the first sentence of a document, less by a factor of e every five sentences", _early),
        "window_length": Signal(
            "logarithm of the characters of its window, minus 5: of it, and of the next one if it is short or a label",
            _window_length,
        ),
        "label": Signal("1 if it only names what follows, else 0", _label),
        "digit_asked": Signal(
            "1 if it holds a digit and the query asks for a number or a date in English, else 0", _digit_asked
        ),
        "contents": Signal("1 for a line of a table of contents, else 0", _contents, outweighs_others=True),
    }
)
"""All signals by name."""


def signals(facts: CandidateFacts, names: Sequence[str] = tuple(SIGNALS)) -> Numbers:
    """Compute signals of candidates.

    Args:
        facts: Facts about the candidates of a search.
        names: The signals to compute, each one of `SIGNALS`.

    Returns:
        An array of shape ``(candidates, names)``. With fewer candidates than `CANDIDATES`, signals that aren't
        standardized are smaller than the table says, unless they are to outweigh others.
    """
    matrix = np.zeros((len(facts), len(names)))
    if not matrix.size:
        return matrix
    for column, name in enumerate(names):
        matrix[:, column] = SIGNALS[name].compute(facts)
    is_standardized = np.array([SIGNALS[name].is_standardized for name in names])
    matrix[:, is_standardized] = standardized(matrix[:, is_standardized])
    # Among few candidates, the best stands fewer standard deviations above the mean, so the others would outweigh it.
    is_smaller = ~is_standardized & [not SIGNALS[name].outweighs_others for name in names]
    matrix[:, is_smaller] *= min(1.0, np.log(len(facts)) / np.log(CANDIDATES))
    return matrix
