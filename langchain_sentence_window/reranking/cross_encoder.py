"""Rerank windows with a cross-encoder, which reads query and text together.

Nogueira & Cho, "Passage Re-ranking with BERT", arXiv:1901.04085.
"""

import math
from collections.abc import Mapping, Sequence
from os import PathLike
from statistics import fmean
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import Document
from pydantic import Field

from langchain_sentence_window._arguments import checked_path
from langchain_sentence_window._checked_settings import Check
from langchain_sentence_window._display import shown
from langchain_sentence_window._lazy import of_extra
from langchain_sentence_window._validation import (
    as_number,
    checked_choice,
    checked_count,
    checked_list,
    invalid,
    optional_count,
    wrong_kind,
)
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.documents.window_fields import estimate_tokens
from langchain_sentence_window.errors import InvalidInputError

from .reranker import DEFAULT_MAX_TOKENS, Reranker, hits_in, text_or_passages, token_counts

MIN_PASSAGE_TOKENS = 32
"""Tokens that are left for a passage, however long the query is."""


@runtime_checkable
class CountsTokens(Protocol):
    """A cross-encoder that counts tokens and has a limit."""

    max_length: int
    """Tokens of query, text and special tokens together that it reads."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text, without special tokens."""


def _checked_cross_encoder(name: str, model: object) -> BaseCrossEncoder:
    if isinstance(model, BaseCrossEncoder):
        return model
    raise wrong_kind(name, model, "give a BaseCrossEncoder of LangChain: SentenceTransformerCrossEncoder(name)")


