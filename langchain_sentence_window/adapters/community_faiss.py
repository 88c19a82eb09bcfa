"""The adapter of langchain-community's `FAISS`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window.adapters.delete_first import DeleteFirstAdapter
from langchain_sentence_window.adapters.filtering import Matcher, all_of, checked_function
from langchain_sentence_window.adapters.search_methods import Scored


class CommunityFaissAdapter(DeleteFirstAdapter):
    """The store filters by functions of metadata or by mappings that it reads itself, after the search."""

    holds_json = True

    async def search(self, io: IO, query: str, settings: Mapping[str, Any]) -> Scored:
        """Search everything if a filter is given, as the store filters what it has found."""
        wider = {"fetch_k": self.store.index.ntotal} if "filter" in settings else {}
        return await super().search(io, query, wider | dict(settings))

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Look at all documents, if they are in memory."""
        held = getattr(self.store.docstore, "_dict", None)
        if held is None:
            return await super().list_sentences(io, filter)
        matches = None if filter is None else self.matcher(filter)
        return [document for document in list(held.values()) if matches is None or matches(document)]

    async def add_embedded(self, io: IO, documents: Sequence[Document], vectors: Sequence[list[float]]) -> None:
        """Add documents with their vectors."""
        pairs = list(zip([each.page_content for each in documents], vectors, strict=True))
        metadata, ids = [each.metadata for each in documents], [each.id for each in documents]
        await io.in_thread(self.store.add_embeddings, pairs, metadata, ids=ids)

    def join(self, filters: Sequence[Any]) -> Any:
        """Return a mapping if all are, else a function. The store skips keys beside ``$and``, so keys are split."""
        if all(isinstance(each, Mapping) for each in filters):
            is_simple = len(filters) == 1 and len(filters[0]) == 1
            return filters[0] if is_simple else self._in_one_mapping(filters)
        return all_of([self._function(each) for each in filters])

    def matcher(self, filter: Any) -> Matcher:
        """Return a function that reads a filter as the store does."""
        function = self._function(filter)
        return lambda document: function(document.metadata)

    def _function(self, filter: Any) -> Callable[[Any], bool]:
        if not isinstance(filter, Mapping):
            checked_function(self.name, filter, "the metadata")
        function: Callable[[Any], bool] = self.store._create_filter_func(filter)
        return function
