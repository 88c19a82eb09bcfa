"""Choosing the index for a number of vectors: exact while that is cheap, then codes, then clusters of codes.

The limits are in numbers, vectors times dimension, as the time of an exact search grows with these.

The vectors of a FAISS index that is an array of codes, in memory of our own.

Linux provides large pages for memory that requests them before it is filled, which makes searching and loading
faster. NumPy requests them for large arrays; FAISS doesn't.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._display import shown
from langchain_sentence_window._primitives import Vectors
from langchain_sentence_window.errors import InvalidInputError
from langchain_sentence_window.stores.faiss.database.locks import has_lost_threads

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

_CODES = re.compile(r"(?:IVF(\d+),)?(?:PQ\d+x4fs|RaBitQ2)")
_MAX_CLUSTER_GROWTH = 4
_MIN_CLUSTER_BITS = 6


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
    if chosen.name == present:
        return chosen
    fresh = make_faiss_index(chosen.name, dimension)
    if not fresh.is_trained and count < min_to_train(fresh):
        return Choice("Flat", f"{chosen.name} can't be trained with {count:,} vectors yet")
    return chosen


def is_automatic(asked: str, name: str) -> bool:
    """Return whether an index is one that `AUTO` chooses, for whatever number of vectors, and `AUTO` was asked for."""
    return asked == AUTO and (name == "Flat" or _CODES.fullmatch(name) is not None)


def _codes(dimension: int, clusters: int = 1) -> str:
    """Return the name of an index of codes of two bits a number.

    Four bits for each pair of numbers are compared by fast scan; see https://arxiv.org/abs/1812.09162. Without clusters
    it takes no filters, but with one it does. RaBitQ takes any dimension.
    """
    if dimension % 2 == 0:
        return f"IVF{clusters},PQ{dimension // 2}x4fs"
    return f"IVF{clusters},RaBitQ2" if clusters > 1 else "RaBitQ2"


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
    import faiss  # on use, as the import is slow and a program may search another store

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
    import faiss

    return isinstance(index, faiss.IndexFlatCodes)


def is_coarse(index: Any) -> bool:
    """Return whether an index keeps few bits of each number, so that its candidates must be compared again."""
    import faiss

    return isinstance(index, faiss.IndexRaBitQ | faiss.IndexIVFRaBitQ | faiss.IndexIVFPQFastScan)


def is_exact(index: Any) -> bool:
    """Return whether an index keeps its vectors in single precision, so that its cosines are right."""
    import faiss

    return isinstance(index, faiss.IndexFlat | faiss.IndexHNSWFlat | faiss.IndexIVFFlat)


def is_left_in_file(index: Any) -> bool:
    """Return whether FAISS, asked to map the file of an index, maps what it would have to change to add a vector.

    Our own memory replaces an array of codes. The codes of fast scan are read into memory in any case, and reading them
    twice would leave the first copy behind.
    """
    import faiss

    return not isinstance(index, faiss.IndexFlatCodes | faiss.IndexIVFPQFastScan)


def arrange_centroids(index: Any) -> None:
    """Keep the centroids of fast scan's codes in a second order too, by which vectors are added faster.

    The codes are the same. A file of the index doesn't hold this order.
    """
    import faiss

    if isinstance(index, faiss.IndexIVFPQFastScan):
        index.pq.sync_transposed_centroids()


def clusters_of(index: Any) -> int:
    """Return the number of clusters of an IVF index; 0 for any other index."""
    import faiss

    return int(index.nlist) if isinstance(index, faiss.IndexIVF) else 0


@contextmanager
def threads_for(vectors: int = MIN_FOR_THREADS) -> Iterator[None]:
    """Use all threads within the block, or one for few vectors: on busy cores, several wait for each other.

    A forked process uses one, too, as it would wait for threads that it doesn't have. OpenMP stores the number of
    threads per calling thread, so other callers of FAISS aren't affected.

    Args:
        vectors: How many vectors are worked on: added, trained with, or searched with.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    try:
        if vectors < MIN_FOR_THREADS or has_lost_threads():
            faiss.omp_set_num_threads(1)
        yield
    finally:
        faiss.omp_set_num_threads(before)


