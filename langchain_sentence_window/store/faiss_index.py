"""Choosing the kind of a FAISS index, creating it and training it; FAISS alone, without the database.

The limits are in numbers, vectors times dimension, as the time of an exact search grows with these.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.errors import InvalidInputError

AUTO = "auto"
"""The name of the choice, in place of the name of an index."""

MAX_EXACT_NUMBERS = 50_000 * 384
"""Numbers that are compared exactly. From about half as many on, codes that are compared again take less time; below,
building and keeping them isn't worth it."""

MAX_WHOLE_NUMBERS = 1_500_000 * 384
"""Numbers whose codes are all compared. Above, only the nearest clusters are."""

KEPT_SHARE = 0.5
"""The share of a limit down to which the larger index is kept when vectors are removed, so that it doesn't change to
and fro."""

CLUSTERS_SEARCHED = 3.2
"""One in so many clusters is searched, times the effort. See the benchmarks page."""

TRAINING_SAMPLE = 50_000
CODE_SAMPLE = 5_000
"""Vectors to train with, where there are clusters and where there are none."""

FACTORIES = (
    "'Flat', 'SQ8', 'SQfp16', 'RaBitQ', 'RaBitQ2', 'HNSW32', 'HNSW32_SQ8', 'IVF1024,Flat', 'IVF1024,SQ8' or "
    "'IVF1024,PQ192x4fs', or 'auto'"
)

_CODES = re.compile(r"(?:IVF(\d+),)?(?:PQ\d+x4fs|RaBitQ2)")
_PARTS = re.compile(r"PQ(\d{1,4})(?!\d)")
_MAX_CLUSTER_GROWTH = 4
_MIN_CLUSTER_BITS = 6
_MAX_NAME_LENGTH = 100  # FAISS parses names recursively, and a very long one crashes the process
_MIN_PER_CLUSTER, _MIN_TO_TRAIN = 39, 1_000  # FAISS warns below
_MIN_FOR_THREADS = 1_000


class Choice(NamedTuple):
    """An index and the reason for it.

    Attributes:
        name: Its name for FAISS's index factory.
        reason: Why it was chosen, as a clause.
    """

    name: str
    reason: str


def choose(asked: str, dimension: int, count: int, present: str | None = None) -> Choice:
    """Choose the index for a number of vectors.

    Args:
        asked: The name of an index, or `AUTO`.
        dimension: The length of the vectors.
        count: Their number.
        present: The name of the present index, if there is one. It is kept if the number is close to a limit.
    """
    numbers, size = count * dimension, f"{count:,} vectors of {dimension:,} numbers"
    codes = _CODES.fullmatch(present or "")
    clusters = int(codes[1] or 0) if codes else 0
    if asked != AUTO:
        chosen = Choice(asked, "it was asked for")
    elif numbers > MAX_WHOLE_NUMBERS or (clusters > 1 and numbers > KEPT_SHARE * MAX_WHOLE_NUMBERS):
        wanted = 1 << max(_MIN_CLUSTER_BITS, round(count.bit_length() / 2))  # about the square root of the number
        if clusters > 1 and wanted < _MAX_CLUSTER_GROWTH * clusters:
            wanted = clusters
        chosen = Choice(_codes(dimension, wanted), f"{size} are too many to compare all of their codes")
    elif numbers > MAX_EXACT_NUMBERS or (present not in (None, "Flat") and numbers > KEPT_SHARE * MAX_EXACT_NUMBERS):
        chosen = Choice(_codes(dimension), f"{size} are compared by codes first")
    else:
        chosen = Choice("Flat", f"{size} are few enough to compare exactly")
    # The present one is trained already, but it is made again when most of its vectors are removed ones.
    if count < _least_to_train(chosen.name, dimension) * (KEPT_SHARE if chosen.name == present else 1):
        return Choice("Flat", f"{chosen.name} can't be trained with {count:,} vectors yet")
    return chosen


