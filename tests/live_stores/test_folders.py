"""Indexes that follow files, in other vector stores."""

from pathlib import Path

import pytest
from langchain_core.vectorstores import VectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.folders import sync_files
from tests.live_stores import makers
from tests.loaders.files.writing import docx, file, paragraph
from tests.toys import WordEmbeddings


@pytest.mark.parametrize("name", ["community_faiss", "qdrant", "chroma", "milvus"])
def test_an_index_follows_its_files(name: str, tmp_path: Path, words: WordEmbeddings) -> None:
    make = getattr(makers, name)
    folder = tmp_path / "docs"
    store: VectorStore = make(words) if name in ("community_faiss", "qdrant") else make(words, tmp_path)
    retriever = SentenceWindowRetriever(vectorstore=store)
    file(folder / "a.md", "# Fees\n\nA refund is paid. A seat is not.")
    file(folder / "b.docx", docx(paragraph("A card is sent."), title="Cards"))
    first = sync_files(retriever, folder)
    assert (len(first.added), first.sentences) == (2, 4)
    assert len(sync_files(retriever, folder).unchanged) == 2
    (folder / "a.md").unlink()
    file(folder / "b.docx", docx(paragraph("An invoice is sent. A trial ends.")))
    last = sync_files(retriever, folder, delete=True)
    assert (len(last.updated), len(last.deleted)) == (1, 1)
    assert [(each.doc_id, each.sentences) for each in retriever.documents()] == [(str(folder / "b.docx"), 2)]
    assert retriever.invoke("invoice")[0].page_content == "An invoice is sent. A trial ends."
