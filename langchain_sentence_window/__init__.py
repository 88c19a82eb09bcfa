"""Sentence-window retrieval for LangChain: search sentences, answer from verbatim, cited windows."""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from langchain_sentence_window.answering.chain import create_rag_chain
    from langchain_sentence_window.answering.citations import Citation, find_citations
    from langchain_sentence_window.answering.content_blocks import citation_blocks, cited_message
    from langchain_sentence_window.answering.context import as_search_results, format_context
    from langchain_sentence_window.answering.locations import describe_location
    from langchain_sentence_window.answering.quotes.verification import (
        QuotedPlace,
        VerifiedQuote,
        verify_quote,
        verify_quotes,
    )
    from langchain_sentence_window.answering.tools import create_tools
    from langchain_sentence_window.apps.mcp.mcp_server import create_mcp_server, serve_mcp
    from langchain_sentence_window.documents.indexed_documents import IndexedDocument
    from langchain_sentence_window.documents.splitter import SentenceSplitter
    from langchain_sentence_window.documents.window_merging import merge_windows
    from langchain_sentence_window.embedding.contextual_vectors import NeighborMixedEmbeddings
    from langchain_sentence_window.embedding.named_embedders import load_embedding
    from langchain_sentence_window.ranking.ranking import Ranking
    from langchain_sentence_window.reranking.cross_encoder import CrossEncoderReranker, SentenceTransformerCrossEncoder
    from langchain_sentence_window.reranking.late_interaction import LateInteractionReranker
    from langchain_sentence_window.retrieval.index_settings import (
        IndexSettings,
        check_index,
        read_index_settings,
        write_index_settings,
    )
    from langchain_sentence_window.retrieval.indexing import acopy_index, copy_index
    from langchain_sentence_window.retrieval.retriever import SentenceWindowRetriever
    from langchain_sentence_window.retrieval.tracing.sentence_outcome import SentenceFate
    from langchain_sentence_window.stores.bm25_index import BM25Index
    from langchain_sentence_window.stores.faiss.faiss_store import FaissStore
    from langchain_sentence_window.stores.faiss.soundness import CheckResult

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
    "serve_mcp",
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
    "format_context": "answering.context",
    "merge_windows": "documents.window_merging",
    "QuotedPlace": "answering.quotes.verification",
    "VerifiedQuote": "answering.quotes.verification",
    "as_search_results": "answering.context",
    "citation_blocks": "answering.content_blocks",
    "cited_message": "answering.content_blocks",
    "create_mcp_server": "apps.mcp.mcp_server",
    "serve_mcp": "apps.mcp.mcp_server",
    "verify_quote": "answering.quotes.verification",
    "verify_quotes": "answering.quotes.verification",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
