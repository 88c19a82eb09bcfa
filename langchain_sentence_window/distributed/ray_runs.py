"""Running stages on Ray Data: a cluster, quiet and private settings, and the outcomes as they come."""

import logging
import os
import warnings
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window.distributed.document_writer import DocumentWriter
from langchain_sentence_window.distributed.outcomes import Outcome
from langchain_sentence_window.distributed.packing import fitted_to_json, pack, unpack_outcome
from langchain_sentence_window.distributed.ray_stages import (
    BUCKET,
    BYTES,
    OUTCOME,
    PATH,
    ROOT,
    ReadFiles,
    ReadRows,
    WriteDocuments,
    gather,
    packed_table,
)
from langchain_sentence_window.documents.parts.grouping import JoinParts, group_documents
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError

BLOCK_BYTES = 100_000
"""Bytes of the documents in a task of a worker. Small, so that workers end together, and little is lost with one."""

MIN_BLOCK_BYTES = 10_000
TASKS_OF_A_WORKER = 8
"""Tasks for each worker, where the documents are few; their blocks are then smaller."""

FILES_OF_A_TASK = 16
"""The most files that are read in one task."""

BUCKETS_OF_A_CPU = 4
"""Buckets in which the parts of documents are brought together; each must fit into the memory of a worker."""

_USAGE = "RAY_USAGE_STATS_ENABLED"
_LOGGER = "ray.data"


@dataclass(frozen=True, slots=True)
class Workers:
    """The workers of an ingest.

    Attributes:
        count: Their number, or the least and the most.
        num_cpus: Processors for each.
        num_gpus: GPUs for each.
    """

    count: int | tuple[int, int]
    num_cpus: float
    num_gpus: float

    @property
    def most(self) -> int:
        """The most workers at once."""
        return self.count if isinstance(self.count, int) else self.count[1]


def ray_data() -> Any:
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
def cluster() -> Iterator[Any]:
    """Use the cluster that the program is connected to; else start one, quietly, and stop it at the end."""
    import ray

    if ray.is_initialized():
        yield ray
        return
    before = os.environ.get(_USAGE)
    os.environ.setdefault(_USAGE, "0")
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False)
        yield ray
    finally:
        ray.shutdown()
        if before is None:
            del os.environ[_USAGE]


def workers_of(ray: Any, concurrency: int | tuple[int, int] | None, num_cpus: float, num_gpus: float) -> Workers:
    """Return the workers; by default as many as the cluster has room for."""
    if concurrency is None:
        has = ray.cluster_resources()
        room = [has.get(name, 0) / each for name, each in (("CPU", num_cpus), ("GPU", num_gpus)) if each]
        concurrency = max(1, int(min(room, default=1)))
    return Workers(concurrency, num_cpus, num_gpus)


