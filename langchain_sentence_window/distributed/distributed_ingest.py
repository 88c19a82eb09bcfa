"""`ingest`: documents into a vector store by many workers, on Ray Data.

    read -> gather the parts of each document -> compare, split, embed, mix, write -> count

The store itself says what is complete, see `ingest_states`. So an ingest that lost workers, its driver or the
database is completed by calling it again, and a second one embeds only what changed.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from hashlib import blake2b
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.documents import Document
from tqdm.auto import tqdm

from langchain_sentence_window._display import shown
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window._validation import as_number, checked_flag, optional_count
from langchain_sentence_window.adapters.matchers import key_of
from langchain_sentence_window.adapters.store_adapter import batches
from langchain_sentence_window.documents.source_documents import FIRST_SENTENCES, IngestState
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.errors import IngestError, InvalidInputError

from .bulk_writer import MakeStore, OpenStore, checked_store_maker
from .document_rows import MakeEmbedding, checked_splitter
from .document_writer import DocumentWriter, IngestSummary, Outcome, Tally, checked_namespace, describe_error
from .ingest_files import find_files
from .ray_ingest import Workers, cluster, dataset_of, outcomes, private_settings, ray_data, workers_of

if TYPE_CHECKING:
    from ray.data import Dataset


DELETE_BATCH_SIZE = 200
"""Documents that are deleted in one call."""

_DIGEST_SIZE = 12


class IngestTarget:
    """The store, what it had of the namespace, and what was deleted.

    Attributes:
        deleted: The number of documents that were deleted, as they weren't given any more.
    """

    def __init__(
        self, store: MakeStore, settings: Mapping[str, Any], namespace: str, *, cleans: bool, is_dry: bool
    ) -> None:
        """Open nothing yet.

        Args:
            store: Opens the store.
            settings: Settings of its `BulkWriter`.
            namespace: The name of the ingest.
            cleans: Whether what vanished is deleted.
            is_dry: Whether nothing is written.
        """
        self._store = OpenStore(checked_store_maker(store), settings)
        self._namespace, self._cleans, self._is_dry = namespace, cleans, is_dry
        self._before: dict[bytes, str] = {}
        self.deleted = 0

    def begin(self, *, rebuild_indexes: bool) -> None:
        """Open the store, list what it has of the namespace, and drop indexes, as far as that was asked for."""
        with _failing_as("the store can't be opened ({}); check that it is running"):
            self._store.calling(self._begin)
            if rebuild_indexes and not self._is_dry:
                self._store.calling(self._store.prepare)

    def _begin(self) -> None:
        adapter = self._store.adapter
        self._store.fetch([("", 0)])  # asks the store
        if self._cleans:
            by_mapping = isinstance(adapter.of_documents([""]), dict)
            found = run(adapter.list_sentences(BLOCKING, FIRST_SENTENCES if by_mapping else None))
            states = ((each, IngestState.read(each.metadata)) for each in found)
            names = [key_of(each)[0] for each, state in states if state and state.namespace == self._namespace]
            self._before = {digest(name): name for name in names}

    def release(self) -> None:
        """Close connections of this process."""
        self._store.release()

    def saw(self, name: str) -> None:
        """Note that a document was given."""
        self._before.pop(digest(name), None)

    def end(self, *, keeps_all: bool) -> None:
        """Delete what vanished, unless all is to be kept, and build indexes."""
        if self._is_dry:
            return
        vanished = [] if keeps_all else list(self._before.values())
        with _failing_as("all documents were written, and then the store failed ({}); call ingest again"):
            for part in batches(vanished, DELETE_BATCH_SIZE):
                self.deleted += len(self._store.calling(partial(self._store.remove, part)))
            self._store.calling(self._store.finish)


@contextmanager
def _failing_as(message: str) -> Iterator[None]:
    """Raise `IngestError` in place of what a store raises, with the error in the message; let wrong settings pass."""
    try:
        yield
    except InvalidInputError:
        raise
    except Exception as error:
        raise IngestError(message.format(describe_error(error))) from error


def digest(name: str) -> bytes:
    """Return a few bytes for a name, as there may be many millions."""
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_SIZE).digest()


IngestInput: TypeAlias = "Dataset | str | PathLike[str] | Iterable[str | PathLike[str]] | Iterable[Document]"
"""Holds what is ingested: a Ray Dataset, paths or addresses of files and folders, or Documents."""

MAX_FAILURES = 100
"""Documents that may fail before an ingest stops."""


def ingest(
    documents: IngestInput,
    *,
    store: MakeStore,
    embedding: MakeEmbedding | None = None,
    splitter: SentenceSplitter | None = None,
    embed_headings: bool = True,
    situate: Situate | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    concurrency: int | tuple[int, int] | None = None,
    whole_documents: bool = False,
    namespace: str = "",
    cleanup: Literal["full"] | None = None,
    force_update: bool = False,
    dry_run: bool = False,
    rebuild_indexes: bool = False,
    max_failures: int | None = MAX_FAILURES,
    show_progress: bool = False,
    **settings: Any,
) -> IngestSummary:
    """Ingest documents into a vector store by many workers, on Ray Data; needs the extra ``ray``.

    Call it again if it was interrupted, or if documents have changed: it continues where it stopped, and embeds only
    new and changed documents. Sentences and vectors are the same for any number of workers.

    It runs on the cluster that the program is connected to, see ``ray.init``; else it starts a cluster on this machine.

    Args:
        documents: Paths of files and folders, or addresses such as ``s3://bucket/folder``; a Ray Dataset of rows with
            the column ``text``, and maybe ``id`` and ``metadata``, whose other columns are metadata; one with ``path``
            and ``bytes`` of files; or Documents.
        store: A function that opens the store, which each worker calls, and this process too. It must be a
            ``PGVectorStore``, ``QdrantVectorStore``, ``Milvus``, or any other on a server that fetches by id and was
            built with `NeighborMixedEmbeddings`.
        embedding: An embedder that can be pickled, or a function that loads one, which each worker calls once;
            ``None`` for the store's own.
        splitter: Splits documents; ``None`` for the default.
        embed_headings: Whether sentences are embedded with their heading path in front.
        situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
        num_cpus: Processors for each worker, above 0.
        num_gpus: GPUs for each worker, 0 or more; 0.5 lets two workers share one.
        concurrency: The number of workers, or the least and the most; ``None`` for as many as there is room for.
        whole_documents: Whether each row of a Dataset is a whole document. Else all rows are first sorted by their
            documents, as the parts of a document may be anywhere.
        namespace: A name for these documents, if others are ingested into the same store.
        cleanup: ``"full"`` to delete, at the end, documents of this namespace that aren't given any more, unless one
            failed or none was given. Documents that a retriever added stay.
        force_update: Whether to write again documents that the store already has.
        dry_run: Whether to only say what would be written. Nothing is embedded.
        rebuild_indexes: Whether to leave for the end what Qdrant would index while it is loaded, see `BulkWriter`. If
            the call stops before, the next call builds it. Missing indexes are built at the end anyway.
        max_failures: Documents that may fail before it stops; ``None`` for any number.
        show_progress: Whether to show a progress bar.
        **settings: Settings of `BulkWriter` for the store.

    Returns:
        What was done, what failed, and what it would take to finish.

    Raises:
        InvalidInputError: A setting can't be used. Nothing was written.
        IngestError: The store didn't answer, too many documents failed, or Ray did. What was written stays.
        MissingExtraError: Ray isn't installed.
    """
    data = ray_data()
    most = optional_count("max_failures", max_failures)
    if cleanup not in (None, "full"):
        raise InvalidInputError(f"cleanup is {shown(cleanup)}; it must be 'full' or None")
    joining = checked_splitter(splitter)
    choices: dict[str, Any] = {"embed_headings": embed_headings, "situate": situate, "namespace": namespace}
    choices |= {"force_update": force_update, "dry_run": dry_run}
    writer = DocumentWriter(store, embedding, splitter=joining, **choices, **settings)
    check_resources(num_cpus, num_gpus, concurrency)
    flags = {"whole_documents": whole_documents, "rebuild_indexes": rebuild_indexes, "show_progress": show_progress}
    for name, value in flags.items():
        checked_flag(name, value)
    given = documents if isinstance(documents, data.Dataset) else _listed(documents)
    target = IngestTarget(store, settings, checked_namespace(namespace), cleans=cleanup == "full", is_dry=dry_run)
    own_settings = given.context if isinstance(given, data.Dataset) else data.DataContext.get_current()
    with cluster() as ray, private_settings(own_settings):
        workers = workers_of(ray, concurrency, num_cpus, num_gpus)
        checked_picklable(writer)
        run_ = _DistributedRun(writer, joining, workers, most, show_progress=show_progress)
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        try:
            target.begin(rebuild_indexes=rebuild_indexes)
            run_.go(given, target, whole_documents=whole_documents, cpus=cpus)
        finally:
            target.release()
    return run_.tally.summary(seconds=run_.seconds, workers=workers.most, deleted=target.deleted)


def check_resources(num_cpus: object, num_gpus: object, concurrency: object) -> None:
    """Check what workers are to have.

    Raises:
        InvalidInputError: It isn't a number, or a number that makes no worker.
    """
    if not as_number(num_cpus) > 0:
        raise InvalidInputError(f"num_cpus is {shown(num_cpus)}; it must be a number above 0")
    if not as_number(num_gpus) >= 0:
        raise InvalidInputError(f"num_gpus is {shown(num_gpus)}; it must be a number, 0 or more")
    counts = concurrency if isinstance(concurrency, tuple) else (concurrency,) * 2
    valid = len(counts) == 2 and (concurrency is None or all(type(each) is int for each in counts))  # noqa: PLR2004
    if not valid or (concurrency is not None and not 1 <= counts[0] <= counts[1]):
        raise InvalidInputError(
            f"concurrency is {shown(concurrency)}; it must be a number of workers, the least and the most, or None"
        )


def checked_picklable(writer: DocumentWriter) -> None:
    """Check that what was given can be sent to workers.

    Raises:
        InvalidInputError: It can't.
    """
    from ray import cloudpickle

    dumps: Callable[[object], bytes] = cloudpickle.dumps
    try:
        dumps(writer)
    except Exception as error:
        raise InvalidInputError(
            f"store, embedding, splitter or situate can't be sent to workers ({describe_error(error)}); give functions "
            "that open the store and load the embedder: store=open_store, embedding=load_embedding"
        ) from error


class _DistributedRun:
    """One run of the stages, and what came of it."""

    def __init__(
        self,
        writer: DocumentWriter,
        splitter: SentenceSplitter,
        workers: Workers,
        max_failures: int | None,
        *,
        show_progress: bool,
    ) -> None:
        self._writer, self._splitter, self._workers = writer, splitter, workers
        self._max_failures, self._shows = max_failures, show_progress
        self._seen: set[bytes] = set()
        self.tally = Tally()
        self.seconds = 0.0

    def go(self, given: Any, target: IngestTarget, *, whole_documents: bool, cpus: int) -> None:
        """Run to the end.

        Raises:
            IngestError: It stopped before.
        """
        join = self._splitter.join_parts
        if not isinstance(given, list) or given:
            try:
                dataset, total = dataset_of(given, join, self._workers, whole_documents=whole_documents, cpus=cpus)
                with closing(outcomes(dataset, self._writer, join, self._workers)) as found:
                    self._count(found, target, total)
            except (IngestError, InvalidInputError):
                raise
            except Exception as error:
                raise self._stopped(f"Ray failed ({describe_error(error)})") from error
        # Nothing given is rather a folder that isn't mounted than the wish to delete everything.
        target.end(keeps_all=bool(self.tally.failures) or not self._seen)

    def _count(self, found: Iterable[list[Outcome]], target: IngestTarget, total: int | None) -> None:
        start = time.perf_counter()
        with tqdm(total=total, desc="Ingesting", unit=" documents", disable=not self._shows) as bar:
            for batch in found:
                self.seconds = time.perf_counter() - start
                for outcome in batch:
                    self._add(outcome, target)
                bar.update(len(batch))
                bar.set_postfix(sentences=self.tally.counts["sentences"], failed=len(self.tally.failures))

    def _add(self, outcome: Outcome, target: IngestTarget) -> None:
        known = digest(outcome.doc_id)
        target.saw(outcome.doc_id)
        if known in self._seen and outcome.status != "failed":
            outcome = Outcome(
                outcome.doc_id, "failed", error="another document has the same name; give each its own id"
            )
        self._seen.add(known)
        self.tally.add(outcome)
        if outcome.status == "stopped":
            raise self._stopped(f"no worker could write {shown(outcome.doc_id)} ({outcome.error})")
        if self._max_failures is not None and len(self.tally.failures) > self._max_failures:
            raise self._stopped(f"{len(self.tally.failures)} documents failed")

    def _stopped(self, why: str) -> IngestError:
        summary = self.tally.summary(seconds=self.seconds, workers=self._workers.most)
        return IngestError(f"{why}; what is written stays, so fix that and call ingest again. So far:\n{summary}")


def _listed(documents: Any) -> list[Any]:
    """Return Documents, or the files that paths lead to.

    Raises:
        InvalidInputError: It is something else.
    """
    if isinstance(documents, Document) or not isinstance(documents, str | PathLike | Iterable):
        raise InvalidInputError(f"documents is {shown(documents)}; give paths, a Ray Dataset, or a list of Documents")
    if isinstance(documents, str | PathLike):
        return find_files(documents)
    listed = list(documents)
    if listed and all(isinstance(each, Document) for each in listed):
        return listed
    return find_files(listed)
