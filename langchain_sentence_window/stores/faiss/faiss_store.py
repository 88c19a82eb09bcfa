"""`FaissStore`: the embedded vector store."""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from os import PathLike
from types import TracebackType
from typing import Any, Self, TypeVar

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import run_in_executor

from langchain_sentence_window._arguments import as_documents, check_order, checked_documents, checked_texts
from langchain_sentence_window._handles import OpenFiles
from langchain_sentence_window._io import ASYNC, BLOCKING, IO, run
from langchain_sentence_window._types import Vectors
from langchain_sentence_window._validation import checked_neighbor_weights, gathered
from langchain_sentence_window.documents.ids import checked_ids
from langchain_sentence_window.embedding.checked import checked_embedding
from langchain_sentence_window.embedding.embedder import (
    QueryEmbedder,
    check_same_embedder,
    describe_embedder,
    embed_in_slices,
    takes_several_calls,
    unit_vectors,
)
from langchain_sentence_window.embedding.watching import watch_of
from langchain_sentence_window.errors import IndexMismatchError, IndexNotFoundError, InvalidInputError, StoreError
from langchain_sentence_window.stores.faiss.conversion import to_documents, to_records
from langchain_sentence_window.stores.faiss.database.files import as_folder
from langchain_sentence_window.stores.faiss.database.filters import Condition, Filter, compile_filter
from langchain_sentence_window.stores.faiss.database.restoring import restore_index
from langchain_sentence_window.stores.faiss.database.schema import Record, of_documents, to_halves, with_ids
from langchain_sentence_window.stores.faiss.database.state_files import RESTORING_FILE
from langchain_sentence_window.stores.faiss.describing import describe_store
from langchain_sentence_window.stores.faiss.engine import StaleVectorError, StoreEngine
from langchain_sentence_window.stores.faiss.layout import DATABASE_FILE, StoreStats
from langchain_sentence_window.stores.faiss.origin import Noted, UnprovenError
from langchain_sentence_window.stores.faiss.searching import SearchMethods

T = TypeVar("T")

_TEXTS_SAMPLED = 50
_COMPARED_TO_WRITE = 5
_COMPARED_TO_READ = 1


