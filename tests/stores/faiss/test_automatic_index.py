"""The index that follows the size of a store: which it is, its change in the background, and what may happen then."""

import logging
import os
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_sentence_window.stores.faiss.database.transaction import Transaction
from langchain_sentence_window.stores.faiss.dense import dense_cache as cache
from langchain_sentence_window.stores.faiss.dense import dense_index as making
from langchain_sentence_window.stores.faiss.dense.dense_index import next_part, of_documents, of_none, start_of
from langchain_sentence_window.stores.faiss.dense.faiss_factory import AUTO, choose
from langchain_sentence_window.stores.faiss.dense.quantized import QuantizedIndex

from langchain_sentence_window import FaissStore
from langchain_sentence_window.errors import InvalidInputError, StoreError
from tests.patience import PATIENCE
from tests.torture import limits
from tests.torture.corpus import SENTENCES, TextEmbeddings, check_against_brute_force, contents, document, text_of

Part = tuple[int, int]


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
    store._session._vectors.wait_for_change()


def check(store: FaissStore, documents: dict[int, set[int]]) -> None:
    assert contents(store) == documents
    check_against_brute_force(store, TextEmbeddings())


def problems(store: FaissStore) -> list[str]:
    """Return what is wrong with the files of vectors; the documents of these tests have no places."""
    return [each for each in store.check().problems if "vectors" in each]


def in_use(store: FaissStore) -> str:
    return store.stats().index_in_use


# The choice


def test_the_size_decides_and_a_limit_is_not_crossed_to_and_fro() -> None:
    def name(count: int, present: str | None = None) -> str:
        return choose(AUTO, 32, count, present).name

    assert [name(count) for count in (0, 200, 201, 400)] == ["Flat", "Flat", "IVF1,PQ16x4fs", "IVF1,PQ16x4fs"]
    assert name(401) == "IVF16,PQ16x4fs"
    assert name(150, "IVF1,PQ16x4fs") == name(250, "IVF1,PQ16x4fs") == "IVF1,PQ16x4fs"
    assert name(100, "IVF1,PQ16x4fs") == name(100, "IVF16,PQ16x4fs") == "Flat"
    assert name(250, "IVF16,PQ16x4fs") == name(1_000, "IVF16,PQ16x4fs") == "IVF16,PQ16x4fs"
    assert name(200, "IVF16,PQ16x4fs") == "IVF1,PQ16x4fs"
    assert name(2_000, "IVF16,PQ16x4fs") == "IVF64,PQ16x4fs"
    assert name(201, "Flat") == "IVF1,PQ16x4fs"


def test_numbers_of_an_odd_dimension_cannot_be_paired() -> None:
    assert [choose(AUTO, 33, count).name for count in (190, 300, 401)] == ["Flat", "RaBitQ2", "IVF16,RaBitQ2"]
    assert choose(AUTO, 33, 250, "IVF16,RaBitQ2").name == "IVF16,RaBitQ2"


def test_a_named_index_stays_and_the_reason_is_told() -> None:
    assert choose("HNSW32", 32, 10**7).name == "HNSW32"
    assert choose("SQ8", 32, 3) == ("Flat", "SQ8 can't be trained with 3 vectors yet")
    assert "few enough to compare exactly" in choose(AUTO, 32, 3).reason
    assert "compared by codes first" in choose(AUTO, 32, 300).reason
    assert "too many to compare all" in choose(AUTO, 32, 3_000).reason


# The change


@pytest.mark.parametrize("on_disk", [True, False])
def test_the_index_changes_by_itself_as_the_store_grows_and_shrinks(on_disk: bool, tmp_path: Path) -> None:
    path = tmp_path if on_disk else None
    store = FaissStore(TextEmbeddings(), path)
    fill(store, 0, 20)
    settle(store)
    assert in_use(store) == "Flat"
    fill(store, 20, 40)
    settle(store)
    assert in_use(store) == "IVF1,PQ16x4fs"
    check(store, {number: {1} for number in range(40)})
    fill(store, 40, 80)
    settle(store)
    assert in_use(store) == "IVF32,PQ16x4fs"
    fill(store, 10, 30, version=2)
    store.delete(filter={"number": {"$gte": 70}})
    check(store, {number: {2 if 10 <= number < 30 else 1} for number in range(70)})
    store.delete(filter={"number": {"$gte": 11}})
    settle(store)
    assert in_use(store) == "Flat"
    check(store, {number: {2 if number == 10 else 1} for number in range(11)})
    store.close()
    assert not [*tmp_path.glob("*.part")]


