"""The signals by which candidates of a search are told apart, as columns of numbers.

A signal says one thing about a candidate that a reader can check, such as the share of the query's words around it. No
signal needs a vector, so they are the same for every embedder and store. `langchain_sentence_window.ranking.ranking`
weighs them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import checked_list
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.candidates import Candidates, Indexes, Numbers
from langchain_sentence_window.ranking.evidence import Evidence, best_mean, ends_with_question_mark, rank
from langchain_sentence_window.ranking.fusion import CANDIDATES, standardized

_DIGIT = re.compile(r"\d")
_CAPITALIZED = re.compile(r"(?<=[a-z,] )[A-Z][a-z]")
_NEIGHBOR_SHARE = 0.3
_LONG, _SHORT = 400, 40
_LOG_CHARS = 5.0  # about the logarithm of an average sentence's characters


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
    compute: Callable[[Evidence], Numbers]
    is_standardized: bool = False
    is_of_words: bool = False
    outweighs_others: bool = False


_scored = partial(Signal, is_standardized=True)
_of_words = partial(Signal, is_standardized=True, is_of_words=True)

_TABLE: dict[str, Signal] = {
    # How it was found.
    "dense": _scored("score by meaning", lambda facts: facts.dense),
    "dense_rank": _scored(
        "minus the logarithm of 1 + the number of better scores by meaning", lambda facts: -np.log1p(rank(facts.dense))
    ),
    "dense_near": _scored(
        "best score by meaning of another candidate up to two sentences away in its section",
        lambda facts: facts.dense_near,
    ),
    "document": _scored(
        "mean of its document's three best scores by meaning", lambda facts: best_mean(facts.dense, facts.documents)
    ),
    "section": _scored(
        "mean of its section's three best scores by meaning", lambda facts: best_mean(facts.dense, facts.sections)
    ),
    "lexical": _of_words("BM25 score", lambda facts: facts.lexical),
    "lexical_rank": _of_words(
        "minus the logarithm of 1 + the number of better BM25 scores", lambda facts: -np.log1p(rank(facts.lexical))
    ),
    # Words of the query that it holds.
    "coverage_own": _of_words(
        "share of the query's words in it; rare ones count more", lambda facts: facts.own_coverage
    ),
    "coverage": _of_words(
        "share of the query's words in it, the sentences beside it or its heading path; rare ones count more",
        lambda facts: facts.coverage,
    ),
    "bigrams": _of_words("pairs of adjacent query words in it; rare ones count more", lambda facts: facts.bigrams),
    "bigrams_near": _of_words(
        "the same, with 0.3 of those in each sentence beside it",
        lambda facts: facts.bigrams + _NEIGHBOR_SHARE * facts.bigrams_beside,
    ),
    "numbers": Signal("share of the query's whole numbers in it", lambda facts: facts.numbers, is_of_words=True),
    "names": Signal(
        "share of the query's capitalized words in it, the query's first word left out",
        lambda facts: facts.names,
        is_of_words=True,
    ),
    # Where it stands.
    "place": Signal(
        "1 for the first sentence of a section, less by a factor of e every three sentences",
        lambda facts: np.exp(-facts.places / 3),
    ),
    "first": Signal(
        "1 for the first sentence of a section, else 0", lambda facts: (facts.places == 0).astype(np.float64)
    ),
    "early": Signal(
        "1 for the first sentence of a document, less by a factor of e every five sentences",
        lambda facts: np.exp(-facts.indexes / 5),
    ),
    # Its text and its kind.
    "length": Signal("logarithm of its characters, minus 5", lambda facts: _log_chars(facts.lengths)),
    "window_length": Signal(
        "logarithm of the characters of its window, minus 5: of it, and of the next one if it is short or a label",
        lambda facts: _log_chars(facts.window_lengths),
    ),
    "long": Signal("1 for more than 400 characters, else 0", lambda facts: (facts.lengths > _LONG).astype(np.float64)),
    "short": Signal("1 for less than 40 characters, else 0", lambda facts: (facts.lengths < _SHORT).astype(np.float64)),
    "label": Signal("1 if it only names what follows, else 0", lambda facts: facts.labels),
    "question": Signal("1 if it ends with a question mark, else 0", lambda facts: facts.flags(ends_with_question_mark)),
    "line_break": Signal("1 if it holds a line break, else 0", lambda facts: facts.flags(lambda text: "\n" in text)),
    "digit": Signal("1 if it holds a digit, else 0", lambda facts: facts.flags(_has_digit)),
    "digit_asked": Signal(
        "the same if the query asks for a number or a date in English, else 0",
        lambda facts: facts.flags(_has_digit) if facts.asks_number else np.zeros(len(facts.lengths)),
    ),
    "capitals": Signal(
        "logarithm of 1 + the number of capitalized words inside it", lambda facts: np.log1p(facts.counts(_CAPITALIZED))
    ),
    "capitals_asked": Signal(
        "the same if the query asks for a person, a place or a body in English, else 0",
        lambda facts: np.log1p(facts.counts(_CAPITALIZED)) * facts.asks_name,
    ),
    "heading": Signal("1 for a heading, else 0", lambda facts: facts.kinds("heading")),
    "item": Signal("1 for a list item or a table row, else 0", lambda facts: facts.kinds("list_item", "table_row")),
    "contents": Signal(
        "1 for a line of a table of contents, else 0",
        lambda facts: facts.kinds("contents"),
        outweighs_others=True,
    ),
    "repeated": Signal("1 if another candidate has the same text, else 0", lambda facts: facts.repeated),
}

SIGNALS: Mapping[str, Signal] = MappingProxyType(_TABLE)
"""All signals by name."""


def signals(query: str, candidates: Candidates, names: Sequence[str] = tuple(SIGNALS)) -> Numbers:
    """Compute signals of candidates.

    Args:
        query: Any text.
        candidates: The candidates of a search.
        names: The signals to compute; see `SIGNALS`.

    Returns:
        An array of shape ``(candidates, names)``. With fewer candidates than `CANDIDATES`, signals that aren't
        standardized are smaller than the table says, unless they are to outweigh others.

    Raises:
        InvalidInputError: A name isn't the name of a signal, or a score of the candidates isn't finite.
    """
    unknown = [name for name in checked_list("names", names) if name not in SIGNALS]
    if unknown:
        raise InvalidInputError(f"{shown(unknown[0])} isn't the name of a signal; give names of SIGNALS")
    matrix = np.zeros((len(candidates), len(names)))
    if not matrix.size:
        return matrix
    for scores in (candidates.dense, candidates.lexical):
        if not np.isfinite(scores).all():
            raise InvalidInputError(
                f"a score of {shown(query)} is not finite; give an embedder and a store with finite scores"
            )
    evidence = Evidence(query, candidates)
    for column, name in enumerate(names):
        matrix[:, column] = SIGNALS[name].compute(evidence)
    is_standardized = np.array([SIGNALS[name].is_standardized for name in names])
    matrix[:, is_standardized] = standardized(matrix[:, is_standardized])
    # Among few candidates, the best stands fewer standard deviations above the mean, so the others would outweigh it.
    is_smaller = ~is_standardized & [not SIGNALS[name].outweighs_others for name in names]
    matrix[:, is_smaller] *= min(1.0, np.log(len(candidates)) / np.log(CANDIDATES))
    return matrix


def _log_chars(lengths: Indexes) -> Numbers:
    return np.asarray(np.log(np.maximum(lengths, 1)) - _LOG_CHARS)


def _has_digit(text: str) -> bool:
    return _DIGIT.search(text) is not None
