"""Late interaction: rerank windows by the token vectors of an embedder that is already loaded.

Any sentence-transformers model has token vectors, even if it isn't trained for this. See `token_matching`.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from langchain_core.documents import Document
from pydantic import Field

from langchain_sentence_window._checked_settings import Check
from langchain_sentence_window._validation import as_number, checked_count, checked_weight, wrong_kind
from langchain_sentence_window.documents.keys import SCORE
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.bert import BertEmbeddings
from langchain_sentence_window.ranking.candidates import standardized

from .reranker import DEFAULT_MAX_TOKENS, Reranker, text_or_passages, token_counts
from .token_matching import Floats, Tokens, frequency_ranks, join_tokens, soft_maxsim, token_weights


def _checked_encoder(name: str, model: object) -> Any:
    model = model.library() if isinstance(model, BertEmbeddings) else model
    # HuggingFaceEmbeddings keeps its SentenceTransformer there.
    encoder = getattr(model, "_client", model)
    if isinstance(model, type) or not all(hasattr(encoder, part) for part in ("encode", "tokenizer", "max_seq_length")):
        raise wrong_kind(name, model, "give one with token vectors: a SentenceTransformer, or HuggingFaceEmbeddings")
    return encoder


class LateInteractionReranker(Reranker):
    """A reranker that sorts documents by their score in the search and the similarity of their tokens to the query's.

    A token of the query counts more if fewer of the documents contain it, and if it is rarer in the language.

    ``relevance_score`` compares the documents of one call: 0 is their mean, and 1 is one standard deviation of the
    search's scores. If some documents have no ``score`` in their metadata, only tokens count. A text that is longer
    than the model reads is divided into passages.
    """

    model: Any
    """A ``SentenceTransformer``, or an embedder that holds one: of `load_embedding`, or ``HuggingFaceEmbeddings``."""
    weight: float = 0.5
    """The weight of the tokens' similarity, 0 or more; that of the search's score is 1. See the benchmarks page."""
    batch_size: int = 32
    """Texts in one forward pass, 1 or more."""
    splitter: SentenceSplitter = Field(default_factory=SentenceSplitter)
    """Finds the sentences of texts that are too long."""

    checks: ClassVar[Mapping[str, Check]] = {
        **Reranker.checks,
        "model": _checked_encoder,
        "weight": checked_weight,
        "batch_size": checked_count,
    }

    def relevance(self, documents: Sequence[Document], query: str) -> list[float]:
        """Score all documents; the query and all texts are encoded together."""
        special_tokens: int = self.model.tokenizer.num_special_tokens_to_add()
        max_tokens = (self.model.max_seq_length or DEFAULT_MAX_TOKENS) - special_tokens
        texts = [
            text_or_passages(document, self._count, max_tokens, max_tokens, self.splitter) for document in documents
        ]
        of_query, *of_passages = self._tokens([query, *(text for group in texts for text in group)])
        passages = iter(of_passages)
        of_documents = [join_tokens(list(islice(passages, len(group)))) for group in texts]
        weights = token_weights(of_query, of_documents, _word_ranks(self.model.tokenizer))
        similarities = standardized(np.array([soft_maxsim(of_query, tokens, weights) for tokens in of_documents]))
        scores = np.array([as_number(document.metadata.get(SCORE)) for document in documents])
        if np.isfinite(scores).all():
            similarities = standardized(scores) + self.weight * similarities
        return list(similarities.tolist())

    def _count(self, texts: Sequence[str]) -> list[int]:
        return token_counts(self.model.tokenizer, texts)

    def _tokens(self, texts: Sequence[str]) -> list[Tokens]:
        # Prompts are made for vectors of whole texts, not of tokens.
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
        tokens: list[Tokens] = []
        for each in encoded:
            ids, vectors = each["input_ids"].cpu().numpy(), each["token_embeddings"].float().cpu().numpy()
            inner = ~np.isin(ids, special_tokens)  # padding is among them
            norms = np.linalg.norm(vectors[inner], axis=1, keepdims=True)
            tokens.append(Tokens(ids[inner], vectors[inner] / np.maximum(norms, 1e-9)))
        return tokens


@lru_cache(maxsize=1)
def _word_ranks(tokenizer: Any) -> Floats:
    return frequency_ranks(tokenizer.get_vocab())
