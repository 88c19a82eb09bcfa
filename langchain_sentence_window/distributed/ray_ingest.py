"""`ingest`: writes documents into a vector store with many workers, on Ray Data.

The store records which documents are complete, see `IngestState`. So an ingest that lost workers, its driver or the
database is completed by calling it again, and a second one embeds only what changed.
"""

import json
import logging
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from langchain_core.documents import Document
from tqdm.auto import tqdm

from langchain_sentence_window._display import shown
from langchain_sentence_window._validation import as_number, checked_flag, optional_count
from langchain_sentence_window.adapters.store_adapter import batches
from langchain_sentence_window.documents.part_groups import JoinParts, group_documents
from langchain_sentence_window.documents.source_documents import JSON, MetadataFitter
from langchain_sentence_window.documents.splitter import SentenceSplitter
from langchain_sentence_window.embedding.contextual_vectors import Situate
from langchain_sentence_window.errors import IngestError, InvalidInputError, MissingExtraError

from .document_writer import DocumentWriter, describe_error
from .ingest_summary import IngestSummary, Outcome
from .ray_stages import (
    NAME,
    PATH,
    ROW,
    TEXT,
    LoadFile,
    Row,
    WriteDocuments,
    gather,
    pack_group,
    read_file_row,
    read_row,
)
from .row_maker import MakeEmbedding
from .store_connection import MakeStore, OpenStore

if TYPE_CHECKING:
    from ray.data import Dataset

IngestInput: TypeAlias = "Dataset | str | PathLike[str] | Iterable[str | PathLike[str]] | Iterable[Document]"
"""Holds what is ingested: a Ray Dataset, paths or addresses of files, or Documents."""

MAX_FAILURES = 100
"""Documents that may fail before an ingest stops."""

DELETE_BATCH_SIZE = 200
"""Documents to delete in one call."""

BLOCK_BYTES = 100_000
"""Bytes of the documents in a task. Small, so that workers end at the same time, and a lost worker loses little."""

DOCUMENTS_OF_A_TASK = 16
"""The most documents or files in a task."""

TASKS_OF_A_WORKER = 8
"""The fewest tasks for each worker, if there are as many documents."""

PARTITIONS_OF_A_CPU = 4
"""Partitions in which the parts of documents are grouped; each must fit into the memory of a worker."""

_USAGE = "RAY_USAGE_STATS_ENABLED"
_LOGGER = "ray.data"


