"""The adapter of LangChain's `InMemoryVectorStore`."""

from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._types import SentenceKey
from langchain_sentence_window.adapters.base import StoreAdapter
from langchain_sentence_window.adapters.filtering import (
    Matcher,
    all_of,
    checked_function,
    key_matcher,
    mapping_matcher,
)
from langchain_sentence_window.stores.faiss.database.filters import filter_keys


class InMemoryAdapter(StoreAdapter):
    """The store filters by functions of a Document; a mapping is made into one."""

    holds_json = True

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Look at all documents, as they are in memory."""
        held = [
            Document(id=each["id"], page_content=each["text"], metadata=each["metadata"])
            for each in list(self.store.store.values())
        ]
        matches = None if filter is None else self.matcher(filter)
        return held if matches is None else [document for document in held if matches(document)]

    def join(self, filters: Sequence[Any]) -> Any:
        """Return a function that calls them all."""
        return all_of([self.matcher(each) for each in filters])

    def matcher(self, filter: Any) -> Matcher:
        """Return the function itself, or one for a mapping."""
        if isinstance(filter, Mapping):
            return mapping_matcher(filter)
        return checked_function(self.name, filter, "a Document")

    def narrow(self, filter: Any, keys: Sequence[SentenceKey]) -> Any:
        """Return a function that checks the key first."""
        return all_of([key_matcher(keys), self.matcher(filter)])

    def unknown_keys(self, filters: Sequence[Any]) -> list[str]:
        """Look at all documents, as they are in memory."""
        held = [each["metadata"] for each in list(self.store.store.values())]
        keys = dict.fromkeys(key for each in filters if isinstance(each, Mapping) for key in filter_keys(each))
        return [key for key in keys if held and not any(key in metadata for metadata in held)]
