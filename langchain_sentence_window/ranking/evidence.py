"""Facts about each candidate, from which `langchain_sentence_window.ranking.ranking` computes its signals.

A fact that several signals need is computed once, when it is first asked for.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.ranking.candidates import Candidates, Indexes, JoinedTexts, Numbers
from langchain_sentence_window.ranking.words import Flags, WordMatches, find_words, query_terms
from langchain_sentence_window.windows.completion import MAX_LABEL_CHARS, MIN_CHARS, is_label

NEAR = 2
"""Sentences between which scores count as near, in the same section."""

BEST = 3
"""Scores of a document or section that speak for it, the best ones."""

_WORD_CHARACTER = re.compile(r"\w")
_ASKS_NUMBER = re.compile(
    r"\b(?:how (?:many|much|long|old|often)|when|what (?:year|date|century)|which (?:year|date)|percent|percentage|"
    r"number of|amount|rate)\b",
    re.IGNORECASE,
)
_ASKS_NAME = re.compile(
    r"\b(?:who|whom|whose|where|which person|name of|"
    r"what (?:is the name|was the name|city|country|place|river|company|group|university|team))\b",
    re.IGNORECASE,
)


class Evidence:
    """Facts about ``n`` candidates, one or more. Each array has ``n`` numbers, if nothing else is said.

    All are finite if the dense and the lexical scores are.

    Attributes:
        dense: Scores by meaning, divided by one number so that their sums are finite.
        lexical: BM25 scores, divided likewise.
        indexes: Indexes of the sentences in their documents.
        lengths: Characters of the sentences.
    """

    def __init__(self, query: str, candidates: Candidates) -> None:
        """Look at candidates."""
        self._query, self._candidates = query, candidates
        texts = candidates.texts
        self._joined = texts if isinstance(texts, JoinedTexts) else JoinedTexts.of(texts)
        self._texts = self._joined[: len(candidates)]
        self._terms = query_terms(query)
        self._all_lengths = np.append(self._joined.lengths, 0)  # no text is row -1
        self.dense, self.lexical = _small(candidates.dense), _small(candidates.lexical)
        self.indexes: Indexes = np.array([index for _, index in candidates.keys], dtype=np.int64)
        self.lengths: Indexes = self._all_lengths[: len(candidates)]

    @cached_property
    def dense_near(self) -> Numbers:
        """The best score by meaning of other candidates near it; the lowest score if there is none."""
        candidates, lowest = self._candidates, float(self.dense.min())
        scores = dict(zip(candidates.keys, self.dense.tolist(), strict=True))
        starts = np.maximum(candidates.section_starts, self.indexes - NEAR).tolist()
        ends = np.minimum(candidates.section_ends, self.indexes + NEAR + 1).tolist()
        around = [
            [scores.get((document, near), lowest) for near in range(start, end) if near != index]
            for (document, index), start, end in zip(candidates.keys, starts, ends, strict=True)
        ]
        return np.array([max(near, default=lowest) for near in around])

    @cached_property
    def places(self) -> Indexes:
        """Indexes of the sentences in their sections."""
        return np.asarray(self.indexes - self._candidates.section_starts)

    @cached_property
    def documents(self) -> Indexes:
        """A number for each document, from 0."""
        if self._candidates.documents is not None:
            return np.asarray(np.unique(self._candidates.documents, return_inverse=True)[1])
        numbers: dict[str, int] = {}
        return np.array([numbers.setdefault(document, len(numbers)) for document, _ in self._candidates.keys])

    @cached_property
    def sections(self) -> Indexes:
        """A number for each section, from 0."""
        different, starts = np.unique(self._candidates.section_starts, return_inverse=True)
        return np.asarray(np.unique(self.documents * len(different) + starts, return_inverse=True)[1])

    @cached_property
    def window_lengths(self) -> Indexes:
        """Characters of the windows: of a sentence, and of the next one if it is short or a label."""
        after = self._candidates.after
        opens = ((self.lengths < MIN_CHARS) | (self.labels > 0)) & (after >= 0)
        return np.where(opens, self.lengths + 1 + self._all_lengths[after], self.lengths)

    @cached_property
    def labels(self) -> Numbers:
        """1 for a sentence that only names what follows, else 0."""
        labels = np.zeros(len(self._texts))
        for short in np.flatnonzero(self.lengths < MAX_LABEL_CHARS).tolist():
            labels[short] = is_label(self._texts[short])
        return labels

    @cached_property
    def repeated(self) -> Numbers:
        """1 for a text that another candidate has too, letter case and white space aside, else 0."""
        texts = [" ".join(text.lower().split()) for text in self._texts]
        counts = Counter(texts)
        return np.array([counts[text] > 1 for text in texts], dtype=np.float64)

    @cached_property
    def asks_number(self) -> bool:
        """Whether the query asks for a number or a date, in English."""
        return _ASKS_NUMBER.search(self._query) is not None

    @cached_property
    def asks_name(self) -> bool:
        """Whether the query asks for a person, a place or a body, in English."""
        return _ASKS_NAME.search(self._query) is not None

    @cached_property
    def own_coverage(self) -> Numbers:
        """The share of the query's words that the sentence holds, weighted by how rare they are."""
        return _share(self._matches.words[: len(self._texts)], self._idf)

    @cached_property
    def coverage(self) -> Numbers:
        """The same of words that the sentence, the ones before and after it, or its heading path hold."""
        words, candidates = self._matches.words, self._candidates
        rows = {heading: row for row, heading in enumerate(dict.fromkeys(candidates.headings), len(candidates.texts))}
        headings = words[[rows[heading] for heading in candidates.headings]]
        around = words[candidates.before] | words[candidates.after] | headings
        return _share(words[: len(self._texts)] | around, self._idf)

    @cached_property
    def numbers(self) -> Numbers:
        """The share of the query's whole numbers that the sentence holds; 0 if there are none."""
        return _share(
            self._matches.words[: len(self._texts)],
            np.array([word.isdecimal() for word in self._terms.words], dtype=np.float64),
        )

    @cached_property
    def names(self) -> Numbers:
        """The share of the query's capitalized words that the sentence holds; 0 if there are none."""
        return _share(self._matches.words[: len(self._texts)], np.array(self._terms.capitalized, dtype=np.float64))

    @cached_property
    def bigrams(self) -> Numbers:
        """The weight of pairs of adjacent query words in the sentence; pairs that few candidates hold weigh more."""
        return self._all_bigrams[: len(self._texts)]

    @cached_property
    def neighbor_bigrams(self) -> Numbers:
        """The same of the sentences before and after it, added."""
        return np.asarray(self._all_bigrams[self._candidates.before] + self._all_bigrams[self._candidates.after])

    def flags(self, holds: Callable[[str], bool]) -> Numbers:
        """Return 1 for each sentence whose text something holds of, else 0."""
        return np.array([holds(text) for text in self._texts], dtype=np.float64)

    def counts(self, pattern: re.Pattern[str]) -> Numbers:
        """Return how often a pattern stands in each sentence."""
        return np.array([len(pattern.findall(text)) for text in self._texts], dtype=np.float64)

    def kinds(self, *kinds: str) -> Numbers:
        """Return 1 for each sentence of a block of one of some kinds, else 0."""
        return np.array([kind in kinds for kind in self._candidates.kinds], dtype=np.float64)

    @cached_property
    def _matches(self) -> WordMatches:
        """The query's words in all texts, then in the different headings, then in no text, which is row -1."""
        texts, headings = self._joined, JoinedTexts.of([*dict.fromkeys(self._candidates.headings), ""])
        beyond = len(texts.joined) + 1
        starts = np.concatenate([texts.starts, headings.starts + beyond])
        ends = np.concatenate([texts.ends, headings.ends + beyond])
        return find_words(self._terms, JoinedTexts(f"{texts.joined}\n{headings.joined}", starts, ends))

    @cached_property
    def _idf(self) -> Numbers:
        """Return how rare the query's words are in the collection, or among the candidates if only these are known."""
        count = self._candidates.document_frequency
        if count is None or not self._terms.words:
            return inverse_document_frequency(self._matches.words[: len(self._texts)].sum(axis=0), len(self._texts))
        counts, total = count(self._terms.words)
        return inverse_document_frequency(counts, total)

    @cached_property
    def _all_bigrams(self) -> Numbers:
        pairs, size = self._matches.pairs, len(self._texts)
        return np.asarray(pairs @ inverse_document_frequency(pairs[:size].sum(axis=0), size))