def ingest(
    documents: IngestInput,
    *,
    store: MakeStore,
    embedding: MakeEmbedding | None = None,
    load: LoadFile | None = None,
    splitter: SentenceSplitter | None = None,
    embed_headings: bool = True,
    situate: Situate | None = None,
    num_cpus: float = 1,
    num_gpus: float = 0,
    concurrency: int | None = None,
    whole_documents: bool = False,
    namespace: str = "",
    cleanup: Literal["full"] | None = None,
    dry_run: bool = False,
    max_failures: int | None = MAX_FAILURES,
    show_progress: bool = False,
    **settings: Any,
) -> IngestSummary:
    """Ingest documents into a vector store by many workers, on Ray Data; needs the extra ``ray``.

    Call it again if it was interrupted, or if documents have changed: it continues where it stopped, and embeds only
    new and changed documents. Sentences and vectors are the same for any number of workers.

    It runs on the cluster that the program is connected to, see ``ray.init``; else it starts a cluster on this machine.

    Args:
        documents: Documents; or a Ray Dataset of rows with the column ``text``, and maybe ``id`` and ``metadata``,
            whose other columns are metadata; or paths or addresses of files, which ``load`` reads.
        store: A function that opens the store, which each worker calls, and this process too. It must be a store on a
            server that `DocumentWriter` can write.
        embedding: An embedder that can be pickled, or a function that loads one, which each worker calls once;
            ``None`` for the store's own.
        load: A function that reads the Documents of a file, which a worker calls with its path, such as
            ``sentence_window.files.load_file``. All of a file's Documents become one document.
        splitter: Splits documents; ``None`` for the default.
        embed_headings: Whether sentences are embedded with their heading path in front.
        situate: Writes a line to put in front of a sentence when it is embedded; ``None`` for no line.
        num_cpus: Processors for each worker, above 0.
        num_gpus: GPUs for each worker, 0 or more; 0.5 lets two workers share one.
        concurrency: The number of workers; ``None`` for as many as there is room for.
        whole_documents: Whether each row of a Dataset is a whole document. Otherwise all rows are grouped by document
            first, as the parts of a document may be anywhere.
        namespace: A name for these documents, if others are ingested into the same store.
        cleanup: ``"full"`` to delete, at the end, documents of this namespace that aren't in the input, unless one
            failed or the input is empty. Documents that a retriever added stay.
        dry_run: Whether to only report what would be written. Nothing is embedded.
        max_failures: Documents that may fail before it stops; ``None`` for any number.
        show_progress: Whether to show a progress bar.
        **settings: Settings of `DocumentWriter` for PostgreSQL.

    Returns:
        What was done, what failed, and what is left to do.

    Raises:
        InvalidInputError: A setting can't be used. Nothing was written.
        IngestError: The store didn't answer, too many documents failed, or Ray failed. What was written stays.
        MissingExtraError: Ray isn't installed.
    """
    data = _ray_data()
    optional_count("max_failures", max_failures)
    if cleanup not in (None, "full"):
        raise InvalidInputError(f"cleanup is {shown(cleanup)}; it must be 'full' or None")
    optional_count("concurrency", concurrency)
    checked_flag("whole_documents", whole_documents)
    checked_flag("show_progress", show_progress)
    if not as_number(num_cpus) > 0:
        raise InvalidInputError(f"num_cpus is {shown(num_cpus)}; it must be a number above 0")
    if not as_number(num_gpus) >= 0:
        raise InvalidInputError(f"num_gpus is {shown(num_gpus)}; it must be a number, 0 or more")
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
    connection, join = writer._connection, writer._rows.splitter.join_parts
    is_dataset = isinstance(documents, data.Dataset)
    given: Any = documents if is_dataset else _input_rows(documents, load, join)
    run = _IngestRun(max_failures)
    with _cluster() as resources, _ray_settings(given.context if is_dataset else data.DataContext.get_current()):
        _check_picklable(writer)
        cpus = max(1, int(resources.get("CPU", 1)))
        needs = {"CPU": num_cpus, "GPU": num_gpus}
        room = min(resources.get(name, 0) / need for name, need in needs.items() if need)
        workers = run.summary.workers = concurrency or max(1, int(room))
        try:
            with run.failing("the store can't be opened"):
                connection.call(lambda store: store.fetch([("", 0)]))
                earlier = connection.call(lambda store: store.ingested(namespace)) if cleanup else set()
            if is_dataset or given:
                with run.failing("Ray failed"):
                    if is_dataset:
                        rows = _dataset_rows(given, join, whole_documents=whole_documents, cpus=cpus)
                    else:
                        rows = _dataset_of(given, load, join, workers, cpus)
                    written = rows.map_batches(
                        WriteDocuments,
                        fn_constructor_args=(writer, join),
                        batch_size=None,
                        num_cpus=num_cpus,
                        num_gpus=num_gpus or None,
                        compute=data.ActorPoolStrategy(size=workers),
                    )
                    total = None if is_dataset else len(given)
                    with tqdm(total=total, desc="Ingesting", unit=" documents", disable=not show_progress) as bar:
                        run.count(written, bar)
            if not dry_run:
                with run.failing("all documents were written, and then the store failed"):
                    # Empty input is more likely a folder that isn't mounted than the wish to delete everything.
                    vanished = earlier - run.seen if run.seen and not run.summary.failures else set()
                    for part in batches(sorted(vanished), DELETE_BATCH_SIZE):
                        run.summary.deleted += len(connection.call(partial(OpenStore.remove, names=part)))
                    connection.call(OpenStore.finish)
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
        # Closed after an error, so that the workers stop then, and not at the next garbage collection.
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
        self.summary._add(outcome)
        failures = len(self.summary.failures)
        if outcome.status == "stopped":
            raise self._stopped(f"no worker could write {shown(name)} ({outcome.error})")
        if self._max_failures is not None and failures > self._max_failures:
            raise self._stopped(f"{failures} documents failed")

    @contextmanager
    def failing(self, what: str) -> Iterator[None]:
        """Raise an `IngestError` in place of what the store or Ray raises; errors in settings propagate."""
        try:
            yield
        except (IngestError, InvalidInputError):
            raise
        except Exception as error:
            raise self._stopped(f"{what} ({describe_error(error)})") from error

    def _stopped(self, why: str) -> IngestError:
        return IngestError(f"{why}; what is written stays, so fix this and call ingest again. So far:\n{self.summary}")


