"""Check that what LangChain's own loaders and splitters return is joined, by whatever keys they write."""

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from langchain_community.document_loaders import (
    CSVLoader,
    PyPDFium2Loader,
    PyPDFLoader,
    TextLoader,
)
from langchain_core.document_loaders import BaseLoader
from langchain_text_splitters import CharacterTextSplitter, MarkdownTextSplitter, RecursiveCharacterTextSplitter
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate

from langchain_sentence_window import FaissStore, SentenceSplitter, SentenceWindowRetriever
from tests.toys import WordEmbeddings

LOADERS: dict[str, Callable[[str], BaseLoader]] = {
    "PyPDFLoader": PyPDFLoader,
    "PyPDFium2Loader": PyPDFium2Loader,
}
SENTENCES = [
    f"Party number {n} pays {n * 13} dollars for the seat that the other party names before the end of the month."
    for n in range(60)
]


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PDF whose pages end within sentences, with a running head and page numbers."""
    path = tmp_path_factory.mktemp("pdf") / "contract.pdf"

    def edges(canvas: Canvas, layout: Any) -> None:
        canvas.drawString(60, 560, "Seat Agreement of Acme Corp.")
        canvas.drawString(200, 25, f"Page {canvas.getPageNumber()}")

    style = getSampleStyleSheet()["Normal"]
    page = SimpleDocTemplate(str(path), pagesize=A5)
    page.build([Paragraph(" ".join(SENTENCES), style)], onFirstPage=edges, onLaterPages=edges)
    return path


@pytest.mark.parametrize("name", LOADERS)
def test_sentences_run_across_the_pages_of_each_loader(name: str, contract: Path) -> None:
    pages = LOADERS[name](str(contract)).load()
    assert len(pages) >= 3
    cut = [each.page_content for each in SentenceSplitter().split_documents(pages)]
    assert [" ".join(each.split()) for each in cut] == SENTENCES
    assert any(page.page_content.strip()[-1] != "." for page in pages)


@pytest.mark.parametrize("name", LOADERS)
def test_a_loop_over_lazy_pages_loses_none(name: str, contract: Path) -> None:
    retriever = SentenceWindowRetriever(vectorstore=FaissStore(WordEmbeddings()))
    loader = LOADERS[name](str(contract))
    for page in loader.lazy_load():
        retriever.add_documents([page])
    [found] = retriever.get([str(contract)])
    retriever.add_documents(loader.load())
    assert retriever.get([str(contract)]) == [found]
    assert " ".join(found.page_content.split()) == " ".join(SENTENCES)


def test_each_row_of_a_table_is_a_section(tmp_path: Path) -> None:
    path = tmp_path / "prices.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["name", "price"], *([f"Seat {n}", n * 10] for n in range(5))])
    made = SentenceSplitter().split_documents(CSVLoader(str(path)).load())
    assert {each.metadata["doc_id"] for each in made} == {str(path)}
    assert len({each.metadata["section_start"] for each in made}) == 5
    assert [each.metadata["row"] for each in made] == sorted(each.metadata["row"] for each in made)


TEXT = (
    "# Fees\n\n"
    + " ".join(SENTENCES[:20])
    + "\n\n## Term\n\n"
    + "\n".join(SENTENCES[20:30])
    + "\n\n- a card\n- a page\n"
)


@pytest.mark.parametrize("kind", [RecursiveCharacterTextSplitter, CharacterTextSplitter, MarkdownTextSplitter])
@pytest.mark.parametrize("with_offsets", [True, False])
def test_the_chunks_of_a_file_are_put_together_again(kind: Any, with_offsets: bool, tmp_path: Path) -> None:
    path = tmp_path / "terms.md"
    path.write_text(TEXT, encoding="utf-8")
    given = TextLoader(str(path), encoding="utf-8").load()
    separator = {"separator": " "} if kind is CharacterTextSplitter else {}
    chunks = kind(chunk_size=300, chunk_overlap=120, add_start_index=with_offsets, **separator).split_documents(given)
    assert len(chunks) > 5
    whole = [" ".join(each.page_content.split()) for each in SentenceSplitter().split_documents(given)]
    made = [" ".join(each.page_content.split()) for each in SentenceSplitter().split_documents(chunks)]
    if with_offsets:
        assert made == whole
    else:  # where chunks don't overlap, a section ends
        assert set(whole) <= set(made) or len(set(whole) - set(made)) <= 3
