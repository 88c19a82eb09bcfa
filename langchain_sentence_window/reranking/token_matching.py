"""The similarity of a text to a query, token by token, as arithmetic on vectors.

Each token of the query is compared with all tokens of the text, and its best match counts (ColBERT: Khattab & Zaharia,
arXiv:2004.12832). Rare tokens count more than common ones.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from langchain_sentence_window.ranking.word_matches import inverse_document_frequency

Floats: TypeAlias = npt.NDArray[np.float32]

TEMPERATURE = 0.05
"""Temperature of the soft maximum: near 0 it is the highest cosine, far above 1 the mean. See the benchmarks page."""

COMMON_WORDS = 100
"""The approximate number of most frequent words of a language that count little. See the benchmarks page."""

COMMON_WEIGHT = 0.5
"""The weight of the most frequent word; that of a rare one is about 6."""

_IS_WORD = re.compile(r"(?![\[<])\W*[^\W\d_]{2}")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, without special tokens.

    Attributes:
        ids: Their ids in the model's vocabulary, shape ``(n,)``.
        vectors: Their unit vectors, shape ``(n, dimension)``.
    """

    ids: npt.NDArray[np.int64]
    vectors: Floats


def frequency_ranks(vocabulary: Mapping[str, int]) -> Floats:
    """Return how many words of a language are more frequent than a token, according to the vocabulary.

    The ids of tokens that a tokenizer learned are in the order of their frequency, the most frequent first.

    Args:
        vocabulary: The ids of the tokens.

    Returns:
        For each id, from 0, the number of words before it. A token is a word if it begins with two letters, marks such
        as ``##`` aside; ``[CLS]`` and ``<s>`` aren't.
    """
    words = np.zeros(max(vocabulary.values(), default=0) + 2, dtype=np.float32)
    words[[index + 1 for token, index in vocabulary.items() if _IS_WORD.match(token)]] = 1
    ranks: Floats = np.cumsum(words, dtype=np.float32)[:-1]
    return ranks


def token_weights(query: Tokens, texts: Sequence[Tokens], ranks: Floats) -> Floats:
    """Return how much each token of the query counts.

    A weight is the token's idf, with the candidates as the corpus, times the logarithm of its rank in the language: by
    Zipf's law, minus the logarithm of its frequency. A token that no candidate contains doesn't distinguish
    them, so it gets the mean weight of the others.

    Args:
        query: The tokens of the query.
        texts: The tokens of each candidate.
        ranks: The rank of each token of the vocabulary, see `frequency_ranks`.

    Returns:
        A weight above 0 for each token of the query.
    """
    containing = sum((np.isin(query.ids, text.ids) for text in texts), np.zeros(len(query.ids)))
    idf = inverse_document_frequency(containing, len(texts))
    is_contained = containing > 0
    if is_contained.any():
        idf[~is_contained] = idf[is_contained].mean()
    weights: Floats = (idf * (COMMON_WEIGHT + np.log1p(ranks[query.ids] / COMMON_WORDS))).astype(np.float32)
    return weights


def soft_maxsim(query: Tokens, text: Tokens, weights: Floats) -> float:
    """Return the weighted mean, over the query's tokens, of their soft maximum cosine with the text's tokens.

    MaxSim of ColBERT takes the highest cosine. With many tokens one of them is similar to any other by chance, so long
    texts would win by their length. The soft maximum is the logarithm of the mean of exponentials, which grows less
    with length.

    Args:
        query: The tokens of the query.
        text: The tokens of the text.
        weights: The weight of each token of the query, see `token_weights`.

    Returns:
        1 if all tokens of both have the same direction; 0 if all are orthogonal, or if either has no tokens.
    """
    if not len(query.ids) or not len(text.ids):
        return 0.0
    powers = np.exp(np.einsum("id,jd->ij", query.vectors, text.vectors) / TEMPERATURE)
    return float(np.average(TEMPERATURE * np.log(powers.mean(axis=1)), weights=weights))


def join_tokens(parts: Sequence[Tokens]) -> Tokens:
    """Return the tokens of the parts of a text, one or more, as one."""
    return Tokens(np.concatenate([part.ids for part in parts]), np.concatenate([part.vectors for part in parts]))
