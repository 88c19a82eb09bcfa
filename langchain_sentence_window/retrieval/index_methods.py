"""The retriever's methods for the index as a whole: opening, closing, counting, copying and checking it."""

from collections.abc import Sequence
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from langchain_core.embeddings import Embeddings

from langchain_sentence_window._arguments import check_order
from langchain_sentence_window._io import ASYNC, BLOCKING, run
from langchain_sentence_window.embedding.named_embedders import checked_embedding, load_embedding
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.retrieval.index_files import read_files, write_files
from langchain_sentence_window.retrieval.index_settings import read_index_settings
from langchain_sentence_window.retrieval.settings import RetrieverSettings
from langchain_sentence_window.stores.faiss.database.store_files import as_folder
from langchain_sentence_window.stores.faiss.faiss_store import FaissStore
from langchain_sentence_window.stores.faiss.soundness import StoreStats

if TYPE_CHECKING:
    from langchain_sentence_window.stores.faiss.soundness import CheckResult


class IndexMethods(RetrieverSettings):
    """The methods of `SentenceWindowRetriever` for its store as a whole.

    Those that copy, measure or check it need a `FaissStore`, and a retriever without a filter, which would bind only a
    part of what they read.
    """

    @classmethod
    def open(
        cls,
        path: str | PathLike[str],
        embedding: Embeddings | None = None,
        *,
        read_only: bool = False,
        neighbor_weights: Sequence[float] | None = None,
        **settings: Any,
    ) -> Self:
        """Open an index on disk without embedding anything.

        Args:
            path: The folder of the index.
            embedding: The embedder that the index was made with; ``None`` for the one that it remembers, see
                `IndexSettings`.
            read_only: Whether to leave the files unchanged, and refuse to add and delete documents.
            neighbor_weights: Weights to use instead of the index's own; ``None`` keeps those.
            **settings: The retriever's fields. They come before those that the index remembers.

        Raises:
            IndexNotFoundError: There is no index at the path.
            IndexMismatchError: The index was made with another embedder or a newer version.
            InvalidInputError: No embedder is given, and the index remembers none.
            StoreError: The index is damaged, or what it remembers.
        """
        call = f"{cls.__name__}.open(path, embedding)"
        check_order(embedding, path, call)
        if embedding is not None:
            checked_embedding(embedding)
        FaissStore.check_exists(path)
        remembered = read_index_settings(path)
        if embedding is None:
            if remembered.embedding is None:
                raise InvalidInputError(
                    f"embedding is None, and the index at {str(path)!r} doesn't remember its embedder; pass the one "
                    f"that it was made with: {call}"
                )
            embedding = load_embedding(remembered.embedding)
        settings = remembered.retriever_settings(path) | settings
        cls._check_settings(embedding, settings)
        store = FaissStore.open(path, embedding, neighbor_weights=neighbor_weights, read_only=read_only)
        return cls(vectorstore=store, **settings)

    @classmethod
    async def aopen(
        cls,
        path: str | PathLike[str],
        embedding: Embeddings | None = None,
        *,
        read_only: bool = False,
        neighbor_weights: Sequence[float] | None = None,
        **settings: Any,
    ) -> Self:
        """Async version of `open`."""
        return await ASYNC.in_thread(
            cls.open, path, embedding, read_only=read_only, neighbor_weights=neighbor_weights, **settings
        )

    def close(self) -> None:
        """Close the store, if it can be closed. Copies of the retriever share it.

        Later calls of a closed `FaissStore` raise `StoreError`. Nothing needs to be saved first.
        """
        self.scope().adapter.close()

    def __enter__(self) -> Self:
        """Use the retriever in a ``with`` block."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the store."""
        self.close()

    def __len__(self) -> int:
        """Return the number of documents that `documents` lists.

        Raises:
            InvalidInputError: The store can't list what it holds.
        """
        scope = self.scope()
        return run(scope.adapter.count_documents(BLOCKING, scope.filter))

    def __bool__(self) -> bool:
        """Return true, also for an empty index."""
        return True

    def backup(self, path: str | PathLike[str]) -> None:
        """Copy the index into a folder, while others read and write, with what it remembers.

        That is its settings, and the ranking that they name if it lies in the index's folder. See `FaissStore.backup`.

        Args:
            path: A folder that holds no index yet.

        Raises:
            StoreError: The folder holds an index already, or can't be written, or the settings are damaged.
            InvalidInputError: The store isn't a `FaissStore`, a filter binds, or the ranking is damaged.
        """
        store = self._whole_store("backup")
        files = {} if store.folder is None else read_files(store.folder)
        store.backup(path)
        write_files(as_folder(path), files)

    async def abackup(self, path: str | PathLike[str]) -> None:
        """Async version of `backup`."""
        await ASYNC.in_thread(self.backup, path)

    @staticmethod
    def restore(backup: str | PathLike[str], path: str | PathLike[str]) -> None:
        """Replace an index, whatever its state, with a backup, and what it remembers with what the backup does.

        A backup that remembers nothing leaves the settings at the path as they are. See `FaissStore.restore`.

        Args:
            backup: A folder that `backup` made, or that of any closed index.
            path: The folder of the index to replace; it is created if it doesn't exist.

        Raises:
            IndexNotFoundError: There is no index in the backup's folder.
            StoreError: The backup is damaged, or the path can't be written.
            InvalidInputError: The backup's ranking is damaged.
        """
        files = read_files(as_folder(backup))
        FaissStore.restore(backup, path)
        write_files(as_folder(path), files)

    def stats(self) -> StoreStats:
        """Count the contents of the index and measure its size; see `StoreStats`.

        Raises:
            InvalidInputError: The store isn't a `FaissStore`, or a filter binds.
        """
        return self._whole_store("stats").stats()

    async def astats(self) -> StoreStats:
        """Async version of `stats`."""
        return await ASYNC.in_thread(self.stats)

    def check(self) -> "CheckResult":
        """Read everything that the index holds, and list what is wrong; see `FaissStore.check`.

        The settings and the ranking beside the index are read too.

        Raises:
            InvalidInputError: The store isn't a `FaissStore`, or a filter binds.
        """
        from langchain_sentence_window.retrieval.index_checks import with_settings_checked

        store = self._whole_store("check")
        result = store.check()
        return result if store.folder is None else with_settings_checked(result, store.folder)

    async def acheck(self) -> "CheckResult":
        """Async version of `check`."""
        return await ASYNC.in_thread(self.check)

    @classmethod
    def _check_settings(cls, embedding: Embeddings, settings: Any) -> None:
        """Check settings of a retriever whose store isn't made yet.

        Raises:
            InvalidInputError: One can't be used.
        """
        if "vectorstore" in settings:
            raise InvalidInputError(
                "vectorstore can't be set here, as a FaissStore is created; write "
                "SentenceWindowRetriever(vectorstore=store).add_documents(documents)"
            )
        with FaissStore(checked_embedding(embedding)) as store:
            cls(vectorstore=store, **settings)

    def _whole_store(self, method: str) -> FaissStore:
        """Return the store for a method that reads all of it.

        Raises:
            InvalidInputError: It isn't a `FaissStore`, or a filter binds.
        """
        scope = self.scope()
        if not scope.adapter.is_whole_index:
            raise InvalidInputError(
                f"{method} needs a FaissStore, and this retriever's store is {scope.adapter.name}; use what that store "
                "has for it"
            )
        if scope.is_bound:
            raise InvalidInputError(
                f"{method} reads the whole index, and this retriever's filter allows only a part of it; call it on a "
                "retriever without a filter"
            )
        return cast("FaissStore", self.vectorstore)
