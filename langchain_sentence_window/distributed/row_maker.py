"""`RowMaker`: turns documents into sentences with their vectors; and fingerprints, by which documents are compared.

Two fingerprints are equal if the same document is ingested with the same settings. What changes no sentence and no
vector, such as a device or a batch size, isn't in them.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import is_embedder
from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window._validation import checked_flag
from langchain_sentence_window.documents.part_groups import Group
from langchain_sentence_window.documents.source_documents import JSON, MetadataFitter, StoreLimits
from langchain_sentence_window.documents.source_parts import Part
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings, Situate, embed_and_mix
from langchain_sentence_window.embedding.identity import describe_embedder
from langchain_sentence_window.embedding.named_embedders import checked_embedding
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.indexing import Preparation, Prepared

MakeEmbedding: TypeAlias = Embeddings | Callable[[], Embeddings]
"""An embedder that can be pickled, or a function that loads it, which each worker calls once."""

FORMAT = 1
"""Counts changes of this module that change fingerprints."""

_DIGEST_SIZE = 16


class RowMaker:
    """Splits, embeds and mixes documents as a `SentenceWindowRetriever` does. It can be pickled."""

    def __init__(
        self, embedding: MakeEmbedding, splitter: SentenceSplitter | None, situate: Situate | None, *, headings: bool
    ) -> None:
        """Take the settings; nothing is loaded yet.

        Raises:
            InvalidInputError: A setting can't be used.
        """
        if splitter is not None and not isinstance(splitter, SentenceSplitter):
            raise InvalidInputError(f"splitter is {shown(splitter)}; give a SentenceSplitter, or None")
        is_function = callable(embedding) and not is_embedder(embedding)
        self._given: Any = embedding if is_function else checked_embedding(embedding)
        self.splitter = splitter or SentenceSplitter()
        self._headings = checked_flag("embed_headings", headings)
        self._situate = situate
        self._loaded: NeighborMixedEmbeddings | None = None

    def split(self, groups: Sequence[Group], limits: StoreLimits) -> Prepared:
        """Split documents whose parts are grouped, for a store with some limits."""
        return Preparation(self.splitter, limits, self._headings, self._situate)(groups)

    def embed(self, prepared: Prepared) -> Vectors:
        """Embed sentences and mix their vectors, shape ``(n, dimension)``."""
        flow = embed_and_mix(BLOCKING, self._embedding, prepared.sentences, prepared.contexts, show_progress=False)
        # Adding 0 turns -0 into 0: its sign depends on the other documents of the batch.
        vectors: Vectors = run(flow) + np.float32(0)
        return vectors

    def fingerprints(self, groups: Sequence[Group]) -> dict[str, str]:
        """Return the fingerprint of each document by its name."""
        of_splitter = {name: _name_function(value) for name, value in self.splitter.settings.items()}
        embedder, weights = describe_embedder(self._embedding.embedding), self._embedding.neighbor_weights
        settings = _canonical([FORMAT, of_splitter, embedder, weights, self._headings, _name_function(self._situate)])
        return {group.doc_id: _fingerprint(settings, group.doc_id, group.parts) for group in groups}

    @property
    def _embedding(self) -> NeighborMixedEmbeddings:
        if self._loaded is None:
            embedding = checked_embedding(self._given if is_embedder(self._given) else self._given())
            if not isinstance(embedding, NeighborMixedEmbeddings):
                embedding = NeighborMixedEmbeddings(embedding)
            self._loaded = embedding
        return self._loaded

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the state to pickle, without the loaded embedder."""
        return {**self.__dict__, "_loaded": None}


def _fingerprint(settings: str, name: str, parts: Sequence[Part]) -> str:
    """Return the fingerprint of a document, 32 hexadecimal digits; parts that are numbered may come in any order."""
    fitted = MetadataFitter(JSON).fit([part.document for part in parts])  # as it is stored
    written = [_canonical([part.text, each.metadata]) for part, each in zip(parts, fitted, strict=True)]
    if all(part.is_numbered for part in parts):
        written.sort()
    whole = _canonical([settings, name, written])
    return blake2b(whole.encode(), digest_size=_DIGEST_SIZE).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=repr)


def _name_function(value: Any) -> Any:
    """Return the name of a function, whose ``repr`` holds an address; return any other value as it is."""
    if not callable(value):
        return value
    kind = value if hasattr(value, "__qualname__") else type(value)
    return f"{kind.__module__}.{kind.__qualname__}"
