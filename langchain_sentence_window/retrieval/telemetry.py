"""The package's logger, and the line that an ingest writes.

The logger is silent until the program configures logging. A query is logged at DEBUG, added documents at INFO. A line
holds the question, shortened, and names of documents, but none of their texts.
"""

import logging

from langchain_sentence_window.adapters.store_adapter import StoreAdapter

LOGGER = logging.getLogger(__name__.partition(".")[0])
"""The logger ``langchain_sentence_window``."""

LOGGER.addHandler(logging.NullHandler())


def log_ingest(adapter: StoreAdapter, *, documents: int, sentences: int, seconds: float) -> None:
    """Log what adding documents did."""
    added = f"{counted(documents, 'document')} of {counted(sentences, 'sentence')}"
    LOGGER.info("added %s to %s in %.3f s", added, adapter.name, seconds)


def counted(number: int, noun: str) -> str:
    """Write a number with its noun in the singular or plural."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
