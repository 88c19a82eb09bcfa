"""Past one machine: what loads a vector store from many processes, and an ingest on Ray Data."""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from .bulk_writer import BulkWriter
    from .document_rows import DocumentRows
    from .document_writer import DocumentWriter
    from .ingest_summary import IngestSummary, Outcome
    from .ray_ingest import ingest

__all__ = ["BulkWriter", "DocumentRows", "DocumentWriter", "IngestSummary", "Outcome", "ingest"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "bulk_writer": ["BulkWriter"],
        "document_rows": ["DocumentRows"],
        "document_writer": ["DocumentWriter"],
        "ingest_summary": ["IngestSummary", "Outcome"],
        "ray_ingest": ["ingest"],
    },
)
