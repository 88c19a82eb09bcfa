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
        if splitter is not None and not isinstance(splitter, SentenceSplitter):
            raise InvalidInputError(f"splitter is {shown(splitter)}; give a SentenceSplitter, or None")
        is_function = callable(embedding) and not is_embedder(embedding)
        self._given: Any = embedding if is_function else checked_embedding(embedding)
        self._splitter = splitter or SentenceSplitter()
        self._embed_headings = checked_flag("embed_headings", embed_headings)
        self._situate = situate
        self.limits = limits
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
        prepared = self.prepare(self.group(documents))
        return prepared.sentences, self.embed(prepared)

    def group(self, documents: Sequence[Document]) -> list[Group]:
        """Bring the parts of each document together."""
        return group_documents(checked_documents(documents), self._splitter.join_parts)

    def prepare(self, groups: Sequence[Group]) -> Prepared:
        """Split documents whose parts are grouped."""
        return Preparation(self._splitter, self.limits, self._embed_headings, self._situate)(groups)

    def embed(self, prepared: Prepared) -> Vectors:
        """Embed sentences and mix their vectors, shape ``(n, dimension)``."""
        flow = embed_and_mix(BLOCKING, self._embedding, prepared.sentences, prepared.contexts, show_progress=False)
        # The sign of a zero would tell which documents stood beside it.
        vectors: Vectors = run(flow) + np.float32(0)
        return vectors

    def fingerprints(self, groups: Sequence[Group]) -> dict[str, str]:
        """Return the `fingerprint` of each document by its name."""
        of_splitter = {name: _name_function(value) for name, value in self._splitter.settings.items()}
        embedder, weights = describe_embedder(self._embedding.embedding), self._embedding.neighbor_weights
        settings = [FORMAT, of_splitter, embedder, weights, self._embed_headings, _name_function(self._situate)]
        written = _canonical(settings)
        return {group.doc_id: fingerprint(written, group.doc_id, group.parts) for group in groups}

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


FORMAT = 1
"""Counts changes of this module that change fingerprints."""

_DIGEST_SIZE = 16


def fingerprint(settings: str, name: str, parts: Sequence[Part]) -> str:
    """Return the fingerprint of a document; parts that are numbered may come in any order.

    Args:
        settings: All that decides, besides the document itself, which rows are made of it.
        name: The name of the document.
        parts: All of its parts.

    Returns:
        32 hexadecimal digits.
    """
    fitted = MetadataFitter(JSON).fit([part.document for part in parts])  # as it is stored, however it was given
    written = [_canonical([part.text, each.metadata]) for part, each in zip(parts, fitted, strict=True)]
    if all(part.is_numbered for part in parts):
        written.sort()
    whole = _canonical([settings, name, written])
    return blake2b(whole.encode(), digest_size=_DIGEST_SIZE).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)


def _name_function(value: Any) -> Any:
    """Return the name of a function, as its ``repr`` has an address; return any other value as it is."""
    if not callable(value):
        return value
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