class FaissStore(OpenFiles, SearchMethods):
    """A LangChain vector store in one folder, or in memory: SQLite holds it, FAISS searches it.

    Every call is one SQLite transaction: it is done, or nothing of it is. The FAISS index, and the
    lexical index beside it, are caches, brought up to date before each search and rebuilt from the
    database when they are missing or damaged. Nothing is pickled. Any number of threads may search
    while one writes, and each search is of one state of the store. Other processes may open the same
    path: writers queue, and each sees at once what another has written.

    Scores are cosines: 1 for the same direction, 0 for unrelated, higher is better. Vectors are kept
    in half precision, which moves a score by less than 0.001; an index of ``SQ8`` moves it by up to
    about 0.01. Relevance scores are the same, with 0 for all that is below.

    Metadata can be whatever JSON can hold. It is filtered before the search, so that ``k`` documents
    come back if ``k`` match; the syntax stands in `langchain_sentence_window.stores.faiss.database.filters`.
    """

    def __init__(
        self,
        embedding: Embeddings,
        path: str | PathLike[str] | None = None,
        index: str | None = None,
        *,
        neighbor_weights: Sequence[float] | None = None,
        read_only: bool = False,
    ) -> None:
        """Open the store at a path, or make it there.

        Args:
            embedding: What texts and queries are embedded with.
            path: A folder; ``None`` for a store in memory.
            index: What FAISS's index factory calls the index: ``Flat`` is exact; ``SQ8`` and ``SQfp16``
                are smaller; ``HNSW32``, ``HNSW32_SQ8`` and ``IVF…`` are faster, and miss some. ``None``
                for ``Flat`` in a new store, and in one that exists for what it has, so that opening it
                without naming an index never builds another. One that is named and isn't what the store
                has is built from the database, without embedding, and is what it has from then on.
            neighbor_weights: How much of its neighbors in its section each sentence's vector is given
                when it is searched: the weight of itself, of those next to it, of those two away, and
                so on; ``(1,)`` for nothing. ``None`` for what the store has, and `NEIGHBOR_WEIGHTS` for a
                new one. Other weights than the store has are applied without embedding. Documents that
                aren't sentences of others, with ``doc_id`` and ``sentence_index``, have no neighbors.
            read_only: Whether to leave the files as they are. The saved FAISS index is mapped into memory
                then, not read, if it is current.

        Raises:
            InvalidInputError: FAISS can't make the index, or it can't be kept up to date; or weights that
                aren't numbers of 0 or more, the first above 0.
            StoreError: The path is a file, or what it holds isn't a store or is damaged.
            IndexMismatchError: The store was made with another embedder or format.
        """
        check_order(embedding, path, f"{type(self).__name__}(embedding, path)")
        if neighbor_weights is not None:
            neighbor_weights = checked_neighbor_weights(neighbor_weights)
        self._embedding = checked_embedding(embedding)
        self._watch = watch_of(embedding)
        self._index = StoreEngine(
            None if path is None else as_folder(path), index, neighbor_weights, read_only=read_only
        )
        try:
            self._check_embedder()
        except BaseException:
            self._index.close()
            raise

    @classmethod
    def open(cls, path: str | PathLike[str], embedding: Embeddings, **settings: Any) -> Self:
        """Open a store that exists.

        Args:
            path: Its folder.
            embedding: What its texts were embedded with.
            **settings: ``index``, ``neighbor_weights`` or ``read_only``; else all is as it was.

        Raises:
            IndexNotFoundError: There is no store at the path.
            StoreError: The path is a file, or what it holds isn't a store.
            IndexMismatchError: The store was made with another embedder or a newer format.
        """
        check_order(embedding, path, f"{cls.__name__}.open(path, embedding)")
        folder = as_folder(path)
        if folder.is_file():
            is_of_index = folder.name == DATABASE_FILE
            likely = repr(str(folder.parent)) if is_of_index else "the path that from_documents was given"
            raise StoreError(f"{str(folder)!r} is a file, and an index is a folder; give {likely}")
        if not cls.exists(folder):
            raise IndexNotFoundError(
                f"there is no index at {str(path)!r}; make one with from_documents(..., path={str(path)!r})"
            )
        return cls(embedding, path, **settings)

    @staticmethod
    def exists(path: str | PathLike[str]) -> bool:
        """Whether there is a store at a path, or one is being restored there."""
        return any((as_folder(path) / name).exists() for name in (DATABASE_FILE, RESTORING_FILE))

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        path: str | PathLike[str] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Open or make a store and add texts to it.

        Raises:
            InvalidInputError: As for `add_texts`; nothing was made at the path.
        """
        documents = as_documents(texts, metadatas)
        if ids is not None and len(checked_ids(ids)) != len(documents):
            raise InvalidInputError(f"got {len(ids)} ids for {len(documents)} texts; give one for each")
        store = cls(embedding, path, **kwargs)
        store.add_documents(documents, ids=ids)
        return store

    @classmethod
    def from_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Open or make a store and add documents to it.

        Raises:
            InvalidInputError: They are no list of Documents; nothing was made at the path.
        """
        return super().from_documents(checked_documents(documents), embedding, **kwargs)

    @classmethod
    async def afrom_documents(cls, documents: list[Document], embedding: Embeddings, **kwargs: Any) -> Self:
        """Do what `from_documents` does without blocking the event loop."""
        return await super().afrom_documents(checked_documents(documents), embedding, **kwargs)

    @property
    def embeddings(self) -> Embeddings:
        """What texts and queries are embedded with."""
        return self._embedding

    # Writing

    def add_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Embed texts and add them; see `add_documents`.

        Raises:
            InvalidInputError: A single string, or something else than strings; or not one dict, or id, for each.
        """
        return self.add_documents(as_documents(texts, metadatas), **kwargs)

    async def aadd_texts(
        self, texts: Iterable[str], metadatas: list[dict[str, Any]] | None = None, **kwargs: Any
    ) -> list[str]:
        """Do what `add_texts` does, with the embedder's own async method."""
        return await self.aadd_documents(as_documents(texts, metadatas), **kwargs)

    def add_documents(
        self, documents: list[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Embed documents and add them; a document whose id is known replaces the old one.

        Texts that the store has a vector of aren't embedded again. A long call keeps the vectors of each
        slice as it goes: if it is interrupted, e.g. by Ctrl-C, no document is added, and the same call
        made again embeds only the rest.

        Args:
            documents: Those without an id get a new one; of several with one id the last counts.
            ids: Ids to use instead of the documents' own.
            show_progress: Whether to show a progress bar while embedding.
            **kwargs: Not used; LangChain's signature.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: Metadata that JSON can't hold, or an id that can't be stored.
            EmbeddingError: Vectors of another size than the store's, or unusable ones.
            IndexMismatchError: The store's vectors are another embedder's; nothing was changed.
        """
        return run(self._add(BLOCKING, checked_documents(documents), ids, show_progress=show_progress))

    async def aadd_documents(
        self, documents: list[Document], *, ids: list[str] | None = None, show_progress: bool = False, **kwargs: Any
    ) -> list[str]:
        """Do what `add_documents` does, with the embedder's own async method."""
        return await self._add(ASYNC, checked_documents(documents), ids, show_progress=show_progress)

    def add_embeddings(self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors) -> list[str]:
        """Add documents with vectors that the store's embedder made elsewhere.

        Args:
            documents: As in `add_documents`.
            vectors: One for each document, of any length; they are brought to length 1.

        Returns:
            The ids, in the order of the documents.

        Raises:
            InvalidInputError: Metadata that JSON can't hold, or an id that can't be stored.
            EmbeddingError: Not one vector for each document, or of another size than the store's.
            IndexMismatchError: The store's vectors are another embedder's; nothing was changed.
        """
        records = to_records(checked_documents(documents), None)
        if records:
            unit = unit_vectors(vectors, len(records))
            latest = sorted({record.id: i for i, record in enumerate(records)}.values())
            if len(latest) < len(records):
                unit = unit[latest]
            self._look()
            self._proven(lambda: self._index.write([records[i] for i in latest], unit), _COMPARED_TO_WRITE)
        return [record.id for record in records]

    async def aadd_embeddings(
        self, documents: Sequence[Document], vectors: Sequence[Sequence[float]] | Vectors
    ) -> list[str]:
        """Do what `add_embeddings` does without blocking the event loop."""
        return await run_in_executor(None, self.add_embeddings, documents, vectors)

    def replace_documents(
        self,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        within: Filter | None = None,
        show_progress: bool = False,
    ) -> None:
        """Put sentences in the place of all that source documents had, in one transaction.

        Args:
            sentences: Sentence Documents, as `SentenceSplitter` makes them.
            doc_ids: The source documents they replace; those without a sentence now are removed.
            contexts: What is put before each sentence when it is embedded, and nowhere else.
            within: What the metadata of all that is replaced must be; ``None`` for anything.
            show_progress: Whether to show a progress bar while embedding.

        Raises:
            InvalidInputError: Something that would be replaced isn't what ``within`` wants; nothing was changed.
        """
        run(
            self._replace(
                BLOCKING, checked_documents(sentences), doc_ids, contexts, within, show_progress=show_progress
            )
        )

    async def areplace_documents(
        self,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        *,
        contexts: Sequence[str] | None = None,
        within: Filter | None = None,
        show_progress: bool = False,
    ) -> None:
        """Do what `replace_documents` does, with the embedder's own async method."""
        await self._replace(ASYNC, checked_documents(sentences), doc_ids, contexts, within, show_progress=show_progress)

    def delete(self, ids: list[str] | None = None, *, filter: Filter | None = None, **kwargs: Any) -> bool:
        """Delete documents by id, or all that a filter matches; ids that don't exist are ignored.

        Raises:
            InvalidInputError: Neither ids nor a filter, or both; or ids that aren't a list of strings.
        """
        if (ids is None) == (filter is None):
            raise InvalidInputError("delete takes either ids or a filter; filter={} matches every document")
        self._index.write(remove=compile_filter(filter) if filter is not None else with_ids(checked_ids(ids)))
        return True

    # Reading

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """Fetch documents, in the order of the ids; ids that don't exist are left out.

        Raises:
            InvalidInputError: They aren't a list of strings.
        """
        wanted = checked_ids(ids)
        found = self._index.fetch(wanted)
        return to_documents([found[id_] for id_ in dict.fromkeys(wanted) if id_ in found])

    def get_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Fetch those documents that a filter lets through, in the order of the ids.

        Raises:
            FilterError: The filter can't be read.
        """
        wanted = checked_ids(ids)
        found = self._index.fetch(wanted, compile_filter(filter))
        return to_documents([found[id_] for id_ in dict.fromkeys(wanted) if id_ in found])

    async def aget_by_ids_within(self, ids: Sequence[str], filter: Filter) -> list[Document]:
        """Do what `get_by_ids_within` does without blocking the event loop."""
        return await run_in_executor(None, self.get_by_ids_within, ids, filter)

    def sample_embedded(self) -> list[tuple[str, Vectors]]:
        """Some texts as they were embedded, and their unit vectors, for telling whether an embedder is the store's.

        Returns:
            A few long ones: a model that reads less of a text than another gives other vectors for these alone.
        """
        return self._sample(_COMPARED_TO_WRITE)[1]

    def is_made_with(self, embedding: Embeddings) -> bool:
        """Whether an embedder is known to have made the vectors, without embedding anything."""
        noted, watch = self._index.embedder(), watch_of(embedding)
        proofs = watch.look()
        return noted.line in proofs.to_read or (watch.says_all and noted.is_of(describe_embedder(embedding)))

    def export(self) -> Iterator[tuple[list[Document], Vectors]]:
        """Yield all documents with their vectors as they were embedded, in slices; the reverse of `add_embeddings`.

        Yields:
            Documents and unit vectors of shape ``(n, dimension)``, in the order of documents and sentences. No
            section is in two slices. All are of the state that the store was in when the first was read.
        """
        for records, vectors in self._index.in_order():
            yield to_documents(records), vectors

    def __len__(self) -> int:
        """The number of documents in the store; a retriever puts one there for each sentence."""
        return len(self._index)

    def __bool__(self) -> bool:
        """Always true: an empty store is a store."""
        return True

    def __repr__(self) -> str:
        """Say where the store is, what it holds, and which settings aren't the default; never raises."""
        return describe_store(type(self).__name__, self.__dict__.get("_index"), self.__dict__.get("_embedding"))

    def stats(self) -> StoreStats:
        """Count what the store holds and what it takes; see `StoreStats`."""
        return self._index.stats()

    async def astats(self) -> StoreStats:
        """Do what `stats` does without blocking the event loop."""
        return await run_in_executor(None, self.stats)

    def save(self, path: str | PathLike[str] | None = None) -> None:
        """Write the FAISS index and the lexical index beside the database, so that the next opening needn't.

        Documents need no saving: they are in the database when the call that adds them returns.

        Args:
            path: Copy the store into this folder instead, which must not hold one yet. For a store in
                memory there is no other way to keep it.

        Raises:
            StoreError: The folder holds a store already, or a store in memory got no path.
        """
        if path is None:
            self._index.save()
        else:
            self.backup(path)

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the store into a folder, as it is at this moment, while others read and write.

        The copy is whole or it isn't there: it has its name only when all of it is written. The FAISS index and
        the lexical index are built anew when it is searched first.

        Args:
            path: A folder that holds no index yet.

        Raises:
            StoreError: The folder holds an index already, or can't be written.
        """
        self._index.copy_to(as_folder(path))

    async def abackup(self, path: str | PathLike[str]) -> None:
        """Do what `backup` does without blocking the event loop."""
        await run_in_executor(None, self.backup, path)

    @staticmethod
    def restore(backup: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Put a backup in the place of an index, whatever state that is in.

        What `backup` copied is checked row by row before anything is changed. If the call fails, or Ctrl-C ends it,
        the old index is there as it was. If the process is killed, make the call again: until then there is the old
        index, the new one, or an error when it is opened. Stores that are open at the path raise `StoreError` from
        then on; open them again.

        Args:
            backup: A folder that `backup` or ``save(path)`` made, or that of any index that is closed.
            path: Where the index is to be; it is made if it isn't there.

        Raises:
            IndexNotFoundError: There is no index in the backup's folder.
            StoreError: The backup is damaged, or the path can't be written; nothing was changed.
        """
        restore_index(as_folder(backup), as_folder(path))

    def discard_staged(self) -> int:
        """Drop the texts and vectors of calls that were interrupted, which are kept so that they can be resumed.

        Returns:
            How many texts that were.
        """
        return self._index.discard_staged()

    async def asave(self, path: str | PathLike[str] | None = None) -> None:
        """Do what `save` does without blocking the event loop."""
        await run_in_executor(None, self.save, path)

    def close(self) -> None:
        """Wait for the calls that are at work, and close the files.

        The store can't be used any more; later calls raise `StoreError`. Nothing needs to be saved before.
        """
        self._index.close()

    def __enter__(self) -> Self:
        """Use the store in a ``with`` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()

    # Machinery

    async def _replace(
        self,
        io: IO,
        sentences: Sequence[Document],
        doc_ids: Sequence[str],
        contexts: Sequence[str] | None,
        within: Filter | None,
        *,
        show_progress: bool,
    ) -> list[str]:
        if contexts is not None:
            contexts = checked_texts(contexts)
        remove, forbidden = of_documents(checked_ids(doc_ids)), None
        if within is not None:
            by_id, filtered = with_ids([each.id for each in sentences if each.id]), compile_filter(within)
            sql = f"({remove[0]} OR {by_id[0]}) AND NOT ({filtered[0]})"
            forbidden = sql, [*remove[1], *by_id[1], *filtered[1]]
        return await self._add(
            io, sentences, None, contexts, remove=remove, forbidden=forbidden, show_progress=show_progress
        )

    async def _add(
        self,
        io: IO,
        documents: Sequence[Document],
        ids: Sequence[str] | None,
        contexts: Sequence[str] | None = None,
        *,
        remove: Condition | None = None,
        forbidden: Condition | None = None,
        show_progress: bool,
    ) -> list[str]:
        """Embed what is new, then write everything at once."""
        self._look()
        records = to_records(documents, gathered(ids) if isinstance(ids, list | tuple) else ids, contexts)
        latest = list({record.id: record for record in records}.values())
        texts = [record.embedded for record in latest]
        while latest or remove:
            vectors: dict[str, bytes] = {}
            try:
                new_texts: list[str] = await io.in_thread(self._index.unknown_texts, texts)
                keep = partial(self._ahead, io) if takes_several_calls(new_texts) else _into(vectors)
                await self._embed(io, new_texts, keep, show_progress=show_progress)
                await io.in_thread(self._write, latest, vectors, remove, forbidden)
            except UnprovenError:
                await self._prove(io, _COMPARED_TO_WRITE)
            except StaleVectorError:
                continue
            else:
                break
        return [record.id for record in records]

    async def _ahead(self, io: IO, texts: Sequence[str], vectors: Vectors) -> None:
        await io.in_thread(self._index.stage_vectors, texts, vectors)

    def _write(
        self,
        records: Sequence[Record],
        vectors: Mapping[str, bytes],
        remove: Condition | None,
        forbidden: Condition | None,
    ) -> None:
        self._index.write(records, vectors, remove=remove, forbidden=forbidden)

    # Whose vectors they are

    def _check_embedder(self) -> None:
        """See that the embedder is the one that made the index; embeds nothing if its description is."""
        self._look()
        description, made_with = describe_embedder(self._embedding), self._index.embedder()
        if made_with.description in (None, description):
            return
        run(self._prove(BLOCKING, _COMPARED_TO_WRITE))
        if made_with.line in self._watch.proofs.foreign and len(self._index):
            raise IndexMismatchError(
                f"the index was made with {made_with.description} and can't be searched with {description}, which "
                "embeds the same text otherwise; open it with the first, or index the documents again at another path"
            )

    def _look(self) -> None:
        """See whether the embedder was changed, by anything but its own calls."""
        proofs, origin = self._watch.look(), self._index.origin
        if origin.proofs is not proofs:
            self._queries = QueryEmbedder(self._embedding)
            origin.set(describe_embedder(self._embedding), proofs, says_all=self._watch.says_all)

    async def _embed(
        self,
        io: IO,
        texts: Sequence[str],
        keep: Callable[[Sequence[str], Vectors], Awaitable[None]],
        *,
        show_progress: bool,
    ) -> None:
        """Embed texts; what this changes of the embedder, such as a model that is loaded, doesn't make it another."""
        try:
            await embed_in_slices(io, self._embedding, texts, keep, show_progress=show_progress)
        finally:
            self._watch.look_after_call()

    async def _prove(self, io: IO, most: int) -> None:
        """Embed stored texts again, and note whether the vectors are the same."""
        self._look()
        noted, sample = await io.in_thread(self._sample, most)
        if sample:
            is_same: bool = await check_same_embedder(io, self._embedding, sample)
            self._watch.look_after_call()
            self._index.origin.prove(noted.line, is_same=is_same, to_write=most >= _COMPARED_TO_WRITE)

    def _proven(self, work: Callable[[], T], most: int = _COMPARED_TO_READ) -> T:
        """Do something, after the embedder's vectors were compared if need be."""
        while True:
            try:
                return work()
            except UnprovenError:
                run(self._prove(BLOCKING, most))

    def _sample(self, most: int) -> tuple[Noted, list[tuple[str, Vectors]]]:
        noted, sample = self._index.sample_embedded(_TEXTS_SAMPLED)
        return noted, sorted(sample, key=lambda pair: -len(pair[0]))[:most]

    def _reopened(self) -> str:
        path, name = self._index._folder, type(self).__name__
        if path is None:
            return f"keep it in a folder first, with save(path), then {name}.open(path, embedding)"
        return f"{name}.open({str(path)!r}, embedding)"


def _into(vectors: dict[str, bytes]) -> Callable[[Sequence[str], Vectors], Awaitable[None]]:
    async def keep(texts: Sequence[str], unit: Vectors) -> None:
        vectors.update(zip(texts, to_halves(unit), strict=True))

    return keep
