"""Check that what the retriever's filter forbids can't be read on any road."""

import asyncio
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from tests.answering.mcp.conftest import called, text_of
from tests.properties import examples
from tests.toys import WordEmbeddings, document

OURS = "We pay a refund. It takes days."
THEIRS = "They pay a secret refund. It takes years."


@pytest.fixture(params=[FaissStore, InMemoryVectorStore])
def store(request: pytest.FixtureRequest, words: WordEmbeddings) -> VectorStore:
    store: VectorStore = request.param(words)
    everyone = SentenceWindowRetriever(vectorstore=store)
    everyone.add_documents([document(OURS, "ours", tenant="a"), document(THEIRS, "theirs", tenant="b")])
    return store


@pytest.fixture
def server(store: VectorStore) -> Any:
    return create_mcp_server(SentenceWindowRetriever(vectorstore=store, filter={"tenant": "a"}))


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        *(("fetch", {"id": f"NAME{ending}"}) for ending in ("", "#0-0", "#1-1", "#0-99999")),
        ("fetch", {"id": '"NAME"'}),
        *(("read_around", {"doc_id": each, "first": 0, "last": 1}) for each in ("NAME", '"NAME"')),
        *(("verify_quote", {"quote": "They pay a secret refund.", "doc_id": each}) for each in ("NAME", '"NAME"')),
    ],
)
async def test_the_id_of_another_tenant_is_as_good_as_none(server: Any, name: str, arguments: dict[str, Any]) -> None:
    def naming(doc_id: str) -> dict[str, Any]:
        return {
            key: value.replace("NAME", doc_id) if isinstance(value, str) else value for key, value in arguments.items()
        }

    forbidden = await called(server, name, naming("theirs"))
    missing = await called(server, name, naming("nobody"))
    assert forbidden.is_error
    assert missing.is_error
    assert text_of(forbidden).replace("theirs", "nobody") == text_of(missing)
    assert text_of(forbidden).startswith("There is no document")
    assert forbidden.structured_content is None
    allowed = await called(server, name, naming("ours"))
    assert not allowed.is_error


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("search", {"query": "secret refund", "k": 20}),
        ("search", {"query": THEIRS, "k": 20}),
        ("fetch", {"id": "ours#0-0"}),
        ("read_around", {"doc_id": "ours", "first": 0, "last": 0, "before": 50, "after": 50}),
        ("verify_quote", {"quote": "They pay a secret refund."}),
        ("verify_quote", {"quote": "They pay a secret refund.", "doc_id": "ours"}),
    ],
)
async def test_nothing_of_another_tenant_is_returned(server: Any, name: str, arguments: dict[str, Any]) -> None:
    result = await called(server, name, arguments)
    assert not result.is_error
    shown = text_of(result).replace("They pay a secret refund." if name == "verify_quote" else "\0", "")
    assert "secret" not in shown
    assert "theirs" not in shown
    assert "years" not in shown


async def test_a_filter_that_lets_a_part_of_a_document_through_binds_inside_it(words: WordEmbeddings) -> None:
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
        assert "note" not in found
    assert (await called(server, "fetch", {"id": "a.pdf#2-3"})).is_error
    quoted = await called(server, "verify_quote", {"quote": "A secret seat.", "doc_id": "a.pdf"})
    assert quoted.structured_content["verdict"] == "not_found"
    assert quoted.structured_content["places"] == []
    after = await called(server, "verify_quote", {"quote": "We end.", "doc_id": "a.pdf"})
    assert after.structured_content["verdict"] == "verbatim"


PIECES = [
    "ours",
    "theirs",
    "#",
    "0-0",
    "0-9",
    "1-1",
    "%",
    "%74heirs",
    '"',
    "\\u0074heirs",
    "/",
    "*",
    " ",
    "tenant",
    "b",
]


@pytest.mark.slow
@examples(150)
@given(
    name=st.sampled_from(["fetch", "read_around", "verify_quote", "search"]),
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=5),
    numbers=st.tuples(st.integers(0, 3), st.integers(0, 50)),
)
def test_no_id_and_no_query_reaches_what_is_forbidden(name: str, pieces: list[str], numbers: tuple[int, int]) -> None:
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
    store = FaissStore(WordEmbeddings())
    everyone = SentenceWindowRetriever(vectorstore=store)
    everyone.add_documents([document(OURS, "ours", tenant="a"), document(THEIRS, "theirs", tenant="b")])
    return create_mcp_server(SentenceWindowRetriever(vectorstore=store, filter={"tenant": "a"}))


def passages_of(content: Any) -> list[Any]:
    if content is None:
        return []
    found: list[Any] = content.get("results", content.get("places", [content]))
    return found


async def test_a_filter_that_is_set_later_binds(store: VectorStore) -> None:
    retriever = SentenceWindowRetriever(vectorstore=store, filter={"tenant": "a"})
    server = create_mcp_server(retriever)
    retriever.filter = {"tenant": "b"}
    assert (await called(server, "fetch", {"id": "ours#0-0"})).is_error
    assert (await called(server, "fetch", {"id": "theirs#0-0"})).structured_content["text"] == THEIRS
