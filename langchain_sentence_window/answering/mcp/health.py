"""``/health``: whether the server's store answers, for load balancers and containers."""

import asyncio
import time
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.responses import JSONResponse

from langchain_sentence_window._io import arun
from langchain_sentence_window.documents.ids import sentence_id
from langchain_sentence_window.retrieval.logs import LOGGER
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

PATH = "/health"

MAX_SECONDS = 5.0
"""The most seconds in which a store must answer to be well."""

_FRESH_SECONDS = 1.0
"""How long an answer counts, so that whoever asks often doesn't burden the store."""

_STATUS = {True: (200, "ok"), False: (503, "unavailable")}


@dataclass
class Health:
    """Asks the store for a sentence that doesn't exist, once for all who want to know at a time.

    Attributes:
        retriever: Its store is asked.
        seconds: The most seconds in which it must answer.
    """

    retriever: SentenceWindowRetriever
    seconds: float = MAX_SECONDS
    _asking: asyncio.Task[bool] | None = field(default=None, init=False)
    _asked_at: float = field(default=0.0, init=False)
    _was_well: bool = field(default=True, init=False)

    async def respond(self, _: Request) -> JSONResponse:
        """Respond with 200 if the store answers, and with 503 if it doesn't; tell nothing else."""
        code, status = _STATUS[await self.is_well()]
        return JSONResponse({"status": status}, code, headers={"Cache-Control": "no-store"})

    async def is_well(self) -> bool:
        """Return whether the store answers, or did a moment ago."""
        now = time.monotonic()
        if self._asking is None or (self._asking.done() and now - self._asked_at >= _FRESH_SECONDS):
            self._asking, self._asked_at = asyncio.create_task(self._ask()), now
        return await asyncio.shield(self._asking)

    async def _ask(self) -> bool:
        try:
            adapter = self.retriever.scope().adapter
            async with asyncio.timeout(self.seconds):
                await arun(lambda io: adapter.fetch(io, [sentence_id("", 0)]))
        except Exception as error:  # noqa: BLE001 - a driver may raise anything
            if self._was_well:
                LOGGER.warning("the store doesn't answer: %s", type(error).__name__)
            self._was_well = False
        else:
            if not self._was_well:
                LOGGER.warning("the store answers again")
            self._was_well = True
        return self._was_well
