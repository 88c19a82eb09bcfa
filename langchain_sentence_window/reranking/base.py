"""What rerankers share: settings, order, and the passages of texts that are too long."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from langchain_sentence_window._arguments import checked_documents, not_a_question
from langchain_sentence_window._settings import RELATED_NAMES, Check, CheckedSettings
from langchain_sentence_window._showing import shown
from langchain_sentence_window._types import Span
from langchain_sentence_window._validation import checked_least, optional_count
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE
from langchain_sentence_window.documents.window_documents import hit_spans
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.reranking.passages import Count, passages
from langchain_sentence_window.splitting.splitter import SentenceSplitter

USUAL_LENGTH = 512
"""Tokens that a model is taken to read if it doesn't say."""


class Reranker(CheckedSettings, BaseDocumentCompressor):
    """Order documents by a score of its own.

    What comes back are copies with ``relevance_score`` added to their metadata. A retriever's ``score``
    stays, and the documents handed in are left as they are.
    """

    top_n: int | None = None
    """How many documents to keep; ``None`` for all."""
    min_score: float | None = None
    """The lowest ``relevance_score`` to keep, in its own scale; ``None`` for all."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    checks: ClassVar[Mapping[str, Check]] = {"top_n": optional_count, "min_score": checked_least}
    related: ClassVar[Mapping[str, str]] = {
        **{name: "top_n" if meant == "k" else meant for name, meant in RELATED_NAMES.items()},
        **dict.fromkeys(("k", "keep", "max_documents"), "top_n"),
        **dict.fromkeys(("cross_encoder", "encoder", "embedding", "embeddings", "model_name", "reranker"), "model"),
    }

    @abstractmethod
    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Score each document, in order; higher is better."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the best documents, best first; equal ones keep their order.

        ``acompress_documents`` does it in a thread.

        Raises:
            InvalidInputError: The model doesn't give one number for each text it is asked about, or documents
                or query are none.
        """
        documents = checked_documents(documents)
        if not isinstance(query, str):
            raise InvalidInputError(f"the query is {shown(query)}; {not_a_question(query)}")
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
    """Count the tokens of each text with a tokenizer of transformers, without the model's special tokens."""
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
    spans = passages(text, splitter.spans(text), hits_in(document), count, passage)
    return [text[start:end] for start, end in spans] or [text]


def hits_in(document: Document) -> list[Span]:
    """Where a window's hits stand in its text; none where the metadata holds something else by that name."""
    try:
        spans = hit_spans(document)
        length = len(document.page_content)
        return [(start, end) for start, end in spans if 0 <= start < end <= length]
    except Exception:  # noqa: BLE001 - what anybody wrote there may raise anything
        return []