def _codes(dimension: int, clusters: int = 1) -> str:
    """Return the name of an index of codes of two bits a number.

    Four bits for each pair of numbers are compared by fast scan; see https://arxiv.org/abs/1812.09162. Without clusters
    it takes no filters, but with one it does. RaBitQ takes any dimension.
    """
    if dimension % 2 == 0:
        return f"IVF{clusters},PQ{dimension // 2}x4fs"
    return f"IVF{clusters},RaBitQ2" if clusters > 1 else "RaBitQ2"


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
    import faiss  # on use, as the import is slow and a program may search another store

    known = (
        faiss.IndexFlat,
        faiss.IndexFlatIP,
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
    if type(index) not in known:
        raise InvalidInputError(
            f"index is {shown(factory)}, a {type(index).__name__}, which this store can't keep up to date; try "
            f"{FACTORIES}"
        )
    return index


def train(index: Any, sample: Vectors) -> None:
    """Train an index with unit vectors."""
    import faiss

    with threads_for(len(sample)):
        if isinstance(index, faiss.IndexIVF):
            index.cp.min_points_per_centroid = 1  # no line on stderr for a sample that is a little small
            index.cp.niter = 10
        if isinstance(index, faiss.IndexIVFPQFastScan):
            # Of each pair of numbers there are 16 codes. More vectors, or more rounds, find no more.
            training = index.pq.cp
            training.min_points_per_centroid, training.max_points_per_centroid, training.niter = 1, 64, 5
        index.train(sample)


def sample_size(index: Any) -> int:
    """Return about how many vectors to train an index with."""
    clusters = clusters_of(index)
    return max(TRAINING_SAMPLE if clusters > 1 else CODE_SAMPLE, _MIN_TO_TRAIN, _MIN_PER_CLUSTER * clusters)


def _parts(factory: object) -> int:
    """Return the number of parts into which an index divides vectors; 0 if it doesn't."""
    named = _PARTS.search(factory) if isinstance(factory, str) else None
    return int(named[1]) if named else 0


def _least_to_train(name: str, dimension: int) -> int:
    """Return the least number of vectors that an index can be trained with; 0 if it needs no training."""
    is_trained, clusters = _needs(name, dimension)
    return 0 if is_trained else max(_MIN_TO_TRAIN, _MIN_PER_CLUSTER * clusters)


@lru_cache(100)  # as making an index takes milliseconds
def _needs(name: str, dimension: int) -> tuple[bool, int]:
    index = make_faiss_index(name, dimension)
    return bool(index.is_trained), clusters_of(index)


def is_coarse(index: Any) -> bool:
    """Return whether an index keeps few bits of each number, so that its candidates must be compared again."""
    import faiss

    return isinstance(index, faiss.IndexRaBitQ | faiss.IndexIVFRaBitQ | faiss.IndexIVFPQFastScan)


def is_exact(index: Any) -> bool:
    """Return whether an index compares all vectors in single precision."""
    import faiss

    return isinstance(index, faiss.IndexFlat)


def clusters_of(index: Any) -> int:
    """Return the number of clusters of an IVF index; 0 for any other index."""
    import faiss

    return int(index.nlist) if isinstance(index, faiss.IndexIVF) else 0


def nearest(index: Any, vector: Vectors, count: int, bits: Any, effort: float) -> tuple[Vectors, Any]:
    """Search an index.

    Args:
        index: The index.
        vector: A unit vector of shape ``(dimension,)``.
        count: The number of results; there may be fewer.
        bits: A bit for each position that may be found; ``None`` for all.
        effort: How many times as many nodes or clusters to visit as usual; infinity for all.

    Returns:
        Cosines and positions, best first.
    """
    import faiss as library

    faiss: Any = library  # its types lack a few
    settings: dict[str, Any] = {}
    # FAISS holds only pointers to both, which stay in variables until it has searched.
    selector = None if bits is None else faiss.IDSelectorBitmap(bits)
    if selector is not None:
        settings["sel"] = selector
    kind, clusters = faiss.SearchParameters, clusters_of(index)
    if clusters:
        usual = max(16, clusters / CLUSTERS_SEARCHED) if is_coarse(index) else max(8, clusters // 16)
        kind, settings["nprobe"] = faiss.SearchParametersIVF, max(1, int(min(clusters, np.ceil(usual * effort))))
    elif isinstance(index, faiss.IndexHNSW):
        if np.isinf(effort):
            index = faiss.downcast_index(index.storage)
        else:
            kind, settings["efSearch"] = faiss.SearchParametersHNSW, int(max(64, 2 * count) * effort)
    with threads_for(1):
        scores, positions = index.search(vector[None, :], count, params=kind(**settings) if settings else None)
    is_found = positions[0] >= 0
    return scores[0][is_found], positions[0][is_found]


@contextmanager
def threads_for(vectors: int) -> Iterator[None]:
    """Use all threads within the block, or one for few vectors: on busy cores, several wait for each other.

    A forked process uses one, too, as it would wait for threads that it doesn't have. OpenMP stores the number of
    threads per calling thread, so other callers of FAISS aren't affected.

    Args:
        vectors: How many vectors are worked on: added, trained with, or searched with.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    try:
        if vectors < _MIN_FOR_THREADS or _process != os.getpid():
            faiss.omp_set_num_threads(1)
        yield
    finally:
        faiss.omp_set_num_threads(before)


_process = os.getpid()
