"""Corpora of any size, made block by block, so that ten million sentences never are in memory at once.

A `Stream` gives sentences with their vectors, and questions. Texts are made by chance. Vectors are either made by
chance, in the shape of real ones (`synthetic`), or those of real sentences (`of_vectors`). Everything follows from a
seed: the same block is the same each time, and a small stream's texts are the beginning of a large one's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
import numpy.typing as npt
from langchain_core.documents import Document

from benchmarks.corpus import DIMENSION, PER_DOCUMENT, sentences_of, unit, words_of
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS, Positions, mix_neighbors

Vectors = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]

BLOCK = 50_000
"""Sentences in a block; whole documents."""
QUERIES = 200
ASKED_BLOCKS = 8
"""How many blocks questions are about, as others needn't be made to ask them."""
_TEXTS, _DRAWN, _ASKED, _SHAPE = 1, 2, 3, 4
"""What a source of chance is for, beside the seed."""

# The shape of synthetic vectors, chosen so that cosines at all ranks, neighbors' cosines, the spectrum, and the recall
# of FAISS's quantized and partitioned indexes are about those of 27,000 real sentences under all-MiniLM-L6-v2.
SENTENCES_OF = {"field": 2_000, "subject": 200, "document": PER_DOCUMENT, "paragraph": 5, "sentence": 1}
SHARES = {"all": 0.06, "field": 0.07, "subject": 0.12, "document": 0.09, "paragraph": 0.14, "sentence": 0.52}
"""Each vector is a sum of vectors that it shares with others; these are their shares of its square."""
QUESTION_NOISE = (0.45, 1.35)
"""The length of what a question's vector has beyond that of the sentence it asks for, evenly in between."""

# Beyond their number, real vectors are blended in pairs: runs of 20 with runs of 20, as documents have neighbors.
BLEND_WEIGHTS = (0.55, 1.0)
BLEND_NOISE = 0.012


class VectorSource(Protocol):
    """Where a stream's vectors come from."""

    def block(self, number: int, rows: int) -> Vectors:
        """Return unit vectors of a block, shape ``(rows, dimension)``, before they are mixed with neighbors'."""

    def questions(self, stream: "Stream") -> tuple[Vectors, Rows]:
        """Return unit vectors of questions, and of each the sentence whose words it has."""