def rank(scores: Numbers) -> Numbers:
    """Return the number of better scores for each score."""
    return np.asarray(np.searchsorted(np.sort(-scores), -scores, side="left"), dtype=np.float64)


def best_mean(scores: Numbers, groups: Indexes) -> Numbers:
    """Return for each score the mean of the best scores of its group, `BEST` or fewer."""
    order = np.lexsort((-scores, groups))
    starts = np.searchsorted(groups[order], groups[order], side="left")
    best = order[np.arange(len(order)) - starts < BEST]
    sums = np.bincount(groups[best], weights=scores[best])
    return np.asarray((sums / np.bincount(groups[best]))[groups])


def inverse_document_frequency(counts: npt.ArrayLike, total: int) -> Numbers:
    """Return the idf of BM25 for words: higher the fewer texts hold a word, and above 0.

    See Robertson & Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.

    Args:
        counts: How many texts hold each word; what lies outside of 0 to ``total`` counts as the nearer end.
        total: The number of texts.
    """
    held = np.clip(counts, 0, total)
    return np.asarray(np.log1p((total - held + 0.5) / (held + 0.5)))


def ends_with_question_mark(text: str) -> bool:
    """Tell whether a text ends with a question mark, with quotation marks and brackets after it or not."""
    mark = text.rfind("?")
    return mark >= 0 and _WORD_CHARACTER.search(text, mark) is None


def _small(scores: Sequence[float] | Numbers) -> Numbers:
    return np.asarray(np.asarray(scores, dtype=np.float64) / max(1.0, float(np.abs(scores).max())))


def _share(held: Flags, weights: Numbers) -> Numbers:
    total = float(weights.sum())
    return np.asarray(held @ weights / total) if total > 0 else np.zeros(len(held))
