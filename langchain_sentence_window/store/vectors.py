"""The FAISS index of a store, kept in step with its database; a cache, which is rebuilt if it is lost.

Few vectors are compared exactly. Of more, FAISS compares codes of two bits a number, and the best of these
are compared again by codes of six bits, which are mapped from a file. The results are compared a last time with the
vectors in the database, so that scores and order are those of an exact search.

What is searched is the vector of each sentence mixed with those of its neighbors. A row's never changes, and a document
whose sentences change gets new rows. So an index takes rows in rising order, and position and row are found from each
other by a binary search. Removed rows stay as tombstones until they outnumber the others.
"""

import json
import logging
import mmap
import secrets
import tempfile
import threading
import weakref
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from langchain_sentence_window._primitives import Rows, Vectors
from langchain_sentence_window.embedding.vectors import mix_neighbors
from langchain_sentence_window.errors import StoreError, wrong_size

from . import faiss_index
from .database import Database, OutdatedError
from .faiss_index import EXACT, choose, index_name
from .files import VECTORS_FILE, Checksum, checksum_of, is_abandoned, new_file, open_regular
from .reading import Pairs, best_first, exact_cosines, inner_products, with_tied
from .tables import Snapshot, Version, damaged

_LOGGER = logging.getLogger(__name__)

MAX_MADE_AT_ONCE = 10_000
"""The most vectors of an index that is rebuilt within the search that made it due. Larger ones are built in the
background, while searches and writes continue with the present one."""

MIN_CANDIDATES = 500
CANDIDATES_PER_RESULT = 4
"""A search for ``k`` compares `MIN_CANDIDATES` and `CANDIDATES_PER_RESULT` times ``k`` vectors again; of results that
are ranked by more than their cosines, only ``k`` instead, as the farthest matter little."""

MAX_COMPARED_DIRECTLY = 2_000
"""The most vectors that a filter may match for all of them to be compared, without looking at any codes of two bits."""

_MIN_SPARE = 16
"""The least number of results beyond those asked for that are compared exactly; a quarter of those, if that is more."""

_MIN_TOMBSTONES = 1_000
_PART_SIZE = 10_000
_MAX_CODES_IN_MEMORY = 20_000
_SAVED_SHARE = 1 / 16
_NOTHING: tuple[Rows, Vectors] = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)


