"""Candidates made of the sentences that a store found, for stores that don't rank themselves."""

from collections.abc import Mapping, Sequence

import numpy as np

from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import StoredSentence
from langchain_sentence_window.ranking.candidates import NO_TEXT, Candidates


def candidates_of(
    found: Sequence[StoredSentence], scores: Sequence[float], lexical: Mapping[int, float], numbers: Sequence[int]
) -> Candidates:
    """Make candidates of sentences that a store found.

    The texts beside a sentence are known if they were found too, or if they are in its inline window.

    Args:
        found: The sentences.
        scores: The store's score of each.
        lexical: BM25 scores by number; a missing one is 0.
        numbers: The number of each sentence.
    """
    texts = [sentence.text for sentence in found]
    positions: dict[SentenceKey, int] = {}
    for position, sentence in enumerate(found):
        positions.setdefault(sentence.key, position)
    for sentence in found:
        for other in sentence.window:
            key = other.key
            if abs(other.index - sentence.index) == 1 and key not in positions:
                positions[key] = len(texts)
                texts.append(other.text)

    def beside(sentence: StoredSentence, index: int) -> int:
        if not sentence.section_start <= index < sentence.section_end:
            return NO_TEXT
        return positions.get((sentence.doc_id, index), NO_TEXT)

    return Candidates(
        keys=[sentence.key for sentence in found],
        section_starts=np.array([sentence.section_start for sentence in found], dtype=np.int64),
        section_ends=np.array([sentence.section_end for sentence in found], dtype=np.int64),
        dense=np.array(scores, dtype=np.float64),
        lexical=np.array([lexical.get(number, 0.0) for number in numbers], dtype=np.float64),
        texts=texts,
        before=np.array([beside(sentence, sentence.index - 1) for sentence in found], dtype=np.int64),
        after=np.array([beside(sentence, sentence.index + 1) for sentence in found], dtype=np.int64),
        headings=[sentence.heading for sentence in found],
        kinds=[sentence.kind for sentence in found],
    )