# Input


def _input_rows(documents: Any, load: LoadFile | None, join: JoinParts) -> list[Row]:
    """Return Documents, or the paths of files, as rows.

    Raises:
        InvalidInputError: ``documents`` is something else, or there is no function that reads files.
    """
    if isinstance(documents, Document) or not isinstance(documents, str | PathLike | Iterable):
        raise InvalidInputError(f"documents is {shown(documents)}; give paths, a Ray Dataset, or a list of Documents")
    given: list[Any] = [documents] if isinstance(documents, str | PathLike) else list(documents)
    if given and all(isinstance(each, Document) for each in given):
        fitter = MetadataFitter(JSON)
        rows = [pack_group(group, fitter) for group in group_documents(given, join)]
        fitter.warn()
        return rows
    paths: list[str] = []
    for each in given:
        if not isinstance(each, str | PathLike) or not isinstance(fspath(each), str):
            raise InvalidInputError(f"documents has {shown(each)}; give Documents alone, or paths alone")
        paths.append(fspath(each))
    if paths and not callable(load):
        raise InvalidInputError(
            f"load is {shown(load)}; to ingest files, give a function that reads one: "
            "load=sentence_window.files.load_file"
        )
    return [{PATH: path} for path in sorted(set(paths))]


def _dataset_of(rows: Sequence[Row], load: LoadFile | None, join: JoinParts, workers: int, cpus: int) -> Any:
    """Return a Dataset of packed documents, which the rows hold, or the files that they name."""
    tasks = max(len(rows) // DOCUMENTS_OF_A_TASK, workers * TASKS_OF_A_WORKER)
    dataset = _ray_data().from_items(rows, override_num_blocks=min(len(rows), tasks))
    return dataset if ROW in rows[0] else _mapped(dataset, read_file_row, (load, join), cpus)


def _dataset_rows(dataset: Any, join: JoinParts, *, whole_documents: bool, cpus: int) -> Any:
    """Return a Dataset of packed documents, each from one or more rows of another Dataset."""
    columns = set(dataset.columns() or ())
    if TEXT not in columns:
        raise InvalidInputError(
            f"the dataset has the columns {', '.join(sorted(columns)) or 'none'}; give one with the column text"
        )
    if whole_documents:
        return _mapped(dataset, read_row, (join,), cpus)
    rows = dataset.map(read_row, fn_args=(join,))
    grouped = rows.groupby(NAME, num_partitions=cpus * PARTITIONS_OF_A_CPU)
    # Before the workers start: they and a shuffle would wait for each other's processors.
    return grouped.map_groups(gather, fn_args=(join,)).materialize()


def _mapped(dataset: Any, stage: Callable[..., Row], arguments: tuple[object, ...], cpus: int) -> Any:
    """Apply a stage in tasks that reserve no processor, as the workers reserve all of them."""
    compute = _ray_data().TaskPoolStrategy(size=cpus)
    return dataset.map(stage, fn_args=arguments, num_cpus=0, compute=compute)


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
            # Ray warns of stages with fewer blocks than processors, as with few documents.
            warnings.filterwarnings("ignore", "The maximum number of concurrent tasks", UserWarning)
            yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            setattr(context, name, value)


def _check_picklable(writer: DocumentWriter) -> None:
    """Check that a writer can be sent to workers.

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
