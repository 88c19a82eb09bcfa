"""What rerankers share: settings, order, and the passages of texts that are too long."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from langchain_sentence_window.errors import checked_count, checked_least, valid_settings
from langchain_sentence_window.metadata.keys import RELEVANCE_SCORE
from langchain_sentence_window.metadata.window_documents import hit_spans
from langchain_sentence_window.reranking.passages import Count, passages
from langchain_sentence_window.splitter import SentenceSplitter

USUAL_LENGTH = 512
"""Tokens that a model is taken to read if it doesn't say."""


class Reranker(BaseDocumentCompressor):
    """Order documents by a score of its own.

    What comes back are copies with ``relevance_score`` added to their metadata. A retriever's ``score``
    stays, and the documents handed in are left as they are.
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
        with valid_settings(type(self).__name__):
            super().__init__(**settings)
        if self.top_n is not None:
            checked_count("top_n", self.top_n)
        checked_least("min_score", self.min_score)

    @abstractmethod
    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Score each document, in order; higher is better."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the best documents, best first; equal ones keep their order.

        ``acompress_documents`` does it in a thread.

        Raises:
            InvalidInputError: The model doesn't give one number for each text it is asked about.
        """
        if not documents:
            return []
        scores = self.relevance(documents, query)
        best_first = sorted(zip(documents, scores, strict=True), key=lambda pair: -pair[1])
        return [
            document.model_copy(update={"metadata": {**document.metadata, RELEVANCE_SCORE: score}})
            for document, score in best_first[: self.top_n]
            if self.min_score is None or score >= self.min_score
        ]


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
