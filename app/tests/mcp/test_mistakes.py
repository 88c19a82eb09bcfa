"""What a model gets after a mistake, and what is hidden from it."""

import asyncio
import threading
from pathlib import Path

import pytest

from app.tests.mcp.conftest import Call, called, text_of
from langchain_sentence_window import SentenceWindowRetriever
from sentence_window.mcp import create_mcp_server
from tests.patience import PATIENCE
from tests.toys import WordEmbeddings, document

INVALID = "These arguments are invalid. Call the tool again with others."


async def test_arguments_out_of_bounds_are_named(call: Call) -> None:
    for name, arguments, message in (
        ("search", {}, "query: Field required"),
        ("search", {"query": ""}, "query: String should have at least 1 character"),
        ("search", {"query": "x" * 4_001}, "query: String should have at most 4000 characters"),
        ("search", {"query": "refund", "k": 21}, "k: Input should be less than or equal to 20"),
        ("search", {"query": "refund", "k": 0}, "k: Input should be greater than or equal to 1"),
        ("search", {"query": "refund", "filter": {"tenant": "b"}}, "filter: Extra inputs are not permitted"),
        ("search", {"query": ["refund"]}, "query: Input should be a valid string"),
        ("fetch", {"id": ""}, "id: String should have at least 1 character"),
        ("fetch", {"id": "x" * 20_000}, "id: String should have at most"),
        ("read_around", {"doc_id": "terms", "first": -1, "last": 2}, "first: Input should be greater than or equal to"),
        ("read_around", {"doc_id": "terms", "first": 1, "last": 2, "after": 51}, "after: Input should be less than"),
        ("read_around", {"doc_id": "terms", "first": 1, "last": 2**40}, "last: Input should be less than"),
        ("verify_quote", {"quote": "x" * 4_001}, "quote: String should have at most 4000 characters"),
        ("verify_quote", {"quote": "x", "doc_id": ""}, "doc_id: String should have at least 1 character"),
    ):
        failed = await call(name, **arguments)
        assert failed.is_error
        assert text_of(failed).startswith(f"{INVALID}\n{message}"), arguments
        assert "xxxxx" not in text_of(failed)
        assert "pydantic" not in text_of(failed)


async def test_a_mistake_is_answered_by_advice(call: Call) -> None:
    for name, arguments, message in (
        ("search", {"query": "refund\0"}, "The query holds a NUL or a lone surrogate"),
        ("verify_quote", {"quote": "refund\0"}, "The quote has a NUL or a lone surrogate"),
        ("verify_quote", {"quote": "…"}, "the quote is '…'; give the text of a quotation"),
        ("verify_quote", {"quote": "A refund.", "doc_id": "nobody"}, "There is no document 'nobody'. Search first"),
        ("fetch", {"id": "\0"}, "There is no document '\\x00'"),
        ("fetch", {"id": "terms#100-100"}, "There is no document 'terms' with a sentence 100"),
        ("fetch", {"id": "terms#5-2"}, "There is no document 'terms#5-2'"),
        ("fetch", {"id": "y" * 5_000}, "There is no document 'yyyyy"),
        ("read_around", {"doc_id": "terms", "first": 3, "last": 2}, "first is 3 and last is 2"),
        ("read_around", {"doc_id": "terms", "first": 0, "last": 200}, "0 to 200 are more than 100 sentences"),
        ("nothing", {}, "Unknown tool: nothing"),
    ):
        failed = await call(name, **arguments)
        assert failed.is_error
        assert text_of(failed).startswith(message), text_of(failed)
        assert len(text_of(failed)) <= 500


@pytest.mark.parametrize("name", ["search", "verify_quote"])
async def test_errors_of_the_server_are_logged_and_hidden(name: str, caplog: pytest.LogCaptureFixture) -> None:
    tries = []

    class Broken(WordEmbeddings):
        def embed_query(self, text: str) -> list[float]:
            tries.append(text)
            raise ConnectionRefusedError("/home/me/secret.key can't be read")

    retriever = SentenceWindowRetriever.from_documents([document("A refund.")], Broken())
    failed = await called(create_mcp_server(retriever), name, {"query" if name == "search" else "quote": "refund"})
    assert failed.is_error
    assert text_of(failed) == (
        f"{name} failed on the server, whose log says why. Try again once; if it fails again, tell the user."
    )
    assert "/home/me/secret.key" in caplog.text
    assert tries == ["refund"]  # only an error of the store is tried again


async def test_errors_of_a_broken_index_hide_its_path(tmp_path: Path, words: WordEmbeddings) -> None:
    path = tmp_path / "secret-place"
    SentenceWindowRetriever.from_documents([document("A refund. It ends.", "a")], words, path=path).close()
    server = create_mcp_server(SentenceWindowRetriever.open(path, words))
    for each in filter(Path.is_file, path.rglob("*")):
        each.write_bytes(b"damaged" * 1_000)
    results = [
        await called(server, name, arguments)
        for name, arguments in (("search", {"query": "refund"}), ("fetch", {"id": "a"}))
    ]
    assert any(result.is_error for result in results)
    assert not any(secret in text_of(result) for result in results for secret in ("secret-place", "Traceback"))


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
