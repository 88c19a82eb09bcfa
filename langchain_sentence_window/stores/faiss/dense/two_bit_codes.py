"""RaBitQ codes of two bits a number, made for many vectors at once.

A code holds the signs of a vector's distances from a center, and a bit for each that tells large ones from small ones;
see https://arxiv.org/abs/2409.09913. FAISS looks for the best bound between them one vector at a time, which takes most
of the time of building an index. Here the bound is the best of all that there are, found by sorting.

The layout of the codes is FAISS's, which searches them. Another release may change it. So FAISS searches a few of these
codes and of its own first, and makes all codes itself unless both give the same inner products.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.stores.faiss.dense.factory import load_faiss, one_thread

Codes = npt.NDArray[np.uint8]

_BITS = 2
_BLOCK_SIZE = 1_024
_TRIED = 32
"""Vectors whose codes are compared with FAISS's."""
_MAX_ERROR = 1.25
_MAX_ERROR_BEYOND = 0.002
"""How much larger the mean error of an inner product may be than with FAISS's codes: so many times, and so much."""
_ERROR_FACTOR = 1.9
"""FAISS's share of an error in its bound, from the paper."""
_LEAST = np.float32(1e-10)


class TwoBitCodes:
    """Makes the codes of an index of FAISS, which is an ``IndexRaBitQ`` of two bits."""

    def __init__(self, index: Any) -> None:
        """Make codes of a trained index."""
        self._index = index
        self._center: Vectors = load_faiss().vector_to_array(index.center)
        self._is_right: bool | None = None

    @staticmethod
    def of(index: Any) -> "TwoBitCodes | None":
        """Return what makes the codes of an index; ``None`` if only FAISS does."""
        faiss = load_faiss()
        is_ours = isinstance(index, faiss.IndexRaBitQ) and index.is_trained and index.rabitq.nb_bits == _BITS
        return TwoBitCodes(index) if is_ours and index.metric_type == faiss.METRIC_INNER_PRODUCT else None

    def encode(self, vectors: Vectors) -> Codes:
        """Return the codes of vectors of shape ``(n, dimension)``, one in a line."""
        if self._is_right is None and len(vectors):
            self._is_right = self._agrees_with_faiss(np.ascontiguousarray(vectors[:_TRIED]))
        if not self._is_right or not len(vectors):
            return np.asarray(self._index.sa_encode(vectors))
        parts = [
            _encoded(vectors[start : start + _BLOCK_SIZE], self._center)
            for start in range(0, len(vectors), _BLOCK_SIZE)
        ]
        return np.concatenate(parts)

    def _agrees_with_faiss(self, vectors: Vectors) -> bool:
        codes = _encoded(vectors, self._center)
        if codes.shape[1] != self._index.code_size:
            return False
        right = np.einsum("ij,kj->ik", vectors, vectors)
        with one_thread():
            off, expected = (
                float(np.abs(self._inner_products(vectors, each) - right).mean())
                for each in (codes, self._index.sa_encode(vectors))
            )
        return off <= _MAX_ERROR * expected + _MAX_ERROR_BEYOND

    def _inner_products(self, vectors: Vectors, codes: Codes) -> Vectors:
        """Have FAISS compare vectors with those of codes."""
        faiss = load_faiss()
        index = faiss.IndexRaBitQ(self._index.d, faiss.METRIC_INNER_PRODUCT, _BITS)
        faiss.copy_array_to_vector(self._center, index.center)
        index.is_trained, index.qb, index.centered = True, self._index.qb, self._index.centered
        index.add_sa_codes(np.ascontiguousarray(codes))
        found, positions = index.search(vectors, len(codes))
        products = np.full(found.shape, np.nan, dtype=np.float32)
        np.put_along_axis(products, np.maximum(positions, 0), found, axis=1)
        return products


def _encoded(vectors: Vectors, center: Vectors) -> Codes:
    count, dimension = vectors.shape
    away = vectors - center
    sizes = np.abs(away)
    sums = sizes.sum(axis=1)
    squares = np.einsum("ij,ij->i", away, away)
    norms = np.sqrt(squares)
    is_large = sizes >= _bounds(sizes, sums)[:, None]
    large_sums = np.einsum("ij,ij->i", sizes, is_large)
    is_center = norms < _LEAST
    with np.errstate(all="ignore"):
        product = sums / norms / np.float32(np.sqrt(dimension))
        ratio = np.maximum(squares * np.float32(dimension) / (sums * sums) - 1, 0) / max(1, dimension - 1)
        rescale = squares / (np.float32(0.5) * sums + large_sums)
        factors = np.stack(
            [
                squares - np.einsum("ij,ij->i", vectors, vectors),
                norms / product,
                norms * np.float32(_ERROR_FACTOR) * np.sqrt(ratio),
                np.einsum("ij,j->i", away, center),
                rescale,
            ],
            axis=1,
        ).astype("<f4")
    factors[is_center, 1:] = 0
    bits = -(-dimension // 8)
    codes = np.empty((count, 2 * bits + factors.shape[1] * 4), dtype=np.uint8)
    codes[:, :bits] = np.packbits(away > 0, axis=1, bitorder="little")
    codes[:, bits : bits + 12] = factors[:, :3].copy().view(np.uint8)
    codes[:, bits + 12 : 2 * bits + 12] = np.packbits(is_large ^ (away < 0), axis=1, bitorder="little")
    codes[:, 2 * bits + 12 :] = factors[:, 3:].copy().view(np.uint8)
    return codes


def _bounds(sizes: Vectors, sums: Vectors) -> Vectors:
    """Return for each line the least size that is large.

    Large ones stand for three times as much as small ones. With the best bound, what they stand for has the greatest
    cosine with the sizes.
    """
    dimension = sizes.shape[1]
    in_order = np.sort(sizes, axis=1)
    small = np.arange(1, dimension + 1)
    lengths = np.sqrt(0.25 * small + 2.25 * (dimension - small)).astype(np.float32)
    cosines = np.cumsum(in_order, axis=1)
    np.subtract(np.float32(1.5) * sums[:, None], cosines, out=cosines)
    cosines /= lengths
    best = cosines.argmax(axis=1)
    none_is_large = best == dimension - 1
    bounds = in_order[np.arange(len(sizes)), np.minimum(best + 1, dimension - 1)]
    return np.where(none_is_large, np.float32(np.inf), bounds)
