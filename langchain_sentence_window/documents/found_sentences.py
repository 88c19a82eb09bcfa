"""Sentences that a store finds, and those beside them that it reads in the same round."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import StoredSentence


@dataclass(frozen=True, slots=True)
class FoundSentences:
    """Sentences that a store found, all of one state of it.

    Attributes:
        sentences: The sentences, best first.
        scores: Their scores.
        similarities: Their scores by meaning.
        beside: Other sentences that were asked for, by document and index, without those that don't exist or that the
            filter forbids.
    """

    sentences: Sequence[StoredSentence]
    scores: Sequence[float]
    similarities: Sequence[float]
    beside: Mapping[SentenceKey, StoredSentence] = field(default_factory=dict)


Beside: TypeAlias = Callable[[FoundSentences], Sequence[SentenceKey]]
"""Returns which sentences to read with those that were found."""
