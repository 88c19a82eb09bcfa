"""Signals: what each says about a candidate of a search, computed for all candidates at once.

A reader can check each signal, such as the share of the query's words around a candidate. No signal needs a vector, so
they are the same for every embedder and store.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import ENDS_OF_SENTENCES
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.splitting.blocks import CODE, CONTENTS, MESSAGE, TABLE_ROW
from langchain_sentence_window.windows.completion import MAX_LABEL_CHARS, MIN_CHARS, is_label

from .candidates import (
    CANDIDATES,
    LEXICAL_WEIGHT,
    NO_TEXT,
    Candidates,
    Indexes,
    Numbers,
    fused_scores,
    standardized,
)
from .questions import Needs, has_name, manuals
from .word_matches import Flags, QueryTerms, WordMatches, find_words, inverse_document_frequency, query_terms

BEST = 3
"""How many of the best scores of a document or a section count for it."""

PASSAGE = 10
"""Sentences on each side that make a passage with one."""

MIN_RARITY = 4.0
"""The lowest inverse document frequency of a rare word: about one in fifty sentences holds it."""

MIN_LENGTH = MIN_CHARS
"""Characters of a window up to which a shorter one isn't better: `auto` expands it."""

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
        needs: What the whole question needs.
        terms: The words of the query.
        candidates: The candidates.
        dense: Scores by meaning, divided by one number so that their sums are finite.
        indexes: Indexes of the sentences in their documents.
        lengths: Characters of all texts of the candidates, which may be more than ``n``; then 0 for `NO_TEXT`.
    """

    def __init__(self, query: str, candidates: Candidates, needs: Needs) -> None:
        """Look at candidates.

        Raises:
            InvalidInputError: A score isn't finite.
        """
        if not (np.isfinite(candidates.dense).all() and np.isfinite(candidates.lexical).all()):
            raise InvalidInputError(
                f"a score of {shown(query)} is not finite; give an embedder and a store with finite scores"
            )
        self.query: str = query
        self.needs: Needs = needs
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
        """The query's words in all texts of the candidates, then in an empty text for `NO_TEXT`."""
        return find_words(self.terms, [*self.candidates.texts, ""])

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
        around = words[candidates.before] | words[candidates.after]
        return self.share_of_words(self.held | around)

    @cached_property
    def held(self) -> Flags:
        """Whether a candidate or its heading path holds a word, of shape ``(n, words)``."""
        headings, rows = np.unique(np.array(self.candidates.headings, dtype=object), return_inverse=True)
        return np.asarray(self.matches.words[: len(self)] | find_words(self.terms, headings.tolist()).words[rows])

    @cached_property
    def needs_passage(self) -> Flags:
        """Whether a candidate is only a small part of what the question needs, see `Needs.passage_around`."""
        candidates = self.candidates
        if not (self.needs.exchange or self.needs.procedure):
            return np.zeros(len(self), dtype=np.bool_)
        doc_ids = [doc_id for doc_id, _ in candidates.keys]
        # Texts of neighbors follow those of the candidates.
        in_manuals = manuals(zip(doc_ids, candidates.texts, strict=False)) if self.needs.procedure else ()
        places = zip(doc_ids, candidates.kinds, candidates.headings, strict=True)
        passages = [
            self.needs.passage_around(kind, heading, in_manual=doc_id in in_manuals) for doc_id, kind, heading in places
        ]
        return np.array([passage is not None for passage in passages], dtype=np.bool_)

    @cached_property
    def document_numbers(self) -> Indexes:
        """The document of each candidate, numbered from 0."""
        doc_ids = np.array([doc_id for doc_id, _ in self.candidates.keys], dtype=object)
        return np.unique(doc_ids, return_inverse=True)[1]

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

    def are_of(self, *kinds: str) -> Flags:
        """Return whether each candidate is of one of some kinds of blocks."""
        return np.array([kind in kinds for kind in self.candidates.kinds], dtype=np.bool_)

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
    return _best_mean(facts.dense, facts.document_numbers)


