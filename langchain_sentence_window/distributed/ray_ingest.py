"""An ingest on Ray Data: its stages, which Ray sends to its workers, and a cluster with quiet settings to run them on.

The stages are functions of tables of Arrow. A row is a document with all of its parts, or an `Outcome`, as JSON, which
any text fits into. So no document is split over workers, however the rows are cut into blocks.
"""

import json
import logging
import os
import warnings
import zlib
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

from langchain_core.documents import Document

from langchain_sentence_window._display import shown
from langchain_sentence_window.documents.part_groups import (
    Group,
    JoinParts,
    document_ids,
    group_by_name,
    group_documents,
)
from langchain_sentence_window.documents.source_documents import JSON, MetadataFitter
from langchain_sentence_window.errors import InvalidInputError, MissingExtraError

from .document_writer import DocumentWriter, Outcome, describe_error, in_parts
from .ingest_files import load_bytes, load_path

BLOCK_BYTES = 100_000
"""Bytes of the documents in a task of a worker. Small, so that workers end together, and little is lost with one."""

MIN_BLOCK_BYTES = 10_000
TASKS_OF_A_WORKER = 8
"""Tasks for each worker, where the documents are few; their blocks are then smaller."""

FILES_OF_A_TASK = 16
"""The most files that are read in one task."""

BUCKETS_OF_A_CPU = 4
"""Buckets in which the parts of documents are brought together; each must fit into the memory of a worker."""

AS_TABLES: Mapping[str, Any] = {"batch_size": None, "batch_format": "pyarrow", "zero_copy_batch": True}
"""How a stage takes the rows of a Dataset: each block as it is."""

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
        rows = [_packed(each) for each in groups]
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
        num_cpus=workers.num_cpus,
        compute=data.ActorPoolStrategy(**pool),
        **AS_TABLES,
        **gpus,
    )
    tables = iter(written.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0))
    try:
        for table in tables:
            yield [Outcome(**json.loads(row)) for row in table[ROW].to_pylist()]
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
    rows = dataset.map_batches(ReadRows(join, buckets), **AS_TABLES)
    grouped = rows.groupby(BUCKET, num_partitions=buckets)
    # Before there are workers, as these and a shuffle would wait for each other's processors.
    return grouped.map_groups(gather, fn_args=(join,), batch_format="pyarrow").materialize()


def _mapped(dataset: Any, stage: Any, cpus: int) -> Any:
    """Apply a stage in tasks that take no processor from the workers, which hold all of them."""
    from ray.data import TaskPoolStrategy

    return dataset.map_batches(stage, num_cpus=0, compute=TaskPoolStrategy(size=cpus), **AS_TABLES)


def _blocks(rows: Sequence[bytes], workers: int) -> list[Any]:
    """Cut packed documents into tables of about `BLOCK_BYTES`, or less if there are few."""
    share = sum(map(len, rows)) // (workers * TASKS_OF_A_WORKER)
    most = min(BLOCK_BYTES, max(MIN_BLOCK_BYTES, share))
    return [packed_table(part) for part in in_parts(rows, len, most)]


ROW, BUCKET = "row", "bucket"
"""Columns of the stages' tables: a packed document or outcome, and a number that brings parts together."""

PATH, ROOT, BYTES = "path", "root", "bytes"
TEXTS = ("text", "page_content")
METADATA, ID = "metadata", "id"


class ReadFiles:
    """Reads files, one document each. A file that can't be read becomes an outcome."""

    def __init__(self, join: JoinParts) -> None:
        """Take how parts are joined."""
        self._join = join

    def __call__(self, table: Any) -> Any:
        """Read a table with paths, and their roots or the files' bytes."""
        return packed_table([self._read(row) for row in table.to_pylist()])

    def _read(self, row: Mapping[str, Any]) -> bytes:
        path = str(row[PATH])
        try:
            documents = load_bytes(row[BYTES], path) if BYTES in row else load_path(path, row[ROOT])
            (group,) = group_documents(documents, True if self._join is False else self._join)
        except Exception as error:  # noqa: BLE001 - one odd file mustn't keep the others out
            return _failed(path, error)
        return _packed(group)


