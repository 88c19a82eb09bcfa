"""Measure the store against raw FAISS and other vector stores, in one run.

    python -m benchmarks.store [--sentences 100000] [--index exact] [--peers faiss,memory,chroma] [--json PATH]

The vectors are synthetic (384 numbers, in clusters as documents are), the texts of about 132 characters.
Searches are timed one by one, raw FAISS, which is exact, and a store in turn, on one OpenMP thread; ratios of their
medians are what counts, and the goals are for exact search, the default. Peers that aren't installed (``pip install
--group stores``) are left out, and said so.
"""

import argparse
import gc
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from benchmarks.corpus import BATCH_SIZE, DIMENSION, PER_DOCUMENT, Corpus, KnownEmbeddings, unit
from benchmarks.results import Results, make_parser
from langchain_sentence_window import FaissStore
from langchain_sentence_window.documents.keys import sentence_id
from langchain_sentence_window.store.files import WORDS_FOLDER
from langchain_sentence_window.store.words import LexicalIndex

NO_ROWS = np.empty(0, dtype=np.int64)
LARGEST_FOR_PEERS = 100_000
MEMORY = Path("/proc/self/statm")
"""Where Linux says how much memory a process has."""


def measure(results: Results, sentences: int, index: str, peers: list[str]) -> None:
    """Measure, print and keep the figures."""
    faiss.omp_set_num_threads(1)
    corpus, folder = Corpus(sentences), Path(tempfile.mkdtemp(prefix="bench"))

    def note(name: str, value: float, unit: str = "", most: float | None = None) -> None:
        results.note(name, value, unit, most if index == "exact" else None)

    try:
        raw = faiss.IndexFlatIP(DIMENSION)
        note("raw FAISS: add", _seconds(lambda: raw.add(corpus.vectors)) / sentences * 1e6, "us a sentence")
        faiss.write_index(raw, str(folder / "raw.faiss"))
        raw_bytes = (folder / "raw.faiss").stat().st_size

        store = FaissStore(KnownEmbeddings(), folder / "store", index, neighbor_weights=(1,))
        seconds = 0.0
        for documents, vectors in corpus.slices():
            seconds += _seconds(lambda: store.add_embeddings(documents, vectors))  # noqa: B023
        seconds += _seconds(lambda: store.similarity_search_by_vector(corpus.queries[0].tolist(), k=1))
        seconds += _seconds(lambda: store.lexical_search(corpus.questions[0], k=1))
        note("ingest, FAISS and lexical index included", seconds / sentences * 1e6, "us a sentence", 40)
        note(
            "of which the lexical index",
            _seconds_of_words(corpus, folder / "words") / sentences * 1e6,
            "us a sentence",
            20,
        )
        note("save", _seconds(store.save), "s")
        _measure_searches(note, store, corpus, raw)
        _measure_changes(note, store, corpus)
        store.save()
        store.close()
        _measure_files(note, folder / "store", corpus, raw_bytes)
        _measure_reopening(note, folder, corpus)
        for peer in peers:
            _measure_peer(note, peer, corpus, raw)
    finally:
        shutil.rmtree(folder)


def _seconds_of_words(corpus: Corpus, folder: Path) -> float:
    """How long a lexical index takes that is filled as the store's is."""
    folder.mkdir()
    index, rows, seconds = LexicalIndex(folder), list(enumerate(corpus.texts)), 0.0
    for start in range(0, corpus.count, BATCH_SIZE):
        seconds += _seconds(lambda: index.change(NO_ROWS, rows[start : start + BATCH_SIZE]))  # noqa: B023
    return seconds