_BLOCK_SIZE = 16
"""Vectors in one search. From 20 on, FAISS multiplies matrices with a BLAS, as NumPy does. Its threads don't survive a
fork: if another thread forks meanwhile, the call never ends."""


def compare_in_blocks(index: Any, vectors: Vectors, k: int) -> Vectors:
    """Compare vectors with those of an array of codes.

    Args:
        index: The FAISS index, with at least ``k`` vectors.
        vectors: Unit vectors of shape ``(n, dimension)``.
        k: The number of results for each, above 0.

    Returns:
        The highest cosines of each, shape ``(n, k)``, best first.
    """
    slices = [vectors[start : start + _BLOCK_SIZE] for start in range(0, len(vectors), _BLOCK_SIZE)]
    return np.concatenate([index.search(each, k)[0] for each in slices])


Number = TypeVar("Number", bound=np.generic)


class GrowableArray(Generic[Number]):
    """An array that grows by half along its first axis when it is full.

    It has spare room from the start, so that the first vector added doesn't wait for a copy of all others. Spare room
    takes no memory until it is used.

    Attributes:
        filled: The filled rows, as a view that is valid until the next change.
    """

    def __init__(self, first: npt.NDArray[Number]) -> None:
        """Start with a copy of an array."""
        self._array = self.filled = first[:0]
        self.reserve(len(first))
        self.append(first)

    def reserve(self, count: int) -> None:
        """Make room for so many rows in total, and an eighth more."""
        if count > len(self._array):
            grown = np.empty((count * 9 // 8, *self._array.shape[1:]), dtype=self._array.dtype)
            grown[: len(self.filled)] = self.filled
            self._array, self.filled = grown, grown[: len(self.filled)]

    def append(self, more: npt.NDArray[Number]) -> None:
        """Append rows."""
        count = len(self.filled)
        end = count + len(more)
        if end > len(self._array):
            self.reserve(max(end, len(self._array) * 4 // 3))
        self._array[count:end] = more
        self.filled = self._array[:end]

    def remove(self, at: npt.NDArray[np.intp]) -> None:
        """Remove the rows at ascending positions, by moving the last rows into the gaps."""
        count = len(self.filled)
        kept = count - len(at)
        gaps, movers = at[at < kept], np.setdiff1d(np.arange(kept, count), at, assume_unique=True)
        self._array[gaps] = self._array[movers]
        self.filled = self._array[:kept]


class CodeBuffer:
    """Replaces the array of a FAISS index, which reads its vectors from here.

    FAISS must not change such an index itself: that would crash the process.

    Attributes:
        codes: The vectors as the index has them; after each change they must be shown to it.
    """

    def __init__(self, index: Any) -> None:
        """Take over the codes of an index, which may be empty, or mapped to a file."""
        import faiss

        self._index, self._library = index, faiss
        count, size = index.ntotal, index.code_size
        if count:
            given = self._library.rev_swig_ptr(index.codes.data(), count * size).reshape(count, size)
        else:
            given = np.empty((0, size), dtype=np.uint8)
        self.codes: GrowableArray[np.uint8] = GrowableArray(given)
        self.show()

    def reserve(self, count: int) -> None:
        """Make room for so many vectors in total."""
        self.codes.reserve(count)
        self.show()

    def add(self, vectors: Vectors) -> None:
        """Add vectors of shape ``(n, dimension)``."""
        self.codes.append(self._index.sa_encode(vectors))
        self.show()

    def show(self) -> None:
        """Point FAISS to the current vectors."""
        faiss, codes = self._library, self.codes.filled
        nobody = faiss.MaybeOwnedVectorUInt8()  # A view needs an owner in C++; this object owns the memory.
        self._index.codes = faiss.MaybeOwnedVectorUInt8.create_view(faiss.swig_ptr(codes), codes.size, nobody.owner)
        self._index.ntotal = len(codes)