def dataset_of(
    given: Any, join: JoinParts, workers: Workers, *, whole_documents: bool, cpus: int
) -> tuple[Any, int | None]:
    """Return a Dataset of packed documents, and their number if it is known.

    Args:
        given: Files that `find_files` found, Documents, or a Dataset of files or rows.
        join: How parts are joined.
        workers: The workers that write them.
        whole_documents: Whether each row is a whole document.
        cpus: Processors of the cluster.
    """
    data = ray_data()
    if isinstance(given, data.Dataset):
        return _of_dataset(given, join, whole_documents=whole_documents, cpus=cpus), None
    if given and isinstance(given[0], Document):
        groups = group_documents(fitted_to_json(given), join)
        rows = [(pack(each.doc_id, [part.document for part in each.parts]), b"") for each in groups]
        return data.from_arrow(_blocks(rows, workers.most)), len(groups)
    import pyarrow as pa

    files = max(1, min(FILES_OF_A_TASK, len(given) // (cpus * TASKS_OF_A_WORKER)))
    parts = [given[start : start + files] for start in range(0, len(given), files)]
    paths = data.from_arrow(
        [pa.table({PATH: [each.path for each in part], ROOT: [each.root for each in part]}) for part in parts]
    )
    return _mapped(paths, ReadFiles(join), cpus), len(given)


def outcomes(
    dataset: Any, writer: DocumentWriter, join: JoinParts, workers: Workers
) -> Generator[list[Outcome], None, None]:
    """Write the documents of a Dataset; yield what became of them, a few at a time."""
    data = ray_data()
    count = workers.count
    pool = {"size": count} if isinstance(count, int) else {"min_size": count[0], "max_size": count[1]}
    gpus = {"num_gpus": workers.num_gpus} if workers.num_gpus else {}
    written = dataset.map_batches(
        WriteDocuments,
        fn_constructor_args=(writer, join),
        batch_size=None,
        batch_format="pyarrow",
        zero_copy_batch=True,
        num_cpus=workers.num_cpus,
        compute=data.ActorPoolStrategy(**pool),
        **gpus,
    )
    tables = iter(written.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0))
    try:
        for table in tables:
            yield [unpack_outcome(packed) for packed in table[OUTCOME].to_pylist()]
    finally:  # after an error the workers are stopped here, and not when the garbage is collected
        close = getattr(tables, "close", None)
        if close is not None:
            close()


@contextmanager
def private_settings(context: Any) -> Iterator[None]:
    """Let a Dataset run quietly and in small blocks meanwhile."""
    wanted = {
        "target_max_block_size": BLOCK_BYTES,
        "enable_progress_bars": False,
        "print_on_execution_start": False,
    }
    before = {name: getattr(context, name) for name in wanted}
    logger = logging.getLogger(_LOGGER)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*deprecated", DeprecationWarning, "ray")  # Ray's own, of its settings
            warnings.filterwarnings("ignore", "The maximum number of concurrent tasks", UserWarning)
            for name, value in wanted.items():
                setattr(context, name, value)
            yield
    finally:
        logger.setLevel(level)
        for name, value in before.items():
            setattr(context, name, value)


def _of_dataset(dataset: Any, join: JoinParts, *, whole_documents: bool, cpus: int) -> Any:
    columns = set(dataset.columns() or ())
    if {PATH, BYTES} <= columns:
        return _mapped(dataset, ReadFiles(join), cpus)
    if not columns & {"text", "page_content"}:
        raise InvalidInputError(
            f"the dataset has the columns {', '.join(sorted(columns)) or 'none'}; give one with the column text, or "
            "one that ray.data.read_binary_files(..., include_paths=True) makes"
        )
    if whole_documents:
        return _mapped(dataset, ReadRows(join, None), cpus)
    buckets = cpus * BUCKETS_OF_A_CPU
    as_tables: dict[str, Any] = {"batch_size": None, "batch_format": "pyarrow", "zero_copy_batch": True}
    rows = dataset.map_batches(ReadRows(join, buckets), **as_tables)
    grouped = rows.groupby(BUCKET, num_partitions=buckets)
    # Before there are workers, as these and a shuffle would wait for each other's processors.
    return grouped.map_groups(gather, fn_args=(join,), batch_format="pyarrow").materialize()


def _mapped(dataset: Any, stage: Any, cpus: int) -> Any:
    """Apply a stage in tasks that take no processor from the workers, which hold all of them."""
    from ray.data import TaskPoolStrategy

    compute = TaskPoolStrategy(size=cpus)
    return dataset.map_batches(
        stage, batch_size=None, batch_format="pyarrow", zero_copy_batch=True, num_cpus=0, compute=compute
    )


def _blocks(rows: Sequence[tuple[bytes, bytes]], workers: int) -> list[Any]:
    """Cut packed documents into tables of about `BLOCK_BYTES`, or less if there are few."""
    share = sum(len(packed) for packed, _ in rows) // (workers * TASKS_OF_A_WORKER)
    most = min(BLOCK_BYTES, max(MIN_BLOCK_BYTES, share))
    tables, part, size = [], list[tuple[bytes, bytes]](), 0
    for row in rows:
        if part and size >= most:
            tables.append(packed_table(part))
            part, size = [], 0
        part.append(row)
        size += len(row[0])
    return [*tables, packed_table(part)]
