"""FAISS: which of its indexes can be kept up to date, what they need, and how it is called."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from langchain_sentence_window._showing import shown
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.database.forking import has_lost_threads

FACTORIES = "'Flat', 'SQ8', 'SQfp16', 'HNSW32', 'HNSW32_SQ8', 'IVF1024,Flat' or 'IVF1024,SQ8'"

_LONGEST_NAME = 100
"""Characters. FAISS reads a name by recursion, and a very long one ends the process."""

_PER_CLUSTER = 39  # FAISS warns below.
_FEWEST_TO_TRAIN = 1_000


def make_faiss_index(factory: str, dimension: int) -> Any:
    """Make an empty FAISS index.

    Raises:
        InvalidInputError: FAISS doesn't know it, or it can't be kept up to date here.
    """
    if not isinstance(factory, str) or not 0 < len(factory) <= _LONGEST_NAME:
        raise InvalidInputError(f"index is {shown(factory)}; it must be the name of a kind; try {FACTORIES}")
    faiss = load_faiss()
    known = (
        faiss.IndexFlat,
        faiss.IndexScalarQuantizer,
        faiss.IndexHNSWFlat,
        faiss.IndexHNSWSQ,
        faiss.IndexIVFFlat,
        faiss.IndexIVFScalarQuantizer,
    )
    try:
        index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError, OverflowError) as error:
        usual = ("Flat", "SQ8", "SQfp16", "HNSW32", "HNSW32_SQ8")
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


def fewest_to_train(index: Any) -> int:
    """How many vectors an index must have to be trained well."""
    return max(_FEWEST_TO_TRAIN, _PER_CLUSTER * clusters_of(index))


def has_codes(index: Any) -> bool:
    """Whether it is an array of codes and nothing else, as Flat, SQ8 and SQfp16 are."""
    return isinstance(index, load_faiss().IndexFlatCodes)


def clusters_of(index: Any) -> int:
    """The number of clusters of an IVF index; 0 for another."""
    return int(index.nlist) if isinstance(index, load_faiss().IndexIVF) else 0


@contextmanager
def one_thread() -> Iterator[None]:
    """One OpenMP thread for a single query: more wait for each other on busy cores, up to 25 times as long.

    OpenMP keeps the number for each thread that calls it, so no other caller of FAISS notices.
    """
    before = load_faiss().omp_get_max_threads()
    try:
        load_faiss().omp_set_num_threads(1)
        yield
    finally:
        load_faiss().omp_set_num_threads(before)


def fork_safe_threads() -> AbstractContextManager[None]:
    """As many threads as there are, but one in a process that was forked: it would wait for those it lost."""
    return one_thread() if has_lost_threads() else nullcontext()


def load_faiss() -> Any:
    """FAISS, imported on use: it takes a tenth of a second, and a program may search another store."""
    import faiss

    return faiss
