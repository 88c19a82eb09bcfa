"""Documents from files: PDFs as text with structure, Markdown and other markup, text, HTML and office files.

    documents = load_pdf("contract.pdf")
    documents = load_pdf("contracts/")
    documents = load_file("handbook.docx")
    retriever = SentenceWindowRetriever.from_documents(PDFLoader("contracts/").lazy_load(), embedding)

    (window, *_) = retriever.invoke("When is the fee due?")
    locate(window)                  # where its sentences stand on their pages
    highlight(window, "fee.png")    # or a copy of the file with marks: "fee.pdf"

One Document a page, in reading order, without running heads and feet. Files other than Markdown and text
need the extra ``files``.
"""

from typing import TYPE_CHECKING

from langchain_sentence_window._lazy import lazy_names

if TYPE_CHECKING:
    from .file_loader import load_file
    from .pdf.pdf_file import PDFLoader, load_pdf
    from .pdf.sentence_places import PageBox, SentencePlace, highlight, locate

__all__ = ["PDFLoader", "PageBox", "SentencePlace", "highlight", "load_file", "load_pdf", "locate"]

_NAMES = {
    "file_loader": ["load_file"],
    "pdf.pdf_file": ["load_pdf", "PDFLoader"],
    "pdf.sentence_places": ["highlight", "locate", "PageBox", "SentencePlace"],
}

__getattr__, __dir__ = lazy_names(__name__, _NAMES)
