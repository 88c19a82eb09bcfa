"""A chain whose stream is closed or canceled stops its search and its model."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

from langchain_sentence_window import create_rag_chain

WRITTEN = '{"statements": [{"text": "It is so."}, {"text": "It i'


class EndlessModel(FakeListChatModel):
    """Writes the beginning of an answer, and then waits."""

    responses: list[str] = Field(default=[WRITTEN])
    ends: list[str] = Field(default=[])

    async def _astream(self, *_: Any, **settings: Any) -> AsyncIterator[ChatGenerationChunk]:
        try:
            yield ChatGenerationChunk(message=AIMessageChunk(content=WRITTEN))
            await asyncio.Event().wait()
        finally:
            self.ends.append("model")


class Retriever(BaseRetriever):
    """Returns a document, or waits."""

    waits: bool = False
    ends: list[str] = Field(default=[])

    def _get_relevant_documents(self, query: str, **settings: Any) -> list[Document]:
        return [Document("It is so.")]

    async def _aget_relevant_documents(self, query: str, **settings: Any) -> list[Document]:
        try:
            if self.waits:
                await asyncio.Event().wait()
            return [Document("It is so.")]
        finally:
            self.ends.append("retriever")


async def ended(ends: list[str]) -> bool:
    for _ in range(100):
        await asyncio.sleep(0)
    return bool(ends)


@pytest.mark.parametrize("citations", ["numbers", "quotes"])
async def test_closing_a_stream_stops_the_model(citations: Any) -> None:
    model = EndlessModel()
    parts: Any = create_rag_chain(Retriever(), model, citations=citations).astream("Is it so?")
    async for part in parts:
        if part.get("answer"):
            break
    assert model.ends == []
    await parts.aclose()
    assert await ended(model.ends)


@pytest.mark.parametrize("form", ["astream", "ainvoke"])
@pytest.mark.parametrize("settings", [{}, {"citations": "quotes"}, {"failed_quotes": "retry"}, {"history": True}])
async def test_canceling_a_run_stops_the_model(form: str, settings: Any) -> None:
    model = EndlessModel()
    chain = create_rag_chain(Retriever(), model, **settings)
    history = {"history": [("human", "Is it?")]} if settings.get("history") else {}
    await cancel(chain, form, {"question": "Is it so?", **history})
    assert await ended(model.ends)


@pytest.mark.parametrize("form", ["astream", "ainvoke"])
async def test_canceling_a_run_stops_the_search(form: str) -> None:
    retriever = Retriever(waits=True)
    await cancel(create_rag_chain(retriever, EndlessModel()), form, {"question": "Is it so?"})
    assert await ended(retriever.ends)


async def cancel(chain: Any, form: str, given: dict[str, Any]) -> None:
    """Run a chain until it waits, and cancel it."""

    async def read() -> None:
        if form == "ainvoke":
            await chain.ainvoke(given)
        async for _ in chain.astream(given):
            pass

    task = asyncio.create_task(read())
    await asyncio.sleep(0.2)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