def _measure_searches(note: Callable[..., None], store: FaissStore, corpus: Corpus, raw: Any) -> None:
    queries = corpus.queries.tolist()
    own: Any = store._vectors._index._faiss  # type: ignore[union-attr]
    for k in (10, 50):
        ours, theirs, bare = [], [], []
        for number, query in enumerate(queries):
            theirs.append(_seconds(lambda: raw.search(corpus.queries[number : number + 1], k)))  # noqa: B023
            ours.append(_seconds(lambda: store.similarity_search_with_score_by_vector(query, k)))  # noqa: B023
            bare.append(_seconds(lambda: own.search(corpus.queries[number : number + 1], k)))  # noqa: B023
        note(f"raw FAISS: search, k = {k}", _middle(theirs) * 1e3, "ms")
        note(f"search with text and metadata, k = {k}", _middle(ours) * 1e3, "ms")
        note(f"search with text and metadata, k = {k}, to raw FAISS", _middle(ours) / _middle(theirs), "", 1.15)
        note(f"the same, k = {k}, to FAISS with its vectors in the store's memory", _middle(ours) / _middle(bare))
    documents = corpus.count // PER_DOCUMENT
    filters: dict[str, dict[str, Any]] = {
        "one document": {"doc_id": "1"},
        "5 % by metadata": {"sentence_index": 3},
        "half by metadata": {"sentence_index": {"$lt": PER_DOCUMENT // 2}},
    }
    for name, condition in filters.items():
        search = store.similarity_search_with_score_by_vector
        note(f"filter ({name}), first", _seconds(lambda: search(queries[0], 10, filter=condition)) * 1e3, "ms")  # noqa: B023
        again = [_seconds(lambda: search(query, 10, filter=condition)) for query in queries]  # noqa: B023
        note(f"filter ({name}), again", _middle(again) * 1e3, "ms")
    lexical = [_seconds(lambda: store.lexical_search(question, 10)) for question in corpus.questions]  # noqa: B023
    # The goal below a million is that of the exact search.
    most = 25.0 if corpus.count >= 1_000_000 else _middle(bare) * 1e3
    note("lexical search of 12 words, k = 10", _middle(lexical) * 1e3, "ms", most)
    some = {"doc_id": {"$in": [str(number) for number in range(0, documents, 100)]}}
    filtered = [_seconds(lambda: store.lexical_search(question, 10, filter=some)) for question in corpus.questions]  # noqa: B023
    note("lexical search within 1 % of the documents", _middle(filtered) * 1e3, "ms")


def _measure_changes(note: Callable[..., None], store: FaissStore, corpus: Corpus) -> None:
    updates, deletions, lexical, filtered = [], [], [], []
    known = store.embeddings
    assert isinstance(known, KnownEmbeddings)
    chance, search = np.random.default_rng(5), store.similarity_search_with_score_by_vector
    for number in range(20):
        document = 7 + number * 11 % (corpus.count // PER_DOCUMENT - 8)
        start = document * PER_DOCUMENT
        new = corpus.documents(start, start + PER_DOCUMENT)
        for each in new[:5]:
            each.page_content += f" {number}"
        vectors = unit(chance.standard_normal((PER_DOCUMENT, DIMENSION), dtype=np.float32)).tolist()
        known.cached = {each.page_content: v for each, v in zip(new, vectors, strict=True)}
        updates.append(_seconds(lambda: store.replace_documents(new, [str(document)])))  # noqa: B023
        lexical.append(_seconds(lambda: store.lexical_search("word", k=1)))
        filtered.append(_seconds(lambda: search(corpus.queries[0].tolist(), 10, filter={"sentence_index": 3})))
        deletions.append(_seconds(lambda: store.delete(filter={"doc_id": str(document)})))  # noqa: B023
    note(f"update of a document of {PER_DOCUMENT} sentences", _middle(updates) * 1e3, "ms", 15)
    note(f"delete of a document of {PER_DOCUMENT} sentences", _middle(deletions) * 1e3, "ms", 15)
    note("first lexical search after an update", _middle(lexical) * 1e3, "ms")
    note("first filtered search (5 % by metadata) after an update", _middle(filtered) * 1e3, "ms")


def _measure_files(note: Callable[..., None], folder: Path, corpus: Corpus, raw_bytes: int) -> None:
    parts = {
        "database": _bytes(folder.glob("sentences.*")),
        "FAISS file": _bytes(folder.glob("vectors.faiss")),
        "lexical index": _bytes((folder / WORDS_FOLDER).glob("*")),
    }
    for name, size in parts.items():
        note(f"on disk: {name}", size / corpus.count, "bytes a sentence")
    least = sum(len(text) for text in corpus.texts) + corpus.count * DIMENSION * 2 + raw_bytes
    note("on disk, to text + half-precision vectors + FAISS file", sum(parts.values()) / least, "", 1.25)


def _measure_reopening(note: Callable[..., None], folder: Path, corpus: Corpus) -> None:
    results = []
    for what in ("store", "raw"):
        command = [sys.executable, "-m", "benchmarks.store", "--child", what, "--path", str(folder)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        results.append(json.loads(done.stdout))
    store, raw = results
    note("reopen and search, current caches", store["seconds"], "s", 3)
    note("raw FAISS: read and search", raw["seconds"], "s")
    if not MEMORY.exists():
        print("memory: left out, as this system doesn't say how much a process has")
        return
    beyond = (store["memory"] - raw["memory"]) / corpus.count
    note("memory beyond the FAISS index", beyond, "bytes a sentence", 200)
    later = (store["memory later"] - raw["memory"]) / corpus.count
    note("memory beyond it, after lexical and filtered searches", later, "bytes a sentence")


def child(what: str, folder: Path) -> None:
    """Open and search in a process of its own; print seconds and bytes of memory."""
    faiss.omp_set_num_threads(1)
    import tantivy  # noqa: F401 - as FAISS, not to be counted

    query = [1.0] * DIMENSION
    FaissStore(KnownEmbeddings()).similarity_search_by_vector(query)
    gc.collect()
    before, start = _memory(), time.perf_counter()
    later = 0
    if what == "raw":
        index = faiss.read_index(str(folder / "raw.faiss"))
        index.search(np.array([query], dtype=np.float32), 10)
        seconds, memory = time.perf_counter() - start, _memory() - before
    else:
        store = FaissStore.open(folder / "store", KnownEmbeddings())
        store.similarity_search_by_vector(query, 10)
        seconds, memory = time.perf_counter() - start, _memory() - before
        store.lexical_search("some words", 10)
        store.similarity_search_by_vector(query, 10, filter={"sentence_index": {"$lt": 10}})
        later = _memory() - before
    print(json.dumps({"seconds": seconds, "memory": memory, "memory later": later}))


# Others


def _measure_peer(note: Callable[..., None], peer: str, corpus: Corpus, raw: Any) -> None:
    missing = [name for name in MODULES[peer] if find_spec(name) is None]
    if missing:
        print(f"{peer}: left out, as {missing[0]} isn't installed")
        return
    if corpus.count > LARGEST_FOR_PEERS:
        print(f"{peer}: left out above {LARGEST_FOR_PEERS:,} sentences, where it takes minutes or too much memory")
        return
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        store, seconds = PEERS[peer](corpus, folder)
        note(f"{peer}: ingest", seconds / corpus.count * 1e6, "us a sentence")
        for k in (10, 50):
            theirs, ours = [], []
            for number, query in enumerate(corpus.queries.tolist()):
                ours.append(_seconds(lambda: raw.search(corpus.queries[number : number + 1], k)))  # noqa: B023
                theirs.append(_seconds(lambda: store.similarity_search_by_vector(query, k)))  # noqa: B023
            note(f"{peer}: search, k = {k}, to raw FAISS", _middle(theirs) / _middle(ours))
        deletions = []
        for document in range(5):
            ids = [sentence_id(str(document), i) for i in range(PER_DOCUMENT)]
            deletions.append(_seconds(lambda: store.delete(ids)))  # noqa: B023
        note(f"{peer}: delete of a document", _middle(deletions) * 1e3, "ms")


def _fill_community(corpus: Corpus, folder: str) -> tuple[VectorStore, float]:
    from langchain_community.docstore.in_memory import InMemoryDocstore
    from langchain_community.vectorstores import FAISS
    from langchain_community.vectorstores.utils import DistanceStrategy

    index = faiss.IndexFlatIP(DIMENSION)
    store = FAISS(
        KnownEmbeddings(), index, InMemoryDocstore(), {}, distance_strategy=DistanceStrategy.MAX_INNER_PRODUCT
    )
    seconds = 0.0
    for documents, vectors in corpus.slices():
        pairs = [(each.page_content, vector) for each, vector in zip(documents, vectors.tolist(), strict=True)]
        metadatas, ids = [each.metadata for each in documents], [str(each.id) for each in documents]
        seconds += _seconds(lambda: store.add_embeddings(pairs, metadatas, ids))  # noqa: B023
    return store, seconds


def _fill_memory(corpus: Corpus, folder: str) -> tuple[VectorStore, float]:
    embedding = KnownEmbeddings()
    store = InMemoryVectorStore(embedding)
    seconds = 0.0
    for documents, vectors in corpus.slices():
        embedding.cached = dict(zip((each.page_content for each in documents), vectors.tolist(), strict=True))
        seconds += _seconds(lambda: store.add_documents(documents))  # noqa: B023
    return store, seconds


def _fill_chroma(corpus: Corpus, folder: str) -> tuple[VectorStore, float]:
    from langchain_chroma import Chroma

    embedding = KnownEmbeddings()
    store: VectorStore = Chroma("bench", embedding, folder, collection_metadata={"hnsw:space": "ip"})
    seconds = 0.0
    for documents, vectors in corpus.slices():
        embedding.cached = dict(zip((each.page_content for each in documents), vectors.tolist(), strict=True))
        for start in range(0, len(documents), 5_000):
            seconds += _seconds(lambda: store.add_documents(documents[start : start + 5_000]))  # noqa: B023
    return store, seconds


MODULES = {"faiss": ["langchain_community"], "memory": [], "chroma": ["langchain_chroma"]}
PEERS = {"faiss": _fill_community, "memory": _fill_memory, "chroma": _fill_chroma}


# Machinery


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _middle(values: list[float]) -> float:
    return float(np.median(values))


def _bytes(files: Iterator[Path]) -> int:
    return sum(file.stat().st_size for file in files)


def _memory() -> int:
    if not MEMORY.exists():
        return 0
    return int(MEMORY.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=100_000)
    parser.add_argument("--index", default="exact")
    parser.add_argument("--peers", default="faiss,memory,chroma", help="'' for none")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.child, options.path)
        return
    results = Results("store", options)
    measure(results, options.sentences, options.index, [peer for peer in options.peers.split(",") if peer])
    results.save()


if __name__ == "__main__":
    main()
