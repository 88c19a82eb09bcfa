"""The closest matches of sentences that are embedded as questions are: the flow, from the sample to the search.

Most embedders give a text the same vector as a document and as a question. Then the sample is embedded in one call.
Others put a prompt before questions, or run another model. As LangChain embeds questions one by one, fewer sentences
make the scale then.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import Vectors
from langchain_sentence_window.embedding.embedder import MIN_SAME_COSINE
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.stores.faiss.closest_matches import Sample
from langchain_sentence_window.stores.faiss.embedder_guard import EmbedderGuard
from langchain_sentence_window.stores.faiss.engine import StoreEngine

ASKED = 32
"""Sentences that are embedded one by one, if questions have other vectors than documents."""


async def closest_matches(io: IO, engine: StoreEngine, guard: EmbedderGuard, size: int) -> Numbers:
    """Return how close a sample of sentences comes to others elsewhere; see `FaissStore.closest_matches`.

    Two calls at the same time may both embed a sample; their results are the same.

    Args:
        io: Makes the calls.
        engine: Holds the sentences, and keeps what was found.
        guard: Embeds.
        size: The most sentences to embed.
    """
    kept: Numbers | None = await io.in_thread(engine.kept_matches, size)
    if kept is not None:
        return kept
    sample: Sample = await io.in_thread(engine.sample_sentences, size)
    sample, vectors = await _as_questions(io, guard, sample)
    find = partial(engine.find_closest_matches, sample, vectors)
    found: Numbers = await io.in_thread(guard.run_proven, find)
    return found


async def _as_questions(io: IO, guard: EmbedderGuard, sample: Sample) -> tuple[Sample, Vectors]:
    """Embed a sample, or fewer of its sentences; return those with their vectors."""
    if not sample.texts:
        return sample, np.empty((0, 0), dtype=np.float32)
    first = await _question(io, guard, sample.texts[0])
    vectors: list[Vectors] = []

    async def keep(_: Sequence[str], part: Vectors) -> None:
        vectors.append(part)

    await guard.embed(io, sample.texts, keep, show_progress=False)
    as_documents = np.concatenate(vectors)
    if _is_same(first, as_documents[0]):
        return sample, as_documents
    fewer = np.linspace(0, len(sample.texts) - 1, min(ASKED, len(sample.texts))).astype(int).tolist()
    texts = [sample.texts[at] for at in fewer]
    sample = sample._replace(rows=[sample.rows[at] for at in fewer], texts=texts)
    return sample, np.stack([await _question(io, guard, text) for text in texts])


async def _question(io: IO, guard: EmbedderGuard, text: str) -> Vectors:
    vector: Vectors = await io.call(guard.queries.embed, guard.queries.aembed, text)
    return vector


def _is_same(one: Vectors, other: Vectors) -> bool:
    return one.shape == other.shape and (float(one @ other) >= MIN_SAME_COSINE or not (one.any() or other.any()))
