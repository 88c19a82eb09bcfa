"""Reads of one state of a store, made again while others write."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TypeVar

from langchain_sentence_window.adapters.scope import Scope
from langchain_sentence_window.errors import IncompleteWindowError, StoreChangedError

T = TypeVar("T")

MAX_ATTEMPTS = 10
"""The most attempts at a read of a store that can't tell whether it was written meanwhile, or lacks a sentence."""

MAX_BUSY = 100
"""The most attempts at a read of a store that can tell. Few come to the third."""


async def in_one_state(scope: Scope, read: Callable[[Scope], Awaitable[T]]) -> T:
    """Search and read one state of a store, or do it again if documents were replaced in between.

    Args:
        scope: The store, and what may be read of it.
        read: Searches and reads in the scope that it is given.

    Raises:
        IncompleteWindowError: The store lacks something, whatever is written to it.
        StoreChangedError: A state never lasts as long as it takes to search it.
    """
    attempt = 0
    while True:
        attempt += 1
        with scope.adapter.at_one_state(attempt) as adapter:
            try:
                return await read(replace(scope, adapter=adapter))
            except StoreChangedError:
                if attempt == MAX_BUSY:
                    raise
            except IncompleteWindowError:
                if adapter.reads_one_state or attempt == MAX_ATTEMPTS:
                    raise
