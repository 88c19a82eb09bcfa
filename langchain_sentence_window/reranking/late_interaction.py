"""Rerank windows by the token vectors of the embedder that is there already: late interaction.

Khattab & Zaharia, "ColBERT", arXiv:2004.12832: each token of the query looks for the token of the text
that is most like it. Any sentence-transformers model has token vectors, also one not trained for this.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from langchain_core.documents import Document
from pydantic import Field

from langchain_sentence_window._settings import Check
from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import as_number, checked_count, checked_weight
from langchain_sentence_window.documents.keys import SCORE
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.ranking.fusion import zscores
from langchain_sentence_window.reranking.base import USUAL_LENGTH, Reranker, readable, token_counts
from langchain_sentence_window.splitting.splitter import SentenceSplitter

Floats = npt.NDArray[np.float32]

TEMPERATURE = 0.05
"""Of the soft maximum: with more it is the highest cosine, with less the mean. On the questions named at
`LateInteractionReranker.weight`, the highest cosine, all tokens of the query alike, lifted mean recall within
400 and 800 characters by 0.8 and 0.6; weighed by rarity, by 1.8 and 1.7, but one set lost 1.1 at 400; with the
soft maximum, by 2.0 and 1.6, and it lost 0.5. 14 and 30 did about as well."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """The tokens of a text, without a model's special tokens.

    Attributes:
        ids: The number of each in the model's vocabulary.
        vectors: Of unit length, a row for each.
    """

    ids: npt.NDArray[np.int64]
    vectors: Floats


def idf_weights(query: Tokens, texts: Sequence[Tokens]) -> Floats:
    """How much each token of the query tells the texts apart: BM25's weight, with the candidates as the corpus."""
    holding = sum((np.isin(query.ids, text.ids) for text in texts), np.zeros(len(query.ids)))
    weights: Floats = np.log1p((len(texts) - holding + 0.5) / (holding + 0.5)).astype(np.float32)
    return weights


def soft_maxsim(query: Tokens, text: Tokens, weights: Floats) -> float:
    """The weighted mean over the query's tokens of how like a token of the text is to them.

    ColBERT takes the highest cosine. Here it is a soft maximum, the logarithm of the mean of exponentials, as
    of many tokens one is like any other by chance, and long texts would win by their length.

    Returns:
        1 if all tokens of both have the same direction, 0 if all are unrelated. 0 as well if either has no tokens.
    """
    if not len(query.ids) or not len(text.ids):
        return 0.0
    powers = np.exp((query.vectors @ text.vectors.T) / TEMPERATURE)
    return float(np.average(TEMPERATURE * np.log(powers.mean(axis=1)), weights=weights))


def blend(similarities: Sequence[float], scores: Sequence[float] | None, weight: float) -> list[float]:
    """Add scores of two scales, each shifted and scaled to a mean of 0 and a standard deviation of 1.

    Args:
        similarities: Of each candidate.
        scores: Of each candidate in the search that found them; ``None`` if there was none.
        weight: Of the similarities; the scores have 1.
    """
    similar = zscores(similarities)
    blended: list[float] = (similar if scores is None else zscores(scores) + weight * similar).tolist()
    return blended


def _checked_encoder(name: str, model: object) -> Any:
    # Where langchain-huggingface keeps the model that it loads.
    encoder = getattr(model, "_client", model)
    if isinstance(model, type) or not all(hasattr(encoder, part) for part in ("encode", "tokenizer", "max_seq_length")):
        raise InvalidInputError(
            f"{name}: {shown(model)} gives no token vectors; take a SentenceTransformer, or HuggingFaceEmbeddings, "
            "which loads one"
        )
    return encoder


class LateInteractionReranker(Reranker):
    """Order documents by their score in the search and the likeness of their tokens to the query's.

    A token of the query counts by how few of the documents hold it.

    ``relevance_score`` compares the documents of one call: 0 is their average, and one standard deviation
    of the search's scores is 1. Documents that have no ``score`` in their metadata, or not all, are
    ordered by their tokens alone. A text longer than the model reads is read in passages.
    """

    model: Any
    """A ``sentence_transformers.SentenceTransformer``, or ``HuggingFaceEmbeddings``, whose model it takes."""
    weight: float = 0.5
    """Of the tokens' likeness; the search's score has 1. With all-MiniLM-L6-v2 and ``window="auto"``, on 978
    questions of Chroma's benchmark, Doc2Dial and SQuAD, .5 lifts mean recall within 400, 800 and 1,600
    characters from 69.3, 78.5 and 84.7 by 2.0, 1.6 and 1.0, .25 by 1.4, 1.2 and 0.9, .75 by 1.9, 1.9 and 1.5.
    At 400 to 6,400 no set loses more than 0.6 with .5, and one loses 2.5 at 400 with .75. It was chosen on these
    questions; on one half of them it gains 1.9, 2.3 and 0.8, on the other 2.1, 0.9 and 1.2."""
    batch_size: int = 32
    """Texts in one forward pass."""
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)
    """Finds the sentences of texts that are too long."""

    checks: ClassVar[Mapping[str, Check]] = {
        **Reranker.checks,
        "model": _checked_encoder,
        "weight": checked_weight,
        "batch_size": checked_count,
    }

    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Score all documents; query and texts are encoded in one go."""
        most = (self.model.max_seq_length or USUAL_LENGTH) - self._marks()
        texts = [readable(document, self._count, most, most, self.splitter) for document in documents]
        asked, *read = self._tokens([query, *(text for group in texts for text in group)])
        passages = iter(read)
        found = [_joined([next(passages) for _ in group]) for group in texts]
        weights = idf_weights(asked, found)
        given = [document.metadata.get(SCORE) for document in documents]
        scores = [number for score in given if math.isfinite(number := as_number(score))]
        similarities = [soft_maxsim(asked, text, weights) for text in found]
        return blend(similarities, scores if len(scores) == len(documents) else None, self.weight)

    def _count(self, texts: Sequence[str]) -> list[int]:
        return token_counts(self.model.tokenizer, texts)

    def _marks(self) -> int:
        special_tokens: int = self.model.tokenizer.num_special_tokens_to_add()
        return special_tokens

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        # Prompts are for whole texts; no model's token vectors are known to need them.
        encoded = self.model.encode(
            list(texts),
            prompt="",
            output_value=None,
            batch_size=self.batch_size,
            show_progress_bar=False,
            convert_to_numpy=False,
        )
        tokenizer = self.model.tokenizer
        special_tokens = [token for token in tokenizer.all_special_ids if token != tokenizer.unk_token_id]
        found: list[Tokens] = []
        for each in encoded:
            ids, vectors = each["input_ids"].cpu().numpy(), each["token_embeddings"].float().cpu().numpy()
            inner = ~np.isin(ids, special_tokens)  # padding is among them
            norms = np.linalg.norm(vectors[inner], axis=1, keepdims=True)
            found.append(Tokens(ids[inner], vectors[inner] / np.maximum(norms, 1e-9)))
        return found


def _joined(parts: Sequence[Tokens]) -> Tokens:
    return Tokens(np.concatenate([part.ids for part in parts]), np.concatenate([part.vectors for part in parts]))
