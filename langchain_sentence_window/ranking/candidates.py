"""`Candidates`: the sentences that a search found, as columns that ranking reads."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, overload

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import SentenceKey

Numbers: TypeAlias = npt.NDArray[np.float64]
Indexes: TypeAlias = npt.NDArray[np.int64]

DocumentFrequency: TypeAlias = Callable[[Sequence[str]], tuple[Sequence[int], int]]
"""Takes words, and returns how many sentences hold each, and how many sentences there are."""

NO_TEXT = -1
"""The position of a text that isn't known, or that is of another section."""


class JoinedTexts(Sequence[str]):
    """Texts that are parts of one long text, each cut out only when it is asked for.

    What reads all of them, as ranking does, reads the long text once instead.

    Attributes:
        joined: The long text. Around each text stands a line break there, or an end.
        starts: Where each of the ``n`` texts starts in it.
        ends: One past where each ends.
    """

    __slots__ = ("ends", "joined", "starts")

    def __init__(self, joined: str, starts: Indexes, ends: Indexes) -> None:
        """Look at a long text."""
        self.joined, self.starts, self.ends = joined, starts, ends

    @classmethod
    def of(cls, texts: Iterable[str]) -> "JoinedTexts":
        """Join texts, with a line break between every two."""
        given = list(texts)
        ends = np.cumsum(np.fromiter(map(len, given), dtype=np.int64, count=len(given)) + 1) - 1
        starts = np.concatenate([np.zeros(min(1, len(given)), dtype=np.int64), ends[:-1] + 1])
        return cls("\n".join(given), starts, ends)

    @property
    def lengths(self) -> Indexes:
        """The characters of each text."""
        return self.ends - self.starts

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> "JoinedTexts": ...

    def __getitem__(self, at: int | slice) -> "str | JoinedTexts":
        """Return a text, or some of them."""
        if isinstance(at, slice):
            return JoinedTexts(self.joined, self.starts[at], self.ends[at])
        return self.joined[self.starts[at] : self.ends[at]]

    def __eq__(self, other: object) -> bool:
        """Return whether another sequence holds the same texts."""
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Sentences that a search found, in any order.

    There are ``n`` candidates. Arrays and sequences have ``n`` items, if nothing else is said.

    Attributes:
        keys: The document and the index of each.
        section_starts: Index of the first sentence of its section.
        section_ends: One past the index of its section's last sentence.
        dense: Its score by meaning, such as a cosine; higher is better.
        lexical: Its BM25 score, with shares of its neighbors'; 0 without a lexical search.
        texts: ``n`` texts of the candidates in their order, then any number of texts of their neighbors.
        before: The position in ``texts`` of the sentence before it in its section; `NO_TEXT` if it isn't known.
        after: The position of the sentence after it, likewise.
        headings: Its heading path; empty if there is none.
        kinds: The kind of its block, see `langchain_sentence_window.splitting.blocks`; empty if it isn't known.
        document_frequency: Counts the sentences of the collection that hold a word; ``None`` if only the candidates are
            known. Words are in lower case.
        scores: The score that the search itself gives it, by meaning and words; ``None`` if it gives none.
        documents: A number for each document, to tell them apart quickly; ``None`` to tell them by ``keys``.
    """

    keys: Sequence[SentenceKey]
    section_starts: Indexes
    section_ends: Indexes
    dense: Numbers
    lexical: Numbers
    texts: Sequence[str]
    before: Indexes
    after: Indexes
    headings: Sequence[str]
    kinds: Sequence[str]
    document_frequency: DocumentFrequency | None = None
    scores: Numbers | None = None
    documents: Indexes | None = None

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.keys)