def _section(facts: CandidateFacts) -> Numbers:
    """Prefer sections in which several sentences are close to the query."""
    starts = facts.candidates.section_starts
    sections = facts.document_numbers * (starts.max(initial=0) + 1) + starts
    return _best_mean(facts.dense, np.unique(sections, return_inverse=True)[1])


def _coverage_own(facts: CandidateFacts) -> Numbers:
    """Prefer sentences that hold the query's words themselves."""
    return facts.share_of_words(facts.matches.words[: len(facts)])


def _coverage(facts: CandidateFacts) -> Numbers:
    """Prefer sentences near the query's words, as an answer often doesn't repeat them."""
    return facts.coverage


def _passage(facts: CandidateFacts) -> Numbers:
    """Prefer sentences of a passage that holds the query's words, where one is a small part of what is needed.

    For candidates that aren't, as others of a mixed collection, their neighbors are the passage.
    """
    needed = facts.needs_passage
    if not needed.any():
        return np.zeros(len(facts))
    words, candidates = facts.matches.words, facts.candidates
    own = facts.document_numbers * (int(facts.indexes.max()) + 2 * PASSAGE + 2) + facts.indexes
    # All texts that are known, those next to candidates too, in the order of their places.
    texts = np.concatenate([np.arange(len(facts)), candidates.before, candidates.after])
    places = np.concatenate([own, own - 1, own + 1])
    order = np.argsort(places, kind="stable")
    order = order[texts[order] != NO_TEXT]
    places = places[order]
    counts = np.cumsum(words[texts[order]], axis=0)
    counts = np.vstack([np.zeros_like(counts[:1]), counts])
    first = np.searchsorted(places, own - PASSAGE, side="left")
    end = np.searchsorted(places, own + PASSAGE, side="right")
    around = counts[end] > counts[first]
    return np.where(needed, facts.share_of_words(facts.held | around), facts.coverage)


def _complement(facts: CandidateFacts) -> Numbers:
    """Prefer sentences of other documents that add rare words of the query, as its answer may be in two documents.

    A word counts for the first sentence that holds it, in the order of the search with the usual weight of words.
    """
    candidates = facts.candidates
    rare = np.where(facts.rarity >= MIN_RARITY, facts.rarity, 0.0)
    if not rare.any() or not has_name(facts.query):
        return np.zeros(len(facts))
    order = np.argsort(-fused_scores(facts.dense, candidates.lexical, LEXICAL_WEIGHT), kind="stable")
    held = facts.held[order]
    held_before = np.vstack([np.zeros_like(held[:1]), np.logical_or.accumulate(held)[:-1]])
    gains = np.zeros(len(facts))
    gains[order] = (held & ~held_before) @ rare / facts.rarity.sum()
    documents = facts.document_numbers
    # Code and talk hold names in every line.
    return np.where(~facts.are_of(CODE, MESSAGE) & (documents != documents[order[0]]), gains, 0.0)


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
    """Measure roughly the window that `auto` makes, where a short sentence and a label open to the next one.

    Up to `MIN_LENGTH` all are equal, as a stub such as "Try Now" answers nothing. A short row of a table does, and
    rather than its header, which holds the names of columns.
    """
    own, after = facts.lengths[: len(facts)], facts.candidates.after
    opens = ((own < MIN_CHARS) | (facts.labels > 0)) & (after >= 0)
    lengths = np.where(opens, own + 1 + facts.lengths[after], own)
    shortest = np.where(facts.are_of(TABLE_ROW), 1, MIN_LENGTH)
    return np.asarray(np.log(np.maximum(lengths, shortest)) - _LOG_CHARS)


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
    return facts.are_of(CONTENTS).astype(np.float64)


