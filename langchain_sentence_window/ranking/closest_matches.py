"""Which of the sentences found with a sentence's own vector tell how close unrelated places of a collection come.

Almost every sentence is close to itself, to those beside it and to its copies. None of these says how close another
place is that speaks of the same.
"""

from collections.abc import Iterable
from typing import NamedTuple

from langchain_sentence_window.ranking.relevance import NEARBY


class PlacedText(NamedTuple):
    """The text of a sentence, or of another Document, and where it stands.

    Attributes:
        document: The number of its source document; ``None`` if it isn't a sentence of one.
        sentence_index: The index of the sentence in its source document; ``None`` if it has none.
        text: Its text.
    """

    document: int | None
    sentence_index: int | None
    text: str


def closest_match(sentence: PlacedText, found: Iterable[tuple[PlacedText, float]]) -> float | None:
    """Return the score of the best match that is elsewhere and says something else.

    Matches don't count if they are at most `NEARBY` sentences away in the same document, which the sentence itself is
    too, or if their text differs in case and white space only.

    Args:
        sentence: The sentence that was searched with.
        found: What was found, with its scores, best first.

    Returns:
        ``None`` if no match counts.
    """
    text = _plain(sentence.text)
    others = (pair for pair in found if not _is_nearby(sentence, pair[0]))
    return next((score for other, score in others if _plain(other.text) != text), None)


def _is_nearby(one: PlacedText, other: PlacedText) -> bool:
    if one.document is None or one.document != other.document:
        return False
    if one.sentence_index is None or other.sentence_index is None:
        return False
    return abs(one.sentence_index - other.sentence_index) <= NEARBY


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
