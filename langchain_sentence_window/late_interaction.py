"""Rerank windows by the token vectors of the embedder that is there already: late interaction.

Khattab & Zaharia, "ColBERT", arXiv:2004.12832: each token of the query looks for the token of the text
that is most like it. Any sentence-transformers model has token vectors, also one not trained for this.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from langchain_core.documents import Document
from pydantic import Field

from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.fusion import standardized
from langchain_sentence_window.metadata import SCORE
from langchain_sentence_window.reranking import USUAL_LENGTH, Reranker, readable, token_counts
from langchain_sentence_window.splitter import SentenceSplitter

Floats = npt.NDArray[np.float32]


def max_sim(query: Floats, text: Floats) -> float:
    """The mean over the query's tokens of the highest cosine with a token of the text.

    Args:
        query: Unit vectors, a row for each token.
        text: The same for the text.

    Returns:
        1 if all tokens of the query have one of the same direction, 0 if all are unrelated. 0 as well if
        either has no tokens.
    """
    if not len(query) or not len(text):
        return 0.0
    return float((query @ text.T).max(axis=1).mean())


def blend(similarities: Sequence[float], scores: Sequence[float] | None, weight: float) -> list[float]:
    """Add scores of two scales, each shifted and scaled to a mean of 0 and a standard deviation of 1.

    Args:
        similarities: Of each candidate.
        scores: Of each candidate in the search that found them; ``None`` if there was none.
        weight: Of the similarities; the scores have 1.
    """
    similar = standardized(similarities)
    if scores is None:
        return similar
    return [score + weight * other for score, other in zip(standardized(scores), similar, strict=True)]


class LateInteractionReranker(Reranker):
    """Order documents by their score in the search and the likeness of their tokens to the query's.

    ``relevance_score`` compares the documents of one call: 0 is their average, and one standard deviation
    of the search's scores is 1. Documents that have no ``score`` in their metadata, or not all, are
    ordered by their tokens alone. A text longer than the model reads is read in passages.
    """

    model: Any
    """A ``sentence_transformers.SentenceTransformer``, or ``HuggingFaceEmbeddings``, whose model it takes."""
    weight: float = Field(default=0.5, ge=0)
    """Of the tokens' likeness; the search's score has 1. With all-MiniLM-L6-v2 and windows of 2 on each side
    of 50 sentences, ranked by vectors and words, on 100 questions each of SQuAD, Doc2Dial and Chroma's
    set, .5 lifts mean recall within 400, 800 and 1,600 characters from 37.8, 62.3 and 75.9 by 1.7, 2.9 and
    2.2, .25 by 0.8, 1.1 and 1.4, .75 by 2.1, 4.1 and 3.3, 1 by 2.2, 4.6 and 3.1; no set loses more than
    1.0 at any budget with any of them."""
    batch_size: int = Field(default=32, ge=1)
    """Texts in one forward pass."""
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)
    """Finds the sentences of texts that are too long."""

    def __init__(self, **settings: Any) -> None:
        """Take the fields as keywords and check them.

        Raises:
            InvalidInputError: One doesn't exist, is of a wrong type or out of its range, or the model has
                no token vectors.
        """
        super().__init__(**settings)
        # Where langchain-huggingface keeps the model that it loads.
        model = getattr(self.model, "_client", self.model)
        if not all(hasattr(model, name) for name in ("encode", "tokenizer", "max_seq_length")):
            raise InvalidInputError(
                f"{type(self.model).__name__} gives no token vectors; take a SentenceTransformer, or "
                "HuggingFaceEmbeddings, which loads one"
            )
        self.model = model

    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Score all documents; query and texts are encoded in one go."""
        most = (self.model.max_seq_length or USUAL_LENGTH) - self._marks()
        texts = [readable(document, self._count, most, most, self.splitter) for document in documents]
        asked, *read = self._token_vectors([query, *(text for group in texts for text in group)])
        passages = iter(read)
        vectors = [np.concatenate([next(passages) for _ in group]) for group in texts]
        given = [document.metadata.get(SCORE) for document in documents]
        scores = [float(score) for score in given if isinstance(score, int | float)]
        similarities = [max_sim(asked, found) for found in vectors]
        return blend(similarities, scores if len(scores) == len(documents) else None, self.weight)

    def _count(self, texts: Sequence[str]) -> list[int]:
        return token_counts(self.model.tokenizer, texts)

    def _marks(self) -> int:
        marks: int = self.model.tokenizer.num_special_tokens_to_add()
        return marks

    def _token_vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Unit vectors of each text's tokens, without those of the marks around it, which say nothing of a word."""
        # Prompts are for whole texts; no model's token vectors are known to need them.
        encoded = self.model.encode(
            list(texts),
            prompt="",
            output_value="token_embeddings",
            batch_size=self.batch_size,
            show_progress_bar=False,
            convert_to_numpy=False,
        )
        marks = self._marks()
        found: list[Floats] = []
        for tokens in encoded:
            vectors = tokens.float().cpu().numpy()
            inner = vectors[1:-1] if marks > 1 else vectors[: len(vectors) - marks]
            norms = np.linalg.norm(inner, axis=1, keepdims=True)
            found.append(inner / np.maximum(norms, 1e-9))
        return found