class ReadRows:
    """Makes documents of rows: a column ``text``, maybe ``id`` and ``metadata``; the other columns are metadata."""

    def __init__(self, join: JoinParts, buckets: int | None) -> None:
        """Take how parts are joined, and the number of buckets; ``None`` if each row is a whole document."""
        self._join, self._buckets = join, buckets

    def __call__(self, table: Any) -> Any:
        """Pack each row, with the bucket of the document that it is, or is a part of."""
        import pyarrow as pa

        rows, buckets = [], []
        for row in table.to_pylist():
            try:
                document = document_of(row)
                name = document_ids([document], self._join)[0]
                rows.append(pack(name, [document]))
            except Exception as error:  # noqa: BLE001
                name = str(row.get(ID) or shown(row))
                rows.append(_failed(name, error))
            buckets.append(zlib.crc32(name.encode("utf-8", "surrogatepass")) % (self._buckets or 1))
        made = packed_table(rows)
        return made if self._buckets is None else made.append_column(BUCKET, pa.array(buckets, pa.int32()))


def gather(table: Any, join: JoinParts) -> Any:
    """Bring the parts of each document in a bucket together, in an order that doesn't depend on the blocks."""
    made: list[bytes] = []
    by_name: dict[str, list[Document]] = {}
    for row in sorted(set(table[ROW].to_pylist())):
        each = unpack(row, join)
        if isinstance(each, Outcome):
            made.append(row)
        else:
            by_name.setdefault(each.doc_id, []).append(each.parts[0].document)
    for name, documents in by_name.items():
        try:
            made += [_packed(each) for each in group_documents(documents, join)]
        except InvalidInputError as error:
            made.append(_failed(name, error))
    return packed_table(made)


class WriteDocuments:
    """Writes documents in an actor, which opens the store and loads the embedder once."""

    def __init__(self, writer: DocumentWriter, join: JoinParts) -> None:
        """Take the writer."""
        self._writer, self._join = writer, join

    def __call__(self, table: Any) -> Iterator[Any]:
        """Write the documents of a table; yield what became of them."""
        rows = [unpack(row, self._join) for row in table[ROW].to_pylist()]
        done = [row for row in rows if isinstance(row, Outcome)]
        groups = [row for row in rows if isinstance(row, Group)]
        try:
            done += self._writer.write(groups)
        except InvalidInputError as error:  # of the store or a setting, not of a document
            done += [Outcome(each.doc_id, "stopped", error=describe_error(error)) for each in groups]
        yield packed_table(list(map(pack_outcome, done)))


def packed_table(rows: Sequence[bytes]) -> Any:
    """Return a table of packed documents and outcomes."""
    import pyarrow as pa

    return pa.table({ROW: pa.array(rows, pa.large_binary())})


def document_of(row: Mapping[str, Any]) -> Document:
    """Make a Document of a row.

    Raises:
        InvalidInputError: There is no text, or the metadata isn't a mapping.
    """
    text_key = next((name for name in TEXTS if name in row), None)
    text = row.get(text_key) if text_key else None
    if not isinstance(text, str):
        raise InvalidInputError(f"a row has text {shown(text)}; give rows with the text as a string in the column text")
    metadata = row.get(METADATA)
    if isinstance(metadata, str):
        metadata = json.loads(metadata)
    if not isinstance(metadata, Mapping | None):
        raise InvalidInputError(f"a row has metadata {shown(metadata)}; give a mapping, or one written as JSON")
    others = {key: value for key, value in row.items() if key not in (text_key, METADATA, ID)}
    given = {key: value for key, value in {**others, **(metadata or {})}.items() if value is not None}
    id_ = row.get(ID)
    (made,) = fitted_to_json([Document(id=None if id_ is None else str(id_), page_content=text, metadata=given)])
    return made


def pack(name: str, parts: Sequence[Document]) -> bytes:
    """Write a document with all of its parts; metadata that JSON can't hold is left out, see `fitted_to_json`."""
    fitted = MetadataFitter(JSON).fit(parts)
    return _written([name, *([part.id, part.page_content, part.metadata] for part in fitted)])


def pack_outcome(outcome: Outcome) -> bytes:
    """Write an outcome."""
    return _written(asdict(outcome))


def unpack(packed: bytes, join: JoinParts) -> Group | Outcome:
    """Read what `pack` or `pack_outcome` wrote."""
    row = json.loads(packed)
    if isinstance(row, dict):
        return Outcome(**row)
    name, *parts = row
    documents = [Document(id=id_, page_content=text, metadata=metadata) for id_, text, metadata in parts]
    return group_by_name(documents, join, [name] * len(documents))[0]


def _packed(group: Group) -> bytes:
    return pack(group.doc_id, [part.document for part in group.parts])


def _failed(name: str, error: Exception) -> bytes:
    return pack_outcome(Outcome(name, "failed", error=describe_error(error)))


def fitted_to_json(documents: Sequence[Document]) -> list[Document]:
    """Return documents with their metadata as JSON holds it; what it can't hold is left out, with a warning."""
    fitter = MetadataFitter(JSON)
    fitted = fitter.fit(documents)
    fitter.warn()
    return fitted


def _written(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()