def test_a_changed_index_is_saved_and_loaded_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 20)
        search(store)
        fill(store, 20, 40)
        settle(store)
    assert sorted(path.suffix for path in tmp_path.glob("vectors*")) == [".faiss", ".records"]
    monkeypatch.setattr(making, "empty_index", None)  # nothing is built
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        check(store, {number: {1} for number in range(40)})
        assert in_use(store) == "IVF1,PQ16x4fs"
        assert not problems(store)
    with FaissStore.open(tmp_path, TextEmbeddings(), read_only=True) as store:
        check(store, {number: {1} for number in range(40)})


def test_saving_makes_the_change_that_is_due(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 20)
        search(store)
        fill(store, 20, 40)
        store.save()
        assert in_use(store) == "IVF1,PQ16x4fs"
        assert [*tmp_path.glob("*.records")]


def test_files_that_a_killed_process_left_are_removed_some_day(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 40)
        store.save()
        left = [f"vectors.{'0' * 16}.faiss.{'1' * 16}.part", f"vectors.records.{'1' * 16}.part"]
        recent = f"vectors.{'2' * 16}.records.{'3' * 16}.part"
        final = f"vectors.{'4' * 16}.records"
        for name in (*left, recent, final):
            (tmp_path / name).write_bytes(b"unfinished")
        for name in left:
            os.utime(tmp_path / name, (0, 0))
        store.save()
        assert {path.suffix for path in tmp_path.glob("vectors.*")} == {".faiss", ".records", ".part"}
        assert [path.name for path in tmp_path.glob("*.part")] == [recent]
        assert not (tmp_path / final).exists()


