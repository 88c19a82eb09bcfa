"""Documents are written once, and again only if something changed; in any process, batch and order."""

import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.distributed import DocumentWriter, store_connection
from langchain_sentence_window.errors import InvalidInputError, StoreUnavailableError
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.ray.factories import HashEmbeddings
from tests.toys import WordEmbeddings, document

TEXT = "# Fees\n\nA refund is paid. A card is sent.\n\n# Trials\n\nA trial ends. An invoice comes. It is annual."

INGEST_STATE = "ingest_state"

stores: dict[str, InMemoryVectorStore] = {}


def load_words() -> Embeddings:
    return WordEmbeddings()


def kept_store() -> VectorStore:
    """The one store of a test, as a server would be that each worker reaches."""
    return stores["one"]


@pytest.fixture(autouse=True)
def store(words: WordEmbeddings) -> Iterator[InMemoryVectorStore]:
    stores["one"] = InMemoryVectorStore(NeighborMixedEmbeddings(words))
    yield stores["one"]
    stores.clear()


def rows_of(store: InMemoryVectorStore) -> dict[str, Any]:
    """The rows of a store, by id, without the states."""
    return {
        id_: {**row, "metadata": {key: value for key, value in row["metadata"].items() if key != INGEST_STATE}}
        for id_, row in store.store.items()
    }


def statuses(write: DocumentWriter, documents: Sequence[Document]) -> list[str]:
    return [outcome.status for outcome in write(documents)]


def test_what_is_written_is_what_a_retriever_writes(store: InMemoryVectorStore) -> None:
    documents = [document(TEXT, "a", tenant=1), document("", "blank"), Document(page_content="A page.", id="b")]
    texts = ("A refund is paid.", "A trial ends.", "An invoice comes.")
    pages = [document(text, "book", page=page) for page, text in enumerate(texts)]
    outcomes = DocumentWriter(kept_store)([*documents, *pages])
    assert [(each.doc_id, each.status, each.sentences) for each in outcomes] == [
        *(("a", "written", 7), ("blank", "unchanged", 0), ("b", "written", 1), ("book", "written", 3))
    ]
    plain = InMemoryVectorStore(NeighborMixedEmbeddings(WordEmbeddings()))
    SentenceWindowRetriever(vectorstore=plain).add_documents([*documents, *pages])
    assert rows_of(store) == rows_of(plain) != {}
    windows = SentenceWindowRetriever(vectorstore=store).invoke("When does a trial end?")
    assert {window.metadata.get("tenant") for window in windows} == {1, None}
    assert not any(INGEST_STATE in window.metadata for window in windows)


def test_only_what_changed_is_embedded_again(store: InMemoryVectorStore, words: WordEmbeddings) -> None:
    write = DocumentWriter(kept_store, words)
    assert statuses(write, [document(TEXT, "a"), document("A card.", "b")]) == ["written", "written"]
    words.embedded.clear()
    again = [document(TEXT, "a"), document("A seat.", "b"), document("A page.", "c")]
    assert statuses(write, again) == ["unchanged", "written", "written"]
    assert sorted(words.embedded) == ["A page.", "A seat."]
    assert statuses(write, [document("A refund.", "a"), document("", "b")]) == ["written", "written"]
    assert sorted(row["text"] for row in store.store.values()) == ["A page.", "A refund."]
    assert statuses(write, [document("", "b")]) == ["unchanged"]


@pytest.mark.parametrize(
    "other",
    [
        {"embedding": lambda: NeighborMixedEmbeddings(WordEmbeddings(), (1, 0.5))},
        {"splitter": SentenceSplitter(max_chars=30)},
        {"splitter": SentenceSplitter("de")},
        {"embed_headings": False},
        {"situate": lambda document, sentence: "seat"},
        {"namespace": "other"},
    ],
    ids=["weights", "splitter", "language", "headings", "situate", "namespace"],
)
def test_other_settings_are_a_change(other: dict[str, Any]) -> None:
    assert statuses(DocumentWriter(kept_store), [document(TEXT)]) == ["written"]
    assert statuses(DocumentWriter(kept_store, load_words), [document(TEXT)]) == ["unchanged"]
    assert statuses(DocumentWriter(kept_store, **other), [document(TEXT)]) == ["written"]
    assert statuses(DocumentWriter(kept_store), [document(TEXT, tenant=2)]) == ["written"]


