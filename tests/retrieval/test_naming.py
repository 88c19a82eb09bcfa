"""A search that goes to the documents which a query names first, in stores with and without a lexical index."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._io import ASYNC, BLOCKING, IO
from langchain_sentence_window.adapters.scope import Scope, scope_of
from langchain_sentence_window.adapters.store_adapter import StoreAdapter
from langchain_sentence_window.documents.sentence_documents import StoredSentence, as_hit, by_key
from langchain_sentence_window.ranking.names import FIRST_LINES, DocumentNames, keys_in
from langchain_sentence_window.retrieval import named_search as searching
from langchain_sentence_window.retrieval.hits import Hits
from langchain_sentence_window.retrieval.named_search import NAME_BONUS, names_of_documents
from langchain_sentence_window.retrieval.request import Request
from tests.toys import WordEmbeddings

QUERY = "Under the contract of Zebra and Motorola, when is the fee due at last?"
WITHOUT = "when is the fee due at last?"


def contract(one: str, other: str) -> Document:
    head = f"# Agreement\n\nThis agreement is between {one} and {other}. {one} pays {other} a fee."
    text = f"{head} {one} keeps records. {one} lets {other} see them. The fee is due in May. {one} or {other} ends it."
    return Document(text, id=f"{one}-{other}".lower(), metadata={"source": f"{one}.md", "code": f"{one}77"})


CONTRACTS = [contract("Zebra", "Motorola"), contract("Tribune", "Tube"), contract("Acme", "Globex")]


class Searches:
    """Searches a store by meaning, and keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def __call__(self, io: IO, scope: Scope, request: Request | None, text: str, k: int) -> Hits:
        self.asked.append(text)
        scored = await scope.adapter.search(io, text, {"k": k, **scope.search_settings})
        sentences = [scope.adapter.read(document) for document, _ in scored]
        hits = [as_hit(sentence, score) for sentence, (_, score) in zip(sentences, scored, strict=True)]
        return Hits(hits, by_key(sentences))


async def named_search(
    io: IO, scope: Scope, query: str, find: Searches, *, k: int, names: bool | Sequence[str] = True
) -> Hits:
    request: Any = SimpleNamespace(query=query, names=names)  # all that it asks for

    async def work(io: IO, adapter: StoreAdapter) -> Hits:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(searching, "find_hits", find)
            return await searching.named_search(io, replace(scope, adapter=adapter), request, k)

    return await scope.adapter.in_search(io, query, work, has_words=True)


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def store(request: pytest.FixtureRequest, words: WordEmbeddings) -> VectorStore:
    made: VectorStore = request.param(words)
    SentenceWindowRetriever(vectorstore=made).add_documents(CONTRACTS)
    return made


def documents_of(found: Hits) -> list[str]:
    assert [sentence.key for sentence in found.sentences.values()] == [hit.key for hit in found.hits]
    return list(dict.fromkeys(hit.doc_id for hit in found.hits))


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
async def test_named_documents_come_first(store: VectorStore, io: IO) -> None:
    find = Searches()
    found = await named_search(io, scope_of(store, {}), QUERY, find, k=50)
    assert found.named is not None
    assert [each.doc_id for each in found.named.documents] == ["zebra-motorola"]
    assert (found.named.is_limited, found.named.question) == (True, WITHOUT)
    assert documents_of(found)[0] == "zebra-motorola"
    assert set(documents_of(found)) == {"zebra-motorola", "tribune-tube", "acme-globex"}
    first = [each.doc_id == "zebra-motorola" for each in found.hits]
    assert first == sorted(first, reverse=True)
    assert len(found.sentences) == len({(each.doc_id, each.index) for each in found.hits}) == 3 * 7
    scores = [hit.score for hit in found.hits]
    assert max(scores[sum(first) :]) <= min(scores[: sum(first)])
    assert sorted(find.asked) == sorted([QUERY, WITHOUT])


