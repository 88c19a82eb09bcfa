"""`ingest`: documents into a vector store by many workers, on Ray Data.

The store itself says what is complete, see `IngestState`. So an ingest that lost workers, its driver or the database is
completed by calling it again, and a second one embeds only what changed.
"""

import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.documents import Document
from tqdm.auto import tqdm

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_integer, as_number, checked_flag, optional_count
from langchain_sentence_window.adapters.store_adapter import batches
from langchain_sentence_window.documents.part_groups import JoinParts, group_documents
from langchain_sentence_window.documents.source_documents import JSON, MetadataFitter
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.errors import IngestError, InvalidInputError, MissingExtraError

from .document_rows import MakeEmbedding
from .document_writer import DocumentWriter, describe_error
from .ingest_files import find_files
from .ingest_summary import IngestSummary, Outcome
from .ray_stages import (
    BYTES,
    NAME,
    PATH,
    ROOT,
    ROW,
    TEXT,
    Row,
    WriteDocuments,
    gather,
    pack_group,
    read_file_row,
    read_row,
)
from .store_connection import MakeStore, OpenStore, StoreConnection

if TYPE_CHECKING:
    from ray.data import Dataset

IngestInput: TypeAlias = "Dataset | str | PathLike[str] | Iterable[str | PathLike[str]] | Iterable[Document]"
"""Holds what is ingested: a Ray Dataset, paths or addresses of files and folders, or Documents."""

MAX_FAILURES = 100
"""Documents that may fail before an ingest stops."""

DELETE_BATCH_SIZE = 200
"""Documents that are deleted in one call."""

BLOCK_BYTES = 100_000
"""Bytes of the documents in a task of a worker. Small, so that workers end together, and little is lost with one."""

DOCUMENTS_OF_A_TASK = 16
"""The most documents of a task that are given, or files to read in one."""

TASKS_OF_A_WORKER = 8
"""The fewest tasks for each worker, if there are as many documents."""

PARTITIONS_OF_A_CPU = 4
"""Partitions in which the parts of documents are brought together; each must fit into the memory of a worker."""

_USAGE = "RAY_USAGE_STATS_ENABLED"
_LOGGER = "ray.data"


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
    data = _ray_data()
    optional_count("max_failures", max_failures)
    if cleanup not in (None, "full"):
        raise InvalidInputError(f"cleanup is {shown(cleanup)}; it must be 'full' or None")
    flags = {"whole_documents": whole_documents, "rebuild_indexes": rebuild_indexes, "show_progress": show_progress}
    for name, value in flags.items():
        checked_flag(name, value)
    if not as_number(num_cpus) > 0:
        raise InvalidInputError(f"num_cpus is {shown(num_cpus)}; it must be a number above 0")
    if not as_number(num_gpus) >= 0:
        raise InvalidInputError(f"num_gpus is {shown(num_gpus)}; it must be a number, 0 or more")
    workers = _checked_workers(concurrency)
    writer = DocumentWriter(
        store,
        embedding,
        splitter=splitter,
        embed_headings=embed_headings,
        situate=situate,
        namespace=namespace,
        dry_run=dry_run,
        **settings,
    )
    join = True if splitter is None else splitter.join_parts
    is_dataset = isinstance(documents, data.Dataset)
    given: Any = documents if is_dataset else _input_rows(documents, join)
    connection = StoreConnection(store, settings)
    run = _IngestRun(max_failures)
    with _cluster() as resources, _ray_settings(given.context if is_dataset else data.DataContext.get_current()):
        _check_picklable(writer)
        cpus = max(1, int(resources.get("CPU", 1)))
        needs = {"CPU": num_cpus, "GPU": num_gpus}
        room = min(resources.get(name, 0) / need for name, need in needs.items() if need)
        least, most = workers or (max(1, int(room)),) * 2
        run.summary.workers = most
        try:
            with run.failing("the store can't be opened"):
                connection.call(lambda store: store.fetch([("", 0)]))
                earlier = connection.call(lambda store: store.ingested(namespace)) if cleanup else set()
                if rebuild_indexes and not dry_run:
                    connection.call(lambda store: store.bulk.prepare())
            if is_dataset or given:
                with run.failing("Ray failed"):
                    if is_dataset:
                        rows = _dataset_rows(given, join, whole_documents=whole_documents, cpus=cpus)
                    else:
                        rows = _dataset_of(given, join, most, cpus)
                    written = rows.map_batches(
                        WriteDocuments,
                        fn_constructor_args=(writer, join),
                        batch_size=None,
                        num_cpus=num_cpus,
                        num_gpus=num_gpus or None,
                        compute=data.ActorPoolStrategy(min_size=least, max_size=most),
                    )
                    total = None if is_dataset else len(given)
                    with tqdm(total=total, desc="Ingesting", unit=" documents", disable=not show_progress) as bar:
                        run.count(written, bar)
            if not dry_run:
                with run.failing("all documents were written, and then the store failed"):
                    # Nothing given is rather a folder that isn't mounted than the wish to delete everything.
                    vanished = earlier - run.seen if run.seen and not run.summary.failures else set()
                    for part in batches(sorted(vanished), DELETE_BATCH_SIZE):
                        run.summary.deleted += len(connection.call(partial(OpenStore.remove, names=part)))
                    connection.call(lambda store: store.bulk.finish())
        finally:
            connection.release()
    return run.summary


