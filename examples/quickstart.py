"""Ask questions about your own Markdown and text files.

    python examples/quickstart.py --documents DIR --question "…" [--question "…"]

The index is kept in a folder. A later run embeds only the sentences that are new, and the questions. With
OPENAI_API_KEY set, a model also answers from what was found.
"""

import argparse
import sys
from pathlib import Path

from shared import load_chat_model, load_embeddings, read_documents
from showing import ask

from langchain_sentence_window import FaissStore, SentenceWindowRetriever
from langchain_sentence_window.errors import SentenceWindowError


def main() -> None:
    """Read the command line, bring the index up to date, and ask."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=Path, required=True, help="a folder with .md and .txt files")
    parser.add_argument("--question", action="append", required=True, help="may be given several times")
    parser.add_argument("--index", type=Path, help="where to keep the index (default: .index beside this file)")
    parser.add_argument("-k", type=int, default=3, help="windows to show for a question (default: 3)")
    options = parser.parse_args()
    try:
        retriever = open_index(options.documents, options.index)
        retriever.k = options.k
        model = load_chat_model()
        for question in options.question:
            ask(retriever, model, question)
    except SentenceWindowError as error:
        sys.exit(f"{type(error).__name__}: {error}")


def open_index(folder: Path, path: Path | None) -> SentenceWindowRetriever:
    """Open the index of a folder, or make it, and bring it up to date."""
    path = path or Path(__file__).parent / ".index" / folder.resolve().name
    documents = read_documents(folder)
    store = FaissStore(load_embeddings(), path)
    store.delete(filter={"doc_id": {"$nin": [document.id for document in documents]}})  # of files that are gone
    retriever = SentenceWindowRetriever(vectorstore=store)
    retriever.add_documents(documents, show_progress=True)  # embeds only what is new
    print(f"The index in {path} holds {len(documents)} documents, {len(store)} sentences.")
    return retriever


if __name__ == "__main__":
    main()
