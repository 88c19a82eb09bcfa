"""The index that follows the size of a store: which it is, its change in the background, and what may happen then."""

import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore
from langchain_sentence_window.embedding.vectors import mix_neighbors

# A change is held up where it takes its vectors, to search and write during it, and limits are lowered.
from langchain_sentence_window.store import faiss_index, vectors
from tests.patience import PATIENCE, until
from tests.torture import limits
from tests.torture.corpus import TextEmbeddings, check_against_brute_force, contents, document


@pytest.fixture(autouse=True)
def lower_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    limits.lower(monkeypatch.setattr)


def fill(store: FaissStore, first: int, last: int, version: int = 1) -> None:
    made = [each for number in range(first, last) for each in document(number, version)]
    store.add_embeddings(made, np.array([TextEmbeddings().vector(each.page_content) for each in made]))


def search(store: FaissStore) -> None:
    store.similarity_search("query", k=1)


def settle(store: FaissStore) -> None:
    """Search, and wait for the change that the search may have begun."""
    search(store)
    until(lambda: store.stats().index_to_come is None)


def check(store: FaissStore, documents: dict[int, set[int]]) -> None:
    assert contents(store) == documents
    check_against_brute_force(store, TextEmbeddings())


def in_use(store: FaissStore) -> str:
    return store.stats().index_in_use


def names(folder: Path) -> list[str]:
    """Return what kinds of files of vectors there are."""
    return sorted(path.suffix for path in folder.glob("vectors*"))


# The choice


@pytest.mark.parametrize("on_disk", [True, False])
def test_the_index_changes_by_itself_as_the_store_grows_and_shrinks(on_disk: bool, tmp_path: Path) -> None:
    path = tmp_path if on_disk else None
    store = FaissStore(TextEmbeddings(), path)
    fill(store, 0, 20)
    settle(store)
    assert in_use(store) == "exact"
    fill(store, 20, 40)
    settle(store)
    assert in_use(store) == "codes"
    check(store, {number: {1} for number in range(40)})
    store.delete(filter={"number": {"$gte": 20}})
    settle(store)
    assert in_use(store) == "codes"  # down to half of the limit, so that it doesn't change to and fro
    fill(store, 20, 80)
    settle(store)
    assert in_use(store) == "codes in 32 clusters"
    fill(store, 10, 30, version=2)
    store.delete(filter={"number": {"$gte": 70}})
    check(store, {number: {2 if 10 <= number < 30 else 1} for number in range(70)})
    store.delete(filter={"number": {"$gte": 11}})
    settle(store)
    assert in_use(store) == "exact"
    check(store, {number: {2 if number == 10 else 1} for number in range(11)})
    store.close()
    assert not [*tmp_path.glob("*.part")]


def test_codes_need_no_even_dimension() -> None:
    embedding = TextEmbeddings(33)
    store, exact = FaissStore(embedding), FaissStore(embedding, index="exact")
    for count, expected in ((100, "exact"), (350, "codes"), (500, "codes in 16 clusters")):
        for each in (store, exact):
            each.add_texts([f"text {number}" for number in range(len(each), count)])
        settle(store)
        assert in_use(store) == expected
        found, right = ([text.page_content for text in each.similarity_search("query", 10)] for each in (store, exact))
        assert found == right


# Saving


def test_a_changed_index_is_saved_and_loaded_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 20)
        search(store)
        fill(store, 20, 40)
        settle(store)
        until(lambda: names(tmp_path) == [".codes", ".faiss"])
        until(lambda: not is_changing())
    monkeypatch.setattr(faiss_index, "train", None)  # no index of codes is made
    for read_only in (False, True):
        with FaissStore.open(tmp_path, TextEmbeddings(), read_only=read_only) as store:
            check(store, {number: {1} for number in range(40)})
            assert in_use(store) == "codes"
            assert store.check().notes == ()


def test_codes_that_fill_memory_are_saved_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "_MAX_CODES_IN_MEMORY", 20)
    with FaissStore(TextEmbeddings(), tmp_path, "codes") as store:
        fill(store, 0, 40)
        store.save()
        (before,) = tmp_path.glob("*.codes")
        fill(store, 40, 42)
        search(store)
        assert before.exists()
        fill(store, 42, 44)
        search(store)
        until(lambda: not is_changing())
        assert not before.exists()
        assert names(tmp_path) == [".codes", ".faiss"]
        check(store, {number: {1} for number in range(44)})


def test_threads_save_while_another_adds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(vectors, "_MAX_CODES_IN_MEMORY", 20)
    with FaissStore(TextEmbeddings(), tmp_path, "codes") as store:
        fill(store, 0, 40)
        search(store)

        def save() -> None:
            for _ in range(4):
                store.save()

        savers = [threading.Thread(target=save) for _ in range(2)]
        for saver in savers:
            saver.start()
        for number in range(40, 60):
            fill(store, number, number + 1)
        for saver in savers:
            saver.join(PATIENCE)
        store.save()
        check(store, {number: {1} for number in range(60)})
    assert caplog.records == []
    assert names(tmp_path) == [".codes", ".faiss"]
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        check(store, {number: {1} for number in range(60)})