class _IngestRun:
    """The outcomes that workers report.

    Attributes:
        summary: Their summary.
        seen: The names of the documents.
    """

    def __init__(self, max_failures: int | None) -> None:
        self._max_failures = max_failures
        self.summary = IngestSummary()
        self.seen: set[str] = set()

    def count(self, written: Any, bar: Any) -> None:
        """Run a Dataset whose rows are outcomes, and count them.

        Raises:
            IngestError: The store doesn't answer, or too many documents failed.
        """
        start = time.perf_counter()
        # Closed after an error, so that the workers are stopped then, and not when the garbage is collected.
        with closing(iter(written.iter_batches(batch_size=None, prefetch_batches=0))) as rows:
            for batch in rows:
                self.summary.seconds = time.perf_counter() - start
                for row in batch[ROW]:
                    self._add(Outcome(**json.loads(row)))
                bar.update(len(batch[ROW]))
                bar.set_postfix(sentences=self.summary.sentences, failed=len(self.summary.failures))

    def _add(self, outcome: Outcome) -> None:
        name = outcome.doc_id
        if name in self.seen and outcome.status != "failed":
            outcome = Outcome(name, "failed", error="another document has the same name; give each its own id")
        self.seen.add(name)
        self.summary.add(outcome)
        failures = len(self.summary.failures)
        if outcome.status == "stopped":
            raise self._stopped(f"no worker could write {shown(name)} ({outcome.error})")
        if self._max_failures is not None and failures > self._max_failures:
            raise self._stopped(f"{failures} documents failed")

    @contextmanager
    def failing(self, what: str) -> Iterator[None]:
        """Raise an `IngestError` in place of what the store or Ray raises; let wrong settings pass."""
        try:
            yield
        except (IngestError, InvalidInputError):
            raise
        except Exception as error:
            raise self._stopped(f"{what} ({describe_error(error)})") from error

    def _stopped(self, why: str) -> IngestError:
        return IngestError(f"{why}; what is written stays, so fix that and call ingest again. So far:\n{self.summary}")


# What goes in


def _input_rows(documents: Any, join: JoinParts) -> list[Row]:
    """Return Documents, or the files that paths lead to, as rows.

    Raises:
        InvalidInputError: It is something else.
    """
    if isinstance(documents, Document) or not isinstance(documents, str | PathLike | Iterable):
        raise InvalidInputError(f"documents is {shown(documents)}; give paths, a Ray Dataset, or a list of Documents")
    given: list[Any] = [documents] if isinstance(documents, str | PathLike) else list(documents)
    if given and all(isinstance(each, Document) for each in given):
        fitter = MetadataFitter(JSON)
        rows = [pack_group(group, fitter) for group in group_documents(given, join)]
        fitter.warn()
        return rows
    return [{PATH: path, ROOT: root} for path, root in find_files(given).items()]


