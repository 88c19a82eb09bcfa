"""Vectors in context: neighbor mixing for any vector store, and the context that is embedded before a sentence.

A LangChain store embeds each text by itself, without its neighbors. So a retriever embeds the sentences itself, mixes
their vectors, and gives the store texts that carry these vectors. The store passes the texts to its embedder, which is
`NeighborMixedEmbeddings`, and gets the vectors back. Batches, threads and event loops can't separate a vector from its
text.

A sentence often doesn't say what it is about. Its headings do, or a line written for it (Anthropic, "Introducing
Contextual Retrieval", 2024). Embedders read only the beginning of a text, such as 256 tokens, so the length of a
context is limited.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, Self, TypeAlias

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._display import described, shown
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_neighbor_weights
from langchain_sentence_window.documents.keys import DOC_ID, HEADING, KIND, LEAD_IN, SECTION_START, SENTENCE_INDEX
from langchain_sentence_window.documents.metadata_values import is_index, stored_form
from langchain_sentence_window.errors import EmbeddingError, InvalidInputError
from langchain_sentence_window.splitting.blocks import MESSAGE, shorten, shorten_path
from langchain_sentence_window.splitting.transcripts import speaker_of

from .embedder import embed_in_slices, embed_query, embed_texts
from .named_embedders import checked_embedding
from .vectors import NEIGHBOR_WEIGHTS, NOWHERE, Positions, mix_neighbors, to_rows


class NeighborMixedEmbeddings(Embeddings):
    """An embedder for a vector store that holds vectors in context: each is mixed with the vectors of its neighbors.

    It mixes the vectors of documents that a `SentenceWindowRetriever` adds to the store, as `FaissStore` does. Queries
    and all other texts are embedded as they are.

    Examples:
        >>> store = InMemoryVectorStore(NeighborMixedEmbeddings(embedding))  # doctest: +SKIP
        >>> retriever = SentenceWindowRetriever(vectorstore=store)       # doctest: +SKIP
    """

    def __init__(self, embedding: Embeddings, neighbor_weights: Sequence[float] = NEIGHBOR_WEIGHTS) -> None:
        """Choose an embedder and the weights of neighbors.

        Args:
            embedding: The embedder of texts and queries.
            neighbor_weights: Weights of the sentence itself, of the sentences next to it in its section, of those
                two away, and so on; 0 or more, the first above 0.

        Raises:
            InvalidInputError: ``embedding`` isn't an embedder, or a weight is out of its range.
        """
        self.embedding = checked_embedding(embedding)
        self.neighbor_weights = checked_neighbor_weights(neighbor_weights)

    def __repr__(self) -> str:
        """Return the class of the embedder, and the weights if they aren't the default."""
        weights = self.neighbor_weights
        others = "" if weights == NEIGHBOR_WEIGHTS else f", neighbor_weights={weights}"
        return f"{type(self).__name__}({described(self.embedding)}{others})"

    def embed_query(self, text: str) -> list[float]:
        """Embed a query, alone."""
        return self.embedding.embed_query(text)

    async def aembed_query(self, text: str) -> list[float]:
        """Async version of `embed_query`."""
        return await embed_query(ASYNC, self.embedding, text)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return the vectors that texts carry, and embed texts that carry none."""
        plain = _texts_to_embed(texts)
        return _collect_vectors(texts, plain, run(embed_texts(BLOCKING, self.embedding, plain)))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Async version of `embed_documents`."""
        plain = _texts_to_embed(texts)
        return _collect_vectors(texts, plain, await embed_texts(ASYNC, self.embedding, plain))


class CarriedVectors:
    """Sentences whose texts carry their vectors to a store.

    Attributes:
        documents: The sentence Documents to add to the store.
    """

    def __init__(self, documents: Sequence[Document], vectors: Vectors) -> None:
        """Attach vectors of shape ``(n, dimension)`` to copies of ``n`` documents."""
        self._vectors: Vectors | None = vectors
        self._waiting = set(range(len(documents)))
        self.documents = [
            document.model_copy(update={"page_content": _CarriedText.of(document.page_content, self, row)})
            for row, document in enumerate(documents)
        ]

    def take(self, row: int) -> list[float]:
        """Return the vector of a document.

        Raises:
            EmbeddingError: `finish` was called already.
        """
        if self._vectors is None:
            raise EmbeddingError("the store embeds texts after it reported that they were added; index them again")
        self._waiting.discard(row)
        vector: list[float] = self._vectors[row].tolist()
        return vector

    def finish(self, store: object) -> None:
        """Release the vectors, and check that the store has taken all of them.

        Args:
            store: The store, to be named in messages.

        Raises:
            EmbeddingError: The store has embedded copies of some texts instead.
        """
        self._vectors = None
        if self._waiting:
            raise EmbeddingError(
                f"{type(store).__name__} embedded copies of {len(self._waiting)} of {len(self.documents)} texts, so "
                "their vectors aren't mixed; build it with the embedder itself, and index the documents again"
            )


