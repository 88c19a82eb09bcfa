"""The steps of `benchmarks.scale`, each of which runs in a process of its own and returns figures.

A step reads its setting from the folder, and leaves there what later steps need: the store, the questions, and the
nearest sentences of each.
"""

import gc
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from benchmarks.corpus import DIMENSION, PER_DOCUMENT, Vectors, unit
from benchmarks.processes import (
    KNOWS_MEMORY,
    anonymous_bytes,
    bytes_by_part,
    cpu_each,
    cpu_seconds,
    watched_memory,
)
from benchmarks.real_text import measure_text
from benchmarks.real_vectors import read_vectors
from benchmarks.streams import Real, Stream, Synthetic, all_vectors
from benchmarks.truth import FILTERS, Nearest
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.ranking.candidates import CANDIDATES

Figures = dict[str, tuple[float, str]]

K = 50
YARDSTICK = 100_000
REPEATED = 20
"""How often a document is replaced and deleted."""
METADATA: dict[str, dict[str, Any]] = {
    "": {},
    "half": {"sentence_index": {"$lt": PER_DOCUMENT // 2}},
    "5 %": {"sentence_index": 3},
}
"""The filters of `benchmarks.truth`, in the store's words."""
ADDED_AT_ONCE = 1_000
"""Source documents in one slice of those that are added through the retriever."""


@dataclass(frozen=True)
class Setting:
    """Name what is measured.

    Attributes:
        corpus: ``synthetic`` or ``real``.
        count: The number of sentences.
        index: The kind of the index; ``None`` for the store's default.
        kept: The file of real vectors.
    """

    corpus: str
    count: int
    index: str | None
    kept: str = ""

    def write(self, folder: Path) -> None:
        """Keep the setting in a folder."""
        (folder / "setting.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Setting":
        """Read the setting of a folder."""
        return cls(**json.loads((folder / "setting.json").read_text(encoding="utf-8")))

    def stream(self) -> Stream:
        """Return the corpus."""
        if self.corpus == "synthetic":
            return Stream(self.count, Synthetic(self.count))
        return Stream(self.count, Real(*read_vectors(Path(), Path(self.kept))))


class LookedUp(Embeddings):
    """Looks vectors up, so that embedding costs next to nothing."""

    def __init__(self) -> None:
        """Name a model, by which a store knows the embedder in the next process without embedding texts again."""
        self.model = "vectors looked up"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Look texts up."""
        return [_TEXTS[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Look a question up."""
        return _QUESTIONS[text]


_QUESTIONS: dict[str, list[float]] = {}
_TEXTS: dict[str, list[float]] = {}
"""What `LookedUp` looks up."""


@dataclass(frozen=True)
class Asked:
    """The questions of a folder, and the nearest sentences of each under each filter."""

    texts: list[str]
    vectors: Vectors
    nearest: dict[str, Nearest]

    @classmethod
    def read(cls, folder: Path) -> "Asked":
        """Read what `prepare` wrote."""
        texts = json.loads((folder / "questions.json").read_text(encoding="utf-8"))
        with np.load(folder / "nearest.npz") as read:
            nearest = {name: Nearest(read[f"rows {name}"], read[f"scores {name}"]) for name in FILTERS}
            return cls(texts, read["questions"], nearest)

    def embeddings(self) -> LookedUp:
        """Return an embedder that knows the questions."""
        _QUESTIONS.update(zip(self.texts, self.vectors.tolist(), strict=True))
        return LookedUp()


def prepare(folder: Path) -> Figures:
    """Make the questions, and find their nearest sentences."""
    stream = Setting.read(folder).stream()
    texts, questions = stream.asked()
    nearest = {name: Nearest.none(len(questions)) for name in FILTERS}
    for first, vectors in all_vectors(stream):
        rows = np.arange(first, first + len(vectors))
        for name, holds in FILTERS.items():
            kept = holds(rows, PER_DOCUMENT)
            nearest[name].add(rows[kept], vectors[kept], questions)
    arrays: dict[str, Any] = {f"rows {name}": each.rows for name, each in nearest.items()}
    arrays |= {f"scores {name}": each.scores for name, each in nearest.items()}
    np.savez(folder / "nearest.npz", questions=questions, **arrays)
    (folder / "questions.json").write_text(json.dumps(texts), encoding="utf-8")
    return {}


def build(folder: Path) -> Figures:
    """Add all sentences with their vectors, and wait until the index is as it will be."""
    setting, asked = Setting.read(folder), Asked.read(folder)
    stream, embedding = setting.stream(), asked.embeddings()
    _load_libraries()
    store = make_store(embedding, folder / "store", setting.index)
    own, start = 0.0, time.process_time()
    text_bytes = 0
    for number in stream.blocks:
        began = time.thread_time()
        documents, vectors = stream.documents(number), stream.vectors(number)
        text_bytes += sum(len(each.page_content.encode()) for each in documents)
        gc.collect()  # making so many objects made this due
        own += time.thread_time() - began
        store.add_embeddings(documents, vectors)
        began = time.thread_time()
        del documents, vectors
        own += time.thread_time() - began
    store.similarity_search_by_vector(asked.vectors[0].tolist(), k=1)
    store.lexical_search(asked.texts[0], k=1)
    settle(store)
    figures: Figures = {"ingest": ((time.process_time() - start - own) / setting.count * 1e6, "us a sentence")}
    figures["save"] = (cpu_seconds(store.save), "s")
    store.close()
    parts = bytes_by_part(folder / "store")
    for name, size in parts.items():
        figures[f"disk: {name}"] = (size / setting.count, "bytes a sentence")
    figures["disk"] = (sum(parts.values()) / setting.count, "bytes a sentence")
    least = text_bytes + 2 * DIMENSION * setting.count
    figures["disk, to text and half-precision vector"] = (sum(parts.values()) / least, "")
    return figures


def search(folder: Path) -> Figures:
    """Search in each way, and compare with the nearest."""
    faiss.omp_set_num_threads(1)
    asked = Asked.read(folder)
    store = FaissStore.open(folder / "store", asked.embeddings())
    settle(store)
    figures: Figures = {}
    queries = asked.vectors.tolist()
    for name, nearest in asked.nearest.items():
        given: dict[str, Any] = {"filter": METADATA[name]} if name else {}
        found: list[list[int]] = [[] for _ in queries]

        def ask(number: int) -> None:
            hits = store.similarity_search_with_score_by_vector(queries[number], K, **given)  # noqa: B023
            found[number] = [row_of(each) for each, _ in hits]  # noqa: B023

        beside = f", filter of {name}" if name else ""
        seconds = cpu_each([lambda number=number: ask(number) for number in range(len(queries))])  # type: ignore[misc]
        figures |= _times(f"dense search{beside}", seconds)
        shares = nearest.recall(found, K)
        figures[f"recall{beside}"] = (float(np.mean(shares)), "")
        if not name:
            figures["recall, lowest tenth of the questions"] = (
                float(np.mean(np.sort(shares)[: len(shares) // 10])),
                "",
            )
    lexical = cpu_each([lambda text=text: store.lexical_search(text, CANDIDATES) for text in asked.texts])  # type: ignore[misc]
    figures |= _times(f"lexical search, k = {CANDIDATES}", lexical)
    retriever = SentenceWindowRetriever(vectorstore=store)
    figures |= _times("whole query", cpu_each([lambda text=text: retriever.invoke(text) for text in asked.texts]))  # type: ignore[misc]
    figures |= _yardstick(asked.vectors)
    store.close()
    return figures


def opening(folder: Path) -> Figures:
    """Open the store and search once; libraries are loaded before, and files may be in the system's memory."""
    faiss.omp_set_num_threads(1)
    asked = Asked.read(folder)
    _load_libraries()
    vector, wall = asked.vectors[0].tolist(), time.perf_counter()
    start = time.process_time()
    store = FaissStore.open(folder / "store", asked.embeddings())
    store.similarity_search_by_vector(vector, K)
    figures: Figures = {"open and first search": (time.process_time() - start, "s")}
    figures["open and first search, wall"] = (time.perf_counter() - wall, "s")
    figures["first lexical search"] = (cpu_seconds(lambda: store.lexical_search(asked.texts[0], 10)), "s")
    retriever = SentenceWindowRetriever(vectorstore=store)
    figures["first whole query"] = (cpu_seconds(lambda: retriever.invoke(asked.texts[1])), "s")
    filtered = cpu_seconds(lambda: store.similarity_search_by_vector(vector, K, filter=METADATA["half"]))
    figures["first search with a filter of half"] = (filtered, "s")
    store.close()
    return figures


def memory(folder: Path) -> Figures:
    """Measure what a process holds that searches in all ways."""
    if not KNOWS_MEMORY:
        return {}
    faiss.omp_set_num_threads(1)
    asked = Asked.read(folder)
    count, embedding = Setting.read(folder).count, asked.embeddings()
    _load_libraries()
    before = anonymous_bytes()
    store = FaissStore.open(folder / "store", embedding)
    settle(store)
    for vector in asked.vectors[:K].tolist():
        store.similarity_search_by_vector(vector, K)
    figures: Figures = {"memory, dense searches alone": ((anonymous_bytes() - before) / count, "bytes a sentence")}
    retriever = SentenceWindowRetriever(vectorstore=store)
    for text in asked.texts:
        retriever.invoke(text)
    figures["memory"] = ((anonymous_bytes() - before) / count, "bytes a sentence")
    store.similarity_search_by_vector(asked.vectors[0].tolist(), K, filter=METADATA["half"])
    figures["memory, after a filter of half"] = ((anonymous_bytes() - before) / count, "bytes a sentence")
    store.close()
    return figures


def change(folder: Path) -> Figures:
    """Replace and delete documents of 20 sentences, five of them new, between searches."""
    faiss.omp_set_num_threads(1)
    setting, asked = Setting.read(folder), Asked.read(folder)
    embedding, chance = asked.embeddings(), np.random.default_rng(5)
    store = FaissStore.open(folder / "store", embedding)
    settle(store)
    retriever = SentenceWindowRetriever(vectorstore=store)
    retriever.invoke(asked.texts[0])
    stream = setting.stream()
    documents = stream.documents(0)
    seconds: dict[str, list[float]] = {"replace": [], "delete": [], "search": []}
    for number in range(min(REPEATED, setting.count // PER_DOCUMENT - 1)):
        start = number * 11 % (len(documents) // PER_DOCUMENT) * PER_DOCUMENT
        new = [each.model_copy() for each in documents[start : start + PER_DOCUMENT]]
        for each in new[:5]:
            each.page_content = f"{number} {each.page_content}"[: len(each.page_content)]  # it stands where it stood
        vectors = unit(chance.standard_normal((PER_DOCUMENT, DIMENSION), dtype=np.float32)).tolist()
        _TEXTS.clear()
        _TEXTS.update({each.page_content: vector for each, vector in zip(new, vectors, strict=True)})
        doc_id = str(start // PER_DOCUMENT)
        seconds["replace"].append(cpu_seconds(lambda: store.replace_documents(new, [doc_id])))  # noqa: B023
        seconds["search"].append(cpu_seconds(lambda: retriever.invoke(asked.texts[number])))  # noqa: B023
        seconds["delete"].append(cpu_seconds(lambda: store.delete(filter={"doc_id": doc_id})))  # noqa: B023
    store.close()
    return {
        "replace a document": (_median(seconds["replace"]) * 1e3, "ms"),
        "delete a document": (_median(seconds["delete"]) * 1e3, "ms"),
        "whole query after a replacement": (_median(seconds["search"]) * 1e3, "ms"),
    }


def streamed(folder: Path) -> Figures:
    """Add documents from an iterator through the retriever, and measure time and memory; vectors come from a pool."""
    setting = Setting.read(folder)
    stream, embedding = setting.stream(), PooledVectors()
    _load_libraries()
    spent = [0.0]
    before, start = anonymous_bytes(), time.process_time()
    with watched_memory() as highest:
        store = make_store(embedding, folder / "streamed", setting.index)
        retriever = SentenceWindowRetriever(vectorstore=store)
        retriever.add_documents(whole_documents(stream, spent))
        peak = highest() - before
    seconds = time.process_time() - start - spent[0] - embedding.seconds
    store.similarity_search_by_vector(embedding.embed_query("any"), K)
    settle(store)
    after = anonymous_bytes() - before
    figures: Figures = {
        "ingest through the retriever, embedding left out": (seconds / len(store) * 1e6, "us a sentence")
    }
    if KNOWS_MEMORY:
        figures["ingest through the retriever, peak memory"] = (peak / 1e6, "MB")
        figures["ingest through the retriever, memory of the store after a search"] = (after / 1e6, "MB")
    store.close()
    return figures


def text(folder: Path) -> Figures:
    """Ask about the real text of the collection that the folder names."""
    faiss.omp_set_num_threads(1)
    _load_libraries()
    return measure_text(Path((folder / "collection").read_text(encoding="utf-8")), folder)


class PooledVectors(Embeddings):
    """Gives each text one of a thousand vectors, as Python lists, and notes the seconds that takes."""

    def __init__(self) -> None:
        """Draw the vectors."""
        self._pool = unit(np.random.default_rng(9).standard_normal((1_000, DIMENSION), dtype=np.float32))
        self.seconds = 0.0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Give texts vectors of the pool."""
        start = time.thread_time()
        found = [self._pool[hash(text) % len(self._pool)].tolist() for text in texts]
        self.seconds += time.thread_time() - start
        return found

    def embed_query(self, text: str) -> list[float]:
        """Give a text a vector of the pool."""
        return self.embed_documents([text])[0]


def whole_documents(stream: Stream, spent: list[float]) -> Iterable[Document]:
    """Yield the source documents of a stream, and add up the seconds that making them takes."""
    for number in stream.blocks:
        start = time.thread_time()
        texts, first = stream.texts(number), stream.rows(number).start // PER_DOCUMENT
        spent[0] += time.thread_time() - start
        for at in range(0, len(texts), PER_DOCUMENT):
            text = " ".join(each.capitalize() for each in texts[at : at + PER_DOCUMENT])
            yield Document(text, metadata={"doc_id": str(first + at // PER_DOCUMENT), "source": "a.md"})


STEPS: dict[str, Callable[[Path], Figures]] = {
    "prepare": prepare,
    "build": build,
    "search": search,
    "opening": opening,
    "memory": memory,
    "change": change,
    "streamed": streamed,
}
"""The steps by name, in the order in which they run."""


def make_store(embedding: Embeddings, path: Path, index: str | None) -> FaissStore:
    """Make a store on one thread."""
    faiss.omp_set_num_threads(1)
    return FaissStore(embedding, path, index) if index else FaissStore(embedding, path)


def settle(store: FaissStore) -> None:
    """Wait until no change of the index is under way."""
    while getattr(store.stats(), "index_to_come", None):
        time.sleep(0.1)


def row_of(document: Document) -> int:
    """Return the number of a sentence in its stream."""
    return int(document.metadata["doc_id"]) * PER_DOCUMENT + int(document.metadata["sentence_index"])


def _load_libraries() -> None:
    """Load all that a store needs, so that it counts neither as time nor as memory."""
    _QUESTIONS["a"] = _TEXTS["A b."] = [1.0] * DIMENSION
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(LookedUp()))
    retriever.add_documents([Document("A b.")])
    retriever.invoke("a")
    del retriever
    gc.collect()


def _yardstick(questions: Vectors) -> Figures:
    chance = np.random.default_rng(1)
    raw = faiss.IndexFlatIP(DIMENSION)
    raw.add(unit(chance.standard_normal((YARDSTICK, DIMENSION), dtype=np.float32)))
    seconds = cpu_each([lambda number=number: raw.search(questions[number : number + 1], K) for number in range(40)])  # type: ignore[misc]
    return {f"yardstick: raw FAISS, {YARDSTICK} vectors": (_median(seconds) * 1e3, "ms")}


def _times(name: str, seconds: list[float]) -> Figures:
    return {
        name: (_median(seconds) * 1e3, "ms"),
        f"{name}, slowest twentieth from": (float(np.quantile(seconds, 0.95)) * 1e3, "ms"),
    }


def _median(seconds: list[float]) -> float:
    return float(np.median(seconds))
