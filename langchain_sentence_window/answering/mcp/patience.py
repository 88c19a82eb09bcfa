"""How long a tool takes at most, and how often it tries again while the store doesn't answer."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from langchain_core.tools import ToolException

from langchain_sentence_window.errors import StoreUnavailableError

T = TypeVar("T")

_PAUSES = (0.25, 0.5, 1.0, 2.0)
"""About the seconds to wait before a call is made again, so a call is made five times at most."""

_SPREAD = 0.5
"""The share by which a pause is longer or shorter at random, lest all calls come back at the same moment."""


@dataclass(frozen=True)
class Patience:
    """The time of a call.

    Attributes:
        seconds: The most that it takes, with all its tries; ``None`` for any time.
    """

    seconds: float | None

    async def call(self, function: Callable[[], Awaitable[T]]) -> T:
        """Make a call that only reads, again and again while the store doesn't answer.

        Raises:
            TimeoutError: It took too long.
        """
        async with asyncio.timeout(self.seconds):
            for pause in _PAUSES:
                try:
                    return await function()
                except (StoreUnavailableError, ToolException) as error:
                    if not _is_unavailable(error):
                        raise
                await asyncio.sleep(pause * random.uniform(1 - _SPREAD, 1 + _SPREAD))  # noqa: S311 - nothing secret
            return await function()


def _is_unavailable(error: Exception) -> bool:
    return isinstance(error, StoreUnavailableError) or isinstance(error.__cause__, StoreUnavailableError)
