"""No tool reads what the retriever's filter excludes."""

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from app.tests.mcp.conftest import called, text_of
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server
from tests.properties import examples
from tests.toys import WordEmbeddings, document

OURS = "We pay a refund. It takes days."
THEIRS = "They pay a secret refund. It takes years."


def store_of_two_tenants(kind: Any = FaissStore) -> VectorStore:
    store: VectorStore = kind(WordEmbeddings())
    everyone = SentenceWindowRetriever(vectorstore=store)
    everyone.add_documents([document(OURS, "ours", tenant="a"), document(THEIRS, "theirs", tenant="b")])
    return store


@pytest.fixture(scope="module", params=[FaissStore, InMemoryVectorStore])
def server(request: pytest.FixtureRequest) -> Any:
    store = store_of_two_tenants(request.param)
    return create_mcp_server(SentenceWindowRetriever(vectorstore=store, filter={"tenant": "a"}))


async def test_a_document_of_another_tenant_looks_like_a_missing_one(server: Any) -> None:
    templates: list[tuple[str, Callable[[str], dict[str, Any]]]] = [
        *(
            ("fetch", lambda name, form=form: {"id": form.format(name)})
            for form in ("{}", "{}#0-0", "{}#1-1", "{}#0-99999", '"{}"')
        ),
        ("read_around", lambda name: {"doc_id": name, "first": 0, "last": 1}),
        ("verify_quote", lambda name: {"quote": "They pay a secret refund.", "doc_id": name}),
        ("verify_quote", lambda name: {"quote": "They pay a secret refund.", "doc_id": f'"{name}"'}),
    ]
    for name, arguments_for in templates:
        forbidden = await called(server, name, arguments_for("theirs"))
        missing = await called(server, name, arguments_for("nobody"))
        assert forbidden.is_error
        assert missing.is_error
        assert text_of(forbidden).replace("theirs", "nobody") == text_of(missing)
        assert text_of(forbidden).startswith("There is no document")
        assert forbidden.structured_content is None
        assert not (await called(server, name, arguments_for("ours"))).is_error


async def test_nothing_of_another_tenant_is_returned(server: Any) -> None:
    quote = "They pay a secret refund."
    for name, arguments in (
        ("search", {"query": "secret refund", "k": 20}),
        ("search", {"query": THEIRS, "k": 20}),
        ("fetch", {"id": "ours#0-0"}),
        ("read_around", {"doc_id": "ours", "first": 0, "last": 0, "before": 50, "after": 50}),
        ("verify_quote", {"quote": quote}),
        ("verify_quote", {"quote": quote, "doc_id": "ours"}),
    ):
        result = await called(server, name, arguments)
        assert not result.is_error
        shown = text_of(result).replace(quote, "")
        assert not any(word in shown for word in ("secret", "theirs", "years"))


async def test_a_filter_may_allow_parts_of_a_document(words: WordEmbeddings) -> None:
    store = FaissStore(words)
    texts = ["We begin. A refund.", "A secret seat. A secret card.", "A trial. We end."]
    SentenceWindowRetriever(vectorstore=store).add_documents(
        [Document(page_content=text, metadata={"source": "a.pdf", "page": page}) for page, text in enumerate(texts)]
    )
    retriever = SentenceWindowRetriever(vectorstore=store, filter={"page": {"$ne": 1}})
    server = create_mcp_server(retriever)
    for id_, expected in (("a.pdf", [0, 1]), ("a.pdf#0-5", [0, 1]), ("a.pdf#5-5", [4, 5]), ("a.pdf#2-4", [4, 5])):
        found = (await called(server, "fetch", {"id": id_})).structured_content
        assert found["sentences"] == expected
        assert "secret" not in found["text"]
    assert (await called(server, "fetch", {"id": "a.pdf#2-3"})).is_error
    quoted = await called(server, "verify_quote", {"quote": "A secret seat.", "doc_id": "a.pdf"})
    assert quoted.structured_content["verdict"] == "not_found"
    assert quoted.structured_content["places"] == []
    after = await called(server, "verify_quote", {"quote": "We end.", "doc_id": "a.pdf"})
    assert after.structured_content["verdict"] == "verbatim"


PIECES = [
    *("ours", "theirs", "#", "0-0", "0-9", "1-1", "%", "%74heirs", '"', "\\u0074heirs", "/", "*", " ", "tenant", "b"),
]


@pytest.mark.slow
@examples(150)
@given(
    name=st.sampled_from(["fetch", "read_around", "verify_quote", "search"]),
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=5),
    numbers=st.tuples(st.integers(0, 3), st.integers(0, 50)),
)
def test_no_id_and_no_query_reaches_excluded_documents(name: str, pieces: list[str], numbers: tuple[int, int]) -> None:
    given_id, (first, more) = "".join(pieces), numbers
    arguments: dict[str, dict[str, Any]] = {
        "fetch": {"id": given_id},
        "read_around": {"doc_id": given_id, "first": first, "last": first + more, "before": more, "after": more},
        "verify_quote": {"quote": "It takes years.", "doc_id": given_id},
        "search": {"query": given_id, "k": 20},
    }
    result = asyncio.run(called(two_tenants(), name, arguments[name]))
    shown = text_of(result).replace("It takes years.", "")
    assert "secret" not in shown
    assert "years" not in shown
    assert all(each["doc_id"] == "ours" for each in passages_of(result.structured_content))


@cache
def two_tenants() -> Any:
    return create_mcp_server(SentenceWindowRetriever(vectorstore=store_of_two_tenants(), filter={"tenant": "a"}))


def passages_of(content: Any) -> list[Any]:
    passages: list[Any] = [] if content is None else content.get("results", content.get("places", [content]))
    return passages


async def test_a_filter_that_is_set_later_applies() -> None:
    retriever = SentenceWindowRetriever(vectorstore=store_of_two_tenants(), filter={"tenant": "a"})
    server = create_mcp_server(retriever)
    retriever.filter = {"tenant": "b"}
    assert (await called(server, "fetch", {"id": "ours#0-0"})).is_error
    assert (await called(server, "fetch", {"id": "theirs#0-0"})).structured_content["text"] == THEIRS