def _dataset_of(rows: Sequence[Row], join: JoinParts, workers: int, cpus: int) -> Any:
    """Return a Dataset of packed documents, which are given, or are in the files that are given."""
    tasks = max(len(rows) // DOCUMENTS_OF_A_TASK, workers * TASKS_OF_A_WORKER)
    dataset = _ray_data().from_items(rows, override_num_blocks=min(len(rows), tasks))
    return dataset if ROW in rows[0] else _mapped(dataset, read_file_row, join, cpus)


def _dataset_rows(dataset: Any, join: JoinParts, *, whole_documents: bool, cpus: int) -> Any:
    """Return a Dataset of packed documents, which are the rows of another, or parts in them, or files."""
    columns = set(dataset.columns() or ())
    if {PATH, BYTES} <= columns:
        return _mapped(dataset, read_file_row, join, cpus)
    if TEXT not in columns:
        raise InvalidInputError(
            f"the dataset has the columns {', '.join(sorted(columns)) or 'none'}; give one with the column text, or "
            "one that ray.data.read_binary_files(..., include_paths=True) makes"
        )
    if whole_documents:
        return _mapped(dataset, read_row, join, cpus)
    rows = dataset.map(read_row, fn_args=(join,))
    grouped = rows.groupby(NAME, num_partitions=cpus * PARTITIONS_OF_A_CPU)
    # Before there are workers, as these and a shuffle would wait for each other's processors.
    return grouped.map_groups(gather, fn_args=(join,)).materialize()


def _mapped(dataset: Any, stage: Callable[..., Row], join: JoinParts, cpus: int) -> Any:
    """Apply a stage in tasks that take no processor from the workers, which hold all of them."""
    compute = _ray_data().TaskPoolStrategy(size=cpus)
    return dataset.map(stage, fn_args=(join,), num_cpus=0, compute=compute)


# Ray


def _ray_data() -> Any:
    """Import Ray Data.

    Raises:
        MissingExtraError: It isn't installed.
    """
    try:
        import ray.data
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("ray", "pyarrow"):
            raise
        raise MissingExtraError("ray", "ray") from error
    return ray.data


@contextmanager
def _cluster() -> Iterator[Mapping[str, float]]:
    """Use the cluster that the program is connected to; else start one, quietly, and stop it at the end.

    Yields:
        Its resources.
    """
    import ray

    if ray.is_initialized():
        yield ray.cluster_resources()
        return
    before = os.environ.get(_USAGE)
    os.environ.setdefault(_USAGE, "0")
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False)
        yield ray.cluster_resources()
    finally:
        ray.shutdown()
        if before is None:
            del os.environ[_USAGE]


@contextmanager
def _ray_settings(context: Any) -> Iterator[None]:
    """Let a Dataset run quietly and in small blocks within the ``with`` block."""
    settings = {"target_max_block_size": BLOCK_BYTES, "enable_progress_bars": False, "print_on_execution_start": False}
    before = {name: getattr(context, name) for name in settings}
    logger = logging.getLogger(_LOGGER)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        for name, value in settings.items():
            setattr(context, name, value)
        with warnings.catch_warnings():
            # Of stages with fewer blocks than processors, which are as many as there are documents.
            warnings.filterwarnings("ignore", "The maximum number of concurrent tasks", UserWarning)
            yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            setattr(context, name, value)


def _checked_workers(concurrency: Any) -> tuple[int, int] | None:
    """Return the least and the most workers; ``None`` for as many as there is room for.

    Raises:
        InvalidInputError: It isn't a number of workers.
    """
    if concurrency is None:
        return None
    both = concurrency if isinstance(concurrency, tuple) else (concurrency, concurrency)
    counts = [as_integer(each) or 0 for each in both]
    if len(counts) == 2 and 1 <= counts[0] <= counts[1]:  # noqa: PLR2004
        return counts[0], counts[1]
    raise InvalidInputError(
        f"concurrency is {shown(concurrency)}; it must be a number of workers, the least and the most, or None"
    )


def _check_picklable(writer: DocumentWriter) -> None:
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
