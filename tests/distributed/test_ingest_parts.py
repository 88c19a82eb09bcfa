"""The parts of an ingest that don't need Ray: stages, packed documents, counts, and the error if Ray is missing."""

import json
import subprocess
import sys
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_sentence_window import SentenceWindowRetriever
from langchain_sentence_window.distributed import DocumentWriter, IngestSummary, Outcome
from langchain_sentence_window.distributed.ray_stages import ROW, WriteDocuments, gather, pack_row, read_row, unpack_row
from langchain_sentence_window.documents.part_groups import Group
from langchain_sentence_window.documents.source_documents import JSON, MetadataFitter
from langchain_sentence_window.errors import (
    MissingExtraError,
    SentenceWindowWarning,
)
from langchain_sentence_window.stores import NeighborMixedEmbeddings
from tests.toys import WordEmbeddings

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(), each, max_size=3),
    max_leaves=5,
)


def sent(name: str, documents: list[Document]) -> Group:
    group = unpack_row(pack_row(name, documents, MetadataFitter(JSON))[ROW], join=True)
    assert isinstance(group, Group)
    return group


@given(st.text(), st.dictionaries(st.text(), values, max_size=4), st.text(min_size=1))
def test_documents_are_sent_unchanged(text: str, metadata: dict[str, Any], name: str) -> None:
    given_ = [Document(page_content=text, metadata=metadata, id=name)]
    group = sent(name, given_)
    assert (group.doc_id, [part.document for part in group.parts]) == (name, given_)


def test_rows_go_through_all_stages(words: WordEmbeddings) -> None:
    """Two pages of a document, in any order; a document that fails, and one whose text no UTF-8 can hold."""
    rows: list[dict[str, Any]] = [
        {"text": "The second page.", "source": "a", "page": 1},
        {"text": "The first page.", "source": "a", "page": 0},
        {"text": "A card \ud800.", "source": "b", "page": None},
        {"text": None, "source": "c", "page": None},
    ]
    by_name: dict[str, list[str]] = {}
    for row in rows:
        read = read_row(row, True)
        by_name.setdefault(read["name"], []).append(read[ROW])
    gathered = [gather({ROW: packed}, True)[ROW] for packed in by_name.values()]
    groups = [row for packed in gathered for row in (unpack_row(each, join=True) for each in packed)]
    assert [[part.text for part in group.parts] for group in groups if isinstance(group, Group)] == [
        ["The first page.", "The second page."],
        ["A card \ud800."],
    ]
    store = InMemoryVectorStore(NeighborMixedEmbeddings(words))
    written = WriteDocuments(DocumentWriter(lambda: store), True)({ROW: [row for packed in gathered for row in packed]})
    failed, *outcomes = [Outcome(**json.loads(row)) for row in written[ROW]]
    assert [(each.doc_id, each.status) for each in outcomes] == [("a", "written"), ("b", "written")]
    assert (failed.status, "a row has text None" in failed.error) == ("failed", True)
    assert len(store.store) == 3


def test_metadata_is_sent_as_a_retriever_stores_it(words: WordEmbeddings) -> None:
    own: dict[Any, Any] = {"day": date(2026, 5, 1), "tags": {"b", "a"}, 7: 1, "text": object(), "flag": np.bool_(1)}
    source = Document("A card.", id="a", metadata=own)
    (part,) = sent("a", [source]).parts
    assert part.document.metadata == {"day": "2026-05-01", "tags": ["a", "b"], "flag": True}
    retriever = SentenceWindowRetriever(vectorstore=InMemoryVectorStore(words), lexical_weight=0)
    with pytest.warns(SentenceWindowWarning, match="can't hold it: 7, 'text'"):
        retriever.add_documents([source])
    assert retriever.get(["a"])[0].metadata.items() >= part.document.metadata.items()
    store = InMemoryVectorStore(NeighborMixedEmbeddings(words))
    write = DocumentWriter(lambda: store)
    with pytest.warns(SentenceWindowWarning, match="can't hold it: 7, 'text'"):
        assert write([source])[0].status == "written"
    assert write([part.document])[0].status == "unchanged"


def test_a_summary_says_what_it_takes_to_finish() -> None:
    summary = IngestSummary(seconds=2, workers=2, deleted=1)
    summary._add(Outcome("a", "written", sentences=10, characters=1_000))
    summary._add(Outcome("b", "unchanged", characters=500))
    summary._add(Outcome("c", "failed", characters=3_000, error="ValueError: no"))
    assert (summary.documents, summary.written, summary.unchanged, summary.pending) == (3, 1, 1, 1)
    assert str(summary) == (
        "3 documents: 1 written, 1 unchanged, 1 deleted, 1 failed\n"
        "10 sentences in 2.0 s with 2 workers, 5 a second\n"
        "to finish: 1 documents with 3,000 characters and 0 sentences to embed, about 6 s at this pace\n"
        "failed: c: ValueError: no"
    )
    assert "this pace" not in str(IngestSummary(pending=1))


@pytest.mark.process
def test_ray_is_imported_on_use(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "import sys; from langchain_sentence_window.distributed import ingest; print('ray' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True)
    assert (ran.stdout, ran.stderr) == ("False\n", "")
    from langchain_sentence_window.distributed import ingest

    monkeypatch.setitem(sys.modules, "ray", None)
    monkeypatch.setitem(sys.modules, "ray.data", None)
    with pytest.raises(MissingExtraError, match=r'pip install "langchain-sentence-window\[ray\]"'):
        ingest("folder", store=lambda: None)  # type: ignore[arg-type, return-value]
