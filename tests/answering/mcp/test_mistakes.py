"""Test what a model is told after a mistake, and what it isn't told."""

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.agents.tool_errors import MAX_ADVICE_CHARS
from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server
from langchain_sentence_window.apps.mcp.mcp_tools import MAX_QUERY_CHARS, MAX_QUOTE_CHARS
from tests.answering.mcp.conftest import Call, called, text_of
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings, document

UNUSABLE = "These arguments can't be used. Call the tool again with others."


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search", {}, "query: Field required"),
        ("search", {"query": ""}, "query: String should have at least 1 character"),
        ("search", {"query": "x" * (MAX_QUERY_CHARS + 1)}, "query: String should have at most 4000 characters"),
        ("search", {"query": "refund", "k": 21}, "k: Input should be less than or equal to 20"),
        ("search", {"query": "refund", "k": 0}, "k: Input should be greater than or equal to 1"),
        ("search", {"query": "refund", "filter": {"tenant": "b"}}, "filter: Extra inputs are not permitted"),
        ("search", {"query": ["refund"]}, "query: Input should be a valid string"),
        ("search", {"query": None}, "query: Field required"),
        ("fetch", {"id": ""}, "id: String should have at least 1 character"),
        ("fetch", {"id": "x" * 20_000}, "id: String should have at most"),
        ("fetch", {"id": 5}, "id: Input should be a valid string"),
        ("read_around", {"doc_id": "terms", "first": -1, "last": 2}, "first: Input should be greater than or equal to"),
        ("read_around", {"doc_id": "terms", "first": 1, "last": 2, "after": 51}, "after: Input should be less than"),
        ("read_around", {"doc_id": "terms", "first": 1, "last": 2**40}, "last: Input should be less than"),
        ("verify_quote", {"quote": "x" * (MAX_QUOTE_CHARS + 1)}, "quote: String should have at most 4000 characters"),
        ("verify_quote", {"quote": "x", "doc_id": ""}, "doc_id: String should have at least 1 character"),
    ],
)
async def test_arguments_out_of_bounds_are_named(call: Call, name: str, arguments: dict[str, Any], told: str) -> None:
    failed = await call(name, **arguments)
    assert failed.is_error
    assert text_of(failed).startswith(f"{UNUSABLE}\n{told}")
    assert "xxxxx" not in text_of(failed)
    assert "pydantic" not in text_of(failed)


async def test_many_wrong_arguments_are_cut(call: Call) -> None:
    failed = await call("search", query="refund", **{f"argument_{number}" * 20: number for number in range(500)})
    assert failed.is_error
    assert len(text_of(failed)) <= MAX_ADVICE_CHARS


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("search", {"query": "refund\0"}, "The query holds a NUL or a lone surrogate"),
        ("verify_quote", {"quote": "refund\0"}, "The quote holds a NUL or a lone surrogate"),
        ("fetch", {"id": "\0"}, "There is no document '\\x00'. Search first"),
        ("fetch", {"id": "terms#100-100"}, "There is no document 'terms#100-100'. Search first"),
        ("fetch", {"id": "y" * 5_000}, "There is no document 'yyyyy"),
        ("read_around", {"doc_id": "terms", "first": 3, "last": 2}, "first is 3 and last is 2"),
        ("read_around", {"doc_id": "terms", "first": 0, "last": 200}, "0 to 200 are more than 100 sentences"),
        (
            "read_around",
            {"doc_id": "terms", "first": 99, "last": 99},
            "There is no document 'terms' with a sentence 99",
        ),
        ("verify_quote", {"quote": "A refund.", "doc_id": "nobody"}, "There is no document 'nobody'. Search first"),
        ("nothing", {}, "Unknown tool: nothing"),
    ],
)
async def test_a_mistake_comes_back_as_advice(call: Call, name: str, arguments: dict[str, Any], told: str) -> None:
    failed = await call(name, **arguments)
    assert failed.is_error
    assert text_of(failed).startswith(told)
    assert len(text_of(failed)) <= MAX_ADVICE_CHARS


async def test_a_blank_query_is_answered_with_advice_or_nothing(call: Call) -> None:
    result = await call("search", query="   ")
    assert result.is_error or result.structured_content is not None
    result = await call("verify_quote", quote="   ")
    assert result.is_error or result.structured_content["verdict"] == "not_found"


@pytest.mark.parametrize("name", ["search", "verify_quote"])
async def test_what_broke_on_the_server_is_logged_and_not_told(
    words: WordEmbeddings, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            raise OSError("/home/me/secret.key can't be read")

    retriever = SentenceWindowRetriever.from_documents([document("A refund.")], Broken())
    failed = await called(create_mcp_server(retriever), name, {"query" if name == "search" else "quote": "refund"})
    assert failed.is_error
    assert text_of(failed) == (
        f"{name} failed on the server, whose log says why. Try again once; if it fails again, tell the user."
    )
    assert "/home/me/secret.key" in caplog.text


async def test_a_broken_index_does_not_tell_its_path(tmp_path: Path, words: WordEmbeddings) -> None:
    path = tmp_path / "secret-place"
    SentenceWindowRetriever.from_documents([document("A refund. It ends.", "a")], words, path=path).vectorstore.close()  # type: ignore[attr-defined]
    retriever = SentenceWindowRetriever.open(path, words)
    server = create_mcp_server(retriever)
    for each in sorted(path.rglob("*"), reverse=True):
        if each.is_file():
            each.write_bytes(b"damaged" * 1_000)
    results = [
        await called(server, name, arguments)
        for name, arguments in (
            ("search", {"query": "refund"}),
            ("fetch", {"id": "a"}),
            ("read_around", {"doc_id": "a", "first": 0, "last": 0}),
            ("verify_quote", {"quote": "A refund."}),
        )
    ]
    assert any(result.is_error for result in results)
    for result in results:
        assert "secret-place" not in text_of(result)
        assert "Traceback" not in text_of(result)


async def test_a_slow_search_does_not_block_others(words: WordEmbeddings) -> None:
    begun, go_on = threading.Event(), threading.Event()

    class Slow(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            if text == "slow":
                begun.set()
                assert go_on.wait(PATIENCE)
            return super().embed_query(text)

    retriever = SentenceWindowRetriever.from_documents([document("A refund.", "a")], Slow())
    server = create_mcp_server(retriever)
    slow = asyncio.create_task(called(server, "search", {"query": "slow"}))
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    quick = await asyncio.wait_for(called(server, "search", {"query": "refund"}), PATIENCE)
    fetched = await asyncio.wait_for(called(server, "fetch", {"id": "a"}), PATIENCE)
    assert not slow.done()
    go_on.set()
    assert [result.is_error for result in (await slow, quick, fetched)] == [False] * 3


async def test_documents_are_not_changed(words: WordEmbeddings) -> None:
    given = Document(id="a", page_content="A refund.", metadata={"tags": ["x"], "source": "a.md"})
    before = given.model_copy(deep=True)
    retriever = SentenceWindowRetriever.from_documents([given], words)
    for name, arguments in (("search", {"query": "refund"}), ("fetch", {"id": "a"})):
        await called(create_mcp_server(retriever), name, arguments)
    assert given == before
