"""Vectors as 6-bit records: how far off their cosines are, where they are kept, and what damage does."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_sentence_window.stores.faiss.dense.fine_vectors import (
    DamagedRecordError,
    FineVectors,
    RecordFile,
    are_intact,
    cosines,
    decoded,
    encoded,
    record_type,
    sealed,
)

from langchain_sentence_window._primitives import Vectors

TOKEN = 7


def vectors(count: int, dimension: int = 30, seed: int = 0) -> Vectors:
    drawn = np.random.default_rng(seed).standard_normal((count, dimension), dtype=np.float32)
    return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))


@pytest.mark.parametrize("dimension", [1, 2, 3, 30, 384])
def test_cosines_are_off_by_less_than_is_told(dimension: int) -> None:
    given, query = vectors(3_000, dimension), vectors(1, dimension, seed=1)[0]
    found, errors = cosines(encoded(given, record_type(dimension)), query)
    off = np.abs(found - given @ query)
    assert np.mean(off > errors) < 1e-3
    assert errors.max() < 0.04


def test_zeros_and_the_largest_numbers_have_records() -> None:
    extreme = np.zeros((3, 5), dtype=np.float32)
    extreme[1, 2], extreme[2, 4] = 1, -1
    found, _ = cosines(encoded(extreme, record_type(5)), np.array([0, 0, 1, 0, 0], dtype=np.float32))
    assert found.tolist() == [0, 1, 0]


@given(dimension=st.integers(1, 70), seed=st.integers(0, 99))
def test_each_number_is_the_nearest_that_its_record_can_hold(dimension: int, seed: int) -> None:
    given = vectors(9, dimension, seed)
    records = encoded(given, record_type(dimension))
    assert np.all(np.abs(decoded(records, dimension) - given) <= records["unit"][:, None] * 0.5001)
    assert record_type(dimension).itemsize <= 0.75 * (dimension + 15) + 8


@given(at=st.integers(0, 4), byte=st.integers(0, 31), change=st.integers(1, 255))
def test_a_changed_byte_is_noticed(at: int, byte: int, change: int) -> None:
    records = sealed(encoded(vectors(5), record_type(30)), TOKEN, 0)
    assert are_intact(records, TOKEN, np.arange(5))
    raw = records.view(np.uint8).reshape(5, -1)
    raw[at, byte] ^= change
    assert not are_intact(records, TOKEN, np.arange(5))


def test_records_of_other_places_or_files_are_noticed() -> None:
    records = sealed(encoded(vectors(5), record_type(30)), TOKEN, 0)
    assert not are_intact(records, TOKEN + 1, np.arange(5))
    assert not are_intact(records, TOKEN, np.arange(1, 6))
    assert not are_intact(np.zeros(5, dtype=records.dtype), TOKEN, np.arange(5))


def test_records_are_appended_to_a_file_until_it_is_saved(tmp_path: Path) -> None:
    given = vectors(20)
    fine = FineVectors(30, RecordFile.new(tmp_path / "records", 30))
    fine.add(given[:12])
    assert (len(fine), fine.in_memory, fine.is_appending) == (12, 0, True)
    assert [path.suffix for path in tmp_path.iterdir()] == [".part"]
    fine.adopt(fine.write(tmp_path / "one"))
    assert [path.name for path in tmp_path.iterdir()] == ["one"]
    fine.add(given[12:])
    assert (len(fine), fine.in_memory, fine.is_appending) == (20, 8, False)
    np.testing.assert_allclose(fine.decoded(np.array([19, 0, 12, 11])), given[[19, 0, 12, 11]], atol=0.02)
    fine.adopt(fine.write(tmp_path / "two"))
    assert (len(fine), fine.in_memory) == (20, 0)
    again = FineVectors(30, RecordFile.open(tmp_path / "two", 30, 20, fine.file.token if fine.file else 0))
    everything = np.arange(20)
    np.testing.assert_array_equal(again.cosines(given[3], everything), fine.cosines(given[3], everything))
    assert np.argmax(again.cosines(given[3], everything)[0]) == 3


def test_a_file_that_is_cut_while_it_is_open_is_told(tmp_path: Path) -> None:
    fine = FineVectors(30, RecordFile.new(tmp_path / "records", 30))
    given = vectors(2_000)
    fine.add(given[:900])
    assert len(fine.decoded(np.arange(900))) == 900
    fine.add(given[900:])
    np.testing.assert_allclose(fine.decoded(np.array([1_999, 0])), given[[1_999, 0]], atol=0.02)
    file = fine.write(tmp_path / "one")
    os.truncate(file.path, file.path.stat().st_size // 2)
    with pytest.raises(DamagedRecordError, match="is shorter than it was"):
        fine.decoded(np.array([1_999]))


def test_a_file_that_is_not_saved_goes_with_its_owner(tmp_path: Path) -> None:
    fine = FineVectors(30, RecordFile.new(tmp_path / "records", 30))
    fine.add(vectors(3))
    assert [*tmp_path.iterdir()]
    del fine
    assert not [*tmp_path.iterdir()]


def test_an_unfinished_file_that_another_process_removed_is_written_again(tmp_path: Path) -> None:
    fine = FineVectors(30, RecordFile.new(tmp_path / "records", 30))
    fine.add(vectors(3))
    next(tmp_path.iterdir()).unlink()
    fine.adopt(fine.write(tmp_path / "one"))
    assert len(fine.decoded(np.arange(3))) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a disk that is always full")  # noqa: PTH110
def test_a_full_disk_leaves_later_vectors_in_memory(tmp_path: Path) -> None:
    given = vectors(9)
    file = RecordFile.new(tmp_path / "records", 30)
    fine = FineVectors(30, file)
    fine.add(given[:4])
    whole = os.open("/dev/full", os.O_WRONLY)
    kept = os.dup(file._file.fileno())
    os.dup2(whole, file._file.fileno())
    fine.add(given[4:])
    os.dup2(kept, file._file.fileno())
    os.close(whole)
    os.close(kept)
    fine.add(given[:0])
    assert (len(fine), fine.in_memory, fine.is_appending) == (9, 5, False)
    np.testing.assert_allclose(fine.decoded(np.arange(9)), given, atol=0.02)


@pytest.mark.parametrize("damage", ["flipped", "cut", "missing"])
def test_a_damaged_file_is_told(tmp_path: Path, damage: str) -> None:
    fine = FineVectors(30, RecordFile.new(tmp_path / "records", 30))
    fine.add(vectors(6))
    path = tmp_path / "one"
    file = fine.write(path)
    content = path.read_bytes()
    if damage == "flipped":
        path.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
        opened = FineVectors(30, RecordFile.open(path, 30, 6, file.token))
        assert len(opened.decoded(np.array([0, 5]))) == 2
        with pytest.raises(DamagedRecordError, match="isn't as it was written"):
            opened.decoded(np.arange(6))
        return
    path.write_bytes(content[:-1]) if damage == "cut" else path.unlink()
    with pytest.raises(DamagedRecordError, match="bytes instead of|can't be read"):
        RecordFile.open(path, 30, 6, file.token)
