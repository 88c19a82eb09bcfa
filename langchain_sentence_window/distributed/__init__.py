"""Loads a vector store from many processes, with any engine or with Ray Data."""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from .document_writer import DocumentWriter
    from .ingest_summary import IngestSummary, Outcome
    from .ray_ingest import ingest

__all__ = ["DocumentWriter", "IngestSummary", "Outcome", "ingest"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "document_writer": ["DocumentWriter"],
        "ingest_summary": ["IngestSummary", "Outcome"],
        "ray_ingest": ["ingest"],
    },
)
