"""Codes of two bits a number: FAISS finds with them what it finds with its own, and makes them itself if it doesn't."""

from typing import Any

import faiss
import numpy as np
import pytest

from langchain_sentence_window._types import Vectors
from langchain_sentence_window.stores.faiss.dense import two_bit_codes
from langchain_sentence_window.stores.faiss.dense.factory import make_faiss_index
from langchain_sentence_window.stores.faiss.dense.two_bit_codes import TwoBitCodes

LARGE = slice(16, 20)
LAYOUT = [("signs", 0, 4), ("factors", 4, 16), ("large", 16, 20), ("more factors", 20, 28)]
"""Where the parts of a code of 30 numbers are."""


def vectors(count: int, dimension: int, seed: int = 0) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension), dtype=np.float32) + np.float32(0.3)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


def trained(dimension: int) -> Any:
    index = make_faiss_index("RaBitQ2", dimension)
    index.train(vectors(500, dimension))
    return index


def products(index: Any, codes: Any, queries: Vectors) -> Vectors:
    copy = faiss.clone_index(index)
    copy.add_sa_codes(np.ascontiguousarray(codes))
    found, positions = copy.search(queries, len(codes))
    in_order = np.empty_like(found)
    np.put_along_axis(in_order, positions, found, axis=1)
    return in_order


@pytest.mark.parametrize("dimension", [1, 2, 7, 30, 384, 385])
def test_inner_products_are_as_near_as_those_of_codes_by_faiss(dimension: int) -> None:
    index, given, queries = trained(dimension), vectors(2_500, dimension), vectors(8, dimension, seed=1)
    encoder = TwoBitCodes.of(index)
    assert encoder is not None
    ours, theirs = encoder.encode(given), index.sa_encode(given)
    assert ours.shape == theirs.shape
    right = queries @ given.T
    off, expected = (np.abs(products(index, codes, queries) - right) for codes in (ours, theirs))
    assert off.mean() <= 1.01 * expected.mean() + 1e-6
    assert not np.array_equal(ours, theirs)  # these aren't FAISS's codes


def test_signs_and_their_factors_are_those_of_faiss() -> None:
    index, given = trained(30), vectors(100, 30)
    encoder = TwoBitCodes.of(index)
    assert encoder is not None
    ours, theirs = encoder.encode(given), index.sa_encode(given)
    parts = {name: (ours[:, start:end].copy(), theirs[:, start:end].copy()) for name, start, end in LAYOUT}
    np.testing.assert_array_equal(*parts["signs"])
    for name, compared in (("factors", 3), ("more factors", 1)):  # the last depends on the bits
        mine, other = (each.view("<f4")[:, :compared] for each in parts[name])
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-5)
    bits = np.unpackbits(parts["large"][0] ^ parts["large"][1])
    assert bits.mean() < 0.2


def test_vectors_without_a_direction_have_codes() -> None:
    index = trained(30)
    center = faiss.vector_to_array(index.center)
    odd = np.stack([center, np.zeros(30, dtype=np.float32), np.eye(30, dtype=np.float32)[3]])
    given = np.concatenate([vectors(20, 30), odd])
    encoder = TwoBitCodes.of(index)
    assert encoder is not None
    found = products(index, encoder.encode(given), vectors(4, 30, seed=1))
    np.testing.assert_allclose(found[:, -3], products(index, index.sa_encode(given), vectors(4, 30, seed=1))[:, -3])
    np.testing.assert_allclose(found[:, -2], 0, atol=0.05)
    assert np.isfinite(found).all()
    assert encoder.encode(given[:0]).shape == (0, 28)


def test_a_release_with_other_codes_makes_them_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    index, given = trained(30), vectors(100, 30)
    right = two_bit_codes._encoded

    def with_factors_first(vectors: Vectors, center: Vectors) -> two_bit_codes.Codes:
        return np.roll(right(vectors, center), 8, axis=1)

    def of_another_size(vectors: Vectors, center: Vectors) -> two_bit_codes.Codes:
        return right(vectors, center)[:, 4:]

    def with_bits_of_others(vectors: Vectors, center: Vectors) -> two_bit_codes.Codes:
        codes = right(vectors, center)
        codes[:, LARGE] = np.roll(codes[:, LARGE], 1, axis=1)
        return codes

    for other in (with_factors_first, of_another_size, with_bits_of_others):
        monkeypatch.setattr(two_bit_codes, "_encoded", other)
        encoder = TwoBitCodes.of(index)
        assert encoder is not None
        np.testing.assert_array_equal(encoder.encode(given), index.sa_encode(given))


@pytest.mark.parametrize("name", ["Flat", "SQ8", "RaBitQ", "IVF2,RaBitQ2"])
def test_codes_of_other_indexes_are_made_by_faiss(name: str) -> None:
    assert TwoBitCodes.of(make_faiss_index(name, 8)) is None