_ASKS_FOR_HEAD = re.compile(r"\b(?:licen[sc]e|copyright|import|include|depend|modules?\b|packages?\b)", re.IGNORECASE)
_LICENSE = re.compile(r"\b(?:licen[sc]ed?|copyright|spdx)\b", re.IGNORECASE)
_BLOCK_COMMENT = re.compile(r"/\*.{0,20000}?\*/", re.DOTALL)
_FENCE = re.compile(r"(?m)^[ \t]*(?:```|~~~).*$")
_BRACKETED_IMPORT = re.compile(r"(?m)^[ \t]*(?:import|from|use)\b[^\n;({]{0,200}[({][^)}]{0,2000}[)}]")
_LINE_COMMENT = re.compile(r"[ \t]*(?://|#(?!include|import|pragma|define|if|else|endif)|--|;)")
_IMPORT = re.compile(
    r"[ \t]*(?:import\b|from[ \t]+\S+[ \t]+import\b|\#[ \t]*(?:include|import|pragma[ \t]+once)\b|@import\b|"
    r"(?:using|use|package)[ \t]+[\w.:\\*= ]+;?[ \t]*$|extern[ \t]+crate\b|"
    r"(?:const|let|var)[ \t][^=\n]{1,200}=[ \t]*require\([^()\n]{1,200}\);?[ \t]*$|"
    r"require(?:_relative)?[ \t]*\(?['\"][^'\"\n]{1,200}['\"]\)?;?[ \t]*$)"
)


def is_file_head(code: str) -> bool:
    """Return whether code is nothing but imports and comments that hold a license."""
    code = _FENCE.sub("", code)
    without_blocks = _BLOCK_COMMENT.sub("", code)
    lines = [line for line in _BRACKETED_IMPORT.sub("import", without_blocks).splitlines() if line.strip()]
    others = [line for line in lines if not _IMPORT.match(line)]
    if not all(map(_LINE_COMMENT.match, others)):
        return False
    has_comment = bool(others) or len(without_blocks) < len(code)
    return _LICENSE.search(code) is not None if has_comment else bool(lines)


def _file_head(facts: CandidateFacts) -> Numbers:
    """Mark the license and the imports of source code, which hold many words and answer hardly any question."""
    texts, kinds = facts.candidates.texts, facts.candidates.kinds
    if CODE not in kinds or _ASKS_FOR_HEAD.search(facts.query):
        return np.zeros(len(facts))
    return np.array([kind == CODE and is_file_head(texts[at]) for at, kind in enumerate(kinds)], dtype=np.float64)


def _best_mean(scores: Numbers, numbers: Indexes) -> Numbers:
    """Return for each score the mean of the best scores of its group, `BEST` or fewer, by the numbers of the groups."""
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
        is_conditional: Whether it counts for some questions alone; for others it is 0, and the scale of the scores
            doesn't follow its weight.
    """

    meaning: str
    compute: Callable[[CandidateFacts], Numbers]
    is_standardized: bool = False
    is_of_words: bool = False
    outweighs_others: bool = False
    is_conditional: bool = False


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
        "passage": Signal(
            "share of the query's words within ten sentences of its document, in talk and manuals for some questions",
            _passage,
            is_standardized=True,
            is_of_words=True,
            is_conditional=True,
        ),
        "complement": Signal(
            "share of rare words of the query that no better sentence holds; 0 in the document of the best one",
            _complement,
            is_of_words=True,
            outweighs_others=True,
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
        "file_head": Signal(
            "1 for the license and the imports of source code, unless the query asks for them, else 0",
            _file_head,
            outweighs_others=True,
        ),
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
    # Among few candidates, the best is fewer standard deviations above the mean, so the others would outweigh it.
    is_smaller = ~is_standardized & [not SIGNALS[name].outweighs_others for name in names]
    matrix[:, is_smaller] *= min(1.0, np.log(len(facts)) / np.log(CANDIDATES))
    return matrix
