"""Test what a store tells of the words of a query and the names of its documents."""

from pathlib import Path

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import FilterError
from langchain_sentence_window.ranking.names import Evidence, Heard, QueryWords, hear, query_words
from tests.toys import WordEmbeddings

CLAUSES = "The fee is due at the end of each month. Notice is given by letter."


def contract(one: str, other: str, **metadata: object) -> Document:
    head = f"# Agreement\n\nThis agreement is between {one} and {other}. {one} pays {other}."
    text = f"{head} {CLAUSES} {one} keeps records. {one} lets {other} see them. {one} may end it, as may {other}."
    return Document(text, id=f"{one}-{other}".lower(), metadata={"source": f"/files/{one.lower()}_2020.md", **metadata})


CONTRACTS = [
    contract("Zebra", "Motorola", group="a", codes=["P-17", 4711]),
    contract("Tribune", "Tube", group="a"),
    contract("Acme", "Globex", group="b", title="Mutual Secrecy Pact"),
]


@pytest.fixture
def store(words: WordEmbeddings) -> FaissStore:
    made = FaissStore(words)
    SentenceWindowRetriever(vectorstore=made).add_documents(CONTRACTS)
    return made


def heard(store: FaissStore, query: str, keys: tuple[str, ...] = (), filter: dict[str, object] | None = None) -> Heard:
    found = hear(query, store.name_evidence(query_words(query), keys, filter=filter))
    return Heard((), is_limited=False, asks_twice=False, question=query, left_out=()) if found is None else found


def named(
    store: FaissStore, query: str, keys: tuple[str, ...] = (), filter: dict[str, object] | None = None
) -> list[str]:
    return [each.doc_id for each in heard(store, query, keys, filter).documents]


def test_evidence_counts_sentences_by_document(store: FaissStore) -> None:
    evidence = store.name_evidence(query_words("Who pays Zebra and Motorola?"))
    assert evidence.words["zebra"].documents == {"zebra-motorola": 5}
    assert evidence.words["zebra"].sentences == 5
    assert evidence.words["motorola"].sentences == 4
    assert evidence.words["pays"].documents == {"zebra-motorola": 1, "tribune-tube": 1, "acme-globex": 1}
    known = evidence.documents["zebra-motorola"]
    assert "between Zebra and Motorola" in known.head
    assert known.names == ("zebra_2020.md", "zebra_2020", "files")
    assert evidence.is_complete


def test_names_are_heard(store: FaissStore) -> None:
    assert named(store, "What does Zebra owe to Motorola?") == ["zebra-motorola"]
    assert named(store, "Compare what Zebra and Motorola, and Tribune and Tube have to pay") == [
        "tribune-tube",
        "zebra-motorola",
    ]
    assert not named(store, "When is the fee due?")
    assert not named(store, "Who pays at the End?")


def test_names_in_metadata_are_heard(store: FaissStore) -> None:
    found = heard(store, "In tribune_2020.md, when is the fee due at last?")
    assert [(each.doc_id, each.name) for each in found.documents] == [("tribune-tube", "tribune_2020.md")]
    assert found.question == "when is the fee due at last?"
    assert named(store, "When is the fee of the Mutual Secrecy Pact due?") == ["acme-globex"]
    query = "When is the fee of P-17 due?"
    assert not named(store, query)
    assert named(store, query, keys=("codes",)) == ["zebra-motorola"]
    assert named(store, "When is the fee of 4711 due?", keys=("codes",)) == ["zebra-motorola"]


def test_a_filter_binds_what_is_heard(store: FaissStore) -> None:
    query = "What do Zebra and Motorola, or the Mutual Secrecy Pact say?"
    evidence = store.name_evidence(query_words(query), filter={"source": {"$ne": "/files/zebra_2020.md"}})
    assert "zebra" not in evidence.words
    assert set(evidence.documents) == {"tribune-tube", "acme-globex"}
    assert named(store, query, filter={"source": {"$ne": "/files/zebra_2020.md"}}) == ["acme-globex"]
    assert named(store, query, filter={"group": "a"}) == ["zebra-motorola"]
    # All words of a single document are its own.
    one = store.name_evidence(query_words(query), filter={"source": "/files/zebra_2020.md"})
    assert one == store.name_evidence(query_words(query), filter={"group": "none"}) == Evidence({}, {})
    with pytest.raises(FilterError):
        store.name_evidence(query_words(query), filter={"$nor": []})