def test_files_of_killed_processes_are_removed_when_they_are_old(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 40)
        store.save()
        kinds = ("vectors.faiss.{}.part", "vectors.{}.codes", "vectors.{}.codes.1.part")
        old, recent = ([tmp_path / kind.format(name * 16) for kind in kinds] for name in "01")
        for path in (*old, *recent):
            path.write_bytes(b"unfinished")
        for path in old:
            os.utime(path, (0, 0))
        store.save()
        assert [path.exists() for path in (*old, *recent)] == [False] * 3 + [True] * 3
        assert len(names(tmp_path)) == 2 + 3


# A change in the background


def is_changing() -> bool:
    return any(thread.name.startswith("index of") for thread in threading.enumerate())


class Held:
    """Holds up a change in the background, before its first vectors or after them."""

    def __init__(self, patch: pytest.MonkeyPatch, *, at_first: bool = False, failure: Exception | None = None) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.calls, self.failure = int(at_first), failure
        patch.setattr(vectors, "mix_neighbors", self.holding(mix_neighbors))

    def holding(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def held(*given: Any) -> Any:
            if threading.current_thread().name.startswith("index of"):
                self.calls += 1
                if self.calls == 2:
                    self.begun.set()
                    assert self.may_go_on.wait(PATIENCE)
                    if self.failure:
                        raise self.failure
            return call(*given)

        return held

    def store(self, path: Path) -> FaissStore:
        store = FaissStore(TextEmbeddings(), path)
        fill(store, 0, 20)
        search(store)
        fill(store, 20, 40)
        assert self.begun.wait(PATIENCE)
        return store


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    holding = Held(monkeypatch)
    yield holding
    holding.may_go_on.set()


@pytest.mark.parametrize("at_first", [True, False])
def test_searches_and_writes_go_on_during_a_change(
    at_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch, at_first=at_first)
    with held.store(tmp_path) as store:
        stats = store.stats()
        assert (stats.index_in_use, stats.index_to_come) == ("exact", "codes")
        check(store, {number: {1} for number in range(40)})
        # Documents that were read already, that are yet to be read, and new ones.
        expected = {number: {1} for number in range(44)}
        store.replace_documents([], ["document 0", "document 39"])
        del expected[0], expected[39]
        for number in (1, 2, 30):
            store.replace_documents(document(number, 2), [f"document {number}"])
            expected[number] = {2}
        for number in range(40, 44):
            fill(store, number, number + 1)
        store.add_documents([Document(page_content="alone", id="alone")])
        store.delete(["alone"])
        check(store, expected)
        assert in_use(store) == "exact"
        assert sum(thread.name.startswith("index of") for thread in threading.enumerate()) == 1
        held.may_go_on.set()
        until(lambda: not is_changing())
        assert (in_use(store), store.stats().index_to_come) == ("codes", None)
        check(store, expected)


def test_a_store_that_is_closed_during_a_change_leaves_the_old_index(held: Held, tmp_path: Path) -> None:
    store = held.store(tmp_path)
    threading.Timer(0.2, held.may_go_on.set).start()
    store.close()
    until(lambda: not is_changing())
    assert not [*tmp_path.glob("vectors*")]
    with FaissStore.open(tmp_path, TextEmbeddings()) as again:
        check(again, {number: {1} for number in range(40)})


def test_a_failed_change_is_logged_and_searches_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held(monkeypatch, failure=RuntimeError("no memory"))
    held.may_go_on.set()
    with caplog.at_level(logging.ERROR), held.store(tmp_path) as store:
        until(lambda: not is_changing())
        (record,) = caplog.records
        assert "couldn't be changed; searches continue with the present one" in record.message
        fill(store, 40, 44)  # no second attempt
        assert (in_use(store), store.stats().index_to_come) == ("exact", None)
        check(store, {number: {1} for number in range(44)})
    assert not [*tmp_path.glob("vectors*")]


# Damage


@pytest.mark.parametrize("ending", [".codes", ".faiss"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "missing", "of another store"])
def test_a_damaged_file_is_rebuilt(tmp_path: Path, ending: str, damage: str) -> None:
    for name in ("one", "two"):
        with FaissStore(TextEmbeddings(), tmp_path / name) as store:
            fill(store, 0, 40, version=1 if name == "one" else 2)
            store.save()
    (file,), (foreign,) = ([*(tmp_path / name).glob(f"*{ending}")] for name in ("one", "two"))
    content = file.read_bytes()
    if damage == "flipped":
        file.write_bytes(content[:-500] + bytes([content[-500] ^ 1]) + content[-499:])
    elif damage == "cut":
        file.write_bytes(content[:-1])
    elif damage == "missing":
        file.unlink()
    else:
        file.write_bytes(foreign.read_bytes())
    with FaissStore.open(tmp_path / "one", TextEmbeddings()) as store:
        check(store, {number: {1} for number in range(40)})
        store.save()
        assert not store.check().notes
        check(store, {number: {1} for number in range(40)})


@pytest.mark.parametrize("is_searched", [True, False])
def test_a_file_that_is_cut_while_it_is_open_is_rebuilt(tmp_path: Path, is_searched: bool) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 40)
        store.save()
        fill(store, 0, 3, version=2)
        search(store)
        (file,) = tmp_path.glob("*.codes")
        with file.open("rb+") as opened:
            opened.truncate(1_000)
        if is_searched:
            check(store, {number: {2 if number < 3 else 1} for number in range(40)})
        store.save()
        assert not store.check().notes
        check(store, {number: {2 if number < 3 else 1} for number in range(40)})
