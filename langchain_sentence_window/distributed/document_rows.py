"""`DocumentRows`: documents in, sentences with their vectors out; a callable that any engine may send to workers.

Fingerprints of documents are equal where the same document is ingested with the same settings. What changes no sentence
and no vector, such as a device or a batch size, isn't in them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import checked_documents, is_embedder
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_flag
from langchain_sentence_window.documents.part_groups import Group, group_documents
from langchain_sentence_window.documents.source_documents import ANY_STORE, JSON, MetadataFitter, StoreLimits
from langchain_sentence_window.documents.source_parts import Part
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings, Situate, embed_and_mix
from langchain_sentence_window.embedding.identity import describe_embedder
from langchain_sentence_window.embedding.named_embedders import checked_embedding
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.indexing import Preparation, Prepared

MakeEmbedding: TypeAlias = Embeddings | Callable[[], Embeddings]
"""An embedder that can be pickled, or a function that loads it, which each worker calls once."""


class DocumentRows:
    """Turns documents into what a vector store holds: sentence Documents, and the vectors to search them by.

    It splits, embeds and mixes, as a `SentenceWindowRetriever` does. It can be pickled, so Ray, Spark or Daft can send
    it to workers. All parts of a document must be in one call, such as all pages of a file.

    Examples:
        >>> rows = DocumentRows(load_embedding)                # doctest: +SKIP
        >>> sentences, vectors = rows(documents)                # doctest: +SKIP
        >>> writer.write(sentences, vectors)                    # doctest: +SKIP
    """

    def __init__(
        self,
        embedding: MakeEmbedding,
        *,
        splitter: SentenceSplitter | None = None,
        embed_headings: bool = True,
        situate: Situate | None = None,
        limits: StoreLimits = ANY_STORE,
    ) -> None:
        """Choose what makes the rows; nothing is loaded yet.

        Args:
            embedding: An embedder that can be pickled, or a function that returns one, which is called once in each
                process. It may be a `NeighborMixedEmbeddings`, whose weights are then used.
            splitter: Splits documents; ``None`` for the default.
            embed_headings: Whether sentences are embedded with their heading path in front.
            situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
            limits: What metadata the store can hold that the rows go to.

        Raises:
            InvalidInputError: A setting can't be used.
        """
        self._given = checked_maker(embedding)
        self._splitter = checked_splitter(splitter)
        self._embed_headings = checked_flag("embed_headings", embed_headings)
        self._situate = situate
        self._prepare = Preparation(self._splitter, limits, self._embed_headings, situate)
        self._loaded: NeighborMixedEmbeddings | None = None

    def __call__(self, documents: Sequence[Document]) -> tuple[list[Document], Vectors]:
        """Split, embed and mix.

        Args:
            documents: Documents with all of their parts.

        Returns:
            The sentences, document by document, in order, and their unit vectors, shape ``(n, dimension)``. Documents
            without text have none.

        Raises:
            InvalidInputError: Two documents have the same id, or one isn't a Document.
            EmbeddingError: The embedder returned the wrong number of vectors, or unusable ones.
        """
        groups = group_documents(checked_documents(documents), self._splitter.join_parts)
        prepared = self.prepare(groups)
        return prepared.sentences, self.embed(prepared)

    def prepare(self, groups: Sequence[Group]) -> Prepared:
        """Split documents whose parts are grouped."""
        return self._prepare(groups)

    def embed(self, prepared: Prepared) -> Vectors:
        """Embed sentences and mix their vectors, shape ``(n, dimension)``."""
        flow = embed_and_mix(BLOCKING, self._embedding, prepared.sentences, prepared.contexts, show_progress=False)
        # The sign of a zero would tell which documents stood beside it.
        vectors: Vectors = run(flow) + np.float32(0)
        return vectors

    def settings(self) -> str:
        """Describe all that decides, besides a document itself, which rows are made of it."""
        of_splitter = {name: _named(value) for name, value in self._splitter.settings.items()}
        embedder, weights = describe_embedder(self._embedding.embedding), list(self._embedding.neighbor_weights)
        return _canonical([FORMAT, of_splitter, embedder, weights, self._embed_headings, _named(self._situate)])

    @property
    def _embedding(self) -> NeighborMixedEmbeddings:
        if self._loaded is None:
            embedding = checked_embedding(self._given if is_embedder(self._given) else self._given())
            if not isinstance(embedding, NeighborMixedEmbeddings):
                embedding = NeighborMixedEmbeddings(embedding)
            self._loaded = embedding
        return self._loaded

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the state to pickle, without what was loaded."""
        return {**self.__dict__, "_loaded": None}


def checked_maker(embedding: object) -> Any:
    """Return an embedder, or a function that makes one.

    Raises:
        InvalidInputError: It is something else.
    """
    return embedding if callable(embedding) and not is_embedder(embedding) else checked_embedding(embedding)


def checked_splitter(splitter: object) -> SentenceSplitter:
    """Return the splitter; the default one for ``None``.

    Raises:
        InvalidInputError: It isn't one, or doesn't join the parts of a source.
    """
    if splitter is None:
        return SentenceSplitter()
    if not isinstance(splitter, SentenceSplitter):
        raise InvalidInputError(f"splitter is {shown(splitter)}; give a SentenceSplitter, or None")
    return splitter


FORMAT = 1
"""Counts changes of this module that change fingerprints."""

_DIGEST_SIZE = 16


def fingerprint(settings: str, name: str, parts: Sequence[Part]) -> str:
    """Return the fingerprint of a document; parts that are numbered may come in any order.

    Args:
        settings: As `DocumentRows.settings` returns them.
        name: The name of the document.
        parts: All of its parts.

    Returns:
        32 hexadecimal digits.
    """
    fitted = MetadataFitter(JSON).fit([part.document for part in parts])  # as it is stored, however it was given
    digests = [_digest(part.text, _canonical(each.metadata)) for part, each in zip(parts, fitted, strict=True)]
    if all(part.is_numbered for part in parts):
        digests.sort()
    return _digest(settings, name, *digests)


def _digest(*texts: str) -> str:
    hashed = blake2b(digest_size=_DIGEST_SIZE)
    for text in texts:
        written = text.encode("utf-8", "surrogatepass")
        hashed.update(f"{len(written)}:".encode())
        hashed.update(written)
    return hashed.hexdigest()


def _canonical(value: Any) -> str:
    try:
        return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)
    except (TypeError, ValueError, RecursionError):  # keys of several types, or what contains itself
        return repr(value)


def _named(value: Any) -> Any:
    """Return a function by its name, as it is described by its address otherwise."""
    if not callable(value):
        return value
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
