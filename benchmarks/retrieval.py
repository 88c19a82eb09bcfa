"""Measure what ranking and windows cost beside the searches they are made of, in one run.

    python -m benchmarks.retrieval [--sentences 100000] [--json PATH]

The corpus is that of `benchmarks.corpus`. Nothing is embedded. Searches are timed one by one, on one OpenMP
thread, in turn; ratios of their medians are what counts.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings

from benchmarks.corpus import Corpus
from benchmarks.results import Results, make_parser
from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window._io import BLOCKING, run
from langchain_sentence_window.embedding.vectors import NEIGHBOR_WEIGHTS
from langchain_sentence_window.ranking.candidates import CANDIDATES
from langchain_sentence_window.retrieval.expansion import WindowSetting
from langchain_sentence_window.retrieval.query import Query

TIMES = 5
"""How often each question is asked."""


class QuestionEmbeddings(Embeddings):
    """Looks the vector of a question up."""

    def __init__(self, corpus: Corpus) -> None:
        self._vectors: dict[str, list[float]] = dict(zip(corpus.questions, corpus.queries.tolist(), strict=True))

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise NotImplementedError

    def embed_query(self, text: str) -> list[float]:
        return self._vectors[text]


def measure(results: Results, sentences: int) -> None:
    """Measure, print and keep the figures."""
    faiss.omp_set_num_threads(1)
    corpus = Corpus(sentences)
    with tempfile.TemporaryDirectory(prefix="bench", ignore_cleanup_errors=True) as folder:
        store = _measure_ingest(results.note, corpus, Path(folder))
        _measure_queries(results.note, corpus, store)
        store.close()


def _measure_ingest(note: Callable[..., None], corpus: Corpus, folder: Path) -> FaissStore:
    stores = {
        name: FaissStore(QuestionEmbeddings(corpus), folder / name, neighbor_weights=weights)
        for name, weights in (("plain", (1.0,)), ("in context", NEIGHBOR_WEIGHTS))
    }
    seconds = dict.fromkeys(stores, 0.0)
    for documents, vectors in corpus.slices():
        _place(documents)
        for name, store in stores.items():  # in turn, so that what else the machine does befalls both
            start = time.perf_counter()
            store.add_embeddings(documents, vectors)
            store.similarity_search_by_vector(corpus.queries[0].tolist(), k=1)
            store.lexical_search(corpus.questions[0], k=1)
            seconds[name] += time.perf_counter() - start
    for name in stores:
        note(f"ingest, {name}", seconds[name] / corpus.count * 1e6, "us a sentence")
    more = (seconds["in context"] - seconds["plain"]) / corpus.count * 1e6
    note("ingest, what vectors in context cost", more, "us a sentence", 5)
    stores["plain"].close()
    return stores["in context"]


def _place(documents: list[Document]) -> None:
    """Let the sentences of each document follow one another, a space apart."""
    at = 0
    for document in documents:
        at = at if document.metadata["sentence_index"] else 0
        document.metadata["start_index"] = at
        document.metadata["end_index"] = at + len(document.page_content)
        at += len(document.page_content) + 1


def _measure_queries(note: Callable[..., None], corpus: Corpus, store: FaissStore) -> None:
    raw: Any = store._vectors._index._faiss  # type: ignore[union-attr]
    times: dict[str, list[float]] = {}
    settings: list[tuple[int, WindowSetting]] = [(10, "auto"), (40, "auto"), (4, 2), (10, 2)]
    for _ in range(TIMES):
        for number, question in enumerate(corpus.questions):
            vector = corpus.queries[number : number + 1]
            work: dict[str, Callable[[], object]] = {
                "raw": lambda: raw.search(vector, 50),  # noqa: B023
                "lexical": lambda: store.lexical_search(question, CANDIDATES),  # noqa: B023
                "hybrid": lambda: store.hybrid_search(question, 50),  # noqa: B023
            }
            for name, call in work.items():
                start = time.perf_counter()
                call()
                times.setdefault(name, []).append(time.perf_counter() - start)
            for k, window in settings:
                retriever = SentenceWindowRetriever(vectorstore=store, k=k, window=window)
                request = retriever._request(question, {})
                query = Query(BLOCKING, request)
                run(query.run())
                times.setdefault(f"windows, k = {k}, window = {window!r}", []).append(query.seconds["windows"])
    middle = {name: float(np.median(each)) * 1e3 for name, each in times.items()}
    note("the store's own FAISS index: search, k = 50", middle.pop("raw"), "ms")
    note(f"lexical search, k = {CANDIDATES}", middle.pop("lexical"), "ms")
    note("hybrid search, k = 50", middle.pop("hybrid"), "ms")
    parts = [a + b for a, b in zip(times["raw"], times["lexical"], strict=True)]
    note("hybrid search, to these two", float(np.median(times["hybrid"]) / np.median(parts)), "", 1.5)
    for name, value in middle.items():
        note(name, value, "ms", 0.5)


def main() -> None:
    """Read the command line and measure."""
    parser = make_parser(__doc__)
    parser.add_argument("--sentences", type=int, default=100_000)
    options = parser.parse_args()
    results = Results("retrieval", options)
    measure(results, options.sentences)
    results.save()


if __name__ == "__main__":
    main()
