"""Test what a store returns of the names of its documents."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.ranking.names import FIRST_LINES, MAX_SHARED, DocumentNames, find_names, read_question
from tests.toys import WordEmbeddings

CLAUSES = "The fee is due at the end of each month. Notice is given by letter."


def contract(name: str, **metadata: object) -> Document:
    return Document(f"# {name}\n\n{CLAUSES}", id=name, metadata={"source": f"/files/{name}_2020.md", **metadata})


CONTRACTS = [
    contract("zebra", group="a", codes=["P-17", 4711]),
    contract("tribune", group="a"),
    contract("acme", group="b", title="Mutual Secrecy Pact"),
]


@pytest.fixture
def store(words: WordEmbeddings) -> FaissStore:
    made = FaissStore(words)
    SentenceWindowRetriever(vectorstore=made).add_documents(CONTRACTS)
    return made


def named(
    store: FaissStore, query: str, metadata_keys: tuple[str, ...] = (), filter: dict[str, object] | None = None
) -> list[str]:
    question = read_question(query)
    found = find_names(question, names_in_store(store, question.keys, metadata_keys, filter=filter))
    return [] if found is None else [each.doc_id for each in found.documents]


def names_in_store(store: FaissStore, keys: Sequence[str], *given: Any, **settings: Any) -> DocumentNames:
    return store.read(lambda state: state.document_names(keys, *given, **settings), words=False)


def test_only_documents_with_one_of_the_keys_are_read(store: FaissStore) -> None:
    assert names_in_store(store, ["zebr", "mutualsecrecypact", "other"]).titles == {
        "zebra": ["zebra_2020.md", "zebra_2020", "files"],
        "acme": ["Mutual Secrecy Pact", "acme_2020.md", "acme_2020", "files"],
    }
    assert names_in_store(store, []) == names_in_store(store, ["\ud800", "\x00", ""]) == DocumentNames({}, {})


def test_names_in_metadata(store: FaissStore) -> None:
    assert named(store, "In tribune_2020.md, when is the fee due at last?") == ["tribune"]
    assert named(store, "When is the fee of the Mutual Secrecy Pact due?") == ["acme"]
    assert named(store, "Compare what Zebra and Tribune have to pay") == ["zebra", "tribune"]
    assert not named(store, "When is the fee due at the End?")


def test_names_in_other_keys_of_metadata(store: FaissStore) -> None:
    for query in ("When is the fee of P-17 due?", "When is the fee of 4711 due?"):
        assert not named(store, query)
        assert named(store, query, ("codes",)) == ["zebra"]
        assert not named(store, query, ("codes",), filter={"group": "b"})
    assert named(store, "When is the fee of Tribune due?", ("codes",)) == ["tribune"]
    SentenceWindowRetriever(vectorstore=store).add_documents([contract("globex", codes="P-18")])
    assert named(store, "When is the fee of P-18 due?", ("codes",)) == ["globex"]


def test_a_filter_binds(store: FaissStore) -> None:
    query = "What do Zebra or the Mutual Secrecy Pact say?"
    assert named(store, query) == ["zebra", "acme"]
    assert named(store, query, filter={"source": {"$ne": "/files/zebra_2020.md"}}) == ["acme"]
    assert named(store, query, filter={"group": "a"}) == ["zebra"]
    assert named(store, query, filter={"group": "none"}) == []
    with pytest.raises(FilterError):
        names_in_store(store, ["zebr"], filter={"$nor": []})


@pytest.mark.parametrize("hidden", [3, 200])
def test_what_a_filter_excludes_does_not_count(words: WordEmbeddings, hidden: int) -> None:
    store = FaissStore(words)
    store.add_documents(
        Document(
            CLAUSES, metadata={"doc_id": str(number), "sentence_index": 0, "title": "Zebra Lease", "own": not number}
        )
        for number in range(hidden + 1)
    )
    query = "What does the Zebra Lease say?"
    assert not named(store, query)
    assert named(store, query, filter={"own": True}) == ["0"]
    assert named(store, query, ("alias",), filter={"own": True}) == ["0"]
    assert (len(names_in_store(store, read_question(query).keys, filter={"own": False}).titles) == 0) == (
        hidden > MAX_SHARED
    )


def test_a_document_of_which_a_filter_lets_through_a_part_is_named_by_that_part(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    # Sentences of one title are before those of the other, and after them.
    store.add_documents(
        Document(CLAUSES, metadata={"doc_id": name, "sentence_index": index, "title": f"{name} {title}"})
        for name in ("Alpha", "Beta")
        for index, title in enumerate(["Handbook", "Handbook", "Secrets", "Handbook"])
    )
    for indexes in ([0, 1, 2, 3], [1, 2], [1], [3], [2]):
        of_indexes: dict[str, object] = {"sentence_index": {"$in": indexes}}
        for title, has_title in (("Handbook", indexes != [2]), ("Secrets", 2 in indexes)):
            query = f"When is the fee of the Alpha {title} due?"
            assert named(store, query, filter=of_indexes) == (["Alpha"] if has_title else [])


IN_LINES = "Under the contract with Zebra Technologies, when is the fee due?"


def lease(name: str, *, after: str = "", **metadata: object) -> Document:
    return Document(f"{after}This lease is made with {name}. {CLAUSES}", id=f"of {name}", metadata=metadata)


def test_names_in_first_lines(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    retriever = SentenceWindowRetriever(vectorstore=store)
    retriever.add_documents([lease("Zebra Technologies", group="a"), lease("Acme Travel", group="b")])
    assert named(store, IN_LINES) == ["of Zebra Technologies"]
    assert named(store, IN_LINES, filter={"group": "a"}) == ["of Zebra Technologies"]
    assert named(store, IN_LINES, filter={"sentence_index": 0}) == ["of Zebra Technologies"]
    assert not named(store, IN_LINES, filter={"group": "b"})
    assert not named(store, IN_LINES, filter={"sentence_index": 1})
    # They go with the sentence that has them.
    retriever.add_documents([Document(CLAUSES, id="of Zebra Technologies", metadata={"group": "a"})])
    assert not named(store, IN_LINES)
    retriever.add_documents([lease("Zebra Technologies", after="word. " * FIRST_LINES)])
    assert not named(store, IN_LINES)


def test_first_lines_stay_known_when_a_part_of_a_document_is_written(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    sentences = SentenceSplitter().split_documents([lease("Zebra Technologies")])
    store.add_documents(sentences)
    store.delete([str(sentences[1].id)])
    store.add_documents(sentences[1:2])  # all get new rows
    assert named(store, IN_LINES) == ["of Zebra Technologies"]
    store.delete([str(sentences[0].id)])
    assert not named(store, IN_LINES)


def test_a_collection_grows_and_shrinks(tmp_path: Path, words: WordEmbeddings) -> None:
    first, second = FaissStore(words, path=tmp_path), FaissStore(words, path=tmp_path)
    retriever = SentenceWindowRetriever(vectorstore=first)
    retriever.add_documents(CONTRACTS[:2])
    title = "What does the Mutual Secrecy Pact say?"
    assert not named(second, title)
    retriever.add_documents(CONTRACTS[2:])
    assert named(second, title) == ["acme"]
    retriever.add_documents([contract("acme", title="Deed of Globex")])
    assert not named(second, title)
    assert named(second, "What does the Deed of Globex say?") == ["acme"]
    retriever.delete(["acme"])
    assert not named(second, "What does the Deed of Globex say?")


@pytest.mark.parametrize("query", ["", "\x00", "\ud800 Zebra \ud800", "Zebra " * 10_000, "!!!", "ﬁ Straße İstanbul"])
def test_any_query_may_be_asked(store: FaissStore, query: str) -> None:
    assert named(store, query) in ([], ["zebra"])
