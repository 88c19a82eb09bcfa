"""Sentence-window retrieval for LangChain: search sentences, answer from verbatim, cited windows."""

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .agents.middleware import SentenceWindowMiddleware
    from .agents.tools import create_tools
    from .answering.chain import create_rag_chain
    from .answering.citations import find_citations
    from .answering.context import format_context
    from .answering.conversation import shown_sources
    from .answering.locations import describe_location
    from .answering.quotes.verification import verify_quote, verify_quotes
    from .documents.splitter import SentenceSplitter
    from .documents.window_merging import merge_windows
    from .embedding.named_embedders import load_embedding
    from .ranking.ranking import Ranking
    from .reranking.cross_encoder import CrossEncoderReranker, SentenceTransformerCrossEncoder
    from .reranking.late_interaction import LateInteractionReranker
    from .retrieval.copying import acopy_index, copy_index
    from .retrieval.retriever import SentenceWindowRetriever
    from .store.faiss_store import FaissStore

__version__ = "1.0.0rc2"

__all__ = [  # noqa: RUF022 - in the order in which a user meets them
    "SentenceWindowRetriever",
    "load_embedding",
    "FaissStore",
    "SentenceSplitter",
    "merge_windows",
    "Ranking",
    "CrossEncoderReranker",
    "SentenceTransformerCrossEncoder",
    "LateInteractionReranker",
    "format_context",
    "describe_location",
    "create_rag_chain",
    "find_citations",
    "verify_quote",
    "verify_quotes",
    "create_tools",
    "SentenceWindowMiddleware",
    "shown_sources",
    "copy_index",
    "acopy_index",
]

# Imported on use: a program that only splits needs neither FAISS nor prompts.
_NAMES = {
    "agents.middleware": ["SentenceWindowMiddleware"],
    "agents.tools": ["create_tools"],
    "answering.chain": ["create_rag_chain"],
    "answering.citations": ["find_citations"],
    "answering.context": ["format_context"],
    "answering.conversation": ["shown_sources"],
    "answering.locations": ["describe_location"],
    "answering.quotes.verification": ["verify_quote", "verify_quotes"],
    "documents.splitter": ["SentenceSplitter"],
    "documents.window_merging": ["merge_windows"],
    "embedding.named_embedders": ["load_embedding"],
    "ranking.ranking": ["Ranking"],
    "reranking.cross_encoder": ["CrossEncoderReranker", "SentenceTransformerCrossEncoder"],
    "reranking.late_interaction": ["LateInteractionReranker"],
    "retrieval.copying": ["acopy_index", "copy_index"],
    "retrieval.retriever": ["SentenceWindowRetriever"],
    "store.faiss_store": ["FaissStore"],
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES, needs={"langchain": "agents"})
