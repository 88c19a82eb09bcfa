"""How the examples show windows, answers and citations in a terminal."""

import sys
import textwrap
from pathlib import Path

from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel

from langchain_sentence_window import SentenceWindowRetriever, create_rag_chain, describe_location


def ask(retriever: SentenceWindowRetriever, model: BaseChatModel | None, question: str, title: str = "") -> None:
    """Print what is found below a title, and with a model its answer as it is written, and what it cites."""
    print(f"\n{title or question}")
    if model is None:
        show_windows(retriever.invoke(question))
        return
    for part in create_rag_chain(retriever, model).stream(question):
        if "context" in part:
            show_windows(part["context"])
            print("\nAnswer: ", end="")
        show_answer(part)
    print()


def show_answer(part: dict[str, object]) -> None:
    """Print a part of a chain's stream: a piece of the answer, or its citations."""
    print(part.get("answer", ""), end="", flush=True)
    for citation in part.get("citations", []):  # type: ignore[attr-defined]
        print(f"\n  [{citation.number}] {citation.location}", end="")


def show_windows(windows: list[Document]) -> None:
    """Print windows with their places and scores, hits marked."""
    for number, window in enumerate(windows, 1):
        metadata = window.metadata
        reranked = f", reranked {metadata['relevance_score']:.3f}" if "relevance_score" in metadata else ""
        print(f"\n[{number}] {describe_location(window)} · score {metadata['score']:.3f}{reranked}")
        print(textwrap.indent(mark_hits(window), "    "))


def mark_hits(window: Document) -> str:
    """Return a window's text with its hits in bold on a terminal, else between arrows."""
    before, after = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("»", "«")
    text, start = window.page_content, window.metadata["start_index"]
    for hit in reversed(window.metadata["hits"]):
        left, right = hit["start_index"] - start, hit["end_index"] - start
        text = f"{text[:left]}{before}{text[left:right]}{after}{text[right:]}"
    return text


def invite(index: Path) -> None:
    """Print the command that opens the page of an index."""
    command = Path(sys.executable).with_name("sentence-window")
    print(f"\nLook into the index in your browser: {command} serve --index {index}")
