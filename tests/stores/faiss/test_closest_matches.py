"""How close sentences, asked as questions, come to others elsewhere in a store: by hand, naively, and when."""

import asyncio
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from langchain_sentence_window import FaissStore
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.errors import EmbeddingError, IndexMismatchError, InvalidInputError, StoreError
from langchain_sentence_window.ranking.candidates import Numbers
from langchain_sentence_window.ranking.relevance import NEARBY, SAMPLED_SENTENCES
from langchain_sentence_window.stores.faiss import estimates as closest_matches
from langchain_sentence_window.stores.faiss.dense import faiss_factory as comparing
from langchain_sentence_window.stores.faiss.dense.vector_index import VectorIndex
from langchain_sentence_window.stores.faiss.embedder_guard import ASKED
from tests.conftest import Invoke
from tests.interpreters import run_code
from tests.patience import PATIENCE
from tests.stores.faiss.test_index_types import COUNT, INDEXES, documents, fill
from tests.torture.corpus import TextEmbeddings
from tests.torture.corpus import document as sentences

Made = tuple[list[Document], list[list[float]]]


class Known(Embeddings):
    """Knows the vectors of texts, and of texts that are asked if these have others; keeps what it was given."""

    def __init__(self, vectors: Mapping[str, list[float]], asked: Mapping[str, list[float]] | None = None) -> None:
        self.vectors = dict(vectors)
        self.asked = self.vectors if asked is None else dict(asked)
        self.batches: list[list[str]] = []
        self.questions: list[str] = []

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.batches.append(texts)
        return [self.vectors[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        self.questions.append(text)
        return self.asked[text]


def sentence(doc_id: str, index: int, text: str, section: tuple[int, int] = (0, 100)) -> Document:
    metadata = {"doc_id": doc_id, "sentence_index": index, "section_start": section[0], "section_end": section[1]}
    return Document(id=sentence_id(doc_id, index), page_content=text, metadata=metadata)


def over(
    given: Sequence[tuple[Document, list[float]]], alone: Mapping[str, list[float]] | None = None, **settings: Any
) -> FaissStore:
    """Return a store of sentences with their vectors; without their headings, some have other vectors."""
    known = {each.page_content: vector for each, vector in given} | dict(alone or {})
    store = FaissStore(Known(known), **settings)
    store.add_embeddings([each for each, _ in given], [vector for _, vector in given])
    return store


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the number of sampled sentences each time that matches are found."""
    found: list[int] = []
    search = VectorIndex.search_together

    def count(index: VectorIndex, vectors: Any, k: int) -> Any:
        found.append(len(vectors))
        return search(index, vectors, k)

    monkeypatch.setattr(VectorIndex, "search_together", count)
    return found


def test_cosines_by_hand() -> None:
    given = [
        (sentence("a", 0, "one"), [3.0, 4.0, 0.0]),
        (sentence("a", 1, "two"), [3.0, 4.0, 0.0]),  # beside the first
        (sentence("b", 0, "three"), [4.0, 3.0, 0.0]),
        (sentence("c", 0, " ONE"), [3.0, 4.0, 0.0]),  # the first one's text, but not the second's
        (sentence("c", 50, "four"), [0.0, 0.6, 0.8]),
    ]
    for neighbor_weights in ([1.0], [1.0, 0.0]):
        store = over(given, neighbor_weights=neighbor_weights)
        assert store.closest_matches() == pytest.approx([0.96, 1, 0.96, 1, 0.48], abs=1e-3)
        assert store.closest_matches().dtype == np.float64


def test_texts_alone_are_compared_with_the_vectors_that_are_searched() -> None:
    given = [
        (sentence("a", 0, "one"), [1.0, 0.0]),
        (sentence("b", 0, "two"), [0.8, 0.6]),
        (sentence("c", 0, "three"), [0.6, 0.8]),
    ]
    store = over(given, {"one": [0.0, 5.0], "two": [3.0, 4.0], "three": [0.0, 0.0]})
    assert store.closest_matches() == pytest.approx([0.8, 1.0, 0.0], abs=1e-3)


def test_sentences_are_not_mixed_before_they_are_asked() -> None:
    given = [
        (sentence("a", 0, "one"), [1.0, 0.0]),
        (sentence("a", 1, "two"), [0.0, 1.0]),
        (sentence("b", 0, "three"), [1.0, 0.0]),
    ]
    store = over(given, neighbor_weights=(1, 0.75))
    # Mixed, the first is (1, 0.75) / 1.25 and the second (0.75, 1) / 1.25.
    assert store.closest_matches() == pytest.approx([1, 0, 0.8], abs=1e-3)


def test_the_nearest_sentences_of_a_document_do_not_count() -> None:
    given = [(sentence("a", n, f"text {n}"), [1.0, 0.0]) for n in range(NEARBY + 1)]
    assert len(over(given).closest_matches()) == 0
    given += [(sentence("a", NEARBY + 1, "far"), [0.6, 0.8])]
    assert over(given, neighbor_weights=(1,)).closest_matches() == pytest.approx([0.6, 0.6], abs=1e-3)


def test_other_documents_are_near_nothing_but_their_copies() -> None:
    vectors = [[1.0, 0.0], [1.0, 0.0], [0.6, 0.8]]
    texts = [Document(page_content=text) for text in ("one", "One ", "two")]
    store = over(list(zip(texts, vectors, strict=True)))
    assert store.closest_matches() == pytest.approx([0.6, 0.6, 0.6], abs=1e-3)


def test_a_sentence_of_which_only_copies_are_found_is_left_out() -> None:
    given = [(sentence(f"copy {n}", 0, "We may end this."), [1.0, 0.0]) for n in range(60)]
    given += [(sentence("other", 0, "Else."), [0.6, 0.8])]
    assert over(given).closest_matches() == pytest.approx([0.6], abs=1e-3)


@st.composite
def corpora(draw: st.DrawFn) -> Made:
    """Draw fewer sentences than are found with each, some with the same text or vector, and other documents."""
    texts, numbers = st.sampled_from(["one", "two", "ONE", "three "]), st.integers(-2, 2).map(float)
    vectors = st.lists(numbers, min_size=4, max_size=4).filter(any)
    indexes = st.lists(st.integers(0, 25), max_size=12, unique=True)
    found = [
        sentence(name, index, draw(texts), (index // 7 * 7, index // 7 * 7 + 7))
        for name in "ab"
        for index in sorted(draw(indexes))
    ]
    found += [Document(id=f"other {n}", page_content=draw(texts)) for n in range(draw(st.integers(0, 3)))]
    return found, [draw(vectors) for _ in found]


def naive(store: FaissStore) -> list[float]:
    """Compare each sentence with each other one."""
    found: list[float] = []
    for some, _ in store.export():
        for one in some:
            cosines = [
                cosine
                for other, cosine in store.similarity_search_with_score(one.page_content, 1_000)
                if other.page_content.strip().lower() != one.page_content.strip().lower()
                and not (
                    "doc_id" in one.metadata
                    and one.metadata["doc_id"] == other.metadata.get("doc_id")
                    and abs(one.metadata["sentence_index"] - other.metadata["sentence_index"]) <= 8
                )
            ]
            found += [max(cosines)] if cosines else []
    return sorted(found)


@given(corpora(), st.sampled_from([(1,), (1, 0.3, 0.2)]), st.integers(1, 9))
def test_they_are_those_of_a_naive_computation(made: Made, weights: tuple[float, ...], block: int) -> None:
    # The texts alone have other vectors than the sentences, as if those had headings.
    known = Known({text: TextEmbeddings(4).embed_query(text) for text in ("one", "two", "ONE", "three ")})
    store = FaissStore(known, neighbor_weights=weights)
    store.add_embeddings(*made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparing, "_BLOCK_SIZE", block)
        found = store.closest_matches()
    assert sorted(found) == pytest.approx(naive(store), abs=1e-5)
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("index", INDEXES)
def test_indexes_find_together_what_they_find_one_by_one(index: str) -> None:
    store = FaissStore(TextEmbeddings(), index=index)
    fill(store, documents())
    store.delete([str(n) for n in range(0, COUNT, 5)])
    store.similarity_search("query", 1)
    inner: Any = store._session
    vectors: VectorIndex = inner._vectors.current[0]
    queries = np.array([TextEmbeddings().vector(f"query {n}") for n in range(30)])
    for k in (1, 40, 2 * COUNT) if index in ("Flat", "SQ8", "SQfp16") else (1, 40):
        together, alone = vectors.search_together(queries, k), [vectors.search(each, k, None) for each in queries]
        assert [len(pairs) for pairs in together] == [min(k, COUNT * 4 // 5)] * 30
        ones, others = (np.array([[cosine for _, cosine in pairs] for pairs in each]) for each in (together, alone))
        assert ones == pytest.approx(others, abs=1e-5)
        assert all({*dict(one)} == {*dict(other)} for one, other in zip(together, alone, strict=True))
    assert len(store.closest_matches()) == SAMPLED_SENTENCES
    store.delete([str(n) for n in range(COUNT)])
    assert len(store.closest_matches()) == 0
    assert vectors.search_together(queries, 5) == [[]] * 30


def test_the_sample_is_spread_over_the_store_whatever_was_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    store = FaissStore(TextEmbeddings(), index="HNSW32")
    fill(store, documents())
    store.delete([str(n) for n in range(1_100)])
    store.similarity_search("query", 1)
    inner: Any = store._session
    rows = inner._vectors.current[0].spread_rows(10)
    assert list(rows) == [1101, 1112, 1123, 1134, 1145, 1156, 1167, 1178, 1189, 1200]
    assert len(store.closest_matches()) == 100
    assert len(store.closest_matches(7)) == 7
    found = counted(monkeypatch)
    monkeypatch.setattr(closest_matches, "MAX_COMPARISONS", 6_000)
    assert [len(store.closest_matches(size)) for size in (50, 70, 10)] == [50, 60, 10]
    monkeypatch.setattr(closest_matches, "MAX_COMPARISONS", 100)
    assert [len(store.closest_matches(size)) for size in (200, 8)] == [50, 8]
    assert found == [50, 60, 10, 50, 8]


def test_none_are_found_in_an_empty_store_nor_for_a_single_sentence(tmp_path: Path) -> None:
    for path in (None, tmp_path / "s"):
        store = FaissStore(TextEmbeddings(), path)
        assert store.closest_matches().shape == (0,)
        store.add_documents([sentence("a", 0, "one")])
        assert store.closest_matches().shape == (0,)
        store.add_documents([sentence("b", 0, "two")])
        assert store.closest_matches().shape == (2,)
        store.delete_documents(["a", "b"])
        assert store.closest_matches().shape == (0,)
        store.close()


@pytest.mark.parametrize("sample", [0, -1, 1.5, "5", None, True])
def test_the_sample_is_a_whole_number_above_0(sample: Any) -> None:
    with pytest.raises(InvalidInputError, match="sample is"):
        FaissStore(TextEmbeddings()).closest_matches(sample)


def test_they_are_found_again_when_more_than_a_tenth_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = counted(monkeypatch)
    store = FaissStore(TextEmbeddings(), tmp_path)

    def finds(change: Callable[[], object]) -> bool:
        before = len(found)
        change()
        after, expected = store.closest_matches(), len(found)
        assert list(store.closest_matches()) == list(after)
        assert len(found) == expected
        return len(found) > before

    assert finds(lambda: fill(store, documents(100)))
    assert not finds(lambda: None)
    assert not finds(lambda: fill(store, documents(110)[100:]))
    assert finds(lambda: fill(store, documents(111)[110:]))
    assert not finds(lambda: store.delete([str(n) for n in range(11)]))
    assert finds(lambda: store.delete(["11"]))
    # Others take the place of some: 99 as before.
    assert not finds(lambda: fill(store, documents(20)[12:20]))
    assert finds(lambda: fill(store, documents(25)[20:25]))
    assert finds(lambda: store.closest_matches(5))
    # By another process, as it were.
    with FaissStore.open(tmp_path, TextEmbeddings()) as other:
        assert finds(lambda: fill(other, documents(200)))
    store.close()


def test_another_embedder_gets_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = counted(monkeypatch)
    given = [(sentence(name, 0, name), vector) for name, vector in (("a", [1.0, 0.0]), ("b", [0.6, 0.8]))]
    store = over(given, path=tmp_path)
    assert store.closest_matches() == pytest.approx([0.6, 0.6], abs=1e-3)
    store.delete_documents(["a", "b"])
    vectors = [[1.0, 0.0, 0.0], [0.28, 0.0, 0.96]]
    other = over([(each, vector) for (each, _), vector in zip(given, vectors, strict=True)], path=tmp_path)
    assert other.closest_matches() == pytest.approx([0.28, 0.28], abs=1e-3)
    assert found == [2, 2]
    with pytest.raises(IndexMismatchError, match="now holds vectors of"):
        store.closest_matches()
    store.close()
    other.close()


def test_other_weights_give_others(tmp_path: Path) -> None:
    given = [
        (sentence("a", 0, "one"), [1.0, 0.0]),
        (sentence("a", 1, "two"), [0.0, 1.0]),
        (sentence("b", 0, "three"), [1.0, 0.0]),
    ]
    for weights, expected in (((1, 0.75), 0.8), ((1,), 1), ((1, 0.75), 0.8)):
        known = Known({each.page_content: vector for each, vector in given})
        with FaissStore(known, tmp_path, neighbor_weights=weights) as store:
            if not len(store):
                store.add_embeddings([each for each, _ in given], [vector for _, vector in given])
            assert store.closest_matches()[2] == pytest.approx(expected, abs=1e-3)
            store.save()


async def test_callers_may_change_what_they_got(way: Invoke) -> None:
    store = FaissStore(TextEmbeddings())
    fill(store, documents(30))
    first: Numbers = await way(store, "closest_matches", 9)
    kept = first.tolist()
    first[:] = 7
    assert (await way(store, "closest_matches", 9)).tolist() == kept
    assert len(kept) == 9


def test_stores_that_are_read_only_or_closed(tmp_path: Path) -> None:
    with FaissStore(TextEmbeddings(), tmp_path) as store:
        fill(store, documents(300))
        expected = store.closest_matches().tolist()
        store.save()
    with pytest.raises(StoreError, match="closed"):
        store.closest_matches()
    # Mapped from its file.
    with FaissStore(TextEmbeddings(), tmp_path, read_only=True) as store:
        assert store.closest_matches().tolist() == pytest.approx(expected, abs=1e-6)
    with FaissStore(TextEmbeddings(), tmp_path, index="HNSW32", read_only=True) as store:
        assert store.closest_matches().tolist() == pytest.approx(expected, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [True, False])
def test_all_are_from_one_state(on_disk: bool, tmp_path: Path) -> None:
    names = [f"d{n}" for n in range(6)]
    known = Known({f"{name} {version}": np.eye(8)[version % 8].tolist() for name in names for version in range(9_999)})
    store = FaissStore(known, tmp_path if on_disk else None, neighbor_weights=(1,))

    def write(version: int) -> None:
        """Give all documents the same vector, which is at right angles to the one before."""
        given = [sentence(name, 0, f"{name} {version}") for name in names]
        store.add_embeddings(given, [np.eye(8)[version % 8].tolist()] * len(names))

    write(0)
    with ThreadPoolExecutor(1) as writer:
        for version in range(1, 20):
            writing = writer.submit(write, version)
            found = store.closest_matches(10 + 2 * version)
            # Those that were written again since they were chosen are left out, and they are all of them.
            assert found.tolist() in (pytest.approx([1] * len(names), abs=1e-3), [])
            writing.result()
            assert len(store.closest_matches(11 + 2 * version)) == len(names)
    store.close()


FORKED = """
import multiprocessing, sys, warnings
import numpy as np
from langchain_sentence_window import FaissStore
from tests.patience import PATIENCE
from tests.stores.faiss.test_index_types import documents, fill
from tests.torture.corpus import TextEmbeddings

def child(store, queue):
    queue.put([store.closest_matches(size).tolist() for size in (100, 150)])

warnings.simplefilter("ignore", DeprecationWarning)
store = FaissStore(TextEmbeddings(), sys.argv[1] or None, index=sys.argv[2])
fill(store, documents(1_100))
expected = [store.closest_matches(size).tolist() for size in (150, 100)][::-1]
context = multiprocessing.get_context("fork")
queue = context.Queue()
process = context.Process(target=child, args=(store, queue))
process.start()
for found in (queue.get(timeout=PATIENCE), [store.closest_matches(size).tolist() for size in (100, 150)]):
    assert [np.allclose(*pair, atol=1e-5) for pair in zip(found, expected, strict=True)] == [True, True]
process.join(PATIENCE)
assert process.exitcode == 0
"""


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system doesn't fork")
@pytest.mark.parametrize("on_disk", [True, False])
@pytest.mark.parametrize("index", ["Flat", "SQ8", "HNSW32"])
def test_a_forked_process_finds_the_same(on_disk: bool, index: str, tmp_path: Path) -> None:
    done = run_code(FORKED, tmp_path if on_disk else "", index)
    assert done.returncode == 0, done.stderr


def test_texts_of_any_kind_are_compared() -> None:
    texts = ["a", "\0", "\ud800", "x" * 100_000, "\U0001f600"]
    store = FaissStore(TextEmbeddings(2))
    store.add_embeddings(
        [sentence(str(n), 0, text) for n, text in enumerate(texts)], [[1.0, float(n)] for n in range(5)]
    )
    assert len(store.closest_matches()) == len(texts)


def test_blank_texts_are_not_embedded() -> None:
    given = [(sentence(str(n), 0, text), [1.0, float(n)]) for n, text in enumerate(["", " \n", "one", "two"])]
    known = Known({"one": [1.0, 0.0], "two": [0.0, 1.0]})
    store = FaissStore(known)
    store.add_embeddings([each for each, _ in given], [vector for _, vector in given])
    assert len(store.closest_matches()) == 2
    assert known.batches == [["one", "two"]]


async def test_one_call_embeds_the_sample_once_for_each_state(way: Invoke) -> None:
    known = Known({f"text {n}": [1.0, float(n % 7)] for n in range(300)})
    store = FaissStore(known)
    store.add_embeddings([sentence(str(n), 0, f"text {n}") for n in range(150)], [[1.0, 0.0]] * 150)
    assert await way(store, "similarity_search", "text 0")
    assert (known.batches, known.questions) == ([], ["text 0"])
    first: Numbers = await way(store, "closest_matches")
    assert (len(first), list(map(len, known.batches))) == (SAMPLED_SENTENCES, [SAMPLED_SENTENCES])
    assert known.questions == ["text 0"]  # which is cached
    for _ in range(2):
        assert (await way(store, "closest_matches")).tolist() == first.tolist()
    store.add_embeddings([sentence(str(n), 0, f"text {n}") for n in range(150, 300)], [[1.0, 0.0]] * 150)
    assert len(known.batches) == 1
    await way(store, "closest_matches")
    assert list(map(len, known.batches)) == [SAMPLED_SENTENCES] * 2
    assert len(known.questions) == 1


async def test_an_embedder_that_embeds_questions_otherwise_embeds_some_one_by_one(way: Invoke) -> None:
    texts = [f"text {n}" for n in range(90)]
    known = Known({text: [1.0, 0.0] for text in texts}, asked={text: [0.6, 0.8] for text in texts})
    store = FaissStore(known)
    store.add_embeddings([sentence(text, 0, text) for text in texts], [[1.0, 0.0]] * len(texts))
    assert await way(store, "closest_matches") == pytest.approx([0.6] * ASKED, abs=1e-3)
    assert len(known.batches) == 1
    assert len(known.questions) == len(set(known.questions)) == ASKED
    assert {"text 0", "text 89"} <= set(known.questions)
    # Fewer than that.
    assert len(await way(store, "closest_matches", 5)) == 5


@pytest.mark.parametrize("is_asked", [True, False])
async def test_an_embedder_that_fails_leaves_the_store_usable(way: Invoke, is_asked: bool) -> None:
    class Failing(Known):
        fails = True

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            if self.fails and not is_asked:
                raise ConnectionError("the provider hung up")
            return super().embed_documents(texts)

        def embed_query(self, text: str) -> list[float]:
            if self.fails and is_asked:
                raise ConnectionError("the provider hung up")
            return super().embed_query(text)

    failing = Failing({"one": [1.0, 0.0], "two": [0.6, 0.8]})
    store = FaissStore(failing)
    store.add_embeddings([sentence("a", 0, "one"), sentence("b", 0, "two")], [[1.0, 0.0], [0.6, 0.8]])
    for _ in range(2):
        with pytest.raises(ConnectionError, match="the provider hung up"):
            await way(store, "closest_matches")
    failing.fails = False
    assert await way(store, "closest_matches") == pytest.approx([0.6, 0.6], abs=1e-3)


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ({"one": [1.0, 0.0, 0.0], "two": [1.0, 0.0, 0.0]}, "vectors of 3 numbers don't fit an index of vectors of 2"),
        ({"one": [1.0, 0.0], "two": [float("nan"), 0.0]}, "'two'"),
        ({"one": [1.0, 0.0], "two": [1.0]}, "vector"),
    ],
)
async def test_vectors_that_do_not_fit_are_an_error(way: Invoke, vectors: dict[str, list[float]], message: str) -> None:
    known = Known({"one": [1.0, 0.0], "two": [0.6, 0.8]})
    store = FaissStore(known)
    store.add_embeddings([sentence("a", 0, "one"), sentence("b", 0, "two")], [[1.0, 0.0], [0.6, 0.8]])
    right, known.vectors = known.vectors, vectors
    known.asked = vectors
    with pytest.raises(EmbeddingError, match=message):
        await way(store, "closest_matches")
    known.vectors = known.asked = right
    store = FaissStore(known)
    store.add_embeddings([sentence("a", 0, "one"), sentence("b", 0, "two")], [[1.0, 0.0], [0.6, 0.8]])
    assert len(await way(store, "closest_matches")) == 2


def test_two_first_callers_find_the_same() -> None:
    waiting = threading.Barrier(2, timeout=PATIENCE)

    class Slow(Known):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            waiting.wait()
            return super().embed_documents(texts)

    slow = Slow({f"text {n}": [1.0, float(n)] for n in range(20)})
    store = FaissStore(slow)
    store.add_embeddings([sentence(str(n), 0, f"text {n}") for n in range(20)], [[1.0, float(n)] for n in range(20)])
    found: list[list[float]] = []
    threads = [threading.Thread(target=lambda: found.append(store.closest_matches().tolist())) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2
    assert found[0] == found[1] == store.closest_matches().tolist()
    assert len(slow.batches) == 2


async def test_the_loop_goes_on_while_the_sample_is_embedded() -> None:
    waiting, going_on = asyncio.Event(), asyncio.Event()

    class Waiting(Known):
        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            waiting.set()
            await going_on.wait()
            return self.embed_documents(texts)

    store = FaissStore(Waiting({"one": [1.0, 0.0], "two": [0.6, 0.8]}))
    store.add_embeddings([sentence("a", 0, "one"), sentence("b", 0, "two")], [[1.0, 0.0], [0.6, 0.8]])
    task = asyncio.create_task(store.aclosest_matches())
    await asyncio.wait_for(waiting.wait(), PATIENCE)
    assert [document.page_content for document in await store.asimilarity_search("one", 1)] == ["one"]
    going_on.set()
    assert (await task).tolist() == pytest.approx([0.6, 0.6], abs=1e-3)


def test_a_store_that_is_closed_meanwhile_says_so() -> None:
    class Closing(Known):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            store.close()
            return super().embed_documents(texts)

    store = FaissStore(Closing({"one": [1.0, 0.0], "two": [0.6, 0.8]}))
    store.add_embeddings([sentence("a", 0, "one"), sentence("b", 0, "two")], [[1.0, 0.0], [0.6, 0.8]])
    with pytest.raises(StoreError, match="closed"):
        store.closest_matches()


def test_versions_of_documents_are_those_of_the_store() -> None:
    store = FaissStore(TextEmbeddings())
    names = [f"document {n}" for n in range(4)]
    store.replace_documents([each for n in range(4) for each in sentences(n, 0)], names)
    before = store.closest_matches()
    store.replace_documents([each for n in range(4) for each in sentences(n, 1)], names)
    after = store.closest_matches()
    assert len(before) == len(after) == 32
    assert sorted(after) == pytest.approx(naive(store), abs=1e-5)
    assert before.tolist() != after.tolist()