class CrossEncoderReranker(Reranker):
    """A reranker that sorts documents by the score of a cross-encoder.

    ``relevance_score`` is in the model's scale; see `SentenceTransformerCrossEncoder`, whose default is logits. A text
    that is too long for the model is divided into passages around its hits and between them, and its best passage
    counts (MaxP: Dai & Callan, arXiv:1905.09217). Passages have up to half the model's length, because these models are
    trained on short texts.
    """

    model: BaseCrossEncoder
    """The cross-encoder. It gets all pairs of a query and its texts in one call."""
    score_on: Literal["window", "hit", "both"] = "both"
    """The text to score: the ``window``, its best ``hit``, or ``both`` for the mean of the two scores.

    Most cross-encoders are trained on short passages; try ``window`` with one that isn't. See the benchmarks page."""
    max_length: int | None = None
    """Tokens of query and text together that the model reads.

    ``None`` for the model's own limit. If the model doesn't count tokens, it is `DEFAULT_MAX_TOKENS`, and three
    characters count as a token, or fewer in scripts that need more tokens."""
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)
    """Finds the sentences of texts that are too long."""

    checks: ClassVar[Mapping[str, Check]] = {
        **Reranker.checks,
        "model": _checked_cross_encoder,
        "max_length": optional_count,
    }

    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Score all documents in one batch.

        Raises:
            InvalidInputError: The model returned too few scores, too many, or one that isn't a finite number.
        """
        count = self.model.count_tokens if isinstance(self.model, CountsTokens) else _estimates
        max_tokens = self._longest_text(count([query])[0])
        passage_tokens = max(1, max_tokens // 2)
        # For each document its hits, its passages, or both; the best text of each counts.
        groups_of: list[list[list[str]]] = []
        for document in documents:
            spans = hits_in(document) if self.score_on != "window" else []
            groups = [[document.page_content[start:end] for start, end in spans]] if spans else []
            if self.score_on != "hit" or not spans:
                groups.append(text_or_passages(document, count, max_tokens, passage_tokens, self.splitter))
            groups_of.append(groups)
        texts = list(dict.fromkeys(text for groups in groups_of for group in groups for text in group))
        scores = dict(zip(texts, self._scores(query, texts), strict=True))
        return [fmean(max(scores[text] for text in group) for group in groups) for groups in groups_of]

    def _longest_text(self, query_tokens: int) -> int:
        length = self.max_length
        if length is None:
            length = self.model.max_length if isinstance(self.model, CountsTokens) else DEFAULT_MAX_TOKENS
        special_tokens = 4  # at most, around two texts
        return max(length - query_tokens - special_tokens, min(MIN_PASSAGE_TOKENS, length))

    def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        returned = self.model.score([(query, text) for text in texts])
        scores = checked_list("the result of the cross-encoder", returned)
        if len(scores) != len(texts):
            raise InvalidInputError(
                f"the cross-encoder returned {len(scores)} scores for {len(texts)} texts; it must return one for each"
            )
        for score in scores:
            if not math.isfinite(as_number(score)):
                raise InvalidInputError(
                    f"the cross-encoder returned a score that isn't a finite number ({shown(score)}); use a model with "
                    "one score for a pair, and load it with another dtype, such as float32"
                )
        return [as_number(score) for score in scores]


class SentenceTransformerCrossEncoder(BaseCrossEncoder):
    """A cross-encoder loaded by the library sentence-transformers, from a name or a folder."""

    def __init__(
        self,
        name_or_path: str | PathLike[str],
        *,
        batch_size: int = 32,
        max_length: int | None = None,
        scale: Literal["logit", "probability"] = "logit",
        **settings: Any,
    ) -> None:
        """Load the model.

        Args:
            name_or_path: The name of a model on the Hugging Face hub, or a folder.
            batch_size: Pairs in one forward pass, 1 or more.
            max_length: Tokens of query and text together, 1 or more; ``None`` for the model's own limit.
            scale: The scale of scores: ``logit`` for any number, where 0 is a probability of one half; or
                ``probability``, its sigmoid, from 0 to 1. The setting in the model's files is ignored, as models
                differ in it.
            **settings: Further arguments of ``sentence_transformers.CrossEncoder``: ``device``, such as ``cuda``;
                ``backend``, of which ``onnx`` and ``openvino`` need extras of that library; ``model_kwargs``, such as
                ``{"dtype": "bfloat16"}``; and others.

        Raises:
            MissingExtraError: sentence-transformers isn't installed.
            InvalidInputError: The model returns several scores for a pair, or a setting is out of its range.
            OSError: The model isn't found.
        """
        if not isinstance(name_or_path, str | PathLike) or not str(name_or_path).strip():
            cure = "give the name of a model on the Hugging Face hub, or a folder"
            raise invalid("name_or_path", name_or_path, cure)
        checked_path(name_or_path)
        checked_count("batch_size", batch_size)
        optional_count("max_length", max_length)
        checked_choice("scale", scale, ("logit", "probability"))
        library = of_extra("sentence_transformers", "sentence-transformers", "local")
        self._model = library.CrossEncoder(str(name_or_path), max_length=max_length, **settings)
        if self._model.num_labels != 1:
            raise InvalidInputError(
                f"{shown(str(name_or_path))} returns {self._model.num_labels} scores for a pair; use a model that was "
                "trained to rank, such as cross-encoder/ms-marco-MiniLM-L6-v2"
            )
        self._batch_size = batch_size
        self._scale = scale
        # Some tokenizers have 10**30 for "no limit", so the number of positions is the limit.
        positions = getattr(self._model.config, "max_position_embeddings", None) or DEFAULT_MAX_TOKENS
        self.max_length: int = min(max_length or self._model.tokenizer.model_max_length, positions)

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """Score pairs of query and text; higher is better."""
        from torch.nn import Identity

        logits = self._model.predict(
            text_pairs, batch_size=self._batch_size, show_progress_bar=False, activation_fn=Identity()
        )
        if self._scale == "logit":
            return [float(logit) for logit in logits]
        return [0.5 * (1 + math.tanh(float(logit) / 2)) for logit in logits]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Count the tokens of each text, without special tokens."""
        return token_counts(self._model.tokenizer, texts)


def _estimates(texts: Sequence[str]) -> list[int]:
    """Estimate a token for every three characters, or more by script: rather too many, so that no text is truncated."""
    return [max(math.ceil(len(text) / 3), estimate_tokens(text)) for text in texts]
