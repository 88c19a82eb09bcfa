"""The demo: a support desk's billing policy and the operations manual of a made-up database.

    python examples/demo.py [--index DIR] [--reranker NAME_OR_PATH]

Six questions whose answers turn on a clause some sentences after the one that matches. The embedding model ranks
the windows again, or a cross-encoder that you name. With OPENAI_API_KEY set, a model also answers.
"""

import argparse
import sys
from pathlib import Path

from langchain_core.documents import BaseDocumentCompressor
from langchain_core.embeddings import Embeddings
from quickstart import open_index
from shared import DOCUMENTS, load_chat_model
from showing import ask, invite

from langchain_sentence_window import CrossEncoderReranker, LateInteractionReranker, SentenceTransformerCrossEncoder
from langchain_sentence_window.errors import MissingExtraError, SentenceWindowError

QUESTIONS = (
    "I paid for a whole year two weeks ago and have taken about 150 appointments since. Can I still get my money back?",
    "Can I settle a yearly bill of 350 euros from our bank account by wire?",
    "An agent gave me a small credit to say sorry for a mix-up last year. Is it still good?",
    "Is every page re-read and compared with its checksum after it was written, out of the box?",
    "Can I roll data in archived object-store tables back to an exact second last week?",
    "Our cluster is encrypted on disk. Does that mean the backup files cannot be read by others?",
)


def main() -> None:
    """Index the example documents if need be, and ask the six questions."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", type=Path, help="where to keep the index (default: .index beside this file)")
    parser.add_argument("--reranker", help="a cross-encoder's name or folder")
    options = parser.parse_args()
    try:
        retriever = open_index(DOCUMENTS, index := options.index or DOCUMENTS.parent / ".index" / "demo")
        retriever.k, retriever.window = 3, (2, 3)  # more around a hit than by default, as a person reads it
        retriever.reranker = load_reranker(options.reranker, retriever.vectorstore.embeddings)
        for number, question in enumerate(QUESTIONS, 1):
            ask(retriever, load_chat_model(), question, title=f"{'=' * 100}\n{number}. {question}")
        invite(index)
    except SentenceWindowError as error:
        sys.exit(f"{type(error).__name__}: {error}")


def load_reranker(name: str | None, embedding: Embeddings | None) -> BaseDocumentCompressor:
    """Load a cross-encoder, or else use the token vectors of the embedding model."""
    try:
        if name:
            return CrossEncoderReranker(model=SentenceTransformerCrossEncoder(name))
    except (MissingExtraError, OSError, ValueError) as error:
        print(f"Reranking by late interaction: the cross-encoder {name!r} can't be loaded: {error}")
    return LateInteractionReranker(model=embedding, weight=10.0)  # the questions share few words with their answers


if __name__ == "__main__":
    main()
