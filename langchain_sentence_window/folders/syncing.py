"""`sync_files`: makes an index follow files and folders."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path

from langchain_core.documents import Document

from langchain_sentence_window._showing import shown
from langchain_sentence_window._validation import checked_callback, checked_flag
from langchain_sentence_window.documents.file_states import FILE_STATE, FileState
from langchain_sentence_window.documents.parts.grouping import group_documents
from langchain_sentence_window.documents.stored_metadata import StoreLimits
from langchain_sentence_window.errors import (
    DocumentReadError,
    InvalidInputError,
    MissingExtraError,
    SentenceWindowError,
)
from langchain_sentence_window.folders.indexed_files import IndexedFile, indexed_files
from langchain_sentence_window.folders.results import SyncProgress, SyncResult
from langchain_sentence_window.folders.walking import FoundFile, check_found, checked_paths, find_files
from langchain_sentence_window.loaders.files.loading import convert
from langchain_sentence_window.loaders.files.reading import EmptyFileError, FileBytes, read_file
from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever

MAX_BATCH_FILES = 32
"""Files that are added in one call, so that their sentences are embedded together."""

MAX_BATCH_CHARS = 1_000_000
"""Characters after which a call is made with fewer files."""

_NO_LIMITS = StoreLimits("", lambda *_: True, "")

OnProgress = Callable[[SyncProgress], object]


def sync_files(
    retriever: SentenceWindowRetriever,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    delete: bool = False,
    on_progress: OnProgress | None = None,
) -> SyncResult:
    """Add files to an index, and those that have changed since; with ``delete``, remove those that have gone.

    Each file is one document, named by its absolute path. It is whole in the index or not at all. Files that the index
    holds as they are aren't read again if their size and time are the same. A call that is stopped, such as by Ctrl-C,
    leaves what it has added; the next call goes on from there.

    Hidden files and folders, symbolic links inside the folders, and the folder of the index itself are left out. So are
    files with other suffixes than those of `langchain_sentence_window.loaders.files.loading.SUFFIXES`; they are
    counted.

    Args:
        retriever: The retriever of the index. Its splitter and other settings hold for the files.
        paths: Paths of files and folders; folders with all folders below them.
        delete: Whether to delete documents of files that were in these folders and have gone, or that were given
            themselves. Documents that came from elsewhere stay.
        on_progress: Called with a `SyncProgress` before each file that is read, and at the end.

    Returns:
        What was done. Files that can't be read are in ``failed``, with the reason, such as a library that is missing.

    Raises:
        InvalidInputError: An argument is of another type, or the store can't list its documents.
        DocumentReadError: There is nothing at a path that was given.
    """
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(f"retriever is {shown(retriever)}; give a SentenceWindowRetriever")
    checked_flag("delete", delete)
    if on_progress is not None:
        checked_callback("on_progress", on_progress, "progress")
    given = checked_paths(paths)
    sync = _Sync(retriever, on_progress)
    found = find_files(given, index_folder(retriever))
    indexed = indexed_files(retriever)
    files = {source for source, each in indexed.items() if each.is_of_file}
    check_found(found, files if delete else ())
    sync.failed |= found.failed
    sync.run(list(found.files.values()), indexed)
    if delete:
        sync.remove([source for source in indexed if source in files and found.has_lost(source)])
    return sync.result(skipped=found.skipped)


def index_folder(retriever: SentenceWindowRetriever) -> Path | None:
    """Return the folder of a retriever's index; ``None`` if it is in memory or elsewhere."""
    return retriever.scope().adapter.folder


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A file as Documents, for the index.

    Attributes:
        source: Its absolute path.
        documents: Its Documents.
        sentences: The number of its sentences.
        is_new: Whether the index doesn't have it.
    """

    source: str
    documents: Sequence[Document]
    sentences: int
    is_new: bool


@dataclass(slots=True)
class _Sync:
    """One call of `sync_files`."""

    retriever: SentenceWindowRetriever
    on_progress: OnProgress | None
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    sentences: int = 0
    total: int = 0
    done: int = 0
    start: float = field(default_factory=time.perf_counter)

    def run(self, files: Sequence[FoundFile], indexed: dict[str, IndexedFile]) -> None:
        """Add the files that the index doesn't hold as they are."""
        self.total = len(files)
        batch: list[_Loaded] = []
        for loaded in self._changed(files, indexed):
            batch.append(loaded)
            chars = sum(len(document.page_content) for each in batch for document in each.documents)
            if len(batch) >= MAX_BATCH_FILES or chars >= MAX_BATCH_CHARS:
                self._add(batch)
                batch = []
        self._add(batch)
        self._report(None)

    def remove(self, sources: Sequence[str]) -> None:
        """Delete the documents of files."""
        if sources:
            self.retriever.delete(list(sources))
            self.deleted += sources

    def result(self, *, skipped: int) -> SyncResult:
        """Return what was done."""
        return SyncResult(
            added=tuple(self.added),
            updated=tuple(self.updated),
            unchanged=tuple(self.unchanged),
            deleted=tuple(self.deleted),
            failed=dict(self.failed),
            skipped=skipped,
            sentences=self.sentences,
            seconds=time.perf_counter() - self.start,
        )

    def _changed(self, files: Sequence[FoundFile], indexed: dict[str, IndexedFile]) -> Iterator[_Loaded]:
        """Load the files that have changed."""
        for file in files:
            known = indexed.get(file.source)
            if known is not None and known.is_current(file):
                self._keep(file.source)
                continue
            self._report(file.source)
            try:
                read = read_file(Path(file.source), file.source)
                if known is not None and known.has(read.state.sha256):
                    self._keep(file.source)
                    continue
                loaded = self._loaded(file.source, read, is_new=known is None)
            except EmptyFileError as error:
                if known is not None and known.is_of_file:
                    self.retriever.delete([file.source])
                self._fail(file.source, error)
            except (DocumentReadError, InvalidInputError, MissingExtraError) as error:
                self._fail(file.source, error)
            else:
                yield loaded

    def _loaded(self, source: str, read: FileBytes, *, is_new: bool) -> _Loaded:
        documents = convert(read, source, source)
        splitter = self.retriever.splitter
        groups = group_documents(documents, splitter.join_parts)
        if [group.doc_id for group in groups] != [source]:
            raise InvalidInputError(
                f"{source} has {len(documents)} parts, and the retriever's splitter doesn't join them; give it a "
                "splitter with join_parts=True"
            )
        joined = [group.join() for group in groups]
        sentences = len(splitter.split_joined(joined, _NO_LIMITS))
        if not sentences:
            raise EmptyFileError(f"{source} holds no text; write the text into it, or leave it out")
        state: FileState = replace(read.state, sentences=sentences)
        return _Loaded(source, [_with_state(each, state) for each in documents], sentences, is_new)

    def _add(self, batch: Sequence[_Loaded]) -> None:
        """Add files; if that fails because of one of them, add each alone."""
        try:
            if batch:
                self.retriever.add_documents([document for each in batch for document in each.documents])
        except SentenceWindowError as error:
            if len(batch) == 1 and isinstance(error, InvalidInputError):
                self._fail(batch[0].source, error)
                return
            if not isinstance(error, InvalidInputError):
                raise
            for each in batch:
                self._add([each])
            return
        for each in batch:
            (self.added if each.is_new else self.updated).append(each.source)
            self.sentences += each.sentences
        self.done += len(batch)

    def _keep(self, source: str) -> None:
        self.unchanged.append(source)
        self.done += 1

    def _fail(self, source: str, error: Exception) -> None:
        self.failed[source] = str(error)
        self.done += 1

    def _report(self, current: str | None) -> None:
        if self.on_progress is not None:
            self.on_progress(
                SyncProgress(
                    done=self.done,
                    total=self.total,
                    sentences=self.sentences,
                    current=current,
                    seconds=time.perf_counter() - self.start,
                )
            )


def _with_state(document: Document, state: FileState) -> Document:
    return Document(page_content=document.page_content, metadata={**document.metadata, FILE_STATE: str(state)})