def test_words_are_counted_within_the_filter(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    others = [contract("Zebra", "Motorola", group="hidden").model_copy(update={"id": str(n)}) for n in range(5)]
    retriever.add_documents([*CONTRACTS, *others])
    store = retriever.vectorstore
    assert isinstance(store, FaissStore)
    query = "What does Zebra owe to Motorola?"
    assert not named(store, query)
    assert named(store, query, filter={"group": {"$ne": "hidden"}}) == ["zebra-motorola"]


def test_a_document_of_which_a_filter_lets_through_a_part_is_named_by_that_part(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    # Sentences of one title are before those of the other, and after them.
    store.add_documents(
        Document(CLAUSES, metadata={"doc_id": name, "sentence_index": index, "title": f"{name} {title}"})
        for name in ("Alpha", "Beta")
        for index, title in enumerate(["Handbook", "Handbook", "Secrets", "Handbook"])
    )
    handbook, secrets = "When is the fee of the Alpha Handbook due?", query_words("Which fee is in Secrets?")
    for indexes in ([0, 1, 2, 3], [1, 2], [1], [3]):
        of_indexes: dict[str, object] = {"sentence_index": {"$in": indexes}}
        assert named(store, handbook, filter=of_indexes) == ["Alpha"]
        assert ("secrets" in store.name_evidence(secrets, filter=of_indexes).words) == (2 in indexes)


def test_what_a_filter_forbids_does_not_count(words: WordEmbeddings) -> None:
    def evidence(others: int, title: str) -> Evidence:
        store = FaissStore(words)
        titles = [f"Contract No{number} 2021" for number in range(3)] + [
            f"{title} {number}" for number in range(others)
        ]
        SentenceWindowRetriever(vectorstore=store).add_documents(
            Document(CLAUSES, id=each, metadata={"title": each, "tenant": int(number > 2)})
            for number, each in enumerate(titles)
        )
        return store.name_evidence(query_words("What is the fee of Contract No1 2021?"), filter={"tenant": 0})

    alone = evidence(0, "")
    assert alone.documents["Contract No1 2021"].common == {"contract", "2021"}
    assert evidence(60, "Memo") == evidence(60, "Contract No1") == alone


def test_a_single_document_is_not_named(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    assert store.name_evidence(query_words("Who is Zebra?")) == Evidence({}, {})
    SentenceWindowRetriever(vectorstore=store).add_documents(CONTRACTS[:1])
    assert not named(store, "What does Zebra owe to Motorola?")


def test_a_collection_grows_and_shrinks(tmp_path: Path, words: WordEmbeddings) -> None:
    first, second = FaissStore(words, path=tmp_path), FaissStore(words, path=tmp_path)
    retriever = SentenceWindowRetriever(vectorstore=first)
    retriever.add_documents(CONTRACTS[:2])
    query, title = "When does Acme pay Globex?", "What does the Mutual Secrecy Pact say?"
    assert not named(second, query)
    assert not named(second, title)
    retriever.add_documents(CONTRACTS[2:])
    assert named(second, query) == named(second, title) == ["acme-globex"]
    retriever.add_documents([contract("Acme", "Globex", title="Deed of 2021")])
    assert not named(second, title)
    assert named(second, "What does the Deed of 2021 say?") == ["acme-globex"]
    retriever.delete(["acme-globex"])
    assert not named(second, query)
    assert not named(second, "What does the Deed of 2021 say?")


def test_evidence_is_that_of_the_state_that_is_asked(store: FaissStore) -> None:
    words = query_words("who keeps records?")
    for _ in range(2):  # the second time from what is kept
        assert store.name_evidence(words).words["records"].documents.keys() == {
            "zebra-motorola",
            "tribune-tube",
            "acme-globex",
        }
    of_a = store.name_evidence(words, filter={"group": "a"}).words["records"].documents
    assert of_a.keys() == {"zebra-motorola", "tribune-tube"}
    retriever = SentenceWindowRetriever(vectorstore=store)
    retriever.delete(["tribune-tube"])
    assert "tribune-tube" not in store.name_evidence(words).words["records"].documents
    for number in range(4):
        title = f"Minutes of Meeting {number}"
        retriever.add_documents([contract(f"Ann{number}", f"Bob{number}", title=title)])
        assert named(store, f"What do the {title} say?") == [f"ann{number}-bob{number}"]
    assert named(store, "What do the Minutes of Meeting 0 say?") == ["ann0-bob0"]


def test_a_title_that_many_share_names_none(words: WordEmbeddings) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(words))
    retriever.add_documents([contract(f"Ann{n}", f"Bob{n}", title="Terms of Service") for n in range(12)])
    store = retriever.vectorstore
    assert isinstance(store, FaissStore)
    assert not named(store, "What do the Terms of Service say about Bob3?")


def test_documents_that_are_no_sentences_are_passed_over(words: WordEmbeddings) -> None:
    store = FaissStore.from_texts(["Zebra pays.", "Zebra and Motorola end it.", "Motorola pays.", "Nothing."], words)
    assert not named(store, "What does Zebra owe to Motorola?")
    store.add_documents(SentenceSplitter().split_documents(CONTRACTS[1:]))
    assert named(store, "What does Tribune owe to Tube?") == ["tribune-tube"]


@pytest.mark.parametrize("query", ["", "\x00", "\ud800 Zebra \ud800", "Zebra " * 10_000, "!!!", "ﬁ Straße İstanbul"])
def test_any_query_is_heard(store: FaissStore, query: str) -> None:
    assert isinstance(store.name_evidence(query_words(query)), Evidence)


def test_words_that_nobody_writes(store: FaissStore) -> None:
    assert store.name_evidence(QueryWords((), ())) == Evidence({}, {})
    assert not store.name_evidence(QueryWords(("\ud800", "x y"), ("",))).documents
