"""From documents to sentences, and to their vectors: plain functions, which other threads and processes may call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.documents.part_groups import Group, group_documents, warn_of_parts
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.stored_metadata import StoreLimits
from langchain_sentence_window.embedding.contextual_vectors import (
    NeighborMixedEmbeddings,
    Situate,
    contexts_of,
    embed_and_mix,
)


class Prepared(NamedTuple):
    """Documents that are split.

    Attributes:
        doc_ids: Their names; a document without text has no sentence.
        sentences: Their sentence Documents, document by document, in order.
        contexts: For each sentence, the text to put before it when it is embedded.
    """

    doc_ids: list[str]
    sentences: list[Document]
    contexts: list[str]


@dataclass(frozen=True, slots=True)
class Preparation:
    """Splits documents and describes the context of each sentence.

    It can be pickled if ``situate`` can, so that other processes may do this.

    Attributes:
        splitter: Splits them into sentences.
        limits: What metadata the store can hold.
        embed_headings: Whether sentences are embedded with their heading path in front.
        situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
    """

    splitter: SentenceSplitter
    limits: StoreLimits
    embed_headings: bool
    situate: Situate | None

    def __call__(self, groups: Sequence[Group]) -> Prepared:
        """Join the parts of each document, split it and describe the contexts.

        Raises:
            InvalidInputError: The metadata of one names a language that isn't known, or ``situate`` didn't return a
                string.
        """
        joined = [group.join() for group in groups]
        warn_of_parts(joined)
        sentences = self.splitter.split_joined(joined, self.limits)
        by_id = {document.doc_id: document.document for document in joined}
        contexts = contexts_of(sentences, by_id, self.situate, headings=self.embed_headings)
        return Prepared([document.doc_id for document in joined], sentences, contexts)


@dataclass(frozen=True, slots=True)
class SentenceRows:
    """Turns documents into what a vector store holds: sentence Documents and their mixed vectors.

    It can be pickled if its parts can. A document's parts must be in one call, as its sentences are mixed with each
    other.

    Attributes:
        prepare: Splits documents.
        embedding: Embeds and mixes.
    """

    prepare: Preparation
    embedding: NeighborMixedEmbeddings

    def __call__(self, documents: Sequence[Document]) -> tuple[list[Document], Vectors]:
        """Split, embed and mix.

        Returns:
            The sentences, document by document, in order, and their unit vectors, shape ``(n, dimension)``.

        Raises:
            InvalidInputError: As for `group_documents` and `Preparation`.
            EmbeddingError: The embedder returned the wrong number of vectors, or unusable ones.
        """
        prepared = self.prepare(group_documents(documents, self.prepare.splitter.join_parts))
        flow = embed_and_mix(BLOCKING, self.embedding, prepared.sentences, prepared.contexts, show_progress=False)
        return prepared.sentences, run(flow)
