"""Choosing the kind of a FAISS index, creating it and training it; FAISS alone, without the database.

An index compares all vectors exactly, or it compares codes of two bits a number: those of all vectors, or those in the
nearest clusters. The limits are in numbers, vectors times dimension, as the time of an exact search grows with these.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.errors import InvalidInputError

AUTO, EXACT, CODES = KINDS = "auto", "exact", "codes"
"""What can be asked for; `AUTO` depends on the size of the store."""

MAX_EXACT_NUMBERS = 50_000 * 384
"""Numbers that are compared exactly. From about half as many on, codes that are compared again take less time; below,
building and keeping them isn't worth it."""

MAX_WHOLE_NUMBERS = 1_500_000 * 384
"""Numbers whose codes are all compared. Above, only the nearest clusters are."""

KEPT_SHARE = 0.5
"""The share of a limit down to which the larger index is kept when vectors are removed, so that it doesn't change to
and fro."""

CLUSTERS_SEARCHED = 3.2
"""One in so many clusters is searched. See the benchmarks page."""

MIN_CLUSTERS_SEARCHED = 16

TRAINING_SAMPLE = 50_000
CODE_SAMPLE = 5_000
"""Vectors to train with, where there are clusters and where there are none."""

MIN_SAMPLE = 16
"""With fewer vectors, or fewer than there are clusters, FAISS refuses to train codes."""

_MIN_CLUSTERS, _MAX_CLUSTER_GROWTH = 64, 4
_MIN_PER_CLUSTER, _MIN_TO_TRAIN = 39, 1_000  # FAISS warns below
_MIN_FOR_THREADS = 1_000


def index_name(clusters: int) -> str:
    """Return the name of an index with so many clusters; see `choose`."""
    if clusters > 1:
        return f"{CODES} in {clusters:,} clusters"
    return CODES if clusters else EXACT


def checked_kind(asked: object) -> str:
    """Return what was asked for.

    Raises:
        InvalidInputError: It is none of `KINDS`.
    """
    if isinstance(asked, str) and asked in KINDS:
        return asked
    raise InvalidInputError(f"index is {shown(asked)}; it must be {AUTO!r}, {EXACT!r} or {CODES!r}")


def choose(asked: str, dimension: int, count: int, present: int = 0) -> int:
    """Return the number of clusters of the index for some vectors: 1 for codes without clusters, 0 for exact vectors.

    Args:
        asked: One of `KINDS`.
        dimension: The length of the vectors.
        count: Their number.
        present: The clusters of the present index. It is kept if the number of vectors is close to a limit.
    """
    numbers = count * dimension
    # The present index is kept down to half of the limit that it was made above:
    #   present     compares exactly up to   compares all codes up to
    #   exact       MAX_EXACT_NUMBERS        MAX_WHOLE_NUMBERS
    #   codes       half of it               MAX_WHOLE_NUMBERS
    #   clusters    half of it               half of it
    most_exact = MAX_EXACT_NUMBERS * (KEPT_SHARE if present else 1)
    most_whole = MAX_WHOLE_NUMBERS * (KEPT_SHARE if present > 1 else 1)
    if asked == EXACT or (asked == AUTO and numbers <= most_exact):
        return 0
    clusters = 1
    if numbers > most_whole:
        clusters = max(_MIN_CLUSTERS, 1 << round(count.bit_length() / 2))  # about the square root of the number
        if present > 1 and clusters < _MAX_CLUSTER_GROWTH * present:
            clusters = present
    # The present one is trained already, but it is made again when most of its vectors are removed ones.
    least_to_train = max(_MIN_TO_TRAIN, _MIN_PER_CLUSTER * clusters) * (KEPT_SHARE if clusters == present else 1)
    return clusters if count >= least_to_train else 0


def make_faiss_index(clusters: int, dimension: int) -> Any:
    """Create an empty FAISS index for inner products.

    Its codes have four bits for each pair of numbers, which are compared by fast scan; see
    https://arxiv.org/abs/1812.09162. Without clusters that takes no filters, but with one it does.

    Args:
        clusters: The number of clusters; see `choose`.
        dimension: The length of the vectors.
    """
    import faiss  # on use, as the import is slow and a program may search another store

    parts = dimension // 2 if dimension % 2 == 0 else dimension
    factory = f"IVF{clusters},PQ{parts}x4fs" if clusters else "Flat"
    return faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)


def train(index: Any, sample: Vectors) -> None:
    """Train an index of codes with unit vectors."""
    with threads_for(len(sample)):
        index.cp.min_points_per_centroid = 1  # no line on stderr for a sample that is a little small
        index.cp.niter = 10
        # Of each pair of numbers there are 16 codes. More vectors, or more rounds, find no more.
        codes = index.pq.cp
        codes.min_points_per_centroid, codes.max_points_per_centroid, codes.niter = 1, 64, 5
        index.train(sample)


def sample_size(clusters: int) -> int:
    """Return about how many vectors to train codes with."""
    return max(TRAINING_SAMPLE, _MIN_PER_CLUSTER * clusters) if clusters > 1 else CODE_SAMPLE


def nearest(index: Any, vector: Vectors, count: int, bits: Any, share: float) -> tuple[Vectors, Any]:
    """Search an index.

    Args:
        index: The index.
        vector: A unit vector of shape ``(dimension,)``.
        count: The number of results; there may be fewer.
        bits: A bit for each position that may be found; ``None`` for all.
        share: The share of positions that may be found. The smaller it is, the more clusters are searched, at much the
            same cost; for 0, all are.

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
    kind, clusters = faiss.SearchParameters, int(getattr(index, "nlist", 0))
    if clusters:
        usual = max(MIN_CLUSTERS_SEARCHED, clusters / CLUSTERS_SEARCHED)
        kind = faiss.SearchParametersIVF
        settings["nprobe"] = clusters if usual >= share * clusters else int(np.ceil(usual / share))
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