@pytest.mark.parametrize("damage", ["first", "last", "mixed", "unreadable", "tail", "by a retriever"])
def test_an_incomplete_document_is_written_again(store: InMemoryVectorStore, damage: str) -> None:
    write = DocumentWriter(kept_store)
    write([document(TEXT)])
    whole, ids = rows_of(store), list(store.store)
    if damage in ("first", "last"):
        store.delete([ids[0 if damage == "first" else 6]])
    elif damage == "mixed":  # a part of each of two attempts
        metadata = store.store[ids[6]]["metadata"]
        fingerprint, sentences, _, namespace = metadata[INGEST_STATE].split(" ")
        metadata[INGEST_STATE] = f"{fingerprint} {sentences} {'0' * 16} {namespace}"
    elif damage == "unreadable":
        store.store[ids[0]]["metadata"][INGEST_STATE] = "g" * 32 + " 1 " + "0" * 16 + " "
    elif damage == "tail":
        row, (tail,) = store.store[ids[6]], SentenceSplitter().split_documents([document(f"{TEXT} One.")])[7:]
        beyond = {**row["metadata"], "sentence_index": 7, "section_end": 8}
        store.store[str(tail.id)] = {**row, "id": tail.id, "metadata": beyond}
    else:
        SentenceWindowRetriever(vectorstore=store).add_documents([document("A replica.")])
    assert statuses(write, [document(TEXT)]) == ["written"]
    assert rows_of(store) == whole
    assert statuses(write, [document(TEXT)]) == ["unchanged"]


def test_a_dry_run_only_says_what_would_be_written(store: InMemoryVectorStore, words: WordEmbeddings) -> None:
    DocumentWriter(kept_store, words)([document("A card.", "b")])
    words.embedded.clear()
    outcomes = DocumentWriter(kept_store, words, dry_run=True)([document(TEXT, "a"), document("A card.", "b")])
    assert [(each.status, each.sentences) for each in outcomes] == [("pending", 7), ("unchanged", 0)]
    assert len(store.store) == 1
    assert words.embedded == []


