"""`sync_files`: makes an index follow files and folders."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from langchain_core.documents import Document

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window._validation import checked_callback, checked_flag
from langchain_sentence_window.documents import FILE_STATE, shown
from langchain_sentence_window.documents.part_groups import group_documents
from langchain_sentence_window.documents.source_documents import StoreLimits
from langchain_sentence_window.embedding.embedder import on_embedded_texts
from langchain_sentence_window.errors import (
    DocumentReadError,
    InvalidInputError,
    SentenceWindowError,
)
from sentence_window.files.file_bytes import EmptyFileError, read_file
from sentence_window.files.file_loader import convert
from sentence_window.files.file_state import FileState
from sentence_window.files.pdf.pdf_process import PdfProcess, PdfProcessError
from sentence_window.folders.found_files import (
    FailedFile,
    FailedFiles,
    FoundFile,
    FoundFiles,
    check_found,
    checked_paths,
    find_files,
)

MAX_BATCH_FILES = 32
"""Files that are added in one call, so that their sentences are embedded together."""

MAX_BATCH_CHARS = 1_000_000
"""Characters after which a call is made with fewer files."""

_MAX_KINDS, _MAX_SUFFIX_CHARS = 5, 12
"""How many kinds of skipped files a summary names, and how long their suffixes may be."""

_NO_LIMITS = StoreLimits("", lambda *_: True, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncProgress:
    """How far a sync is.

    Attributes:
        done: The number of files that are finished. Files are added together, so it rises by several at once.
        total: The number of files that were found.
        sentences: The number of sentences that were added, or embedded to be added next.
        current: The path of the file that is read, or of the largest of those that are embedded together; ``None`` at
            the end.
        seconds: The time since the sync began.
    """

    done: int
    total: int
    sentences: int
    current: str | None
    seconds: float


OnProgress = Callable[[SyncProgress], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncResult:
    """The result of a sync. Files are named by their absolute paths, which are the sources of their documents.

    Attributes:
        added: Files that the index didn't have.
        updated: Files that had changed.
        unchanged: Files that the index holds as they are, and those that an earlier sync found to hold no text.
        deleted: Files that are gone or hold no text any more, and whose documents were deleted.
        empty: Files that hold no text, such as an empty page, or front matter alone.
        failed: Why a file or a folder couldn't be read, by its path. What the index has of it stays.
        known_failed: The same for files that failed at an earlier sync and haven't changed since.
        skipped: The numbers of files that weren't read, by suffix in lower case. A suffix that can be read is counted
            here if the file isn't a regular file.
        sentences: The number of sentences of the files that were added and updated.
        seconds: The time it took.
    """

    added: tuple[str, ...] = ()
    updated: tuple[str, ...] = ()
    unchanged: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    known_failed: Mapping[str, str] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    sentences: int = 0
    seconds: float = 0.0

    @property
    def has_changes(self) -> bool:
        """Whether the index was changed."""
        return bool(self.added or self.updated or self.deleted)

    @property
    def counts(self) -> str:
        """The numbers of files, by what was done with them, on one line."""
        counts = {
            "added": len(self.added),
            "updated": len(self.updated),
            "unchanged": len(self.unchanged),
            "deleted": len(self.deleted),
            "empty": len(self.empty),
            "failed": len(self.failed),
            "known to fail": len(self.known_failed),
            f"skipped ({_kinds(self.skipped)})": sum(self.skipped.values()),
        }
        return ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no files"

    def __str__(self) -> str:
        """Return the counts on one line, and the files that failed below it."""
        return "\n".join([f"{self.counts}; {self.sentences:,} sentences", *self.failed.values()])


def _kinds(skipped: Mapping[str, int]) -> str:
    """Return how many files of each kind were skipped, the most frequent kinds first."""
    kinds = sorted(skipped.items(), key=lambda each: (-each[1], each[0]))
    some = [f"{count:,} {_written(suffix) or 'without a suffix'}" for suffix, count in kinds[:_MAX_KINDS]]
    others = sum(count for _, count in kinds[_MAX_KINDS:])
    return ", ".join([*some, *([f"{others:,} of other kinds"] if others else [])])


def _written(suffix: str) -> str:
    text = suffix if suffix.isprintable() else suffix.encode("unicode_escape").decode()
    return text if len(text) <= _MAX_SUFFIX_CHARS else f"{text[: _MAX_SUFFIX_CHARS - 1]}…"


def sync_files(
    retriever: SentenceWindowRetriever,
    paths: str | PathLike[str] | Iterable[str | PathLike[str]],
    *,
    delete: bool = False,
    on_progress: OnProgress | None = None,
) -> SyncResult:
    """Add new and changed files to an index; with ``delete``, remove documents whose files are gone.

    Each file is one document, named by its absolute path. It is whole in the index or not at all. Files with the same
    size and time as before aren't read again. If a call is stopped, such as by Ctrl-C, what it has added stays, and the
    next call continues from there.

    Hidden files and folders, symbolic links inside the folders, and the folder of the index itself are left out. So are
    files whose suffix isn't in `sentence_window.files.readers.readers`; they are counted.

    Args:
        retriever: The retriever of the index. Its splitter and other settings apply to the files.
        paths: Paths of files and folders; folders are read with all subfolders.
        delete: Whether to delete documents whose files were in these folders, or were given themselves, and are gone.
            Documents from elsewhere stay.
        on_progress: Called with a `SyncProgress` before each file that is read, while sentences are embedded, and at
            the end.

    Returns:
        What was done. Files that can't be read are in ``failed``, with the reason, and those without text in
        ``empty``. An index that is kept in a folder remembers both, and doesn't read them again until they change.

    Raises:
        InvalidInputError: An argument is of another type, or the store can't list its documents.
        DocumentReadError: There is nothing at a path that was given.
    """
    if not isinstance(retriever, SentenceWindowRetriever):
        raise InvalidInputError(f"retriever is {shown(retriever)}; give a SentenceWindowRetriever")
    checked_flag("delete", delete)
    if on_progress is not None:
        checked_callback("on_progress", on_progress, "progress")
    failures = FailedFiles.of(index_folder(retriever))
    return sync(retriever, checked_paths(paths), failures, delete=delete, on_progress=on_progress)


def sync(
    retriever: SentenceWindowRetriever,
    paths: Sequence[str],
    failures: FailedFiles,
    *,
    delete: bool,
    on_progress: OnProgress | None,
) -> SyncResult:
    """Sync as `sync_files` does, which names the arguments; ``failures`` are the files that failed before."""
    found = find_files(paths, index_folder(retriever))
    indexed = indexed_files(retriever)
    files = {source for source, each in indexed.items() if each.is_of_file}
    check_found(found, files if delete else ())
    with PdfProcess() as pdfs:
        done = _Sync(retriever, failures, pdfs, on_progress)
        done.failed |= found.failed
        try:
            done.run(list(found.files.values()), indexed)
        finally:
            failures.replace(done.failures_of(found))
    if delete:
        done.remove([source for source in indexed if source in files and found.has_lost(source)])
    return done.result(found)


def index_folder(retriever: SentenceWindowRetriever) -> Path | None:
    """Return the folder of a retriever's index; ``None`` if it is in memory or elsewhere."""
    return retriever.scope().adapter.folder