async def test_one_search_is_enough_if_the_store_knows_names(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    SentenceWindowRetriever(vectorstore=store).add_documents(CONTRACTS)
    find = Searches()
    found = await named_search(BLOCKING, scope_of(store, {}), QUERY, find, k=5)
    assert find.asked == [WITHOUT]
    assert documents_of(found) == ["zebra-motorola"]


@pytest.mark.parametrize("names", [True, False, ["code"]])
async def test_a_query_that_names_nothing_is_untouched(store: VectorStore, names: bool | Sequence[str]) -> None:
    find = Searches()
    scope = scope_of(store, {})
    query = "when is the fee due?"
    found = await named_search(BLOCKING, scope, query, find, k=50, names=names)
    assert found.named is None
    assert found == await find(BLOCKING, scope, None, query, 50)
    assert find.asked == [query, query]


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
async def test_each_of_several_named_documents_is_found(words: WordEmbeddings, io: IO) -> None:
    store = FaissStore(words, neighbor_weights=(1,))
    texts = {"plans.md": "Refund. " * 9, "cards.md": "Refund, annual. " * 9, "other.md": "A refund. " * 9}
    documents = [Document(text, id=name, metadata={"source": name}) for name, text in texts.items()]
    SentenceWindowRetriever(vectorstore=store).add_documents(documents)
    # The sentences of the plans are all nearer to the question: their cosine is 1, and that of the cards .71.
    query = "In plans.md and cards.md, what is a refund?"
    found = await named_search(io, scope_of(store, {}), query, Searches(), k=4)
    assert sorted(documents_of(found)) == ["cards.md", "plans.md"]
    assert len(found.hits) == 4
    assert [hit.score for hit in found.hits] == pytest.approx([found.hits[0].score] * 4)
    found = await named_search(io, scope_of(store, {}), query, Searches(), k=4, names=False)
    assert "cards.md" not in documents_of(found)


POLICIES = {
    "larkspur.md": "Larkspur keeps a seat. Larkspur adds a trial. Larkspur sends a card.",
    "rules.md": "A refund is due. An annual refund is due. The refund of a plan is due.",
}


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def policies(request: pytest.FixtureRequest, words: WordEmbeddings) -> VectorStore:
    made: VectorStore = request.param(words)
    documents = [Document(text, id=name, metadata={"source": name}) for name, text in POLICIES.items()]
    SentenceWindowRetriever(vectorstore=made).add_documents(documents)
    return made


async def test_a_document_that_is_mentioned_does_not_hide_what_answers(policies: VectorStore) -> None:
    """The question is about refunds, of which the document that it mentions says nothing."""
    query = "Does larkspur.md change when an annual refund is due?"
    found = await named_search(BLOCKING, scope_of(policies, {}), query, Searches(), k=6)
    assert found.named is not None
    assert not found.named.is_limited
    assert documents_of(found)[0] == "rules.md"
    without = await named_search(BLOCKING, scope_of(policies, {}), query, Searches(), k=6, names=False)
    before = {(hit.doc_id, hit.index): hit.score for hit in without.hits}
    highest = max(map(abs, before.values()))
    for hit in found.hits:
        bonus = NAME_BONUS * highest if hit.doc_id == "larkspur.md" else 0
        assert hit.score == pytest.approx(before[hit.doc_id, hit.index] + bonus)
    assert [hit.score for hit in found.hits] == sorted((hit.score for hit in found.hits), reverse=True)


async def test_a_mention_decides_between_equal_sentences(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    text = "A refund is due. It has a seat and a trial. It sends a card."
    documents = [Document(text, id=name, metadata={"source": name}) for name in ("a.md", "larkspur.md", "z.md")]
    SentenceWindowRetriever(vectorstore=store).add_documents(documents)
    find = Searches()
    found = await named_search(BLOCKING, scope_of(store, {}), "What does larkspur.md say of a refund?", find, k=9)
    assert found.hits[0].key == ("larkspur.md", 0)


async def test_the_second_part_of_a_question_finds_places_too(policies: VectorStore) -> None:
    query = "According to larkspur.md, what is a seat, and when is an annual refund due?"
    found = await named_search(BLOCKING, scope_of(policies, {}), query, Searches(), k=4)
    assert found.named is not None
    assert (found.named.is_limited, found.named.asks_twice) == (True, True)
    assert [each.doc_id for each in found.hits] == ["larkspur.md", "rules.md"] * 2
    one = "According to larkspur.md, when is an annual refund due?"
    found = await named_search(BLOCKING, scope_of(policies, {}), one, Searches(), k=4)
    assert [each.doc_id for each in found.hits][:4] == ["larkspur.md"] * 3 + ["rules.md"]


async def test_names_are_switched_off_or_in_other_keys(store: VectorStore) -> None:
    find = Searches()
    assert (await named_search(BLOCKING, scope_of(store, {}), QUERY, find, k=50, names=False)).named is None
    assert find.asked == [QUERY]
    query = "When is the fee of Acme77 due?"
    for names, expected in ((True, 0), (["code"], 1)):
        found = await named_search(BLOCKING, scope_of(store, {}), query, Searches(), k=50, names=names)
        assert (0 if found.named is None else len(found.named.documents)) == expected


async def test_a_filter_binds(store: VectorStore) -> None:
    allowed = {"source": {"$in": ["Tribune.md", "Acme.md"]}}
    scope = scope_of(store, {}, allowed)
    found = await named_search(BLOCKING, scope, QUERY, Searches(), k=50)
    assert found.named is None
    assert set(documents_of(found)) == {"tribune-tube", "acme-globex"}
    query = "What do Tribune and Tube pay at last?"
    found = await named_search(BLOCKING, scope, query, Searches(), k=50)
    assert found.named is not None
    assert documents_of(found) == ["tribune-tube", "acme-globex"]


def sentence(doc_id: str, index: int, **source: str) -> StoredSentence:
    return StoredSentence(doc_id, index, index * 100, index * 100 + 5, 0, 99, " ", "prose", "", None, "It is", source)


def test_names_of_what_was_found() -> None:
    found = [
        sentence("a", 0, source="zebra.md"),
        sentence("b", 3, title="Acme"),
        sentence("a", 4, title="Zebra", x="y"),
    ]
    names = {"a": ["zebra.md", "zebra", "Zebra"], "b": ["Acme"]}
    assert names_of_documents(found, ()).titles == names
    assert names_of_documents(found, ["x"]).titles == {"a": [*names["a"], "y"], "b": names["b"]}
    assert names_of_documents([], ()) == DocumentNames({}, {})
    lines = [replace(found[0], text="Acme Travel pays."), replace(found[0], start=FIRST_LINES, text="Westland Motors")]
    assert names_of_documents(lines, ()).first_lines == {"a": keys_in("Acme Travel")}


def letter(country: str, days: int) -> Document:
    text = f"# Offer\n\nWe offer you work in {country}. The notice is {days} days. Each of us may end it. Rest is paid."
    return Document(text, id=country.lower(), metadata={"source": f"letters/{country}.md"})


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
@pytest.mark.parametrize("make", [FaissStore, InMemoryVectorStore])
async def test_letters_are_told_apart_by_a_name_in_passing(
    make: Callable[[WordEmbeddings], VectorStore], io: IO, words: WordEmbeddings
) -> None:
    store = make(words)
    letters = [letter(country, 10 + at) for at, country in enumerate(("Norland", "Ostland", "Sudland", "Westland"))]
    SentenceWindowRetriever(vectorstore=store).add_documents(letters)
    for query, named in [
        ("How many days is the notice of a clerk in Sudland?", ["sudland"]),
        ("How many days is the notice of a Norlandish clerk?", ["norland"]),
        ("Is the notice in Ostland as many days as in Westland?", ["ostland", "westland"]),
        ("How many days is the notice of a clerk in Iceland?", []),
    ]:
        found = await named_search(io, scope_of(store, {}), query, Searches(), k=50)
        assert sorted(each.doc_id for each in found.named.documents) == named if found.named else not named
        if named:
            assert found.hits[0].doc_id in named


def test_of_equal_texts_the_one_of_the_named_document_is_returned(words: WordEmbeddings) -> None:
    text = "The notice of a clerk is 30 days."
    retriever = SentenceWindowRetriever.from_documents(
        [
            Document(text, id=country, metadata={"source": f"letters/{country}.md"})
            for country in ("Norland", "Ostland")
        ],
        words,
        k=3,
    )
    for country, other in (("Norland", "Ostland"), ("Ostland", "Norland")):
        (found,) = retriever.invoke(f"How long is the notice of a clerk in {country}?")
        assert found.metadata["doc_id"] == country
        assert [each["doc_id"] for each in found.metadata["also_in"]] == [other]


@pytest.mark.parametrize("io", [BLOCKING, ASYNC])
async def test_documents_are_named_by_their_first_lines(store: VectorStore, io: IO) -> None:
    lease = "This lease is between Westland Motors, Inc. and Acme Travel. It ends in May. The fee is due in June."
    SentenceWindowRetriever(vectorstore=store).add_documents([Document(lease, id="lease", metadata={"source": "9.md"})])
    find = Searches()
    query = "Under the lease of Westland Motors and Acme Travel, when is the fee due at last?"
    found = await named_search(io, scope_of(store, {}), query, find, k=50)
    assert found.named is not None
    assert [each.doc_id for each in found.named.documents] == ["lease"]
    assert found.named.question == WITHOUT
    assert documents_of(found)[0] == "lease"
