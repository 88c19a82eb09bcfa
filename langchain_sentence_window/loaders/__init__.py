"""Documents from files: PDFs as text with structure.

    documents = load_pdf("contract.pdf")
    documents = load_pdf("contracts/")
    retriever = SentenceWindowRetriever.from_documents(PDFLoader("contracts/").lazy_load(), embedding)

One Document a page, in reading order, without running heads and feet. PDFs need the extra ``pdf``.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from langchain_sentence_window.loaders.pdf.loader import PDFLoader, load_pdf

__all__ = ["PDFLoader", "load_pdf"]

_HOMES = {"PDFLoader": "pdf.loader", "load_pdf": "pdf.loader"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