@dataclass(frozen=True)
class Stream:
    """Sentences in documents of 20, with vectors, and questions about them.

    Attributes:
        count: The number of sentences.
        source: Where vectors come from.
        seed: The seed of all chance.
    """

    count: int
    source: VectorSource
    seed: int = 1

    @property
    def blocks(self) -> range:
        """The numbers of the blocks."""
        return range(-(-self.count // BLOCK))

    def rows(self, number: int) -> range:
        """The sentences of a block."""
        return range(number * BLOCK, min((number + 1) * BLOCK, self.count))

    def vectors(self, number: int) -> Vectors:
        """The unit vectors of a block."""
        return self.source.block(number, len(self.rows(number)))

    def texts(self, number: int) -> list[str]:
        """The texts of a block."""
        return sentences_of(
            _words(self.seed), len(self.rows(number)), np.random.default_rng([self.seed, _TEXTS, number])
        )

    def documents(self, number: int) -> list[Document]:
        """The sentences of a block as a splitter makes them, a space apart."""
        made, start = [], 0
        for row, text in zip(self.rows(number), self.texts(number), strict=True):
            document, index = divmod(row, PER_DOCUMENT)
            start = start if index else 0
            metadata = {
                "source": f"folder/{document}.md",
                "doc_id": str(document),
                "sentence_index": index,
                "start_index": start,
                "end_index": start + len(text),
                "section_start": 0,
                "section_end": PER_DOCUMENT,
            }
            made.append(Document(id=sentence_id(str(document), index), page_content=text, metadata=metadata))
            start += len(text) + 1
        return made

    def asked(self) -> tuple[list[str], Vectors]:
        """Questions of twelve words, and their unit vectors, shape ``(QUERIES, dimension)`` or fewer."""
        vectors, rows = self.source.questions(self)
        texts: dict[int, list[str]] = {}
        for number in sorted({int(row) // BLOCK for row in rows}):
            texts[number] = self.texts(number)
        found = (texts[int(row) // BLOCK][int(row) % BLOCK] for row in rows)
        return [" ".join(text.split()[:12]) for text in found], vectors


class Synthetic:
    """Vectors by chance, in the shape of real ones: a common part, and parts shared within fields, documents and so on.

    Components have the variances of real ones along directions drawn once, so no index gains by its own axes.
    """

    def __init__(self, count: int, seed: int = 1) -> None:
        """Draw what all blocks share."""
        self._count, self._seed = count, seed
        chance = np.random.default_rng([seed, _SHAPE])
        number = np.arange(DIMENSION)
        variances = (number + 2) ** -0.8 * (1 - ((number + 0.5) / DIMENSION) ** 2) ** 1.5
        self._lengths = np.sqrt(variances / variances.sum()).astype(np.float32)
        self._axes = np.linalg.qr(chance.standard_normal((DIMENSION, DIMENSION)))[0].astype(np.float32)
        self._all = unit(self._draw(1, chance))
        self._fields = self._draw(max(4, count // SENTENCES_OF["field"]), chance)

    def block(self, number: int, rows: int) -> Vectors:
        """Return the unit vectors of a block."""
        chance = np.random.default_rng([self._seed, _DRAWN, number])
        of_row, total = np.arange(rows), np.sqrt(SHARES["all"]) * np.repeat(self._all, rows, axis=0)
        for name in ("subject", "document", "paragraph", "sentence"):
            size = SENTENCES_OF[name]
            drawn = np.sqrt(SHARES[name]) * self._draw(-(-rows // size), chance)
            if name == "subject":
                drawn += np.sqrt(SHARES["field"]) * self._fields[chance.integers(0, len(self._fields), len(drawn))]
            total += drawn[of_row // size]
        return self._placed(total)

    def questions(self, stream: Stream) -> tuple[Vectors, Rows]:
        """Return vectors around those of sentences drawn by chance."""
        chance = np.random.default_rng([self._seed, _ASKED])
        rows = some_rows(stream, QUERIES, chance)
        vectors = np.empty((QUERIES, DIMENSION), dtype=np.float32)
        for number in sorted(set((rows // BLOCK).tolist())):
            within = rows // BLOCK == number
            vectors[within] = truth_vectors(stream, number)[rows[within] % BLOCK]
        noise = chance.uniform(*QUESTION_NOISE, (QUERIES, 1)) * self._placed(self._draw(QUERIES, chance))
        return unit((vectors + noise).astype(np.float32)), rows

    def _draw(self, count: int, chance: np.random.Generator) -> Vectors:
        drawn: Vectors = chance.standard_normal((count, DIMENSION), dtype=np.float32) * self._lengths
        return drawn

    def _placed(self, vectors: Vectors) -> Vectors:
        placed: Vectors = unit(vectors.astype(np.float32)) @ self._axes
        return placed


class Real:
    """Vectors of real sentences, in the order of their documents, and of real questions."""

    def __init__(self, vectors: Vectors, questions: Vectors, seed: int = 1) -> None:
        """Keep the unit vectors of sentences, shape ``(n, dimension)``, and of questions."""
        self._vectors, self._questions, self._seed = vectors, questions[:QUERIES], seed

    def block(self, number: int, rows: int) -> Vectors:
        """Return a block: the sentences as they are up to their number, and blends beyond it."""
        first = number * BLOCK
        own = self._vectors[first : first + rows]
        if len(own) == rows:
            return own
        chance = np.random.default_rng([self._seed, _DRAWN, number])
        blended = self._blended(rows, chance)
        blended[: len(own)] = own
        return blended

    def _blended(self, rows: int, chance: np.random.Generator) -> Vectors:
        runs, within = -(-rows // PER_DOCUMENT), np.arange(PER_DOCUMENT)
        starts = chance.integers(0, len(self._vectors) - PER_DOCUMENT + 1, (2, runs, 1))
        one, other = (self._vectors[(each + within).reshape(-1)[:rows]] for each in starts)
        weights = np.repeat(chance.uniform(*BLEND_WEIGHTS, runs), PER_DOCUMENT)[:rows, None].astype(np.float32)
        noise = BLEND_NOISE * chance.standard_normal(one.shape, dtype=np.float32)
        blended: Vectors = unit(weights * one + (1 - weights) * other + noise)
        return blended

    def questions(self, stream: Stream) -> tuple[Vectors, Rows]:
        """Return the real questions' vectors; their words are those of sentences drawn by chance."""
        chance = np.random.default_rng([self._seed, _ASKED])
        return self._questions, some_rows(stream, len(self._questions), chance)


def some_rows(stream: Stream, count: int, chance: np.random.Generator) -> Rows:
    """Draw sentences from a few blocks, sorted."""
    blocks = chance.permutation(len(stream.blocks))[:ASKED_BLOCKS]
    drawn = [stream.rows(int(number)) for number in chance.choice(blocks, count)]
    return np.sort(np.array([chance.integers(rows.start, rows.stop) for rows in drawn], dtype=np.int64))


def truth_vectors(stream: Stream, number: int) -> Vectors:
    """The vectors of a block as an exact store compares them: half precision, mixed in single precision."""
    rows = np.array(stream.rows(number))
    positions = Positions(rows // PER_DOCUMENT, np.zeros(len(rows), dtype=np.int64), rows % PER_DOCUMENT)
    stored = stream.vectors(number).astype(np.float16).astype(np.float32)
    return mix_neighbors(stored, positions, NEIGHBOR_WEIGHTS)


def all_vectors(stream: Stream) -> Iterator[tuple[int, Vectors]]:
    """Yield each block's first sentence, and its vectors as an exact store compares them."""
    for number in stream.blocks:
        yield number * BLOCK, truth_vectors(stream, number)


@cache
def _words(seed: int) -> list[str]:
    return words_of(np.random.default_rng([seed, _TEXTS]))
