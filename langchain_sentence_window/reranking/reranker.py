"""The base of rerankers: settings, order, and passages of texts that are too long.

Scoring a long text by its best passage is MaxP: Dai & Callan, "Deeper Text Understanding for IR with Contextual Neural
Language Modeling", arXiv:1905.09217.
"""

import re
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any, ClassVar

from langchain_core.callbacks import Callbacks
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict

from langchain_sentence_window._arguments import ASK_WITH_TEXT, checked_documents
from langchain_sentence_window._checked_settings import (
    NAMES_OF_COUNT,
    NAMES_OF_LOWEST_SCORE,
    NAMES_OF_SPLITTER,
    Check,
    CheckedSettings,
)
from langchain_sentence_window._primitives import Span, grown
from langchain_sentence_window._validation import checked_min_score, invalid, optional_count
from langchain_sentence_window.documents.keys import RELEVANCE_SCORE
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_runs import hit_spans
from langchain_sentence_window.splitting.blocks import pieces

DEFAULT_MAX_TOKENS = 512
"""The limit of a model that doesn't report one."""


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
        **dict.fromkeys(f"{NAMES_OF_COUNT} k keep max_documents".split(), "top_n"),
        **dict.fromkeys(NAMES_OF_LOWEST_SCORE.split(), "min_score"),
        **dict.fromkeys(NAMES_OF_SPLITTER.split(), "splitter"),
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
            raise invalid("the query", query, ASK_WITH_TEXT)
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


Count = Callable[[Sequence[str]], list[int]]
"""Counts the tokens of each text."""


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
    # A text has no more tokens than bytes, so short texts needn't be tokenized.
    if len(text.encode("utf-8", "replace")) <= max_tokens or count([text])[0] <= max_tokens:
        return [text]
    spans = passages(text, splitter.spans(text), hits_in(document), count, passage_tokens)
    return [text[start:end] for start, end in spans] or [text]


def hits_in(document: Document) -> list[Span]:
    """Return the spans of a window's hits in its text; none if the metadata under that key is invalid."""
    try:
        spans = hit_spans(document)
        length = len(document.page_content)
        return [(start, end) for start, end in spans if 0 <= start < end <= length]
    except Exception:  # noqa: BLE001 - metadata may be anything
        return []


_WORD = re.compile(r"\S+")


def passages(text: str, sentences: Sequence[Span], hits: Sequence[Span], count: Count, max_tokens: int) -> list[Span]:
    """Cover a text with passages that are short enough for a model.

    Neighboring hits share a passage if they fit. A passage with hits grows by sentences on both sides while it fits.
    The rest of the text goes into further passages.

    Args:
        text: The text.
        sentences: Spans of its sentences, in order.
        hits: Spans of its hits, in any order; no passage cuts one that fits.
        count: Counts tokens.
        max_tokens: The tokens of the longest passage, 1 or more; a single word may have more.

    Returns:
        Spans in order; all characters but white space are covered.
    """
    units, sizes = _passage_units(text, sentences, hits, count, max_tokens)
    # One more for each unit: next to others, its first word may need another token.
    ends = [0, *accumulate(size + 1 for size in sizes)]

    def fits(first: int, last: int) -> bool:
        return first >= 0 and last < len(units) and ends[last + 1] - ends[first] <= max_tokens + 1

    with_hits = [i for i, (start, end) in enumerate(units) if any(start < right and left < end for left, right in hits)]
    runs = [grown(run, fits) for run in _join_units(with_hits, fits)]
    covered = {i for first, last in runs for i in range(first, last + 1)}
    runs += _join_units([i for i in range(len(units)) if i not in covered], fits)
    return [(units[first][0], units[last][1]) for first, last in sorted(set(runs))]


def _passage_units(
    text: str, sentences: Sequence[Span], hits: Sequence[Span], count: Count, max_tokens: int
) -> tuple[list[Span], list[int]]:
    """Return the indivisible units (hits, sentences, and parts of those that are too long), and their tokens."""
    cuts = [start for start, _ in sentences if not any(left < start < right for left, right in hits)]
    whole = list(pieces(text, 0, len(text), [*cuts, *(end for hit in hits for end in hit)]))
    sizes = count([text[start:end] for start, end in whole])
    units = [
        part
        for span, size in zip(whole, sizes, strict=True)
        for part in ([span] if size <= max_tokens else _halve_span(text, span, count, max_tokens))
    ]
    return units, sizes if len(units) == len(whole) else count([text[start:end] for start, end in units])


def _halve_span(text: str, span: Span, count: Count, max_tokens: int) -> list[Span]:
    """Halve a span between words until each part fits or is a word."""
    words = [match.span() for match in _WORD.finditer(text, *span)]
    middle = len(words) // 2
    if middle == 0 or count([text[slice(*span)]])[0] <= max_tokens:
        return [span]
    left, right = (span[0], words[middle - 1][1]), (words[middle][0], span[1])
    return [*_halve_span(text, left, count, max_tokens), *_halve_span(text, right, count, max_tokens)]


def _join_units(chosen: Sequence[int], fits: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Join chosen units into as few runs as fit."""
    runs: list[tuple[int, int]] = []
    for i in chosen:
        if runs and fits(runs[-1][0], i):
            runs[-1] = runs[-1][0], i
        else:
            runs.append((i, i))
    return runs
