"""Reading Documents from iterators, blocking and async ones."""

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from itertools import chain

from langchain_core.documents import Document

from langchain_sentence_window._arguments import DocumentStream, check_document
from langchain_sentence_window._io import IO
from langchain_sentence_window.documents.part_groups import MAX_BATCH_CHARS, Batch, Batches


async def read_beginning(io: IO, documents: DocumentStream) -> tuple[list[Document], DocumentStream]:
    """Read and check the beginning of a stream: a batch, or more if that has no text.

    Returns:
        What was read, and a stream of the same Documents as the given one.

    Raises:
        InvalidInputError: An element isn't a Document.
    """
    read = _Beginning()
    if isinstance(documents, AsyncIterable):
        others = aiter(documents)
        async for document in others:
            if read.put(document):
                break
        return read.documents, _chained(read.documents, others)
    rest = iter(documents)
    await io.in_thread(lambda: any(map(read.put, rest)))
    return read.documents, chain(read.documents, rest)


class _Beginning:
    """Collects the Documents at the beginning of a stream."""

    def __init__(self) -> None:
        self.documents: list[Document] = []
        self._chars = 0
        self._has_text = False

    def put(self, document: Document) -> bool:
        """Add the next Document; return whether these are enough."""
        check_document(len(self.documents), document)
        self.documents.append(document)
        self._chars += len(document.page_content)
        self._has_text = self._has_text or bool(document.page_content.strip())
        return self._has_text and self._chars >= MAX_BATCH_CHARS


async def _chained(first: Iterable[Document], others: AsyncIterator[Document]) -> AsyncIterator[Document]:
    for document in first:
        yield document
    del first  # so that it isn't held any longer
    async for document in others:
        yield document


class BatchReader:
    """Reads a stream in batches.

    Attributes:
        names: The name of the document that each Document is, or is a part of, of those in batches so far.
    """

    def __init__(self, io: IO, documents: DocumentStream, batches: Batches) -> None:
        """Read nothing yet."""
        self._io, self._batches = io, batches
        self._async: AsyncIterator[Document] | None = None
        self._blocking: Iterator[Document] | None = None
        if isinstance(documents, AsyncIterable):
            self._async = aiter(documents)
        else:
            self._blocking = iter(documents)
        self._read = 0
        self.names: list[str] = []

    async def next(self) -> Batch | None:
        """Read the next batch; return ``None`` after the last.

        Raises:
            InvalidInputError: An element isn't a Document, or as for `Batches.put`.
        """
        if self._blocking is not None:
            batch = await self._io.in_thread(self._next_of, self._blocking)
        else:
            batch = await self._next_async()
        if batch is not None:
            self.names += batch.names
        return batch

    def _next_of(self, documents: Iterable[Document]) -> Batch | None:
        for document in documents:
            complete = self._put(document)
            if complete is not None:
                return complete
        return self._batches.rest()

    async def _next_async(self) -> Batch | None:
        if self._async is not None:
            async for document in self._async:
                complete = self._put(document)
                if complete is not None:
                    return complete
        return self._batches.rest()

    def _put(self, document: Document) -> Batch | None:
        check_document(self._read, document)
        self._read += 1
        return self._batches.put(document)