class Held:
    """Holds up the change in the background after its first part."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.may_go_on = threading.Event(), threading.Event()
        self.failure: Exception | None = None
        add_part = making.IndexMaker._add_part

        def hold(maker: Any, place: Any, index: Any, snapshot: Any) -> Any:
            after = add_part(maker, place, index, snapshot)
            if threading.current_thread() is threading.main_thread():
                return after  # the first search makes an index by itself
            if not self.begun.is_set():
                self.begun.set()
            elif self.failure:
                raise self.failure
            return after

        make = making.IndexMaker.make

        def in_steps(maker: Any, read: Any, present: str, step: Callable[[Any], Any] = lambda step: step()) -> Any:
            def held(work: Any) -> Any:
                if self.begun.is_set():  # between two steps, when the store isn't kept from anything
                    assert self.may_go_on.wait(PATIENCE)
                return step(work)

            return make(maker, read, present, held)

        monkeypatch.setattr(making.IndexMaker, "_add_part", hold)
        monkeypatch.setattr(making.IndexMaker, "make", in_steps)

    def store(self, path: Path | None) -> FaissStore:
        store = FaissStore(TextEmbeddings(), path)
        fill(store, 0, 20)
        search(store)
        fill(store, 20, 40)
        assert self.begun.wait(PATIENCE)
        return store


@pytest.mark.parametrize("on_disk", [True, False])
def test_searches_and_writes_go_on_during_a_change(
    on_disk: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    store = held.store(tmp_path if on_disk else None)
    stats = store.stats()
    assert (stats.index_in_use, stats.index_to_come) == ("Flat", "IVF1,PQ16x4fs")
    assert "IVF1,PQ16x4fs is to replace it, as 320 vectors" in stats.index_reason
    check(store, {number: {1} for number in range(40)})
    # Documents that were read already, that are yet to be read, and new ones.
    expected = {number: {1} for number in range(44)}
    store.replace_documents([], ["document 0", "document 39"])
    del expected[0], expected[39]
    for number in (1, 2, 30):
        store.replace_documents(document(number, 2), [f"document {number}"])
        expected[number] = {2}
    fill(store, 40, 44)
    store.add_documents([Document(page_content="alone", id="alone")])
    store.delete(["alone"])
    check(store, expected)
    assert in_use(store) == "Flat"
    held.may_go_on.set()
    store._session._vectors.wait_for_change()
    assert (in_use(store), store.stats().index_to_come) == ("IVF1,PQ16x4fs", None)
    check(store, expected)
    store.close()


@pytest.mark.parametrize("is_dropped", [False, True])
def test_a_store_that_is_closed_during_a_change_leaves_the_old_index(
    is_dropped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    store = held.store(tmp_path)
    threads = threading.active_count()
    threading.Timer(0.2, held.may_go_on.set).start()
    if is_dropped:
        del store
    else:
        store.close()
    for thread in threading.enumerate():
        if thread.name.startswith("index of"):
            thread.join(PATIENCE)
    assert threading.active_count() <= threads
    assert not [*tmp_path.glob("vectors*")]
    with FaissStore.open(tmp_path, TextEmbeddings()) as store:
        check(store, {number: {1} for number in range(40)})


def test_a_failed_change_is_logged_and_searches_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    held = Held(monkeypatch)
    held.failure = RuntimeError("no memory")
    held.may_go_on.set()
    with caplog.at_level(logging.ERROR):
        store = held.store(tmp_path)
        store._session._vectors.wait_for_change()
    (record,) = caplog.records
    assert "couldn't be changed; searches go on with the present one" in record.message
    fill(store, 40, 44)  # no second attempt
    assert (in_use(store), store.stats().index_to_come) == ("Flat", None)
    check(store, {number: {1} for number in range(44)})
    store.close()
    assert not [*tmp_path.glob("vectors*")]


def test_one_change_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    held = Held(monkeypatch)
    store = held.store(None)
    for number in range(40, 50):
        fill(store, number, number + 1)
        search(store)
    assert sum(thread.name.startswith("index of") for thread in threading.enumerate()) == 1
    held.may_go_on.set()
    store._session._vectors.wait_for_change()
    check(store, {number: {1} for number in range(50)})


def test_a_log_that_was_shortened_meanwhile_makes_it_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain_sentence_window.stores.faiss.database.transaction.MIN_LOGGED", 3)
    held = Held(monkeypatch)
    store = held.store(None)
    for version in range(2, 22):
        store.replace_documents(document(0, version), ["document 0"])
    held.may_go_on.set()
    store._session._vectors.wait_for_change()
    assert in_use(store) == "IVF1,PQ16x4fs"
    check(store, {number: {21 if number == 0 else 1} for number in range(40)})


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs forks")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_process_has_no_change_and_leaves_the_files_of_the_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held(monkeypatch)
    store = held.store(tmp_path)
    child = os.fork()
    if not child:
        code = 1
        try:
            held.may_go_on.set()
            assert store.stats().index_to_come is None
            check(store, {number: {1} for number in range(40)})
            code = 0
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    held.may_go_on.set()
    store._session._vectors.wait_for_change()
    assert in_use(store) == "IVF1,PQ16x4fs"
    check(store, {number: {1} for number in range(40)})
    store.close()


def test_two_stores_of_one_folder_change_one_after_the_other(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as one, FaissStore(TextEmbeddings(), tmp_path) as other:
        fill(one, 0, 20)
        search(one)
        search(other)
        fill(one, 20, 40)
        for store in (one, other):
            settle(store)
        for version in (2, 3):
            for store in (one, other):
                fill(store, version, version + 3, version)
                for each in (one, other):
                    each.save()
                    expected = {number: {3 if 3 <= number < 6 and version == 3 else 1} for number in range(40)}
                    found = contents(each)
                    assert found.keys() == expected.keys()
                    check_against_brute_force(each, TextEmbeddings())
        assert in_use(one) == in_use(other) == "IVF1,PQ16x4fs"
        assert len([*tmp_path.glob("vectors*")]) == 2


def test_records_that_fill_memory_are_saved_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MIN_SAVED", 20)
    with FaissStore(TextEmbeddings(), tmp_path, "IVF1,PQ16x4fs") as store:
        fill(store, 0, 40)
        store.save()
        (before,) = tmp_path.glob("*.records")
        index: Any = store._session._vectors.current[0]
        fill(store, 40, 42)
        settle(store)
        assert index.in_memory == 2 * SENTENCES
        fill(store, 42, 44)
        settle(store)
        assert (index.in_memory, before.exists()) == (0, False)
        check(store, {number: {1} for number in range(44)})


# Damage


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".records", ".faiss"])
@pytest.mark.parametrize("damage", ["flipped", "cut", "missing", "of another store"])
def test_a_damaged_file_is_made_again(tmp_path: Path, ending: str, damage: str) -> None:
    for name in ("one", "two"):
        with FaissStore(TextEmbeddings(), tmp_path / name) as store:
            fill(store, 0, 40, version=1 if name == "one" else 2)
            store.save()
    (file,), (foreign,) = ([*(tmp_path / name).glob(f"*{ending}")] for name in ("one", "two"))
    content = file.read_bytes()
    if damage == "flipped":
        file.write_bytes(content[:-50] + bytes([content[-50] ^ 1]) + content[-49:])
    elif damage == "cut":
        file.write_bytes(content[:-1])
    elif damage == "missing":
        file.unlink()
    else:
        file.write_bytes(foreign.read_bytes())
    with FaissStore.open(tmp_path / "one", TextEmbeddings()) as store:
        # As missing files are no harm, only the others are problems.
        assert (not problems(store)) == (damage == "missing" and ending == ".faiss")
        check(store, {number: {1} for number in range(40)})
        store.save()
        assert not problems(store)
        assert len([*(tmp_path / "one").glob("vectors*")]) == 2


def test_a_file_that_is_damaged_while_it_is_read_is_made_again(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 40)
        store.save()
        check(store, {number: {1} for number in range(40)})
        (file,) = tmp_path.glob("*.records")
        with file.open("rb+") as opened:
            opened.truncate(1_000)
        check(store, {number: {1} for number in range(40)})
        fill(store, 0, 3, version=2)
        store.save()
        check(store, {number: {2 if number < 3 else 1} for number in range(40)})


def test_a_file_that_is_damaged_before_it_is_saved_is_made_again(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 40)
        store.save()
        fill(store, 0, 3, version=2)
        search(store)
        (file,) = tmp_path.glob("*.records")
        with file.open("rb+") as opened:
            opened.truncate(1_000)
        store.save()
        assert not problems(store)
        check(store, {number: {2 if number < 3 else 1} for number in range(40)})


def test_no_file_of_another_folder_is_read(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path / "index") as store:
        fill(store, 0, 40)
        store.save()
        fact = cache.VECTORS_FACT
        saved = store._session._database.read(lambda snapshot: snapshot.fact(fact))
        for path in (tmp_path / "index").glob("vectors*"):
            path.rename(tmp_path / path.name)
        wrong = saved | {"file": f"../{saved['file']}"}
        wrong["records"] = saved["records"] | {"file": f"../{saved['records']['file']}"}
        unusable = [saved["records"] | {"token": token} for token in (None, -1, 2**70, "5")]
        for record in (wrong, saved | {"file": 5}, *(saved | {"records": each} for each in (None, {}, *unusable))):
            store._session._database.write(partial(Transaction.set_fact, name=fact, value=record))
            with FaissStore.open(tmp_path / "index", TextEmbeddings()) as other:
                check(other, {number: {1} for number in range(40)})


# Restoring and emptying


def test_a_restored_store_has_none_of_the_old_index(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path / "index") as store:
        fill(store, 0, 40)
        store.save()
        store.backup(tmp_path / "backup")
        fill(store, 0, 5, version=2)
        store.save()
    FaissStore.restore(tmp_path / "backup", tmp_path / "index")
    assert not [*(tmp_path / "index").glob("vectors*")]
    with FaissStore.open(tmp_path / "index", TextEmbeddings()) as store:
        check(store, {number: {1} for number in range(40)})


def test_an_emptied_store_takes_another_embedder(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, 0, 40)
        store.save()
        search(store)
        store.delete(filter={"number": {"$gte": 0}})
        assert store.similarity_search("query") == []
    with FaissStore(TextEmbeddings(16), tmp_path) as store:
        texts = [f"text {number}" for number in range(300)]
        store.add_texts(texts)
        assert [found.page_content for found in store.similarity_search("text 7", k=1)] == ["text 7"]
        store.save()


# Tombstones, filters, effort


def test_tombstones_go_when_they_are_half(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path, "IVF1,PQ16x4fs") as store:
        fill(store, 0, 40)
        search(store)
        made = []
        for version in range(2, 60):
            store.replace_documents(document(version % 40, version), [f"document {version % 40}"])
            made.append(store.stats().tombstones)
        # There are at least 1,000 before it is worth it.
        assert made == [SENTENCES * (at + 1) for at in range(58)]
        assert store.stats().rebuild_saves > 0
        held = contents(store)
        assert {number: min(versions) for number, versions in held.items()} == {
            number: max([1, *(version for version in range(2, 60) if version % 40 == number)]) for number in range(40)
        }


@pytest.mark.parametrize("index", ["IVF1,PQ16x4fs", "IVF16,PQ16x4fs"])
def test_codes_are_told_apart_from_tombstones_only_where_most_are(index: str, monkeypatch: pytest.MonkeyPatch) -> None:
    told_apart: list[bool] = []
    inner = QuantizedIndex._search

    def noting(index: QuantizedIndex, vector: Any, count: int, bits: Any, clusters: int) -> Any:
        told_apart.append(bits is not None)
        return inner(index, vector, count, bits, clusters)

    monkeypatch.setattr(QuantizedIndex, "_search", noting)
    store = FaissStore(TextEmbeddings(), index=index)
    fill(store, 0, 150)
    for gone, expected in ((0, [False]), (10, [False]), (100, [False, True])):
        store.delete(filter={"number": {"$lt": gone}})
        assert store.stats().tombstones == gone * SENTENCES
        told_apart.clear()
        found = store.similarity_search_with_score(text_of(gone + 1, 3, 1), k=5)
        assert told_apart == expected
        assert found[0][0].page_content == text_of(gone + 1, 3, 1)
        assert all(each.metadata["number"] >= gone for each, _ in found)
        check_against_brute_force(store, TextEmbeddings())


@pytest.mark.parametrize("index", ["IVF1,PQ16x4fs", "IVF16,PQ16x4fs"])
def test_filters_of_any_size_find_what_matches(index: str) -> None:
    store = FaissStore(TextEmbeddings(), index=index)
    fill(store, 0, 100)
    store.replace_documents([], ["document 3"])
    for most in (0, 1, 2, 4, 20, 50, 98):
        found = store.similarity_search_with_score("query", k=20, filter={"number": {"$lte": most}})
        texts = {each.page_content for number in range(most + 1) if number != 3 for each in document(number, 1)}
        assert len(found) == min(20, len(texts))
        assert {each.page_content for each, _ in found} <= texts
        again = store.similarity_search_with_score("query", k=20, filter={"number": {"$lte": most}})
        assert again == found
        everything = store.similarity_search_with_score(
            "query", k=20, filter={"number": {"$lte": most}}, search_effort=float("inf")
        )
        assert len({each.id for each, _ in everything} & {each.id for each, _ in found}) >= 0.8 * len(found)


def test_effort_decides_how_many_candidates_and_clusters_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[tuple[int, int]] = []
    inner = QuantizedIndex._search

    def noting(index: QuantizedIndex, vector: Any, count: int, bits: Any, clusters: int) -> Any:
        looked.append((count, clusters))
        return inner(index, vector, count, bits, clusters)

    monkeypatch.setattr(QuantizedIndex, "_search", noting)
    store = FaissStore(TextEmbeddings(), index="IVF64,PQ16x4fs", search_effort=0.5)
    fill(store, 0, 125)
    store.similarity_search("query", k=10)
    for effort in (0.25, 1, 2):
        store.similarity_search("query", k=10, search_effort=effort)
    store.similarity_search("query", k=10, search_effort=float("inf"))  # compares all records instead
    assert looked == [(190, 32), (95, 16), (380, 64), (760, 64)]
    assert contents(store).keys() == {*range(125)}


@pytest.mark.parametrize("effort", [0, -1, float("nan"), "2", None, True])
def test_an_effort_is_a_number_above_zero(effort: Any) -> None:
    with pytest.raises(InvalidInputError, match="search_effort is .*; it must be a number above 0: 1 is usual"):
        FaissStore(TextEmbeddings(), search_effort=effort)
    store = FaissStore.from_texts(["a"], TextEmbeddings())
    if effort is not None:
        for find in (store.similarity_search, store.hybrid_search, store.max_marginal_relevance_search):
            with pytest.raises(InvalidInputError, match="search_effort is"):
                find("a", search_effort=effort)


@pytest.mark.parametrize(
    "index", ["Flat", "SQ8", "SQfp16", "RaBitQ", "IVF1,PQ16x4fs", "HNSW32_SQ8", "IVF4,SQ8", "IVF4,PQ16x4fs"]
)
def test_scores_do_not_depend_on_the_index(index: str) -> None:
    exact, store = FaissStore(TextEmbeddings(), index="Flat"), FaissStore(TextEmbeddings(), index=index)
    for each in (exact, store):
        fill(each, 0, 50)
    for query in ("a", "b", "c"):
        right = {each.id: score for each, score in exact.similarity_search_with_score(query, k=400)}
        found = store.similarity_search_with_score(query, k=10)
        assert len(found) == 10
        assert all(abs(right[each.id] - score) < 1e-6 for each, score in found)
        assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


# Reading in parts


def all_parts(weights: tuple[float, ...], snapshot: Any) -> list[Any]:
    place, parts = start_of(snapshot), list[Any]()
    while not place.is_end:
        place, read = next_part(snapshot, place, weights)
        parts += read
    return parts


@pytest.mark.parametrize("weights", [(1.0,), (1.0, 0.3, 0.2)])
def test_parts_are_all_rows_once_and_in_order(weights: tuple[float, ...]) -> None:
    store = FaissStore(TextEmbeddings(), neighbor_weights=weights)
    fill(store, 0, 30)
    for number in (3, 9):
        sentences = document(number, 2)
        store.add_documents([sentences[4], sentences[6]])  # a document of old and new rows
    store.add_documents([Document(page_content=f"alone {number}") for number in range(30)])
    store.delete([each.id for each in document(5, 1)[:3] if each.id])
    database = store._session._database
    whole = database.read(lambda snapshot: [*of_documents(snapshot, range(40), weights), *of_none(snapshot, 0)])
    rows, vectors = (np.concatenate(each) for each in zip(*whole, strict=True))
    parts = database.read(partial(all_parts, weights))
    assert len(parts) > 4
    found, read = (np.concatenate(each) for each in zip(*parts, strict=True))
    assert all(np.all(np.diff(part) > 0) for part, _ in parts)
    order, right = np.argsort(found), np.argsort(rows)
    np.testing.assert_array_equal(found[order], rows[right])
    np.testing.assert_allclose(read[order], vectors[right], atol=1e-6)


def test_a_read_only_store_makes_no_change(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path, "Flat") as store:
        fill(store, 0, 40)
        store.save()
    with FaissStore.open(tmp_path, TextEmbeddings(), index=AUTO, read_only=True) as store:
        settle(store)
        assert in_use(store) == "Flat"
        check(store, {number: {1} for number in range(40)})
        with pytest.raises(StoreError, match="for reading only"):
            store.save()
    assert [path.name for path in tmp_path.glob("vectors*")] == ["vectors.faiss"]
