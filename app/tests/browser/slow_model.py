"""A chat model that stops in the middle until it may continue."""

import asyncio
from collections.abc import AsyncIterator
from threading import Event
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import ConfigDict

from tests.patience import PATIENCE


class SlowModel(BaseChatModel):
    """Writes ``So it is [1]``, and the rest once it may go on."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    go_on: Event

    @property
    def _llm_type(self) -> str:
        return "slow"

    def _generate(self, messages: list[BaseMessage], *given: Any, **settings: Any) -> ChatResult:
        raise NotImplementedError

    async def _astream(
        self, messages: list[BaseMessage], *given: Any, **settings: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        for text in ("So ", "it is ", "[1]"):
            yield ChatGenerationChunk(message=AIMessageChunk(content=text))
        await asyncio.to_thread(self.go_on.wait, PATIENCE)
        yield ChatGenerationChunk(message=AIMessageChunk(content=" and ends."))
