"""Documents that a question names are searched first, in stores with and without an index of names."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.retrieval.tracing.trace import Trace
from tests.forms import Invoke
from tests.toys import WordEmbeddings

QUERY = "Under the contract of Zebra and Motorola, when is the fee due at last?"
WITHOUT = "when is the fee due at last?"


def contract(one: str, other: str) -> Document:
    head = f"# Agreement\n\nThis agreement is between {one} and {other}. {one} pays {other} a fee."
    text = f"{head} {one} keeps records. {one} lets {other} see them. The fee is due in May. {one} or {other} ends it."
    return Document(text, id=f"{one}-{other}".lower(), metadata={"source": f"{one}.md", "code": f"{one}77"})


CONTRACTS = [contract("Zebra", "Motorola"), contract("Tribune", "Tube"), contract("Acme", "Globex")]


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def retriever(request: pytest.FixtureRequest, words: WordEmbeddings) -> SentenceWindowRetriever:
    made = SentenceWindowRetriever(vectorstore=request.param(words), window=0, lexical_weight=0)
    made.add_documents(CONTRACTS)
    return made


def over(store: VectorStore, texts: dict[str, str], **settings: Any) -> SentenceWindowRetriever:
    made = SentenceWindowRetriever(vectorstore=store, window=0, lexical_weight=0, ranking=None, **settings)
    made.add_documents([Document(text, id=name, metadata={"source": name}) for name, text in texts.items()])
    return made


def documents_of(trace: Trace) -> list[str]:
    return list(dict.fromkeys(hit.doc_id for hit in trace.hits))


async def test_named_documents_come_first(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    trace: Trace = await way(retriever, "explain", QUERY)
    assert ([each.doc_id for each in trace.named], trace.is_limited) == (["zebra-motorola"], True)
    assert trace.searched_as == WITHOUT
    assert documents_of(trace)[0] == "zebra-motorola"
    assert set(documents_of(trace)) == {"zebra-motorola", "tribune-tube", "acme-globex"}
    first = [hit.doc_id == "zebra-motorola" for hit in trace.hits]
    assert first == sorted(first, reverse=True)
    assert len(first) == 3 * 7
    scores = [hit.score for hit in trace.hits]
    assert max(scores[sum(first) :]) <= min(scores[: sum(first)])
    (found, *_) = await way(retriever, "invoke", QUERY, k=1)
    assert found.metadata["doc_id"] == "zebra-motorola"


async def test_names_are_switched_off_or_in_other_keys(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    for query, names, expected in (
        (QUERY, False, []),
        ("when is the fee due?", True, []),
        ("When is the fee of Acme77 due?", True, []),
        ("When is the fee of Acme77 due?", ["code"], ["acme-globex"]),
    ):
        trace: Trace = await way(retriever, "explain", query, names=names)
        assert [each.doc_id for each in trace.named] == expected


async def test_names_of_documents_outside_the_filter_are_unknown(
    retriever: SentenceWindowRetriever, way: Invoke
) -> None:
    allowed = {"source": {"$in": ["Tribune.md", "Acme.md"]}}
    if isinstance(retriever.vectorstore, InMemoryVectorStore):
        retriever = retriever.model_copy(update={"filter": lambda each: each.metadata["source"] != "Zebra.md"})
    else:
        retriever = retriever.model_copy(update={"filter": allowed})
    trace: Trace = await way(retriever, "explain", QUERY)
    assert (trace.named, set(documents_of(trace))) == ([], {"tribune-tube", "acme-globex"})
    trace = await way(retriever, "explain", "What do Tribune and Tube pay at last?")
    assert documents_of(trace) == ["tribune-tube", "acme-globex"]


async def test_each_of_several_named_documents_is_found(words: WordEmbeddings, way: Invoke) -> None:
    texts = {"plans.md": "Refund. " * 9, "cards.md": "Refund, annual. " * 9, "other.md": "A refund. " * 9}
    # The sentences of the plans are all nearer to the question: their cosine is 1, and that of the cards .71.
    retriever = over(FaissStore(words, neighbor_weights=(1,)), texts, fetch_k=4, k=2)
    trace: Trace = await way(retriever, "explain", "In plans.md and cards.md, what is a refund?")
    assert sorted(documents_of(trace)) == ["cards.md", "plans.md"]
    assert {hit.doc_id for hit in trace.hits[:2]} == {"cards.md", "plans.md"}


POLICIES = {
    "rules.md": "An annual refund is due. A refund is annual. Annual refunds, one refund.",
    "larkspur.md": "A seat is here. A seat of a card. A trial seat.",
}


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
async def test_a_mentioned_document_gets_a_bonus(kind: Any, words: WordEmbeddings, way: Invoke) -> None:
    """The question is about refunds, of which the document that it mentions says nothing."""
    retriever = over(kind(words), POLICIES, fetch_k=6)
    query = "Does larkspur.md change when an annual refund is due?"
    trace: Trace = await way(retriever, "explain", query)
    assert ([each.doc_id for each in trace.named], trace.is_limited) == (["larkspur.md"], False)
    assert documents_of(trace)[0] == "rules.md"
    without: Trace = await way(retriever, "explain", query, names=False)
    before = {(hit.doc_id, hit.index): hit.score for hit in without.hits}
    highest = max(map(abs, before.values()))
    for hit in trace.hits:
        bonus = 0.1 * highest if hit.doc_id == "larkspur.md" else 0
        assert hit.score == pytest.approx(before[hit.doc_id, hit.index] + bonus)


@pytest.mark.parametrize("kind", [FaissStore, InMemoryVectorStore])
async def test_documents_take_turns_if_a_question_has_two_parts(kind: Any, words: WordEmbeddings, way: Invoke) -> None:
    retriever = over(kind(words), POLICIES)
    two = "According to larkspur.md, what is a seat, and when is an annual refund due?"
    trace: Trace = await way(retriever, "explain", two)
    assert [hit.doc_id for hit in trace.hits[:4]] == ["larkspur.md", "rules.md"] * 2
    one = "According to larkspur.md, when is an annual refund due?"
    trace = await way(retriever, "explain", one)
    assert [hit.doc_id for hit in trace.hits[:4]] == ["larkspur.md"] * 3 + ["rules.md"]


def letter(country: str, days: int) -> Document:
    text = f"# Offer\n\nWe offer you work in {country}. The notice is {days} days. Each of us may end it. Rest is paid."
    return Document(text, id=country.lower(), metadata={"source": f"letters/{country}.md"})


@pytest.mark.parametrize("make", [FaissStore, InMemoryVectorStore])
async def test_letters_are_distinguished_by_a_name_in_passing(
    make: Callable[[WordEmbeddings], VectorStore], way: Invoke, words: WordEmbeddings
) -> None:
    retriever = SentenceWindowRetriever(vectorstore=make(words))
    countries = ("Norland", "Ostland", "Sudland", "Westland")
    retriever.add_documents([letter(country, 10 + at) for at, country in enumerate(countries)])
    for query, named in [
        ("How many days is the notice of a clerk in Sudland?", ["sudland"]),
        ("How many days is the notice of a Norlandish clerk?", ["norland"]),
        ("Is the notice in Ostland as many days as in Westland?", ["ostland", "westland"]),
        ("How many days is the notice of a clerk in Iceland?", []),
    ]:
        trace: Trace = await way(retriever, "explain", query)
        assert sorted(each.doc_id for each in trace.named) == named
        assert not named or trace.hits[0].doc_id in named


def test_of_equal_texts_the_one_of_the_named_document_is_returned(words: WordEmbeddings) -> None:
    text = "The notice of a clerk is 30 days."
    documents = [Document(text, id=name, metadata={"source": f"letters/{name}.md"}) for name in ("Norland", "Ostland")]
    retriever = SentenceWindowRetriever.from_documents(documents, words, k=3)
    for country, other in (("Norland", "Ostland"), ("Ostland", "Norland")):
        (found,) = retriever.invoke(f"How long is the notice of a clerk in {country}?")
        assert found.metadata["doc_id"] == country
        assert [each["doc_id"] for each in found.metadata["also_in"]] == [other]


async def test_documents_are_named_by_their_first_lines(retriever: SentenceWindowRetriever, way: Invoke) -> None:
    lease = "This lease is between Westland Motors, Inc. and Acme Travel. It ends in May. The fee is due in June."
    retriever.add_documents([Document(lease, id="lease", metadata={"source": "9.md"})])
    query = "Under the lease of Westland Motors and Acme Travel, when is the fee due at last?"
    trace: Trace = await way(retriever, "explain", query)
    assert ([each.doc_id for each in trace.named], trace.searched_as) == (["lease"], WITHOUT)
    assert documents_of(trace)[0] == "lease"