class Fussy(WordEmbeddings):
    """Fails for texts with a backup in them."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        if any("backup" in text for text in texts):
            raise ValueError("no backups, please")
        return super().embed_documents(texts)


def test_one_odd_document_keeps_no_other_out(store: InMemoryVectorStore) -> None:
    write = DocumentWriter(kept_store, Fussy())
    outcomes = write([document("A card.", "a"), document("A backup.", "b"), document("A seat.", "c")])
    assert [each.status for each in outcomes] == ["written", "failed", "written"]
    assert (outcomes[1].error, outcomes[1].sentences) == ("ValueError: no backups, please", 1)
    assert len(store.store) == 2


@pytest.mark.parametrize("error", [ConnectionError, StoreUnavailableError])
def test_a_store_that_is_away_is_waited_for_then_the_rest_is_stopped(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(store_connection, "PAUSES", (0.0, 0.0))
    failing = [True] * 3

    def open_after_failures() -> VectorStore:
        if failing and failing.pop():
            raise error("no server there")
        return kept_store()

    write = DocumentWriter(open_after_failures)
    assert [(each.status, each.error) for each in write([document(TEXT)])] == [
        ("stopped", f"{error.__name__}: no server there")
    ]
    failing += [True] * 2
    assert statuses(write, [document(TEXT)]) == ["written"]
    assert failing == []


@pytest.mark.parametrize("error", [ConnectionError, StoreUnavailableError])
def test_a_store_that_goes_away_while_it_is_written_loses_nothing(
    store: InMemoryVectorStore, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(store_connection, "PAUSES", (0.0, 0.0))
    add, failures = store.add_documents, [error("gone")] * 2

    def add_or_fail(documents: list[Document], **keywords: Any) -> list[str]:
        if failures:
            add(documents[:1], **{**keywords, "ids": keywords["ids"][:1]})
            raise failures.pop()
        return add(documents, **keywords)

    monkeypatch.setattr(store, "add_documents", add_or_fail)
    assert statuses(DocumentWriter(kept_store), [document(TEXT)]) == ["written"]
    assert len(store.store) == 7


@pytest.mark.parametrize("error", [TypeError, AttributeError, KeyError, NotImplementedError])
def test_a_mistake_in_code_is_not_tried_again(
    store: InMemoryVectorStore, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(store_connection, "PAUSES", (0.0, 0.0))
    calls = []

    def open_wrongly() -> VectorStore:
        calls.append("open")
        raise error("a mistake")

    assert statuses(DocumentWriter(open_wrongly), [document(TEXT)]) == ["stopped"]

    def add_wrongly(documents: list[Document], **keywords: Any) -> list[str]:
        calls.append("add")
        raise error("a mistake")

    monkeypatch.setattr(store, "add_documents", add_wrongly)
    assert statuses(DocumentWriter(kept_store), [document(TEXT)]) == ["failed"]
    assert calls == ["open", "add"]


def test_a_pickled_writer_does_the_same(store: InMemoryVectorStore) -> None:
    write = DocumentWriter(kept_store, HashEmbeddings())
    write([document("A card.", "b")])  # what is open isn't pickled
    pickled: DocumentWriter = pickle.loads(pickle.dumps(write))  # noqa: S301
    assert statuses(pickled, [document("A card.", "b"), document("A seat.", "c")]) == ["unchanged", "written"]


LIBRARY = [document(f"{TEXT}\n\n{'A replica ends. ' * (number % 4)}", f"d{number}") for number in range(7)]


def vectors_by_id(batches: Sequence[Sequence[Document]]) -> dict[str, Any]:
    made = InMemoryVectorStore(NeighborMixedEmbeddings(HashEmbeddings()))
    write = DocumentWriter(lambda: made)
    for batch in batches:
        write(batch)
    return {id_: row["vector"] for id_, row in made.store.items()}


EXPECTED = vectors_by_id([LIBRARY])


@given(order=st.permutations(range(len(LIBRARY))), cuts=st.sets(st.integers(1, len(LIBRARY) - 1)))
def test_vectors_are_bit_identical_in_any_batch_and_order(order: list[int], cuts: set[int]) -> None:
    edges = [0, *sorted(cuts), len(order)]
    batches = [[LIBRARY[number] for number in order[start:end]] for start, end in pairwise(edges)]
    assert repr(sorted(vectors_by_id(batches).items())) == repr(sorted(EXPECTED.items()))  # -0 isn't 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"store": InMemoryVectorStore(WordEmbeddings())}, "give a function that opens the store"),
        ({"store": "postgresql://..."}, "give a function that opens the store"),
        ({"store": kept_store, "embedding": "minilm"}, "pass an embedder: init_embeddings"),
        ({"store": kept_store, "splitter": str}, "give a SentenceSplitter"),
        ({"store": kept_store, "namespace": "a\0"}, "printable"),
        ({"store": kept_store, "dry_run": 1}, "dry_run is 1"),
    ],
)
def test_invalid_arguments_are_refused_at_once(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        DocumentWriter(**arguments)


class WithoutIds(InMemoryVectorStore):
    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: InMemoryVectorStore(WordEmbeddings()), "build it with NeighborMixedEmbeddings"),
        (lambda: FaissStore(WordEmbeddings()), "FaissStore embeds and mixes itself"),
        (
            lambda: WithoutIds(NeighborMixedEmbeddings(WordEmbeddings())),
            "WithoutIds can't fetch by id; add the documents with a retriever",
        ),
    ],
)
def test_an_unsuitable_store_is_refused(make: Callable[[], VectorStore], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        DocumentWriter(make)([document(TEXT)])


def test_an_unknown_setting_is_a_type_error() -> None:
    assert DocumentWriter(kept_store, index=None)([document(TEXT)])[0].error.startswith("TypeError: ")
