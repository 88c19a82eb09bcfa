"""Sentence-window retrieval for LangChain: search sentences, answer from verbatim, cited windows."""

from typing import TYPE_CHECKING

from ._lazy import lazy_names

if TYPE_CHECKING:
    from .agents.middleware import SentenceWindowMiddleware, SentenceWindowState
    from .agents.tools import create_tools
    from .answering.chain import create_rag_chain
    from .answering.citations import Citation, find_citations, renumber_citations
    from .answering.content_blocks import citation_blocks, cited_message
    from .answering.context import as_search_results, format_context
    from .answering.conversation import shown_sources
    from .answering.locations import describe_location
    from .answering.quotes.verification import QuotedPlace, VerifiedQuote, verify_quote, verify_quotes
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
    from .retrieval.stored_chunks import ChunkSurvey, aread_chunks, asurvey_chunks, read_chunks, survey_chunks
    from .retrieval.tracing.sentence_fate import SentenceFate
    from .store.bm25_index import BM25Index
    from .store.check import CheckResult
    from .store.faiss_store import FaissStore

__version__ = "1.0.0rc1"

__all__ = [
    "BM25Index",
    "CheckResult",
    "ChunkSurvey",
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
    "SentenceWindowMiddleware",
    "SentenceWindowRetriever",
    "SentenceWindowState",
    "VerifiedQuote",
    "acopy_index",
    "aread_chunks",
    "as_search_results",
    "asurvey_chunks",
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
    "read_chunks",
    "read_index_settings",
    "renumber_citations",
    "serve_mcp",
    "shown_sources",
    "survey_chunks",
    "verify_quote",
    "verify_quotes",
    "write_index_settings",
]

# Imported on use: a program that only splits needs neither FAISS nor prompts.
_NAMES = {
    "agents.middleware": ["SentenceWindowMiddleware", "SentenceWindowState"],
    "agents.tools": ["create_tools"],
    "answering.chain": ["create_rag_chain"],
    "answering.citations": ["Citation", "find_citations", "renumber_citations"],
    "answering.content_blocks": ["citation_blocks", "cited_message"],
    "answering.context": ["as_search_results", "format_context"],
    "answering.conversation": ["shown_sources"],
    "answering.locations": ["describe_location"],
    "answering.quotes.verification": ["QuotedPlace", "VerifiedQuote", "verify_quote", "verify_quotes"],
    "apps.mcp.mcp_server": ["create_mcp_server", "serve_mcp"],
    "documents.indexed_documents": ["IndexedDocument"],
    "documents.splitter": ["SentenceSplitter"],
    "documents.window_merging": ["merge_windows"],
    "embedding.contextual_vectors": ["NeighborMixedEmbeddings"],
    "embedding.named_embedders": ["load_embedding"],
    "ranking.ranking": ["Ranking"],
    "reranking.cross_encoder": ["CrossEncoderReranker", "SentenceTransformerCrossEncoder"],
    "reranking.late_interaction": ["LateInteractionReranker"],
    "retrieval.index_settings": ["check_index", "IndexSettings", "read_index_settings", "write_index_settings"],
    "retrieval.indexing": ["acopy_index", "copy_index"],
    "retrieval.retriever": ["SentenceWindowRetriever"],
    "retrieval.stored_chunks": ["ChunkSurvey", "aread_chunks", "asurvey_chunks", "read_chunks", "survey_chunks"],
    "retrieval.tracing.sentence_fate": ["SentenceFate"],
    "store.bm25_index": ["BM25Index"],
    "store.faiss_store": ["FaissStore"],
    "store.check": ["CheckResult"],
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES, needs={"langchain": "agents"})
