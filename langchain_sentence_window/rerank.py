"""Rerank windows with a cross-encoder, which reads query and text together.

Nogueira & Cho, "Passage Re-ranking with BERT", arXiv:1901.04085.
"""

from collections.abc import Sequence
from typing import Any

from langchain_core.callbacks import Callbacks
from langchain_core.cross_encoders import BaseCrossEncoder
from langchain_core.documents import BaseDocumentCompressor, Document
from pydantic import ConfigDict, ValidationError

from langchain_sentence_window.errors import InvalidInputError, MissingExtraError, invalid_settings
from langchain_sentence_window.metadata import RELEVANCE_SCORE


class CrossEncoderReranker(BaseDocumentCompressor):
    """Order documents by a cross-encoder's score.

    What comes back are copies with ``relevance_score`` added to their metadata, in the model's own
    scale (often a logit: higher is better, 0 isn't special). A retriever's ``score`` stays. The
    documents handed in are left as they are.
    """

    model: BaseCrossEncoder
    """Scores pairs of query and text."""
    top_n: int | None = None
    """How many documents to keep; ``None`` for all."""

    model_config = ConfigDict(arbitrary_types_allowed=True, extra="forbid")

    def __init__(self, **settings: Any) -> None:
        """Take the fields as keywords and check them.

        Raises:
            InvalidInputError: One doesn't exist or is of a wrong type, or ``top_n`` is below 1.
        """
        try:
            super().__init__(**settings)
        except ValidationError as error:
            raise invalid_settings(type(self).__name__, error.errors()) from error
        if self.top_n is not None and self.top_n < 1:
            raise InvalidInputError(f"top_n is {self.top_n}; it must be 1 or more, or None for all")

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks | None = None
    ) -> list[Document]:
        """Score all documents in one batch and return the best, best first; equal ones keep their order."""
        if not documents:
            return []
        scores = self.model.score([(query, document.page_content) for document in documents])
        if len(scores) != len(documents):
            raise InvalidInputError(
                f"the cross-encoder gave {len(scores)} scores for {len(documents)} documents; it must give one for each"
            )
        ranked = sorted(zip(documents, map(float, scores), strict=True), key=lambda pair: -pair[1])
        return [
            document.model_copy(update={"metadata": {**document.metadata, RELEVANCE_SCORE: score}})
            for document, score in ranked[: self.top_n]
        ]


class SentenceTransformerCrossEncoder(BaseCrossEncoder):
    """A cross-encoder loaded by the library sentence-transformers, from a name or a folder."""

    def __init__(self, name_or_path: str, **settings: Any) -> None:
        """Load the model.

        Args:
            name_or_path: A model's name on the Hugging Face hub, or a folder.
            **settings: Passed on to ``sentence_transformers.CrossEncoder``, e.g. ``device``.

        Raises:
            MissingExtraError: sentence-transformers isn't installed.
            OSError: The model can't be found.
        """
        try:
            from sentence_transformers import CrossEncoder
        except ModuleNotFoundError as error:
            raise MissingExtraError("sentence-transformers", "rerank") from error
        self._model = CrossEncoder(name_or_path, **settings)

    def score(self, text_pairs: list[tuple[str, str]]) -> list[float]:
        """Score pairs of query and text, in the model's own scale; higher is better."""
        scores = self._model.predict(text_pairs, show_progress_bar=False)
        return [float(score) for score in scores]