async def embed_and_mix(
    io: IO,
    embedding: NeighborMixedEmbeddings,
    sentences: Sequence[Document],
    contexts: Sequence[str] | None = None,
    *,
    show_progress: bool,
) -> Vectors:
    """Embed sentences, each text once, and mix their vectors.

    Args:
        io: Makes the calls.
        embedding: The embedder of the store.
        sentences: All sentences of some documents, in order.
        contexts: A text to put before each sentence when it is embedded; ``None`` for none.
        show_progress: Whether to show a progress bar.

    Returns:
        Unit vectors, shape ``(n, dimension)``; ``(0, 0)`` for no sentences.

    Raises:
        EmbeddingError: The embedder returned the wrong number of vectors, or unusable ones.
    """
    texts = [sentence.page_content for sentence in sentences]
    if contexts is not None:
        texts = [context + text for context, text in zip(contexts, texts, strict=True)]
    row_of, slices = dict[str, int](), [np.empty((0, 0), dtype=np.float32)]

    async def keep(part: Sequence[str], unit: Vectors) -> None:
        row_of.update(zip(part, count(len(row_of))))
        slices.append(unit)

    await embed_in_slices(io, embedding.embedding, list(dict.fromkeys(texts)), keep, show_progress=show_progress)
    vectors = np.concatenate(slices[1:] or slices)[[row_of[text] for text in texts]]
    return _mixed(embedding, sentences, vectors)


def carry_mixed(embedding: NeighborMixedEmbeddings, sentences: Sequence[Document], vectors: Vectors) -> CarriedVectors:
    """Mix vectors of sentences that are embedded already.

    Args:
        embedding: The embedder of the store.
        sentences: All sentences of some documents, in order.
        vectors: Their unit vectors, shape ``(n, dimension)``.
    """
    return CarriedVectors(sentences, _mixed(embedding, sentences, vectors))


def _mixed(embedding: NeighborMixedEmbeddings, sentences: Sequence[Document], vectors: Vectors) -> Vectors:
    return mix_neighbors(vectors, _positions_of(sentences), embedding.neighbor_weights)


class _CarriedText(str):
    """A text that carries its vector to `NeighborMixedEmbeddings`."""

    _carrier: CarriedVectors
    _row: int

    @classmethod
    def of(cls, text: str, carrier: CarriedVectors, row: int) -> Self:
        carried = cls(text)
        carried._carrier, carried._row = carrier, row
        return carried

    def vector(self) -> list[float]:
        return self._carrier.take(self._row)

    # A copy in memory carries the vector, too. One for another process is a plain text.
    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> tuple[type[str], tuple[str]]:
        return str, (str.__str__(self),)


def _texts_to_embed(texts: Sequence[str]) -> list[str]:
    """Return the texts that carry no vector."""
    return [text for text in texts if not isinstance(text, _CarriedText)]


def _collect_vectors(texts: Sequence[str], plain: Sequence[str], embedded: object) -> list[list[float]]:
    """Return the vector of each text: the one that it carries, or the one embedded for it."""
    rows = iter(to_rows(embedded, plain).tolist() if plain else ())
    return [text.vector() if isinstance(text, _CarriedText) else next(rows) for text in texts]


