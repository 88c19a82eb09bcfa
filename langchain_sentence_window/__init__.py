"""Sentence-window retrieval for LangChain: search sentences, answer from verbatim, cited windows."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_sentence_window.answering.chain import create_rag_chain
    from langchain_sentence_window.answering.context import Citation, find_citations, format_context
    from langchain_sentence_window.answering.tools import create_tools
    from langchain_sentence_window.any_store.transfer import acopy_index, copy_index
    from langchain_sentence_window.any_store.words import WordIndex
    from langchain_sentence_window.embedding.in_context import EmbeddingsInContext
    from langchain_sentence_window.reranking.cross_encoder import CrossEncoderReranker, SentenceTransformerCrossEncoder
    from langchain_sentence_window.reranking.late_interaction import LateInteractionReranker
    from langchain_sentence_window.retriever import SentenceWindowRetriever
    from langchain_sentence_window.splitter import SentenceSplitter
    from langchain_sentence_window.store.faiss_store import FaissStore

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
    "Citation": "answering.context",
    "CrossEncoderReranker": "reranking.cross_encoder",
    "EmbeddingsInContext": "embedding.in_context",
    "FaissStore": "store.faiss_store",
    "LateInteractionReranker": "reranking.late_interaction",
    "SentenceSplitter": "splitter",
    "SentenceTransformerCrossEncoder": "reranking.cross_encoder",
    "SentenceWindowRetriever": "retriever",
    "create_rag_chain": "answering.chain",
    "WordIndex": "any_store.words",
    "acopy_index": "any_store.transfer",
    "copy_index": "any_store.transfer",
    "create_tools": "answering.tools",
    "find_citations": "answering.context",
    "format_context": "answering.context",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
