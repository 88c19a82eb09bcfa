"""Reads files as Documents: PDF, HTML, office files, mail, Markdown and other markup, and text.

    documents = load_pdf("contract.pdf")
    documents = load_pdf("contracts/")
    documents = load_file("handbook.docx")
    retriever = SentenceWindowRetriever.from_documents(PDFLoader("contracts/").lazy_load(), embedding)

    (window, *_) = retriever.invoke("When is the fee due?")
    locate(window)                  # the boxes of its sentences on their pages
    highlight(window, "fee.png")    # or a copy of the file with marks: "fee.pdf"

A PDF becomes one Document a page, in reading order, without running heads and feet.
"""

from .file_loader import FileLoader, load_bytes, load_file
from .pdf.highlighting import highlight
from .pdf.pdf_loader import PDFLoader, load_pdf
from .pdf.sentence_places import PageBox, SentencePlace, locate

__all__ = [
    "FileLoader",
    "PDFLoader",
    "PageBox",
    "SentencePlace",
    "highlight",
    "load_bytes",
    "load_file",
    "load_pdf",
    "locate",
]
