"""Searching and reading in one round: sentences are those that their Documents would give, all of one state."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._primitives import SentenceKey
from langchain_sentence_window.documents.sentence_documents import (
    LateSentence,
    SentencesByKey,
    StoredSentence,
    read_parts,
    read_sentence,
)
from langchain_sentence_window.errors import IncompleteWindowError, InvalidInputError, StoreError
from langchain_sentence_window.ranking.candidates import Candidates, Numbers
from langchain_sentence_window.stores.faiss.database.reads import (
    BATCH_SIZE,
    NONE,
    FoundRows,
    are_in,
    filled,
    found_rows,
)
from langchain_sentence_window.stores.faiss.database.schema import TEXT
from langchain_sentence_window.stores.faiss.index_state import IndexState
from tests.conftest import Invoke
from tests.toys import WordEmbeddings

FIELDS = [field for field in StoredSentence.__slots__ if field != "window"]
TEXTS = ["A refund.", "", "nul \0 inside", "lone \ud800 surrogate", "ümlaut 字 😀", "two\nlines\n", "\n", "x" * 5_000]


def sentence(doc_id: str, index: int, end: int, text: str, **metadata: Any) -> Document:
    place = {"doc_id": doc_id, "sentence_index": index, "start_index": 0, "end_index": len(text)}
    return Document(
        id=f"{doc_id}/{index}",
        page_content=text,
        metadata={**place, "section_start": 0, "section_end": end, **metadata},
    )


def by_meaning(candidates: Candidates) -> Numbers:
    return candidates.dense


class Found(NamedTuple):
    sentences: Sequence[StoredSentence]
    scores: Sequence[float]
    beside: SentencesByKey


async def read(
    io: IO,
    store: FaissStore,
    query: str,
    k: int,
    *,
    beside: Callable[[Sequence[StoredSentence]], Sequence[SentenceKey]] = lambda _: [],
    lexical_weight: float = 0.0,
    **settings: Any,
) -> Found:
    """Find sentences, ranked by meaning, and read others beside them in the same state."""
    vector = await store.embed_query(io, query)

    def work(state: IndexState) -> Found:
        found = state.search(vector, query, k, lexical_weight=lexical_weight, **settings)
        order = np.argsort(-by_meaning(found.candidates), kind="stable")[:k]
        sentences = found.sentences(order)
        return Found(sentences, found.candidates.dense[order].tolist(), found.sentences_at(beside(sentences)))

    return await io.compute(partial(store.read, work))


def find(store: FaissStore, query: str, k: int, **settings: Any) -> Found:
    """Find sentences by meaning alone, and none beside them."""
    return run(read(BLOCKING, store, query, k, **settings))


def same(one: StoredSentence, other: StoredSentence) -> bool:
    return all(getattr(one, field) == getattr(other, field) for field in FIELDS)


def documents(count: int, per_document: int = 10) -> list[Document]:
    return [
        sentence(str(at // per_document), at % per_document, per_document, f"card {at}", tag=at % 3)
        for at in range(count)
    ]


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
async def test_what_is_found_is_what_documents_give(words: WordEmbeddings, io: IO) -> None:
    rare: list[dict[str, Any]] = [
        {"separator": "\n"},
        {
            "kind": "list item",
            "lead_in": 0,
            "heading": "Fees > \0 Card",
            "nested": {"a": [1]},
            "large": 2**70,
            "none": None,
        },
        {"kind": "heading", "heading_level": 2, "part_spans": "[]"},
        {"pieces_start": 3, "pieces_end": 5},
        {},
    ]
    given_ = [sentence("a", at, 5, f"card {at}", **each) for at, each in enumerate(rare)]
    store = FaissStore.from_documents(given_, words)
    made = await read(io, store, "card", 4, lexical_weight=0.5)
    plain = store.hybrid_search("card", 4, rank=by_meaning, lexical_weight=0.5)
    assert len(made.sentences) == len(plain) == 4
    assert list(made.scores) == [score for _, score in plain]
    assert all(same(one, read_sentence(document)) for one, (document, _) in zip(made.sentences, plain, strict=True))
    assert made.beside == {}


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
async def test_what_is_beside_is_read_with_it_and_within_the_filter(words: WordEmbeddings, io: IO) -> None:
    store = FaissStore.from_documents(documents(40), words)
    asked: list[list[SentenceKey]] = []

    def beside(sentences: Sequence[StoredSentence]) -> Sequence[SentenceKey]:
        asked.append([each.key for each in sentences])
        near = [(each.doc_id, each.index + step) for each in sentences for step in (-1, 0, 1)]
        return [*near, *near, ("0", 99), ("elsewhere", 1), ("0", -1)]

    whole = await read(io, store, "card 12", 3, beside=beside)
    expected = {
        (doc_id, near) for doc_id, index in asked[0] for near in (index - 1, index, index + 1) if 0 <= near < 10
    }
    assert whole.beside.keys() == expected
    assert all(same(whole.beside[each.key], each) for each in whole.sentences)
    for (doc_id, index), each in whole.beside.items():
        assert same(each, read_sentence(store.get_by_ids([f"{doc_id}/{index}"])[0]))
    bound = await read(io, store, "card 12", 3, beside=beside, filter={"tag": 0})
    assert {each.source["tag"] for each in bound.beside.values()} == {0}
    assert bound.beside.keys() == {each.key for each in bound.sentences}


def test_of_a_sentence_that_is_not_shown_only_text_and_place_are_read(words: WordEmbeddings) -> None:
    store = FaissStore.from_documents(documents(20), words)
    made = find(store, "card", 9)
    late = made.sentences[0]
    assert isinstance(late, LateSentence)
    unread = {field for field in StoredSentence.__slots__ if field not in vars_of(late)}
    assert unread == {"source"}
    assert (late.start, late.end) == (0, len(late.text))
    assert late.source["tag"] in {0, 1, 2}
    assert not {field for field in StoredSentence.__slots__ if field not in vars_of(late)}
    with pytest.raises(AttributeError):
        late.nothing_of_it  # noqa: B018


def vars_of(late: StoredSentence) -> set[str]:
    """Return the fields that are set."""
    found = set()
    for field in StoredSentence.__slots__:
        try:
            object.__getattribute__(late, field)
        except AttributeError:
            continue
        found.add(field)
    return found


def test_sources_are_not_shared_among_sentences(words: WordEmbeddings) -> None:
    store = FaissStore.from_documents([sentence("a", at, 2, "card", tags=["x"]) for at in range(2)], words)
    made = find(store, "card", 2)
    one, other = made.sentences
    one.source["tags"].append("y")
    assert other.source["tags"] == ["x"]


@pytest.mark.parametrize("metadata", [{}, {"doc_id": "a"}, {"doc_id": "a", "sentence_index": 0}])
def test_a_document_that_is_no_sentence_is_told(words: WordEmbeddings, metadata: dict[str, Any]) -> None:
    store = FaissStore.from_documents([Document(id="plain", page_content="card", metadata=metadata)], words)
    with pytest.raises(IncompleteWindowError, match="without '(doc_id|sentence_index|start_index)' in its metadata"):
        find(store, "card", 1)


def test_metadata_that_cannot_be_right_is_told_when_it_is_read(words: WordEmbeddings) -> None:
    store = FaissStore.from_documents(
        [sentence("a", at, 2, "card", start_index=9, end_index=3) for at in (0, 1)], words
    )
    made = find(store, "card", 1)
    with pytest.raises(IncompleteWindowError, match="start_index is 9 and end_index is 3; delete that document"):
        made.sentences[0].start  # noqa: B018


@pytest.mark.parametrize("bad", [{"k": 0}, {"k": "x"}, {"lexical_weight": -1.0}, {"search_effort": 0.0}])
def test_bad_arguments_are_told(words: WordEmbeddings, bad: dict[str, Any]) -> None:
    store = FaissStore.from_documents(documents(3), words)
    with pytest.raises(InvalidInputError):
        find(store, "card", **{"k": 1, "lexical_weight": 0.5, **bad})
    assert not find(FaissStore(words), "card", 1, lexical_weight=0.5).sentences


async def test_a_query_makes_one_read_for_names_and_everything_else(
    words: WordEmbeddings, way: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    from langchain_sentence_window.stores.faiss.database.database import Database

    retriever = SentenceWindowRetriever.from_documents(
        [Document(f"A card. It is {name}. " * 9, metadata={"doc_id": name}) for name in "abc"], words, k=2
    )
    await way(retriever, "invoke", "card")
    read, reads = Database.read_state, [0]

    def counting(self: Database, work: Any) -> Any:
        reads[0] += 1
        return read(self, work)

    monkeypatch.setattr(Database, "read_state", counting)
    assert len(await way(retriever, "invoke", "a card")) == 2
    assert reads == [1]
    reads[0] = 0
    assert len(await way(retriever.model_copy(update={"names": False}), "invoke", "a card", max_tokens=60)) == 2
    assert reads == [1]


async def test_a_store_that_searches_or_reads_itself_is_asked(words: WordEmbeddings, way: Invoke) -> None:
    """Methods that a subclass overrides are called, as they may hide what not everybody may see."""

    class Masking(FaissStore):
        def hybrid_search(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
            found = super().hybrid_search(*given, **settings)
            return [pair for pair in found if "secret" not in pair[0].page_content]

        async def ahybrid_search(self, *given: Any, **settings: Any) -> list[tuple[Document, float]]:
            found = await super().ahybrid_search(*given, **settings)
            return [pair for pair in found if "secret" not in pair[0].page_content]

    retriever = SentenceWindowRetriever(vectorstore=Masking(words), window=0, k=9)
    retriever.add_documents([Document("The secret card.\n\nA card."), Document("Another card.")])
    found = await way(retriever, "invoke", "card")
    assert sorted(each.page_content for each in found) == ["A card.", "Another card."]


# What is read for it


def own_texts(found: FoundRows) -> list[bytes]:
    places = zip(found.starts[0].tolist(), found.sizes[0].tolist(), strict=True)
    return [found.stored[start : start + size] for start, size in places]


@given(st.lists(st.sampled_from(TEXTS), min_size=1, max_size=12), st.randoms(), st.booleans())
def test_rows_and_texts_are_those_that_were_written(texts: list[str], chance: Any, beside: bool) -> None:
    with FaissStore(WordEmbeddings()) as store:
        store.add_documents([sentence("d", at, len(texts), text) for at, text in enumerate(texts)])
        rows = chance.sample(range(1, len(texts) + 1), chance.randint(1, len(texts)))
        found = store._session.read(lambda state: found_rows(state.snapshot.execute, np.array(rows), beside=beside))
    assert found.rows.tolist() == rows
    assert own_texts(found) == [texts[row - 1].encode(*TEXT) for row in rows]
    assert found.indexes.tolist() == [row - 1 for row in rows]
    assert {*found.names} == {"d"}
    read = [
        (row + step, found.stored[start : start + size])
        for side, step in ((1, -1), (2, 1))
        for row, start, size in zip(rows, found.starts[side].tolist(), found.sizes[side].tolist(), strict=True)
        if size != NONE
    ]
    assert all(text == texts[row - 1].encode(*TEXT) for row, text in read)
    # Each that isn't among the rows, once.
    near = {row + step for row in rows for step in (-1, 1)} & {*range(1, len(texts) + 1)}
    assert sorted(row for row, _ in read) == (sorted(near - {*rows}) if beside else [])


def test_more_rows_than_one_statement_takes(words: WordEmbeddings) -> None:
    count = 2 * BATCH_SIZE + 7
    store = FaissStore.from_documents(documents(count), words)
    rows = np.arange(count, 0, -2)
    found = store._session.read(lambda state: found_rows(state.snapshot.execute, rows, beside=True))
    assert found.rows.tolist() == rows.tolist()
    assert own_texts(found) == [f"card {row - 1}".encode() for row in rows.tolist()]
    with pytest.raises(StoreError, match="the database lacks sentences that its index contains, so it is damaged"):
        store._session.read(lambda state: found_rows(state.snapshot.execute, np.array([1, count + 1]), beside=True))
    assert not len(store._session.read(lambda state: found_rows(state.snapshot.execute, rows[:0], beside=True)).rows)


def test_shared_metadata_that_is_gone_or_no_json_is_damage(words: WordEmbeddings, tmp_path: Path) -> None:
    store = FaissStore.from_documents(documents(3), words)

    def read(sql: str) -> None:
        def work(transaction: Any) -> None:
            transaction.execute(sql)
            found_rows(transaction.execute, np.array([1]), beside=True)

        store._session._database.write(work)

    with pytest.raises(StoreError, match="lacks metadata that its sentences share"):
        read("DELETE FROM sections")
    with pytest.raises(StoreError, match="lacks metadata that its sentences share"):
        read("UPDATE documents SET doc_id = ''")
    found = found_of(store)
    assert (found.indexes.tolist(), found.spans[:, 0].tolist(), found.metadata(0)) == ([0], [0, len("card 0")], "")


def found_of(store: FaissStore) -> Any:
    return store._session.read(lambda state: found_rows(state.snapshot.execute, np.array([1]), beside=False))


@given(st.lists(st.integers(1, 30)), st.sets(st.integers(1, 30)))
def test_rows_among_others(rows: list[int], others: set[int]) -> None:
    found = are_in(np.array(rows, dtype=np.int64), np.array(sorted(others), dtype=np.int64))
    assert found.tolist() == [row in others for row in rows]


def test_statements_have_few_numbers_of_parameters() -> None:
    counts = [len(filled([1] * size)[1]) for size in range(BATCH_SIZE + 1)]
    assert len(set(counts)) < 10
    assert max(counts) == BATCH_SIZE
    assert all(count >= size for size, count in enumerate(counts))
    assert filled([3, 4], [5]) == (",".join("?" * 10), [3, 4, *[0] * 8, 5, *[0] * 9])


def test_the_id_of_a_document_is_named_in_messages() -> None:
    with pytest.raises(IncompleteWindowError, match="id 'x'"):
        read_parts({}, "text", lambda: "x")
