"""Sentence-window retrieval for LangChain: search sentences, answer from verbatim, cited windows."""

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .answering.chain import create_rag_chain
    from .answering.citations import Citation, find_citations, renumber_citations
    from .answering.content_blocks import citation_blocks, cited_message
    from .answering.context import as_search_results, format_context
    from .answering.conversation import shown_sources
    from .answering.locations import describe_location
    from .answering.quotes.verification import QuotedPlace, VerifiedQuote, verify_quote, verify_quotes
    from .answering.tools import create_tools
    from .apps.mcp.mcp_server import create_mcp_server, serve_mcp
    from .documents.indexed_documents import IndexedDocument
    from .documents.splitter import SentenceSplitter
    from .documents.window_merging import merge_windows
    from .embedding.contextual_vectors import NeighborMixedEmbeddings
    from .embedding.named_embedders import load_embedding
    from .ranking.ranking import Ranking
    from .reranking.cross_encoder import CrossEncoderReranker, SentenceTransformerCrossEncoder
    from .reranking.late_interaction import LateInteractionReranker
    from .retrieval.index_settings import IndexSettings, check_index, read_index_settings, write_index_settings
    from .retrieval.indexing import acopy_index, copy_index
    from .retrieval.retriever import SentenceWindowRetriever
    from .retrieval.tracing.sentence_outcome import SentenceFate
    from .stores.bm25_index import BM25Index
    from .stores.faiss.faiss_store import FaissStore
    from .stores.faiss.soundness import CheckResult

__version__ = "0.1.0"

__all__ = [
    "BM25Index",
    "CheckResult",
    "Citation",
    "CrossEncoderReranker",
    "FaissStore",
    "IndexSettings",
    "IndexedDocument",
    "LateInteractionReranker",
    "NeighborMixedEmbeddings",
    "QuotedPlace",
    "Ranking",
    "SentenceFate",
    "SentenceSplitter",
    "SentenceTransformerCrossEncoder",
    "SentenceWindowRetriever",
    "VerifiedQuote",
    "acopy_index",
    "as_search_results",
    "check_index",
    "citation_blocks",
    "cited_message",
    "copy_index",
    "create_mcp_server",
    "create_rag_chain",
    "create_tools",
    "describe_location",
    "find_citations",
    "format_context",
    "load_embedding",
    "merge_windows",
    "read_index_settings",
    "renumber_citations",
    "serve_mcp",
    "shown_sources",
    "verify_quote",
    "verify_quotes",
    "write_index_settings",
]

# Imported on use: a program that only splits needs neither FAISS nor prompts.
_HOMES = {
    "CheckResult": "stores.faiss.soundness",
    "IndexSettings": "retrieval.index_settings",
    "SentenceFate": "retrieval.tracing.sentence_outcome",
    "check_index": "retrieval.index_settings",
    "load_embedding": "embedding.named_embedders",
    "read_index_settings": "retrieval.index_settings",
    "write_index_settings": "retrieval.index_settings",
    "Citation": "answering.citations",
    "CrossEncoderReranker": "reranking.cross_encoder",
    "NeighborMixedEmbeddings": "embedding.contextual_vectors",
    "FaissStore": "stores.faiss.faiss_store",
    "IndexedDocument": "documents.indexed_documents",
    "LateInteractionReranker": "reranking.late_interaction",
    "Ranking": "ranking.ranking",
    "SentenceSplitter": "documents.splitter",
    "SentenceTransformerCrossEncoder": "reranking.cross_encoder",
    "SentenceWindowRetriever": "retrieval.retriever",
    "create_rag_chain": "answering.chain",
    "BM25Index": "stores.bm25_index",
    "acopy_index": "retrieval.indexing",
    "copy_index": "retrieval.indexing",
    "create_tools": "answering.tools",
    "describe_location": "answering.locations",
    "find_citations": "answering.citations",
    "renumber_citations": "answering.citations",
    "format_context": "answering.context",
    "merge_windows": "documents.window_merging",
    "QuotedPlace": "answering.quotes.verification",
    "VerifiedQuote": "answering.quotes.verification",
    "as_search_results": "answering.context",
    "citation_blocks": "answering.content_blocks",
    "cited_message": "answering.content_blocks",
    "create_mcp_server": "apps.mcp.mcp_server",
    "serve_mcp": "apps.mcp.mcp_server",
    "shown_sources": "answering.conversation",
    "verify_quote": "answering.quotes.verification",
    "verify_quotes": "answering.quotes.verification",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
