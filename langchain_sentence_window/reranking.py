"""What rerankers share: settings, order, traced runs, and the places of hits in a text."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from langchain_core.runnables import RunnableLambda
from pydantic import ConfigDict, ValidationError

from langchain_sentence_window.errors import InvalidInputError, checked_count, invalid_settings
from langchain_sentence_window.metadata import END_INDEX, HITS, RELEVANCE_SCORE, START_INDEX
from langchain_sentence_window.passages import Count, passages
from langchain_sentence_window.spans import Span
from langchain_sentence_window.splitter import SentenceSplitter

USUAL_LENGTH = 512
"""Tokens that a model is taken to read if it doesn't say."""


class Reranker(BaseDocumentCompressor):
    """Order documents by a score of its own.

    What comes back are copies with ``relevance_score`` added to their metadata. A retriever's ``score``
    stays, and the documents handed in are left as they are. Callbacks see it as a run of its own, under
    the retriever's.
    """

    top_n: int | None = None
    """How many documents to keep; ``None`` for all."""
    min_score: float | None = None
    """The lowest ``relevance_score`` to keep, in its own scale; ``None`` for all."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, **settings: Any) -> None:
        """Take the fields as keywords and check them.

        Raises:
            InvalidInputError: One doesn't exist, is of a wrong type or out of its range.
        """
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise invalid_settings(type(self).__name__, error.errors()) from error
        if self.top_n is not None:
            checked_count("top_n", self.top_n)
        if self.min_score is not None and math.isnan(self.min_score):
            raise InvalidInputError("min_score is nan; it must be a number, or None for all")

    @abstractmethod
    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Score each document, in order; higher is better."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the best documents, best first; equal ones keep their order.

        Raises:
            InvalidInputError: The model doesn't give one number for each text it is asked about.
        """
        given = {"query": query, "documents": list(documents)}
        ranked: list[Document] = RunnableLambda(self._ranked).invoke(given, self._config(callbacks))
        return ranked

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Do what `compress_documents` does, in a thread."""
        given = {"query": query, "documents": list(documents)}
        ranked: list[Document] = await RunnableLambda(self._ranked).ainvoke(given, self._config(callbacks))
        return ranked

    def _config(self, callbacks: Callbacks | None) -> Any:
        return {"callbacks": callbacks, "run_name": type(self).__name__}

    def _ranked(self, given: Mapping[str, Any]) -> list[Document]:
        documents: list[Document] = given["documents"]
        if not documents:
            return []
        scores = self.relevance(documents, given["query"])
        best_first = sorted(zip(documents, scores, strict=True), key=lambda pair: -pair[1])
        return [
            document.model_copy(update={"metadata": {**document.metadata, RELEVANCE_SCORE: score}})
            for document, score in best_first[: self.top_n]
            if self.min_score is None or score >= self.min_score
        ]


def hit_spans(document: Document) -> list[Span]:
    """Where a window's hits stand in its text; none for other documents."""
    metadata = document.metadata
    start = metadata.get(START_INDEX)
    if not isinstance(start, int) or metadata.get(END_INDEX) != start + len(document.page_content):
        return []
    hits: Sequence[Mapping[str, int]] = metadata.get(HITS) or ()
    return [(hit[START_INDEX] - start, hit[END_INDEX] - start) for hit in hits]


def token_counts(tokenizer: Any, texts: Sequence[str]) -> list[int]:
    """Count the tokens of each text with a tokenizer of transformers, without the model's own marks."""
    if not texts:
        return []
    encoded = tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
    return [len(tokens) for tokens in encoded["input_ids"]]


def readable(document: Document, count: Count, most: int, passage: int, splitter: SentenceSplitter) -> list[str]:
    """The text, or passages of it of at most ``passage`` tokens if it has more than ``most``."""
    text = document.page_content
    # No tokenizer makes more tokens than there are bytes, and most texts are short: they aren't counted.
    if len(text.encode("utf-8", "replace")) <= most or count([text])[0] <= most:
        return [text]
    spans = passages(text, splitter.spans(text), hit_spans(document), count, passage)
    return [text[start:end] for start, end in spans] or [text]
