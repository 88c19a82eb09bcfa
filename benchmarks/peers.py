"""Other embedded vector stores, each asked through its own client, without LangChain in between.

Each keeps a text and metadata beside its vectors and returns them, as `FaissStore` does. Efforts are a store's own
settings of a search, from fast to exact.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from langchain_core.documents import Document

from benchmarks.corpus import DIMENSION, PER_DOCUMENT, Vectors
from benchmarks.scale_steps import LookedUp, make_store, row_of, settle
from langchain_sentence_window import FaissStore


class Peer:
    """A store in a folder, which is opened if it exists and made otherwise.

    Attributes:
        MODULES: What must be installed, one of each tuple.
        EFFORTS: The ways to search, by name.
        LARGEST: The most sentences that it is asked to hold, as more take too long.
        IS_MIXED: Whether it mixes vectors with neighbors' itself.
    """

    MODULES: ClassVar[tuple[tuple[str, ...], ...]] = ()
    EFFORTS: ClassVar[tuple[str, ...]] = ("default",)
    LARGEST: ClassVar[int] = 10_000_000
    IS_MIXED: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        """Open or make the store."""
        raise NotImplementedError

    def add(self, first: int, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add sentences, numbered from the first."""
        raise NotImplementedError

    def finish(self) -> None:
        """Train the index, or whatever else is due after all were added."""

    def search(self, vector: Vectors, k: int, effort: str) -> list[int]:
        """Return the numbers of the nearest sentences, whose texts and metadata are read, too."""
        raise NotImplementedError

    def delete(self, document: int) -> None:
        """Delete the sentences of a source document."""
        raise NotImplementedError

    def close(self) -> None:
        """Close the files."""


class Ours(Peer):
    """`FaissStore`, with its default index; it keeps an index of words, too."""

    IS_MIXED = True
    INDEX: ClassVar[str | None] = None

    def __init__(self, folder: Path) -> None:
        """Open or make the store."""
        path = folder / "store"
        self._store = FaissStore.open(path, LookedUp()) if path.exists() else make_store(LookedUp(), path, self.INDEX)
        settle(self._store)

    def add(self, first: int, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add sentences with vectors that aren't mixed yet."""
        self._store.add_embeddings(documents, vectors)

    def finish(self) -> None:
        """Build both indexes and save them."""
        self._store.similarity_search_by_vector([1.0] * DIMENSION, k=1)
        self._store.lexical_search("word", k=1)
        settle(self._store)
        self._store.save()

    def search(self, vector: Vectors, k: int, effort: str) -> list[int]:
        """Return the numbers of the nearest sentences."""
        found = self._store.similarity_search_with_score_by_vector(vector.tolist(), k)
        return [row_of(each) for each, _ in found]

    def delete(self, document: int) -> None:
        """Delete the sentences of a source document."""
        self._store.delete(filter={"doc_id": str(document)})

    def close(self) -> None:
        """Close the files."""
        self._store.close()


class OursExact(Ours):
    """`FaissStore`, comparing every vector."""

    INDEX = "exact"


class Chroma(Peer):
    """Chroma's HNSW; the effort is ``ef_search``."""

    MODULES = (("chromadb",),)
    EFFORTS = ("100", "200", "400", "800", "1600")
    LARGEST = 1_000_000
    _BATCH = 5_000

    def __init__(self, folder: Path) -> None:
        """Open or make the collection."""
        self._folder, self._effort = folder / "chroma", ""
        self._open()

    def _open(self) -> None:
        import chromadb
        from chromadb.config import Settings

        self._client: Any = chromadb.PersistentClient(str(self._folder), Settings(anonymized_telemetry=False))
        self._collection = self._client.get_or_create_collection(
            "bench", configuration={"hnsw": {"space": "ip"}}, embedding_function=None
        )

    def add(self, first: int, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add sentences in batches that Chroma takes."""
        for start in range(0, len(documents), self._BATCH):
            part = documents[start : start + self._BATCH]
            self._collection.add(
                ids=[str(first + start + number) for number in range(len(part))],
                embeddings=vectors[start : start + len(part)],
                documents=[each.page_content for each in part],
                metadatas=[each.metadata for each in part],
            )

    def search(self, vector: Vectors, k: int, effort: str) -> list[int]:
        """Return the numbers of the nearest sentences."""
        if effort not in {self._effort, "default"}:
            self._collection.modify(configuration={"hnsw": {"ef_search": int(effort)}})
            self._effort = effort
            self.close()  # an open collection goes on with the effort it was opened with
            self._open()
        found = self._collection.query(
            query_embeddings=[vector.tolist()], n_results=k, include=["documents", "metadatas", "distances"]
        )
        return [int(each) for each in found["ids"][0]]

    def delete(self, document: int) -> None:
        """Delete the sentences of a source document."""
        self._collection.delete(where={"doc_id": str(document)})

    def close(self) -> None:
        """Close the files, which other clients of the process would share."""
        self._client.close()


class LanceDB(Peer):
    """LanceDB without an index: every vector is compared."""

    MODULES = (("lancedb",),)
    INDEX: ClassVar[Mapping[str, Any]] = {}

    def __init__(self, folder: Path) -> None:
        """Open or make the table."""
        import lancedb
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

        self._database = lancedb.connect(str(folder / "lance"))
        numbers = pa.list_(pa.float32(), DIMENSION)
        fields = [("row", pa.int64()), ("doc_id", pa.string()), ("text", pa.string()), ("metadata", pa.string())]
        schema = pa.schema([*fields, ("vector", numbers)])
        self._table: Any = self._database.create_table("bench", schema=schema, exist_ok=True)

    def add(self, first: int, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add sentences as one table of Arrow."""
        import pyarrow as pa  # type: ignore[import-untyped,unused-ignore]

        numbers = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), DIMENSION)
        columns = {
            "row": pa.array(range(first, first + len(documents)), pa.int64()),
            "doc_id": [each.metadata["doc_id"] for each in documents],
            "text": [each.page_content for each in documents],
            "metadata": [json.dumps(each.metadata) for each in documents],
            "vector": numbers,
        }
        self._table.add(pa.table(columns))

    def finish(self) -> None:
        """Put the files together, and train the index if there is one."""
        self._table.optimize(cleanup_older_than=timedelta(0))
        if self.INDEX:
            self._table.create_index(metric="dot", vector_column_name="vector", **self.INDEX)
        self._table.create_scalar_index("doc_id")

    def search(self, vector: Vectors, k: int, effort: str) -> list[int]:
        """Return the numbers of the nearest sentences."""
        query = self._table.search(vector, vector_column_name="vector").distance_type("dot").limit(k)
        query = self._with_effort(query.select(["row", "text", "metadata", "_distance"]), effort)
        return [int(each["row"]) for each in query.to_list()]

    def _with_effort(self, query: Any, effort: str) -> Any:
        return query

    def delete(self, document: int) -> None:
        """Delete the sentences of a source document."""
        self._table.delete(f"doc_id = '{int(document)}'")


