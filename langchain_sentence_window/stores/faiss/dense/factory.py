"""Creating FAISS indexes that can be kept up to date, and calling FAISS."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.database.forking import has_lost_threads

FACTORIES = (
    "'Flat', 'SQ8', 'SQfp16', 'RaBitQ', 'RaBitQ2', 'HNSW32', 'HNSW32_SQ8', 'IVF1024,Flat', 'IVF1024,SQ8' or "
    "'IVF1024,PQ192x4fs', or 'auto'"
)

_MAX_NAME_LENGTH = 100
"""Characters in the name of an index. FAISS parses names recursively, and a very long one crashes the process."""

MIN_FOR_THREADS = 1_000
"""The least number of vectors that are added with several threads."""

_PARTS = re.compile(r"PQ(\d{1,4})(?!\d)")
_MIN_PER_CLUSTER = 39  # FAISS warns below.
_MIN_TO_TRAIN = 1_000


def check_index_name(factory: object) -> None:
    """Check the name of an index before the dimension of its vectors is known.

    Raises:
        InvalidInputError: FAISS doesn't know the name, or the index can't be kept up to date here.
    """
    make_faiss_index(factory, 64 * (_parts(factory) or 1))


def make_faiss_index(factory: object, dimension: int) -> Any:
    """Create an empty FAISS index.

    Raises:
        InvalidInputError: FAISS doesn't know the name, the index isn't for vectors of this dimension, or it can't be
            kept up to date here.
    """
    if not isinstance(factory, str) or not 0 < len(factory) <= _MAX_NAME_LENGTH:
        raise InvalidInputError(f"index is {shown(factory)}; it must be the name of a FAISS index; try {FACTORIES}")
    if (parts := _parts(factory)) and dimension % parts:
        raise InvalidInputError(
            f"index is {shown(factory)}, which divides vectors into {parts} equal parts, and they have {dimension:,} "
            "numbers; name another number of parts, or open the store with index='auto'"
        )
    faiss = load_faiss()
    known = (
        faiss.IndexFlat,
        faiss.IndexScalarQuantizer,
        faiss.IndexHNSWFlat,
        faiss.IndexHNSWSQ,
        faiss.IndexIVFFlat,
        faiss.IndexIVFScalarQuantizer,
        faiss.IndexRaBitQ,
        faiss.IndexIVFRaBitQ,
        faiss.IndexIVFPQFastScan,
    )
    try:
        index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError, OverflowError) as error:
        usual = ("auto", "Flat", "SQ8", "SQfp16", "RaBitQ", "HNSW32", "HNSW32_SQ8")
        near = [name for name in usual if name.upper().startswith(factory.upper())]
        likely = f" Did you mean {near[0]!r}?" if near else ""
        raise InvalidInputError(
            f"index is {shown(factory)}, which FAISS can't make; try {FACTORIES}.{likely}"
        ) from error
    if type(index) not in (*known, faiss.IndexFlatIP):
        raise InvalidInputError(
            f"index is {shown(factory)}, a {type(index).__name__}, which this store can't keep up to date; try "
            f"{FACTORIES}"
        )
    return index


def _parts(factory: object) -> int:
    """Return the number of parts into which an index divides vectors; 0 if it doesn't."""
    named = _PARTS.search(factory) if isinstance(factory, str) else None
    return int(named[1]) if named else 0


def min_to_train(index: Any) -> int:
    """Return the least number of vectors for training an index well."""
    return max(_MIN_TO_TRAIN, _MIN_PER_CLUSTER * clusters_of(index))


def has_codes(index: Any) -> bool:
    """Return whether an index is an array of codes and nothing else, as Flat, SQ8 and SQfp16 are."""
    return isinstance(index, load_faiss().IndexFlatCodes)


def is_coarse(index: Any) -> bool:
    """Return whether an index keeps few bits of each number, so that its candidates must be compared again."""
    faiss = load_faiss()
    return isinstance(index, faiss.IndexRaBitQ | faiss.IndexIVFRaBitQ | faiss.IndexIVFPQFastScan)


def is_exact(index: Any) -> bool:
    """Return whether an index keeps its vectors in single precision, so that its cosines are right."""
    faiss = load_faiss()
    return isinstance(index, faiss.IndexFlat | faiss.IndexHNSWFlat | faiss.IndexIVFFlat)


def is_left_in_file(index: Any) -> bool:
    """Return whether FAISS, asked to map the file of an index, maps what it would have to change to add a vector.

    Our own memory replaces an array of codes. The codes of fast scan are read into memory in any case, and reading them
    twice would leave the first copy behind.
    """
    return not has_codes(index) and not isinstance(index, load_faiss().IndexIVFPQFastScan)


def arrange_centroids(index: Any) -> None:
    """Keep the centroids of fast scan's codes in a second order too, by which vectors are added faster.

    The codes are the same. A file of the index doesn't hold this order.
    """
    if isinstance(index, load_faiss().IndexIVFPQFastScan):
        index.pq.sync_transposed_centroids()


def clusters_of(index: Any) -> int:
    """Return the number of clusters of an IVF index; 0 for any other index."""
    return int(index.nlist) if isinstance(index, load_faiss().IndexIVF) else 0


@contextmanager
def one_thread() -> Iterator[None]:
    """Use one OpenMP thread within the block, for a single query: on busy cores, several wait for each other.

    OpenMP stores the number of threads per calling thread, so other callers of FAISS aren't affected.
    """
    before = load_faiss().omp_get_max_threads()
    try:
        load_faiss().omp_set_num_threads(1)
        yield
    finally:
        load_faiss().omp_set_num_threads(before)


def fork_safe_threads(vectors: int = MIN_FOR_THREADS) -> AbstractContextManager[None]:
    """Use all threads within the block, but one in a forked process, which would wait for threads it doesn't have.

    Args:
        vectors: How many vectors are worked on. For few, one thread is quicker than several that wait for each other.
    """
    return one_thread() if vectors < MIN_FOR_THREADS or has_lost_threads() else nullcontext()


def load_faiss() -> Any:
    """Import FAISS on use, as the import is slow and a program may search another store."""
    import faiss

    return faiss
