"""`ReadMethods`: how the package reads what a vector store holds."""

from collections.abc import Sequence
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._io import IO
from langchain_sentence_window._showing import shown
from langchain_sentence_window.adapters.batches import batches
from langchain_sentence_window.adapters.filtering import Matcher
from langchain_sentence_window.adapters.traits import StoreTraits
from langchain_sentence_window.documents.indexed_documents import IndexedDocument, indexed_documents, runs_of
from langchain_sentence_window.documents.parts.numbering import source_of
from langchain_sentence_window.documents.sentence_documents import StoredSentence, read_sentence
from langchain_sentence_window.errors import InvalidInputError


class ReadMethods(StoreTraits):
    """The methods of an adapter that read: by id, or everything that a filter lets through."""

    async def fetch(self, io: IO, ids: Sequence[str], filter: Any = None) -> list[Document] | None:
        """Fetch documents by id, in any order; leave out ids that don't exist or that the filter forbids.

        Returns:
            ``None`` if the store can't fetch by id.

        Raises:
            InvalidInputError: The filter can't be enforced when documents are fetched by id.
            StoreUnavailableError: The store's server doesn't answer.
        """
        get = self.get if filter is None or not hasattr(self.store, "get_by_ids_within") else self._get_within
        found: list[Document] = []
        for batch in batches(ids, self.read_batch_size):
            with self.reached():
                part = await get(io, batch, filter)
            if part is None:
                return None
            found += part
        return found

    async def get(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document] | None:
        """Fetch one batch of documents, as `fetch` does."""
        matches = None if filter is None else self._required_matcher(filter)
        try:
            found: list[Document] = await io.call(self.store.get_by_ids, self.store.aget_by_ids, list(ids))
        except NotImplementedError:
            return None
        return found if matches is None else [document for document in found if matches(document)]

    async def list_documents(self, io: IO, filter: Any = None, source: str | None = None) -> list[IndexedDocument]:
        """List the documents of which a filter lets sentences through.

        Args:
            io: Makes the calls.
            filter: The filter, in the store's form; ``None`` for no filter.
            source: The source that their metadata must name; ``None`` for any.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        sentences = map(self.read, await self.list_sentences(io, filter))
        return indexed_documents(runs_of(each for each in sentences if source in (None, source_of(each.source))))

    async def count_documents(self, io: IO, filter: Any = None) -> int:
        """Count the documents that `list_documents` lists.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        return len(await self.list_documents(io, filter))

    async def count_writes(self, io: IO) -> int | None:
        """Return a number that grows with each write; ``None`` if the store doesn't say."""
        return None

    async def list_sentences(self, io: IO, filter: Any) -> list[Document]:
        """Return all sentence Documents that a filter lets through, in the order in which they were added, if possible.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        raise InvalidInputError(
            f"{self.name} can't list what it holds, so its documents can't be listed, nor found by their source or a "
            "filter; name them by their ids, or write an adapter with the method list_sentences"
        )

    def read(self, document: Document) -> StoredSentence:
        """Read a sentence Document that the store returned.

        Raises:
            IncompleteWindowError: Its metadata isn't what the splitter writes.
        """
        # `None` is the empty column of a store that holds none.
        given = document.metadata
        unwanted = [key for key, value in given.items() if value is None and not self.holds(key, None)]
        unwanted += [key for key in self.added_keys if key in given]
        if not unwanted:
            return read_sentence(document)
        metadata = {key: value for key, value in document.metadata.items() if key not in unwanted}
        return read_sentence(Document(id=document.id, page_content=document.page_content, metadata=metadata))

    def _required_matcher(self, filter: Any) -> Matcher:
        matches = self.matcher(filter)
        if matches is None:
            raise InvalidInputError(
                f"{self.name} can't be kept within the filter {shown(filter)} when sentences are read by "
                "id; give a mapping, ask with window=0, or give the store a method get_by_ids_within(ids, filter)"
            )
        return matches

    async def _get_within(self, io: IO, ids: Sequence[str], filter: Any) -> list[Document]:
        """Ask a store that enforces filters by id itself."""
        get, aget = self.store.get_by_ids_within, getattr(self.store, "aget_by_ids_within", None)
        given = list(ids), filter
        found: list[Document] = await (io.in_thread(get, *given) if aget is None else io.call(get, aget, *given))
        return found