class VectorCache:
    """A FAISS index, brought up to date with each state of the database that is searched.

    Attributes:
        asked: The kind of the index; see `choose`.
        weights: The weights of a sentence and its neighbors in each vector; ``(1,)`` for no mixing.
        lock: Held while the index is searched or changed. A state of the database is taken before it.
    """

    def __init__(self, database: Database, asked: str, weights: Sequence[float]) -> None:
        """Start empty; the first search loads the saved index, or builds one."""
        self.asked, self.weights = asked, tuple(weights)
        self.lock = threading.RLock()
        self._saving = threading.Lock()
        self._database = database
        self._index: VectorIndex | None = None
        self._version: Version | None = None
        self._maker: threading.Thread | None = None
        self._has_failed = False
        database.caches.add(self)

    # Searching

    def nearest(self, snapshot: Snapshot, vector: Vectors, k: int, allowed: Rows | None) -> Pairs:
        """Find the vectors nearest to another, with exact cosines, ties by document and index.

        Args:
            snapshot: The state to search.
            vector: A unit vector of shape ``(dimension,)``.
            k: The maximum number of results; there are fewer only if there are fewer vectors.
            allowed: The rows to search, in order; ``None`` for all.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
            OutdatedError: The index is at a later state.
        """
        with self._searching(snapshot) as index:
            if index is None:
                return []
            more = k if index.is_exact else k + max(_MIN_SPARE, k // 4)
            rows, cosines = index.search(vector, more, allowed, CANDIDATES_PER_RESULT)
        if not index.is_exact:
            rows = rows[_are_best(cosines, more)]
            cosines = exact_cosines(snapshot, vector, rows, self.weights)
        order = best_first(snapshot, rows, cosines, k)
        return list(zip(rows[order].tolist(), cosines[order].tolist(), strict=True))

    def candidates(
        self, snapshot: Snapshot, vector: Vectors, k: int, allowed: Rows | None, *, also: Rows
    ) -> tuple[Rows, Vectors]:
        """Find almost what `nearest` finds, by the index's codes, in less time for a large ``k``; compare other rows.

        Args:
            snapshot: As for `nearest`, and so are the others.
            vector: The vector.
            k: The number of results. There are more if others are as near as the last.
            allowed: The rows to search.
            also: Other rows to compare with, in order. Those without a vector are left out.

        Returns:
            The rows, each once, in any order, and their cosines. Those of codes are off by a few thousandths.
        """
        with self._searching(snapshot) as index:
            if index is None:
                return _NOTHING
            rows, cosines = index.search(vector, k, allowed, 1)
            others, cosines_of_others = index.cosines_of(vector, np.setdiff1d(also, rows))
        is_taken = _are_best(cosines, k) | np.isin(rows, also)
        return np.append(rows[is_taken], others), np.append(cosines[is_taken], cosines_of_others)

    @contextmanager
    def _searching(self, snapshot: Snapshot) -> Iterator["VectorIndex | None"]:
        with self.lock:
            try:
                yield self.at(snapshot)
            except CutFileError as error:
                self.forget()
                raise OutdatedError(str(error)) from error

    # Following the database

    def at(self, snapshot: Snapshot) -> "VectorIndex | None":
        """Return the index at a state, while the caller holds the lock; ``None`` if there never was a vector.

        Raises:
            OutdatedError: The index is at a later state.
        """
        if self._version != snapshot.version:
            self._advance(snapshot)
            if self._index is not None and not self._is_making:
                self._renew(self._index, snapshot)
        return self._index

    def drop_if_ahead(self, snapshot: Snapshot) -> None:
        """Drop an index of a later state than the present one: a backup has replaced the database.

        Args:
            snapshot: A state that was read while the caller held the lock, so that no other thread advanced the index.
        """
        if self._version is not None and self._version.generation > snapshot.version.generation:
            self.forget()

    def describe(self, snapshot: Snapshot) -> tuple[str, str | None, int]:
        """Return the index's name, the name of the index that is being built to replace it, and its tombstones."""
        index = self._index
        if index is None:
            dimension = snapshot.fact("dimension", int) or 0
            return index_name(choose(self.asked, dimension, snapshot.version.sentences)), None, 0
        due = self._change_due(index) if self._is_making else None
        return index_name(index.clusters), None if due is None else index_name(due), index.tombstones

    @property
    def is_used(self) -> bool:
        """Whether there is an index, which writes bring up to date."""
        return self._version is not None

    def forget(self) -> None:
        """Release the index: its store was closed."""
        self._index = self._version = None

    def wait(self) -> None:
        """Wait until no index is being made in the background; not within a read of the store."""
        maker = self._maker
        if maker is not None and maker is not threading.current_thread():
            maker.join()

    @property
    def _is_making(self) -> bool:
        return self._maker is not None and self._maker.is_alive()

    def _advance(self, snapshot: Snapshot) -> None:
        if self._version is None:
            self._index, self._version = self._loaded(snapshot)
        index, version = self._index, self._version
        if version is not None and version.generation > snapshot.version.generation:
            raise OutdatedError(f"{self._database.name} changes too often to be searched in one state; search again")
        # An exception such as Ctrl-C may interrupt the changes; there is no index then.
        self._index = self._version = None
        is_done = index is not None and version is not None and self._follow(index, version, snapshot)
        self._index = index if is_done else self._built(snapshot)
        self._version = snapshot.version

    def _renew(self, index: "VectorIndex", snapshot: Snapshot) -> None:
        """Rebuild or save the index if that is due."""
        due = self._change_due(index)
        if due is not None and len(index.rows) <= MAX_MADE_AT_ONCE:
            self._index = self._built(snapshot)
        elif due is not None:
            self._begin(self._make_another)
        elif self._may_save and index.unsaved > max(_MAX_CODES_IN_MEMORY, _SAVED_SHARE * len(index)):
            self._begin(self.save)

    def _follow(self, index: "VectorIndex", version: Version, snapshot: Snapshot) -> bool:
        """Apply the changes since a state; return whether they are known and can be applied."""
        changes = snapshot.changes_since(version)
        if changes is None or index.dimension != snapshot.fact("dimension", int):
            return False
        index.remove(changes.removed)
        self._add_rows(index, snapshot, changes.last_row)
        return True

    def _add_rows(self, index: "VectorIndex", snapshot: Snapshot, after: int) -> None:
        while after < snapshot.version.last_row:
            after = self._add_part(index, snapshot, after, snapshot.version.last_row)

    def _add_part(self, index: "VectorIndex", snapshot: Snapshot, after: int, last_row: int) -> int:
        """Add the next rows, up to the last one; return the last that was added, or ``last_row`` if none is left."""
        part = snapshot.vectors_after(after, last_row, _PART_SIZE)
        if part is None:
            return last_row
        rows, vectors, positions = part
        index.add(rows, mix_neighbors(vectors, positions, self.weights))
        return int(rows[-1])

    def _built(self, snapshot: Snapshot) -> "VectorIndex | None":
        index = self._empty(snapshot)
        if index is not None:
            self._add_rows(index, snapshot, 0)
        return index

    def _empty(self, snapshot: Snapshot) -> "VectorIndex | None":
        """Create and train the index for a state; ``None`` if there never was a vector."""
        dimension, count = snapshot.fact("dimension", int), snapshot.version.sentences
        if dimension is None:
            return None
        present = 0 if self._index is None else self._index.clusters
        clusters = choose(self.asked, dimension, count, present)
        made, fine = faiss_index.make_faiss_index(clusters, dimension), None
        if clusters:
            sample = snapshot.sampled_vectors(faiss_index.sample_size(clusters))
            if len(sample) < max(faiss_index.MIN_SAMPLE, clusters):
                raise damaged("vectors of its sentences")
            faiss_index.train(made, sample)
            fine = FineCodes(dimension, self._database.folder)
            fine.codec.train(sample[:: -(-len(sample) // faiss_index.CODE_SAMPLE)])
        return VectorIndex(clusters, made, count, fine)

    def _change_due(self, index: "VectorIndex") -> int | None:
        """Return the clusters of the index that should replace one; ``None`` if it should stay."""
        clusters = choose(self.asked, index.dimension, len(index), index.clusters)
        was_made_for_few = index.made_for < faiss_index.TRAINING_SAMPLE and len(index) > 4 * index.made_for
        is_due = (
            clusters != index.clusters
            or index.tombstones > max(len(index), _MIN_TOMBSTONES)
            or (clusters and was_made_for_few)
        )
        return clusters if is_due else None

    # Building another index in the background

    def _begin(self, work: Callable[[], None]) -> None:
        """Run a function in a thread. After a failure, it isn't tried again until the store is opened again."""
        if self._has_failed:
            return

        def run() -> None:
            try:
                work()
            except Exception:
                self._has_failed = True
                if not self._database.calls.is_closed:
                    _LOGGER.exception(
                        "the index of %s couldn't be changed; searches continue with the present one, and opening the "
                        "store again tries again",
                        self._database.name,
                    )

        maker = threading.Thread(target=run, name=f"index of {self._database.name}", daemon=True)
        with suppress(RuntimeError):  # no thread can be started at the end of the process
            maker.start()
            self._maker = maker

    def _make_another(self) -> None:
        """Build the index that is due, and put it in place.

        It is read in parts, each in a state of its own, so that no read lasts long. Concurrent writes are applied at
        the end.
        """
        database, after = self._database, 0
        with database.reading() as snapshot:
            version, index = snapshot.version, self._empty(snapshot)
        while index is not None and after < version.last_row:
            with database.reading() as snapshot:
                after = self._add_part(index, snapshot, after, version.last_row)
        with database.reading() as snapshot, self.lock:
            if index is None or not self._follow(index, version, snapshot):
                return  # there were so many writes that the next search starts again
            self._index, self._version = index, snapshot.version
        self.save()

    def after_fork(self) -> None:
        """Reset in a child process, which has no thread that builds an index."""
        self.lock, self._saving = threading.RLock(), threading.Lock()
        self._maker = None
        if self._index is not None and self._index.unsaved:
            self.forget()  # both processes might append to one file

    # The files

    @property
    def _may_save(self) -> bool:
        return self._database.folder is not None and not self._database.read_only

    def save(self) -> None:
        """Write the index next to the database, so that the next opening needn't build it, if it has a folder.

        Raises:
            StoreError: It can't be written.
        """
        if not self._may_save:
            return
        with self._database.running("can't be saved"), self._saving:  # which closing and forks wait for
            try:
                self._write()
            except CutFileError:
                with self.lock:
                    self.forget()
                self._write()

    def _write(self) -> None:
        folder = self._database.folder
        assert folder is not None  # noqa: S101
        with self._database.reading() as snapshot, self.lock:
            index, version = self.at(snapshot), self._version
            content = None if index is None else index.serialized()
        if index is None or content is None:
            return
        header: dict[str, Any] = {
            "clusters": index.clusters,
            "made_for": index.made_for,
            "version": version,
            "weights": self.weights,
        }
        before, name, count = _header_of(folder / VECTORS_FILE) or {}, "", len(content["rows"])
        saved: _Mapped | None = None
        try:
            if index.fine is not None:
                name = f"vectors.{secrets.token_hex(8)}.codes"
                header["codes"] = [name, index.fine.write(folder / name, count)]
                # At once, as another process that saves removes the file afterwards.
                saved = index.fine.mapped(folder / name, count)
            content["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
            with new_file(folder / VECTORS_FILE) as part, part.open("wb") as file:
                np.savez(file, **content)  # a ZIP file, which has checksums
        except OSError as error:
            raise StoreError(
                f"{str(folder / VECTORS_FILE)!r} can't be written: {error}; make room, or continue without it, as the "
                "database has everything"
            ) from error
        if saved is not None and index.fine is not None:
            with self.lock:
                index.fine.use_saved(saved)
        replaced = (before.get("codes") or [None])[0]
        for codes in folder.glob("vectors.*.codes*"):
            # Recent ones may be of another process, which hasn't saved the rest yet.
            if codes.name != name and (codes.name == replaced or is_abandoned(codes)):
                with suppress(OSError):
                    codes.unlink()

    def _loaded(self, snapshot: Snapshot) -> "tuple[VectorIndex | None, Version | None]":
        """Load the saved index and the state that it is at, if it can be brought up to date."""
        folder = self._database.folder
        header = None if folder is None else _header_of(folder / VECTORS_FILE)
        if folder is None or header is None:
            return None, None
        with suppress(*_UNREADABLE):
            version = Version._make(header["version"])
            is_asked_for = self.asked != EXACT or header["clusters"] == 0
            is_mixed_alike = tuple(header["weights"]) == self.weights
            if is_asked_for and is_mixed_alike and snapshot.changes_since(version) is not None:
                return VectorIndex.read(folder, header), version
        return None, None


_UNREADABLE = (OSError, ValueError, KeyError, TypeError, RuntimeError, EOFError, zipfile.BadZipFile, AttributeError)
"""What reading a damaged file, or one of another release of FAISS, may raise."""


def _header_of(path: Path) -> dict[str, Any] | None:
    """Read the record of a saved index; ``None`` if there is none, or it is damaged."""
    with suppress(*_UNREADABLE), open_regular(path) as file, np.load(file, allow_pickle=False) as saved:
        header: dict[str, Any] = json.loads(saved["header"].tobytes())
        return header
    return None


def damage_of(folder: Path) -> bool | None:
    """Return whether the saved index is damaged; ``None`` if there is none."""
    if not (folder / VECTORS_FILE).exists():
        return None
    with suppress(*_UNREADABLE):
        header = _header_of(folder / VECTORS_FILE)
        if header is not None:
            VectorIndex.read(folder, header)
            return False
    return True


class VectorIndex:
    """Unit vectors by row, searched by inner product, which is their cosine.

    Attributes:
        clusters: The number of clusters of its codes; 1 for none, and 0 for exact vectors.
        made_for: The number of vectors that it was made for.
        fine: The codes by which candidates are compared again; ``None`` if the index is exact.
        rows: The row of each position, in rising order; also of tombstones.
        tombstones: The number of positions whose row was removed.
    """

    def __init__(self, clusters: int, index: Any, made_for: int, fine: "FineCodes | None") -> None:
        """Search a FAISS index, which is empty."""
        self.clusters, self.made_for, self.fine = clusters, made_for, fine
        self._faiss = index
        self.dimension = int(index.d)
        self.rows: Rows = np.empty(0, dtype=np.int64)
        self._is_live = np.empty(0, dtype=np.bool_)
        self.tombstones = 0
        self._last_selected: tuple[Rows, npt.NDArray[np.bool_]] | None = None

    def __len__(self) -> int:
        """Return the number of vectors, without tombstones."""
        return len(self.rows) - self.tombstones

    @property
    def is_exact(self) -> bool:
        """Whether its cosines are those of an exact search."""
        return self.fine is None

    @property
    def unsaved(self) -> int:
        """The number of fine codes that aren't in a saved file."""
        return 0 if self.fine is None else self.fine.unsaved

    def add(self, rows: Rows, vectors: Vectors) -> None:
        """Add unit vectors of shape ``(len(rows), dimension)``, for rows after all that were added before."""
        if self.fine is not None:
            self.fine.add(vectors)
        with faiss_index.threads_for(len(rows)):
            self._faiss.add(np.ascontiguousarray(vectors))
        self.rows = np.append(self.rows, rows)
        self._is_live = np.append(self._is_live, np.ones(len(rows), dtype=np.bool_))
        self._last_selected = None

    def remove(self, rows: Rows) -> None:
        """Remove vectors; rows without one are ignored."""
        at = self.positions_of(rows)
        self._is_live[at] = False
        self.tombstones += len(at)
        self._last_selected = None

    def positions_of(self, rows: Rows) -> Rows:
        """Return the positions of some rows, each once; those without a vector are left out."""
        if not len(self.rows):
            return self.rows
        at = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.asarray(at[(self.rows[at] == rows) & self._is_live[at]])

    def search(self, vector: Vectors, k: int, allowed: Rows | None, per_result: int) -> tuple[Rows, Vectors]:
        """Find at least the ``k`` vectors nearest to another, and all that are as near as the last of them.

        Args:
            vector: A unit vector.
            k: The number of vectors.
            allowed: The rows to search, in order; ``None`` for all.
            per_result: How many candidates of codes to compare again for each of the ``k``.

        Returns:
            Rows in any order, and their cosines.

        Raises:
            EmbeddingError: The vector is of another length than those of the index.
        """
        if len(self) and len(vector) != self.dimension:
            raise wrong_size(len(vector), self.dimension)
        is_selected = self._selected(allowed)
        count = int(np.count_nonzero(is_selected))
        if not count:
            return _NOTHING
        bits = None if count == len(is_selected) else np.packbits(is_selected, bitorder="little")
        if self.fine is None:

            def find(asked: int) -> Pairs:
                cosines, at = faiss_index.nearest(self._faiss, vector, min(asked, count), bits, 1)
                return list(zip(at.tolist(), cosines.tolist(), strict=True))

            pairs = with_tied(find, k)
            at = np.array([position for position, _ in pairs], dtype=np.int64)
            return self.rows[at], np.minimum(np.array([cosine for _, cosine in pairs], dtype=np.float32), 1)
        candidates = (MIN_CANDIDATES + per_result * k) * (2 if self.clusters > 1 else 1)
        if count <= max(MAX_COMPARED_DIRECTLY, candidates):
            at = np.flatnonzero(is_selected)
        else:
            _, at = faiss_index.nearest(self._faiss, vector, candidates, bits, count / len(self))
            if len(at) < k:
                _, at = faiss_index.nearest(self._faiss, vector, candidates, bits, 0)
            at = np.sort(at)
        return self.rows[at], self.fine.cosines(vector, at)

    def cosines_of(self, vector: Vectors, rows: Rows) -> tuple[Rows, Vectors]:
        """Compare a unit vector with those of some rows; leave out those without a vector."""
        at = self.positions_of(rows)
        if not len(at):
            return _NOTHING
        if self.fine is not None:
            return self.rows[at], self.fine.cosines(vector, at)
        return self.rows[at], np.minimum(inner_products(self._faiss.reconstruct_batch(at), vector), 1)

    def _selected(self, allowed: Rows | None) -> npt.NDArray[np.bool_]:
        """Return for each position whether it may be found; the same filter often comes again."""
        if allowed is None:
            return self._is_live
        if self._last_selected is None or self._last_selected[0] is not allowed:
            is_selected = np.zeros(len(self.rows), dtype=np.bool_)
            is_selected[self.positions_of(allowed)] = True
            self._last_selected = allowed, is_selected
        return self._last_selected[1]

    # The file

    def serialized(self) -> dict[str, Any]:
        """Return its content as arrays, but for the fine codes."""
        import faiss

        content = {"index": faiss.serialize_index(self._faiss), "rows": self.rows}
        if self.fine is not None:
            content["codec"] = faiss.serialize_index(self.fine.codec)
        return {**content, "is_live": self._is_live.copy()}

    @classmethod
    def read(cls, folder: Path, header: dict[str, Any]) -> "VectorIndex":
        """Read a saved index.

        Raises:
            ValueError: A file isn't as it was written; or any other of `_UNREADABLE`.
        """
        import faiss

        with open_regular(folder / VECTORS_FILE) as file, np.load(file, allow_pickle=False) as saved:
            content, rows, is_live = (saved[name] for name in ("index", "rows", "is_live"))
            codec = saved.get("codec")
        index: Any = faiss.deserialize_index(content)
        if header["clusters"]:
            index.pq.sync_transposed_centroids()  # by which vectors are added faster
        fine = None
        if codec is not None:
            name, checksum = header["codes"]
            if checksum_of(folder / name) != checksum:
                raise ValueError(f"{name} isn't as it was written")
            fine = FineCodes(int(index.d), None)
            fine.codec = faiss.deserialize_index(codec)
            fine.use_saved(fine.mapped(folder / name, len(rows)))
        read = cls(int(header["clusters"]), index, int(header["made_for"]), fine)
        read.rows, read._is_live = rows, is_live
        read.tombstones = len(rows) - int(np.count_nonzero(is_live))
        return read


class _Mapped:
    """Codes in a file that is mapped into memory.

    Attributes:
        codes: The codes, of shape ``(n, size)``, which aren't read yet.
    """

    def __init__(self, file: IO[bytes], count: int, size: int) -> None:
        """Map the first ``count`` codes of ``size`` bytes."""
        self._memory = mmap.mmap(file.fileno(), count * size, access=mmap.ACCESS_READ)
        self.codes: npt.NDArray[np.uint8] = np.frombuffer(self._memory, np.uint8).reshape(count, size)

    def check(self) -> None:
        """Check that the file still has all codes: the system would end a process that reads beyond its end.

        Raises:
            CutFileError: It was cut.
        """
        if self._memory.size() < self.codes.size:
            raise CutFileError("a file of the FAISS index was cut while it was open; search again")


class FineCodes:
    """Codes of six bits a number, by position, by which a unit vector is compared with some of many.

    They are mapped from a file, so only those that are read take memory: from the saved file, or from an unnamed one
    until the index is saved. Codes that are added after saving stay in memory until the next time.

    Attributes:
        codec: Encodes and decodes them.
    """

    def __init__(self, dimension: int, folder: Path | None) -> None:
        """Start empty.

        Args:
            dimension: The length of the vectors.
            folder: The folder for the unnamed file; ``None`` keeps all in memory.
        """
        import faiss

        self.codec: Any = faiss.IndexScalarQuantizer(
            dimension, faiss.ScalarQuantizer.QT_6bit, faiss.METRIC_INNER_PRODUCT
        )
        self._size, self._folder = int(self.codec.code_size), folder
        self._unnamed: IO[bytes] | None = None
        # The codes in a file, and those after them; replaced together, as one thread adds while another saves.
        self._parts: tuple[_Mapped | None, npt.NDArray[np.uint8]] = None, np.empty((0, self._size), dtype=np.uint8)

    @property
    def unsaved(self) -> int:
        """The number of codes that aren't in a saved file."""
        mapped, added = self._parts
        return len(added) + (len(mapped.codes) if mapped is not None and self._unnamed is not None else 0)

    def add(self, vectors: Vectors) -> None:
        """Add unit vectors of shape ``(n, dimension)``."""
        mapped, added = self._parts
        added = np.append(added, self.codec.sa_encode(np.ascontiguousarray(vectors)), axis=0)
        if self._folder is not None and len(added) > _MAX_CODES_IN_MEMORY:
            with suppress(OSError):  # if the disk is full, they stay in memory
                if self._unnamed is None:
                    self._unnamed = tempfile.TemporaryFile(dir=self._folder)  # noqa: SIM115
                    weakref.finalize(self, self._unnamed.close).atexit = False  # threads may still add
                in_file = 0 if mapped is None else len(mapped.codes)
                self._unnamed.seek(in_file * self._size)
                self._unnamed.write(added.tobytes())
                self._unnamed.flush()
                mapped, added = _Mapped(self._unnamed, in_file + len(added), self._size), added[:0]
        self._parts = mapped, added

    def cosines(self, vector: Vectors, positions: Rows) -> Vectors:
        """Compare a unit vector with those at some positions, in rising order."""
        return np.minimum(inner_products(self.codec.sa_decode(self._at(positions)), vector), 1)

    def write(self, path: Path, count: int) -> Checksum | None:
        """Write the first codes into a file, and return its checksum.

        Raises:
            OSError: It can't be written.
        """
        with new_file(path) as part:
            with part.open("wb") as file:
                for start in range(0, count, _MAX_CODES_IN_MEMORY):
                    file.write(self._at(np.arange(start, min(count, start + _MAX_CODES_IN_MEMORY))).tobytes())
            return checksum_of(part)

    def mapped(self, path: Path, count: int) -> _Mapped:
        """Map the first codes of a saved file."""
        with open_regular(path) as file:
            return _Mapped(file, count, self._size)

    def use_saved(self, saved: _Mapped) -> None:
        """Read the first codes from their saved file from now on."""
        mapped, added = self._parts
        total = len(added) + (0 if mapped is None else len(mapped.codes))
        self._parts = saved, self._at(np.arange(len(saved.codes), max(total, len(saved.codes))))
        if self._unnamed is not None:
            self._unnamed.close()
        self._folder = self._unnamed = None

    def _at(self, positions: Rows) -> npt.NDArray[np.uint8]:
        """Return the codes at positions in rising order.

        Raises:
            CutFileError: The file was cut.
        """
        mapped, added = self._parts
        if mapped is None:
            return added[positions]
        split = int(np.searchsorted(positions, len(mapped.codes)))
        rest = added[positions[split:] - len(mapped.codes)]
        if not split:
            return rest
        mapped.check()
        return np.concatenate([mapped.codes[positions[:split]], rest])


class CutFileError(StoreError):
    """The file of an index's codes was cut, so the index has to be rebuilt."""


def _are_best(cosines: Vectors, k: int) -> npt.NDArray[np.bool_]:
    """Return for each cosine whether it is one of the ``k`` highest, or equal to the last of these."""
    if len(cosines) <= k:
        return np.ones(len(cosines), dtype=np.bool_)
    return np.asarray(cosines >= np.partition(cosines, -k)[-k])
