"""Whether two embedders are the same: by their names, or else by their vectors for the same texts.

Vectors of two models can't be compared, so an index must know which embedder made its vectors. An embedder's name is
its class and the settings that name its model. Equal names mean equal embedders. Different names prove nothing: a
wrapper, such as a cache, has another name and returns the same vectors. A class without such settings may use any
model. In both cases, a few stored texts are embedded again.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np
from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import is_embedder
from langchain_sentence_window._io import IO
from langchain_sentence_window._primitives import Vectors, encodable

from .embedder import embed_texts, unit_vectors
from .secret_text import without_secrets
from .vectors import normalized

COMPARED_TEXTS = 5
"""The number of texts to embed again."""

MIN_SAME_COSINE = 0.999
"""Lowest cosine between a stored vector and that of its text embedded again, if the embedder is the same.

Half precision, of the model or of the stored vectors, stays above it. A prompt of one word doesn't."""

_MODEL_NAMES = frozenset(
    {"azure_deployment", "deployment", "deployment_name", "model", "model_id", "model_name", "repo_id"}
)
"""Settings that name a model, as the classes of LangChain's partner packages call them."""

_NAMES = _MODEL_NAMES | {
    "base_url", "dim", "dimension", "dimensions", "dims", "input_type", "instruction", "openai_api_base",
    "output_dimension", "output_dimensionality", "output_dimensions", "prompt", "prompt_name", "revision", "seed",
    "size", "task", "task_type", "truncate", "truncate_dim",
}  # fmt: skip
"""Settings in a name. All others are left out: they may be secret, and most don't change vectors."""

_MAX_DEPTH = 5
"""Maximum depth of nested embedders and dictionaries of settings, which may be cyclic."""


def describe_embedder(embedding: Embeddings) -> str:
    """Return an embedder's name: its class, and the settings that name its model, without secrets.

    Settings in dictionaries, such as ``encode_kwargs``, and embedders within the embedder are named, too.
    """
    return _described(embedding, 0)


def names_model(embedding: Embeddings) -> bool:
    """Return whether the embedder's name says which model it is, so that an equal name means an equal embedder."""
    return any(name in _MODEL_NAMES for name, _ in _embedder_settings(_attributes(embedding), 0))


def longest_texts(sample: Sequence[tuple[str, Vectors]]) -> list[tuple[str, Vectors]]:
    """Return the `COMPARED_TEXTS` longest texts, with their vectors.

    For short texts, a model that truncates its input returns the same vectors as one that reads more.
    """
    return sorted(sample, key=lambda pair: -len(pair[0]))[:COMPARED_TEXTS]


async def makes_vectors(io: IO, embedding: Embeddings, stored: Sequence[tuple[str, Vectors]]) -> bool:
    """Embed texts again, and return whether the vectors equal the stored ones.

    Args:
        io: Makes the calls.
        embedding: The embedder that may have made the stored vectors.
        stored: A few texts, each with its vector; see `longest_texts`.

    Returns:
        Whether each cosine is at least `MIN_SAME_COSINE`; true for no texts.

    Raises:
        EmbeddingError: The embedder returned the wrong number of vectors, or unusable ones.
    """
    if not stored:
        return True
    texts = [encodable(text) for text, _ in stored]
    again = unit_vectors(await embed_texts(io, embedding, texts), texts)
    if any(vector.shape != again.shape[1:] for _, vector in stored):
        return False
    before = normalized(np.stack([vector for _, vector in stored]))
    cosines = (before * again).sum(axis=1)
    both_zero = ~(before.any(axis=1) | again.any(axis=1))
    return bool((both_zero | (cosines >= MIN_SAME_COSINE)).all())


def _described(embedding: object, depth: int) -> str:
    settings = sorted(_embedder_settings(_attributes(embedding), depth))
    kind = type(embedding)
    return f"{kind.__module__}.{kind.__qualname__}({', '.join(f'{name}={value}' for name, value in settings)})"


def _embedder_settings(attributes: Mapping[Any, object], depth: int) -> Iterator[tuple[str, str]]:
    """Yield the settings that a name shows, and embedders as they are described."""
    if depth == _MAX_DEPTH:
        return
    for key, value in attributes.items():
        name = str(key)
        if is_embedder(value):
            yield name, _described(value, depth + 1)
        elif isinstance(value, Mapping):
            yield from _embedder_settings(value, depth + 1)
        elif name in _NAMES and isinstance(value, int | float):
            yield name, str(value)
        elif name in _NAMES and isinstance(value, str | PurePath):
            yield name, ascii(without_secrets(str(value)))


def _attributes(embedding: object) -> dict[str, object]:
    """Return the attributes of an embedder, without running any of its code, as a property may load a model."""
    private = getattr(embedding, "__pydantic_private__", None) or {}
    return {**private, **getattr(embedding, "__dict__", {})}
