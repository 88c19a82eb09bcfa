"""The base of rerankers: settings, order, and passages of texts that are too long."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from langchain_sentence_window._arguments import checked_documents, not_a_question
from langchain_sentence_window._checked_settings import RELATED_NAMES, Check, CheckedSettings
from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Span
from langchain_sentence_window._validation import checked_min_score, optional_count
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_documents import hit_spans
from langchain_sentence_window.documents.window_metadata import RELEVANCE_SCORE
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.reranking.passages import Count, passages

DEFAULT_MAX_TOKENS = 512
"""Tokens that a model reads if it doesn't say how many."""


class Reranker(CheckedSettings, BaseDocumentCompressor):
    """The base class of rerankers, which sort documents by their relevance to a query.

    A reranker returns copies of documents with ``relevance_score`` added to their metadata. A retriever's ``score``
    stays.
    """

    top_n: int | None = None
    """Documents to return at most; ``None`` for all."""
    min_score: float | None = None
    """The lowest ``relevance_score`` of a document to return, in the reranker's scale; ``None`` for all."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    checks: ClassVar[Mapping[str, Check]] = {"top_n": optional_count, "min_score": checked_min_score}
    related: ClassVar[Mapping[str, str]] = {
        **{name: "top_n" if meant == "k" else meant for name, meant in RELATED_NAMES.items()},
        **dict.fromkeys(("k", "keep", "max_documents"), "top_n"),
        **dict.fromkeys(("cross_encoder", "encoder", "embedding", "embeddings", "model_name", "reranker"), "model"),
    }

    @abstractmethod
    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Return the score of each document, in order; higher is better."""

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Return the best documents, best first; documents of equal scores keep their order.

        ``acompress_documents`` runs it in a thread.

        Args:
            documents: The documents to rerank.
            query: The query.
            callbacks: LangChain's callbacks, which aren't called.

        Raises:
            InvalidInputError: ``documents`` aren't Documents, ``query`` isn't a string, or the model didn't return one
                number for each text.
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
    """Count the tokens of each text with a tokenizer of transformers, without special tokens."""
    if not texts:
        return []
    encoded = tokenizer(list(texts), add_special_tokens=False, truncation=False, verbose=False)
    return [len(tokens) for tokens in encoded["input_ids"]]


def text_or_passages(
    document: Document, count: Count, max_tokens: int, passage_tokens: int, splitter: SentenceSplitter
) -> list[str]:
    """Return the text of a document, or passages of it if it is too long.

    Args:
        document: A window Document, or any other.
        count: Counts tokens.
        max_tokens: The tokens of the longest text that isn't divided.
        passage_tokens: The tokens of the longest passage.
        splitter: Finds the sentences of the text.
    """
    text = document.page_content
    # No tokenizer makes more tokens than there are bytes, so short texts needn't be counted.
    if len(text.encode("utf-8", "replace")) <= max_tokens or count([text])[0] <= max_tokens:
        return [text]
    spans = passages(text, splitter.spans(text), hits_in(document), count, passage_tokens)
    return [text[start:end] for start, end in spans] or [text]


def hits_in(document: Document) -> list[Span]:
    """Return the spans of a window's hits in its text; none if the metadata holds something else under that key."""
    try:
        spans = hit_spans(document)
        length = len(document.page_content)
        return [(start, end) for start, end in spans if 0 <= start < end <= length]
    except Exception:  # noqa: BLE001 - metadata may hold anything
        return []
