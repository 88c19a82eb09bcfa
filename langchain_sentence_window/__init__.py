"""Sentence-window retrieval for LangChain: search sentences, answer from verbatim, cited windows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_sentence_window.chain import create_rag_chain
    from langchain_sentence_window.context import Citation, find_citations, format_context
    from langchain_sentence_window.in_context import EmbeddingsInContext
    from langchain_sentence_window.late_interaction import LateInteractionReranker
    from langchain_sentence_window.rerank import CrossEncoderReranker, SentenceTransformerCrossEncoder
    from langchain_sentence_window.retriever import SentenceWindowRetriever
    from langchain_sentence_window.splitter import SentenceSplitter
    from langchain_sentence_window.store.faiss_store import FaissStore
    from langchain_sentence_window.tools import create_tools
    from langchain_sentence_window.transfer import acopy_index, copy_index
    from langchain_sentence_window.words import WordIndex

__version__ = "0.1.0"

__all__ = [
    "Citation",
    "CrossEncoderReranker",
    "EmbeddingsInContext",
    "FaissStore",
    "LateInteractionReranker",
    "SentenceSplitter",
    "SentenceTransformerCrossEncoder",
    "SentenceWindowRetriever",
    "WordIndex",
    "acopy_index",
    "copy_index",
    "create_rag_chain",
    "create_tools",
    "find_citations",
    "format_context",
]

# Imported on use: a program that only splits needs neither FAISS nor prompts.
_HOMES = {
    "Citation": "context",
    "CrossEncoderReranker": "rerank",
    "EmbeddingsInContext": "in_context",
    "FaissStore": "store.faiss_store",
    "LateInteractionReranker": "late_interaction",
    "SentenceSplitter": "splitter",
    "SentenceTransformerCrossEncoder": "rerank",
    "SentenceWindowRetriever": "retriever",
    "create_rag_chain": "chain",
    "WordIndex": "words",
    "acopy_index": "transfer",
    "copy_index": "transfer",
    "create_tools": "tools",
    "find_citations": "context",
    "format_context": "context",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