class LanceIvfPq(LanceDB):
    """LanceDB's IVF_PQ; the effort is ``nprobes`` and ``refine_factor``."""

    EFFORTS = ("20 / none", "20 / 10", "50 / 20", "100 / 40", "200 / 100")
    INDEX: ClassVar[Mapping[str, Any]] = {"index_type": "IVF_PQ"}

    def _with_effort(self, query: Any, effort: str) -> Any:
        if effort == "default":
            return query
        probes, _, refine = effort.partition(" / ")
        query = query.nprobes(int(probes))
        return query if refine == "none" else query.refine_factor(int(refine))


class LanceHnsw(LanceIvfPq):
    """LanceDB's IVF_HNSW_SQ; the effort is ``ef`` and ``refine_factor``."""

    EFFORTS = ("100 / none", "100 / 2", "200 / 2", "400 / 2", "800 / 2")
    INDEX: ClassVar[Mapping[str, Any]] = {"index_type": "IVF_HNSW_SQ"}

    def _with_effort(self, query: Any, effort: str) -> Any:
        if effort == "default":
            return query
        ef, _, refine = effort.partition(" / ")
        query = query.ef(int(ef))
        return query if refine == "none" else query.refine_factor(int(refine))


class SqliteVec(Peer):
    """sqlite-vec, which compares every vector; the second effort compares bits first."""

    MODULES = (("sqlite_vec",), ("apsw",))
    EFFORTS = ("float32", "bits, 16 k rescored", "bits, 64 k rescored")
    _READ = "SELECT rowid, content, metadata, {} AS d FROM v WHERE {} MATCH {} AND k = :k ORDER BY d"
    _MOST = 4_096

    def __init__(self, folder: Path) -> None:
        """Open or make the table; by apsw, as not every Python's own module loads extensions."""
        import apsw
        import sqlite_vec  # type: ignore[import-untyped,unused-ignore]

        folder.mkdir(exist_ok=True)
        self._connection = apsw.Connection(str(folder / "vec.sqlite3"))
        self._connection.enable_load_extension(True)
        self._connection.load_extension(sqlite_vec.loadable_path())
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS v USING vec0(doc_id TEXT, +content TEXT, +metadata TEXT, "
            f"embedding float[{DIMENSION}] distance_metric=cosine, bits bit[{DIMENSION}])"
        )

    def add(self, first: int, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add sentences in one transaction."""
        rows = (
            (first + number, each.metadata["doc_id"], each.page_content, json.dumps(each.metadata), one, one)
            for number, (each, one) in enumerate(zip(documents, map(bytes, vectors.astype("<f4")), strict=True))
        )
        with self._connection:
            self._connection.executemany(
                "INSERT INTO v (rowid, doc_id, content, metadata, embedding, bits) "
                "VALUES (?, ?, ?, ?, ?, vec_quantize_binary(?))",
                rows,
            )

    def search(self, vector: Vectors, k: int, effort: str) -> list[int]:
        """Return the numbers of the nearest sentences."""
        query = vector.astype("<f4").tobytes()
        if effort in ("float32", "default"):
            sql, coarse = self._READ.format("distance", "embedding", ":q"), k
        else:
            sql = self._READ.format("vec_distance_cosine(embedding, :q)", "bits", "vec_quantize_binary(:q)")
            coarse = min(k * int(effort.split()[1]), self._MOST)
        found = self._connection.execute(f"{sql} LIMIT {int(k)}" if coarse > k else sql, {"q": query, "k": coarse})
        return [int(row) for row, *_ in found]

    def delete(self, document: int) -> None:
        """Delete the sentences of a source document, whose rows are known."""
        rows = range(document * PER_DOCUMENT, (document + 1) * PER_DOCUMENT)
        with self._connection:
            self._connection.executemany("DELETE FROM v WHERE rowid = ?", [(row,) for row in rows])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class QdrantLocal(Peer):
    """Qdrant's local mode, which compares every vector with NumPy."""

    MODULES = (("qdrant_client",),)
    LARGEST = 100_000
    _BATCH = 5_000

    def __init__(self, folder: Path) -> None:
        """Open or make the collection."""
        import warnings

        from qdrant_client import QdrantClient, models

        warnings.filterwarnings("ignore", category=UserWarning)  # that local mode is for fewer points
        self._models = models
        self._client = QdrantClient(path=str(folder / "qdrant"))
        if not self._client.collection_exists("bench"):
            size = models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)
            self._client.create_collection("bench", vectors_config=size)

    def add(self, first: int, documents: Sequence[Document], vectors: Vectors) -> None:
        """Add sentences in batches."""
        for start in range(0, len(documents), self._BATCH):
            part = documents[start : start + self._BATCH]
            batch = self._models.Batch(
                ids=list(range(first + start, first + start + len(part))),
                vectors=vectors[start : start + len(part)].tolist(),
                payloads=[{"text": each.page_content, **each.metadata} for each in part],
            )
            self._client.upsert("bench", batch)

    def search(self, vector: Vectors, k: int, effort: str) -> list[int]:
        """Return the numbers of the nearest sentences."""
        found = self._client.query_points("bench", query=vector.tolist(), limit=k, with_payload=True)
        return [int(each.id) for each in found.points]

    def delete(self, document: int) -> None:
        """Delete the sentences of a source document."""
        match = self._models.MatchValue(value=str(document))
        condition = self._models.FieldCondition(key="doc_id", match=match)
        self._client.delete("bench", self._models.FilterSelector(filter=self._models.Filter(must=[condition])))

    def close(self) -> None:
        """Close the files."""
        self._client.close()


PEERS: dict[str, type[Peer]] = {
    "FaissStore": Ours,
    "FaissStore, exact": OursExact,
    "Chroma": Chroma,
    "LanceDB, no index": LanceDB,
    "LanceDB, IVF_PQ": LanceIvfPq,
    "LanceDB, IVF_HNSW_SQ": LanceHnsw,
    "sqlite-vec": SqliteVec,
    "Qdrant (local)": QdrantLocal,
}


def missing(peer: type[Peer]) -> str:
    """Return the name of a package that must be installed first; empty if there is none."""
    return next((names[0] for names in peer.MODULES if not any(map(find_spec, names))), "")


def tiny(peer: type[Peer], folder: Path) -> None:
    """Make a store of a few sentences and search it, so that its libraries are loaded."""
    vectors = np.eye(PER_DOCUMENT, DIMENSION, dtype=np.float32)
    metadata = {"doc_id": "0", "section_start": 0, "section_end": PER_DOCUMENT}
    documents = [
        Document(f"Word {number}.", metadata={**metadata, "sentence_index": number}) for number in range(PER_DOCUMENT)
    ]
    folder.mkdir(parents=True)
    store = peer(folder)
    store.add(0, documents, vectors)
    store.search(vectors[0], 5, "default")
    store.close()
