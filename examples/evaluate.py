"""Measure retrieval on documents and questions: sentence windows, fixed chunks, plain windows.

    python examples/evaluate.py [DIR] [--plot FILE]

DIR holds Markdown and text files (or ``docs.jsonl`` with doc_id and text) and ``questions.jsonl``: on each line
question, doc_id (the file's path in DIR) and spans, ``[[start, end], …]`` of the evidence in code points. Without
DIR it is the folder of this file: the demo's documents and 40 questions about them, of which 20 need a
clause one to four sentences away from the sentence that matches.

All retrievers use the same vectors of all-MiniLM-L6-v2. The table shows how much of the evidence is in the
first 400 to 3,200 characters that each returns.
"""

import argparse
import json
import re
import sys
from pathlib import Path

import bm25s
import numpy as np
import numpy.typing as npt
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pydantic import PrivateAttr
from quickstart import load_embeddings, read_documents

from langchain_sentence_window import SentenceSplitter, SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import compare, read_questions

Floats = npt.NDArray[np.floating]

CHUNKS = ((400, 0), (800, 0), (2000, 200))
"""Characters of a chunk, and of its overlap with the next."""
SEPARATORS = ["\n\n", "\n", ".", "?", "!", " ", ""]
"""Chunks that end with sentences: a stronger baseline than those that end anywhere."""
PLAIN_WINDOWS = (1, 3)
RETURNED = 40
"""Windows or chunks returned, enough for the largest budget."""
LEXICAL_WEIGHT = 0.3
"""What BM25 adds to the dense score, both as z-scores."""


def main() -> None:
    """Read the command line, print the table and write the plot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent, metavar="DIR")
    parser.add_argument("--plot", type=Path, default=Path("evaluation.svg"), help="default: %(default)s")
    options = parser.parse_args()
    try:
        documents, questions = read_corpus(options.folder), read_questions(options.folder / "questions.jsonl")
        retrievers = make_retrievers(documents, CachedEmbeddings(load_embeddings()))
        comparison = compare(retrievers, questions, documents=documents, show_progress=True)
    except (SentenceWindowError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(comparison)
    comparison.plot(options.plot)
    print(f"Plot: {options.plot}")


def read_corpus(folder: Path) -> list[Document]:
    """Read ``docs.jsonl`` if there is one, else all Markdown and text files."""
    path = folder / "docs.jsonl"
    if not path.exists():
        return read_documents(folder)
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
    return [Document(page_content=record["text"], metadata={"doc_id": record["doc_id"]}) for record in records]


def make_retrievers(documents: list[Document], embedding: Embeddings) -> dict[str, BaseRetriever]:
    """Index the documents in each way."""
    retrievers: dict[str, BaseRetriever] = {
        "sentence windows": SentenceWindowRetriever.from_documents(documents, embedding, k=RETURNED, show_progress=True)
    }
    for size, overlap in CHUNKS:
        splitter = RecursiveCharacterTextSplitter(
            SEPARATORS, keep_separator="end", chunk_size=size, chunk_overlap=overlap, add_start_index=True
        )
        chunks = splitter.split_documents(documents)
        dense = InMemoryVectorStore.from_documents(chunks, embedding).as_retriever(search_kwargs={"k": RETURNED})
        retrievers[f"chunks of {size:,}, dense"] = dense
        retrievers[f"chunks of {size:,}, dense + BM25"] = HybridChunks(chunks, embedding)
    for size in PLAIN_WINDOWS:
        windows = plain_windows(documents, size)
        store = InMemoryVectorStore.from_documents(windows, embedding)
        retrievers[f"plain windows, {size} on each side"] = PlainWindows(store=store)
    return retrievers


class HybridChunks(BaseRetriever):
    """Chunks ranked by the sum of z-scored cosine and BM25."""

    _chunks: list[Document] = PrivateAttr()
    _embedding: Embeddings = PrivateAttr()
    _vectors: Floats = PrivateAttr()
    _bm25: bm25s.BM25 = PrivateAttr()

    def __init__(self, chunks: list[Document], embedding: Embeddings) -> None:
        """Index chunks in memory."""
        super().__init__()
        self._chunks, self._embedding = chunks, embedding
        self._vectors = np.array(embedding.embed_documents([chunk.page_content for chunk in chunks]))
        self._bm25 = bm25s.BM25()
        self._bm25.index([words(chunk.page_content) for chunk in chunks], show_progress=False)

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        dense = self._vectors @ np.array(self._embedding.embed_query(query))
        scores = z_scores(dense) + LEXICAL_WEIGHT * z_scores(self._bm25.get_scores(words(query)))
        return [self._chunks[i] for i in np.argsort(-scores)[:RETURNED]]


class PlainWindows(BaseRetriever):
    """Each hit's own window, as LlamaIndex's sentence windows are returned: neither merged nor cut at headings."""

    store: InMemoryVectorStore

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        hits = self.store.similarity_search(query, k=RETURNED)
        return [Document(page_content=hit.metadata["window"], metadata=hit.metadata) for hit in hits]


def plain_windows(documents: list[Document], size: int) -> list[Document]:
    """Make a Document of each sentence, with the window around it in its metadata."""
    made: list[Document] = []
    for document in documents:
        text = document.page_content
        spans = SentenceSplitter().spans(text)
        for i, (start, end) in enumerate(spans):
            first, last = spans[max(0, i - size)][0], spans[min(len(spans) - 1, i + size)][1]
            place = {**document.metadata, "start_index": first, "window": text[first:last]}
            made.append(Document(page_content=text[start:end], metadata=place))
    return made


class CachedEmbeddings(Embeddings):
    """Embeds no text twice, as several of the retrievers embed the same sentences and questions."""

    def __init__(self, embedding: Embeddings) -> None:
        """Wrap an embedder."""
        self.embedding = embedding
        self.known: dict[str, list[float]] = {}

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed those that are new."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if new:
            self.known.update(zip(new, self.embedding.embed_documents(new), strict=True))
        return [self.known[text] for text in texts]

    def embed_query(self, text: str) -> list[float]:
        """Embed a question; the model makes no difference between questions and documents."""
        return self.embed_documents([text])[0]


def words(text: str) -> list[str]:
    """The words that BM25 counts; an empty one where there are none, as it refuses no words at all."""
    return re.findall(r"\w+", text.lower()) or [""]


def z_scores(scores: Floats) -> Floats:
    """Scores with a mean of 0 and a standard deviation of 1."""
    scaled: Floats = (scores - scores.mean()) / (scores.std() + 1e-9)
    return scaled


if __name__ == "__main__":
    main()