@dataclass(frozen=True, slots=True)
class _Loaded:
    """A file as Documents, for the index.

    Attributes:
        file: The file.
        state: Its state when it was read.
        documents: Its Documents.
        sentences: The number of its sentences.
        is_new: Whether the index doesn't have it.
    """

    file: FoundFile
    state: FileState
    documents: Sequence[Document]
    sentences: int
    is_new: bool


class IndexedFile(NamedTuple):
    """A document that has the path of a file as its name.

    Attributes:
        state: The state of the file when it was read; ``None`` if the document came from elsewhere.
        is_whole: Whether the index holds all of its sentences.
    """

    state: FileState | None
    is_whole: bool

    @property
    def is_of_file(self) -> bool:
        """Whether the document was read from a file by `sync_files`."""
        return self.state is not None

    def is_current(self, file: FoundFile) -> bool:
        """Return whether the file's size and time say that it hasn't changed."""
        state = self.state
        return state is not None and self.is_whole and (state.size, state.modified_ns) == (file.size, file.modified_ns)

    def has(self, sha256: str) -> bool:
        """Return whether the document was made of bytes with this hash."""
        return self.state is not None and self.is_whole and self.state.sha256 == sha256


@dataclass(slots=True)
class _Sync:
    """One call of `sync_files`."""

    retriever: SentenceWindowRetriever
    failures: FailedFiles
    pdfs: PdfProcess
    on_progress: OnProgress | None
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    known_failed: dict[str, str] = field(default_factory=dict)
    new_failures: dict[str, FailedFile] = field(default_factory=dict)
    sentences: int = 0
    embedding: int = 0
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

    def failures_of(self, found: FoundFiles) -> dict[str, FailedFile]:
        """Return the files to remember as failed: those of this sync, and earlier ones that it didn't get to."""
        done = {*self.added, *self.updated, *self.unchanged}
        left = {
            path: each for path, each in self.failures.files.items() if path not in done and not found.has_lost(path)
        }
        return left | self.new_failures

    def result(self, found: FoundFiles) -> SyncResult:
        """Return what was done."""
        return SyncResult(
            added=tuple(self.added),
            updated=tuple(self.updated),
            unchanged=tuple(self.unchanged),
            deleted=tuple(self.deleted),
            empty=tuple(self.empty),
            failed=dict(self.failed),
            known_failed=dict(self.known_failed),
            skipped=dict(sorted(found.skipped.items())),
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
            before = self.failures.unchanged(file)
            if before is not None and before.is_lasting:
                self._fail(file, before)
                continue
            self._report(file.source)
            loaded = self._read(file, known)
            if loaded is not None:
                yield loaded

    def _read(self, file: FoundFile, known: IndexedFile | None) -> _Loaded | None:
        """Read a file; return ``None`` if it fails, or the index holds it as it is."""
        state: FileState | None = None
        is_lasting = False
        try:
            read = read_file(Path(file.source), file.source, file.root)
            state = read.state
            if known is not None and known.has(state.sha256):
                self._keep(file.source)
                return None
            before = self.failures.files.get(file.source)
            if before is not None and before.is_lasting and before.sha256 == state.sha256:
                self._fail(file, replace(before, modified_ns=state.modified_ns))
                return None
            is_lasting = True
            documents = convert(read, file.source, file.source, self.pdfs)
            is_lasting = False
            return self._loaded(file, state, documents, is_new=known is None)
        except EmptyFileError as error:
            if known is not None and known.is_of_file:
                self.remove([file.source])
            self._fail(file, _failure(file, state, error, is_lasting=True))
        except (DocumentReadError, InvalidInputError) as error:
            is_lasting = is_lasting and not isinstance(error, PdfProcessError)
            self._fail(file, _failure(file, state, error, is_lasting=is_lasting))
        return None

    def _loaded(self, file: FoundFile, state: FileState, documents: Sequence[Document], *, is_new: bool) -> _Loaded:
        source = file.source
        splitter = self.retriever.splitter
        groups = group_documents(documents, splitter.join_parts)
        if [group.doc_id for group in groups] != [source]:
            raise InvalidInputError(
                f"{source} has {len(documents)} parts, and the retriever's splitter doesn't join them; give it a "
                "splitter with join_parts=True"
            )
        joined = [group.joined() for group in groups]
        sentences = len(splitter.split_joined(joined, _NO_LIMITS))
        if not sentences:
            raise EmptyFileError(f"{source} holds no text; write the text into it, or leave it out")
        state = replace(state, sentences=sentences)
        return _Loaded(file, state, [_with_state(each, state) for each in documents], sentences, is_new)

    def _add(self, batch: Sequence[_Loaded]) -> None:
        """Add files; if that fails because of one of them, add each alone."""
        try:
            if batch:
                with on_embedded_texts(self._reporter(batch)):
                    self.retriever.add_documents([document for each in batch for document in each.documents])
        except SentenceWindowError as error:
            if len(batch) == 1 and isinstance(error, InvalidInputError):
                self._fail(batch[0].file, _failure(batch[0].file, batch[0].state, error, is_lasting=False))
                return
            if not isinstance(error, InvalidInputError):
                raise
            for each in batch:
                self._add([each])
            return
        finally:
            self.embedding = 0
        for each in batch:
            (self.added if each.is_new else self.updated).append(each.file.source)
            self.sentences += each.sentences
        self.done += len(batch)

    def _reporter(self, batch: Sequence[_Loaded]) -> Callable[[int], None]:
        """Return a function that reports a batch while it is embedded, by its largest file."""
        largest = max(batch, key=lambda each: each.sentences).file.source

        def report(count: int) -> None:
            self.embedding += count
            self._report(largest)

        return report

    def _keep(self, source: str) -> None:
        self.unchanged.append(source)
        self.done += 1

    def _fail(self, file: FoundFile, failure: FailedFile) -> None:
        before = self.failures.files.get(file.source)
        has_failed = before is not None and bool(failure.sha256) and before.sha256 == failure.sha256
        is_known = has_failed or self.failures.unchanged(file) is not None
        if failure.is_empty:
            (self.unchanged if is_known else self.empty).append(file.source)
        else:
            (self.known_failed if is_known else self.failed)[file.source] = failure.reason
        self.new_failures[file.source] = failure
        self.done += 1

    def _report(self, current: str | None) -> None:
        if self.on_progress is not None:
            self.on_progress(
                SyncProgress(
                    done=self.done,
                    total=self.total,
                    sentences=self.sentences + self.embedding,
                    current=current,
                    seconds=time.perf_counter() - self.start,
                )
            )


def _failure(file: FoundFile, state: FileState | None, error: Exception, *, is_lasting: bool) -> FailedFile:
    if state is None:
        return FailedFile(reason=str(error), size=file.size, modified_ns=file.modified_ns)
    return FailedFile(
        reason=str(error),
        size=state.size,
        modified_ns=state.modified_ns,
        sha256=state.sha256,
        is_lasting=is_lasting,
        is_empty=isinstance(error, EmptyFileError),
    )


def _with_state(document: Document, state: FileState) -> Document:
    return Document(page_content=document.page_content, metadata={**document.metadata, FILE_STATE: str(state)})


def indexed_files(retriever: SentenceWindowRetriever) -> dict[str, IndexedFile]:
    """List the documents of an index that may be files, by their paths.

    Raises:
        InvalidInputError: The store can't list what it holds.
    """
    found: dict[str, IndexedFile] = {}
    for document in retriever.documents():
        if document.source == document.doc_id:
            state = FileState.read(document.metadata)
            # A store that doesn't write whole documents may have been stopped in the middle of one.
            is_whole = state is not None and state.sentences in (None, document.sentences)
            found[document.doc_id] = IndexedFile(state, is_whole)
    return found
