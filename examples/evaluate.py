"""Measure retrieval on your own documents and questions: sentence windows versus fixed chunks.

    python examples/evaluate.py [DIR]

DIR holds Markdown and text files, and ``questions.jsonl``: on each line ``question``, ``doc_id`` (the file's path in
DIR) and ``spans``, ``[[start, end], …]`` of the evidence in characters. Without DIR it is the folder of this file: the
demo's documents, and 40 questions about them.
"""

import argparse
import sys
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_text_splitters import RecursiveCharacterTextSplitter
from shared import load_embeddings, read_documents

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowError
from langchain_sentence_window.evaluation import compare, read_questions

RETURNED = 40
"""Windows or chunks returned, enough for the largest budget."""


def main() -> None:
    """Read the command line, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=Path(__file__).parent, metavar="DIR")
    options = parser.parse_args()
    try:
        documents, questions = read_documents(options.folder), read_questions(options.folder / "questions.jsonl")
        comparison = compare(make_retrievers(documents), questions, documents=documents, show_progress=True)
    except (SentenceWindowError, OSError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
    print(comparison)


def make_retrievers(documents: list[Document]) -> dict[str, BaseRetriever]:
    """Index the documents as sentences, and as chunks of several sizes. All have the same embedding model."""
    embedding = load_embeddings()
    windows = SentenceWindowRetriever.from_documents(documents, embedding, k=RETURNED, show_progress=True)
    retrievers: dict[str, BaseRetriever] = {"sentence windows": windows}
    for size in (400, 800):
        splitter = RecursiveCharacterTextSplitter(chunk_size=size, chunk_overlap=0, add_start_index=True)
        store = InMemoryVectorStore.from_documents(splitter.split_documents(documents), embedding)
        retrievers[f"chunks of {size} characters"] = store.as_retriever(search_kwargs={"k": RETURNED})
    return retrievers


if __name__ == "__main__":
    main()
