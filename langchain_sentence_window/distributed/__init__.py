"""Past one machine: what loads a vector store from many processes, and an ingest on Ray Data."""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from langchain_sentence_window.distributed.bulk import BulkWriter
    from langchain_sentence_window.distributed.document_writer import DocumentWriter
    from langchain_sentence_window.distributed.ingesting import ingest
    from langchain_sentence_window.distributed.outcomes import IngestSummary, Outcome
    from langchain_sentence_window.distributed.rows import DocumentRows

__all__ = ["BulkWriter", "DocumentRows", "DocumentWriter", "IngestSummary", "Outcome", "ingest"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "BulkWriter": "bulk",
        "DocumentRows": "rows",
        "DocumentWriter": "document_writer",
        "IngestSummary": "outcomes",
        "Outcome": "outcomes",
        "ingest": "ingesting",
    },
)