def _positions_of(documents: Iterable[Document]) -> Positions:
    """Return the positions of sentences, which are in order by document."""
    numbers: dict[str, int] = {}
    rows: list[tuple[int, int, int]] = []
    for document in documents:
        doc_id, index, section = sentence_key(document.metadata)
        number = NOWHERE if doc_id is None or index is None else numbers.setdefault(doc_id, len(numbers))
        rows.append((number, section, index or 0))
    return Positions(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


Situate: TypeAlias = Callable[[Document, Document], str]
"""Takes a source document and one of its sentences, and returns a line that says what the sentence is about.

The line is shortened if it and the heading path are wider than `MAX_CONTEXT_WIDTH`."""

MAX_CONTEXT_WIDTH = 320
"""Maximum width of a context. It leaves room for the sentence in an embedder that reads 256 tokens.

The width estimates tokens: ASCII punctuation counts as two characters, as it may be a token, and a character outside
ASCII as three, as tokenizers split words of other scripts into letters or bytes."""

MAX_HEADINGS_WIDTH = 160
"""Maximum width of a heading path that isn't shortened."""

MAX_CUT_HEADINGS_WIDTH = 100
"""Width to which a wider heading path is shortened. Outer headings are dropped first; the whole path would outweigh a
short sentence."""

MAX_SPEAKER_WIDTH = 60
"""Maximum width of a speaker's name."""

_ASCII_MARK = re.compile(r"[!-/:-@\[-`{-~\x00-\x08\x0e-\x1b\x7f]")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def contexts_of(
    sentences: Sequence[Document], documents: Mapping[str, Document], situate: Situate | None, *, headings: bool
) -> list[str]:
    """Return the context of each sentence: its heading path, the line of ``situate`` and who speaks.

    The first two have a line each. A message names its speaker in its first sentence alone, so the name is put before
    each of the others.

    Args:
        sentences: Sentence Documents.
        documents: The source documents by their ids.
        situate: Returns a line for a sentence, or an empty string; ``None`` for no lines.
        headings: Whether to begin with the heading path.

    Raises:
        InvalidInputError: ``situate`` returned something other than a string.
    """
    contexts = list[str]()
    speakers: dict[tuple[str, int], str] = {}
    for sentence in sentences:
        path = fitted_headings(sentence.metadata.get(HEADING, "")) if headings else ""
        speaker = _speaker_before(sentence, speakers)
        line = situate(documents[sentence.metadata[DOC_ID]], sentence) if situate is not None else ""
        if not isinstance(line, str):
            raise InvalidInputError(
                f"situate returned {shown(line)} for {sentence.page_content[:80]!r}; it must return a string. "
                "Nothing was stored"
            )
        if line:
            line = _shorten_to_width(shorten, line, MAX_CONTEXT_WIDTH - _text_width(path) - _text_width(speaker))
        contexts.append("".join(f"{each}\n" for each in (path, line) if each) + speaker)
    return contexts


def _speaker_before(sentence: Document, speakers: dict[tuple[str, int], str]) -> str:
    """Return ``Name: `` for a sentence after the first of a message; remember the speaker of a first one."""
    metadata = sentence.metadata
    if metadata.get(KIND) != MESSAGE:
        return ""
    lead_in = metadata.get(LEAD_IN)
    if lead_in is None:
        name = _shorten_to_width(shorten, speaker_of(sentence.page_content), MAX_SPEAKER_WIDTH - len(": "))
        speakers[metadata[DOC_ID], metadata[SENTENCE_INDEX]] = f"{name}: " if name else ""
        return ""
    return speakers.get((metadata[DOC_ID], lead_in), "")


def fitted_headings(path: str) -> str:
    """Return a heading path, shortened to `MAX_CUT_HEADINGS_WIDTH` if it is wider than `MAX_HEADINGS_WIDTH`."""
    if 3 * len(path) <= MAX_HEADINGS_WIDTH or _text_width(path) <= MAX_HEADINGS_WIDTH:  # no character is wider than 3
        return path
    return _shorten_to_width(shorten_path, path, MAX_CUT_HEADINGS_WIDTH)


def _shorten_to_width(shortened: Callable[[str, int], str], text: str, widest: int) -> str:
    """Shorten a text until it is no wider than ``widest``."""
    text = shortened(text, widest)
    while (over := _text_width(text) - widest) > 0:
        text = shortened(text, len(text) - (over + 2) // 3)
    return text


def _text_width(text: str) -> int:
    return len(text) + len(_ASCII_MARK.findall(text)) + 2 * len(_BEYOND_ASCII.findall(text))


def sentence_key(metadata: Mapping[str, Any]) -> tuple[str | None, int | None, int]:
    """Read from metadata which sentences are neighbors: the document, the index in it, and the section's first index.

    Returns:
        ``(doc_id, index, section)``; ``None`` for a missing or invalid document or index, 0 for such a section.
    """
    doc_id, index, section = (stored_form(metadata.get(key)) for key in (DOC_ID, SENTENCE_INDEX, SECTION_START))
    return (
        doc_id if isinstance(doc_id, str) else None,
        index if is_index(index) else None,
        section if is_index(section) else 0,
    )
